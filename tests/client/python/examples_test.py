#!/usr/bin/env python3
"""The code of README.md, docs/python.md, docs/checking-a-kernel.md and docs/examples runs as
printed, and prints the output that the pages show."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import support

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A page is one program: its snippets continue each other.
PAGES = ("README.md", "docs/python.md", "docs/checking-a-kernel.md")
EXAMPLES = os.path.join(support.ROOT, "docs", "examples")
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]\d+)?")
SEPARATOR = "--- end of block ---"


def blocks_of(page):
    """The Python blocks of a page: (code, printed output or None)."""
    with open(os.path.join(support.ROOT, page), encoding="utf-8") as file:
        found = list(BLOCK.finditer(file.read()))
    blocks = []
    for block, after in zip(found, found[1:] + [None]):
        if block.group(1) != "python":
            continue
        is_output = (after is not None and after.group(1) == "" and
                     not after.group(2).startswith("$") and
                     not after.string[block.end():after.start()].strip())
        blocks.append((block.group(2), after.group(2) if is_output else None))
    return blocks


def is_same(output, expected):
    """Whether two texts agree, apart from the last digits of numbers. Rounding errors differ
    between instruction sets, so that numbers below 1e-4 need only the same magnitude."""
    if NUMBER.sub("#", output) != NUMBER.sub("#", expected):
        return False
    for found, wanted in zip(NUMBER.findall(output), NUMBER.findall(expected)):
        a, b = float(found), float(wanted)
        if abs(a - b) > (1e-3 if abs(b) > 1e-4 else 1.0) * abs(b):
            return False
    return True


def run(arguments, folder):
    environment = dict(os.environ, PYTHONPATH=support.PACKAGE, PYTHONDONTWRITEBYTECODE="1")
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment,
                          capture_output=True, text=True, check=False, timeout=250)


class PagesTest(unittest.TestCase):
    def test_pages_print_the_output_that_they_show(self):
        for page in PAGES:
            blocks = blocks_of(page)
            self.assertTrue(blocks, page)
            program = "".join(f"{code}\nprint({SEPARATOR!r})\n" for code, _ in blocks)
            with tempfile.TemporaryDirectory() as folder:
                done = run(["-c", program], folder)
            self.assertEqual(done.returncode, 0, f"{page}: {done.stderr}")
            printed = done.stdout.split(SEPARATOR + "\n")
            for (code, expected), output in zip(blocks, printed):
                with self.subTest(page=page, code=code[:60]):
                    if expected is not None and not is_same(output, expected):
                        self.assertEqual(output, expected)

    def test_shown_commands_print_the_output_that_they_show(self):
        with open(os.path.join(support.ROOT, "docs/python.md"), encoding="utf-8") as file:
            shown = [block.group(2) for block in BLOCK.finditer(file.read())
                     if block.group(2).startswith("$ ")]
        self.assertTrue(shown)
        for block in shown:
            command, expected = block.split("\n", 1)
            path = re.search(r"docs/examples/\S+", command).group()
            done = run([os.path.join(support.ROOT, path)], support.ROOT)
            self.assertEqual(done.stdout, expected, done.stderr)


class ExamplesTest(unittest.TestCase):
    def example(self, name):
        done = run([os.path.join(EXAMPLES, name)], EXAMPLES)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_every_example_is_tested(self):
        self.assertEqual(sorted(name for name in os.listdir(EXAMPLES) if name.endswith(".py")),
                         ["check_my_kernel.py", "interleaved_weights.py", "rope_scaling.py"])

    def test_check_my_kernel_finds_the_wrong_layout(self):
        output = self.example("check_my_kernel.py")
        self.assertIn("numpy_kernel: correct", output)
        self.assertIn("agrees with the RoPE layout HALF_SPLIT", output)
        self.assertIn("rope_kernel with layout=half_split: correct", output)

    def test_rope_scaling_compares_scalings(self):
        lines = {line.split()[0]: line.split() for line in
                 self.example("rope_scaling.py").splitlines()}
        self.assertEqual(lines["none"][1:], ["18", "of", "64", "100%"])
        self.assertEqual(lines["yarn"][1:], ["0", "of", "64", "100%"])

    def test_interleaved_weights_are_repaired_by_conversion(self):
        rows = [line.split() for line in self.example("interleaved_weights.py").splitlines()[1:]]
        self.assertEqual([float(row[1]) > 0.01 for row in rows], [False, True, True, True, True])
        self.assertTrue(all(float(row[2]) < 1e-5 for row in rows))


if __name__ == "__main__":
    unittest.main()
