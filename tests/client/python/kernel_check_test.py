#!/usr/bin/env python3
"""assert_attention_close() accepts a correct kernel, and names the mistakes of wrong ones."""

import unittest

import support  # noqa: F401
import numpy as np

import locus
from locus.testing import assert_attention_close


def rotate(x, halves):
    """RoPE with base 10000. x: [..., T, D]."""
    half = x.shape[-1] // 2
    angles = np.arange(x.shape[-2])[:, None] * 10000.0 ** (-np.arange(half) / half)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    a, b = (x[..., :half], x[..., half:]) if halves else (x[..., ::2], x[..., 1::2])
    turned = a * cos - b * sin, a * sin + b * cos
    return np.concatenate(turned, -1) if halves else np.stack(turned, -1).reshape(x.shape)


def kernel(q, k, v, causal=False, mask=None, window=None, query_offset=None, scale=None):
    """Attention with all options that assert_attention_close() varies."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    scores = q @ k.swapaxes(-1, -2) * q.dtype.type(scale or 1 / np.sqrt(q.shape[-1]))
    i = (query_offset or 0) + np.arange(q.shape[2])[:, None]
    j = np.arange(k.shape[2])
    hidden = np.zeros(scores.shape, bool)
    if causal:
        hidden |= j > i
    if window:
        hidden |= abs(i - j) >= window
    if mask is not None and mask.dtype == bool:
        hidden |= ~mask
    elif mask is not None:
        scores = scores + mask
    scores = np.where(hidden, -np.inf, scores)
    largest = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


def rope_kernel(q, k, v):
    return kernel(rotate(q, halves=True), rotate(k, halves=True), v, causal=True)


class KernelCheckTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = locus.connect()
        cls.addClassCleanup(cls.client.close)

    def check(self, function, **options):
        assert_attention_close(function, client=self.client, **options)

    def failure(self, function, **options):
        with self.assertRaises(AssertionError) as caught:
            self.check(function, **options)
        return str(caught.exception)

    def test_a_correct_kernel_passes_in_all_types(self):
        for dtype in ("float64", "float32", "float16"):
            self.check(kernel, dtype=dtype)

    def test_a_correct_rope_kernel_passes(self):
        self.check(rope_kernel, scheme="rope:layout=half_split", causal=True)

    def test_a_kernel_with_a_scheme_gets_every_scheme(self):
        seen = set()

        def several(q, k, v, scheme):
            seen.add(scheme)
            halves = "half" in scheme
            if scheme.startswith("rope"):
                q, k = rotate(q, halves), rotate(k, halves)
            return kernel(q, k, v)

        self.check(several, schemes=["none", "rope", "rope:layout=half_split"])
        self.assertEqual(len(seen), 3)

    def test_a_scheme_with_a_bias_is_causal_if_it_must_be(self):
        def alibi(q, k, v, causal):
            self.assertTrue(causal)
            bias = self.client.encode("alibi", q.shape[2], heads=q.shape[1],
                                      key_positions=k.shape[2]).bias
            return kernel(q, k, v, causal=True, mask=bias)

        self.check(alibi, scheme="alibi")

    def test_mistakes_are_named(self):
        def tiled_heads(q, k, v):
            group = q.shape[1] // k.shape[1]
            return kernel(q, np.tile(k, (1, group, 1, 1)), np.tile(v, (1, group, 1, 1)))

        def inverted_mask(q, k, v, mask):
            return kernel(q, k, v, mask=~mask if mask is not None and mask.dtype == bool else mask)

        for function, options, hint in (
                (rope_kernel, {"scheme": "rope", "causal": True}, "the RoPE layout HALF_SPLIT"),
                (lambda q, k, v: kernel(q, k, v), {"scheme": "rope"}, "no positions at all"),
                (lambda q, k, v: kernel(q, k, v), {"causal": True}, "bidirectional attention"),
                (lambda q, k, v: kernel(q, k, v, causal=True), {}, "causal attention instead of"),
                (lambda q, k, v: kernel(q, k, v, scale=1), {}, "without the factor 1 / sqrt(D)"),
                (lambda q, k, v, window: kernel(q, k, v, window=window and window + 1), {},
                 "a window that is one key wider"),
                (lambda q, k, v, mask: kernel(q, k, v), {}, "no mask"),
                (lambda q, k, v: kernel(q, k, v, causal=True), {"causal": True,
                                                                "bottom_right": True},
                 "aligned with the keys at the top left"),
                (tiled_heads, {}, "h % Hkv"), (inverted_mask, {}, "an inverted mask")):
            with self.subTest(hint=hint):
                self.assertIn(hint, self.failure(function, **options))

    def test_the_worst_case_can_be_repeated_alone(self):
        text = self.failure(rope_kernel, scheme="rope", causal=True, seed=5)
        case = int(text.split("case=")[1])
        alone = self.failure(rope_kernel, scheme="rope", causal=True, seed=5, case=case)
        self.assertIn("in 1 of 1 cases", alone)
        self.assertEqual(text.split("\n")[1:], alone.split("\n")[1:])

    def test_the_report_names_shapes_and_values(self):
        text = self.failure(lambda q, k, v: kernel(q, k, v) + np.float32(1))
        for part in ("q [", "float32", "max error", "tolerance 2.0e-05", "got", "expected"):
            self.assertIn(part, text)

    def test_wrong_shapes_and_nan_are_found(self):
        self.assertIn("the output has the shape", self.failure(lambda q, k, v: q[..., 1:]))

        def nan_rows(q, k, v, window):
            output = kernel(q, k, v, window=window)
            return np.where((output == 0).all(-1, keepdims=True), np.nan, output)

        self.assertIn("rows without visible keys must be zero", self.failure(nan_rows))
        self.check(nan_rows, empty_rows=False)

    def test_small_errors_beyond_the_tolerance_are_found(self):
        def slightly_wrong(q, k, v):
            return kernel(q, k, v) * np.float32(1 + 1e-4)

        self.assertIn("40 of 40", self.failure(slightly_wrong))
        self.check(slightly_wrong, tolerance=1e-3)

    def test_restricted_kernels_get_restricted_inputs(self):
        def restricted(q, k, v):
            self.assertEqual(q.shape, k.shape)
            self.assertEqual(q.shape[-1], 24)
            return kernel(q, k, v)

        self.check(restricted, grouped_heads=False, same_lengths=True, head_dims=[24])

    def test_inputs_are_converted(self):
        class Wrapped:
            def __init__(self, array):
                self.array = array

        self.check(lambda q, k, v: kernel(q.array, k.array, v.array), convert=Wrapped, cases=3)

    def test_cases_vary_all_options_of_the_kernel(self):
        seen = {"mask": set(), "window": set(), "causal": set(), "shapes": set()}

        def spy(q, k, v, causal, mask, window):
            seen["causal"].add(causal)
            seen["mask"].add(None if mask is None else (mask.dtype.kind, mask.ndim))
            seen["window"].add(window)
            seen["shapes"].add((q.shape, k.shape))
            return kernel(q, k, v, causal, mask, window)

        self.check(spy, cases=60)
        self.assertEqual(seen["causal"], {False, True})
        self.assertGreaterEqual(len(seen["mask"]), 6)
        self.assertGreaterEqual(len(seen["window"]), 4)
        self.assertGreaterEqual(len(seen["shapes"]), 50)
        self.assertTrue(any(q[1] > k[1] and q[2] % 2 for q, k in seen["shapes"]))

    def test_invalid_arguments_are_rejected(self):
        for options in ({"dtype": "int64"}, {"scheme": "rope", "schemes": ["rope"]}):
            with self.assertRaises(locus.InvalidInput):
                self.check(kernel, **options)


if __name__ == "__main__":
    unittest.main()
