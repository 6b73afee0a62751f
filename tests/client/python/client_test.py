#!/usr/bin/env python3
"""Every method of the blocking client against a real locusd."""

import threading
import unittest

import support  # noqa: F401
import numpy as np
from daemon import Daemon

import locus


def softmax_attention(q, k, v, visible):
    """Attention in float64. visible: [Tq, Tk]. Every query must see a key."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1).astype("f8"), np.repeat(v, group, 1).astype("f8")
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    scores = np.where(visible, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


class ClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)
        cls.client = locus.connect(f"127.0.0.1:{cls.daemon.grpc_port}")
        cls.addClassCleanup(cls.client.close)
        random = np.random.default_rng(0)
        cls.q = random.standard_normal((2, 4, 13, 8), dtype="f4")
        cls.k, cls.v = random.standard_normal((2, 2, 2, 13, 8), dtype="f4")

    def test_rope_returns_cosines_and_sines(self):
        positions = np.array([0, 7, 1_000_000])
        cos, sin = self.client.rope(positions, dim=128, base=500_000)
        angles = positions[:, None] * 500_000.0 ** (-np.arange(64) / 64)
        self.assertEqual((cos.shape, cos.dtype), ((3, 64), np.float32))
        np.testing.assert_allclose(cos, np.cos(angles), atol=2e-6)
        np.testing.assert_allclose(sin, np.sin(angles), atol=2e-6)

    def test_rope_takes_a_scaling_and_a_type(self):
        cos, _ = self.client.rope([100], dim=8, linear=4, dtype="float64")
        plain, _ = self.client.rope([25], dim=8, dtype=np.float64)
        self.assertEqual(cos.dtype, np.float64)
        np.testing.assert_allclose(cos, plain, atol=1e-15)

    def test_encode_returns_a_table_with_its_frequencies(self):
        encoding = self.client.encode("sinusoidal", positions=range(50), dim=64)
        angles = np.arange(50)[:, None] * 10000.0 ** (-np.arange(32) / 32)
        np.testing.assert_allclose(encoding.table[:, ::2], np.sin(angles), atol=2e-6)
        self.assertEqual((encoding.kind, encoding.frequencies[0]), ("table", 1.0))

    def test_encode_returns_a_bias_with_its_slopes(self):
        encoding = self.client.encode("alibi:symmetric", 3, heads=2)
        self.assertEqual(encoding.bias.shape, (2, 3, 3))
        np.testing.assert_allclose(encoding.bias[1, 0], -encoding.slopes[1] * np.arange(3))

    def test_encode_applies_a_scheme_to_an_input(self):
        x = np.ones((5, 8), "f4")
        encoding = self.client.encode("sinusoidal", input=x)
        np.testing.assert_allclose(encoding.output, x + encoding.table, atol=1e-6)

    def test_encode_explains_a_scaling(self):
        encoding = self.client.encode("rope:yarn=4", 1, 16, trained_length=128)
        self.assertEqual((encoding.target_length, list(encoding.incomplete_pairs)),
                         (512, [3, 4, 5, 6, 7]))
        self.assertIn("ramp", dir(encoding))

    def test_missing_parts_of_an_encoding_are_explained(self):
        encoding = self.client.encode("rope", 2, 4)
        with self.assertRaisesRegex(AttributeError, "rope has no table; it has .cos and .sin"):
            encoding.table
        with self.assertRaisesRegex(AttributeError, "had no input"):
            encoding.output
        self.assertFalse(hasattr(encoding, "slopes"))
        self.assertEqual(self.client.encode("none", 2, 4).kind, "nothing")

    def test_attend_computes_causal_grouped_attention(self):
        result = self.client.attend(self.q, self.k, self.v, causal=True)
        expected = softmax_attention(self.q, self.k, self.v, np.tri(13, dtype=bool))
        np.testing.assert_allclose(result.output, expected, atol=2e-5)
        np.testing.assert_allclose(result.weights.sum(-1), 1, atol=1e-5)
        self.assertEqual(result.log_sum_exp.shape, (2, 4, 13))

    def test_attend_takes_masks_and_a_window(self):
        i, j = np.arange(13)[:, None], np.arange(13)
        near = abs(i - j) < 3
        expected = softmax_attention(self.q, self.k, self.v, near)
        for options in ({"window": 3}, {"mask": near},
                        {"mask": np.where(near, 0, -np.inf).astype("f4")}):
            result = self.client.attend(self.q, self.k, self.v, **options)
            np.testing.assert_allclose(result.output, expected, atol=2e-5)

    def test_attend_takes_fewer_axes(self):
        whole = self.client.attend(self.q, self.k, self.v, scheme="rope").output
        heads = self.client.attend(self.q[0], self.k[0], self.v[0], scheme="rope")
        self.assertEqual(heads.weights.shape, (4, 13, 13))
        np.testing.assert_array_equal(heads.output, whole[0])
        one = self.client.attend(self.q[0, 0], self.k[0, 0], self.v[0, 0], scheme="rope")
        np.testing.assert_allclose(one.output, whole[0, 0], atol=1e-6)

    def test_attend_accepts_all_types_and_converts(self):
        exact = self.client.attend(self.q, self.k, self.v, dtype="float64").output
        self.assertEqual(exact.dtype, np.float64)
        for dtype, tolerance in (("float32", 2e-5), ("float16", 5e-3), ("bfloat16", 4e-2)):
            output = self.client.attend(self.q, self.k, self.v, dtype=dtype).output
            np.testing.assert_allclose(output.astype("f8"), exact, atol=tolerance)

    def test_attend_accepts_lists(self):
        result = self.client.attend([[1, 0]], [[1, 0], [0, 1]], [[2], [4]])
        np.testing.assert_allclose(result.output, [[2 + 2 / (1 + np.exp(1 / np.sqrt(2)))]],
                                   atol=1e-6)

    def test_weights_are_left_out_by_default_if_they_are_large(self):
        q = np.zeros((1, 1, 1100, 4), "f4")
        result = self.client.attend(q, q, q)
        with self.assertRaisesRegex(AttributeError, "return_weights=True"):
            result.weights
        self.assertEqual(self.client.attend(q, q, q, return_weights=True).weights.shape,
                         (1, 1, 1100, 1100))

    def test_attend_tokens_shows_equal_words_without_positions(self):
        weights = self.client.attend_tokens("the cat sat on the mat").weights
        np.testing.assert_array_equal(weights[0, 0], weights[0, 4])
        moved = self.client.attend_tokens("the cat sat on the mat", scheme="rope", heads=2)
        self.assertEqual(moved.weights.shape, (2, 6, 6))
        self.assertGreater(abs(moved.weights[0, 0] - moved.weights[0, 4]).max(), 1e-3)

    def test_attend_module_uses_given_weights(self):
        x = np.random.default_rng(1).standard_normal((3, 4), dtype="f4")
        identity = np.eye(4, dtype="f4")
        weights = {name: identity for name in ("wq", "wk", "wv", "wo")}
        result = self.client.attend_module(x, weights=weights)
        expected = softmax_attention(x[None, None], x[None, None], x[None, None],
                                     np.ones((3, 3), bool))[0, 0]
        np.testing.assert_allclose(result.output, expected, atol=1e-5)
        self.assertEqual(self.client.attend_module(x[None], seed=3).output.shape, (1, 3, 4))

    def test_schemes_are_described(self):
        schemes = self.client.schemes()
        rope = schemes["rope"]
        self.assertEqual((rope.acts_on, rope.properties["shift_invariance"]),
                         ("queries_and_keys", "yes"))
        self.assertIn("yarn.factor", [parameter.name for parameter in rope.parameters])
        with self.assertRaises(KeyError):
            schemes["frob"]

    def test_check_measures_properties(self):
        properties = self.client.check(["rope", "none"])
        self.assertTrue(properties.ok)
        row = next(row for row in properties if row.name == "norm_preservation")
        self.assertEqual((row.verdict, row.promise), ("holds", "yes"))
        self.assertLess(row.measured, 1e-6)
        self.assertTrue(any(row.naive for row in self.client.check(["rope"], naive=True)))

    def test_evaluate_streams_events_and_ends_with_a_summary(self):
        evaluation = self.client.evaluate(
            ["rope", "alibi"], task="text", seeds=2, eval_lengths=[32, 64],
            model={"dim": 16, "head_count": 2}, training={"step_count": 3})
        events = list(evaluation)
        self.assertIsInstance(events[0], locus.Progress)
        self.assertEqual(len(evaluation.cells), 2 * 2 * 2)
        self.assertIs(evaluation.summary, events[-1])
        row = next(r for r in evaluation.summary.of("nll") if r.eval_length == 64)
        self.assertEqual((row.scheme_name, row.count), ("rope", 2))
        self.assertIn("nll", evaluation.summary.metrics())
        self.assertEqual(evaluation.summary.rows.to_dicts()[0]["scheme_name"], "rope")
        self.assertEqual(len(evaluation.summary.gates), 2)
        self.assertIn("seeds", str(evaluation.summary.manifest))

    def test_evaluate_reports_a_verdict_and_answers_to_asked_sequences(self):
        summary = self.client.evaluate(
            ["rope", "none"], task="ordering", seeds=2, train_length=8, eval_lengths=[8],
            model={"dim": 16, "head_count": 2}, training={"step_count": 2},
            task_options={"ask": [{"values": [3, 1, 4, 2]}]}).summary
        self.assertEqual((summary.verdict.kind, summary.verdict.winner), ("not_learned", ""))
        self.assertTrue(summary.verdict.text)
        answers = summary.details["ordering_answers"]
        self.assertEqual([answer["scheme_name"] for answer in answers], ["rope", "none"])
        self.assertEqual(answers[0]["values"], [3, 1, 4, 2])

    def test_evaluate_uses_labels(self):
        cells = self.client.evaluate(["long=rope:base=500000", {"rope": {}, "label": "short"}],
                                     task="pattern").cells
        self.assertEqual({cell.scheme_name for cell in cells}, {"long", "short"})

    def test_evaluate_measures_patterns(self):
        cells = self.client.evaluate(["rope"], pattern={"map_size": 8}).cells
        self.assertEqual(cells[0].attention_map.shape, (2, 8, 8))

    def test_evaluations_can_be_cancelled(self):
        evaluation = self.client.evaluate(["rope"], training={"step_count": 50000})
        next(iter(evaluation))
        evaluation.cancel()
        with self.assertRaisesRegex(locus.LocusError, "cancelled"):
            evaluation.summary

    def test_rows_become_a_data_frame_if_pandas_is_installed(self):
        rows = self.client.check(["none"])
        try:
            import pandas
        except ImportError:
            with self.assertRaisesRegex(ImportError, "needs pandas"):
                rows.to_pandas()
        else:
            self.assertIsInstance(rows.to_pandas(), pandas.DataFrame)

    def test_mistakes_in_arguments_name_the_argument(self):
        for call, message in (
                (lambda: self.client.evaluate(task="txt"), 'there is no task "txt"; did you mean'),
                (lambda: self.client.evaluate(task="copy", corpus="x"), "takes no text"),
                (lambda: self.client.evaluate(task="copy", task_options={"x": 1}),
                 'copy.x: there is no field "x"'),
                (lambda: self.client.attend(self.q, self.k[0], self.v), "k: has 3 axes, but q"),
                (lambda: self.client.attend([1], [1], [1]), "q: has 1 axes"),
                (lambda: self.client.attend(self.q, self.k, self.v, causl=True),
                 'causl: there is no field "causl"; did you mean causal'),
                (lambda: self.client.encode("rope", 2, 4, dtype="float8"), "dtype: is"),
                (lambda: self.client.encode("rope", "abc", 4), "positions: must be"),
                (lambda: self.client.health(timeout=0), "timeout: is 0 s; must be positive")):
            with self.subTest(message=message), self.assertRaises(locus.InvalidInput) as caught:
                call()
            self.assertIn(message, str(caught.exception))

    def test_errors_of_the_server_carry_field_violations(self):
        with self.assertRaises(locus.InvalidArgument) as caught:
            self.client.encode("rope", 4, dim=7)
        error = caught.exception
        self.assertEqual((error.code, error.reason), ("INVALID_ARGUMENT", "INVALID_FIELD"))
        self.assertEqual(error.field_violations[0].field, "scheme.rope.rotary_dim")
        self.assertIn("must be even", error.field_violations[0].description)
        self.assertTrue(error.request_id)

    def test_messages_above_4_mib_pass(self):
        table = self.client.encode("sinusoidal", 16384, 128).table
        self.assertEqual(table.nbytes, 8 << 20)
        encoding = self.client.encode("none", input=table)
        np.testing.assert_array_equal(encoding.output, table)

    def test_calls_report_their_id_and_times(self):
        call = self.client.encode("rope", 4, 8).call
        self.assertEqual(call.attempts, 1)
        self.assertTrue(call.request_id)
        self.assertGreaterEqual(call.compute_seconds, 0)

    def test_any_unary_method_can_be_called_by_its_name(self):
        request = {"scheme": "alibi", "positions": range(3), "head_count": 2, "dtype": "float64"}
        for method in ("Encode", "EncodingService/Encode", "/locus.v1.EncodingService/Encode"):
            response = self.client.call(method, request)
            np.testing.assert_array_equal(locus.to_array(response.bias.bias),
                                          self.client.encode("alibi", 3, heads=2,
                                                             dtype="float64").bias)
        attended = self.client.call("Attend", {
            "scheme": "none", "heads": {"q": self.q, "k": self.k, "v": self.v}})
        np.testing.assert_array_equal(locus.to_array(attended.output),
                                      self.client.attend(self.q, self.k, self.v).output)
        self.assertTrue(self.client.call("ListSchemes").schemes)

    def test_unknown_methods_are_rejected(self):
        for method in ("Encod", "", "EvaluateExtrapolation"):
            with self.assertRaisesRegex(locus.InvalidInput, "there is no method"):
                self.client.call(method)

    def test_deadlines_are_honoured(self):
        q = np.zeros((1, 8, 4096, 64), "f4")
        with self.assertRaises(TimeoutError) as caught:
            self.client.attend(q, q, q, timeout=0.01)
        self.assertIsInstance(caught.exception, locus.DeadlineExceeded)

    def test_the_client_is_shared_by_threads(self):
        results = []

        def call():
            results.append(self.client.rope([1], dim=8)[0][0, 0])

        threads = [threading.Thread(target=call) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(results)), 1)
        self.assertEqual(len(results), 8)

    def test_health(self):
        self.assertEqual(self.client.health(), "SERVING")
        self.assertEqual(self.client.health("locus.v1.AttentionService"), "SERVING")
        with self.assertRaises(locus.NotFound):
            self.client.health("frob")

    def test_a_closed_client_makes_no_calls(self):
        client = locus.connect(self.client.address)
        client.close()
        client.close()
        with self.assertRaisesRegex(locus.LocusError, "the client is closed"):
            client.schemes()

    def test_a_server_that_cannot_be_reached_is_reported(self):
        retry = locus.RetryPolicy(max_attempts=2, initial_backoff=0.01)
        with locus.connect("127.0.0.1:1", retry=retry) as client:
            with self.assertRaises(ConnectionError) as caught:
                client.schemes(timeout=10)
        self.assertIn("cannot reach 127.0.0.1:1", str(caught.exception))
        self.assertEqual(caught.exception.attempts, 2)

    def test_the_address_comes_from_the_environment(self):
        support.os.environ["LOCUS_SERVER"] = self.client.address
        self.addCleanup(support.os.environ.pop, "LOCUS_SERVER")
        with locus.connect() as client:
            self.assertEqual(client.address, self.client.address)
            self.assertEqual(client.health(), "SERVING")


if __name__ == "__main__":
    unittest.main()
