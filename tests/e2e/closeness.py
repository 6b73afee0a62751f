"""How near numbers must be; the derivation stands in tests/golden/golden_test.cc."""

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))

import neutral  # noqa: E402 (found through the line above)
import schemes  # noqa: E402

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


def _factors(case):
    """What multiplies cosine and sine of each position and pair, with their errors."""
    cos, sin = (neutral.to_array(case["expect"][key]).astype(float) for key in ("cos", "sin"))
    return np.hypot(cos, sin)


def _per_channel(case, factors, dim):
    """The same for each channel of what is turned; those that stay have 1."""
    (_, parameters), = case["scheme"].items()
    halves = schemes.layout_of(parameters) == "HALF_SPLIT"
    both = np.tile(factors, 2) if halves else np.repeat(factors, 2, axis=-1)
    stay = np.ones((len(both), dim - both.shape[-1]))
    return np.concatenate([both, stay], axis=-1)


def _bias_tolerance(dtype, case, want):
    """By the formulas: of cosines that are summed, and of a power or a logarithm."""
    (name, parameters), = case["scheme"].items()
    if name == "sandwich":
        # In double, whatever the type: each cosine by its angle and a unit, each sum by a unit.
        pairs, heads = parameters.get("width", 128) / 2, want.shape[-3]
        h = np.arange(1, heads + 1)[:, None, None]
        cosine = max_position(case) * 2.0 ** -51 + 2.0 ** -52
        return pairs * heads / (8 * h) * (cosine + pairs * 2.0 ** -52)
    if name == "kerple":
        # A power, a product and a logarithm, one unit each, and one to spare.
        return 4 * 2.0 ** -52 * np.where(np.isfinite(want), np.abs(want), 0)
    return table_tolerance(dtype, case)


def encode_tolerance(dtype, case, key, want):
    """Of a part of an answer; one number, or one for each of `want`."""
    table = table_tolerance(dtype, case)
    if "cos" in case["expect"]:
        factors = _factors(case)
        # A turned channel is the sum of two, each below 4.
        return table * (8 * _per_channel(case, factors, want.shape[-1]) if key == "output"
                        else factors)
    if "bias" in case["expect"]:
        # Scores that a bias is added to are below 8.
        return _bias_tolerance(dtype, case, numbers_of(case["expect"]["bias"])) + (
            8 * UNITS[dtype] if key == "output" else 0)
    return table * (8 if key == "output" else 1)


def numbers_of(tensor):
    return neutral.to_array(tensor).astype(float)


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
