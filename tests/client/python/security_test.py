#!/usr/bin/env python3
"""TLS, mutual TLS and bearer tokens of the Python client."""

import asyncio
import os
import tempfile
import unittest
from unittest import mock

import support  # noqa: F401
from certificates import Authority, replace
from daemon import Daemon

import locus
import locus.aio
from locus._security import is_loopback

TOKEN, OTHER_TOKEN = "first-token-0123456789", "second-token-0123456789"
ONCE = locus.RetryPolicy(max_attempts=1)


def names(client):
    return [scheme.name for scheme in client.schemes()]


class SecurityTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.ca = Authority(cls.folder, "ca")
        cls.stranger = Authority(cls.folder, "stranger")
        cls.pair = dict(zip(("certificate_file", "key_file"), cls.ca.issue("client")))
        cls.token = os.path.join(cls.folder, "token")
        replace(cls.token, f"# comment\n\n{TOKEN}\n".encode())
        certificate, key = cls.ca.issue("server")
        cls.secure = Daemon(f"--tls-cert={certificate}", f"--tls-key={key}",
                            f"--tls-client-ca={cls.ca.certificate}", f"--auth-tokens={cls.token}")
        cls.addClassCleanup(cls.secure.stop)
        cls.plain = Daemon(f"--auth-tokens={cls.token}")
        cls.addClassCleanup(cls.plain.stop)

    def connect(self, **settings):
        client = locus.connect(f"localhost:{self.secure.grpc_port}", timeout=20, retry=ONCE,
                               **settings)
        self.addCleanup(client.close)
        return client

    def plain_client(self, **settings):
        client = locus.connect(f"127.0.0.1:{self.plain.grpc_port}", timeout=20, **settings)
        self.addCleanup(client.close)
        return client

    def test_mutual_tls_with_a_token(self):
        client = self.connect(ca_file=self.ca.certificate, token=TOKEN, **self.pair)
        self.assertIn("rope", names(client))
        self.assertTrue(client.evaluate(["none"], task="pattern").summary.rows)

    def test_the_async_client_has_the_same_credentials(self):
        async def call():
            async with locus.aio.connect(f"localhost:{self.secure.grpc_port}", token=TOKEN,
                                         ca_file=self.ca.certificate, **self.pair) as client:
                return await client.rope(2, dim=4)

        self.assertEqual(asyncio.run(call()).cos.shape, (2, 2))

    def test_calls_without_the_right_credentials_fail(self):
        everything = dict(ca_file=self.ca.certificate, token=TOKEN, **self.pair)
        for changes, error in (({"token": None}, locus.Unauthenticated),
                               ({"token": OTHER_TOKEN}, locus.Unauthenticated),
                               ({"ca_file": self.stranger.certificate}, locus.Unavailable),
                               ({"certificate_file": None, "key_file": None}, locus.Unavailable),
                               ({"server_name": "elsewhere"}, locus.Unavailable)):
            with self.subTest(changes=changes):
                client = self.connect(**{**everything, **changes})
                with self.assertRaises(error) as caught:
                    client.schemes()
                self.assertNotIn(TOKEN, str(caught.exception))

    def test_a_plaintext_client_does_not_reach_a_tls_server(self):
        with self.assertRaises(locus.Unavailable):
            self.connect().schemes()

    def test_a_token_is_sent_in_plaintext_on_loopback(self):
        self.assertIn("rope", names(self.plain_client(token=TOKEN)))
        self.assertIn("rope", names(self.plain_client(token_file=self.token)))
        with self.assertRaisesRegex(locus.Unauthenticated, "a bearer token is needed"):
            self.plain_client().schemes()

    def test_a_token_is_never_sent_to_another_machine_in_plaintext(self):
        for target in ("10.0.0.1:50051", "example.com:1", "127.0.0.1.example.com:1",
                       "127.0.0.1:1,10.0.0.1:1", "dns:///10.0.0.1:1"):
            for connect in (locus.connect, locus.aio.connect):
                with self.assertRaisesRegex(locus.InvalidInput, "in plaintext; use TLS"):
                    connect(target, token=TOKEN)
        locus.connect("10.0.0.1:50051", token=TOKEN, allow_plaintext_token=True).close()

    def test_loopback_addresses(self):
        for address in ("127.0.0.1:1", "localhost:1", "[::1]:1", "unix:/x", "dns:///localhost:1",
                        "ipv4:127.1.2.3:1"):
            self.assertTrue(is_loopback(address), address)
        for address in ("127.0.0.1.evil.com:1", "localhost.evil.com:1", "::1.evil:1",
                        "128.0.0.1:1"):
            self.assertFalse(is_loopback(address), address)

    def test_a_replaced_token_file_is_read_again(self):
        path = os.path.join(self.folder, "changing")
        replace(path, OTHER_TOKEN.encode())
        client = self.plain_client(token_file=path)
        with self.assertRaises(locus.Unauthenticated):
            client.schemes()
        replace(path, TOKEN.encode())
        with mock.patch("locus._security.time.monotonic", return_value=1e12):
            self.assertEqual(client._connection.metadata(), (("authorization", f"Bearer {TOKEN}"),))
        self.assertIn("rope", names(client))

    def test_settings_come_from_the_environment(self):
        variables = {"LOCUS_CA": self.ca.certificate, "LOCUS_CERT": self.pair["certificate_file"],
                     "LOCUS_KEY": self.pair["key_file"], "LOCUS_TOKEN_FILE": self.token}
        with mock.patch.dict(os.environ, variables):
            self.assertIn("rope", names(self.connect()))

    def test_unusable_settings_are_rejected(self):
        text = os.path.join(self.folder, "text")
        replace(text, b"not a certificate\n")
        for settings, message in (
                ({"ca_file": "/nowhere"}, "ca_file: /nowhere: No such file"),
                ({"ca_file": text}, "is not in PEM format"),
                ({"certificate_file": self.pair["certificate_file"]}, "are needed together"),
                ({"key_file": self.pair["key_file"]}, "are needed together"),
                ({"token": "with space"}, "visible ASCII"),
                ({"token_file": text}, "contains no token"),
                ({"token": TOKEN, "token_file": text}, "give one of them")):
            with self.subTest(settings=settings), self.assertRaises(locus.InvalidInput) as caught:
                self.connect(**settings)
            self.assertIn(message, str(caught.exception))

    def test_the_token_is_not_shown(self):
        client = self.connect(ca_file=self.ca.certificate, token=TOKEN, **self.pair)
        self.assertNotIn(TOKEN, repr(client) + repr(vars(client._connection)) +
                         repr(locus.client.Security(token=TOKEN)))


if __name__ == "__main__":
    unittest.main()
