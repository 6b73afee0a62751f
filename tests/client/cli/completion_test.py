"""End-to-end tests of `locus completion`: the completions that bash gets.

    completion_test.py LOCUS
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

LOCUS = sys.argv[1]


class CompletionTest(unittest.TestCase):
    """The bash script of `locus completion`, called as bash calls it for a TAB."""

    # Value types of options and arguments, as the manual page prints them.
    FILE_TYPES = {"DIR", "FILE", "JSON", "NPY"}
    OTHER_TYPES = {"CALL", "COMMAND", "FIGURE=GROWTH", "FORMAT", "FROM:TO", "HOST:PORT", "KIND",
                   "LAYOUT", "LIST", "N", "NAME", "OPTION", "SCHEME", "SHELL", "SIZE", "SLO",
                   "TASK", "TEXT", "THEME", "TIME", "TYPE", "WORDS", "X"}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def complete(self, *words):
        """The completions of the last word, in a folder that contains q.npy and layer0/."""
        os.makedirs(self.path("layer0"), exist_ok=True)
        with open(self.path("q.npy"), "wb"):
            pass
        # compopt only works while bash completes a command line.
        program = """compopt() { :; }
                     source <("$1" completion bash)
                     shift
                     COMP_WORDS=(locus "$@")
                     COMP_CWORD=$#
                     _locus
                     printf '%s ' "${COMPREPLY[@]}"
                  """
        result = subprocess.run(["bash", "-c", program, "bash", LOCUS, *words], cwd=self.folder,
                                capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.split()

    def test_commands_and_flags(self):
        self.assertEqual(self.complete("conv"), ["convert-layout"])
        self.assertEqual(self.complete("load", "comp"), ["compare"])
        self.assertEqual(self.complete("attend", "--weights"), ["--weights-from", "--weights-out"])

    def test_boolean_flags_take_no_value(self):
        self.assertEqual(self.complete("attend", "--causal", "--bott"), ["--bottom-right"])

    def test_flags_that_take_files_complete_file_names(self):
        for words in (("attend", "--q"), ("attend", "--mask"), ("attend", "--output"),
                      ("encode", "-i"), ("encode", "--hf-config"), ("evaluate", "--corpus"),
                      ("plot", "--out"), ("load", "-o"), ("schemes", "--ca"), ("--hf-config",)):
            self.assertEqual(self.complete(*words, "q"), ["q.npy"], words)
        for words in (("attend", "--weights-from"), ("evaluate", "--out"), ("evaluate", "-o")):
            self.assertEqual(self.complete(*words, "lay"), ["layer0"], words)

    def test_arguments_that_are_files_complete_file_names(self):
        for words in (("convert-layout",), ("load", "compare"), ("load", "compare", "q.npy")):
            self.assertEqual(self.complete(*words, "q"), ["q.npy"], words)

    def test_other_values_do_not_complete_file_names(self):
        for words in (("encode", "--dim"), ("attend", "--tokens"), ("plot", "--theme")):
            self.assertEqual(self.complete(*words, "q"), [], words)

    def test_every_value_type_is_known(self):
        """A new type must be listed above, and in the completion scripts if it is a file."""
        result = subprocess.run([LOCUS, "manual"], capture_output=True, text=True, check=False,
                                timeout=120)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        types = set(re.findall(r" \\fI(\S+?)\\fR", result.stdout.replace("\\-", "-")))
        self.assertLessEqual(self.FILE_TYPES, types)
        self.assertEqual(types - self.FILE_TYPES - self.OTHER_TYPES, set())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
