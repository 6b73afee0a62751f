"""Reference implementation of the schemes in numpy: slow and simple.

Written from the papers, never from the C++ code that it checks. Everything is computed
in numpy's long double and rounded to double when it is stored, so that results are
correct to the last place: at position 2^31, rounding a frequency to double would change
the angle by 2e-7.
"""

import functools
import math

import numpy as np

import rope_scaling
import single_precision
from neutral import to_array
from streams import Stream

WIDE = np.longdouble


# Schemes that act on embeddings.

def _powers(base, exponents):
    return np.power(WIDE(base), np.array(exponents, dtype=WIDE))


def sinusoidal_frequencies(dim, base=10000.0, layout="INTERLEAVED"):
    """One frequency per sine."""
    if layout == "TENSOR2TENSOR":
        return _powers(base, [-WIDE(k) / (dim // 2 - 1) for k in range(dim // 2)])
    return _powers(base, [-WIDE(2 * k) / dim for k in range((dim + 1) // 2)])


def sinusoidal(positions, dim, base=10000.0, layout="INTERLEAVED"):
    """[T, dim]."""
    table = np.zeros((len(positions), dim), dtype=WIDE)
    frequencies = sinusoidal_frequencies(dim, base, layout)
    sines, cosines = len(frequencies), dim // 2
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
        return np.stack([
            _interpolate(row, length, (WIDE(p) + WIDE(0.5)) * length / total - WIDE(0.5))
            for p in positions])
    past = {
        "CLAMP": lambda p: row(length - 1),
        "WRAP": lambda p: row(p % length),
        "ZERO": lambda p: np.zeros(dim, dtype=WIDE),
        "RANDOM": lambda p: Stream(seed, f"learned.random/{p}").normals(dim, 0.02),
    }
    return np.stack([row(p) if p < length else past[policy](p) for p in positions])


def _interpolate(row, length, index):
    index = min(max(index, WIDE(0)), WIDE(length - 1))
    below = int(math.floor(index))
    share = index - below
    return (1 - share) * row(below) + share * row(min(below + 1, length - 1))


# Schemes that act on queries and keys.

def rope_tables(positions, dim, length=None, base=10000.0, layout="INTERLEAVED",
                rotary_dim=None, angles="EXACT", **scaling):
    """cos [T, r/2], sin [T, r/2], frequencies [r/2], attention factor.

    `length` is the largest position of the call plus one.
    """
    r = dim if rotary_dim is None else rotary_dim
    if length is None:
        length = max(positions) + 1
    if angles == "FLOAT32":
        cos, sin, frequencies, factor = single_precision.tables(
            positions, dim, r, length, base, scaling)
        return cos.astype(WIDE), sin.astype(WIDE), frequencies.astype(WIDE), WIDE(factor)
    frequencies, factor = rope_scaling.scaled(WIDE(base), r, dim, length, scaling)
    angles = np.array(positions, dtype=WIDE)[:, None] * frequencies
    return factor * np.cos(angles), factor * np.sin(angles), frequencies, factor


def layout_of(parameters):
    """The layout, which defaults to HALF_SPLIT for p-RoPE."""
    return parameters.get("layout",
                          "HALF_SPLIT" if "proportional" in parameters else "INTERLEAVED")


def rotate(x, positions, length=None, **parameters):
    """x [..., T, dim] with each row rotated according to its position."""
    cos, sin, frequencies, _ = rope_tables(positions, x.shape[-1], length, **parameters)
    r = 2 * len(frequencies)
    if layout_of(parameters) == "INTERLEAVED":
        first, second = slice(0, r, 2), slice(1, r, 2)
    else:
        first, second = slice(0, r // 2), slice(r // 2, r)
    a, b = x[..., first], x[..., second]
    y = x.copy()
    y[..., first] = a * cos - b * sin
    y[..., second] = a * sin + b * cos
    return y


def xpos_growth(dim, scale_base=512.0):
    """ln of the factor of pair k of queries, per position."""
    k = np.arange(dim // 2, dtype=WIDE)
    return np.log((2 * k + WIDE(4) / 10 * dim) / (WIDE(14) / 10 * dim)) / WIDE(scale_base)


def xpos_tables(positions, dim, side, centre, base=10000.0, scale_base=512.0):
    """cos, sin [T, d/2] with the decay of queries (side 1) or keys (side -1)."""
    cos, sin, frequencies, _ = rope_tables(positions, dim, base=base)
    distance = np.array([p - centre for p in positions], dtype=WIDE)[:, None]
    scale = np.exp(side * distance * xpos_growth(dim, scale_base))
    return cos * scale, sin * scale, frequencies


def xpos(x, positions, side, centre, layout="INTERLEAVED", base=10000.0, scale_base=512.0):
    """x [..., T, dim], rotated and scaled."""
    scale = np.exp(side * np.array([p - centre for p in positions], dtype=WIDE)[:, None]
                   * xpos_growth(x.shape[-1], scale_base))
    each = np.repeat(scale, 2, axis=-1) if layout == "INTERLEAVED" else np.tile(scale, 2)
    return rotate(x, positions, base=base, layout=layout) * each


# Schemes that act on scores.

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
    """[H, Tq, Tk]; the causal form is not masked and is positive after the query."""
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
    """The bucket of rel = key position - query position, in exact integer arithmetic."""
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


def kerple_bias(head_count, query_positions, key_positions, kernel="LOG", p=(), a=(),
                symmetric=False, seed=0):
    """[H, Tq, Tk]."""
    def drawn(purpose, end):
        # Parameters are doubles; at large distances the power kernel amplifies their last bit.
        stream = Stream(seed, purpose)
        return [0.01 + (end - 0.01) * stream.uniform() for _ in range(head_count)]

    distance = np.abs(offsets(query_positions, key_positions))
    p = np.array(p or drawn("kerple.p", 2.0), dtype=WIDE)[:, None, None]
    a = np.array(a or drawn("kerple.a", 1.0), dtype=WIDE)[:, None, None]
    return -a * distance ** p if kernel == "POWER" else -p * np.log1p(a * distance)


def sandwich_bias(head_count, query_positions, key_positions, width=128, base=10000.0):
    """[H, Tq, Tk]."""
    frequencies = _powers(base, [-WIDE(2 * k) / width for k in range(1, width // 2 + 1)])
    offset = offsets(query_positions, key_positions)
    products = np.cos(offset[..., None] * frequencies).sum(axis=-1) - width // 2
    scale = np.array([WIDE(head_count) / (8 * h) for h in range(1, head_count + 1)])
    return products * scale[:, None, None]


def fire_bias(head_count, query_positions, key_positions, c=0.1, threshold=512.0, width=32,
              w1=None, b1=None, w2=None, b2=None, seed=0):
    """[H, Tq, Tk], by evaluating the network."""
    if w1 is None:
        def drawn(purpose, shape, bound):
            stream = Stream(seed, purpose)
            return np.array([bound * (2 * WIDE(stream.uniform()) - 1)
                             for _ in range(int(np.prod(shape)))], dtype=WIDE).reshape(shape)

        bound = 1 / np.sqrt(WIDE(width))
        w1, b1 = drawn("fire.w1", width, WIDE(1)), drawn("fire.b1", width, WIDE(1))
        w2 = drawn("fire.w2", (head_count, width), bound)
        b2 = drawn("fire.b2", head_count, bound)
    else:
        w1, b1, w2, b2 = (to_array(tensor) for tensor in (w1, b1, w2, b2))

    def psi(x):
        return np.log(np.abs(WIDE(c) * x) + 1)

    span = np.maximum(np.array(query_positions, dtype=WIDE), WIDE(threshold))[:, None]
    x = psi(offsets(query_positions, key_positions)) / (psi(span) + WIDE(1e-6))
    hidden = np.maximum(x[..., None] * w1 + b1, 0)
    return np.moveaxis(hidden @ w2.T + b2, -1, 0)


# Biases that are -inf for keys after their query, unless `symmetric` is set.
CAUSAL_BIASES = ("alibi", "kerple")
BIASES = {"alibi": alibi_bias, "t5_bias": t5_bias, "kerple": kerple_bias,
          "sandwich": sandwich_bias, "fire": fire_bias}


def bias_of(name, parameters, head_count, query_positions, key_positions):
    """[H, Tq, Tk], or 0 for a scheme that acts elsewhere."""
    makers = BIASES
    if name not in makers:
        return WIDE(0)
    return makers[name](head_count, query_positions, key_positions, **parameters)


def code_of(name, parameters, positions, dim):
    """[T, dim], or 0 for a scheme that acts elsewhere."""
    makers = {"sinusoidal": sinusoidal, "learned": learned}
    if name not in makers:
        return WIDE(0)
    return makers[name](positions, dim, **parameters)
