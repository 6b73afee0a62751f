#!/usr/bin/env python3
"""Tests haproxy.cfg with a real HAProxy in front of two real servers."""

import os
import subprocess
import unittest
import urllib.error
import urllib.request

from programs import DEPLOY, LOCUS, free_ports, locus, needs, run, wait_until

from daemon import Daemon

CONFIGURATION = DEPLOY / "haproxy" / "haproxy.cfg"
HANDLED = "grpc_server_handled_total"
QUICK = ("--scheme", "rope", "--positions", "0:4", "--dim", "8")


class Balancer:
    """A HAProxy process with our configuration and the addresses of this test's servers."""

    def __init__(self, *daemons):
        listen, self.stats_port = free_ports(2)
        self.address = f"127.0.0.1:{listen}"
        self.environment = {
            **os.environ, "LOCUS_LISTEN": self.address,
            "LOCUS_STATS": f"127.0.0.1:{self.stats_port}"}
        for number, daemon in enumerate(daemons, 1):
            self.environment[f"LOCUS_{number}"] = f"127.0.0.1:{daemon.grpc_port}"
            self.environment[f"LOCUS_{number}_HTTP"] = str(daemon.http_port)

    def check(self):
        return run("haproxy", "-c", "-f", CONFIGURATION, env=self.environment)

    def __enter__(self):
        self.process = subprocess.Popen(["haproxy", "-db", "-f", str(CONFIGURATION)],
                                        env=self.environment, stderr=subprocess.DEVNULL)
        wait_until(lambda: self.up("locus-1") and self.up("locus-2"), "both servers are up")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.stats_port}{path}",
                                    timeout=10) as reply:
            return reply.read().decode()

    def up(self, server):
        """Returns whether the balancer considers that server up."""
        try:
            text = self.get("/metrics")
        except urllib.error.URLError:
            return False
        line = f'haproxy_server_status{{proxy="locus",server="{server}",state="UP"}} 1'
        return line in text.splitlines()


@needs("haproxy")
class BalancerTest(unittest.TestCase):
    def setUp(self):
        # On a busy machine a low-priority evaluation could exceed the grace period.
        self.daemons = [Daemon("--threads=1", "--background-evaluations=false",
                               "--grace-seconds=120") for _ in range(2)]
        for daemon in self.daemons:
            self.addCleanup(daemon.stop)

    def assert_calls(self, balancer, count):
        for _ in range(count):
            called = locus("encode", "--server", balancer.address, *QUICK)
            self.assertEqual(called.returncode, 0, called.stderr)

    def test_configuration_is_valid_without_a_warning(self):
        checked = Balancer(*self.daemons).check()
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertNotIn("WARNING", checked.stderr)

    def test_calls_of_one_connection_reach_both_servers(self):
        with Balancer(*self.daemons) as balancer:
            load = locus("load", "--server", balancer.address, "--rate", "200", "--connections",
                         "1", "--duration", "2s", "--quiet")
            self.assertEqual(load.returncode, 0, load.stdout + load.stderr)
            counts = [daemon.metric(HANDLED) for daemon in self.daemons]
            self.assertGreaterEqual(sum(counts), 400)
            self.assertGreater(min(counts), 0.25 * sum(counts), counts)

    def test_large_tensors_pass_through(self):
        with Balancer(*self.daemons) as balancer:
            load = locus("load", "attend", "--server", balancer.address, "--payload", "4MiB",
                         "--concurrency", "2", "--duration", "1s", "--warm-up", "0", "--quiet",
                         "--timeout", "60s")
            self.assertEqual(load.returncode, 0, load.stdout + load.stderr)

    def test_error_status_and_message_pass_through(self):
        with Balancer(*self.daemons) as balancer:
            rejected = locus("encode", "--server", balancer.address, "--scheme", "rope",
                             "--positions", "0:4", "--dim", "7")
            # The client names the flag only for INVALID_ARGUMENT with the field in its details.
            self.assertEqual(rejected.returncode, 2)
            self.assertRegex(rejected.stderr, r"^locus: --dim: is 7 .*; must be even")

    def test_health_checks_pass_through(self):
        with Balancer(*self.daemons) as balancer:
            asked = locus("health", "--server", balancer.address)
            self.assertEqual(asked.returncode, 0, asked.stderr)
            self.assertEqual(balancer.get("/healthz"), "ok\n")

    def test_draining_server_finishes_its_calls(self):
        with Balancer(*self.daemons) as balancer:
            long_call = subprocess.Popen(
                [LOCUS, "evaluate", "--server", balancer.address,
                 "--task", "copy", "--scheme", "rope", "--scheme", "alibi", "--steps", "60",
                 "--seeds", "1", "--no-out", "--quiet"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.addCleanup(long_call.kill)

            def draining():
                return [d for d in self.daemons if d.metric("locus_evaluations_in_progress")]
            wait_until(draining, "the evaluation is running")
            leaving = draining()[0]
            staying = next(d for d in self.daemons if d is not leaving)
            name = f"locus-{self.daemons.index(leaving) + 1}"
            before = staying.metric(HANDLED)
            leaving.terminate()
            # Calls succeed even before the balancer has noticed the drain.
            self.assert_calls(balancer, 10)
            wait_until(lambda: not balancer.up(name), "the balancer has taken the server out")
            self.assert_calls(balancer, 10)
            self.assertGreaterEqual(staying.metric(HANDLED), before + 20)
            shown, errors = long_call.communicate(timeout=120)
            self.assertEqual(long_call.returncode, 0, errors)
            self.assertIn("alibi", shown)
            self.assertEqual(leaving.process.wait(60), 0)
            self.assert_calls(balancer, 5)

    def test_killed_server_is_taken_out(self):
        with Balancer(*self.daemons) as balancer:
            self.daemons[0].process.kill()
            self.assert_calls(balancer, 10)
            wait_until(lambda: not balancer.up("locus-1"), "the balancer has taken the server out")
            self.assert_calls(balancer, 5)


if __name__ == "__main__":
    unittest.main()
