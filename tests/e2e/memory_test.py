#!/usr/bin/env python3
"""Memory of attention grows linearly with the sequence, and large calls leave little behind.

MemoryTest takes between 15 seconds and a few minutes, so that it runs only if LOCUS_SLOW_TESTS is
set.
"""

import os
import unittest

import numpy as np

import wire
from daemon import SANITIZED, Daemon

TOKENS, HEADS, DIM = 32768, 8, 64
# Limit of the memory beyond request and response. The full score matrix would take 32 GiB.
WORKSPACE_BYTES = 300 << 20
# Limit of the idle size: freed memory that locusd keeps for the next call (kKeptBytes of
# server/base/allocator.h), plus the process itself.
IDLE_BYTES = (80 + 48) << 20


@unittest.skipUnless(os.environ.get("LOCUS_SLOW_TESTS"), "LOCUS_SLOW_TESTS is not set")
@unittest.skipIf(SANITIZED, "sanitizers change the memory use")
class MemoryTest(unittest.TestCase):
    def test_memory_of_a_long_context_is_linear(self):
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
            daemon.reset_peak_memory()
            output = client(wire.ATTEND, request, timeout=900).output
            growth = daemon.memory("VmHWM") - before
            client.close()
        inputs_and_output = 3 * values.nbytes + len(output.data)
        print(f"memory grew by {growth >> 20} MiB, of which {inputs_and_output >> 20} MiB are "
              f"input and output")
        self.assertLess(growth, inputs_and_output + WORKSPACE_BYTES)
        # The first query attends to the first key only, so that its output is the first value.
        # The kernel computes (weight * value) * (1 / weight), which rounds three times.
        np.testing.assert_allclose(wire.array(output)[0, :, 0], values[0, :, 0],
                                   rtol=3 * 2.0**-24, atol=0)


@unittest.skipIf(SANITIZED, "sanitizers change the memory use")
class IdleMemoryTest(unittest.TestCase):
    def test_memory_of_large_calls_is_released(self):
        request = wire.EncodeRequest()
        request.scheme.none.SetInParent()
        with Daemon() as daemon:
            client = wire.Client(daemon.grpc_port)
            for megabytes in 6 * [1, 4, 24, 96]:
                request.input.CopyFrom(wire.tensor(np.zeros((megabytes << 12, 64), "f4")))
                client(wire.ENCODE, request, timeout=60)
            # The server releases memory after it has sent the response; another call gives it
            # time to do so.
            client(wire.LIST_SCHEMES, wire.ListSchemesRequest())
            idle = daemon.memory("VmRSS")
            client.close()
        print(f"{idle >> 20} MiB when idle")
        self.assertLess(idle, IDLE_BYTES)


if __name__ == "__main__":
    unittest.main()
