#!/usr/bin/env python3
"""Checks an attention kernel against Locus: torch's if torch 2 is installed, else one in numpy."""

import numpy as np

from locus.testing import assert_attention_close

try:
    import torch
    from torch.nn.functional import scaled_dot_product_attention
except ImportError:
    torch = None


def torch_kernel(q, k, v, causal):
    return scaled_dot_product_attention(q, k, v, is_causal=causal)


def numpy_kernel(q, k, v, causal):
    scores = q @ k.swapaxes(-1, -2) / np.float32(np.sqrt(q.shape[-1]))
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def rotate_halves(x):
    """RoPE on channels k and k + D/2, as in most model files."""
    half = x.shape[-1] // 2
    angle = np.arange(x.shape[-2])[:, None] * 10000.0 ** (-np.arange(half) / half)
    cos, sin = np.cos(angle).astype("f4"), np.sin(angle).astype("f4")
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], -1)


def rope_kernel(q, k, v):
    return numpy_kernel(rotate_halves(q), rotate_halves(k), v, causal=True)


def main():
    if torch is not None:
        assert_attention_close(torch_kernel, convert=torch.from_numpy, grouped_heads=False)
        print("torch_kernel: correct")
    assert_attention_close(numpy_kernel, grouped_heads=False)
    print("numpy_kernel: correct")
    # The kernel pairs the halves of a head, and is checked against the other layout.
    try:
        assert_attention_close(rope_kernel, scheme="rope", causal=True, grouped_heads=False)
    except AssertionError as error:
        print(error)
    assert_attention_close(rope_kernel, scheme="rope:layout=half_split", causal=True,
                           grouped_heads=False)
    print("rope_kernel with layout=half_split: correct")


if __name__ == "__main__":
    main()
