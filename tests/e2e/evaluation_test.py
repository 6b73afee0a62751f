#!/usr/bin/env python3
"""Evaluations by a real server: what they say, how they end, what they cost."""

import json
import math
import threading
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
# Half an hour or more, says something soon, and is within the budget.
ENDLESS = """
  schemes { rope {} } schemes { none {} }
  trained { text {} training { step_count: 400 } } train_length: 64 seed_count: 64"""
# At the lowest priority tests would wait for whatever else the machine does.
ALONE = ("--background-evaluations=false",)
STOP_SECONDS = 5 if SANITIZED else 1


def request_of(text):
    return text_format.Parse(text, wire.EvaluateRequest())


def answers(stream):
    """{kind of event: list of them}."""
    found = {"progress": [], "cell": [], "summary": []}
    for response in stream:
        kind = response.WhichOneof("event")
        found[kind].append(getattr(response, kind))
    return found


class EvaluationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("--threads=2", "--max-evaluations=1", *ALONE)
        cls.addClassCleanup(cls.daemon.stop)
        cls.client = wire.Client(cls.daemon.grpc_port)
        cls.addClassCleanup(cls.client.close)

    def evaluate(self, text, **options):
        return answers(self.client.stream(wire.EVALUATE, request_of(text), **options))

    def await_idle(self, seconds=STOP_SECONDS):
        """That no evaluation runs any more, soon."""
        end = time.monotonic() + seconds
        while self.daemon.metric("locus_evaluations_in_progress") and time.monotonic() < end:
            pass
        self.assertEqual(self.daemon.metric("locus_evaluations_in_progress"), 0)

    # Properties.

    def test_every_scheme_keeps_its_promises(self):
        results = self.client(wire.CHECK_PROPERTIES, wire.CheckPropertiesRequest()).results
        names = [r.scheme_name for r in results if not r.naive]
        kinds = wire.Scheme.DESCRIPTOR.oneofs_by_name["kind"].fields
        self.assertEqual(names, [f.name for f in kinds])
        self.assertEqual(sum(r.naive for r in results), 3)
        listed = self.client(wire.LIST_SCHEMES, wire.ListSchemesRequest()).schemes
        promises = {s.name: s.promises for s in listed}
        for result in results:
            for found in result.properties:
                what = f"{result.scheme_name}: {found}"
                self.assertTrue(found.as_promised, what)
                self.assertTrue(found.worked_case, what)
                self.assertTrue(math.isfinite(found.measured), what)
                self.assertIn(found.verdict, (1, 2, 3), what)
            if not result.naive:
                for found, promised in zip(result.properties, promises[result.scheme_name]):
                    self.assertEqual((found.property, found.promise),
                                     (promised.property, promised.answer))

    def test_properties_of_named_schemes(self):
        request = wire.CheckPropertiesRequest()
        request.schemes.add().rope.base = 500000
        request.schemes.add().rope.SetInParent()
        results = self.client(wire.CHECK_PROPERTIES, request).results
        self.assertEqual([r.scheme_name for r in results], ["rope", "rope#2"])

    # Patterns.

    def wire_answers(self, text):
        """The bytes of all messages but progress."""
        stream = self.client.stream(wire.EVALUATE, request_of(text), deserialize=bytes)
        return [m for m in stream if not wire.EvaluateResponse.FromString(m).HasField("progress")]

    def test_patterns_are_the_same_to_the_byte(self):
        for causal in ("false", "true"):
            text = f"pattern {{ map_size: 16 causal: {causal} }} seed: 3"
            first = self.wire_answers(text)
            # Six schemes take part unless others are named.
            self.assertEqual(len(first), 5 * 6 + 1)
            self.assertEqual(self.wire_answers(text), first)

    def test_patterns_do_not_depend_on_the_number_of_threads(self):
        text = "pattern { map_size: 8 } seed: 3"
        with Daemon("--threads=1", *ALONE) as daemon:
            client = wire.Client(daemon.grpc_port)
            stream = client.stream(wire.EVALUATE, request_of(text), deserialize=bytes)
            alone = [m for m in stream
                     if not wire.EvaluateResponse.FromString(m).HasField("progress")]
            client.close()
        self.assertEqual(alone, self.wire_answers(text))

    def test_maps_are_as_large_as_asked_for(self):
        found = self.evaluate("pattern { map_size: 16 } schemes { rope {} }")
        for cell in found["cell"]:
            attention = wire.array(cell.attention_map)
            self.assertEqual(attention.shape, (2, 16, 16))
            self.assertTrue((attention >= 0).all())
        self.assertFalse(self.evaluate("pattern {} schemes { rope {} }")["cell"][0]
                         .HasField("attention_map"))

    # Training.

    def check_manifest(self, summary):
        """Says what was asked for and what came out, to the last bit."""
        manifest = json.loads(summary.manifest_json)
        self.assertEqual(list(manifest), ["experiment", "date", "seeds", "versions",
                                          "configuration", "results", "winner", "reason",
                                          "partial"])
        self.assertEqual((manifest["experiment"], manifest["seeds"]), ("text", [7, 8]))
        configuration = manifest["configuration"]
        self.assertEqual(configuration["trained"]["training"]["step_count"], 20)
        self.assertEqual(configuration["trained"]["model"]["feed_forward_dim"], 64)
        self.assertEqual([s["name"] for s in configuration["schemes"]], ["none", "rope", "rope#2"])
        self.assertEqual(configuration["schemes"][2]["parameters"]["base"], 500)
        for kind in ("rows", "differences", "gates"):
            messages = getattr(summary, kind)
            self.assertEqual(len(manifest["results"][kind]), len(messages))
            for listed, message in zip(manifest["results"][kind], messages):
                self.assertEqual(listed, {name: getattr(message, name) for name in listed})
                self.assertEqual({*listed}, {f.name for f in message.DESCRIPTOR.fields})
        self.assertEqual((manifest["winner"], manifest["reason"], manifest["partial"]),
                         (summary.winner, summary.reason, False))

    def test_training_tells_of_everything(self):
        found = self.evaluate(TINY)
        runs = {(p.scheme_name, p.seed) for p in found["progress"]}
        self.assertEqual(runs, {(n, s) for n in ("none", "rope", "rope#2") for s in (7, 8)})
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

    def test_training_is_the_same_to_the_byte(self):
        self.assertEqual(self.wire_answers(TINY), self.wire_answers(TINY))

    # Endings.

    def begun(self, **options):
        """An endless evaluation that has said something."""
        stream = self.client.stream(wire.EVALUATE, request_of(ENDLESS), **options)
        next(stream)
        return stream

    def test_cancelling_ends_the_work(self):
        stream = self.begun()
        self.assertEqual(self.daemon.metric("locus_evaluations_in_progress"), 1)
        stream.cancel()
        self.await_idle()
        before, start = self.daemon.cpu_seconds(), time.monotonic()
        while time.monotonic() < start + 1:
            self.daemon.http("/healthz")
        # A thread that worked on would have added a second; asking costs a little.
        self.assertLess(self.daemon.cpu_seconds() - before, 0.5)

    def test_deadline_brings_what_is_finished(self):
        found = self.evaluate(ENDLESS, timeout=10 if SANITIZED else 3)
        self.assertTrue(found["summary"][0].partial)
        self.assertTrue(json.loads(found["summary"][0].manifest_json)["partial"])
        self.await_idle()

    def test_one_too_many_is_sent_away(self):
        stream = self.begun()
        with self.assertRaises(grpc.RpcError) as caught:
            self.evaluate(TINY)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
        self.assertIn("RetryInfo", wire.details_of(caught.exception)[1])
        stream.cancel()
        self.await_idle()

    def test_work_past_the_budget_is_refused_at_once(self):
        text = "trained { copy {} training { step_count: 1000000 batch_size: 1024 } }"
        start = time.monotonic()
        with self.assertRaises(grpc.RpcError) as caught:
            self.evaluate(text)
        self.assertLess(time.monotonic() - start, 0.5)
        error = caught.exception
        self.assertEqual(error.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertIn("max_evaluation_flops", error.details())
        self.assertIn("step_count", error.details())

    def test_the_default_evaluation_of_every_task_fits_the_budget(self):
        for task in ("ordering", "agreement", "text", "copy", "reverse", "recall"):
            stream = self.client.stream(wire.EVALUATE,
                                        request_of(f"trained {{ {task} {{}} }}"))
            with self.subTest(task):
                self.assertEqual(next(stream).WhichOneof("event"), "progress")
            stream.cancel()
            self.await_idle()

    def test_short_calls_are_answered_meanwhile(self):
        stream = self.begun()
        request = wire.EncodeRequest(dim=8)
        request.scheme.rope.SetInParent()
        request.positions.range.count = 16
        for _ in range(50):
            self.client(wire.ENCODE, request, timeout=5)
        stream.cancel()
        self.await_idle()


class EvaluationDrainTest(unittest.TestCase):
    def test_drain_ends_an_evaluation_with_what_is_finished(self):
        daemon = Daemon("--grace-seconds=4", *ALONE)
        client = wire.Client(daemon.grpc_port)
        stream = client.stream(wire.EVALUATE, request_of(ENDLESS))
        next(stream)
        daemon.terminate()
        found = answers(stream)
        self.assertTrue(found["summary"][0].partial)
        self.assertEqual(stream.code(), grpc.StatusCode.OK)
        self.assertEqual(daemon.process.wait(20), 0)
        client.close()

    def test_drain_waits_for_a_short_evaluation(self):
        with Daemon("--grace-seconds=60", *ALONE) as daemon:
            client = wire.Client(daemon.grpc_port)
            stream = client.stream(wire.EVALUATE, request_of(TINY))
            next(stream)
            stopper = threading.Thread(target=daemon.terminate)
            stopper.start()
            found = answers(stream)
            stopper.join()
            self.assertFalse(found["summary"][0].partial)
            self.assertEqual(daemon.process.wait(60), 0)
            client.close()


if __name__ == "__main__":
    unittest.main()
