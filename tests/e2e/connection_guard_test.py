#!/usr/bin/env python3
"""Connections whose peers flood the server are closed, and others are served meanwhile. A client
that does not read its response does not delay the shutdown."""

import itertools
import time
import unittest

import grpc

import http2
import wire
from daemon import SANITIZED, Daemon

# Floods come from an address of their own, because that address may not connect for a while.
FLOOD_ADDRESS, OTHER_ADDRESS = "127.0.0.2", "127.0.0.3"
# Time of a flood that is allowed, and max time until another one is stopped.
ALLOWED_SECONDS, MAX_SECONDS = 2, 10
BATCH_BYTES = 1 << 16
MIB = 1 << 20


def large_encode():
    """An Encode whose response has 131 MB."""
    request = wire.EncodeRequest(dim=1024)
    request.scheme.sinusoidal.SetInParent()
    request.positions.range.count = 32000
    return request


def call(path, message, stream=1):
    return (http2.headers(stream, http2.call_block(path)) +
            http2.data(stream, http2.message(message.SerializeToString()), end=True))


def resets(path):
    for stream in itertools.count(1, 2):
        yield call(path, wire.HealthCheckRequest(), stream) + http2.rst_stream(stream)


def endless_headers():
    yield http2.frame(http2.HEADERS, 0, 1, http2.call_block(wire.LIST_SCHEMES))
    while True:
        yield http2.frame(http2.CONTINUATION, 0, 1, http2.header("x", "a" * 1000))


def tiny_fields():
    block = http2.call_block(wire.LIST_SCHEMES) + http2.header("a", "") * 4000
    for stream in itertools.count(1, 2):
        yield http2.headers(stream, block)


def open_calls():
    for stream in itertools.count(1, 2):
        yield http2.headers(stream, http2.call_block(wire.LIST_SCHEMES))


class Uploader(http2.Connection):
    """A connection that observes flow control."""

    def __init__(self, *arguments, **options):
        self._windows = {0: http2.DEFAULT_WINDOW, 1: http2.DEFAULT_WINDOW}
        super().__init__(*arguments, **options)

    def _take(self, kind, flags, stream, payload):
        super()._take(kind, flags, stream, payload)
        if kind == http2.WINDOW_UPDATE:
            self._windows[stream] += int.from_bytes(payload, "big")
        elif kind == http2.SETTINGS and not flags & http2.ACK:
            self._windows[1] = self.server_settings.get(http2.INITIAL_WINDOW_SIZE,
                                                        http2.DEFAULT_WINDOW)

    def upload(self, path, announced, end):
        """Sends a message that announces this size, until a time."""
        self.wait(end, lambda: self.server_settings)
        self.send(http2.headers(1, http2.call_block(path)) +
                  http2.data(1, b"\0" + announced.to_bytes(4, "big")), end)
        for window in self._windows:
            self._windows[window] -= 5
        while time.monotonic() < end:
            size = min(*self._windows.values(), http2.DEFAULT_FRAME_SIZE)
            if size > 0:
                self.send(http2.data(1, bytes(size)), end)
                for window in self._windows:
                    self._windows[window] -= size
            else:
                windows = dict(self._windows)
                self.wait(end, lambda w=windows: self._windows != w)


class GuardTest(unittest.TestCase):
    def setUp(self):
        # Calls are not logged, because this process would have to read the lines.
        self.daemon = Daemon("--max-message-bytes=64MiB", "--memory-budget-bytes=1GiB",
                             "--log-calls=false")
        self.addCleanup(self.daemon.stop)

    def connect(self, address, acknowledges=True):
        connection = http2.Connection("127.0.0.1", self.daemon.grpc_port, source=address,
                                      acknowledges=acknowledges)
        self.addCleanup(connection.close)
        return connection

    def flood(self, units, acknowledges=True):
        """Sends the units on one connection until the server closes it. Returns the number of
        bytes sent."""
        connection = self.connect(FLOOD_ADDRESS, acknowledges)
        end = time.monotonic() + MAX_SECONDS
        sent = 0
        with self.assertRaises(http2.Closed):
            while time.monotonic() < end:
                batch = b""
                while len(batch) < BATCH_BYTES:
                    batch += next(units)
                sent += connection.send(batch, end)
            connection.wait(end)
        return sent

    def closed(self, reason):
        return self.daemon.metric(f'locus_connections_closed_total{{reason="{reason}"}}')

    def assert_serves_others(self):
        client = wire.Client(self.daemon.grpc_port)
        self.addCleanup(client.close)
        deadline = time.monotonic() + 20
        while True:
            try:
                client(wire.LIST_SCHEMES, wire.ListSchemesRequest(), timeout=20)
                return
            except grpc.RpcError as error:
                # The server may still be busy with the calls of the flood.
                if error.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def assert_flood_is_stopped(self, units, reasons, max_mib, acknowledges=True):
        """Asserts that a flood ends the connection for one of these reasons, before the memory
        has grown by max_mib, and that others are served afterwards."""
        before = self.daemon.memory("VmRSS")
        self.flood(units, acknowledges)
        self.assertEqual(sum(map(self.closed, reasons)), 1, reasons)
        self.assert_serves_others()
        if not SANITIZED:
            self.assertLess(self.daemon.memory("VmHWM") - before, max_mib * MIB)
        closed = self.daemon.log.wait_for(lambda e: e["event"] == "connection_closed")
        self.assertIn(closed["reason"], reasons)
        self.assertTrue(closed["peer"].startswith(f"ipv4:{FLOOD_ADDRESS}:"), closed)

    def test_rapid_reset_of_a_method(self):
        self.assert_flood_is_stopped(resets(wire.CHECK_PROPERTIES), ("resets", "streams", "bytes"), 500)

    def test_rapid_reset_of_health_watch(self):
        self.assert_flood_is_stopped(resets(wire.HEALTH_WATCH), ("resets", "streams", "bytes"), 500)

    def test_endless_header_block(self):
        self.assert_flood_is_stopped(endless_headers(), ("bytes",), 300, acknowledges=False)

    def test_tiny_header_fields_without_settings_acknowledgement(self):
        self.assert_flood_is_stopped(tiny_fields(), ("metadata", "bytes"), 500,
                                     acknowledges=False)

    def test_call_with_too_many_fields_without_settings_acknowledgement(self):
        connection = self.connect(FLOOD_ADDRESS, acknowledges=False)
        with self.assertRaises(http2.Closed):
            connection.send(next(tiny_fields()))
            connection.wait(time.monotonic() + 10)
        self.assertEqual(self.closed("metadata"), 1)

    def test_streams_without_settings_acknowledgement(self):
        self.assert_flood_is_stopped(open_calls(), ("streams", "bytes"), 500, acknowledges=False)

    def test_message_beyond_the_limit(self):
        uploader = Uploader("127.0.0.1", self.daemon.grpc_port, source=FLOOD_ADDRESS)
        self.addCleanup(uploader.close)
        with self.assertRaises(http2.Closed):
            uploader.upload(wire.ENCODE, 2 ** 31 - 1, time.monotonic() + 60)
        self.assertEqual(self.closed("bytes"), 1)
        self.assert_serves_others()
        if not SANITIZED:
            self.assertLess(self.daemon.memory("VmHWM"), 500 * MIB)

    def test_resets_at_a_moderate_rate_are_allowed(self):
        connection = self.connect(FLOOD_ADDRESS)
        units = resets(wire.CHECK_PROPERTIES)
        end = time.monotonic() + ALLOWED_SECONDS
        while time.monotonic() < end:
            connection.send(next(units))
            connection.wait(time.monotonic() + 0.01)
        self.assertEqual(self.closed("resets"), 0)

    def test_address_of_a_flood_has_to_wait(self):
        self.flood(endless_headers(), acknowledges=False)
        with self.assertRaises(http2.Closed):
            connection = self.connect(FLOOD_ADDRESS)
            connection.wait(time.monotonic() + 10)
        self.assertEqual(self.closed("backoff"), 1)
        # Another address does not.
        connection = self.connect(OTHER_ADDRESS)
        connection.wait(time.monotonic() + 10, lambda: connection.server_settings)
        self.assertTrue(connection.server_settings)

    def test_uploads_of_the_max_size_are_allowed(self):
        client = wire.Client(self.daemon.grpc_port)
        self.addCleanup(client.close)
        for _ in range(3):
            with self.assertRaises(grpc.RpcError) as caught:
                client(wire.ENCODE, bytes(64 * MIB))
            self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertEqual(self.daemon.metric("locus_connections_closed_total"), 0)

    def test_memory_of_a_flood_is_returned(self):
        if SANITIZED:
            self.skipTest("sanitizers keep freed memory")
        self.flood(tiny_fields(), acknowledges=False)
        deadline = time.monotonic() + 20
        while self.daemon.memory("VmRSS") > 240 * MIB:
            self.assertLess(time.monotonic(), deadline, self.daemon.memory("VmRSS"))
            time.sleep(0.1)  # Memory can only be polled.


class UnreadResponseTest(unittest.TestCase):
    def unread(self, daemon):
        """A connection that gets a response of 131 MB and does not read it."""
        connection = http2.Connection(
            "127.0.0.1", daemon.grpc_port, {http2.INITIAL_WINDOW_SIZE: http2.MAX_WINDOW},
            reads=False)
        self.addCleanup(connection.close)
        connection.send(http2.window_update(0, http2.MAX_WINDOW - http2.DEFAULT_WINDOW) +
                        call(wire.ENCODE, large_encode()))
        daemon.log.wait_for(lambda e: e["event"] == "call")

    def test_unread_response_does_not_delay_the_shutdown(self):
        with Daemon("--grace-seconds=1") as daemon:
            self.unread(daemon)
            start = time.monotonic()
            self.assertEqual(daemon.stop(), 0)
            self.assertLess(time.monotonic() - start, 30 if SANITIZED else 3)
            self.assertIn("connections_closed", [e["event"] for e in daemon.log.events()])

    def test_unread_responses_take_a_share_of_the_memory(self):
        with Daemon("--memory-budget-bytes=480MiB", "--grace-seconds=0") as daemon:
            connection = http2.Connection("127.0.0.1", daemon.grpc_port,
                                          {http2.INITIAL_WINDOW_SIZE: 0})
            self.addCleanup(connection.close)
            for stream in (1, 3):
                connection.send(call(wire.ENCODE, large_encode(), stream))
                daemon.log.wait_for(
                    lambda e, n=(stream + 1) // 2:
                    sum(x["event"] == "call" for x in daemon.log.events()) == n)
            rejected = [e for e in daemon.log.events() if e["event"] == "call"][1]
            self.assertEqual(rejected["code"], "UNAVAILABLE")
            self.assertIn("bytes of responses unread", rejected["error"])
            # The rest of the budget is for others.
            client = wire.Client(daemon.grpc_port)
            self.addCleanup(client.close)
            client(wire.ENCODE, large_encode())


class CallLogTest(unittest.TestCase):
    def test_few_of_many_failed_calls_are_logged(self):
        with Daemon() as daemon:
            client = wire.Client(daemon.grpc_port)
            self.addCleanup(client.close)
            for future in [client.method(wire.ENCODE).future(wire.EncodeRequest(dim=3))
                           for _ in range(600)]:
                self.assertIsNotNone(future.exception())
            self.assertEqual(daemon.stop(), 0)
            events = daemon.log.events()
            logged = sum(e["event"] == "call" for e in events)
            not_logged = sum(e["count"] for e in events if e["event"] == "calls_not_logged")
            self.assertGreater(not_logged, 0)
            self.assertEqual(logged + not_logged, 600)


if __name__ == "__main__":
    unittest.main(verbosity=2)
