"""Tests that no command loses a result or an earlier file if it is interrupted or cannot write.

    output_files_test.py LOCUS FAKE_EVALUATION MANIFEST
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import fake_server as fake

LOCUS, FAKE, MANIFEST = sys.argv[1:4]


def limit_file_size(limit_bytes=1 << 20):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))


def contents(folder):
    """{name: bytes} of the files in the folder."""
    result = {}
    for entry in os.scandir(folder):
        if entry.is_file():
            with open(entry.path, "rb") as file:
                result[entry.name] = file.read()
    return result


def make_old(path):
    with open(path, "w", encoding="utf-8") as file:
        file.write("old")


class OutputTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_locus(self, *arguments, **options):
        return subprocess.run([LOCUS, *arguments], capture_output=True, text=True, check=False,
                              cwd=self.folder, timeout=120, **options)


class EvaluateTest(OutputTest):
    """`locus evaluate` in a folder that has the report of an earlier evaluation."""

    def setUp(self):
        super().setUp()
        server = fake.fake_server(FAKE, MANIFEST)
        self.server = server.__enter__()
        self.addCleanup(server.__exit__, None, None, None)

    def evaluate(self, seed, *arguments, **options):
        return self.run_locus("evaluate", "--server", self.server, "--seed", str(seed), "-q",
                              "--out", self.out, *arguments, **options)

    @property
    def out(self):
        return os.path.join(self.folder, "out")

    @property
    def unfinished(self):
        return os.path.join(self.out, "unfinished")

    def written(self):
        """Evaluates completely and returns the files."""
        result = self.evaluate(fake.COMPLETE)
        self.assertEqual(result.returncode, 0, result.stderr)
        files = contents(self.out)
        self.assertEqual(len(files), 6)
        return files

    def assert_cells_printed(self, text):
        self.assertTrue(text.startswith("UNFINISHED. Finished cells:\n\nSCHEME "), text)
        self.assertRegex(text, r"(?m)^rope +\d+ +128 +bits_per_byte 2.25  nll 1.5$")

    def test_interrupt(self):
        before = self.written()
        with subprocess.Popen([LOCUS, "evaluate", "--server", self.server, "--seed",
                               str(fake.HANGING), "--out", self.out], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            for _ in range(3):
                line = process.stderr.readline()
            self.assertIn("length 128", line)
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=60)
        self.assertEqual((process.returncode, stderr), (130, "locus: interrupted\n"))
        self.assert_cells_printed(stdout)
        self.assertTrue(stdout.endswith(
            f"\nwrote the finished cells to {self.unfinished}/cells.csv\n"), stdout)
        self.assertEqual(contents(self.out), before)
        self.assertEqual(list(contents(self.unfinished)), ["cells.csv"])

    def test_interrupt_while_files_are_written(self):
        before = self.written()
        report = os.path.join(self.out, "report.html")
        os.unlink(report)
        del before["report.html"]
        os.mkfifo(report)  # Nothing reads from the pipe, so that writing to it blocks.
        with subprocess.Popen([LOCUS, "evaluate", "--server", self.server, "--seed",
                               str(fake.LARGE), "-q", "--out", self.out], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            deadline = time.monotonic() + 60
            # The cells and three charts are written before the report.
            while sum(".tmp-" in name for name in os.listdir(self.out)) < 4:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)  # Files of another process can only be polled.
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=60)
        self.assertEqual((process.returncode, stderr), (130, ""))
        self.assertIn("\nWinner: alibi\n", stdout)
        self.assertEqual(contents(self.out), before)

    def test_errors_of_the_server(self):
        before = self.written()
        for seed, message in (
                (fake.BREAKING, "UNAVAILABLE: going down"),
                (fake.LATE, "DEADLINE_EXCEEDED: too late"),
                (fake.NO_SUMMARY, "INTERNAL: the server sent no summary"),
                (fake.MALFORMED, "INTERNAL: manifest_json of the summary: is no manifest of an "
                                 "evaluation: it is not a JSON object")):
            result = self.evaluate(seed)
            self.assertEqual((result.returncode, result.stderr), (1, f"locus: {message}\n"))
            self.assert_cells_printed(result.stdout)
            self.assertEqual(contents(self.out), before)
            self.assertEqual(list(contents(self.unfinished)), ["cells.csv"])

    def test_timeout(self):
        before = self.written()
        result = self.evaluate(fake.HANGING, "--timeout", "1s")
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stderr.startswith("locus: DEADLINE_EXCEEDED: "), result.stderr)
        self.assert_cells_printed(result.stdout)
        self.assertEqual(contents(self.out), before)

    def test_partial_evaluation(self):
        before = self.written()
        result = self.evaluate(fake.PARTIAL)
        self.assertEqual((result.returncode, result.stderr),
                         (1, "locus: the evaluation is partial\n"))
        self.assertTrue(result.stdout.endswith(f"""
PARTIAL: the deadline passed or the server shut down; these are the finished cells.

No winner: the evaluation is partial.

wrote 6 files to {self.unfinished}/; open {self.unfinished}/report.html
"""), result.stdout)
        self.assertNotIn("Winner", result.stdout)
        self.assertEqual(contents(self.out), before)
        files = contents(self.unfinished)
        self.assertEqual(sorted(files), sorted(before))
        self.assertNotIn(b'<p class="winner">Winner', files["report.html"])
        # Cells without a summary replace the files of the other evaluation.
        self.evaluate(fake.BREAKING)
        self.assertEqual(list(contents(self.unfinished)), ["cells.csv"])

    def test_partial_evaluation_as_json(self):
        result = self.evaluate(fake.PARTIAL, "--json")
        self.assertEqual(result.returncode, 1)
        self.assertTrue(json.loads(result.stdout)["partial"])

    def check_full(self, result, reason, before):
        """The new result is printed, and the old files are untouched."""
        self.assertEqual(
            (result.returncode, result.stderr),
            (1, f"locus: {reason[0]}: cannot write {self.out}/report.html: {reason[1]}\n"))
        self.assertIn("\nWinner: alibi\n", result.stdout)
        self.assertNotIn("wrote", result.stdout)
        self.assertEqual(contents(self.out), before)

    def test_file_size_limit(self):
        before = self.written()
        result = self.evaluate(fake.LARGE, preexec_fn=limit_file_size)
        self.check_full(result, ("OUT_OF_RANGE", "File too large"), before)

    def test_full_disk(self):
        os.mkdir(self.out)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", self.out],
                                 capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest("mount is not permitted")
        self.addCleanup(subprocess.run, ["umount", self.out], check=True)
        before = self.written()
        self.check_full(self.evaluate(fake.LARGE), ("RESOURCE_EXHAUSTED", "No space left on device"),
                        before)

    def test_full_standard_output_does_not_lose_the_files(self):
        before = self.written()
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run(
                [LOCUS, "evaluate", "--server", self.server, "--seed", str(fake.LARGE), "-q",
                 "--out", self.out], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot write standard output: No space left on device\n", result.stderr)
        self.assertGreater(len(contents(self.out)["manifest.json"]), 3 << 20)
        self.assertEqual(sorted(contents(self.out)), sorted(before))

    def test_another_evaluation_replaces_all_files(self):
        self.written()
        make_old(os.path.join(self.out, "notes.txt"))
        with open(os.path.join(self.out, "manifest.json"), encoding="utf-8") as file:
            text = file.read()
        # The earlier evaluation had a metric that the next one does not have.
        with open(os.path.join(self.out, "manifest.json"), "w", encoding="utf-8") as file:
            file.write(text.replace('"drift"', '"surprise"'))
        os.rename(os.path.join(self.out, "drift.svg"), os.path.join(self.out, "surprise.svg"))
        self.assertEqual(self.evaluate(fake.COMPLETE).returncode, 0)
        self.assertEqual(sorted(contents(self.out)),
                         ["cells.csv", "drift.svg", "manifest.json", "nll.svg",
                          "nll_by_position.svg", "notes.txt", "report.html"])


class OtherCommandsTest(OutputTest):
    """A file that cannot be written is not changed, and the result is printed."""

    def check(self, expected, names, *arguments, limit=limit_file_size):
        for name in names:
            make_old(os.path.join(self.folder, name))
        result = self.run_locus(*arguments, preexec_fn=limit)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"^locus: OUT_OF_RANGE: cannot write \S+: File too "
                                        r"large\n$")
        self.assertIn(expected, result.stdout)
        self.assertEqual(contents(self.folder), {name: b"old" for name in names})

    def test_encode(self):
        self.check("table  float32 [1024, 1024]", ["table.npy"], "encode", "--scheme",
                   "sinusoidal", "--dim", "1024", "--positions", "0:1024", "-o", "table.npy")

    def test_both_files_of_a_rotation_or_none(self):
        # The cosines fit and the sines, in another folder, do not.
        make_old(os.path.join(self.folder, "x.cos.npy"))
        os.mkdir(os.path.join(self.folder, "x.sin.npy"))
        result = self.run_locus("encode", "--scheme", "rope", "--dim", "8", "-o", "x.npy")
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot write x.sin.npy: Is a directory", result.stderr)
        self.assertIn("cos  float32 [8, 4]", result.stdout)
        self.assertEqual(contents(self.folder), {"x.cos.npy": b"old"})

    def test_attend(self):
        words = " ".join(["word"] * 600)
        self.check("attention  float32 [1, 600, 600]", ["out.npy", "weights.npy"], "attend",
                   "--scheme", "rope", "--tokens", words, "-o", "out.npy", "--weights-out",
                   "weights.npy")

    def test_plot(self):
        for name in ("chart.svg", "chart.png"):
            self.check("", [name], "plot", "heatmap", "--scheme", "sinusoidal", "--out", name,
                       limit=lambda: limit_file_size(2048))
            os.unlink(os.path.join(self.folder, name))

    def test_convert_layout(self):
        self.run_locus("encode", "--scheme", "sinusoidal", "--dim", "1024", "--positions",
                       "0:1024", "-o", "input.npy")
        input_bytes = contents(self.folder)["input.npy"]
        make_old(os.path.join(self.folder, "out.npy"))
        result = self.run_locus("convert-layout", "--to", "half-split", "--heads", "8",
                                "input.npy", "out.npy", preexec_fn=limit_file_size)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertEqual(contents(self.folder), {"input.npy": input_bytes, "out.npy": b"old"})

    def test_explain_prints_before_it_writes(self):
        os.mkdir(os.path.join(self.folder, "chart.svg"))
        result = self.run_locus("explain", "--scheme", "alibi", "--plot", "chart.svg")
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot write chart.svg: Is a directory", result.stderr)
        self.assertIn("SLOPE", result.stdout)

    def test_explain_rejects_a_wrong_extension_before_it_prints(self):
        result = self.run_locus("explain", "--scheme", "alibi", "--plot", "chart.gif")
        self.assertEqual((result.returncode, result.stdout), (2, ""))

    def test_interrupted_load_run_does_not_replace_a_report(self):
        make_old(os.path.join(self.folder, "run.json"))
        with subprocess.Popen([LOCUS, "load", "--rate", "50", "--duration", "10m", "--warm-up",
                               "0", "-o", "run.json"], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            process.stderr.readline()
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertTrue(stderr.endswith("locus: interrupted; no file was written\n"), stderr)
        self.assertTrue(stdout.startswith("INTERRUPTED. Results so far:\n"), stdout)
        self.assertEqual(contents(self.folder), {"run.json": b"old"})

    def test_load_replaces_all_reports_or_none(self):
        for name in ("a.json", "b.csv"):
            make_old(os.path.join(self.folder, name))
        # The folder of the second file disappears during the run.
        os.mkdir(os.path.join(self.folder, "gone"))
        with subprocess.Popen([LOCUS, "load", "--rate", "50", "--duration", "2s", "--warm-up", "0",
                               "-o", "a.json", "-o", "gone/b.csv"], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            line = process.stderr.readline()
            os.rmdir(os.path.join(self.folder, "gone"))
            stdout, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, line + stderr)
        self.assertIn("cannot write gone/b.csv: No such file or directory", stderr)
        self.assertIn("latency", stdout)
        self.assertEqual(contents(self.folder), {"a.json": b"old", "b.csv": b"old"})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
