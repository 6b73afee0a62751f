#!/usr/bin/env python3
"""Numerical results of a server, compared with the float64 reference in tests/golden."""

import json
import os
import unittest

import numpy as np

import tolerances
import wire
from case_requests import attend_request, encode_request, module_request
from daemon import Daemon

# These modules are in tests/golden, which case_requests adds to the path.
import attention_cases
import encoding_cases
import neutral
import schemes
import streams

# Parts of an encoding that follow from its other parts.
DERIVED = ("wavelengths", "unscaled_frequencies", "original_length", "target_length",
           "original_turns", "target_turns", "target_frequencies", "ramp", "incomplete_pairs",
           "decays", "bucket_edges", "table_length", "policy")
GOLDENS = os.path.join(wire.ROOT, "tests", "golden", "goldens.json")
RANDOM_ATTEND_CASES = 300
LARGE_ATTEND_CASES = 16
RANDOM_ENCODE_CASES = 200


def numbers(expected):
    """The expected values of a case, which are a tensor or a list of doubles, as an array."""
    if isinstance(expected, dict):
        return neutral.to_array(expected).astype(float)
    return np.array(expected, dtype=float)


def encoding_parts(response):
    """The parts of an EncodeResponse as {name in a golden case: array}."""
    parts = {}
    kind = response.WhichOneof("encoding")
    if kind:
        for field, value in getattr(response, kind).ListFields():
            if field.name == "head_numbers":
                continue
            is_tensor = field.message_type is not None
            parts[field.name] = wire.array(value) if is_tensor else np.array(value)
    if response.HasField("output"):
        parts["output"] = wire.array(response.output)
    return parts


class ValuesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("--log-calls=false")
        cls.addClassCleanup(cls.daemon.stop)
        cls.client = wire.Client(cls.daemon.grpc_port)
        cls.addClassCleanup(cls.client.close)
        with open(GOLDENS, encoding="utf-8") as file:
            cls.goldens = json.load(file)

    def assert_near(self, got, want, dtype, tolerance, context):
        self.assertIsNone(tolerances.difference(got, want, dtype, tolerance), context)

    def check_encode(self, case, dtype):
        response = self.client(wire.ENCODE, encode_request(case, dtype))
        parts = encoding_parts(response)
        if (factor := parts.pop("attention_factor", None)) is not None:
            self.assertAlmostEqual(factor, case["expect"].get("attention_factor", 1), delta=1e-14)
        self.check_derived(parts, case["name"])
        if "sinusoidal" in case["scheme"]:
            want = schemes.sinusoidal_frequencies(parts["table"].shape[-1],
                                                  **case["scheme"]["sinusoidal"])
            np.testing.assert_allclose(parts.pop("frequencies"), want.astype(float),
                                       rtol=tolerances.POWER, err_msg=case["name"])
        expected = {key: value for key, value in case["expect"].items()
                    if key != "attention_factor"}
        self.assertEqual({*parts}, {key for key, value in expected.items() if value}, case["name"])
        for key, got in parts.items():
            want, context = numbers(expected[key]), f"{case['name']}: {key}, {dtype}"
            if key in ("frequencies", "slopes"):
                np.testing.assert_allclose(got, want, rtol=tolerances.POWER, err_msg=context)
                continue
            self.assert_near(got, want, dtype,
                             tolerances.encode_tolerance(dtype, case, key, want), context)

    def check_derived(self, parts, name):
        """Removes the derived parts, and checks that they follow from the others."""
        derived = {key: parts.pop(key) for key in DERIVED if key in parts}
        if "frequencies" in parts:
            frequencies = np.array(parts["frequencies"])
            rotating = frequencies > 0
            np.testing.assert_allclose(np.array(derived["wavelengths"])[rotating],
                                       2 * np.pi / frequencies[rotating], err_msg=name)
        if "original_turns" in derived:
            np.testing.assert_allclose(
                derived["original_turns"], np.array(derived["unscaled_frequencies"])
                * derived["original_length"] / (2 * np.pi), err_msg=name)
            target = np.array(derived.get("target_frequencies", frequencies))
            np.testing.assert_allclose(derived["target_turns"], target
                                       * derived["target_length"] / (2 * np.pi), err_msg=name)
            np.testing.assert_array_equal(
                derived.get("incomplete_pairs", []),
                np.flatnonzero((target > 0) & (np.array(derived["original_turns"]) < 1)),
                err_msg=name)
            self.check_ramp(derived, target, name)

    def check_ramp(self, derived, target, name):
        """The ramp is the interpolation weight between a frequency and its value divided by the
        factor."""
        factor = derived["target_length"] / derived["original_length"]
        unscaled, ramp = np.array(derived["unscaled_frequencies"]), np.array(derived["ramp"])
        between = (ramp > 0) & (ramp < 1)
        np.testing.assert_allclose((unscaled * (1 - ramp) + unscaled / factor * ramp)[between],
                                   target[between], rtol=1e-6, err_msg=name)

    def test_turns_follow_from_the_lengths_of_the_request(self):
        for rope, factor in (({}, 1), ({"linear": {"factor": 4}}, 4), ({"ntk": {"factor": 4}}, 4),
                             ({"proportional": {"factor": 4, "share": 0.5}}, 4)):
            request = wire.EncodeRequest(scheme={"rope": rope}, dim=16, trained_length=100)
            request.positions.range.count = 1
            rotation = self.client(wire.ENCODE, request).rotation
            self.assertEqual((rotation.original_length, rotation.target_length),
                             (100, 100 * factor))
            np.testing.assert_allclose(rotation.original_turns,
                                       100 * 10000.0 ** (-np.arange(8) / 8) / (2 * np.pi))
            np.testing.assert_allclose(rotation.target_turns, 100 * factor
                                       * np.array(rotation.frequencies) / (2 * np.pi))
            rotating = [k for k in range(8) if rotation.frequencies[k] > 0]
            self.assertEqual(list(rotation.incomplete_pairs), [k for k in rotating if k >= 3])
            self.assertEqual(len(rotation.ramp), 8 if factor > 1 else 0)
        request.target_length = 1000
        self.assertEqual(self.client(wire.ENCODE, request).rotation.target_length, 1000)
        request.trained_length = -1
        with self.assertRaisesRegex(Exception, "trained_length"):
            self.client(wire.ENCODE, request)

    def test_kerple_returns_the_parameters_of_each_head(self):
        request = wire.EncodeRequest(scheme={"kerple": {"p": [0.5, 1.5], "seed": 3}})
        request.positions.range.count = 1
        parameters = {each.name: list(each.values)
                      for each in self.client(wire.ENCODE, request).bias.head_numbers}
        self.assertEqual(parameters["p"], [0.5, 1.5])
        stream = streams.Stream(3, "kerple.a")
        np.testing.assert_allclose(parameters["a"], [0.01 + 0.99 * stream.uniform()
                                                     for _ in range(2)], rtol=1e-15)

    def check_attend(self, case, dtype, request):
        response = self.client(wire.ATTEND, request)
        wide = "FLOAT64" if dtype == "FLOAT64" else "FLOAT32"
        parts = {"output": dtype, "weights": wide, "log_sum_exp": wide}
        for key, want in case["expect"].items():
            message = getattr(response, key)
            # Tokens have no floating-point type; their results are in single precision.
            kind = "FLOAT32" if "tokens" in case else parts[key]
            self.assertEqual(message.dtype, wire.CODES[kind], case["name"])
            want = numbers(want)
            self.assert_near(wire.array(message), want, kind,
                             tolerances.attention_tolerance(kind, case, want),
                             f"{case['name']}: {key}, {dtype}")
        self.assertEqual(response.HasField("weights"),
                         case.get("options", {}).get("return_weights", False))

    def test_encodings_match_golden_values_in_every_type(self):
        for case in self.goldens["encode"]:
            for dtype in wire.FLOATS:
                self.check_encode(case, dtype)

    def test_attention_matches_golden_values_in_every_type(self):
        for case in self.goldens["attend"]:
            for dtype in wire.FLOATS:
                self.check_attend(case, dtype, attend_request(case, dtype))

    def test_multi_head_modules_match_golden_values_in_every_type(self):
        for case in self.goldens["module"]:
            for dtype in wire.FLOATS:
                self.check_attend(case, dtype, module_request(case, dtype))

    def test_random_encodings_match_the_reference(self):
        for number in range(RANDOM_ENCODE_CASES):
            case = encoding_cases.random_encode(number)
            self.check_encode(case, wire.FLOATS[number % 4])

    def test_random_attention_matches_the_reference(self):
        for number in range(1000, 1000 + RANDOM_ATTEND_CASES):
            case = attention_cases.random_attend(number, limit=11)
            dtype = wire.FLOATS[number % 4]
            self.check_attend(case, dtype, attend_request(case, dtype))

    def test_random_attention_over_several_tiles_matches_the_reference(self):
        for number in range(2000, 2000 + LARGE_ATTEND_CASES):
            case = attention_cases.random_attend(number, limit=150)
            dtype = wire.FLOATS[number % 2]
            self.check_attend(case, dtype, attend_request(case, dtype))

    def test_mask_may_have_another_type(self):
        case = next(c for c in self.goldens["attend"] if c["name"] == "mask/additive/[3, 4]")
        for dtype, mask_dtype in (("FLOAT32", "FLOAT64"), ("FLOAT16", "FLOAT32"),
                                  ("FLOAT64", "BFLOAT16")):
            request = attend_request(case, dtype)
            request.options.mask.CopyFrom(
                wire.tensor(neutral.to_array(case["options"]["mask"]), mask_dtype))
            self.check_attend(case, dtype, request)

    def test_mask_of_equal_low_values_hides_no_key(self):
        """Finite mask values that are equal for all keys cancel in the softmax, so that the output
        is the mean of the values."""
        v = np.arange(12.0).reshape(1, 1, 4, 3)
        for low in (-1e9, float(np.finfo(np.float32).min)):
            request = wire.AttendRequest()
            request.scheme.none.SetInParent()
            request.heads.q.CopyFrom(wire.tensor(np.ones((1, 1, 2, 2))))
            request.heads.k.CopyFrom(wire.tensor(np.zeros((1, 1, 4, 2))))
            request.heads.v.CopyFrom(wire.tensor(v))
            request.options.mask.CopyFrom(wire.tensor(np.full((2, 4), low)))
            got = wire.array(self.client(wire.ATTEND, request).output)
            self.assert_near(got, np.tile(v.mean(axis=2, keepdims=True), (1, 1, 2, 1)),
                             "FLOAT32", 1e-5, f"mask of {low}")

    def test_empty_batches_queries_and_keys(self):
        """Without batches, queries or keys, the output has the right shape and contains zeros."""
        for scheme in ("none", "rope", "t5_bias"):
            for batch, queries, keys in ((0, 2, 3), (2, 0, 3), (2, 2, 0)):
                request = wire.AttendRequest()
                getattr(request.scheme, scheme).SetInParent()
                request.heads.q.CopyFrom(wire.tensor(np.ones((batch, 2, queries, 4))))
                request.heads.k.CopyFrom(wire.tensor(np.ones((batch, 1, keys, 4))))
                request.heads.v.CopyFrom(wire.tensor(np.ones((batch, 1, keys, 5))))
                request.options.return_weights = request.options.return_log_sum_exp = True
                got = self.client(wire.ATTEND, request)
                np.testing.assert_array_equal(wire.array(got.output),
                                              np.zeros((batch, 2, queries, 5)))
                self.assertEqual(wire.array(got.weights).shape, (batch, 2, queries, keys))
                np.testing.assert_array_equal(wire.array(got.log_sum_exp),
                                              np.full((batch, 2, queries), -np.inf))

    def test_window_beyond_all_keys_gives_zeros(self):
        request = wire.AttendRequest()
        request.scheme.none.SetInParent()
        request.heads.q.CopyFrom(wire.tensor(np.ones((1, 1, 2, 4))))
        request.heads.k.CopyFrom(wire.tensor(np.ones((1, 1, 10, 4))))
        request.heads.v.CopyFrom(wire.tensor(np.ones((1, 1, 10, 4))))
        request.options.query_offset, request.options.window = 1 << 40, 5
        got = wire.array(self.client(wire.ATTEND, request).output)
        np.testing.assert_array_equal(got, np.zeros((1, 1, 2, 4)))

    def test_bias_without_keys_is_empty_for_any_number_of_queries(self):
        request = wire.EncodeRequest(head_count=1)
        request.scheme.alibi.SetInParent()
        request.positions.range.count = 1 << 60
        request.key_positions.range.count = 0
        self.assertEqual(list(self.client(wire.ENCODE, request).bias.bias.shape),
                         [1, 1 << 60, 0])

    def test_nan_in_a_visible_key_propagates_to_the_output(self):
        for nan in (np.nan, -np.nan):
            request = wire.AttendRequest()
            request.scheme.none.SetInParent()
            keys = np.ones((1, 1, 5, 4))
            keys[0, 0, 2, 1] = nan
            request.heads.q.CopyFrom(wire.tensor(np.ones((1, 1, 1, 4))))
            request.heads.k.CopyFrom(wire.tensor(keys))
            request.heads.v.CopyFrom(wire.tensor(np.ones((1, 1, 5, 4))))
            self.assertTrue(np.isnan(wire.array(self.client(wire.ATTEND, request).output)).all())

    def test_table_without_positions_is_empty(self):
        request = wire.EncodeRequest(dim=6)
        request.scheme.sinusoidal.SetInParent()
        request.positions.range.count = 0
        self.assertEqual(list(self.client(wire.ENCODE, request).additive.table.shape), [0, 6])

    def test_attention_without_positions_is_permutation_equivariant(self):
        """Three tokens, width 8, one head, permutation [2, 0, 1]. With sinusoidal positions the
        order matters."""
        tokens, order = ["cat", "sat", "mat"], [2, 0, 1]

        def output_of(scheme, tokens):
            request = wire.AttendRequest()
            getattr(request.scheme, scheme).SetInParent()
            request.module.tokens.extend(tokens)
            request.module.dim, request.module.head_count = 8, 1
            return wire.array(self.client(wire.ATTEND, request).output)[0]

        for scheme, test in (("none", lambda d: d < 1e-6), ("sinusoidal", lambda d: d > 1e-3)):
            permuted = output_of(scheme, [tokens[i] for i in order])
            self.assertTrue(test(np.abs(permuted - output_of(scheme, tokens)[order]).max()),
                            scheme)


class DeterminismTest(unittest.TestCase):
    def responses(self, threads):
        with Daemon(f"--threads={threads}", "--log-calls=false") as daemon:
            client = wire.Client(daemon.grpc_port)
            cases = [attention_cases.random_attend(number, limit=150)
                     for number in range(3000, 3012)]
            responses = [client(wire.ATTEND, attend_request(case, "FLOAT32")).SerializeToString()
                         for case in cases]
            client.close()
            return responses

    def test_results_do_not_depend_on_the_number_of_threads(self):
        self.assertEqual(self.responses(1), self.responses(3))


if __name__ == "__main__":
    unittest.main()
