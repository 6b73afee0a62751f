#!/usr/bin/env python3
"""TLS, mutual TLS and bearer tokens, for every method of the server."""

import contextlib
import os
import re
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

import grpc

import wire
from certificates import Authority, read, replace
from daemon import LOCUSD, Daemon
from methods import REFLECT_METHODS, registered_methods

UNAUTHENTICATED = grpc.StatusCode.UNAUTHENTICATED
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
TOKEN, OTHER_TOKEN = "first-token-0123456789", "second-token-0123456789"
UNKNOWN_METHOD = "/no.such.Service/Method"


def code_of(channel, path, token=None, timeout=10):
    """The status code of a call with an empty message; OK as soon as a response arrives."""
    metadata = (("authorization", f"Bearer {token}"),) if token is not None else ()
    call = channel.stream_stream(path, request_serializer=bytes, response_deserializer=bytes)(
        iter([b""]), metadata=metadata, timeout=timeout)
    try:
        for _ in call:
            call.cancel()
            break
        return grpc.StatusCode.OK
    except grpc.RpcError as error:
        return error.code()


def message_of(channel, path, token=None):
    """The status message of a call; empty if the call succeeds."""
    metadata = (("authorization", f"Bearer {token}"),) if token is not None else ()
    try:
        channel.unary_unary(path)(b"", metadata=metadata, timeout=10)
    except grpc.RpcError as error:
        return error.details()
    return ""


class SecurityTestCase(unittest.TestCase):
    """Base class with a folder of certificates and tokens, and the list of methods."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.ca = Authority(cls.folder, "ca")
        cls.stranger = Authority(cls.folder, "stranger")
        cls.server = cls.ca.issue("server")
        cls.tokens = os.path.join(cls.folder, "tokens")
        replace(cls.tokens, f"# comment\n{TOKEN}\n".encode())
        with Daemon() as daemon, grpc.insecure_channel(
                f"127.0.0.1:{daemon.grpc_port}") as channel:
            cls.methods = registered_methods(channel)

    def path(self, name):
        return os.path.join(self.folder, name)

    def tls_flags(self, *more, pair=None):
        certificate, key = pair or self.server
        return (f"--tls-cert={certificate}", f"--tls-key={key}", *more)

    def channel(self, daemon, ca=None, pair=None):
        """A TLS channel that trusts `ca` and presents the client certificate `pair`."""
        certificate, key = pair or (None, None)
        credentials = grpc.ssl_channel_credentials(
            read((ca or self.ca).certificate), key and read(key),
            certificate and read(certificate))
        channel = grpc.secure_channel(
            f"localhost:{daemon.grpc_port}", credentials,
            options=[("grpc.use_local_subchannel_pool", 1),
                     ("grpc.initial_reconnect_backoff_ms", 20),
                     ("grpc.max_reconnect_backoff_ms", 50)])
        self.addCleanup(channel.close)
        return channel

    def plain(self, daemon):
        """A plaintext channel."""
        channel = grpc.insecure_channel(f"127.0.0.1:{daemon.grpc_port}",
                                        options=[("grpc.use_local_subchannel_pool", 1)])
        self.addCleanup(channel.close)
        return channel

    def assert_all(self, channel, expected, token=None):
        """Asserts that all methods, and an unknown one, return this status code."""
        for path in (*self.methods, UNKNOWN_METHOD):
            with self.subTest(path=path):
                self.assertEqual(code_of(channel, path, token), expected)

    def assert_none(self, channel, unexpected, token=None):
        """Asserts that no method returns one of these status codes."""
        for path in self.methods:
            with self.subTest(path=path):
                self.assertNotIn(code_of(channel, path, token), unexpected)


class MethodsTest(SecurityTestCase):
    def test_reflection_lists_every_method_of_the_contract(self):
        for name in ("Encoding", "Attention", "Evaluation"):
            service = wire._POOL.FindServiceByName(f"locus.v1.{name}Service")
            for method in service.methods:
                self.assertIn(f"/{service.full_name}/{method.name}", self.methods)
        for path in (wire.HEALTH_CHECK, wire.HEALTH_WATCH, *REFLECT_METHODS.values()):
            self.assertIn(path, self.methods)
        self.assertGreaterEqual(len(self.methods), 9)


class TlsTest(SecurityTestCase):
    def test_every_method_is_served_over_tls(self):
        with Daemon(*self.tls_flags()) as daemon:
            self.assert_none(self.channel(daemon), (UNAVAILABLE, UNAUTHENTICATED))

    def test_tls_server_rejects_plaintext(self):
        with Daemon(*self.tls_flags()) as daemon:
            self.assert_all(self.plain(daemon), UNAVAILABLE)

    def test_plaintext_server_rejects_tls(self):
        with Daemon() as daemon:
            self.assert_all(self.channel(daemon), UNAVAILABLE)

    def test_client_rejects_a_server_of_another_authority(self):
        with Daemon(*self.tls_flags()) as daemon:
            self.assert_all(self.channel(daemon, ca=self.stranger), UNAVAILABLE)

    def test_client_rejects_a_server_of_another_name(self):
        pair = self.ca.issue("elsewhere", host="elsewhere.example")
        with Daemon(*self.tls_flags(pair=pair)) as daemon:
            self.assertEqual(code_of(self.channel(daemon), wire.HEALTH_CHECK), UNAVAILABLE)

    def mutual_tls_daemon(self):
        return Daemon(*self.tls_flags(f"--tls-client-ca={self.ca.certificate}"))

    def test_mutual_tls_accepts_a_client_of_its_authority(self):
        with self.mutual_tls_daemon() as daemon:
            self.assert_none(self.channel(daemon, pair=self.ca.issue("client")),
                             (UNAVAILABLE, UNAUTHENTICATED))

    def test_mutual_tls_rejects_a_client_without_a_certificate(self):
        with self.mutual_tls_daemon() as daemon:
            self.assert_all(self.channel(daemon), UNAVAILABLE)

    def test_mutual_tls_rejects_an_expired_client_certificate(self):
        with self.mutual_tls_daemon() as daemon:
            pair = self.ca.issue_expired("expired-client")
            self.assert_all(self.channel(daemon, pair=pair), UNAVAILABLE)

    def test_mutual_tls_rejects_a_client_of_another_authority(self):
        with self.mutual_tls_daemon() as daemon:
            pair = self.stranger.issue("stranger-client")
            self.assert_all(self.channel(daemon, pair=pair), UNAVAILABLE)

    def s_client(self, daemon, version):
        """The output of `openssl s_client` for a handshake of this TLS version."""
        done = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{daemon.grpc_port}", version,
             "-alpn", "h2", "-cipher", "DEFAULT@SECLEVEL=0"],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False)
        return (done.stdout + done.stderr).decode(errors="replace")

    def test_rejects_versions_before_tls_1_2(self):
        with Daemon(*self.tls_flags()) as daemon:
            for version in ("-tls1", "-tls1_1"):
                output = self.s_client(daemon, version)
                # The server closed the connection after the ClientHello.
                self.assertRegex(output, "handshake has read 0 bytes and written [1-9]")
                self.assertIn("Cipher is (NONE)", output)
            self.assertIn("New, TLSv1.2", self.s_client(daemon, "-tls1_2"))
            self.assertIn("New, TLSv1.3", self.s_client(daemon, "-tls1_3"))


class TokenTest(SecurityTestCase):
    def test_every_method_requires_a_token(self):
        """The same holds in plaintext on loopback and over TLS."""
        for flags, connect in (((), self.plain), (self.tls_flags(), self.channel)):
            with Daemon(f"--auth-tokens={self.tokens}", *flags) as daemon:
                channel = connect(daemon)
                self.assert_all(channel, UNAUTHENTICATED)
                self.assert_all(channel, UNAUTHENTICATED, token="")
                self.assert_all(channel, UNAUTHENTICATED, token=TOKEN[:-1])
                self.assert_all(channel, UNAUTHENTICATED, token=TOKEN + "0")
                self.assert_none(channel, (UNAVAILABLE, UNAUTHENTICATED), token=TOKEN)
                self.assertEqual(code_of(channel, UNKNOWN_METHOD, TOKEN),
                                 grpc.StatusCode.UNIMPLEMENTED)

    def test_token_does_not_replace_a_client_certificate(self):
        flags = self.tls_flags(f"--tls-client-ca={self.ca.certificate}",
                               f"--auth-tokens={self.tokens}")
        with Daemon(*flags) as daemon:
            self.assert_all(self.channel(daemon), UNAVAILABLE, token=TOKEN)
            with_both = self.channel(daemon, pair=self.ca.issue("client"))
            self.assert_all(with_both, UNAUTHENTICATED)
            self.assert_none(with_both, (UNAVAILABLE, UNAUTHENTICATED), token=TOKEN)

    def test_rejects_two_authorization_headers(self):
        with Daemon(f"--auth-tokens={self.tokens}") as daemon:
            call = self.plain(daemon).unary_unary(wire.HEALTH_CHECK)
            with self.assertRaises(grpc.RpcError) as caught:
                call(b"", timeout=10, metadata=(("authorization", f"Bearer {TOKEN}"),
                                                ("authorization", "Bearer wrong")))
            self.assertEqual(caught.exception.code(), UNAUTHENTICATED)

    def test_exemptions_apply_only_to_the_named_services(self):
        own = [m for m in self.methods if m.startswith("/locus.v1.")]
        health = [wire.HEALTH_CHECK, wire.HEALTH_WATCH]
        reflect = list(REFLECT_METHODS.values())
        for exempt, open_paths in (("health", health), ("reflection", reflect),
                                   ("health,reflection", health + reflect)):
            with Daemon(f"--auth-tokens={self.tokens}", f"--auth-exempt={exempt}") as daemon:
                channel = self.plain(daemon)
                for path in self.methods:
                    self.assertEqual(code_of(channel, path) != UNAUTHENTICATED,
                                     path in open_paths, (exempt, path))
                self.assertEqual(len(own) + 4, len(self.methods))

    def get(self, daemon, path, token=None):
        request = urllib.request.Request(f"http://127.0.0.1:{daemon.http_port}{path}")
        if token is not None:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return response.status, response.headers
        except urllib.error.HTTPError as error:
            return error.code, error.headers

    def test_metrics_require_a_token_and_probes_do_not(self):
        with Daemon(f"--auth-tokens={self.tokens}") as daemon:
            code, headers = self.get(daemon, "/metrics")
            self.assertEqual((code, headers["WWW-Authenticate"]), (401, "Bearer"))
            self.assertEqual(self.get(daemon, "/metrics", "wrong-token-0123456789")[0], 401)
            self.assertEqual(self.get(daemon, "/metrics", TOKEN)[0], 200)
            self.assertEqual(self.get(daemon, "/healthz")[0], 200)
            self.assertEqual(self.get(daemon, "/readyz")[0], 200)
        with Daemon(f"--auth-tokens={self.tokens}", "--auth-exempt=metrics") as daemon:
            self.assertEqual(self.get(daemon, "/metrics")[0], 200)
            channel = self.plain(daemon)
            self.assertEqual(code_of(channel, wire.HEALTH_CHECK), UNAUTHENTICATED)
            self.assertEqual(code_of(channel, wire.HEALTH_CHECK, "wrong"), UNAUTHENTICATED)
            unauthenticated = [line for line in daemon.http("/metrics")[1].splitlines()
                               if line.startswith("locus_unauthenticated_calls_total{")]
            self.assertEqual(unauthenticated, [
                'locus_unauthenticated_calls_total{reason="missing"} 1',
                'locus_unauthenticated_calls_total{reason="wrong"} 1'])

    def test_tokens_never_appear_in_logs_or_errors(self):
        with Daemon(f"--auth-tokens={self.tokens}") as daemon:
            channel = self.plain(daemon)
            for path in self.methods:
                code_of(channel, path, TOKEN)
                code_of(channel, path, OTHER_TOKEN)
                self.assertNotIn(OTHER_TOKEN, message_of(channel, path, OTHER_TOKEN))
            code, _ = self.get(daemon, "/metrics", TOKEN)
            self.assertEqual(code, 200)
            daemon.stop()
            self.assertIn('"event":"stopped"', daemon.log.text())
            for token in (TOKEN, OTHER_TOKEN):
                self.assertNotIn(token, daemon.log.text())


class StartupErrorTest(SecurityTestCase):
    """locusd exits if TLS or tokens are configured but cannot be set up completely."""

    def startup_error(self, *flags):
        """Starts locusd, which must exit with code 2, and returns its message: standard error
        without "locusd: " and the newline."""
        done = subprocess.run([LOCUSD, "--listen=127.0.0.1:0", "--http=", *flags],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertTrue(done.stderr.startswith("locusd: "), done.stderr)
        self.assertTrue(done.stderr.endswith("\n"), done.stderr)
        return done.stderr[len("locusd: "):-1]

    def test_rejects_unusable_certificates_and_keys(self):
        certificate, key = self.server
        garbage = self.path("garbage")
        replace(garbage, b"no certificate\n")
        truncated = self.path("truncated")
        replace(truncated, read(certificate) + read(self.ca.certificate)[:200] + b"\n")
        missing = self.path("missing")
        other_key = self.ca.issue("other")[1]
        for flags, expected in (
                ((certificate, missing),
                 f"--tls-key: cannot read {missing}: No such file or directory"),
                ((missing, key),
                 f"--tls-cert: cannot read {missing}: No such file or directory"),
                ((self.folder, key), f"--tls-cert: cannot read {self.folder}: Is a directory"),
                ((garbage, key), f"--tls-cert: {garbage} holds no certificate in PEM form"),
                ((truncated, key),
                 f"--tls-cert: {truncated} holds a certificate that is broken"),
                ((certificate, garbage),
                 f"--tls-key: {garbage} holds no private key in PEM form without a password"),
                ((certificate, other_key),
                 f"--tls-key: {other_key} is not the key of the certificate of --tls-cert")):
            with self.subTest(flags=flags):
                error = self.startup_error(f"--tls-cert={flags[0]}", f"--tls-key={flags[1]}")
                self.assertEqual(error, expected)
        self.assertEqual(self.startup_error(*self.tls_flags(f"--tls-client-ca={garbage}")),
                         f"--tls-client-ca: {garbage} holds no certificate in PEM form")

    def test_rejects_certificates_that_are_not_valid_now(self):
        time_form = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
        expired = self.ca.issue_expired("expired")
        self.assertRegex(self.startup_error(*self.tls_flags(pair=expired)),
                         f"^--tls-cert: .*expired.pem holds a certificate that expired at {time_form}$")
        future = self.ca.issue("future", begin_seconds=3600)
        self.assertRegex(self.startup_error(*self.tls_flags(pair=future)),
                         f"^--tls-cert: .*future.pem .* not valid before {time_form}$")

    def test_rejects_certificates_that_openssl_does_not_serve(self):
        certificate, key = self.path("weak.pem"), self.path("weak.key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:1024", "-nodes", "-days", "2",
                        "-subj", "/CN=weak", "-keyout", key, "-out", certificate],
                       check=True, capture_output=True)
        self.assertEqual(self.startup_error(f"--tls-cert={certificate}", f"--tls-key={key}"),
                         f"--tls-cert: {certificate} holds a certificate that OpenSSL does not "
                         "serve; its key or digest may be too weak")

    def test_rejects_incomplete_combinations_of_flags(self):
        certificate, key = self.server
        for flags, expected in (
                ((f"--tls-cert={certificate}",), "--tls-cert needs --tls-key"),
                ((f"--tls-key={key}",), "--tls-key needs --tls-cert"),
                ((f"--tls-client-ca={certificate}",),
                 "--tls-client-ca needs --tls-cert and --tls-key"),
                (("--auth-exempt=health",), "--auth-exempt needs --auth-tokens"),
                ((f"--auth-tokens={self.tokens}", "--auth-exempt=everything"),
                 '--auth-exempt: "everything" is none of health, reflection, metrics')):
            with self.subTest(flags=flags):
                self.assertEqual(self.startup_error(*flags), expected)

    def test_rejects_unusable_token_files(self):
        file = self.path("bad-tokens")
        rule = "is no token; a token has 16 to 512 visible ASCII characters and no spaces"
        for content, expected in ((b"", "holds no token"), (b"# none\n\n", "holds no token"),
                                  (b"short\n", f"line 1 {rule}"),
                                  (f"{TOKEN}\ntwo words 0123456789\n".encode(),
                                   f"line 2 {rule}"),
                                  (TOKEN.encode() + b"\xff\n", f"line 1 {rule}")):
            with self.subTest(content=content):
                replace(file, content)
                self.assertEqual(self.startup_error(f"--auth-tokens={file}"),
                                 f"--auth-tokens: {file}: {expected}")
        missing = self.path("missing")
        self.assertEqual(self.startup_error(f"--auth-tokens={missing}"),
                         f"--auth-tokens: cannot read {missing}: No such file or directory")

    def test_rejects_plaintext_tokens_from_other_machines(self):
        listen = "--listen in plaintext; set --tls-cert and --tls-key"
        http = ("--http in plaintext; set --tls-cert and --tls-key, or --auth-exempt=metrics, "
                "or --http to a loopback address")
        for flags, expected in (
                (("--listen=0.0.0.0:0",), listen), (("--listen=[::]:0",), listen),
                (("--listen=127.0.0.1:0", "--http=0.0.0.0:0"), http)):
            with self.subTest(flags=flags):
                self.assertEqual(
                    self.startup_error(f"--auth-tokens={self.tokens}", *flags),
                    f"--auth-tokens: other machines would send tokens to {expected}, or "
                    "--allow-plaintext-tokens=true if another layer encrypts the traffic")


class ContinuousCalls:
    """Makes calls without a pause while it is entered as a context manager, and collects the
    status codes of calls that fail."""

    def __init__(self, channel, tokens):
        self.channel, self.tokens, self.errors, self.count = channel, tokens, [], 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        while not self._stop.is_set():
            for token in self.tokens:
                code = code_of(self.channel, wire.LIST_SCHEMES, token)
                self.count += 1
                if code != grpc.StatusCode.OK:
                    self.errors.append(code)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


class ReloadTest(SecurityTestCase):
    def served_certificate(self, daemon):
        """The certificate that the server presents on both ports, in DER form."""
        served = set()
        for port, protocol in ((daemon.grpc_port, "h2"), (daemon.http_port, "http/1.1")):
            context = ssl.create_default_context(cafile=self.ca.certificate)
            context.set_alpn_protocols([protocol])
            with socket.create_connection(("127.0.0.1", port), 10) as plain, \
                    context.wrap_socket(plain, server_hostname="localhost") as secure:
                served.add(secure.getpeercert(binary_form=True))
        self.assertEqual(len(served), 1, "the ports present different certificates")
        return served.pop()

    def der(self, certificate):
        return ssl.PEM_cert_to_DER_cert(read(certificate).decode())

    def install(self, pair):
        """Replaces the live certificate and key by copies of these, and returns their paths."""
        live = [self.path("live.pem"), self.path("live.key")]
        for source, target in zip(pair, live):
            replace(target, read(source))
        return live

    @contextlib.contextmanager
    def expect(self, daemon, name):
        """Waits at the end of the block for a new log event of this name."""
        def count():
            return sum(e["event"] == name for e in daemon.log.events())

        before = count()
        yield
        daemon.log.wait_for(lambda e: e["event"] == name and count() > before, 20)

    def test_reloads_a_certificate_without_failing_calls(self):
        live = self.install(self.server)
        renewed = self.ca.issue("renewed")
        with Daemon(*self.tls_flags(pair=live)) as daemon, \
                ContinuousCalls(self.channel(daemon), (None,)) as calls:
            self.assertEqual(self.served_certificate(daemon), self.der(self.server[0]))
            with self.expect(daemon, "certificate_reloaded"):
                self.install(renewed)
            self.assertEqual(self.served_certificate(daemon), self.der(renewed[0]))
            # A key that does not match, or a missing file, leaves the certificate in use.
            with self.expect(daemon, "certificate_rejected"):
                replace(live[1], read(self.server[1]))
            self.assertEqual(self.served_certificate(daemon), self.der(renewed[0]))
            with self.expect(daemon, "certificate_rejected"):
                os.unlink(live[0])
            self.assertEqual(self.served_certificate(daemon), self.der(renewed[0]))
            with self.expect(daemon, "certificate_reloaded"):
                self.install(self.server)
            self.assertEqual(self.served_certificate(daemon), self.der(self.server[0]))
            self.assertGreater(daemon.metric("locus_tls_certificate_not_after_seconds"),
                               time.time())
        self.assertEqual(calls.errors, [])
        self.assertGreater(calls.count, 10)

    def test_does_not_reload_a_certificate_that_has_expired(self):
        live = self.install(self.server)
        with Daemon(*self.tls_flags(pair=live)) as daemon:
            with self.expect(daemon, "certificate_rejected"):
                self.install(self.ca.issue_expired("expired"))
            self.assertIn("expired at", daemon.log.text())
            self.assertEqual(self.served_certificate(daemon), self.der(self.server[0]))
            self.assertEqual(code_of(self.channel(daemon), wire.LIST_SCHEMES), grpc.StatusCode.OK)

    def test_reloads_a_certificate_once_it_becomes_valid(self):
        live = self.install(self.server)
        with Daemon(*self.tls_flags(pair=live)) as daemon:
            future = self.ca.issue("future", begin_seconds=4)
            with self.expect(daemon, "certificate_reloaded"):
                with self.expect(daemon, "certificate_rejected"):
                    self.install(future)
                self.assertIn("not valid before", daemon.log.text())
                self.assertEqual(self.served_certificate(daemon), self.der(self.server[0]))
            self.assertEqual(self.served_certificate(daemon), self.der(future[0]))

    def test_reloads_the_client_certificate_authority(self):
        trusted = self.path("trusted.pem")
        replace(trusted, read(self.ca.certificate))
        old, new = self.ca.issue("old-client"), self.stranger.issue("new-client")
        with Daemon(*self.tls_flags(f"--tls-client-ca={trusted}")) as daemon:
            ok = grpc.StatusCode.OK
            self.assertEqual(code_of(self.channel(daemon, pair=old), wire.LIST_SCHEMES), ok)
            self.assertEqual(code_of(self.channel(daemon, pair=new), wire.LIST_SCHEMES),
                             UNAVAILABLE)
            self.assertEqual(daemon.http("/metrics", pair=old)[0], 200)
            with self.expect(daemon, "certificate_reloaded"):
                replace(trusted, read(self.stranger.certificate))
            self.assertEqual(code_of(self.channel(daemon, pair=new), wire.LIST_SCHEMES), ok)
            self.assertEqual(code_of(self.channel(daemon, pair=old), wire.LIST_SCHEMES),
                             UNAVAILABLE)
            self.assertEqual(daemon.http("/metrics", pair=new)[0], 200)
            self.assertRaises(OSError, daemon.http, "/metrics", pair=old)

    def test_reloads_tokens_without_failing_calls(self):
        tokens = self.path("live-tokens")
        replace(tokens, f"{TOKEN}\n".encode())
        ok = grpc.StatusCode.OK
        with Daemon(f"--auth-tokens={tokens}") as daemon:
            channel = self.plain(daemon)
            with ContinuousCalls(channel, (TOKEN,)) as calls:
                self.assertEqual(code_of(channel, wire.LIST_SCHEMES, OTHER_TOKEN),
                                 UNAUTHENTICATED)
                with self.expect(daemon, "tokens_reloaded"):
                    replace(tokens, f"{TOKEN}\n{OTHER_TOKEN}\n".encode())
                self.assertEqual(code_of(channel, wire.LIST_SCHEMES, OTHER_TOKEN), ok)
                with self.expect(daemon, "tokens_rejected"):
                    replace(tokens, b"")
                self.assertEqual(code_of(channel, wire.LIST_SCHEMES, OTHER_TOKEN), ok)
            self.assertEqual(calls.errors, [])
            self.assertGreater(calls.count, 10)
            with ContinuousCalls(channel, (OTHER_TOKEN,)) as calls:
                with self.expect(daemon, "tokens_reloaded"):
                    replace(tokens, f"{OTHER_TOKEN}\n".encode())
                self.assertEqual(code_of(channel, wire.LIST_SCHEMES, TOKEN), UNAUTHENTICATED)
            self.assertEqual(calls.errors, [])
            self.assertNotRegex(daemon.log.text(), re.escape(TOKEN))


if __name__ == "__main__":
    unittest.main(verbosity=2)
