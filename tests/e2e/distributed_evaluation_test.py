#!/usr/bin/env python3
"""`locus evaluate` with several servers, including servers that fail during the evaluation."""

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import unittest

from daemon import SANITIZED, Daemon

LOCUS = os.environ.get("LOCUS", "locus")


def trained(steps=40, seeds=2):
    """Arguments of a trained evaluation: three schemes, two of one kind. One run is short, but
    long enough to be interrupted."""
    return ("--task", "copy", "--scheme", "rope", "--scheme", "alibi",
            "--scheme", "rope { base: 500 }", "--steps", str(steps), "--seeds", str(seeds),
            "--train-length", "16", "--eval-lengths", "16,32", "--seed", "7", "--dim", "32",
            "--batch", "16")


# Runs of trained() with its defaults: three schemes times two seeds.
RUNS = 6


class Evaluation:
    """A running `locus evaluate`, and the lines that it has written to standard error."""

    def __init__(self, folder, servers, *arguments):
        os.makedirs(folder)
        self.out = os.path.join(folder, "out")
        # Reports contain the command, which is the same for any servers and folder.
        self.process = subprocess.Popen(
            [LOCUS, "evaluate", "--out", "out", *arguments], cwd=folder,
            env={**os.environ, "LOCUS_SERVER": ",".join(servers)},
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
        """Waits until a line matches the regular expression."""
        with self._changed:
            if not self._changed.wait_for(
                    lambda: any(re.search(pattern, line) for line in self.lines), seconds):
                raise AssertionError(f"no {pattern} in:\n" + "\n".join(self.lines))

    def end(self):
        """Waits for the end, and returns (exit code, standard output, lines of standard error)."""
        output = self.process.stdout.read()
        code = self.process.wait(120)
        self._reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return code, output, self.lines


class DistributedEvaluationTest(unittest.TestCase):
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

    def files(self, evaluation, folder=""):
        """The files that an evaluation wrote to the folder, as {name: content}."""
        found = {}
        for name in sorted(os.listdir(os.path.join(evaluation.out, folder))):
            with open(os.path.join(evaluation.out, folder, name), "rb") as file:
                found[name] = file.read()
        return found

    def assert_same(self, one, several):
        """Asserts that both succeeded and printed the same."""
        for result in (one, several):
            self.assertEqual(result[0], 0, result[2])
        self.assertEqual(several[1], one[1])

    def compare(self, arguments, disturb=lambda evaluation: None):
        """Runs the same evaluation with one server and with all, calls disturb() during the
        latter, and asserts equal results. Returns the lines of the latter."""
        one = self.start("one", self.servers[:1], *arguments)
        one_result = one.end()
        several = self.start("several", self.servers, *arguments)
        disturb(several)
        several_result = several.end()
        self.assert_same(one_result, several_result)
        expected, found = self.files(one), self.files(several)
        self.assertEqual(list(found), list(expected))
        for name, content in expected.items():
            # A difference of two large files would take minutes to print.
            self.assertTrue(found[name] == content, f"{name} differs")
        return several_result[2]

    @staticmethod
    def started(lines):
        """The server of each run, in the order in which the progress lines announce the runs."""
        matches = [re.search(r" on (\S+:\d+)", line) for line in lines]
        return [match[1] for match in matches if match]

    def test_results_equal_those_of_one_server(self):
        lines = self.compare(trained())
        started = self.started(lines)
        self.assertEqual(set(started), set(self.servers), lines)
        self.assertEqual(len(started), RUNS, lines)
        cells = sum(daemon.metric("locus_evaluation_cells_total") for daemon in self.daemons)
        # Two lengths per run; the evaluation with one server counts as well.
        self.assertEqual(cells, 2 * 2 * RUNS)

    def test_patterns_and_attention_maps_equal_those_of_one_server(self):
        self.compare(("--pattern", "--train-length", "32", "--seeds", "2"))

    def test_retrofit_is_split_by_seeds(self):
        lines = self.compare(("--task", "retrofit", "--steps", "20", "--train-length", "16",
                              "--eval-lengths", "16,32", "--dim", "32", "--batch", "8",
                              "--seeds", "2"))
        self.assertEqual(len(self.started(lines)), 2, lines)

    def test_parts_of_a_killed_server_are_repeated(self):
        def kill(evaluation):
            evaluation.wait_for(f"on {self.servers[1]}")
            os.kill(self.daemons[1].process.pid, signal.SIGKILL)
            self.daemons[1].process.wait(60)

        lines = self.compare(trained(), kill)
        self.assertTrue(any(f"{self.servers[1]} failed" in line for line in lines), lines)

    def test_parts_of_a_draining_server_are_repeated(self):
        def drain(evaluation):
            evaluation.wait_for(f"on {self.servers[2]}")
            self.daemons[2].terminate()

        # The runs take longer than the grace period of one second.
        self.compare(trained(steps=400), drain)

    def test_unreachable_server_is_skipped(self):
        self.daemons[0].stop()
        one = self.start("one", self.servers[1:2], *trained()).end()
        several = self.start("several", self.servers, *trained()).end()
        self.assert_same(one, several)

    def test_fails_if_no_server_is_reachable(self):
        for daemon in self.daemons:
            daemon.stop()
        code, _, lines = self.start("none", self.servers, *trained()).end()
        self.assertEqual(code, 1)
        self.assertRegex(lines[-1], r"^locus: UNAVAILABLE: cannot reach 127\.0\.0\.1:\d+: "
                                    r"Connection refused$")

    def test_invalid_arguments_fail_before_any_run(self):
        code, _, lines = self.start("invalid", self.servers, *trained(), "--heads", "5").end()
        self.assertEqual(code, 2)
        self.assertEqual(lines, ["locus: --heads: is 5; must divide the width 32"])

    def test_timeout_keeps_finished_cells(self):
        # Some of the 192 runs end within the timeout, but not all of them.
        arguments = trained(steps=40 if SANITIZED else 200, seeds=64)
        evaluation = self.start("timeout", self.servers, *arguments, "--timeout", "5s")
        code, output, lines = evaluation.end()
        self.assertEqual((code, lines[-1]), (1, "locus: the evaluation is partial"), lines)
        self.assertTrue(output.endswith(f"""
PARTIAL: the deadline passed or the server shut down; these are the finished cells.

No winner: the evaluation is partial.

wrote {len(os.listdir(evaluation.out + "/unfinished"))} files to out/unfinished/; open \
out/unfinished/report.html
"""), output)
        files = self.files(evaluation, "unfinished")
        manifest = json.loads(files["manifest.json"])
        self.assertEqual((manifest["partial"], manifest["winner"]), (True, ""))
        rows = files["cells.csv"].count(b"\n") - 1
        self.assertGreater(rows, RUNS)

    def test_interrupt_keeps_finished_cells(self):
        evaluation = self.start("interrupted", self.servers, *trained(steps=400))
        evaluation.wait_for("length 32")
        evaluation.process.send_signal(signal.SIGINT)
        code, output, lines = evaluation.end()
        self.assertEqual((code, lines[-1]), (130, "locus: interrupted"))
        self.assertTrue(output.startswith("UNFINISHED. Finished cells:\n\nSCHEME "), output)
        self.assertTrue(output.endswith("\nwrote the finished cells to "
                                        "out/unfinished/cells.csv\n"), output)
        self.assertEqual(list(self.files(evaluation, "unfinished")), ["cells.csv"])


if __name__ == "__main__":
    unittest.main()
