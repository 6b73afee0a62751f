#!/usr/bin/env python3
"""locusd under a limit of processes (ulimit -u): it either runs, or refuses to start."""

import itertools
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import grpc
import numpy as np

import wire
from daemon import LOCUSD, SANITIZED, Log

# Users that have no other processes, which would count towards the limit. Each run has a user of
# its own, because the threads of a process may count for a moment after its end.
USERS = itertools.count(61000 + os.getpid() % 4000)
GRACE_SECONDS = 2
# Time that locusd needs beyond its grace period.
STOP_SECONDS = 20 if SANITIZED else 5
SUFFICIENT = 512
ERROR = re.compile(r"locusd: cannot create a thread: Resource temporarily unavailable; "
                   r"raise the limit of processes \(ulimit -u\) or lower --threads")


def attend_request():
    request = wire.AttendRequest()
    request.scheme.none.SetInParent()
    for name in ("q", "k", "v"):
        getattr(request.heads, name).CopyFrom(wire.tensor(np.zeros((1, 2, 300, 32), dtype="f4")))
    return request


# The limit does not apply to root, and the processes of another user would count.
@unittest.skipIf(os.getuid() != 0, "needs root, to run locusd as a user of its own")
class ProcessLimitTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        # The build folder may not be accessible to other users.
        cls.program = shutil.copy(LOCUSD, folder.name)

    def start(self, limit, threads):
        user = next(USERS)
        # prlimit, because a preexec_fn would run the fork handlers of grpc, which start threads.
        process = subprocess.Popen(
            ["prlimit", f"--nproc={limit}:{limit}", self.program, "--listen=127.0.0.1:0",
             "--http=127.0.0.1:0", f"--threads={threads}", f"--grace-seconds={GRACE_SECONDS}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, user=user, group=user,
            extra_groups=[])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, Log(process.stderr)

    def check_calls(self, port):
        """Makes calls of all kinds."""
        client = wire.Client(port)
        self.addCleanup(client.close)
        self.assertEqual(client(wire.HEALTH_CHECK, wire.HealthCheckRequest(), timeout=10).status, 1)
        self.assertTrue(client(wire.LIST_SCHEMES, wire.ListSchemesRequest(), timeout=10).schemes)
        futures = [client.method(wire.ATTEND).future(attend_request(), timeout=20)
                   for _ in range(20)]
        for future in futures:
            # A server with few threads may reject calls, but answers them.
            self.assertIn(future.code(), (grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE))
        self.assertIn(grpc.StatusCode.OK, [future.code() for future in futures])

    def run_with(self, limit, threads):
        """Runs locusd under the limit. Returns whether it started."""
        process, log = self.start(limit, threads)
        try:
            ready = log.wait_for(lambda event: event["event"] == "ready", 10)
        except AssertionError:
            self.assertEqual(process.wait(1), 1, log.text())
            self.assertRegex(log.text(), re.compile(f"^{ERROR.pattern}$"))
            return False
        self.check_calls(ready["grpc_port"])
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(GRACE_SECONDS + STOP_SECONDS), 0, log.text())
        self.assertEqual(log.other_lines(), [])
        log.wait_for(lambda event: event["event"] == "stopped", 10)
        return True

    def test_runs_or_refuses_to_start(self):
        """Tries low limits, and those around the lowest one under which locusd starts."""
        for threads in (2, 24):
            limits = [1, 2, 3, 5, 8, 10, 12, 13, 14, 16]
            for limit in limits:
                self.assertFalse(self.run_with(limit, threads), limit)
            too_low, sufficient = limits[-1], SUFFICIENT
            self.assertTrue(self.run_with(sufficient, threads))
            while sufficient - too_low > 1:
                middle = (too_low + sufficient) // 2
                if self.run_with(middle, threads):
                    sufficient = middle
                else:
                    too_low = middle
            for limit in range(sufficient, sufficient + 4):
                self.run_with(limit, threads)


if __name__ == "__main__":
    unittest.main()
