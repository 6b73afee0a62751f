"""Tests that text from servers and files cannot control the terminal.

    hostile_text_test.py LOCUS FAKE_EVALUATION MANIFEST

The server sends names and messages with ESC, NUL, newlines, C1 control characters and
bidirectional marks. None of these may be printed or written to a text file as it is.
"""

import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import unittest

import fake_server as fake

LOCUS, FAKE, MANIFEST = sys.argv[1:4]
DECEPTIVE = {*range(0x20), *range(0x7f, 0xa0), 0x61c, 0x200e, 0x200f, *range(0x2028, 0x202f),
             *range(0x2066, 0x206a)} - {ord("\n"), ord("\t")}
# The escapes of FakeEvaluation::HostileText().
ESCAPED = r"\u001b[2J\u0000\u000a\u009b31m\u202e\u2067\u200f\u007f"
RAW = "\x1b[2J\0\n\u009b31m\u202e\u2067\u200f\x7f"


class HostileTextTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        server = fake.fake_server(FAKE, MANIFEST)
        self.server = server.__enter__()
        self.addCleanup(server.__exit__, None, None, None)

    def check_plain(self, text):
        """`text` (bytes) is UTF-8 without deceptive characters."""
        text = text.decode()
        self.assertEqual({f"U+{ord(c):04X}" for c in text if ord(c) in DECEPTIVE}, set(), text)
        return text

    def run_locus(self, code, *arguments, server=True):
        """Runs the command, checks its output, and returns both streams. COLUMNS is so large that
        no table is wrapped."""
        result = subprocess.run([LOCUS, *arguments, *(["--server", self.server] * server)],
                                capture_output=True, check=False, cwd=self.folder, timeout=120,
                                env={**os.environ, "COLUMNS": "1000"})
        self.assertEqual(result.returncode, code, result.stderr)
        return self.check_plain(result.stdout), self.check_plain(result.stderr)

    def test_schemes(self):
        self.assertIn(f"title{ESCAPED}  reference{ESCAPED}\n", self.run_locus(0, "schemes")[0])
        text = self.run_locus(0, "schemes", "rope")[0]
        for word in ("title", "beyond", "note"):
            self.assertIn(word + ESCAPED + "\n", text)
        self.assertIn("base" + ESCAPED + " (", text)
        self.assertIn(f"| beyond{ESCAPED} |\n", self.run_locus(0, "schemes", "--markdown")[0])

    def test_json_stays_json_with_the_same_meaning(self):
        text = self.run_locus(0, "schemes", "--json")[0]
        self.assertEqual(json.loads(text)["schemes"][0]["title"], "title" + RAW)
        text = self.run_locus(0, "check", "--scheme", "none", "--json")[0]
        self.assertEqual(json.loads(text)["results"][0]["scheme_name"], "rope" + RAW)
        text = self.run_locus(0, "evaluate", "--seed", str(fake.HOSTILE), "--no-out", "--json")[0]
        self.assertEqual(json.loads(text)["winner"],
                         "alibi\x1b[2J\0\n\u009b31m\u202e\u2067\x7f")

    def test_check(self):
        text = self.run_locus(0, "check", "--scheme", "none", "--details")[0]
        self.assertIn(f"\nrope{ESCAPED}\n  shift_invariance: holds; ", text)
        self.assertIn(f"\n    case{ESCAPED}\n", text)

    def test_color_lets_no_other_sequences_through(self):
        for arguments in (("check", "--scheme", "none", "--details"), ("schemes",),
                          ("schemes", "rope")):
            result = subprocess.run([LOCUS, *arguments, "--color", "always", "--server",
                                     self.server], capture_output=True, check=False, timeout=120)
            plain = re.sub(rb"\x1b\[(0|1|2|32|33|1;31)m", b"", result.stdout)
            self.assertLess(len(plain), len(result.stdout))
            self.assertIn(r"\u001b[2J", self.check_plain(plain))

    def test_error_message(self):
        self.assertEqual(
            self.run_locus(1, "encode", "--scheme", "rope", "--dim", "8"),
            ("", "locus: INVALID_ARGUMENT: error"
                 r"\u001b[2J\u0000 \u009b31m\u202e\u2067\u200f\u007f" "\n"))

    def test_evaluation(self):
        name = r"alibi\u001b[2J\u0000\u000a\u009b31m\u202e\u2067\u007f"
        stdout, stderr = self.run_locus(0, "evaluate", "--seed", str(fake.HOSTILE), "--out", "out")
        self.assertIn(f"\nWinner: {name}\n", stdout)
        self.assertIn(f"\n{name}  ", stdout)
        self.assertIn(f"rope{ESCAPED} seed 8 length 128: nll 1.5\n", stderr)
        for entry in os.scandir(os.path.join(self.folder, "out")):
            with open(entry.path, "rb") as file:
                text = self.check_plain(file.read())
            if entry.name == "cells.csv":
                self.assertIn(f'\n"rope{ESCAPED}",8,128,nll,1.5\n', text)
        with open(os.path.join(self.folder, "out", "manifest.json"), encoding="utf-8") as file:
            self.assertTrue(json.load(file)["winner"].startswith("alibi\x1b[2J\0"))

    def test_interrupted_stream(self):
        stdout, stderr = self.run_locus(1, "evaluate", "--seed", str(fake.HOSTILE_ERROR), "-q",
                                        "--no-out")
        self.assertIn(f"\nrope{ESCAPED}  9  ", stdout)
        self.assertIn(r"locus: UNAVAILABLE: error\u001b[2J\u0000 ", stderr)

    def test_progress_on_a_terminal(self):
        leader, follower = pty.openpty()
        with subprocess.Popen([LOCUS, "evaluate", "--server", self.server, "--seed",
                               str(fake.HOSTILE), "--no-out"], stderr=follower,
                              stdout=subprocess.DEVNULL) as process:
            os.close(follower)
            shown = b""
            while True:
                try:
                    part = os.read(leader, 4096)
                except OSError:  # the other end is closed
                    break
                if not part:
                    break
                shown += part
            self.assertEqual(process.wait(timeout=60), 0)
        os.close(leader)
        text = self.check_plain(shown.replace(b"\r\x1b[K", b""))
        self.assertIn(r"rope\u001b[2J\u0000", text)

    def test_configuration_file(self):
        path = os.path.join(self.folder, "config.json")
        for config in ({"model_type": "llama" + RAW, "head_dim": 64},
                       {"position_embedding_type": "table" + RAW},
                       {"model_type": "llama", "head_dim": 64,
                        "rope_scaling": {"rope_type": "yarn" + RAW, "factor": 2}}):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(config, file, ensure_ascii=False)
            for command in ("hf-config", "explain"):
                result = subprocess.run([LOCUS, command, "--hf-config", path],
                                        capture_output=True, check=False, timeout=60)
                text = self.check_plain(result.stdout) + self.check_plain(result.stderr)
                self.assertIn(ESCAPED.replace(r"\u000a", " "), text)

    def test_manifest_file(self):
        path = os.path.join(self.folder, "manifest.json")
        with open(MANIFEST, encoding="utf-8") as file:
            manifest = json.load(file)
        manifest["reason"] = "because" + RAW
        with open(path, "w", encoding="utf-8") as file:
            json.dump(manifest, file, ensure_ascii=False)
        self.run_locus(0, "evaluate", "--from", path, "--out", "out", server=False)
        for entry in os.scandir(os.path.join(self.folder, "out")):
            with open(entry.path, "rb") as file:
                self.check_plain(file.read())

    def test_arguments(self):
        for arguments in (("encode", "--scheme", "rope", "--dtype", "\x1b[2J"), ("x\x1b[2J",), ("--x\x1b[2J",),
                          ("encode", "--scheme", "rope", "--input", "\x1b[2J\u202e.npy")):
            self.assertIn(r"\u001b[2J", self.run_locus(2, *arguments, server=False)[1])
        text = self.run_locus(0, "plot", "attention", "--scheme", "rope", "--tokens", "a\u202eb c",
                              "--title", "t\u2067\u009b", "--out", "-", server=False)[0]
        self.assertIn(r"a\u202eb", text)
        path = os.path.join(self.folder, "chart.svg")
        self.run_locus(0, "plot", "attention", "--scheme", "rope", "--tokens", "a\u202eb c",
                       "--out", path, server=False)
        with open(path, "rb") as file:
            self.assertIn(r"a\u202eb", self.check_plain(file.read()))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
