#!/usr/bin/env python3
"""Client-side load balancing over several servers, given as a list or as one DNS name."""

import json
import os
import subprocess
import unittest

from daemon import Daemon
from name_server import NameServer

LOCUS = os.environ.get("LOCUS", "locus")
LIBRARY_CALLS = os.environ.get("LIBRARY_CALLS", "library_calls")
HANDLED = "grpc_server_handled_total"
LOAD = ("load", "--rate", "100", "--duration", "1s", "--warm-up", "0", "--quiet", "--json")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


class BalanceTest(unittest.TestCase):
    def setUp(self):
        # Two servers with the same port and different addresses, and a name for both.
        self.daemons = [Daemon("--threads=1")]
        port = self.daemons[0].grpc_port
        self.daemons.append(Daemon("--threads=1", f"--listen=127.0.0.2:{port}"))
        for daemon in self.daemons:
            self.addCleanup(daemon.stop)
        dns = NameServer("127.0.0.1", "127.0.0.2")
        self.enter(dns)
        self.name = f"dns://{dns.address}/locus.test:{port}"
        self.list = f"127.0.0.1:{port},127.0.0.2:{port}"

    def enter(self, context):
        self.addCleanup(context.__exit__, None, None, None)
        return context.__enter__()

    def shares(self, *command):
        """Runs a command, which must succeed. Returns the number of calls each server handled."""
        before = [daemon.metric(HANDLED) for daemon in self.daemons]
        result = run(*command)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.result = result.stdout
        return [daemon.metric(HANDLED) - count for daemon, count in zip(self.daemons, before)]

    def assert_even(self, shares, count):
        self.assertGreaterEqual(sum(shares), count)
        self.assertGreater(min(shares), 0.4 * count, shares)

    def test_load_balances_over_a_dns_name(self):
        self.assert_even(self.shares(LOCUS, *LOAD, "--server", self.name), 100)

    def test_load_distributes_its_connections_over_a_list(self):
        for requested, opened in ((1, 2), (2, 2), (4, 4)):
            shares = self.shares(LOCUS, *LOAD, "--server", self.list,
                                 "--connections", str(requested))
            self.assert_even(shares, 100)
            setup = json.loads(self.result)["setup"]
            self.assertEqual((setup["connections"], setup["server"]), (opened, self.list))

    def test_load_names_the_server_it_cannot_reach(self):
        self.daemons[1].stop()
        result = run(LOCUS, *LOAD, "--server", self.list, "--timeout", "2s")
        self.assertEqual(
            (result.returncode, result.stderr),
            (1, f"locus: UNAVAILABLE: cannot reach 127.0.0.2:{self.daemons[1].grpc_port}: "
                "1 of 2 connections were established in time\n"))

    def test_library_balances_over_a_dns_name_and_over_a_list(self):
        for servers in (self.name, self.list):
            # Calls before the second connection is established all go to the first server, so
            # that many calls are needed for an even balance.
            self.assert_even(self.shares(LIBRARY_CALLS, servers, "1000"), 1000)

    def test_library_tolerates_a_stopped_server(self):
        self.daemons[1].stop()
        for servers in (self.name, self.list):
            result = run(LIBRARY_CALLS, servers, "20")
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_evaluation_resolves_a_dns_name(self):
        shares = self.shares(LOCUS, "evaluate", "--server", self.name, "--pattern", "--scheme",
                             "rope", "--eval-lengths", "32", "--no-out", "--quiet")
        self.assertEqual(sorted(shares), [0, 1])


if __name__ == "__main__":
    unittest.main()
