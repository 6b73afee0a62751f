#!/usr/bin/env python3
"""Property checks and extrapolation evaluations: results, cancellation, deadlines, drain."""

import json
import math
import time
import unittest

import grpc
from google.protobuf import text_format

import wire
from daemon import SANITIZED, Daemon

TINY = """
  schemes { none {} } schemes { rope {} } schemes { rope { base: 500 } }
  trained { text {} model { dim: 16 layer_count: 1 head_count: 2 }
            training { step_count: 20 batch_size: 4 } }
  train_length: 16 eval_lengths: 16 eval_lengths: 32 seed: 7 seed_count: 2"""
# Takes half an hour or more, reports progress soon, and is within --max-evaluation-flops.
LONG = """
  schemes { rope {} } schemes { none {} }
  trained { text {} training { step_count: 400 } } train_length: 64 seed_count: 64"""
# At the lowest priority, evaluations would wait for all other work of the machine.
FOREGROUND = ("--background-evaluations=false",)
MAX_STOP_SECONDS = 5 if SANITIZED else 1


def request_of(text):
    return text_format.Parse(text, wire.EvaluateRequest())


def events_of(stream):
    """The events of a stream until its end, as {kind: list of events}."""
    found = {"progress": [], "cell": [], "summary": []}
    for response in stream:
        kind = response.WhichOneof("event")
        found[kind].append(getattr(response, kind))
    return found


class EvaluationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("--threads=2", "--max-evaluations=1", *FOREGROUND)
        cls.addClassCleanup(cls.daemon.stop)
        cls.client = wire.Client(cls.daemon.grpc_port)
        cls.addClassCleanup(cls.client.close)

    def evaluate(self, text, **options):
        return events_of(self.client.stream(wire.EVALUATE, request_of(text), **options))

    def assert_stops(self, seconds=MAX_STOP_SECONDS):
        """Asserts that no evaluation runs any more within this time."""
        end = time.monotonic() + seconds
        while self.daemon.metric("locus_evaluations_in_progress") and time.monotonic() < end:
            pass
        self.assertEqual(self.daemon.metric("locus_evaluations_in_progress"), 0)

    # Properties.

    def test_every_scheme_has_its_declared_properties(self):
        results = self.client(wire.CHECK_PROPERTIES, wire.CheckPropertiesRequest()).results
        names = [r.scheme_name for r in results if not r.naive]
        kinds = wire.Scheme.DESCRIPTOR.oneofs_by_name["kind"].fields
        self.assertEqual(names, [f.name for f in kinds])
        self.assertEqual(sum(r.naive for r in results), 3)
        listed = self.client(wire.LIST_SCHEMES, wire.ListSchemesRequest()).schemes
        declared = {s.name: s.promises for s in listed}
        for result in results:
            for found in result.properties:
                context = f"{result.scheme_name}: {found}"
                self.assertTrue(found.as_promised, context)
                self.assertTrue(found.worked_case, context)
                self.assertTrue(math.isfinite(found.measured), context)
                self.assertIn(found.verdict, (1, 2, 3), context)
            if not result.naive:
                for found, promised in zip(result.properties, declared[result.scheme_name]):
                    self.assertEqual((found.property, found.promise),
                                     (promised.property, promised.answer))

    def test_checks_only_the_schemes_of_the_request(self):
        request = wire.CheckPropertiesRequest()
        request.schemes.add().rope.base = 500000
        request.schemes.add().rope.SetInParent()
        results = self.client(wire.CHECK_PROPERTIES, request).results
        self.assertEqual([r.scheme_name for r in results], ["rope base=500000", "rope base=10000"])

    # Patterns.

    def serialized_results(self, text):
        """The serialized responses of an evaluation, without progress events."""
        stream = self.client.stream(wire.EVALUATE, request_of(text), deserialize=bytes)
        return [m for m in stream if not wire.EvaluateResponse.FromString(m).HasField("progress")]

    def test_patterns_are_reproducible_to_the_byte(self):
        for causal in ("false", "true"):
            text = f"pattern {{ map_size: 16 causal: {causal} }} seed: 3"
            first = self.serialized_results(text)
            # By default there are six schemes and five lengths, followed by one summary.
            self.assertEqual(len(first), 5 * 6 + 1)
            self.assertEqual(self.serialized_results(text), first)

    def test_patterns_do_not_depend_on_the_number_of_threads(self):
        text = "pattern { map_size: 8 } seed: 3"
        with Daemon("--threads=1", *FOREGROUND) as daemon:
            client = wire.Client(daemon.grpc_port)
            stream = client.stream(wire.EVALUATE, request_of(text), deserialize=bytes)
            single_threaded = [m for m in stream
                               if not wire.EvaluateResponse.FromString(m).HasField("progress")]
            client.close()
        self.assertEqual(single_threaded, self.serialized_results(text))

    def test_attention_maps_have_the_requested_size(self):
        found = self.evaluate("pattern { map_size: 16 } schemes { rope {} }")
        for cell in found["cell"]:
            attention = wire.array(cell.attention_map)
            self.assertEqual(attention.shape, (2, 16, 16))
            self.assertTrue((attention >= 0).all())
        self.assertFalse(self.evaluate("pattern {} schemes { rope {} }")["cell"][0]
                         .HasField("attention_map"))

    # Training.

    def check_manifest(self, summary):
        """Checks that the manifest contains the configuration and exactly the results."""
        manifest = json.loads(summary.manifest_json)
        self.assertEqual(list(manifest), ["experiment", "date", "seeds", "versions",
                                          "configuration", "results", "verdict", "winner",
                                          "reason", "partial", "effective_lengths", "spreads",
                                          "training_curves"])
        self.assertEqual((manifest["experiment"], manifest["seeds"]), ("text", [7, 8]))
        configuration = manifest["configuration"]
        self.assertEqual(configuration["trained"]["training"]["step_count"], 20)
        self.assertEqual(configuration["trained"]["model"]["feed_forward_dim"], 64)
        self.assertEqual([s["name"] for s in configuration["schemes"]],
                         ["none", "rope base=10000", "rope base=500"])
        self.assertEqual(configuration["schemes"][2]["parameters"]["base"], 500)
        for kind in ("rows", "differences", "gates"):
            messages = getattr(summary, kind)
            self.assertEqual(len(manifest["results"][kind]), len(messages))
            for listed, message in zip(manifest["results"][kind], messages):
                self.assertEqual(listed, {name: getattr(message, name) for name in listed})
                self.assertEqual({*listed}, {f.name for f in message.DESCRIPTOR.fields})
        self.assertEqual((manifest["winner"], manifest["reason"], manifest["partial"]),
                         (summary.winner, summary.reason, False))
        self.assertEqual(manifest["verdict"]["kind"], "not_learned")
        self.assertEqual(manifest["verdict"]["text"], summary.verdict.text)
        for kind in ("effective_lengths", "spreads", "training_curves"):
            messages = getattr(summary, kind)
            self.assertGreater(len(messages), 0)
            self.assertEqual([m["scheme"] for m in manifest[kind]],
                             [m.scheme_name for m in messages])

    def test_training_reports_progress_cells_summary_and_manifest(self):
        found = self.evaluate(TINY)
        runs = {(p.scheme_name, p.seed) for p in found["progress"]}
        self.assertEqual(runs, {(n, s) for n in ("none", "rope base=10000", "rope base=500")
                                for s in (7, 8)})
        for progress in found["progress"]:
            self.assertTrue(1 <= progress.step <= progress.step_count == 20)
            self.assertTrue(math.isfinite(progress.loss))
            self.assertTrue(0 <= progress.remaining_seconds < math.inf)
        self.assertEqual({(c.scheme_name, c.seed, c.eval_length) for c in found["cell"]},
                         {(*run, length) for run in runs for length in (16, 32)})
        for cell in found["cell"]:
            self.assertLessEqual({"nll", "bits_per_byte"}, {*cell.metrics})
        summary, = found["summary"]
        self.assertFalse(summary.partial)
        for row in summary.rows:
            values = [c.metrics[row.metric] for c in found["cell"]
                      if (c.scheme_name, c.eval_length) == (row.scheme_name, row.eval_length)]
            self.assertEqual(row.count, len(values))
            self.assertAlmostEqual(row.mean, sum(values) / len(values), places=9)
            self.assertTrue(row.ci_low <= row.mean <= row.ci_high)
        self.check_manifest(summary)

    def test_training_is_reproducible_to_the_byte(self):
        self.assertEqual(self.serialized_results(TINY), self.serialized_results(TINY))

    # Layers with different schemes, and random positions.

    MODEL = """ model { dim: 16 layer_count: 3 head_count: 2 }
                training { step_count: 20 batch_size: 4 } }
                train_length: 16 eval_lengths: 16 eval_lengths: 32 seed: 7 seed_count: 1"""

    def metrics_of(self, schemes, task="text {}"):
        """Returns the metrics as {scheme: {length: metrics}}, and the schemes of the manifest."""
        found = self.evaluate(f"{schemes} trained {{ {task} {self.MODEL}")
        metrics = {}
        for cell in found["cell"]:
            metrics.setdefault(cell.scheme_name, {})[cell.eval_length] = dict(cell.metrics)
        manifest = json.loads(found["summary"][0].manifest_json)
        return metrics, manifest["configuration"]["schemes"]

    def test_layers_alternate_between_schemes(self):
        metrics, schemes = self.metrics_of("""
            schemes { rope {} } schemes { rope {} layers { period: 3 } }
            schemes { rope {} layers { window: 4 others { scheme { rope { base: 500000 } } } } }
            schemes { rope {} layers { others { scheme { rope {} } } } }
            schemes { none {} layers { others { scheme { alibi {} } } others {
              scheme { t5_bias { seed: 1 } } window: 5 } } }""")
        self.assertEqual(list(metrics),
                         ["rope", "rope+none", "rope+rope window=4", "rope+rope window=0",
                          "none+alibi+t5_bias"])
        # Alternating between two equal schemes without parameters changes nothing.
        self.assertEqual(metrics["rope+rope window=0"], metrics["rope"])
        losses = [m[32]["nll"] for name, m in metrics.items() if name != "rope+rope window=0"]
        self.assertEqual(len({*losses}), 4)
        self.assertNotIn("layers", schemes[0])
        self.assertEqual(schemes[1]["layers"], {"period": 3, "window": 0, "others": [
            {"kind": "none", "parameters": {}, "window": 0}]})
        self.assertEqual(schemes[2]["layers"]["window"], 4)
        self.assertEqual(schemes[2]["layers"]["others"][0]["parameters"]["base"], 500000)
        self.assertEqual([other["kind"] for other in schemes[4]["layers"]["others"]],
                         ["alibi", "t5_bias"])
        self.assertEqual(schemes[4]["layers"]["others"][1]["window"], 5)

    def test_training_uses_random_positions(self):
        metrics, schemes = self.metrics_of("""
            schemes { rope {} } schemes { rope {} randomized {} }
            schemes { rope {} randomized { maximum: 16 } }
            schemes { rope {} randomized { in_tests: true } }
            schemes { learned {} randomized { maximum: 100 seed: 5 } layers {} }""")
        self.assertEqual(list(metrics), ["rope", "rope_randomized maximum=32",
                                         "rope_randomized maximum=16",
                                         "rope_randomized maximum=32 in_tests=true",
                                         "learned+none_randomized"])
        # If the maximum equals the length, every position occurs exactly once, in order.
        self.assertEqual(metrics["rope_randomized maximum=16"], metrics["rope"])
        self.assertNotEqual(metrics["rope_randomized maximum=32"], metrics["rope"])
        self.assertNotEqual(metrics["rope_randomized maximum=32 in_tests=true"],
                            metrics["rope_randomized maximum=32"])
        self.assertEqual(schemes[1]["randomized"], {"maximum": 32, "seed": 0, "in_tests": False})
        self.assertEqual(schemes[4]["randomized"], {"maximum": 100, "seed": 5, "in_tests": False})
        # The table has a row for every position that may occur in training.
        self.assertEqual(schemes[4]["parameters"]["max_length"], 100)

    def test_layers_and_random_positions_are_reproducible_to_the_byte(self):
        text = (f"schemes {{ t5_bias {{}} randomized {{ seed: 3 }} layers {{ window: 7 }} }} "
                f"trained {{ text {{}} {self.MODEL}")
        self.assertEqual(self.serialized_results(text), self.serialized_results(text))

    def test_retrofit_trains_on_the_corpus_of_the_request(self):
        corpus = "to be or not to be, that is the question " * 200
        rope = "schemes { rope {} }"
        retrofitted, _ = self.metrics_of(rope, f"retrofit {{ corpus: '{corpus}' }}")
        trained, _ = self.metrics_of(rope, f"text {{ corpus: '{corpus}' }}")
        self.assertEqual(retrofitted, trained)
        self.assertNotEqual(retrofitted, self.metrics_of(rope, "retrofit {}")[0])

    def test_labels_name_schemes(self):
        found = self.evaluate(f"""schemes {{ rope {{}} label: "short" }}
            schemes {{ rope {{ base: 500000 }} label: "länger" }}
            trained {{ copy {{}} {self.MODEL}""")
        names = ["short", "länger"]
        summary, = found["summary"]
        for events in (found["progress"], found["cell"], summary.rows, summary.gates,
                       summary.spreads, summary.training_curves, summary.effective_lengths):
            self.assertEqual(list(dict.fromkeys(event.scheme_name for event in events)), names)
        self.assertEqual([s["name"] for s in
                          json.loads(summary.manifest_json)["configuration"]["schemes"]], names)

    def test_trained_models_answer_questions(self):
        found = self.evaluate("""schemes { rope {} } schemes { alibi {} } seed_count: 2
            trained { ordering { ask { values: [3, 1, 4, 2] } ask { values: [1, 2] } }
                      model { dim: 16 head_count: 2 } training { step_count: 5 } }""")
        summary, = found["summary"]
        self.assertEqual([(a.scheme_name, list(a.values), a.count) for a in
                          summary.ordering_answers],
                         [("rope", [3, 1, 4, 2], 2), ("alibi", [3, 1, 4, 2], 2),
                          ("rope", [1, 2], 2), ("alibi", [1, 2], 2)])
        for answer in summary.ordering_answers:
            self.assertTrue(0 < answer.probability < 1)
        listed = json.loads(summary.manifest_json)["ordering_answers"]
        self.assertEqual([a["probability"] for a in listed],
                         [a.probability for a in summary.ordering_answers])

    def test_retrofit_covers_every_scaling_at_factors_2_4_and_8(self):
        metrics, _ = self.metrics_of("", "retrofit {}")
        self.assertEqual(set(metrics), {"rope"} | {
            f"{scaling}×{factor}" for factor in (2, 4, 8)
            for scaling in ("linear", "ntk", "dynamic_ntk", "yarn", "llama3", "longrope",
                            "proportional")})

    def test_error_names_the_invalid_field_of_layers(self):
        for scheme, field in (
                ("rope {} layers { period: 1 }", "schemes[0].layers.period"),
                ("rope {} layers { period: 4 }", "schemes[0].layers.period"),
                ("rope {} layers { period: 1000000000 }", "schemes[0].layers.period"),
                ("rope {} layers { window: -1 }", "schemes[0].layers.window"),
                ("rope {} layers { others { window: -1 scheme { none {} } } }",
                 "schemes[0].layers.others[0].window"),
                ("rope {} layers { others {} }", "schemes[0].layers.others[0].scheme"),
                ("rope {} layers { others { scheme { none {} layers {} } } }",
                 "schemes[0].layers.others[0].scheme.layers"),
                ("rope {} layers { others { scheme { none {} randomized {} } } }",
                 "schemes[0].layers.others[0].scheme.randomized"),
                ("rope {} layers { others { scheme { rope { rotary_dim: 3 } } } }",
                 "schemes[0].layers.others[0].scheme.rope.rotary_dim"),
                ("rope {} layers { others { scheme { rope { base: -1 } } } }",
                 "schemes[0].layers.others[0].scheme.rope.base"),
                ("rope {} randomized { maximum: 15 }", "schemes[0].randomized.maximum"),
                ("rope {} randomized { maximum: 31 in_tests: true }",
                 "schemes[0].randomized.maximum"),
                ("rope {} randomized { maximum: 1000000000 }", "schemes[0].randomized.maximum")):
            with self.subTest(scheme), self.assertRaises(grpc.RpcError) as caught:
                self.metrics_of(f"schemes {{ {scheme} }}")
            self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
            self.assertTrue(caught.exception.details().startswith(f"{field}: "),
                            caught.exception.details())

    def test_rejects_layers_outside_of_trained_evaluations(self):
        request = wire.CheckPropertiesRequest()
        request.schemes.add().rope.SetInParent()
        request.schemes[0].layers.SetInParent()
        attend = wire.AttendRequest()
        attend.scheme.CopyFrom(request.schemes[0])
        encode = wire.EncodeRequest(dim=4)
        encode.scheme.CopyFrom(request.schemes[0])
        for path, message in ((wire.CHECK_PROPERTIES, request), (wire.ATTEND, attend),
                              (wire.ENCODE, encode)):
            with self.subTest(path), self.assertRaises(grpc.RpcError) as caught:
                self.client(path, message)
            self.assertRegex(caught.exception.details(), r"^schemes?(\[0\])?\.layers: ")
        for scheme in ("rope {} layers {}", "rope {} randomized {}"):
            with self.subTest(scheme), self.assertRaises(grpc.RpcError) as caught:
                self.evaluate(f"pattern {{}} schemes {{ {scheme} }}")
            self.assertRegex(caught.exception.details(), r"^schemes\[0\]\.\w+: ")

    # Cancellation, deadlines and limits.

    def start_long(self, **options):
        """Starts a long evaluation, and returns its stream after the first event."""
        stream = self.client.stream(wire.EVALUATE, request_of(LONG), **options)
        next(stream)
        return stream

    def test_cancellation_stops_the_computation(self):
        stream = self.start_long()
        self.assertEqual(self.daemon.metric("locus_evaluations_in_progress"), 1)
        stream.cancel()
        self.assert_stops()
        # A thread that still computes would use a second of CPU time. CPU time can only be
        # measured over an interval, so that this test has to sleep.
        before = self.daemon.cpu_seconds()
        time.sleep(1)
        self.assertLess(self.daemon.cpu_seconds() - before, 0.5)

    def test_deadline_returns_a_partial_summary(self):
        found = self.evaluate(LONG, timeout=10 if SANITIZED else 3)
        summary = found["summary"][0]
        manifest = json.loads(summary.manifest_json)
        for partial, winner, reason in (
                (summary.partial, summary.winner, summary.reason),
                (manifest["partial"], manifest["winner"], manifest["reason"])):
            self.assertEqual((partial, winner, reason),
                             (True, "", "No winner: the evaluation is partial."))
        self.assert_stops()

    def test_rejects_evaluations_beyond_the_limit(self):
        stream = self.start_long()
        with self.assertRaises(grpc.RpcError) as caught:
            self.evaluate(TINY)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
        self.assertIn("RetryInfo", wire.details_of(caught.exception)[1])
        stream.cancel()
        self.assert_stops()

    def test_rejects_work_beyond_the_budget_at_once(self):
        text = "trained { copy {} training { step_count: 1000000 batch_size: 1024 } }"
        start = time.monotonic()
        with self.assertRaises(grpc.RpcError) as caught:
            self.evaluate(text)
        self.assertLess(time.monotonic() - start, 0.5)
        error = caught.exception
        self.assertEqual(error.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertIn("max_evaluation_flops", error.details())
        self.assertIn("step_count", error.details())

    def test_default_evaluation_of_every_task_fits_the_budget(self):
        for task in ("ordering", "agreement", "text", "copy", "reverse", "recall", "retrofit"):
            stream = self.client.stream(wire.EVALUATE,
                                        request_of(f"trained {{ {task} {{}} }}"))
            with self.subTest(task):
                self.assertEqual(next(stream).WhichOneof("event"), "progress")
            stream.cancel()
            self.assert_stops()

    def test_short_calls_succeed_during_an_evaluation(self):
        stream = self.start_long()
        request = wire.EncodeRequest(dim=8)
        request.scheme.rope.SetInParent()
        request.positions.range.count = 16
        for _ in range(50):
            self.client(wire.ENCODE, request, timeout=5)
        stream.cancel()
        self.assert_stops()


class EvaluationDrainTest(unittest.TestCase):
    def test_drain_ends_a_long_evaluation_with_a_partial_summary(self):
        daemon = Daemon("--grace-seconds=4", *FOREGROUND)
        client = wire.Client(daemon.grpc_port)
        stream = client.stream(wire.EVALUATE, request_of(LONG))
        next(stream)
        daemon.terminate()
        found = events_of(stream)
        self.assertTrue(found["summary"][0].partial)
        self.assertEqual(stream.code(), grpc.StatusCode.OK)
        self.assertEqual(daemon.process.wait(20), 0)
        client.close()

    def test_drain_waits_for_a_short_evaluation(self):
        with Daemon("--grace-seconds=60", *FOREGROUND) as daemon:
            client = wire.Client(daemon.grpc_port)
            stream = client.stream(wire.EVALUATE, request_of(TINY))
            next(stream)
            daemon.terminate()
            found = events_of(stream)
            self.assertFalse(found["summary"][0].partial)
            self.assertEqual(daemon.process.wait(60), 0)
            client.close()


if __name__ == "__main__":
    unittest.main()
