#!/usr/bin/env python3
"""Connections, streams, metadata and messages have limits, and what callers write stays quoted."""

import json
import os
import socket
import struct
import subprocess
import tempfile
import time
import unittest

import grpc

import wire
from daemon import LOCUSD, SANITIZED, Daemon
from methods import registered_methods

EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
MAX_CONCURRENT_STREAMS, MAX_HEADER_LIST_SIZE = 3, 6


def connect(daemon):
    return socket.create_connection(("127.0.0.1", daemon.grpc_port), 10)


def settings_of(connection):
    """The numbers of a server's first HTTP/2 frame."""
    connection.sendall(PREFACE)
    head = connection.recv(9, socket.MSG_WAITALL)
    size = int.from_bytes(head[:3], "big")
    body = connection.recv(size, socket.MSG_WAITALL)
    assert head[3] == 4, head
    return dict(struct.unpack(">HI", body[i:i + 6]) for i in range(0, size, 6))


def header(name, value):
    """HPACK's longest and simplest form."""
    def text(characters):
        size = len(characters)
        out = bytearray([min(size, 127)])
        size -= 127
        while size >= 128:
            out.append(size & 127 | 128)
            size >>= 7
        if size >= 0:
            out.append(size)
        return bytes(out) + characters.encode()

    return b"\0" + text(name) + text(value)


def is_hung_up_on(connection):
    """Whether the server closes at once; one that is let in hears its settings."""
    try:
        connection.sendall(PREFACE)
        return connection.recv(1) == b""
    except ConnectionError:
        return True


class LimitsTest(unittest.TestCase):
    def daemon(self, *flags):
        daemon = Daemon(*flags)
        self.addCleanup(daemon.stop)
        return daemon

    def client(self, daemon):
        client = wire.Client(daemon.grpc_port)
        self.addCleanup(client.close)
        return client

    def await_metric(self, daemon, name, value):
        deadline = time.monotonic() + 20
        while daemon.metric(name) != value:
            self.assertLess(time.monotonic(), deadline, daemon.http("/metrics")[1])
            time.sleep(0.02)

    def test_connections(self):
        daemon = self.daemon("--max-connections=3")
        held = [connect(daemon) for _ in range(3)]
        for connection in held:
            self.assertFalse(is_hung_up_on(connection))
        self.assertEqual(daemon.metric("locus_connections"), 3)
        for _ in range(2):
            with connect(daemon) as more:
                self.assertTrue(is_hung_up_on(more))
        self.assertEqual(daemon.metric("locus_connections_refused_total"), 2)
        # Who leaves makes room.
        held.pop().close()
        self.await_metric(daemon, "locus_connections", 2)
        self.assertEqual(len(self.client(daemon)(
            wire.LIST_SCHEMES, wire.ListSchemesRequest()).schemes) > 0, True)
        self.assertEqual(daemon.metric("locus_connections_accepted_total"), 4)
        for connection in held:
            connection.close()

    def test_a_flood_of_connections_does_not_end_the_listening(self):
        """gRPC 1.51 alone stops accepting once descriptors are out."""
        daemon = self.daemon("--max-connections=50")
        flood = [connect(daemon) for _ in range(400)]
        self.await_metric(daemon, "locus_connections_refused_total", 350)
        for connection in flood:
            connection.close()
        self.await_metric(daemon, "locus_connections", 0)
        self.client(daemon)(wire.LIST_SCHEMES, wire.ListSchemesRequest())

    def test_more_connections_than_descriptors_are_not_promised(self):
        done = subprocess.run(
            ["sh", "-c", 'ulimit -n 1000 && exec "$0" "$@"', LOCUSD, "--listen=127.0.0.1:0",
             "--http=", "--max-connections=500"],
            capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("(ulimit -n) allow 308", done.stderr)

    def test_who_says_nothing_is_hung_up_on(self):
        daemon = self.daemon()
        with connect(daemon) as silent:
            silent.settimeout(60)
            start = time.monotonic()
            while silent.recv(4096):
                pass
            self.assertLess(time.monotonic() - start, 40)
        self.await_metric(daemon, "locus_connections", 0)

    def test_an_unused_connection_is_closed(self):
        daemon = self.daemon("--max-connection-idle-seconds=1")
        with connect(daemon) as idle:
            settings_of(idle)
            idle.settimeout(30)
            while idle.recv(4096):
                pass

    def test_streams_and_metadata_are_announced(self):
        daemon = self.daemon("--max-streams=7", "--max-metadata-bytes=4KiB")
        with connect(daemon) as connection:
            settings = settings_of(connection)
        self.assertEqual(settings[MAX_CONCURRENT_STREAMS], 7)
        self.assertEqual(settings[MAX_HEADER_LIST_SIZE], 4096)

    def test_metadata(self):
        daemon = self.daemon()
        client = self.client(daemon)
        request = wire.ListSchemesRequest()
        client(wire.LIST_SCHEMES, request, metadata=(("x-note", "a" * 8000),))
        with self.assertRaises(grpc.RpcError) as caught:
            client(wire.LIST_SCHEMES, request, metadata=(("x-note", "a" * 40000),))
        self.assertEqual(caught.exception.code(), EXHAUSTED)
        # Now and then gRPC closes the connection of whoever does this.
        with grpc.insecure_channel(f"127.0.0.1:{daemon.grpc_port}",
                                   options=[("grpc.use_local_subchannel_pool", 1)]) as another:
            another.unary_unary(wire.LIST_SCHEMES)(b"", timeout=10)

    def test_messages(self):
        client = self.client(self.daemon("--max-message-bytes=1MiB"))
        with self.assertRaises(grpc.RpcError) as caught:
            client(wire.ENCODE, bytes(1 << 21))
        self.assertEqual(caught.exception.code(), EXHAUSTED)

    def test_headers_that_made_grpc_abort(self):
        """As CVE-2023-1428 has them: one that is wrong, and then more than may be."""
        daemon = self.daemon()
        usual = [(":method", "POST"), (":path", wire.LIST_SCHEMES), (":authority", "x"),
                 ("content-type", "application/grpc")]
        for wrong in ([(":scheme", "http"), ("te", "x")], [(":scheme", "x"), ("te", "trailers")],
                      [(":scheme", "http"), ("te", "trailers"), ("grpclb_client_stats", "x")]):
            block = b"".join(header(*h) for h in (*usual, *wrong, ("x-note", "a" * 60000)))
            with connect(daemon) as connection:
                settings_of(connection)
                parts = [block[i:i + 16000] for i in range(0, len(block), 16000)]
                for i, part in enumerate(parts):
                    kind, last = (9 if i else 1), i + 1 == len(parts)
                    connection.sendall(len(part).to_bytes(3, "big") +
                                       bytes([kind, 4 * last, 0, 0, 0, 1]) + part)
                connection.settimeout(1)
                try:
                    while connection.recv(65536):
                        pass
                except (TimeoutError, ConnectionError):
                    pass
            self.assertTrue(daemon.alive(), wrong)
        self.client(daemon)(wire.LIST_SCHEMES, wire.ListSchemesRequest())

    def test_a_binary_header_that_is_none_ends_its_connection_and_no_other(self):
        """As SECURITY.md says of this gRPC, for whoever puts a proxy before it."""
        daemon = self.daemon()
        client = self.client(daemon)
        client(wire.LIST_SCHEMES, wire.ListSchemesRequest())
        block = b"".join(header(*h) for h in (
            (":method", "POST"), (":scheme", "http"), (":path", wire.LIST_SCHEMES),
            (":authority", "x"), ("content-type", "application/grpc"), ("te", "trailers"),
            ("x-note-bin", "!!!")))
        with connect(daemon) as connection:
            settings_of(connection)
            connection.sendall(len(block).to_bytes(3, "big") + bytes([1, 4, 0, 0, 0, 1]) + block)
            connection.settimeout(20)
            try:
                while connection.recv(65536):
                    pass
            except ConnectionError:
                pass
        client(wire.LIST_SCHEMES, wire.ListSchemesRequest())

    def test_a_message_that_inflates_is_not_inflated(self):
        daemon = self.daemon("--max-message-bytes=1MiB")
        client = self.client(daemon)
        client(wire.LIST_SCHEMES, wire.ListSchemesRequest())
        before = daemon.memory("VmRSS")
        bomb = bytes(64 << 20)
        for algorithm in (grpc.Compression.Gzip, grpc.Compression.Deflate):
            for path in registered_methods(client.channel):
                with self.assertRaises(grpc.RpcError) as caught:
                    client(path, bomb, compression=algorithm)
                self.assertIn(caught.exception.code(),
                              (grpc.StatusCode.UNIMPLEMENTED, EXHAUSTED), path)
        client(wire.LIST_SCHEMES, wire.ListSchemesRequest())
        if not SANITIZED:
            self.assertLess(daemon.memory("VmHWM") - before, 32 << 20)

    def test_what_callers_write_stays_quoted(self):
        """Ids, traces, paths, words and names of services, in logs and in metrics."""
        daemon = self.daemon()
        client = self.client(daemon)
        evil = '"}{\\"injected\\":1,"level":"fatal'
        marks = (("x-request-id", "injected" + evil), ("traceparent", evil + "injected"),
                 ("user-agent", "injected"), ("x-note-bin", b"\n{\"injected\":1}\n\x00\xff"))
        request = wire.AttendRequest()
        request.module.tokens.extend(["injected\n{\"level\":\"fatal\"}", "a\x1b[31m\u2028b"])
        request.scheme.sinusoidal.base = -1
        requests = [(wire.ATTEND, request), (wire.LIST_SCHEMES, wire.ListSchemesRequest()),
                    (wire.HEALTH_CHECK, wire.HealthCheckRequest(service="injected\n{\"a\":1}")),
                    ("/injected\"service/Method", b""), ("/injected/\\u000a{}", b"\n")]
        for path, message in requests:
            try:
                client(path, message, metadata=marks)
            except grpc.RpcError:
                pass
        for path in ('/injected"%0a{"a":1}', "/metrics/injected", "/metrics?injected=1"):
            with socket.create_connection(("127.0.0.1", daemon.http_port), 10) as connection:
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: injected\r\n\r\n".encode())
                answer = connection.makefile("rb").read()
                self.assertNotIn(b"injected", answer.split(b"\r\n\r\n")[0])
        self.assertNotIn("injected", daemon.http("/metrics")[1])
        self.assertEqual(daemon.stop(), 0)
        lines = daemon.log.text().splitlines()
        for line in lines:
            entry = json.loads(line)
            self.assertNotIn("injected", entry)
            self.assertIn(entry["level"], ("info", "warning", "error"))
            self.assertTrue(line.isprintable(), line)
        calls = [e for e in map(json.loads, lines) if e["event"] == "call"]
        self.assertEqual([e["request_id"] for e in calls], [marks[0][1]] * 2)
        self.assertFalse(any("traceparent" in e for e in calls))


class HttpPortTest(unittest.TestCase):
    """Clients that say nothing, or never end, keep nobody else from an answer."""

    def silent(self, daemon, count, said=b""):
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", daemon.http_port), 10)
            self.addCleanup(connection.close)
            connection.sendall(said)

    def slow(self, daemon, count=10):
        """Of so many answers to each path, what all but two take at most: the machine
        may have been elsewhere."""
        times = []
        for path in ("/healthz", "/readyz", "/metrics") * count:
            start = time.monotonic()
            self.assertEqual(daemon.http(path)[0], 200)
            times.append(time.monotonic() - start)
        return sorted(times)[-3]

    def test_answers_at_once_beside_silent_connections(self):
        for said in (b"", b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: "):
            with Daemon() as daemon:
                self.silent(daemon, 256, said)
                self.assertLess(self.slow(daemon), 5 if SANITIZED else 0.1)

    def test_silent_connections_take_few_descriptors_and_end(self):
        with Daemon() as daemon:
            self.silent(daemon, 300)
            daemon.http("/healthz")
            self.assertLess(daemon.metric("process_open_fds"), 300)
            deadline = time.monotonic() + 20
            while daemon.metric("process_open_fds") > 60:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.1)

    def test_who_reads_nothing_keeps_nobody_waiting(self):
        with Daemon() as daemon:
            self.silent(daemon, 64, b"GET /metrics HTTP/1.1\r\n\r\n" + b"x" * 100000)
            self.assertLess(self.slow(daemon), 5 if SANITIZED else 0.1)


class UnixSocketTest(unittest.TestCase):
    def test_the_name_of_a_socket_deceives_nobody_in_the_log(self):
        with tempfile.TemporaryDirectory() as folder:
            address = f"unix:{folder}/\u202egol\u2028{{\u0085\u009b31m\u2066"
            with Daemon(f"--listen={address}") as daemon:
                line = next(line for line in daemon.log.text().splitlines() if "ready" in line)
                self.assertTrue(line.isprintable(), line)
                self.assertEqual(json.loads(line)["listen"], address)

    def test_serves_on_a_socket_and_removes_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "locus.sock")
            # What a server that was killed has left.
            left = socket.socket(socket.AF_UNIX)
            left.bind(path)
            left.close()
            with Daemon(f"--listen=unix:{path}") as daemon:
                with grpc.insecure_channel(f"unix:{path}") as channel:
                    channel.unary_unary(wire.LIST_SCHEMES)(b"", timeout=10)
                with self.assertRaises(AssertionError) as caught:
                    Daemon(f"--listen=unix:{path}")
                self.assertIn("Address already in use", str(caught.exception))
                self.assertEqual(daemon.stop(), 0)
            self.assertFalse(os.path.exists(path))


if __name__ == "__main__":
    unittest.main(verbosity=2)
