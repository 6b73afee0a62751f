#!/usr/bin/env python3
"""The committed seeds equal the output of make_seeds.py, and every method is fuzzed."""

import os
import re
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import make_seeds  # noqa: E402 (found through the line above; adds tests/e2e)
from daemon import Daemon  # noqa: E402
from methods import registered_methods  # noqa: E402

import grpc  # noqa: E402


def fuzzed_methods():
    """The methods in kMethods of request_fuzz.cc, in their order."""
    with open(os.path.join(HERE, "request_fuzz.cc"), encoding="utf-8") as file:
        listed = re.search(r"kMethods\[\] = \{(.*?)\};", file.read(), re.S)[1]
    return tuple(re.findall(r'"([^"]+)"', listed))


class SeedsTest(unittest.TestCase):
    def test_committed_seeds_equal_the_output_of_the_script(self):
        for target, cases in make_seeds.seeds().items():
            folder = os.path.join(HERE, "corpus", target)
            committed = {}
            for name in os.listdir(folder):
                if name.startswith("seed-"):
                    with open(os.path.join(folder, name), "rb") as file:
                        committed[name] = file.read()
            self.assertEqual(committed, cases, f"{target}: run tests/fuzz/make_seeds.py")

    def test_every_registered_method_is_fuzzed_and_has_seeds(self):
        with Daemon() as daemon, \
                grpc.insecure_channel(f"127.0.0.1:{daemon.grpc_port}") as channel:
            registered = registered_methods(channel)
        self.assertEqual(sorted(fuzzed_methods()), registered)
        self.assertEqual(fuzzed_methods(), make_seeds.METHODS)
        seeded = {case[0] for case in make_seeds.seeds()["request"].values()}
        self.assertEqual(seeded, set(range(len(registered))))


if __name__ == "__main__":
    unittest.main()
