"""The schemes by their formulas, in numpy: the slow, obvious truth.

Written from the papers, never from the C++ that it checks. All of it is computed
in numpy's long double and rounded to double by whoever stores it, so that the
numbers are the formulas' own to the last place: at position 2^31 a frequency
rounded to double alone would turn the angle by 2e-7.
"""

import functools
import math

import numpy as np

import rope_scaling
from neutral import to_array
from streams import Stream

WIDE = np.longdouble


# On embeddings.

def _powers(base, exponents):
    return np.power(WIDE(base), np.array(exponents, dtype=WIDE))


def sinusoidal(positions, dim, base=10000.0, layout="INTERLEAVED"):
    """[T, dim]."""
    table = np.zeros((len(positions), dim), dtype=WIDE)
    if layout == "TENSOR2TENSOR":
        sines = cosines = dim // 2
        frequencies = _powers(base, [-WIDE(k) / (sines - 1) for k in range(sines)])
    else:
        sines, cosines = (dim + 1) // 2, dim // 2
        frequencies = _powers(base, [-WIDE(2 * k) / dim for k in range(sines)])
    angles = np.array(positions, dtype=WIDE)[:, None] * frequencies
    if layout == "INTERLEAVED":
        table[:, 0::2] = np.sin(angles)
        table[:, 1::2] = np.cos(angles[:, :cosines])
    else:
        table[:, :sines] = np.sin(angles)
        table[:, sines:sines + cosines] = np.cos(angles[:, :cosines])
    return table


def learned(positions, dim, table=None, seed=0, max_length=512, policy="ERROR"):
    """[T, dim]."""
    given = None if table is None else to_array(table)
    length = max_length if given is None else given.shape[0]

    def row(p):
        if given is not None:
            return given[p]
        return Stream(seed, f"learned.table/{p}").normals(dim, 0.02)

    total = max(positions) + 1
    if policy == "INTERPOLATE" and total > length:
        return np.stack([_between(row, length, (WIDE(p) + WIDE(0.5)) * length / total - WIDE(0.5))
                         for p in positions])
    past = {
        "CLAMP": lambda p: row(length - 1),
        "WRAP": lambda p: row(p % length),
        "ZERO": lambda p: np.zeros(dim, dtype=WIDE),
        "RANDOM": lambda p: Stream(seed, f"learned.random/{p}").normals(dim, 0.02),
    }
    return np.stack([row(p) if p < length else past[policy](p) for p in positions])


def _between(row, length, place):
    place = min(max(place, WIDE(0)), WIDE(length - 1))
    below = int(math.floor(place))
    share = place - below
    return (1 - share) * row(below) + share * row(min(below + 1, length - 1))


# On queries and keys.

def rope_tables(positions, dim, length=None, base=10000.0, layout="INTERLEAVED",
                rotary_dim=None, **scaling):
    """cos [T, r/2], sin [T, r/2], frequencies [r/2], attention factor.

    `length` is one more than the largest position of the call.
    """
    r = dim if rotary_dim is None else rotary_dim
    if length is None:
        length = max(positions) + 1
    frequencies, factor = rope_scaling.scaled(WIDE(base), r, dim, length, scaling)
    angles = np.array(positions, dtype=WIDE)[:, None] * frequencies
    return factor * np.cos(angles), factor * np.sin(angles), frequencies, factor


def rotate(x, positions, length=None, **parameters):
    """x [..., T, dim] with every row turned to its position."""
    cos, sin, frequencies, _ = rope_tables(positions, x.shape[-1], length, **parameters)
    r = 2 * len(frequencies)
    if parameters.get("layout", "INTERLEAVED") == "INTERLEAVED":
        first, second = slice(0, r, 2), slice(1, r, 2)
    else:
        first, second = slice(0, r // 2), slice(r // 2, r)
    a, b = x[..., first], x[..., second]
    y = x.copy()
    y[..., first] = a * cos - b * sin
    y[..., second] = a * sin + b * cos
    return y


# On scores.

def alibi_slopes(head_count, rule="PAPER", slopes=(), bias_max=8.0):
    if slopes:
        return np.array(slopes, dtype=WIDE)
    if rule == "COURSE":
        return _powers(2, [-h for h in range(1, head_count + 1)])

    def of_power(heads):
        return [-WIDE(bias_max) * h / heads for h in range(1, heads + 1)]

    power = 2 ** int(math.floor(math.log2(head_count)))
    exponents = of_power(power) + of_power(2 * power)[0::2][:head_count - power]
    return _powers(2, exponents)


def alibi_bias(head_count, query_positions, key_positions, symmetric=False, **parameters):
    """[H, Tq, Tk]; the causal form goes on past the diagonal with its sign."""
    offset = offsets(query_positions, key_positions)
    if symmetric:
        offset = np.abs(offset)
    return -alibi_slopes(head_count, **parameters)[:, None, None] * offset


def offsets(query_positions, key_positions):
    """Query position - key position, [Tq, Tk]."""
    return (np.array(query_positions, dtype=WIDE)[:, None]
            - np.array(key_positions, dtype=WIDE)[None, :])


@functools.lru_cache(maxsize=None)
def t5_bucket(rel, bucket_count=32, max_distance=128, bidirectional=False):
    """The bucket of rel = key position - query position, in whole numbers alone."""
    first, buckets = 0, bucket_count
    if bidirectional:
        buckets //= 2
        first = buckets if rel > 0 else 0
        n = abs(rel)
    else:
        n = max(-rel, 0)
    exact = buckets // 2
    if n < exact:
        return first + n
    # ln(n/exact) / ln(max/exact) (buckets - exact) >= t, without logarithms.
    t = 0
    while t + 1 < buckets - exact and (
            n ** (buckets - exact) * exact ** (t + 1)
            >= max_distance ** (t + 1) * exact ** (buckets - exact)):
        t += 1
    return first + exact + t


def t5_bias(head_count, query_positions, key_positions, table=None, seed=0, **parameters):
    """[H, Tq, Tk]."""
    bucket_count = parameters.get("bucket_count", 32)
    if table is None:
        values = Stream(seed, "t5_bias.table").normals((bucket_count, head_count))
    else:
        values = to_array(table)
    bias = np.empty((head_count, len(query_positions), len(key_positions)), dtype=WIDE)
    for i, p in enumerate(query_positions):
        for j, s in enumerate(key_positions):
            bias[:, i, j] = values[t5_bucket(s - p, **parameters)]
    return bias


def bias_of(name, parameters, head_count, query_positions, key_positions):
    """[H, Tq, Tk], or 0 for a scheme that acts elsewhere."""
    makers = {"alibi": alibi_bias, "t5_bias": t5_bias}
    if name not in makers:
        return WIDE(0)
    return makers[name](head_count, query_positions, key_positions, **parameters)


def code_of(name, parameters, positions, dim):
    """[T, dim], or 0 for a scheme that acts elsewhere."""
    makers = {"sinusoidal": sinusoidal, "learned": learned}
    if name not in makers:
        return WIDE(0)
    return makers[name](positions, dim, **parameters)
