#!/usr/bin/env python3
"""Retries, backoff, pushback and deadlines: decisions with a fake clock, and calls to a scripted
server."""

import asyncio
import threading
import time
import unittest
from concurrent import futures

import support  # noqa: F401
import grpc

import locus
import locus.aio
from locus import _messages as m
from locus._retry import Attempts, RetryPolicy, Server

FAST = RetryPolicy(max_attempts=4, initial_backoff=0.001, max_backoff=5)


class FakeClock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class AttemptsTest(unittest.TestCase):
    def setUp(self):
        self.clock = FakeClock()
        self.servers = [Server("a:1", self.clock), Server("b:1", self.clock)]

    def attempts(self, servers=None, turn=0, policy=RetryPolicy(), timeout=60.0, shared=True):
        return Attempts(servers or self.servers[:1], turn, policy, timeout, shared, self.clock,
                        lambda: 0.5)

    def test_backoff_doubles_up_to_its_maximum(self):
        policy = RetryPolicy(initial_backoff=0.1, max_backoff=0.3)
        self.assertEqual([policy.backoff(n, None, 0) for n in (1, 2, 3, 4)],
                         [0.05, 0.1, 0.15, 0.15])
        self.assertAlmostEqual(policy.backoff(1, None, 0.999), 0.1, places=3)

    def test_backoff_is_never_shorter_than_the_server_asks(self):
        self.assertAlmostEqual(RetryPolicy().backoff(1, 2.0, 0.5), 2.025)

    def test_only_unavailable_and_unexplained_cancellations_are_retried(self):
        for code, trailers, retried in (
                ("UNAVAILABLE", {}, True), ("UNAVAILABLE", {"x-request-id": "1"}, True),
                ("CANCELLED", {}, True), ("CANCELLED", {"x-request-id": "1"}, False),
                ("INVALID_ARGUMENT", {}, False), ("RESOURCE_EXHAUSTED", {}, False),
                ("DEADLINE_EXCEEDED", {}, False), ("INTERNAL", {}, False)):
            with self.subTest(code=code, trailers=trailers):
                if retried:
                    self.attempts().failed(code, "", trailers)
                else:
                    with self.assertRaises(locus.RpcError):
                        self.attempts().failed(code, "", trailers)

    def test_attempts_are_limited(self):
        attempts = self.attempts(policy=RetryPolicy(max_attempts=2))
        attempts.failed("UNAVAILABLE", "", {})
        with self.assertRaises(locus.Unavailable) as caught:
            attempts.failed("UNAVAILABLE", "", {})
        self.assertEqual(caught.exception.attempts, 2)

    def test_no_attempt_starts_after_the_deadline(self):
        attempts = self.attempts(timeout=1.0)
        with self.assertRaises(locus.Unavailable):
            attempts.failed("UNAVAILABLE", "", {"grpc-retry-pushback-ms": "1500"})

    def test_pushback_delays_the_retry_and_other_calls(self):
        wait = self.attempts().failed("UNAVAILABLE", "", {"grpc-retry-pushback-ms": "800"})
        self.assertAlmostEqual(wait, 0.8 + 0.025)
        self.assertAlmostEqual(self.attempts().initial_wait(), 0.8 * 1.25)
        self.clock.now += 0.9
        self.assertEqual(self.attempts().initial_wait(), 0)

    def test_pushback_of_evaluations_and_health_checks_is_their_own(self):
        self.attempts(shared=False).failed("UNAVAILABLE", "", {"grpc-retry-pushback-ms": "800"})
        self.assertEqual(self.attempts().initial_wait(), 0)
        self.attempts().failed("UNAVAILABLE", "", {"grpc-retry-pushback-ms": "800"})
        self.assertEqual(self.attempts(shared=False).initial_wait(), 0)

    def test_pushback_beyond_the_deadline_fails_at_once(self):
        self.attempts().failed("UNAVAILABLE", "", {"grpc-retry-pushback-ms": "3000"})
        with self.assertRaisesRegex(locus.Unavailable, "asked for no calls before the deadline"):
            self.attempts(timeout=2.0).initial_wait()

    def test_negative_pushback_forbids_a_retry(self):
        with self.assertRaises(locus.Unavailable):
            self.attempts().failed("UNAVAILABLE", "", {"grpc-retry-pushback-ms": "-1"})

    def test_pushback_does_not_apply_to_a_name_of_several_servers(self):
        servers = [Server("dns:///locus:1", self.clock)]
        self.attempts(servers).failed("UNAVAILABLE", "", {"grpc-retry-pushback-ms": "800"})
        self.assertEqual(self.attempts(servers).initial_wait(), 0)

    def test_a_retry_goes_to_the_next_server_without_waiting(self):
        attempts = self.attempts(self.servers)
        self.assertEqual(attempts.index, 0)
        self.assertEqual(attempts.failed("UNAVAILABLE", "", {}), 0)
        self.assertEqual(attempts.index, 1)
        self.assertGreater(attempts.failed("UNAVAILABLE", "", {}), 0)

    def test_servers_with_a_pushback_are_skipped(self):
        self.servers[0].set_pushback(1)
        self.assertEqual(self.attempts(self.servers).index, 1)
        self.servers[1].set_pushback(1)
        self.assertEqual(self.attempts(self.servers).index, 0)

    def test_invalid_settings_are_rejected(self):
        with self.assertRaises(locus.InvalidInput):
            RetryPolicy(max_attempts=0)
        with self.assertRaises(locus.InvalidInput):
            self.attempts(timeout=0)


def details(code, message, *messages):
    status = m.RpcStatus(code=code, message=message)
    for detail in messages:
        status.details.add(type_url=f"type.googleapis.com/{detail.DESCRIPTOR.full_name}",
                           value=detail.SerializeToString())
    return ("grpc-status-details-bin", status.SerializeToString())


class ScriptedServer(grpc.GenericRpcHandler):
    """A server whose calls are answered by a list of functions, one per call."""

    def __init__(self):
        self.script = []
        self.times = []
        self.metadata = []
        self._lock = threading.Lock()
        self._server = grpc.server(futures.ThreadPoolExecutor(8))
        self._server.add_generic_rpc_handlers([self])
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def stop(self):
        self._server.stop(0).wait()

    def service(self, details_of_call):
        is_stream = details_of_call.method.endswith("EvaluateExtrapolation")

        def handle(request, context):
            with self._lock:
                self.times.append(time.monotonic())
                self.metadata.append(dict(context.invocation_metadata()))
                step = self.script.pop(0)
            return step(context)

        if is_stream:
            return grpc.unary_stream_rpc_method_handler(handle)
        return grpc.unary_unary_rpc_method_handler(handle)


def fail(code, *trailers, message="no"):
    def step(context):
        context.set_trailing_metadata(trailers)
        context.abort(code, message)
    return step


def fail_stream(code, *trailers, after=()):
    def step(context):
        yield from after
        context.set_trailing_metadata(trailers)
        context.abort(code, "no")
    return step


def succeed(context):
    return m.HealthCheckResponse(status=1).SerializeToString()


def no_schemes(context):
    return b""


def summary_stream(context):
    response = m.EvaluateResponse()
    response.summary.winner = "rope"
    yield response.SerializeToString()


UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


class ScriptedCallTest(unittest.TestCase):
    def setUp(self):
        self.server = ScriptedServer()
        self.addCleanup(self.server.stop)
        self.address = f"127.0.0.1:{self.server.port}"
        self.client = locus.connect(self.address, retry=FAST)
        self.addCleanup(self.client.close)

    def test_unavailable_is_retried_until_it_succeeds(self):
        self.server.script = [fail(UNAVAILABLE), fail(UNAVAILABLE), succeed]
        self.assertEqual(self.client.health(), "SERVING")
        self.assertEqual(len(self.server.times), 3)

    def test_the_number_of_attempts_is_limited(self):
        self.server.script = [fail(UNAVAILABLE)] * 9
        with self.assertRaises(locus.Unavailable) as caught:
            self.client.health()
        self.assertEqual((caught.exception.attempts, len(self.server.times)), (4, 4))

    def test_the_pushback_of_the_server_is_honoured(self):
        self.server.script = [fail(UNAVAILABLE, ("grpc-retry-pushback-ms", "150")), no_schemes]
        self.client.schemes()
        self.assertGreaterEqual(self.server.times[1] - self.server.times[0], 0.149)

    def test_a_rejected_call_delays_other_calls_of_the_client(self):
        self.server.script = [fail(UNAVAILABLE, ("grpc-retry-pushback-ms", "-1"), details(
            14, "no", m.RetryInfo(retry_delay={"nanos": 150_000_000}))), no_schemes]
        with self.assertRaises(locus.Unavailable) as caught:
            self.client.schemes()
        self.assertAlmostEqual(caught.exception.retry_delay, 0.15)
        self.client.schemes()
        self.assertGreaterEqual(self.server.times[1] - self.server.times[0], 0.149)

    def test_details_of_errors_are_decoded(self):
        bad = m.BadRequest()
        bad.field_violations.add(field="dim", description="is 0")
        info = m.ErrorInfo(reason="INVALID_FIELD", metadata={"limit": "4"})
        self.server.script = [fail(grpc.StatusCode.INVALID_ARGUMENT, ("x-request-id", "abc"),
                                   details(3, "no", bad, info))]
        with self.assertRaises(locus.InvalidArgument) as caught:
            self.client.health()
        error = caught.exception
        self.assertEqual((error.reason, error.metadata, error.request_id, error.attempts),
                         ("INVALID_FIELD", {"limit": "4"}, "abc", 1))
        self.assertEqual(error.field_violations, [locus.FieldViolation("dim", "is 0")])
        self.assertEqual(len(self.server.times), 1)

    def test_a_stream_is_retried_before_its_first_event(self):
        self.server.script = [fail_stream(UNAVAILABLE), summary_stream]
        self.assertEqual(self.client.evaluate(["rope"]).summary.winner, "rope")

    def test_a_stream_is_not_retried_after_its_first_event(self):
        cell = m.EvaluateResponse()
        cell.cell.scheme_name = "rope"
        self.server.script = [fail_stream(UNAVAILABLE, after=[cell.SerializeToString()]),
                              summary_stream]
        with self.assertRaises(locus.Unavailable):
            self.client.evaluate(["rope"]).summary
        self.assertEqual(len(self.server.times), 1)

    def test_a_retry_goes_to_the_next_server(self):
        other = ScriptedServer()
        self.addCleanup(other.stop)
        self.server.script = [fail(UNAVAILABLE)] * 4
        other.script = [succeed] * 4
        with locus.connect(f"{self.address}, 127.0.0.1:{other.port}", retry=FAST) as client:
            for _ in range(4):
                self.assertEqual(client.health(), "SERVING")
        self.assertEqual((len(self.server.times), len(other.times)), (2, 4))

    def test_the_deadline_includes_all_attempts(self):
        self.server.script = [fail(UNAVAILABLE, ("grpc-retry-pushback-ms", "100"))] * 99
        with locus.connect(self.address, retry=RetryPolicy(99, 0.01)) as client:
            start = time.monotonic()
            with self.assertRaises((locus.Unavailable, locus.DeadlineExceeded)):
                client.health(timeout=0.35)
            # All 99 attempts would take ten seconds.
            self.assertLess(time.monotonic() - start, 5.0)
        self.assertLessEqual(len(self.server.times), 4)

    def test_the_async_client_retries_in_the_same_way(self):
        self.server.script = [fail(UNAVAILABLE, ("grpc-retry-pushback-ms", "150")), no_schemes,
                              fail_stream(UNAVAILABLE), summary_stream]

        async def call():
            async with locus.aio.connect(self.address, retry=FAST) as client:
                await client.schemes()
                return await client.evaluate(["rope"]).summary

        self.assertEqual(asyncio.run(call()).winner, "rope")
        self.assertGreaterEqual(self.server.times[1] - self.server.times[0], 0.149)


if __name__ == "__main__":
    unittest.main()
