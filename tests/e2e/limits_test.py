#!/usr/bin/env python3
"""Limits of connections, streams, metadata and messages, and escaping of client text in logs."""

import json
import os
import resource
import socket
import struct
import subprocess
import tempfile
import time
import unittest

import grpc

import wire
from daemon import LOCUSD, SANITIZED, Daemon
from http2 import header
from methods import registered_methods

EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED
# The HTTP/2 connection preface and an empty SETTINGS frame.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
MAX_CONCURRENT_STREAMS, MAX_HEADER_LIST_SIZE = 3, 6  # identifiers of HTTP/2 settings


def connect(daemon):
    return socket.create_connection(("127.0.0.1", daemon.grpc_port), 10)


def settings_of(connection):
    """The values in the server's SETTINGS frame, as {identifier: value}."""
    connection.sendall(PREFACE)
    head = connection.recv(9, socket.MSG_WAITALL)
    size = int.from_bytes(head[:3], "big")
    body = connection.recv(size, socket.MSG_WAITALL)
    assert head[3] == 4, head
    return dict(struct.unpack(">HI", body[i:i + 6]) for i in range(0, size, 6))


def is_closed(connection):
    """Whether the server closes the connection at once instead of sending its settings."""
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
        """Waits until a metric has this value."""
        deadline = time.monotonic() + 20
        while daemon.metric(name) != value:
            self.assertLess(time.monotonic(), deadline, daemon.http("/metrics")[1])
            time.sleep(0.02)  # Metrics can only be polled.

    def test_connections_beyond_the_limit_are_closed(self):
        daemon = self.daemon("--max-connections=3")
        connections = [connect(daemon) for _ in range(3)]
        for connection in connections:
            self.assertFalse(is_closed(connection))
        self.assertEqual(daemon.metric("locus_connections"), 3)
        for _ in range(2):
            with connect(daemon) as excess:
                self.assertTrue(is_closed(excess))
        self.assertEqual(daemon.metric("locus_connections_rejected_total"), 2)
        # A connection that is closed makes room for another.
        connections.pop().close()
        self.await_metric(daemon, "locus_connections", 2)
        listed = self.client(daemon)(wire.LIST_SCHEMES, wire.ListSchemesRequest())
        self.assertTrue(listed.schemes)
        self.assertEqual(daemon.metric("locus_connections_accepted_total"), 4)
        for connection in connections:
            connection.close()

    def test_accepts_connections_after_a_flood(self):
        """The listener of gRPC 1.51 stops accepting once file descriptors run out."""
        daemon = self.daemon("--max-connections=50")
        flood = [connect(daemon) for _ in range(400)]
        self.await_metric(daemon, "locus_connections_rejected_total", 350)
        for connection in flood:
            connection.close()
        self.await_metric(daemon, "locus_connections", 0)
        self.client(daemon)(wire.LIST_SCHEMES, wire.ListSchemesRequest())

    def test_rejects_max_connections_above_the_descriptor_limit(self):
        done = subprocess.run(
            ["sh", "-c", 'ulimit -n 1000 && exec "$0" "$@"', LOCUSD, "--listen=127.0.0.1:0",
             "--http=", "--max-connections=500"],
            capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(
            (done.returncode, done.stderr),
            (2, "locusd: --max-connections is 500; the file descriptors of the process (ulimit -n) "
                "allow 308\n"))

    def test_too_few_descriptors_are_reported_at_the_start(self):
        def start(descriptors, *flags):
            return subprocess.run(
                ["timeout", "-s", "TERM", "2", "sh", "-c",
                 f'ulimit -n {descriptors} && exec "$0" "$@"', LOCUSD, "--listen=127.0.0.1:0",
                 "--http=", *flags], capture_output=True, text=True, timeout=30, check=False)

        done = start(414)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr, "locusd: the file descriptors of the process (ulimit -n) "
                         "allow only 15 connections; raise the limit to at least 416, or set "
                         "--max-connections to at most 15\n")
        for enough in (start(416), start(414, "--max-connections=15")):
            self.assertIn("ready", enough.stderr)

    def test_connection_without_a_handshake_is_closed(self):
        daemon = self.daemon()
        with connect(daemon) as silent:
            silent.settimeout(60)
            start = time.monotonic()
            while silent.recv(4096):
                pass
            self.assertLess(time.monotonic() - start, 40)
        self.await_metric(daemon, "locus_connections", 0)

    def test_idle_connection_is_closed(self):
        daemon = self.daemon("--max-connection-idle-seconds=1")
        with connect(daemon) as idle:
            settings_of(idle)
            idle.settimeout(30)
            while idle.recv(4096):
                pass

    def test_announces_limits_of_streams_and_metadata(self):
        daemon = self.daemon("--max-streams=7", "--max-metadata-bytes=4KiB")
        with connect(daemon) as connection:
            settings = settings_of(connection)
        self.assertEqual(settings[MAX_CONCURRENT_STREAMS], 7)
        self.assertEqual(settings[MAX_HEADER_LIST_SIZE], 4096)

    def test_rejects_metadata_beyond_the_limit(self):
        daemon = self.daemon()
        client = self.client(daemon)
        request = wire.ListSchemesRequest()
        client(wire.LIST_SCHEMES, request, metadata=(("x-note", "a" * 8000),))
        with self.assertRaises(grpc.RpcError) as caught:
            client(wire.LIST_SCHEMES, request, metadata=(("x-note", "a" * 40000),))
        self.assertEqual(caught.exception.code(), EXHAUSTED)
        # gRPC sometimes closes the connection after such a call, so that another one is used.
        with grpc.insecure_channel(f"127.0.0.1:{daemon.grpc_port}",
                                   options=[("grpc.use_local_subchannel_pool", 1)]) as another:
            another.unary_unary(wire.LIST_SCHEMES)(b"", timeout=10)

    def test_rejects_messages_beyond_the_limit(self):
        client = self.client(self.daemon("--max-message-bytes=1MiB"))
        with self.assertRaises(grpc.RpcError) as caught:
            client(wire.ENCODE, bytes(1 << 21))
        self.assertEqual(caught.exception.code(), EXHAUSTED)

    def test_survives_headers_that_abort_unpatched_grpc(self):
        """CVE-2023-1428: an invalid header, followed by more metadata than the limit."""
        daemon = self.daemon()
        valid = [(":method", "POST"), (":path", wire.LIST_SCHEMES), (":authority", "x"),
                 ("content-type", "application/grpc")]
        for invalid in ([(":scheme", "http"), ("te", "x")], [(":scheme", "x"), ("te", "trailers")],
                        [(":scheme", "http"), ("te", "trailers"), ("grpclb_client_stats", "x")]):
            block = b"".join(header(*h) for h in (*valid, *invalid, ("x-note", "a" * 60000)))
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
            self.assertTrue(daemon.alive(), invalid)
        self.client(daemon)(wire.LIST_SCHEMES, wire.ListSchemesRequest())

    def test_invalid_binary_header_closes_only_its_connection(self):
        """gRPC closes the whole connection, which matters for proxies; see SECURITY.md."""
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

    def test_rejects_compressed_messages_without_inflating_them(self):
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

    def test_client_text_is_escaped_in_logs_and_absent_from_metrics(self):
        """Covers request ids, trace contexts, method paths, tokens and service names."""
        daemon = self.daemon()
        client = self.client(daemon)
        evil = '"}{\\"injected\\":1,"level":"fatal'
        metadata = (("x-request-id", "injected" + evil), ("traceparent", evil + "injected"),
                    ("user-agent", "injected"), ("x-note-bin", b"\n{\"injected\":1}\n\x00\xff"))
        request = wire.AttendRequest()
        request.module.tokens.extend(["injected\n{\"level\":\"fatal\"}", "a\x1b[31m\u2028b"])
        request.scheme.sinusoidal.base = -1
        requests = [(wire.ATTEND, request), (wire.LIST_SCHEMES, wire.ListSchemesRequest()),
                    (wire.HEALTH_CHECK, wire.HealthCheckRequest(service="injected\n{\"a\":1}")),
                    ("/injected\"service/Method", b""), ("/injected/\\u000a{}", b"\n")]
        for path, message in requests:
            try:
                client(path, message, metadata=metadata)
            except grpc.RpcError:
                pass
        for path in ('/injected"%0a{"a":1}', "/metrics/injected", "/metrics?injected=1"):
            with socket.create_connection(("127.0.0.1", daemon.http_port), 10) as connection:
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: injected\r\n"
                                   "Connection: close\r\n\r\n".encode())
                response = connection.makefile("rb").read()
                self.assertNotIn(b"injected", response.split(b"\r\n\r\n")[0])
        self.assertNotIn("injected", daemon.http("/metrics")[1])
        self.assertEqual(daemon.stop(), 0)
        lines = daemon.log.text().splitlines()
        for line in lines:
            entry = json.loads(line)
            self.assertNotIn("injected", entry)
            self.assertIn(entry["level"], ("info", "warning", "error"))
            self.assertTrue(line.isprintable(), line)
        calls = [e for e in map(json.loads, lines) if e["event"] == "call"]
        self.assertEqual([e["request_id"] for e in calls], [metadata[0][1]] * 2)
        self.assertFalse(any("traceparent" in e for e in calls))


class HttpPortTest(unittest.TestCase):
    """HTTP clients that are silent or slow do not delay others."""

    def open_silent(self, daemon, count, sent=b""):
        """Opens connections that send these bytes and then nothing more."""
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", daemon.http_port), 10)
            self.addCleanup(connection.close)
            connection.sendall(sent)

    def max_latency(self, daemon, count=10):
        """The largest latency of `count` requests to each path, in seconds. The two slowest are
        ignored, because the machine may have stalled."""
        times = []
        for path in ("/healthz", "/readyz", "/metrics") * count:
            start = time.monotonic()
            self.assertEqual(daemon.http(path)[0], 200)
            times.append(time.monotonic() - start)
        return sorted(times)[-3]

    def test_responds_at_once_beside_silent_connections(self):
        for sent in (b"", b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: "):
            with Daemon() as daemon:
                self.open_silent(daemon, 256, sent)
                self.assertLess(self.max_latency(daemon), 5 if SANITIZED else 0.1)

    def test_silent_connections_use_few_descriptors_and_are_closed(self):
        with Daemon() as daemon:
            self.open_silent(daemon, 300)
            daemon.http("/healthz")
            self.assertLess(daemon.metric("process_open_fds"), 300)
            deadline = time.monotonic() + 20
            while daemon.metric("process_open_fds") > 60:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.1)  # Metrics can only be polled.

    def test_survives_exhausted_descriptors(self):
        with Daemon() as daemon:
            daemon.http("/healthz")
            folder = f"/proc/{daemon.process.pid}/fd"
            limit = max(map(int, os.listdir(folder))) + 5
            resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (limit, limit))
            self.open_silent(daemon, 32)
            for _ in range(10):
                self.assertEqual(daemon.http("/healthz")[0], 200)
            self.assertLessEqual(len(os.listdir(folder)), limit)

    def test_clients_that_do_not_read_do_not_delay_others(self):
        with Daemon() as daemon:
            request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
            self.open_silent(daemon, 64, request + b"x" * 100000)
            self.assertLess(self.max_latency(daemon), 5 if SANITIZED else 0.1)


class UnixSocketTest(unittest.TestCase):
    def test_socket_name_is_escaped_in_the_log(self):
        with tempfile.TemporaryDirectory() as folder:
            address = f"unix:{folder}/\u202egol\u2028{{\u0085\u009b31m\u2066"
            with Daemon(f"--listen={address}") as daemon:
                line = next(line for line in daemon.log.text().splitlines() if "ready" in line)
                self.assertTrue(line.isprintable(), line)
                self.assertEqual(json.loads(line)["listen"], address)

    def test_serves_on_a_unix_socket_and_removes_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "locus.sock")
            # A stale socket, as a killed server leaves it.
            stale = socket.socket(socket.AF_UNIX)
            stale.bind(path)
            stale.close()
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
