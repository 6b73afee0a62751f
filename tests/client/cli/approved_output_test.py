"""Compares the output of every command at 80 columns with approved files.

    approved_output_test.py LOCUS LOCUSD MANIFEST [--update]

approved/NAME.txt holds the command lines of a case, and for each of them standard output, standard
error and the exit code. --update rewrites the files: run it after a change of any output, read the
difference, and commit it.

The help of every command is a case, so a new command gets a file by --update. Versions and ports
are masked. Commands whose numbers depend on time are only checked for their width.
"""

import contextlib
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

LOCUS, LOCUSD, MANIFEST = map(os.path.abspath, sys.argv[1:4])
UPDATE = "--update" in sys.argv[4:]
APPROVED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "approved")
COLUMNS = 80
SENTENCE = "the cat sat on the mat"

# A Llama 3.1 configuration, written to config.json in the folder of the test.
CONFIG = {"model_type": "llama", "head_dim": 128, "num_attention_heads": 32,
          "num_key_value_heads": 8, "num_hidden_layers": 32, "rope_theta": 500000.0,
          "max_position_embeddings": 131072,
          "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                           "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}}

# Cases by the name of their file. Each is a list of command lines.
CASES = {
    "version": [["version"], ["--version"]],
    "schemes": [["schemes"]],
    "schemes-rope": [["schemes", "rope"]],
    "schemes-alibi": [["schemes", "alibi"]],
    "schemes-markdown": [["schemes", "--markdown"]],
    "encode-table": [["encode", "--scheme", "sinusoidal", "--dim", "8", "--positions", "0,1,5,6"],
                     ["encode", "--scheme", "sinusoidal", "--dim", "512", "--positions",
                      "0:2000"]],
    "encode-rotation": [["encode", "--scheme", "rope", "--dim", "8"],
                        ["encode", "--scheme", "rope { yarn { factor: 4 } }", "--dim", "128",
                         "--positions", "0:4"]],
    "encode-bias": [["encode", "--scheme", "alibi { symmetric: true }", "--heads", "2",
                     "--positions", "0:4"]],
    "attend": [["attend", "--scheme", "none", "--tokens", SENTENCE, "--dim", "16"],
               ["attend", "--scheme", "alibi", "--causal", "--tokens", SENTENCE, "--dim", "16",
                "--heads", "2"]],
    "attend-long": [["attend", "--scheme", "rope", "--dim", "16", "--causal", "--tokens",
                     " ".join(f"w{i}" for i in range(count))] for count in (12, 30)],
    "attend-wide-characters": [["attend", "--scheme", "none", "--dim", "16", "--tokens",
                                "日本語 café 👍🏽 incomprehensibilities"]],
    "check": [["check"]],
    "check-rope": [["check", "--scheme", "rope"]],
    "explain": [["explain", "--scheme", "rope", "--trained", "2048", "--dim", "16"],
                ["explain", "--hf-config", "config.json"],
                ["explain", "--scheme", "alibi", "--heads", "4"],
                ["explain", "--scheme", "sinusoidal", "--trained", "512"]],
    "hf-config": [["hf-config", "--hf-config", "config.json"]],
    "plot": [["plot", "heatmap", "--scheme", "sinusoidal", "--out", "table.svg"]],
    "evaluate-from-manifest": [["evaluate", "--from", "manifest.json", "--no-out"]],
    "color": [["check", "--scheme", "rope", "--color", "always"]],
    "connection": [["help", "connection"]],
    "errors-usage": [["shcemes"], ["encode", "--schem", "rope"], ["encode"], ["attend"],
                     ["encode", "--scheme", "ropee"],
                     ["encode", "--scheme", "rope { bass: 3 }", "--dim", "8"],
                     ["schemes", "alibye"], ["plot", "heatmaps", "--out", "a.svg"],
                     ["check", "--color", "red"], ["completion", "tcsh"], ["help", "atend"],
                     ["evaluate", "--task", "cop", "--no-out"], ["schemes", "--timeout", "soon"]],
    "errors-call": [["schemes", "--server", "127.0.0.1:1"],
                    ["encode", "--scheme", "rope", "--dim", "7"],
                    ["attend", "--scheme", "rope", "--tokens", SENTENCE, "--dim", "7"]],
}
# Commands that are checked for their width only. The first ones write the files of the last.
UNSTABLE = [["load", "--duration", "300ms", "--warm-up", "0s", "-o", "before.json"],
            ["load", "attend", "--duration", "300ms", "--warm-up", "0s", "-o", "after.json"],
            ["load", "compare", "before.json", "after.json"],
            ["load", "compare", "before.json", "before.json"],
            ["check", "--details"],
            ["evaluate", "--pattern", "--scheme", "rope", "--scheme", "alibi", "--seeds", "1",
             "--quiet", "--no-out"]]
# Lines that may be longer: Markdown has one line per row.
WIDE = {"schemes-markdown"}


def masked(text):
    """`text` without the parts that differ between builds and machines."""
    text = re.sub(r"(?m)^locus \S+ \(commit .*\)$", "locus VERSION (commit COMMIT; BUILD)", text)
    return re.sub(r"127\.0\.0\.1:[1-9]\d{3,4}", "127.0.0.1:PORT", text)


def quoted(word):
    return word if re.fullmatch(r"[\w.,:=/@-]+", word) else f"'{word}'"


def plain(line):
    """`line` without colour sequences, one character per column."""
    line = re.sub(r"\x1b\[[0-9;]*m", "", line)
    line = re.sub(r"[\u0300-\u036f\U0001f3fb-\U0001f3ff]", "", line)
    return re.sub(r"[\u3040-\u30ff\u4e00-\u9fff\U0001f300-\U0001f64f]", "xx", line)


class ApprovedOutputTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        with open(os.path.join(cls.folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump(CONFIG, file)
        os.symlink(MANIFEST, os.path.join(cls.folder, "manifest.json"))
        text = cls.run_locus("help").stdout
        commands = re.search(r"(?ms)^Commands:\n(.*?)\n\n", text).group(1)
        cls.cases = {**CASES, "help": [["help"]], "help-load-compare": [["help", "load", "compare"]]}
        for name in re.findall(r"(?m)^  (\S+)", commands):
            cls.cases[f"help-{name}"] = [["help", name]]

    @classmethod
    def run_locus(cls, *arguments):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("LOCUS_") and name not in ("COLORTERM", "NO_COLOR")}
        return subprocess.run([LOCUS, *arguments], capture_output=True, text=True, check=False,
                              timeout=120, cwd=cls.folder,
                              env={**environment, "COLUMNS": str(COLUMNS)})

    def check_width(self, text, arguments):
        for line in text.splitlines():
            self.assertLessEqual(len(plain(line)), COLUMNS, f"{arguments}: {line}")

    def output_of(self, name, command_lines):
        """The content of the approved file of a case. Lines of errors may be longer, because they
        are wrapped on terminals only."""
        text = ""
        for arguments in command_lines:
            result = self.run_locus(*arguments)
            if name not in WIDE:
                self.check_width(result.stdout, arguments)
            text += f"$ locus {' '.join(map(quoted, arguments))}\n{masked(result.stdout)}"
            if result.stderr:
                text += f"[standard error]\n{masked(result.stderr)}"
            if result.returncode:
                text += f"[exit code {result.returncode}]\n"
            text += "\n"
        return text

    def compare(self, name, text):
        path = os.path.join(APPROVED, f"{name}.txt")
        if UPDATE:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return
        approved = ""
        with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
            approved = file.read()
        if text != approved:
            difference = "".join(difflib.unified_diff(
                approved.splitlines(True), text.splitlines(True), path, "now"))
            self.fail(f"{difference}\nIf this is intended, run approved_output_test.py --update.")

    def test_outputs_are_as_approved(self):
        for name, command_lines in self.cases.items():
            with self.subTest(name):
                self.compare(name, self.output_of(name, command_lines))

    def test_every_approved_file_has_a_case(self):
        files = {entry.name for entry in os.scandir(APPROVED)}
        stale = files - {f"{name}.txt" for name in self.cases} - {"health.txt"}
        if UPDATE:
            for name in stale:
                os.remove(os.path.join(APPROVED, name))
        else:
            self.assertEqual(stale, set())

    def test_outputs_with_times_fit_the_width(self):
        for arguments in UNSTABLE:
            with self.subTest(arguments):
                result = self.run_locus(*arguments)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertTrue(result.stdout)
                self.check_width(result.stdout, arguments)

    def test_health(self):
        process = subprocess.Popen([LOCUSD, "--listen=127.0.0.1:0", "--http="], text=True,
                                   stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        with process:
            try:
                port = next(found.group(1) for line in process.stderr
                            if (found := re.search(r"grpc_port\W+(\d+)", line)))
                server = ["--server", f"127.0.0.1:{port}"]
                text = masked(self.output_of("health", [
                    ["health", *server],
                    ["health", *server, "--service", "locus.v1.AttentionService"],
                    ["health", *server, "--service", "nope"]]))
            finally:
                process.terminate()
                process.communicate(timeout=60)
        self.compare("health", text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(a for a in sys.argv[4:] if a != "--update")])
