#!/usr/bin/env python3
"""Hostile requests are refused quickly and clearly, and cost nothing."""

import time
import unittest

import grpc
import numpy as np

import wire
from daemon import SANITIZED, Daemon
from hostile_requests import EXHAUSTED, INVALID, UNIMPLEMENTED, all_requests, heads, many_words

REFUSAL_SECONDS = 2
# What a refusal may cost beyond the request itself, and all of them together.
PEAK_BYTES = 32 << 20
LEAK_BYTES = 64 << 20
SECRETS = ("/work", "/home", "/usr", ".cc:", "0x", "std::", "absl::")


def size_of(request):
    return len(request) if isinstance(request, bytes) else request.ByteSize()


class HostileTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # A small budget, so that a test of limits needs no large machine.
        cls.daemon = Daemon("--log-calls=false", "--memory-budget-bytes=1GiB",
                            "--max-message-bytes=128MiB")
        cls.addClassCleanup(cls.daemon.stop)
        cls.client = wire.Client(cls.daemon.grpc_port)
        cls.addClassCleanup(cls.client.close)
        cls.client(wire.ATTEND, heads())

    def refusal(self, path, request, **options):
        start = time.monotonic()
        with self.assertRaises(grpc.RpcError) as caught:
            self.client(path, request, timeout=10, **options)
        self.assertLess(time.monotonic() - start, REFUSAL_SECONDS)
        return caught.exception

    def check_message(self, error, field):
        message = error.details()
        self.assertLess(len(message), 2000)
        for secret in SECRETS:
            self.assertNotIn(secret, message)
        if field is not None:
            self.assertTrue(message.startswith(f"{field}: "), message)

    def check_details(self, error, field):
        status, details = wire.details_of(error)
        self.assertEqual(status.code, error.code().value[0])
        self.assertEqual(status.message, error.details())
        info = details["ErrorInfo"]
        self.assertEqual(info.domain, "locus.v1")
        if error.code() == INVALID:
            violation = details["BadRequest"].field_violations[0]
            self.assertEqual((violation.field, info.metadata["field"]), (field, field))
            self.assertTrue(violation.description)
        if error.code() == EXHAUSTED:
            self.assertTrue(details["QuotaFailure"].violations)
            # Out of memory is the last net; the refusal must come before it.
            self.assertNotIn(info.metadata["limit"], ("", "memory"))

    def check_refused(self, path, request, code, field):
        error = self.refusal(path, request)
        self.assertEqual(error.code(), code, error.details())
        self.check_message(error, field)
        if code != UNIMPLEMENTED:
            self.check_details(error, field)

    def assert_memory_comes_back(self, before):
        """Freed after the answer is sent, so that it may take a moment to show."""
        end = time.monotonic() + REFUSAL_SECONDS
        while self.daemon.memory("VmRSS") - before > LEAK_BYTES and time.monotonic() < end:
            self.daemon.http("/healthz")
        if not SANITIZED:
            self.assertLess(self.daemon.memory("VmRSS") - before, LEAK_BYTES)

    def test_libraries_write_no_lines_of_their_own(self):
        _, path, request, *_ = next(r for r in all_requests() if r[0] == "not UTF-8")
        self.refusal(path, request)
        self.client(wire.ATTEND, heads())
        self.assertEqual(self.daemon.log.others(), [])

    def test_each_is_refused_and_none_costs_memory(self):
        before = self.daemon.memory("VmRSS")
        for name, path, request, code, field in all_requests():
            with self.subTest(name):
                self.daemon.forget_peak()
                start = self.daemon.memory("VmRSS")
                self.check_refused(path, request, code, field)
                peak = self.daemon.memory("VmHWM") - start
                if not SANITIZED:
                    self.assertLess(peak, PEAK_BYTES + 4 * size_of(request))
        self.assert_memory_comes_back(before)
        self.assertTrue(self.daemon.alive())
        self.client(wire.ATTEND, heads())

    def test_there_are_many_of_them(self):
        names = [name for name, *_ in all_requests()]
        self.assertGreater(len(names), 100)
        self.assertEqual(len(names), len(set(names)))

    def test_compressed_request_is_refused(self):
        """A bomb is small on the wire, and gRPC inflates before it measures."""
        bomb = heads(q=(1, 1, 4096, 1024))
        error = self.refusal(wire.ATTEND, bomb, compression=grpc.Compression.Gzip)
        self.assertEqual(error.code(), UNIMPLEMENTED)
        self.client(wire.ATTEND, heads())

    def test_message_past_the_limit_is_refused(self):
        error = self.refusal(wire.ENCODE, bytes(129 << 20))
        self.assertEqual(error.code(), EXHAUSTED)
        self.client(wire.ATTEND, heads())

    def test_together_they_do_no_harm_either(self):
        """All of them at once, with good calls in between that must not suffer."""
        hostile = [r for r in all_requests() if size_of(r[2]) < 1 << 20]
        futures = [(name, self.client.method(path).future(request, timeout=30), code)
                   for name, path, request, code, _ in hostile * 3]
        good = [self.client.method(wire.ATTEND).future(heads(), timeout=30) for _ in range(20)]
        for future in good:
            self.assertEqual(wire.array(future.result().output).shape, (1, 2, 3, 4))
        for name, future, code in futures:
            self.assertEqual(future.code(), code, name)

    def test_memory_of_many_small_parts_comes_back(self):
        """2 MB that parse to 50 MB, refused for the answer they would need."""
        request = many_words(1_000_000)
        before = self.daemon.memory("VmRSS")
        for _ in range(6):
            self.check_refused(wire.ATTEND, request, EXHAUSTED, "response")
        self.assert_memory_comes_back(before)

    def test_values_that_are_not_numbers_stay_where_they_are(self):
        """NaN and infinity are numbers of the type, not a reason to refuse or to crash."""
        request = heads(q=(1, 2, 3, 4))
        request.heads.v.CopyFrom(wire.tensor(np.full((1, 2, 3, 4), np.nan)))
        self.assertTrue(np.isnan(wire.array(self.client(wire.ATTEND, request).output)).all())


if __name__ == "__main__":
    unittest.main()
