#!/usr/bin/env python3
"""The package passes mypy --strict, and so does a program that uses it."""

import os
import shutil
import subprocess
import tempfile
import unittest

import support
from tools import missing_tool

# Wrong uses that mypy must find, which shows that the types are not all Any.
WRONG = """
import locus
client = locus.connect(5)
client.attend(1, 2, 3, causal="yes")
locus.RetryPolicy(max_attempts="4")
row = client.evaluate(["rope"]).summary.rows[0]
row.mean.upper()
"""
RIGHT = """
import locus
with locus.connect("127.0.0.1:1", timeout=5) as client:
    cos, sin = client.rope(positions=[0, 7], dim=128, base=500_000)
    rows = client.evaluate(["rope", "alibi"], task="text", seeds=3).summary.rows
    best: float = min(row.mean for row in rows)
"""


class TypesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("mypy"):
            missing_tool("mypy is not installed")
        cache = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cache.cleanup)
        cls.cache = cache.name

    def mypy(self, *arguments, cwd=support.PACKAGE):
        return subprocess.run(
            ["mypy", "--strict", "--python-version", "3.9", f"--cache-dir={self.cache}",
             f"--config-file={support.PACKAGE}/pyproject.toml", *arguments],
            cwd=cwd, env={**os.environ, "MYPYPATH": support.PACKAGE}, capture_output=True,
            text=True, check=False)

    def check_text(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return self.mypy(path, cwd=folder)

    def test_the_package_passes(self):
        done = self.mypy("locus")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_program_passes(self):
        done = self.check_text(RIGHT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_wrong_uses_are_found(self):
        found = [line for line in self.check_text(WRONG).stdout.split("\n") if "error:" in line]
        self.assertEqual([int(line.split(":")[1]) for line in found], [3, 4, 5, 7], found)


if __name__ == "__main__":
    unittest.main()
