"""Tolerances for comparisons with reference values; tests/golden/golden_test.cc derives them."""

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))

import neutral  # noqa: E402 (found through the line above)
import schemes  # noqa: E402

UNITS = {"FLOAT64": 2.0 ** -52, "FLOAT32": 2.0 ** -23, "FLOAT16": 2.0 ** -10, "BFLOAT16": 2.0 ** -7}
LARGEST_HALF = 65504
DOUBLE, FLOAT, FLOAT_TABLE = 1e-12, 2e-5, 2e-6
POWER = 16 * 2.0 ** -52  # relative tolerance of frequencies and slopes


def max_position(case):
    """The largest position that a case mentions."""
    largest = 0
    for message in (case, case.get("options", {})):
        for key in ("positions", "query_positions", "key_positions"):
            positions = message.get(key)
            if positions:
                largest = max([largest, positions.get("start", 0) + positions.get("count", 0),
                               *positions.get("ids", ())])
    return largest


def table_tolerance(dtype, case):
    """Absolute tolerance of the sines and cosines of a table."""
    if dtype != "FLOAT64":
        return FLOAT_TABLE
    return DOUBLE + max_position(case) * 2.0 ** -51


def _factors(case):
    """The factor on cosine and sine for each position and pair. It scales their errors, too."""
    cos, sin = (neutral.to_array(case["expect"][key]).astype(float) for key in ("cos", "sin"))
    return np.hypot(cos, sin)


def _per_channel(case, factors, dim):
    """The factors of all pairs as factors of the channels; 1 for channels without rotation."""
    (_, parameters), = case["scheme"].items()
    half_split = schemes.layout_of(parameters) == "HALF_SPLIT"
    rotated = np.tile(factors, 2) if half_split else np.repeat(factors, 2, axis=-1)
    unrotated = np.ones((len(rotated), dim - rotated.shape[-1]))
    return np.concatenate([rotated, unrotated], axis=-1)


def _bias_tolerance(dtype, case, want):
    """Absolute tolerance of a score bias, derived from the formula of the scheme."""
    (name, parameters), = case["scheme"].items()
    if name == "sandwich":
        # Computed in double for every type. Each cosine errs by the error of its angle plus
        # one unit, and each addition adds one unit.
        pairs, heads = parameters.get("width", 128) / 2, want.shape[-3]
        h = np.arange(1, heads + 1)[:, None, None]
        cosine = max_position(case) * 2.0 ** -51 + 2.0 ** -52
        return pairs * heads / (8 * h) * (cosine + pairs * 2.0 ** -52)
    if name == "kerple":
        # A power, a product and a logarithm err by one unit each; one more is a margin.
        return 4 * 2.0 ** -52 * np.where(np.isfinite(want), np.abs(want), 0)
    return table_tolerance(dtype, case)


def encode_tolerance(dtype, case, key, want):
    """Absolute tolerance of the part `key` of an encoding: one number, or one per element of
    `want`."""
    table = table_tolerance(dtype, case)
    if "cos" in case["expect"]:
        factors = _factors(case)
        # A rotated channel is the sum of two products, whose inputs are below 4.
        return table * (8 * _per_channel(case, factors, want.shape[-1]) if key == "output"
                        else factors)
    if "bias" in case["expect"]:
        # The input scores to which the bias is added are below 8.
        return _bias_tolerance(dtype, case, numbers_of(case["expect"]["bias"])) + (
            8 * UNITS[dtype] if key == "output" else 0)
    return table * (8 if key == "output" else 1)


def numbers_of(tensor):
    return neutral.to_array(tensor).astype(float)


def attention_tolerance(dtype, case, want):
    """Absolute tolerance of an output, the weights or log-sum-exp of attention."""
    relative = DOUBLE if dtype == "FLOAT64" else FLOAT
    finite = want[np.isfinite(want)]
    largest = max(1.0, np.abs(finite).max(initial=0))
    return (relative + max_position(case) * 2.0 ** -48) * largest


def difference(got, want, dtype, tolerance):
    """Describes the first element of `got` outside the tolerance; None if there is none. The
    rounding error of the type is added to the tolerance."""
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
    return f"element {where} is {got[where]!r}, not {want[where]!r}; {np.sum(~near)} differ"
