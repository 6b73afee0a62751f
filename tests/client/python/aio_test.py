#!/usr/bin/env python3
"""The async client against a real locusd."""

import asyncio
import inspect
import unittest

import support  # noqa: F401
import numpy as np
from daemon import Daemon

import locus
import locus.aio


class AsyncClientTest(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)
        cls.address = f"127.0.0.1:{cls.daemon.grpc_port}"

    async def asyncSetUp(self):
        self.client = await self.enterAsyncContext(locus.aio.connect(self.address))

    async def test_gives_the_results_of_the_blocking_client(self):
        random = np.random.default_rng(0)
        q, k, v = random.standard_normal((3, 1, 2, 9, 8), dtype="f4")
        with locus.connect(self.address) as blocking:
            for call in (lambda c: c.rope([0, 5], dim=8, base=500.0),
                         lambda c: c.schemes(), lambda c: c.check(["alibi"]),
                         lambda c: c.health()):
                wanted, got = call(blocking), await call(self.client)
                self.assertEqual(type(got), type(wanted))
                np.testing.assert_array_equal(np.asarray(got, dtype=object if isinstance(
                    got, list) else None), np.asarray(wanted, dtype=object if isinstance(
                        wanted, list) else None))
            for call in (lambda c: c.attend(q, k, v, scheme="alibi", causal=True),
                         lambda c: c.attend_tokens("a b a", scheme="rope"),
                         lambda c: c.attend_module(q[0, 0], seed=1),
                         lambda c: c.encode("sinusoidal", 4, 8)):
                wanted, got = call(blocking), await call(self.client)
                self.assertEqual(set(got.arrays), set(wanted.arrays))
                for name, array in wanted.arrays.items():
                    np.testing.assert_array_equal(got.arrays[name], array)

    async def test_has_every_method_of_the_blocking_client(self):
        for name, method in inspect.getmembers(locus.Client, inspect.isfunction):
            if name.startswith("_"):
                continue
            other = getattr(locus.aio.Client, name)
            self.assertEqual(list(inspect.signature(other).parameters),
                             list(inspect.signature(method).parameters), name)
        self.assertEqual(inspect.signature(locus.aio.connect).parameters.keys(),
                         inspect.signature(locus.connect).parameters.keys())

    async def test_calls_run_at_the_same_time(self):
        results = await asyncio.gather(*(self.client.rope([n], dim=4) for n in range(20)))
        np.testing.assert_allclose([r.cos[0, 0] for r in results], np.cos(np.arange(20)), atol=1e-6)

    async def test_evaluations_are_async_iterables(self):
        evaluation = self.client.evaluate(["rope"], task="pattern")
        events = [event async for event in evaluation]
        self.assertIs(await evaluation.summary, events[-1])
        self.assertIsInstance(events[0], locus.Cell)

    async def test_evaluations_can_be_cancelled(self):
        evaluation = self.client.evaluate(["rope"], training={"step_count": 50000})
        async for _ in evaluation:
            break
        await evaluation.cancel()
        with self.assertRaisesRegex(locus.LocusError, "cancelled"):
            await evaluation.summary

    async def test_cancelling_a_task_cancels_its_call(self):
        q = np.zeros((1, 8, 4096, 64), "f4")
        task = asyncio.ensure_future(self.client.attend(q, q, q, return_weights=False))
        await asyncio.sleep(0.05)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertEqual(await self.client.health(), "SERVING")

    async def test_errors_carry_field_violations(self):
        with self.assertRaises(locus.InvalidArgument) as caught:
            await self.client.encode("rope", 4, dim=7)
        self.assertEqual(caught.exception.field_violations[0].field, "scheme.rope.rotary_dim")

    async def test_deadlines_are_honoured(self):
        q = np.zeros((1, 8, 4096, 64), "f4")
        with self.assertRaises(TimeoutError):
            await self.client.attend(q, q, q, timeout=0.01)

    async def test_a_local_server_is_started_by_the_first_call_and_stopped(self):
        client = locus.aio.connect(server_flags=["--threads=1"])
        self.assertEqual(await client.health(), "SERVING")
        address = client.address
        await client.close()
        with self.assertRaisesRegex(locus.LocusError, "closed"):
            await client.health()
        async with locus.aio.connect(address, retry=locus.RetryPolicy(max_attempts=1)) as other:
            with self.assertRaises(locus.Unavailable):
                await other.health()


if __name__ == "__main__":
    unittest.main()
