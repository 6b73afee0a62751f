#!/usr/bin/env python3
"""locusd under overload and with misbehaving clients."""

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import grpc
import numpy as np

import wire
from daemon import SANITIZED, Daemon

LOCUS = os.environ.get("LOCUS", "locus")
MAX_HEALTH_SECONDS = 2 if SANITIZED else 0.5
HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# Tokens of an Attend request that computes for more than a second on one thread.
LONG_TOKENS = 4096 if SANITIZED else 32768


def small_request():
    request = wire.EncodeRequest(dim=16)
    request.scheme.rope.SetInParent()
    request.positions.range.count = 8
    return request


def attend_request(tokens, heads=1):
    tensor = wire.tensor(np.zeros((1, heads, tokens, 64), dtype="f4"))
    request = wire.AttendRequest()
    request.scheme.none.SetInParent()
    for name in ("q", "k", "v"):
        getattr(request.heads, name).CopyFrom(tensor)
    return request


def seconds_of(action):
    start = time.monotonic()
    action()
    return time.monotonic() - start


def eventually(condition, seconds=10):
    """Whether condition() becomes true within this time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        # Metrics and /proc can only be polled. The pause leaves CPU time to the server.
        time.sleep(0.02)
    return False


class SilentCalls:
    """Calls that never send their message: `calls` on each of `connections` connections."""

    def __init__(self, test, path, connections, calls):
        self._release = threading.Event()
        test.addCleanup(self._release.set)
        self.calls = []
        for _ in range(connections):
            channel = grpc.insecure_channel(f"127.0.0.1:{test.daemon.grpc_port}",
                                            [("grpc.use_local_subchannel_pool", 1)])
            test.addCleanup(channel.close)
            method = channel.stream_stream(path)
            self.calls += [method(self._no_message()) for _ in range(calls)]

    def _no_message(self):
        self._release.wait(60)
        yield from ()

    def cancel(self):
        """Ends all calls."""
        self._release.set()
        for call in self.calls:
            call.cancel()


def closed_loop(daemon, concurrency, *arguments):
    """Starts `locus load` for four seconds: clients in a closed loop, whose calls take about a
    millisecond each."""
    return subprocess.Popen(
        [LOCUS, "load", "check-properties", "--scheme", "rope", "--server",
         f"127.0.0.1:{daemon.grpc_port}", "--concurrency", str(concurrency), "--connections", "9",
         "--duration", "4s", "-q", *arguments],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def thread_count(daemon):
    return len(os.listdir(f"/proc/{daemon.process.pid}/task"))


def descriptor_count(daemon):
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


class OverloadTest(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon("--threads=1", "--max-queued-calls=4", "--log-calls=false")
        self.addCleanup(self.daemon.stop)
        self.client = wire.Client(self.daemon.grpc_port)
        self.addCleanup(self.client.close)

    def assert_becomes_idle(self):
        """Asserts that no call is left in the server, and no memory reserved."""
        for metric in ("locus_in_flight_calls", "locus_memory_reserved_bytes",
                       "locus_queued_calls", "locus_computing_calls"):
            self.assertTrue(eventually(lambda: self.daemon.metric(metric) == 0), metric)

    def assert_responsive(self):
        """Asserts that health check and metrics respond soon, and that a small call succeeds."""
        check = wire.HealthCheckRequest()
        self.assertLess(seconds_of(lambda: self.client(wire.HEALTH_CHECK, check)),
                        MAX_HEALTH_SECONDS)
        self.assertLess(seconds_of(lambda: self.daemon.http("/metrics")), MAX_HEALTH_SECONDS)
        self.client(wire.ENCODE, small_request())

    def test_excess_calls_are_rejected_and_others_succeed(self):
        request = attend_request(2048 if SANITIZED else 8192)  # a fifth of a second
        method = self.client.method(wire.ATTEND)
        futures = [method.future(request, timeout=60) for _ in range(24)]
        self.assertTrue(eventually(lambda: self.daemon.metric("locus_computing_calls") > 0))
        self.assert_responsive()
        rejected_count = 0
        for future in futures:
            error = future.exception()
            if error is None:
                continue
            self.assertEqual(error.code(), grpc.StatusCode.UNAVAILABLE, error.details())
            _, details = wire.details_of(error)
            self.assertIn("RetryInfo", details)
            trailers = dict(error.trailing_metadata())
            self.assertGreater(int(trailers["grpc-retry-pushback-ms"]), 0)
            rejected_count += 1
        self.assertGreater(rejected_count, 0)
        self.assertLess(rejected_count, len(futures))
        self.assertEqual(self.daemon.metric("locus_rejected_calls_total"), rejected_count)
        self.assert_becomes_idle()
        # The server has recovered from the overload.
        self.assertLess(seconds_of(lambda: self.client(wire.ENCODE, small_request())), 1)

    def test_long_call_does_not_block_short_calls(self):
        future = self.client.method(wire.ATTEND).future(attend_request(LONG_TOKENS), timeout=120)
        self.assertTrue(eventually(lambda: self.daemon.metric("locus_computing_calls") == 1))
        times = [seconds_of(lambda: self.client(wire.ENCODE, small_request())) for _ in range(20)]
        self.assertFalse(future.done(), "the long call has already ended; increase LONG_TOKENS")
        self.assertLess(statistics.median(times), 0.1)
        future.cancel()
        self.assert_becomes_idle()

    def test_rejects_calls_that_would_miss_their_deadline(self):
        long_request = attend_request(LONG_TOKENS)
        method = self.client.method(wire.ATTEND)
        first = method.future(long_request, timeout=120)
        self.assertTrue(eventually(lambda: self.daemon.metric("locus_computing_calls") == 1))
        start = time.monotonic()
        with self.assertRaises(grpc.RpcError) as caught:
            method(long_request, timeout=0.3)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
        self.assertLess(time.monotonic() - start, 0.25)
        first.cancel()
        self.assert_becomes_idle()

    def test_closed_loop_clients_are_not_rejected(self):
        # There are many more clients than calls that the server admits at once. A call that is
        # deferred for two seconds is rejected, so none may be overtaken for long. Eight threads
        # have four completion queue pollers, which share the capacity.
        for threads in (1, 8):
            with self.subTest(threads=threads), \
                    Daemon(f"--threads={threads}", "--log-calls=false") as daemon, \
                    tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, "run.json")
                with closed_loop(daemon, 40 if SANITIZED else 400, "-o", file) as clients:
                    clients.wait()
                with open(file, encoding="utf-8") as text:
                    run = json.load(text)
                calls = sum(run["statuses"].values())
                # If the machine stalls for a moment, a few calls may be rejected.
                self.assertGreaterEqual(run["statuses"]["OK"], 0.99 * calls, run["statuses"])
                if not SANITIZED:
                    self.assertGreater(run["queue_us"]["p50"], 1e4,
                                       "no call was queued; increase the concurrency")

    def test_rejects_unread_calls_that_would_miss_their_deadline(self):
        concurrency = 60 if SANITIZED else 500
        with Daemon("--threads=1", "--log-calls=false") as daemon, \
                closed_loop(daemon, concurrency):
            client = wire.Client(daemon.grpc_port)
            self.addCleanup(client.close)
            self.assertTrue(eventually(
                lambda: daemon.metric("locus_deferred_calls") > concurrency / 4))
            request = wire.CheckPropertiesRequest()
            request.schemes.add().rope.SetInParent()

            def is_rejected(timeout):
                try:
                    client(wire.CHECK_PROPERTIES, request, timeout=timeout)
                except grpc.RpcError as error:
                    if error.code() == grpc.StatusCode.UNAVAILABLE:
                        self.assertIn("its deadline is in", error.details())
                        self.assertIn("grpc-retry-pushback-ms", dict(error.trailing_metadata()))
                        return True
                return False

            self.assertTrue(eventually(lambda: is_rejected(0.1), 3))
            # The deadline is also the reason if little more time is left than the wait takes.
            timeouts = (0.12, 0.14, 0.17, 0.2, 0.3, 0.4)
            self.assertTrue(any([is_rejected(timeout) for timeout in timeouts]))

    def test_rapid_cancellations_release_all_resources(self):
        method = self.client.method(wire.ATTEND)
        request = attend_request(1024)
        threads = thread_count(self.daemon)
        for _ in range(300):
            method.future(request, timeout=60).cancel()
        self.assert_becomes_idle()
        self.assert_responsive()
        self.assertTrue(eventually(lambda: thread_count(self.daemon) <= threads + 16),
                        f"{thread_count(self.daemon)} threads, {threads} before")

    def test_calls_without_a_message_do_not_block_others(self):
        self.daemon = Daemon("--threads=1", "--log-calls=false")
        self.addCleanup(self.daemon.stop)
        self.client = wire.Client(self.daemon.grpc_port)
        self.addCleanup(self.client.close)
        # A connection may have at most 100 calls in flight.
        silent = SilentCalls(self, wire.ENCODE, connections=3, calls=90)
        attends = SilentCalls(self, wire.ATTEND, connections=1, calls=90)
        times = []
        for _ in range(36):
            times.append(seconds_of(lambda: self.client(wire.ENCODE, small_request(), timeout=5)))
            self.client(wire.ATTEND, attend_request(16), timeout=5)
        self.assertLess(max(times), 1)
        self.assertLess(statistics.median(times), 0.1)
        # The server may have rejected some of the silent calls, because they arrived all at once.
        active = sum(call.is_active() for call in silent.calls + attends.calls)
        self.assertGreater(active, 180)
        silent.cancel()
        attends.cancel()
        self.assert_becomes_idle()
        self.assert_responsive()

    def median_beside_large_calls(self, daemon, callers, options):
        """The median time of small Attend calls, while others make large ones."""
        large = attend_request(512 if SANITIZED else 2048)  # tens of milliseconds
        end, rejected = threading.Event(), threading.Event()

        def call_repeatedly():
            client = wire.Client(daemon.grpc_port, options=options)
            while not end.is_set():
                try:
                    client(wire.ATTEND, large, timeout=10)
                except grpc.RpcError:
                    rejected.set()
                    time.sleep(0.01)
            client.close()

        threads = [threading.Thread(target=call_repeatedly) for _ in range(callers)]
        for thread in threads:
            thread.start()
        client = wire.Client(daemon.grpc_port, options=options)
        try:
            self.assertTrue(eventually(
                lambda: rejected.is_set() or daemon.metric("locus_queued_calls") > 2))
            return statistics.median(
                seconds_of(lambda: client(wire.ATTEND, attend_request(16), timeout=5))
                for _ in range(20))
        finally:
            end.set()
            client.close()
            for thread in threads:
                thread.join()

    def test_small_calls_succeed_beside_large_calls_of_the_same_method(self):
        own_connection = [("grpc.use_local_subchannel_pool", 1)]
        with Daemon("--threads=1", "--log-calls=false") as daemon:
            self.assertLess(self.median_beside_large_calls(daemon, 48, own_connection), 0.5)

    def test_small_calls_succeed_beside_large_calls_of_the_same_connection(self):
        with Daemon("--threads=1", "--log-calls=false") as daemon:
            self.assertLess(self.median_beside_large_calls(daemon, 12, ()), 0.5)

    def test_tolerates_a_thousand_idle_connections(self):
        descriptors = descriptor_count(self.daemon)
        sockets = []
        try:
            for _ in range(1000):
                sockets.append(socket.create_connection(("127.0.0.1", self.daemon.grpc_port)))
            self.assertTrue(eventually(
                lambda: descriptor_count(self.daemon) >= descriptors + 1000))
            self.assert_responsive()
        finally:
            for connection in sockets:
                connection.close()
        self.assertTrue(eventually(lambda: descriptor_count(self.daemon) <= descriptors + 16))

    def test_incomplete_requests_do_not_block_others(self):
        # A complete preface, an incomplete HEADERS frame, and an incomplete preface.
        beginnings = (HTTP2_PREFACE, HTTP2_PREFACE + b"\x00\x40\x00\x01\x04\x00\x00\x00\x01",
                      HTTP2_PREFACE[:10])
        sockets = []
        try:
            for i in range(120):
                connection = socket.create_connection(("127.0.0.1", self.daemon.grpc_port))
                connection.sendall(beginnings[i % len(beginnings)])
                sockets.append(connection)
            self.assert_responsive()
        finally:
            for connection in sockets:
                connection.close()
        self.assert_responsive()

    def start_client(self, code):
        """Starts a client process that runs this code, to be stopped during its call."""
        return subprocess.Popen(
            [sys.executable, "-B", "-c",
             "import sys; sys.path.insert(0, sys.argv[1])\n"
             "import overload_test as t, wire\n"
             "client = wire.Client(int(sys.argv[2]))\n" + code,
             os.path.dirname(os.path.abspath(__file__)), str(self.daemon.grpc_port)],
            stdout=subprocess.PIPE)

    def test_death_of_the_client_stops_the_computation(self):
        client = self.start_client(
            f"client(wire.ATTEND, t.attend_request({LONG_TOKENS}), timeout=300)")
        self.assertTrue(eventually(lambda: self.daemon.metric("locus_computing_calls") == 1, 30))
        client.kill()
        client.communicate()
        self.assert_becomes_idle()
        # A thread that still computes would use 0.3 s of CPU time. CPU time can only be measured
        # over an interval, so that this test has to sleep.
        before = self.daemon.cpu_seconds()
        time.sleep(0.3)
        self.assertLess(self.daemon.cpu_seconds() - before, 0.2)

    def test_client_that_does_not_read_does_not_block_others(self):
        # The response is far larger than the buffers of a connection.
        client = self.start_client(
            "request = wire.EncodeRequest(dim=1024)\n"
            "request.scheme.sinusoidal.SetInParent()\n"
            "request.positions.range.count = 65536\n"
            "print('calling', flush=True)\n"
            "client(wire.ENCODE, request, timeout=300)")
        client.stdout.readline()
        self.assertTrue(eventually(lambda: self.daemon.metric("locus_in_flight_calls") > 0))
        client.send_signal(signal.SIGSTOP)
        for _ in range(20):
            self.assert_responsive()
        client.kill()
        client.communicate()
        self.assert_becomes_idle()


class DrainTest(unittest.TestCase):
    """A server drains under load while clients balance over it and another server."""

    CONFIG = json.dumps({
        "loadBalancingConfig": [{"round_robin": {}}],
        "methodConfig": [{"name": [{}], "retryPolicy": {
            "maxAttempts": 5, "initialBackoff": "0.05s", "maxBackoff": "1s",
            "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"]}}]})

    def test_no_call_fails_while_one_of_two_servers_drains(self):
        with Daemon("--grace-seconds=20") as draining, Daemon() as remaining:
            target = f"ipv4:127.0.0.1:{draining.grpc_port},127.0.0.1:{remaining.grpc_port}"
            channel = grpc.insecure_channel(target, options=[
                ("grpc.service_config", self.CONFIG), ("grpc.enable_retries", 1),
                # gRPC does not retry calls whose messages exceed this buffer.
                ("grpc.per_rpc_retry_buffer_size", 16 << 20)])
            attend = channel.unary_unary(
                wire.ATTEND, request_serializer=lambda m: m.SerializeToString(),
                response_deserializer=wire.AttendResponse.FromString)
            request = attend_request(512, heads=4)
            failures, counts = [], [0] * 4
            end = threading.Event()

            def call(number):
                while not end.is_set():
                    try:
                        attend(request, timeout=60)
                        counts[number] += 1
                    except grpc.RpcError as error:
                        failures.append(f"{error.code()}: {error.details()}")

            threads = [threading.Thread(target=call, args=(n,)) for n in range(len(counts))]
            for thread in threads:
                thread.start()
            self.assertTrue(eventually(lambda: draining.metric("grpc_server_handled_total") > 10))
            draining.terminate()
            self.assertEqual(draining.process.wait(20), 0)
            before = sum(counts)
            self.assertTrue(eventually(lambda: sum(counts) > before + 20, 30))
            end.set()
            for thread in threads:
                thread.join()
            channel.close()
            self.assertEqual(failures, [])
            codes = [e["code"] for e in draining.log.events() if e["event"] == "call"]
            self.assertLessEqual(set(codes), {"OK", "UNAVAILABLE"})
            self.assertEqual(draining.log.events()[-1]["event"], "stopped")


if __name__ == "__main__":
    unittest.main()
