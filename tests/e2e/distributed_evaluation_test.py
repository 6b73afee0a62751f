#!/usr/bin/env python3
"""`locus evaluate` over several servers, some of which are lost on the way."""

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import threading
import unittest

from daemon import Daemon

LOCUS = os.environ.get("LOCUS", "locus")

def trained(steps=40, seeds=2):
    """Three schemes, two of one kind; a run is short, but can be interrupted."""
    return ("--task", "copy", "--scheme", "rope", "--scheme", "alibi",
            "--scheme", "rope { base: 500 }", "--steps", str(steps), "--seeds", str(seeds),
            "--train-length", "16", "--eval-lengths", "16,32", "--seed", "7", "--dim", "32",
            "--batch", "16")


RUNS = 6


class Evaluation:
    """`locus evaluate` as a process; its lines of progress as they come."""

    def __init__(self, out, servers, *arguments):
        self.out = out
        self.process = subprocess.Popen(
            [LOCUS, "evaluate", "--server", ",".join(servers), "--out", out, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()

    def wait_for(self, pattern, seconds=60):
        with self._changed:
            if not self._changed.wait_for(
                    lambda: any(re.search(pattern, line) for line in self.lines), seconds):
                raise AssertionError(f"no {pattern} in:\n" + "\n".join(self.lines))

    def end(self):
        """The exit code, standard output and the lines of standard error."""
        output = self.process.stdout.read()
        code = self.process.wait(120)
        self._reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return code, output, self.lines


class SpreadTest(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.folder = stack.enter_context(tempfile.TemporaryDirectory())
        self.daemons = [Daemon("--threads=1", "--grace-seconds=1") for _ in range(3)]
        self.servers = [f"127.0.0.1:{daemon.grpc_port}" for daemon in self.daemons]
        for daemon in self.daemons:
            self.addCleanup(self.stop, daemon)

    @staticmethod
    def stop(daemon):
        if daemon.alive():
            daemon.stop()

    def start(self, name, servers, *arguments):
        return Evaluation(os.path.join(self.folder, name), servers, *arguments)

    def files(self, evaluation):
        """All that was written, by name."""
        found = {}
        for name in sorted(os.listdir(evaluation.out)):
            with open(os.path.join(evaluation.out, name), "rb") as file:
                found[name] = file.read()
        return found

    def assert_same(self, one, several):
        """What was printed (but for the folder) and what was written."""
        code, output, lines = one
        self.assertEqual(code, 0, lines)
        self.assertEqual(several[0], 0, several[2])
        def cut(text):
            return re.sub(r"wrote \S+", "wrote", text)

        self.assertEqual(cut(several[1]), cut(output))

    def compare(self, arguments, disturb=lambda evaluation: None):
        one = self.start("one", self.servers[:1], *arguments)
        alone = one.end()
        several = self.start("several", self.servers, *arguments)
        disturb(several)
        result = several.end()
        self.assert_same(alone, result)
        self.assertEqual(self.files(several), self.files(one))
        return result[2]

    def test_several_servers_find_what_one_finds(self):
        lines = self.compare(trained())
        used = {server for server in self.servers if any(f"on {server}" in line for line in lines)}
        self.assertEqual(used, set(self.servers), lines)
        self.assertEqual(len([line for line in lines if " on " in line]), RUNS, lines)
        cells = sum(daemon.metric("locus_evaluation_cells_total") for daemon in self.daemons)
        self.assertEqual(cells, 2 * 2 * RUNS)  # with those of the first time

    def test_patterns_with_maps(self):
        self.compare(("--pattern", "--train-length", "32", "--seeds", "2"))

    def test_what_trains_once_goes_by_seeds(self):
        lines = self.compare(("--task", "retrofit", "--steps", "20", "--train-length", "16",
                              "--eval-lengths", "16,32", "--dim", "32", "--batch", "8",
                              "--seeds", "2"))
        self.assertEqual(len([line for line in lines if " on " in line]), 2, lines)

    def test_a_server_that_is_killed_in_the_middle_is_made_up_for(self):
        def kill(evaluation):
            evaluation.wait_for(f"on {self.servers[1]}")
            os.kill(self.daemons[1].process.pid, signal.SIGKILL)
            self.daemons[1].process.wait(60)

        lines = self.compare(trained(), kill)
        self.assertTrue(any(f"{self.servers[1]} failed" in line for line in lines), lines)

    def test_a_server_that_leaves_in_the_middle_is_made_up_for(self):
        def leave(evaluation):
            evaluation.wait_for(f"on {self.servers[2]}")
            self.daemons[2].terminate()

        # Long enough that the second of grace is over before.
        self.compare(trained(steps=400), leave)

    def test_a_server_that_is_not_there_is_done_without(self):
        self.daemons[0].stop()
        one = self.start("one", self.servers[1:2], *trained()).end()
        several = self.start("several", self.servers, *trained()).end()
        self.assert_same(one, several)

    def test_without_any_server_it_says_so(self):
        for daemon in self.daemons:
            daemon.stop()
        code, _, lines = self.start("none", self.servers, *trained()).end()
        self.assertEqual(code, 1)
        self.assertRegex(lines[-1], r"^locus: UNAVAILABLE: cannot reach 127\.0\.0\.1:\d+")

    def test_what_is_wrong_is_said_before_anything_runs(self):
        code, _, lines = self.start("wrong", self.servers, *trained(), "--heads", "5").end()
        self.assertEqual(code, 1)
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], r"trained\.model\.head_count.*--heads")

    def test_time_that_runs_out_leaves_what_is_done(self):
        evaluation = self.start("late", self.servers, *trained(seeds=64), "--timeout", "5s")
        code, output, lines = evaluation.end()
        self.assertEqual(code, 0, lines)
        self.assertRegex(output, "(?i)partial")
        self.assertIn(b'"partial": true', self.files(evaluation)["manifest.json"])
        rows = self.files(evaluation)["cells.csv"].count(b"\n") - 1
        self.assertGreater(rows, RUNS)

    def test_an_interrupt_shows_what_is_done(self):
        evaluation = self.start("cut", self.servers, *trained(steps=400))
        evaluation.wait_for("length 32")
        evaluation.process.send_signal(signal.SIGINT)
        code, output, _ = evaluation.end()
        self.assertEqual(code, 130)
        self.assertIn("UNFINISHED", output)
        self.assertIn("cells.csv", self.files(evaluation))


if __name__ == "__main__":
    unittest.main()
