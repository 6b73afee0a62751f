#!/usr/bin/env python3
"""Memory grows linearly with the sequence, and large calls leave none behind.

The first takes from a quarter of a minute to a few, so it runs when LOCUS_SLOW_TESTS is set.
"""

import os
import unittest

import numpy as np

import wire
from daemon import SANITIZED, Daemon

TOKENS, HEADS, DIM = 32768, 8, 64
BEYOND_BYTES = 300 << 20
# What locusd may keep for the next call, see server/base/allocator.h, and what it is itself.
KEPT_BYTES = (80 + 48) << 20


@unittest.skipUnless(os.environ.get("LOCUS_SLOW_TESTS"), "LOCUS_SLOW_TESTS is not set")
@unittest.skipIf(SANITIZED, "sanitizers have memory of their own")
class MemoryTest(unittest.TestCase):
    def test_long_context_fits(self):
        values = np.random.default_rng(1).standard_normal((1, HEADS, TOKENS, DIM), dtype="f4")
        request = wire.AttendRequest()
        request.scheme.rope.SetInParent()
        request.options.causal = True
        for name in ("q", "k", "v"):
            getattr(request.heads, name).CopyFrom(wire.tensor(values))
        with Daemon() as daemon:
            client = wire.Client(daemon.grpc_port)
            client(wire.LIST_SCHEMES, wire.ListSchemesRequest())
            before = daemon.memory("VmRSS")
            daemon.forget_peak()
            output = client(wire.ATTEND, request, timeout=900).output
            grown = daemon.memory("VmHWM") - before
            client.close()
        inputs_and_output = 3 * values.nbytes + len(output.data)
        print(f"grown by {grown >> 20} MiB, of which {inputs_and_output >> 20} MiB are input "
              f"and output")
        self.assertLess(grown, inputs_and_output + BEYOND_BYTES)
        # The first query sees the first key alone, whose weight is relative to a guessed
        # maximum: times the value, and times one over itself, three numbers are rounded.
        np.testing.assert_allclose(wire.array(output)[0, :, 0], values[0, :, 0],
                                   rtol=3 * 2.0**-24, atol=0)


@unittest.skipIf(SANITIZED, "sanitizers have memory of their own")
class RestTest(unittest.TestCase):
    def test_large_calls_leave_little_behind(self):
        request = wire.EncodeRequest()
        request.scheme.none.SetInParent()
        with Daemon() as daemon:
            client = wire.Client(daemon.grpc_port)
            for megabytes in 6 * [1, 4, 24, 96]:
                request.input.CopyFrom(wire.tensor(np.zeros((megabytes << 12, 64), "f4")))
                client(wire.ENCODE, request, timeout=60)
            # The answer is there before the call has ended.
            client(wire.LIST_SCHEMES, wire.ListSchemesRequest())
            at_rest = daemon.memory("VmRSS")
            client.close()
        print(f"{at_rest >> 20} MiB at rest")
        self.assertLess(at_rest, KEPT_BYTES)


if __name__ == "__main__":
    unittest.main()
