#!/usr/bin/env python3
"""Tests of TLS, mutual TLS and tokens on the HTTP port."""

import socket
import ssl
import time
import unittest

from certificates import read
from daemon import SANITIZED, Daemon
from security_test import SecurityTestCase


class HttpTlsTest(SecurityTestCase):
    """The HTTP port has the TLS of the RPC port."""

    PROBES = ("/livez", "/healthz", "/readyz")

    def connect(self, daemon):
        """A TLS connection to the HTTP port, without a client certificate."""
        context = ssl.create_default_context(cafile=self.ca.certificate)
        plain = socket.create_connection(("127.0.0.1", daemon.http_port), 10)
        secure = context.wrap_socket(plain, server_hostname="localhost")
        self.addCleanup(secure.close)
        return secure

    def test_http_port_serves_over_tls_only(self):
        with Daemon(*self.tls_flags()) as daemon:
            for path in (*self.PROBES, "/metrics"):
                self.assertEqual(daemon.http(path)[0], 200)
            with socket.create_connection(("127.0.0.1", daemon.http_port), 10) as plain:
                plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertNotIn(b"HTTP", plain.recv(100))

    def test_connections_serve_many_requests(self):
        request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n"
        with Daemon(*self.tls_flags()) as daemon:
            secure = self.connect(daemon)
            secure.sendall((request + b"\r\n") * 20 + request + b"Connection: close\r\n\r\n")
            received = secure.makefile("rb").read()
            self.assertEqual(received.count(b"HTTP/1.1 200 OK"), 21)
            self.assertEqual(received.count(b"Connection: close"), 1)

    def test_rejects_versions_before_tls_1_2(self):
        with Daemon(*self.tls_flags()) as daemon:
            for version, accepted in ((ssl.TLSVersion.TLSv1_1, False),
                                      (ssl.TLSVersion.TLSv1_2, True),
                                      (ssl.TLSVersion.TLSv1_3, True)):
                context = ssl.create_default_context(cafile=self.ca.certificate)
                # OpenSSL itself would not offer old versions.
                context.set_ciphers("DEFAULT:@SECLEVEL=0")
                context.minimum_version = context.maximum_version = version
                with socket.create_connection(("127.0.0.1", daemon.http_port), 10) as plain:
                    if accepted:
                        context.wrap_socket(plain, server_hostname="localhost").close()
                    else:
                        self.assertRaises(OSError, context.wrap_socket, plain,
                                          server_hostname="localhost")

    def test_mutual_tls_opens_probes_only_without_a_certificate(self):
        with Daemon(*self.tls_flags(f"--tls-client-ca={self.ca.certificate}")) as daemon:
            for path in self.PROBES:
                self.assertEqual(daemon.http(path)[0], 200)
            for path in ("/metrics", "/no-such-page"):
                self.assertEqual(daemon.http(path)[0], 403)
            pair = self.ca.issue("http-client")
            self.assertEqual(daemon.http("/metrics", pair=pair)[0], 200)
            self.assertEqual(daemon.http("/no-such-page", pair=pair)[0], 404)
            for bad in (self.stranger.issue("http-stranger"),
                        self.ca.issue_expired("http-expired")):
                self.assertRaises(OSError, daemon.http, "/healthz", pair=bad)

    def test_mutual_tls_and_tokens_hold_together(self):
        flags = self.tls_flags(f"--tls-client-ca={self.ca.certificate}",
                               f"--auth-tokens={self.tokens}")
        with Daemon(*flags) as daemon:
            self.assertEqual(daemon.http("/metrics")[0], 403)
            self.assertEqual(daemon.http("/metrics", pair=self.ca.issue("http-no-token"))[0], 401)

    def test_incomplete_handshakes_do_not_delay_others(self):
        with Daemon(*self.tls_flags()) as daemon:
            for sent in (b"", b"\x16\x03\x01", b"garbage"):
                for _ in range(100):
                    silent = socket.create_connection(("127.0.0.1", daemon.http_port), 10)
                    self.addCleanup(silent.close)
                    silent.sendall(sent)
                start = time.monotonic()
                self.assertEqual(daemon.http("/healthz")[0], 200)
                self.assertLess(time.monotonic() - start, 5 if SANITIZED else 1)

    def test_stops_at_once_while_clients_do_not_read(self):
        with Daemon(*self.tls_flags("--grace-seconds=1")) as daemon:
            for _ in range(8):
                self.connect(daemon).sendall(
                    b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 500)
            self.assertEqual(daemon.http("/healthz")[0], 200)
            start = time.monotonic()
            self.assertEqual(daemon.stop(), 0)
            self.assertLess(time.monotonic() - start, 10)


if __name__ == "__main__":
    unittest.main()
