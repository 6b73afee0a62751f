"""How near numbers must be; the derivation stands in tests/golden/golden_test.cc."""

import numpy as np

UNITS = {"FLOAT64": 2.0 ** -52, "FLOAT32": 2.0 ** -23, "FLOAT16": 2.0 ** -10, "BFLOAT16": 2.0 ** -7}
LARGEST_HALF = 65504
DOUBLE, FLOAT, FLOAT_TABLE = 1e-12, 2e-5, 2e-6
POWER = 16 * 2.0 ** -52  # of a frequency or slope


def max_position(case):
    """The largest position of a case."""
    largest = 0
    for place in (case, case.get("options", {})):
        for key in ("positions", "query_positions", "key_positions"):
            positions = place.get(key)
            if positions:
                largest = max([largest, positions.get("start", 0) + positions.get("count", 0),
                               *positions.get("ids", ())])
    return largest


def table_tolerance(dtype, case):
    if dtype != "FLOAT64":
        return FLOAT_TABLE
    return DOUBLE + max_position(case) * 2.0 ** -51


def attention_tolerance(dtype, case, want):
    relative = DOUBLE if dtype == "FLOAT64" else FLOAT
    finite = want[np.isfinite(want)]
    largest = max(1.0, np.abs(finite).max(initial=0))
    return (relative + max_position(case) * 2.0 ** -48) * largest


def difference(got, want, dtype, tolerance):
    """What is wrong with `got`, or None. What the type rounds off is granted."""
    got, want = np.asarray(got, dtype=float), np.asarray(want, dtype=float)
    if got.shape != want.shape:
        return f"shape {got.shape}, not {want.shape}"
    allowed = tolerance + UNITS[dtype] * np.abs(want)
    if dtype == "FLOAT16":
        allowed = allowed + 2.0 ** -24
        want = np.where(np.abs(want) > LARGEST_HALF, np.copysign(np.inf, want), want)
    with np.errstate(invalid="ignore"):
        near = np.where(np.isfinite(want), np.abs(got - want) <= allowed, got == want)
    if near.all():
        return None
    where = tuple(int(i[0]) for i in np.nonzero(~near))
    return f"element {where} is {got[where]!r}, not {want[where]!r}; {np.sum(~near)} are wrong"
