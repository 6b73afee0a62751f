#!/usr/bin/env python3
"""Callers that know several servers, by a list or by one name, use all of them."""

import json
import os
import subprocess
import unittest

from daemon import Daemon
from names import NameServer

LOCUS = os.environ.get("LOCUS", "locus")
LIBRARY_CALLS = os.environ.get("LIBRARY_CALLS", "library_calls")
HANDLED = "grpc_server_handled_total"
LOAD = ("load", "--rate", "100", "--duration", "1s", "--warm-up", "0", "--quiet", "--json")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


class BalanceTest(unittest.TestCase):
    def setUp(self):
        # Two servers, and a name that stands for both: they differ in nothing but the address.
        self.daemons = [Daemon("--threads=1")]
        port = self.daemons[0].grpc_port
        self.daemons.append(Daemon("--threads=1", f"--listen=127.0.0.2:{port}"))
        for daemon in self.daemons:
            self.addCleanup(daemon.stop)
        names = NameServer("127.0.0.1", "127.0.0.2")
        self.enter(names)
        self.name = f"dns://{names.address}/locus.test:{port}"
        self.list = f"127.0.0.1:{port},127.0.0.2:{port}"

    def enter(self, context):
        self.addCleanup(context.__exit__, None, None, None)
        return context.__enter__()

    def shares(self, *command):
        """The answered calls of each server during a command that has to succeed."""
        before = [daemon.metric(HANDLED) for daemon in self.daemons]
        result = run(*command)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.result = result.stdout
        return [daemon.metric(HANDLED) - count for daemon, count in zip(self.daemons, before)]

    def assert_even(self, shares, count):
        self.assertGreaterEqual(sum(shares), count)
        self.assertGreater(min(shares), 0.4 * count, shares)

    def test_load_balances_over_a_name(self):
        self.assert_even(self.shares(LOCUS, *LOAD, "--server", self.name), 100)

    def test_load_spreads_its_connections_over_a_list(self):
        for asked, made in ((1, 2), (2, 2), (4, 4)):
            shares = self.shares(LOCUS, *LOAD, "--server", self.list, "--connections", str(asked))
            self.assert_even(shares, 100)
            setup = json.loads(self.result)["setup"]
            self.assertEqual((setup["connections"], setup["server"]), (made, self.list))

    def test_load_says_which_server_of_a_list_is_not_there(self):
        self.daemons[1].stop()
        result = run(LOCUS, *LOAD, "--server", self.list, "--timeout", "2s")
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot reach 127.0.0.2:", result.stderr)

    def test_the_library_balances_over_a_name_and_over_a_list(self):
        for servers in (self.name, self.list):
            # Balanced over both as soon as the second one is connected, too.
            self.assert_even(self.shares(LIBRARY_CALLS, servers, "1000"), 1000)

    def test_the_library_does_without_a_server_that_has_gone(self):
        self.daemons[1].stop()
        for servers in (self.name, self.list):
            result = run(LIBRARY_CALLS, servers, "20")
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_evaluations_find_a_server_by_the_name(self):
        shares = self.shares(LOCUS, "evaluate", "--server", self.name, "--pattern", "--scheme",
                             "rope", "--eval-lengths", "32", "--no-out", "--quiet")
        self.assertEqual(sorted(shares), [0, 1])


if __name__ == "__main__":
    unittest.main()
