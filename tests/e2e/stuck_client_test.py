#!/usr/bin/env python3
"""Clients that ask for more than they take: responses that are not read, and odd deadlines."""

import time
import unittest

import http2
import wire
from daemon import Daemon
from overload_test import eventually


def encode_request(count):
    request = wire.EncodeRequest(dim=64)
    request.scheme.sinusoidal.SetInParent()
    request.positions.range.count = count
    return request.SerializeToString()


def call(stream, payload, *extra):
    """The frames of an Encode call."""
    return (http2.headers(stream, http2.call_block(wire.ENCODE, *extra)) +
            http2.data(stream, http2.message(payload), end=True))


class StuckClientTest(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon("--grace-seconds=2")
        self.addCleanup(self.daemon.stop)

    def connect(self, values=None, **options):
        connection = http2.Connection("127.0.0.1", self.daemon.grpc_port, values, **options)
        self.addCleanup(connection.close)
        return connection

    def test_response_that_is_not_read_is_cancelled(self):
        # With a window of 0 the server may send headers, but no message. A response of 256 KiB
        # must be read within 10.25 s.
        connection = self.connect({http2.INITIAL_WINDOW_SIZE: 0})
        start = time.monotonic()
        connection.send(call(1, encode_request(1024)))
        self.assertTrue(eventually(
            lambda: self.daemon.metric("locus_memory_reserved_bytes") > 256 << 10))
        connection.wait(start + 9, lambda: 1 in connection.ended)
        self.assertNotIn(1, connection.ended, "the call ended too early")
        connection.wait(start + 15, lambda: 1 in connection.ended)
        self.assertIn(1, connection.ended)
        self.assertTrue(eventually(
            lambda: self.daemon.metric("locus_memory_reserved_bytes") == 0))
        # The connection is of use for others.
        self.assertIsNone(connection.closed_at)

    def test_deadlines_in_the_far_future_are_none(self):
        connection = self.connect()
        # The longest that a client can state, and more than the 292 years that fit into
        # nanoseconds.
        for stream, timeout in ((1, "99999999H"), (3, "3000000H")):
            connection.send(call(stream, encode_request(4), ("grpc-timeout", timeout)))
            connection.wait(time.monotonic() + 10, lambda: stream in connection.ended)
            self.assertIn(stream, connection.ended)
        self.assertTrue(eventually(lambda: len(self.codes()) == 2))
        self.assertEqual(self.codes(), ["OK", "OK"])

    def codes(self):
        return [event["code"] for event in self.daemon.log.events() if event["event"] == "call"]


if __name__ == "__main__":
    unittest.main()
