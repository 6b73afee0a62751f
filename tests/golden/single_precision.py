"""RoPE in single precision with the rounding of common frameworks, in numpy's float32.

Follows the steps of the transformers library: a power of the base and its inverse, then
the scaling, the product with the position, cosine and sine, and the attention factor.
Each step is a float32 array, and every operation rounds. Scalars of a configuration are
doubles until they are combined with such an array. A scalar divided by an array is the
inverse of the array times the scalar. Powers, cosines and sines are rounded from
double, because numpy's float32 functions differ between machines.
"""

import math

import numpy as np

SINGLE = np.float32


def _by_double(function, *arguments):
    return function(*(np.asarray(x, dtype=np.float64) for x in arguments)).astype(SINGLE)


def _over(number, array):
    return SINGLE(1) / array * SINGLE(number)


def _wavelengths(base, r):
    """base^(2k / r): wavelengths of the pairs, divided by 2 pi."""
    exponents = np.arange(0, r, 2).astype(SINGLE) / SINGLE(r)
    return _by_double(np.power, SINGLE(base), exponents)


def plain(base, r):
    return _over(1, _wavelengths(base, r))


def linear(base, r, d, length, factor=1.0):
    return plain(base, r) / SINGLE(factor), 1.0


def ntk(base, r, d, length, factor=1.0):
    return plain(base * factor ** (r / (r - 2)), r), 1.0


def dynamic_ntk(base, r, d, length, factor=1.0, max_position=2048):
    growth = factor * max(length, max_position) / max_position - (factor - 1)
    return plain(base * growth ** (r / (r - 2)), r), 1.0


def yarn(base, r, d, length, factor=1.0, original_length=2048, beta_fast=32.0, beta_slow=1.0,
         truncate=True, attention_factor=None, mscale=0.0, mscale_all_dim=0.0):
    def pair_with_rotations(n):
        return r * math.log(original_length / (n * 2 * math.pi)) / (2 * math.log(base))

    low, high = pair_with_rotations(beta_fast), pair_with_rotations(beta_slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, r - 1)
    if low == high:
        high += 0.001
    ramp = np.clip((np.arange(r // 2).astype(SINGLE) - SINGLE(low)) / SINGLE(high - low),
                   SINGLE(0), SINGLE(1))
    kept = SINGLE(1) - ramp
    extrapolated = _over(1, _wavelengths(base, r))
    interpolated = _over(1, SINGLE(factor) * _wavelengths(base, r))

    def g(m):
        return 1.0 if factor <= 1 else 0.1 * m * math.log(factor) + 1.0

    if attention_factor is None:
        attention_factor = (g(mscale) / g(mscale_all_dim) if mscale and mscale_all_dim else g(1))
    return interpolated * (SINGLE(1) - kept) + extrapolated * kept, attention_factor


def llama3(base, r, d, length, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
           original_length=8192):
    w = plain(base, r)
    wavelength = _over(2 * math.pi, w)
    long = wavelength > SINGLE(original_length / low_freq_factor)
    short = wavelength < SINGLE(original_length / high_freq_factor)
    smooth = ((_over(original_length, wavelength) - SINGLE(low_freq_factor))
              / SINGLE(high_freq_factor - low_freq_factor))
    mixed = (SINGLE(1) - smooth) * w / SINGLE(factor) + smooth * w
    return np.where(long, w / SINGLE(factor), np.where(short, w, mixed)), 1.0


def longrope(base, r, d, length, factor=1.0, original_length=2048, short_factors=(),
             long_factors=(), attention_factor=None):
    factors = long_factors if length > original_length else short_factors
    stretch = np.array(factors or [1.0] * (r // 2)).astype(SINGLE)
    if attention_factor is None:
        attention_factor = (1.0 if factor <= 1 else
                            math.sqrt(1 + math.log(factor) / math.log(original_length)))
    return _over(1, stretch * _wavelengths(base, r)), attention_factor


def proportional(base, r, d, length, share=1.0, factor=1.0):
    w = plain(base, d)
    w[int(math.floor(share * d / 2)):] = 0
    return w / SINGLE(factor), 1.0


MAKERS = {"linear": linear, "ntk": ntk, "dynamic_ntk": dynamic_ntk, "yarn": yarn,
          "llama3": llama3, "longrope": longrope, "proportional": proportional}


def tables(positions, dim, r, length, base, scaling):
    """cos [T, r/2], sin [T, r/2], frequencies [r/2], attention factor."""
    if scaling:
        (name, parameters), = scaling.items()
        frequencies, factor = MAKERS[name](base, r, dim, length, **parameters)
    else:
        frequencies, factor = plain(base, r), 1.0
    assert frequencies.dtype == SINGLE
    angles = np.array(positions).astype(SINGLE)[:, None] * frequencies
    cos, sin = _by_double(np.cos, angles), _by_double(np.sin, angles)
    return cos * SINGLE(factor), sin * SINGLE(factor), frequencies, factor
