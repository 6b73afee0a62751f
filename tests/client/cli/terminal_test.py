"""Tests of the command line on a real terminal: tmux.

    terminal_test.py LOCUS

Each test runs one shell command in a tmux session of its own server and reads the screen.
Skipped if tmux is not installed.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

LOCUS = os.path.abspath(sys.argv[1])
COLOR = re.compile(r"\x1b\[[0-9;]*m")


@unittest.skipUnless(shutil.which("tmux"), "tmux is not installed")
class TerminalTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.socket = None

    def tmux(self, *arguments):
        variables = {name: value for name, value in os.environ.items()
                     if name not in ("TMUX", "COLUMNS", "LINES", "NO_COLOR", "COLORTERM")
                     and not name.startswith("LOCUS_")}
        result = subprocess.run(["tmux", "-u", "-f", "/dev/null", "-S", self.socket, *arguments],
                                capture_output=True, text=True, check=True, timeout=60,
                                env={**variables, "LC_ALL": "C.UTF-8"})
        return result.stdout

    def start(self, *arguments, width=80, variables=()):
        """Runs `locus` in a new terminal of 60 lines. The screen ends with the exit code."""
        self.socket = tempfile.mktemp(dir=self.folder)
        command = shlex.join(["env", *variables, LOCUS, *arguments])
        self.tmux("new-session", "-d", "-x", str(width), "-y", "60",
                  f"{command}; code=$?; echo; echo \"exit code $code.\"; exec cat")
        self.addCleanup(self.tmux, "-S", self.socket, "kill-server")

    def screen(self):
        """The lines of the screen with their colours."""
        lines = self.tmux("capture-pane", "-p", "-e").split("\n")
        return "\n".join(line.rstrip() for line in lines).rstrip("\n")

    def wait_for(self, pattern):
        """The screen once it matches the pattern, which ignores colours."""
        deadline = time.monotonic() + 120
        while True:
            screen = self.screen()
            if re.search(pattern, COLOR.sub("", screen)):
                return screen
            self.assertLess(time.monotonic(), deadline, screen)
            time.sleep(0.02)  # tmux cannot report changes of the screen

    def show(self, *arguments, **options):
        """The screen at the end of the command."""
        self.start(*arguments, **options)
        screen = self.wait_for(r"exit code \d+\.")
        return screen[:screen.rindex("exit code")].rstrip("\n")

    def test_terminals_have_color(self):
        screen = self.show("check", "--scheme", "rope")
        self.assertIn("\x1b[32m\u2713", screen)
        self.assertRegex(screen, "\x1b\\[1mpermut")

    def test_no_color_and_color_never_switch_it_off(self):
        for arguments, variables in (((), ("NO_COLOR=1",)), (("--color", "never"), ()),
                                     ((), ("TERM=dumb",))):
            with self.subTest(arguments=arguments, variables=variables):
                screen = self.show("check", "--scheme", "rope", *arguments, variables=variables)
                self.assertIn("\u2713", screen)
                self.assertNotRegex(screen, COLOR)

    def test_empty_no_color_does_not_count(self):
        self.assertRegex(self.show("check", "--scheme", "rope", variables=("NO_COLOR=",)), COLOR)

    def test_attention_map_is_shaded_by_background(self):
        arguments = ("attend", "--scheme", "rope", "--tokens", "the cat sat", "--dim", "16")
        screen = self.show(*arguments)
        self.assertRegex(screen, r"\x1b\[[0-9;]*48;5;\d+m +0\.\d{4} ")
        self.assertNotIn("\u2592", screen)
        screen = self.show(*arguments, variables=("NO_COLOR=1",))
        self.assertRegex(screen, r"0\.\d{4}\u2592")

    def test_tables_have_the_width_of_the_terminal(self):
        for width in (60, 80, 130):
            with self.subTest(width=width):
                piped = subprocess.run([LOCUS, "schemes"], capture_output=True, text=True,
                                       check=True, timeout=60,
                                       env={**os.environ, "COLUMNS": str(width)})
                screen = self.show("schemes", "--color", "never", width=width)
                # If a line were wider, the terminal would have broken it.
                self.assertEqual(screen, piped.stdout.rstrip("\n"))

    def test_errors_are_wrapped_at_words(self):
        screen = self.show("schemes", "alibye")
        self.assertRegex(screen, "\x1b\\[1m\x1b\\[31mlocus:|\x1b\\[1;31mlocus:")
        lines = COLOR.sub("", screen).split("\n")
        self.assertGreater(len(lines), 1)
        piped = subprocess.run([LOCUS, "schemes", "alibye"], capture_output=True, text=True,
                               check=False, timeout=60)
        self.assertEqual(" ".join(line.strip() for line in lines), piped.stderr.strip())

    def test_progress_is_one_line_that_disappears(self):
        self.start("evaluate", "--task", "copy", "--scheme", "rope", "--scheme", "alibi", "--seeds",
                   "1", "--steps", "150", "--no-out")
        bar = r"\[#*\.*\] +\d+%"
        screen = COLOR.sub("", self.wait_for(rf"rope  .*{bar}"))
        self.assertEqual(len(re.findall(bar, screen)), 1)
        self.assertEqual(len(screen.split("\n")), 1)
        screen = COLOR.sub("", self.wait_for(rf"alibi  .*{bar}"))
        self.assertEqual(len(screen.split("\n")), 1)
        screen = COLOR.sub("", self.wait_for(r"exit code \d+\."))
        self.assertNotRegex(screen, bar)
        self.assertRegex(screen, r"(?m)^SCHEME ")
        self.assertRegex(screen, r"(?m)^alibi ")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
