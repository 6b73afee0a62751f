"""Reference implementation of the RoPE scalings, in long double.

`scaled` returns the frequencies and the attention factor for a rotary dimension r, a
head of d channels and a call of a given length.
"""

import numpy as np

WIDE = np.longdouble
PI = 4 * np.arctan(WIDE(1))


def plain(base, r):
    return np.power(base, -WIDE(2) * np.arange(r // 2, dtype=WIDE) / r)


def scaled(base, r, d, length, scaling):
    """`scaling` is {} or {name: parameters}."""
    if not scaling:
        return plain(base, r), WIDE(1)
    (name, parameters), = scaling.items()
    return MAKERS[name](base, r, d, length, **parameters)


def linear(base, r, d, length, factor=1.0):
    return plain(base, r) / WIDE(factor), WIDE(1)


def ntk(base, r, d, length, factor=1.0):
    return plain(base * WIDE(factor) ** (WIDE(r) / (r - 2)), r), WIDE(1)


def dynamic_ntk(base, r, d, length, factor=1.0, max_position=2048):
    s = WIDE(max(length, max_position))
    growth = WIDE(factor) * s / max_position - (WIDE(factor) - 1)
    return plain(base * growth ** (WIDE(r) / (r - 2)), r), WIDE(1)


def yarn(base, r, d, length, factor=1.0, original_length=2048, beta_fast=32.0, beta_slow=1.0,
         truncate=True, attention_factor=None, mscale=0.0, mscale_all_dim=0.0):
    def pair_with_rotations(n):
        return r * np.log(original_length / (WIDE(n) * 2 * PI)) / (2 * np.log(base))

    low, high = pair_with_rotations(beta_fast), pair_with_rotations(beta_slow)
    if truncate:
        low, high = np.floor(low), np.ceil(high)
    low, high = max(low, WIDE(0)), min(high, WIDE(r - 1))
    if low == high:
        high += WIDE(0.001)
    ramp = np.clip((np.arange(r // 2, dtype=WIDE) - low) / (high - low), 0, 1)
    w = plain(base, r)

    def g(m):
        return WIDE(1) if factor <= 1 else WIDE(0.1) * WIDE(m) * np.log(WIDE(factor)) + 1

    if attention_factor is not None:
        a = WIDE(attention_factor)
    elif mscale and mscale_all_dim:
        a = g(mscale) / g(mscale_all_dim)
    else:
        a = g(1)
    return w / WIDE(factor) * ramp + w * (1 - ramp), a


def llama3(base, r, d, length, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
           original_length=8192):
    def one(w):
        wavelength = 2 * PI / w
        if wavelength > original_length / WIDE(low_freq_factor):
            return w / WIDE(factor)
        if wavelength < original_length / WIDE(high_freq_factor):
            return w
        t = ((original_length / wavelength - WIDE(low_freq_factor))
             / (WIDE(high_freq_factor) - WIDE(low_freq_factor)))
        return (1 - t) * w / WIDE(factor) + t * w

    return np.array([one(w) for w in plain(base, r)], dtype=WIDE), WIDE(1)


def longrope(base, r, d, length, factor=1.0, original_length=2048, short_factors=(),
             long_factors=(), attention_factor=None):
    factors = long_factors if length > original_length else short_factors
    stretch = np.array(factors or [1.0] * (r // 2), dtype=WIDE)
    if attention_factor is not None:
        a = WIDE(attention_factor)
    elif factor <= 1:
        a = WIDE(1)
    else:
        a = np.sqrt(1 + np.log(WIDE(factor)) / np.log(WIDE(original_length)))
    return 1 / (stretch / plain(base, r)), a


def proportional(base, r, d, length, share=1.0, factor=1.0):
    rotated = int(np.floor(share * d / 2))
    w = plain(base, d)
    w[rotated:] = 0
    return w / WIDE(factor), WIDE(1)


MAKERS = {"linear": linear, "ntk": ntk, "dynamic_ntk": dynamic_ntk, "yarn": yarn,
          "llama3": llama3, "longrope": longrope, "proportional": proportional}
