#!/usr/bin/env python3
"""The locus command line with servers that require TLS and bearer tokens."""

import os
import subprocess
import tempfile
import unittest

from certificates import Authority, replace
from daemon import Daemon

LOCUS = os.environ.get("LOCUS", "locus")
TOKEN, OTHER_TOKEN = "first-token-0123456789", "second-token-0123456789"
# Every command that makes calls, with its cheapest arguments.
COMMANDS = (
    ("health",), ("schemes",), ("encode", "--scheme", "rope", "--dim", "4"),
    ("attend", "--scheme", "none", "--tokens", "a b", "--dim", "8", "--heads", "1"),
    ("check", "--scheme", "none"), ("explain", "--scheme", "rope"),
    ("evaluate", "--pattern", "--scheme", "none", "-q", "--out", "{folder}/pattern"),
    ("plot", "heatmap", "--scheme", "sinusoidal", "--out", "{folder}/plot.svg"),
    ("load", "--rate", "20", "--duration", "500ms", "--warm-up", "0s", "-q"))


class SecureClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.ca = Authority(cls.folder, "ca")
        cls.stranger = Authority(cls.folder, "stranger")
        cls.client = cls.ca.issue("client")
        cls.token = os.path.join(cls.folder, "token")
        replace(cls.token, f"# comment\n{TOKEN}\n".encode())
        cls.invalid_token = os.path.join(cls.folder, "invalid")
        replace(cls.invalid_token, f"{OTHER_TOKEN}\n".encode())
        certificate, key = cls.ca.issue("server")
        cls.daemon = Daemon(f"--tls-cert={certificate}", f"--tls-key={key}",
                            f"--tls-client-ca={cls.ca.certificate}", f"--auth-tokens={cls.token}")
        cls.addClassCleanup(cls.daemon.stop)
        cls.plain = Daemon(f"--auth-tokens={cls.token}")
        cls.addClassCleanup(cls.plain.stop)
        cls.credentials = ("--ca", cls.ca.certificate, "--cert", cls.client[0],
                           "--key", cls.client[1], "--token-file", cls.token)

    def run_locus(self, command, *flags, server=None, environment=None):
        """Runs a command, and returns (exit code, standard error). No output may contain a
        token."""
        server = server or f"localhost:{self.daemon.grpc_port}"
        arguments = [part.format(folder=self.folder) for part in command]
        done = subprocess.run(
            [LOCUS, *arguments, "--server", server, "--timeout", "20s", *flags],
            capture_output=True, text=True, timeout=60, check=False,
            env={**os.environ, **(environment or {})})
        for token in (TOKEN, OTHER_TOKEN):
            self.assertNotIn(token, done.stdout + done.stderr)
        return done.returncode, done.stderr

    def test_every_command_supports_mutual_tls_with_a_token(self):
        for command in COMMANDS:
            with self.subTest(command=command[0]):
                code, error = self.run_locus(command, *self.credentials)
                self.assertEqual(code, 0, error)

    def test_every_command_sends_the_token_in_plaintext_on_loopback(self):
        server = f"127.0.0.1:{self.plain.grpc_port}"
        for command in COMMANDS:
            with self.subTest(command=command[0]):
                code, error = self.run_locus(command, "--token-file", self.token, server=server)
                self.assertEqual(code, 0, error)
                code, error = self.run_locus(command, server=server)
                self.assertEqual(code, 1, error)
                self.assertIn("a bearer token is needed in the authorization metadata", error)

    def test_credentials_apply_to_a_list_of_servers(self):
        servers = ",".join([f"localhost:{self.daemon.grpc_port}"] * 3)
        code, error = self.run_locus(("schemes",), *self.credentials, server=servers)
        self.assertEqual(code, 0, error)

    def test_reads_credentials_from_the_environment(self):
        environment = {"LOCUS_CA": self.ca.certificate, "LOCUS_CERT": self.client[0],
                       "LOCUS_KEY": self.client[1], "LOCUS_TOKEN_FILE": self.token}
        code, error = self.run_locus(("health",), environment=environment)
        self.assertEqual(code, 0, error)
        # The embedded server ignores the credentials.
        done = subprocess.run([LOCUS, "schemes"], env={**os.environ, **environment},
                              capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_invalid_token_fails(self):
        flags = [*self.credentials[:-1], self.invalid_token]
        code, error = self.run_locus(("schemes",), *flags)
        self.assertEqual((code, error),
                         (1, "locus: UNAUTHENTICATED: the bearer token is not valid\n"))

    def test_rejects_untrusted_servers(self):
        ca = ("--ca", self.stranger.certificate, *self.credentials[2:])
        self.assertEqual(self.run_locus(("health",), *ca)[0], 1)
        # The certificate authorities of the system did not issue the server's certificate.
        self.assertEqual(self.run_locus(("health",), "--tls", *self.credentials[2:])[0], 1)
        name = (*self.credentials, "--server-name", "elsewhere.example")
        self.assertEqual(self.run_locus(("health",), *name)[0], 1)
        # Without TLS flags the client uses plaintext, which a TLS server does not accept.
        self.assertEqual(self.run_locus(("health",))[0], 1)

    def test_server_name_overrides_the_name_to_verify(self):
        code, error = self.run_locus(("health",), *self.credentials, "--server-name", "localhost",
                                     server=f"127.0.0.1:{self.daemon.grpc_port}")
        self.assertEqual(code, 0, error)

    def test_rejects_unusable_credential_files(self):
        missing = os.path.join(self.folder, "missing")
        empty = os.path.join(self.folder, "empty")
        replace(empty, b"# comment\n")
        for flags, expected in (
                (("--ca", missing), f"cannot read {missing}: No such file or directory"),
                (("--ca", self.token), f"{self.token} is not in PEM format"),
                (("--cert", self.client[0]),
                 f"the client certificate {self.client[0]} needs a private key"),
                (("--key", self.client[1]),
                 f"the private key {self.client[1]} needs a client certificate"),
                (("--token-file", missing), f"cannot read {missing}: No such file or directory"),
                (("--token-file", empty), f"{empty} contains no token; a token has visible ASCII "
                                          "characters and no spaces")):
            for command in (("schemes",), ("load", "--duration", "1s", "-q")):
                with self.subTest(flags=flags, command=command):
                    self.assertEqual(self.run_locus(command, *flags),
                                     (2, f"locus: {expected}\n"))

    def test_token_is_not_sent_to_another_machine_in_plaintext(self):
        # An address of this machine that the client does not recognise as loopback.
        mapped = f"ipv6:[::ffff:127.0.0.1]:{self.plain.grpc_port}"
        flags = ("--token-file", self.token)
        for server in ("192.0.2.1:50051", "127.evil.example:1", "dns:///locus.example:50051",
                       mapped):
            self.assertEqual(
                self.run_locus(("schemes",), *flags, server=server),
                (2, f"locus: the token would be sent to {server} in plaintext; use TLS, or allow "
                    "plaintext tokens if another layer encrypts the traffic\n"))
        code, error = self.run_locus(("schemes",), *flags, "--allow-plaintext-token",
                                     server=mapped)
        self.assertEqual(code, 0, error)


if __name__ == "__main__":
    unittest.main(verbosity=2)
