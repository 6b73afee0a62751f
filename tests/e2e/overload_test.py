#!/usr/bin/env python3
"""locusd under more than it can do, and under callers that behave badly."""

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
HEALTH_SECONDS = 2 if SANITIZED else 0.5
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


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
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def closed_loop(daemon, callers, *arguments):
    """Callers of a method of a millisecond that wait for their answers, for some seconds."""
    return subprocess.Popen(
        [LOCUS, "load", "check-properties", "--scheme", "rope", "--server",
         f"127.0.0.1:{daemon.grpc_port}", "--concurrency", str(callers), "--connections", "9",
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

    def assert_idle(self):
        for metric in ("locus_in_flight_calls", "locus_memory_reserved_bytes",
                       "locus_queued_calls", "locus_computing_calls"):
            self.assertTrue(eventually(lambda: self.daemon.metric(metric) == 0), metric)

    def assert_answers(self):
        """Health, metrics and a small call, soon."""
        check = wire.HealthCheckRequest()
        self.assertLess(seconds_of(lambda: self.client(wire.HEALTH_CHECK, check)), HEALTH_SECONDS)
        self.assertLess(seconds_of(lambda: self.daemon.http("/metrics")), HEALTH_SECONDS)
        self.client(wire.ENCODE, small_request())

    def test_what_is_too_much_is_refused_at_once_and_the_rest_is_done(self):
        request = attend_request(2048 if SANITIZED else 8192)  # a fifth of a second
        method = self.client.method(wire.ATTEND)
        futures, begun, ended = [], [], {}
        for i in range(24):
            begun.append(time.monotonic())
            future = method.future(request, timeout=60)
            future.add_done_callback(lambda f, i=i: ended.__setitem__(i, time.monotonic()))
            futures.append(future)
        self.assertTrue(eventually(lambda: self.daemon.metric("locus_computing_calls") > 0))
        self.assert_answers()
        done, refused = [], []
        for i, future in enumerate(futures):
            error = future.exception()
            if error is None:
                done.append(i)
                continue
            self.assertEqual(error.code(), grpc.StatusCode.UNAVAILABLE, error.details())
            _, details = wire.details_of(error)
            self.assertIn("RetryInfo", details)
            trailers = dict(error.trailing_metadata())
            self.assertGreater(int(trailers["grpc-retry-pushback-ms"]), 0)
            refused.append(i)
        self.assertGreater(len(refused), 0)
        self.assertGreater(len(done), 0)
        self.assertEqual(self.daemon.metric("locus_shed_calls_total"), len(refused))
        self.assert_idle()
        # As before the storm.
        self.assertLess(seconds_of(lambda: self.client(wire.ENCODE, small_request())), 1)

    def test_a_long_call_holds_up_no_short_one(self):
        future = self.client.method(wire.ATTEND).future(
            attend_request(4096 if SANITIZED else 32768), timeout=120)
        self.assertTrue(eventually(lambda: self.daemon.metric("locus_computing_calls") == 1))
        times = [seconds_of(lambda: self.client(wire.ENCODE, small_request())) for _ in range(20)]
        self.assertFalse(future.done(), "the long call was over: make it longer")
        self.assertLess(statistics.median(times), 0.1)
        future.cancel()
        self.assert_idle()

    def test_calls_that_cannot_be_done_in_time_are_refused(self):
        long_request = attend_request(4096 if SANITIZED else 32768)
        method = self.client.method(wire.ATTEND)
        first = method.future(long_request, timeout=120)
        self.assertTrue(eventually(lambda: self.daemon.metric("locus_computing_calls") == 1))
        start = time.monotonic()
        with self.assertRaises(grpc.RpcError) as caught:
            method(long_request, timeout=0.3)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
        self.assertLess(time.monotonic() - start, 0.25)
        first.cancel()
        self.assert_idle()

    def test_callers_that_wait_for_their_answers_all_get_them(self):
        # Many more than have a place inside, and none of them may be overtaken for
        # long: whoever waited for two seconds would be refused. Eight threads have
        # four doors, none of which may keep places to itself.
        for threads in (1, 8):
            with self.subTest(threads=threads), \
                    Daemon(f"--threads={threads}", "--log-calls=false") as daemon, \
                    tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, "run.json")
                with closed_loop(daemon, 40 if SANITIZED else 400, "-o", file) as callers:
                    callers.wait()
                with open(file, encoding="utf-8") as text:
                    run = json.load(text)
                calls = sum(run["statuses"].values())
                # A machine that stands still for a moment may turn a few away.
                self.assertGreaterEqual(run["statuses"]["OK"], 0.99 * calls, run["statuses"])
                if not SANITIZED:
                    self.assertGreater(run["queue_us"]["p50"], 5e4,
                                       "nobody waits: make them more")

    def test_what_cannot_be_done_in_time_is_refused_at_the_door(self):
        callers = 60 if SANITIZED else 500
        with Daemon("--threads=1", "--log-calls=false") as daemon, closed_loop(daemon, callers):
            client = wire.Client(daemon.grpc_port)
            self.addCleanup(client.close)
            self.assertTrue(eventually(lambda: daemon.metric("locus_held_calls") > callers / 2))
            request = wire.CheckPropertiesRequest()
            request.schemes.add().rope.SetInParent()

            def refused(timeout):
                try:
                    client(wire.CHECK_PROPERTIES, request, timeout=timeout)
                except grpc.RpcError as error:
                    if error.code() == grpc.StatusCode.UNAVAILABLE:
                        self.assertIn("its deadline is in", error.details())
                        self.assertIn("grpc-retry-pushback-ms", dict(error.trailing_metadata()))
                        return True
                return False

            self.assertTrue(eventually(lambda: refused(0.1), 3))
            # Nor if little more than the wait would be left: the deadline is why, too.
            self.assertTrue(any([refused(timeout) for timeout in (0.2, 0.3, 0.4, 0.5)]))

    def test_rapid_cancels_leave_nothing_behind(self):
        method = self.client.method(wire.ATTEND)
        request = attend_request(1024)
        threads = thread_count(self.daemon)
        for _ in range(300):
            method.future(request, timeout=60).cancel()
        self.assert_idle()
        self.assert_answers()
        self.assertTrue(eventually(lambda: thread_count(self.daemon) <= threads + 16),
                        f"{thread_count(self.daemon)} threads, {threads} before")

    def test_calls_without_a_message_keep_nobody_out_for_long(self):
        enough = threading.Event()
        self.addCleanup(enough.set)

        def nothing():
            enough.wait(60)
            yield from ()

        # Each of its own connection, of which none has more than 100 calls.
        silent = []
        for _ in range(2):
            channel = grpc.insecure_channel(f"127.0.0.1:{self.daemon.grpc_port}",
                                            [("grpc.use_local_subchannel_pool", 1)])
            self.addCleanup(channel.close)
            call = channel.stream_stream(wire.ENCODE)
            silent += [call(nothing()) for _ in range(90)]
        started = eventually(lambda: self.daemon.metric("locus_held_calls") > 0)
        self.assertTrue(started, "the calls found room: make them more")

        def answers():
            try:
                return self.client(wire.ENCODE, small_request(), timeout=10)
            except grpc.RpcError as error:
                self.assertEqual(error.code(), grpc.StatusCode.UNAVAILABLE)

        # Some are sent away, after two seconds of patience; others may stay.
        self.assertTrue(eventually(answers, 20))
        self.assertTrue(any(call.is_active() for call in silent))
        enough.set()
        for call in silent:
            call.cancel()
        self.assert_idle()
        self.assert_answers()

    def test_long_calls_without_a_message_keep_no_other_out_for_long(self):
        request = attend_request(1024 if SANITIZED else 4096)
        for _ in range(40):  # so that such calls are known to be long
            self.client(wire.ATTEND, request)
        enough = threading.Event()
        self.addCleanup(enough.set)

        def nothing():
            enough.wait(60)
            yield from ()

        channel = grpc.insecure_channel(f"127.0.0.1:{self.daemon.grpc_port}",
                                        [("grpc.use_local_subchannel_pool", 1)])
        self.addCleanup(channel.close)
        call = channel.stream_stream(wire.ATTEND)
        silent = [call(nothing()) for _ in range(8)]  # there are three places

        def refused():
            try:
                self.client(wire.ATTEND, request, timeout=0.5)
            except grpc.RpcError:
                return True

        self.assertTrue(eventually(refused), "the calls found room: make them more")

        def answers():
            try:
                return self.client(wire.ATTEND, request, timeout=10)
            except grpc.RpcError as error:
                self.assertEqual(error.code(), grpc.StatusCode.UNAVAILABLE)

        self.assertTrue(eventually(answers, 20))
        enough.set()
        for stream in silent:
            stream.cancel()
        self.assert_idle()

    def test_a_thousand_idle_connections(self):
        descriptors = descriptor_count(self.daemon)
        sockets = []
        try:
            for _ in range(1000):
                sockets.append(socket.create_connection(("127.0.0.1", self.daemon.grpc_port)))
            self.assertTrue(eventually(
                lambda: descriptor_count(self.daemon) >= descriptors + 1000))
            self.assert_answers()
        finally:
            for connection in sockets:
                connection.close()
        self.assertTrue(eventually(lambda: descriptor_count(self.daemon) <= descriptors + 16))

    def test_half_a_request_holds_up_nobody(self):
        # A preface alone; a frame that announces more than comes; half a preface.
        beginnings = (PREFACE, PREFACE + b"\x00\x40\x00\x01\x04\x00\x00\x00\x01", PREFACE[:10])
        sockets = []
        try:
            for i in range(120):
                connection = socket.create_connection(("127.0.0.1", self.daemon.grpc_port))
                connection.sendall(beginnings[i % len(beginnings)])
                sockets.append(connection)
            self.assert_answers()
        finally:
            for connection in sockets:
                connection.close()
        self.assert_answers()

    def run_caller(self, code):
        """Another process that calls, to be stopped in mid-call."""
        return subprocess.Popen(
            [sys.executable, "-B", "-c",
             "import sys; sys.path.insert(0, sys.argv[1])\n"
             "import overload_test as t, wire\n"
             "client = wire.Client(int(sys.argv[2]))\n" + code,
             os.path.dirname(os.path.abspath(__file__)), str(self.daemon.grpc_port)],
            stdout=subprocess.PIPE)

    def test_a_caller_that_vanishes_stops_the_work(self):
        tokens = 4096 if SANITIZED else 32768
        caller = self.run_caller(f"client(wire.ATTEND, t.attend_request({tokens}), timeout=300)")
        self.assertTrue(eventually(lambda: self.daemon.metric("locus_computing_calls") == 1, 30))
        caller.kill()
        caller.communicate()
        self.assert_idle()
        before = self.daemon.cpu_seconds()
        time.sleep(0.3)
        self.assertLess(self.daemon.cpu_seconds() - before, 0.2)

    def test_a_caller_that_does_not_read_holds_up_nobody(self):
        # An answer far larger than the buffers of a connection.
        caller = self.run_caller(
            "request = wire.EncodeRequest(dim=1024)\n"
            "request.scheme.sinusoidal.SetInParent()\n"
            "request.positions.range.count = 65536\n"
            "print('calling', flush=True)\n"
            "client(wire.ENCODE, request, timeout=300)")
        caller.stdout.readline()
        self.assertTrue(eventually(lambda: self.daemon.metric("locus_in_flight_calls") > 0))
        caller.send_signal(signal.SIGSTOP)
        for _ in range(20):
            self.assert_answers()
        caller.kill()
        caller.communicate()
        self.assert_idle()


class TwoServersTest(unittest.TestCase):
    """SIGTERM in the middle of traffic, and another server to go to."""

    CONFIG = json.dumps({
        "loadBalancingConfig": [{"round_robin": {}}],
        "methodConfig": [{"name": [{}], "retryPolicy": {
            "maxAttempts": 5, "initialBackoff": "0.05s", "maxBackoff": "1s",
            "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"]}}]})

    def test_every_call_succeeds(self):
        with Daemon("--grace-seconds=20") as leaving, Daemon() as staying:
            target = f"ipv4:127.0.0.1:{leaving.grpc_port},127.0.0.1:{staying.grpc_port}"
            channel = grpc.insecure_channel(target, options=[
                ("grpc.service_config", self.CONFIG), ("grpc.enable_retries", 1),
                # What is larger than this is never sent again.
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
            self.assertTrue(eventually(lambda: leaving.metric("grpc_server_handled_total") > 10))
            leaving.terminate()
            self.assertEqual(leaving.process.wait(20), 0)
            before = sum(counts)
            self.assertTrue(eventually(lambda: sum(counts) > before + 20, 30))
            end.set()
            for thread in threads:
                thread.join()
            channel.close()
            self.assertEqual(failures, [])
            codes = [e["code"] for e in leaving.log.events() if e["event"] == "call"]
            self.assertLessEqual(set(codes), {"OK", "UNAVAILABLE"})
            self.assertEqual(leaving.log.events()[-1]["event"], "stopped")


if __name__ == "__main__":
    unittest.main()
