#!/usr/bin/env python3
"""Invalid and oversized requests fail quickly, with a clear error, and without memory growth."""

import time
import unittest

import grpc
import numpy as np

import wire
from daemon import SANITIZED, Daemon
from hostile_requests import EXHAUSTED, INVALID, UNIMPLEMENTED, all_requests, heads, many_tokens

MAX_ERROR_SECONDS = 2
# Limit of the memory growth during one invalid request, beyond four times its size.
PEAK_BYTES = 32 << 20
# Limit of the memory growth that remains after all invalid requests.
LEAK_BYTES = 64 << 20
# Error messages must not contain paths, source locations, addresses or C++ names.
SECRETS = ("/work", "/home", "/usr", ".cc:", "0x", "std::", "absl::")


def size_of(request):
    return len(request) if isinstance(request, bytes) else request.ByteSize()


class HostileTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The memory budget is small, so that the test also runs on a small machine.
        cls.daemon = Daemon("--log-calls=false", "--memory-budget-bytes=1GiB",
                            "--max-message-bytes=128MiB")
        cls.addClassCleanup(cls.daemon.stop)
        cls.client = wire.Client(cls.daemon.grpc_port)
        cls.addClassCleanup(cls.client.close)
        cls.client(wire.ATTEND, heads())

    def error_of(self, path, request, **options):
        """Makes a call that must fail soon, and returns the error."""
        start = time.monotonic()
        with self.assertRaises(grpc.RpcError) as caught:
            self.client(path, request, timeout=10, **options)
        self.assertLess(time.monotonic() - start, MAX_ERROR_SECONDS)
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
            # The memory budget is the last limit. A more specific limit must apply before it.
            self.assertNotIn(info.metadata["limit"], ("", "memory"))

    def check_fails(self, path, request, code, field):
        error = self.error_of(path, request)
        self.assertEqual(error.code(), code, error.details())
        self.check_message(error, field)
        if code != UNIMPLEMENTED:
            self.check_details(error, field)

    def assert_memory_is_released(self, before):
        """Asserts that the memory returns to its size before, within a moment: the server frees
        memory after it has sent the response."""
        end = time.monotonic() + MAX_ERROR_SECONDS
        while self.daemon.memory("VmRSS") - before > LEAK_BYTES and time.monotonic() < end:
            self.daemon.http("/healthz")
        if not SANITIZED:
            self.assertLess(self.daemon.memory("VmRSS") - before, LEAK_BYTES)

    def test_libraries_write_nothing_to_the_log(self):
        _, path, request, *_ = next(r for r in all_requests() if r[0] == "not UTF-8")
        self.error_of(path, request)
        self.client(wire.ATTEND, heads())
        self.assertEqual(self.daemon.log.other_lines(), [])

    def test_every_request_fails_without_memory_growth(self):
        before = self.daemon.memory("VmRSS")
        for name, path, request, code, field in all_requests():
            with self.subTest(name):
                self.daemon.reset_peak_memory()
                start = self.daemon.memory("VmRSS")
                self.check_fails(path, request, code, field)
                peak = self.daemon.memory("VmHWM") - start
                if not SANITIZED:
                    self.assertLess(peak, PEAK_BYTES + 4 * size_of(request))
        self.assert_memory_is_released(before)
        self.assertTrue(self.daemon.alive())
        self.client(wire.ATTEND, heads())

    def test_requests_are_many_and_have_unique_names(self):
        names = [name for name, *_ in all_requests()]
        self.assertGreater(len(names), 100)
        self.assertEqual(len(names), len(set(names)))

    def test_rejects_compressed_requests(self):
        """gRPC inflates a message before it checks the size, so that a small one could expand to
        a large one."""
        bomb = heads(q=(1, 1, 4096, 1024))
        error = self.error_of(wire.ATTEND, bomb, compression=grpc.Compression.Gzip)
        self.assertEqual(error.code(), UNIMPLEMENTED)
        self.client(wire.ATTEND, heads())

    def test_rejects_messages_beyond_the_limit(self):
        error = self.error_of(wire.ENCODE, bytes(129 << 20))
        self.assertEqual(error.code(), EXHAUSTED)
        self.client(wire.ATTEND, heads())

    def test_valid_calls_succeed_beside_concurrent_invalid_calls(self):
        hostile = [r for r in all_requests() if size_of(r[2]) < 1 << 20]
        futures = [(name, self.client.method(path).future(request, timeout=30), code)
                   for name, path, request, code, _ in hostile * 3]
        valid = [self.client.method(wire.ATTEND).future(heads(), timeout=30) for _ in range(20)]
        for future in valid:
            self.assertEqual(wire.array(future.result().output).shape, (1, 2, 3, 4))
        for name, future, code in futures:
            self.assertEqual(future.code(), code, name)

    def test_memory_of_many_small_elements_is_released(self):
        """The request of 2 MB takes 50 MB when parsed. It fails because its response would be too
        large."""
        request = many_tokens(1_000_000)
        before = self.daemon.memory("VmRSS")
        for _ in range(6):
            self.check_fails(wire.ATTEND, request, EXHAUSTED, "response")
        self.assert_memory_is_released(before)

    def test_nan_values_propagate_to_the_output(self):
        request = heads(q=(1, 2, 3, 4))
        request.heads.v.CopyFrom(wire.tensor(np.full((1, 2, 3, 4), np.nan)))
        self.assertTrue(np.isnan(wire.array(self.client(wire.ATTEND, request).output)).all())


if __name__ == "__main__":
    unittest.main()
