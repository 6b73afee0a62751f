"""End-to-end tests of `locus completion` and `locus manual`: what bash completes.

    completion_test.py LOCUS
"""

import json
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import unittest

LOCUS = sys.argv[1]


class ManualTest(unittest.TestCase):
    def setUp(self):
        result = subprocess.run([LOCUS, "manual"], capture_output=True, text=True, check=True,
                                timeout=120)
        self.page = result.stdout.replace("\\-", "-")

    def test_switches_have_no_value(self):
        for switch in ("--causal", "--tls", "--markdown", "-h, --help"):
            self.assertIn(f"\\fB{switch}\\fR\n", self.page)

    def test_connection_options_are_described_once(self):
        for option in ("--server", "--timeout", "--token-file", "--tls", "--color"):
            self.assertEqual(self.page.count(f"\\fB{option}\\fR"), 1 + (option == "--timeout"),
                             option)


class CompletionTest(unittest.TestCase):
    """The bash script of `locus completion`, called as bash calls it for a TAB."""

    # Value types of options and arguments, as the manual page prints them.
    FILE_TYPES = {"DIR", "FILE", "JSON", "NPY"}
    OTHER_TYPES = {"CALL", "COMMAND", "FIGURE=GROWTH", "FORMAT", "FROM:TO", "HOST:PORT", "KIND",
                   "LAYOUT", "LIST", "N", "NAME", "OPTION", "SCHEME", "SERVICE", "SHELL", "SIZE",
                   "SLO", "TASK", "TEXT", "THEME", "TIME", "TOPIC", "TYPE", "WHEN", "WORDS", "X"}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_locus(self, *arguments):
        result = subprocess.run([LOCUS, *arguments], capture_output=True, text=True, check=False,
                                timeout=120)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

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

    def test_schemes(self):
        for words in (("encode", "--scheme"), ("attend", "-s"), ("schemes",),
                      ("check", "--scheme", "rope", "--scheme")):
            self.assertEqual(self.complete(*words, "al"), ["alibi"], words)
        names = self.run_locus("schemes", "--json")
        names = [scheme["name"] for scheme in json.loads(names)["schemes"]]
        self.assertEqual(self.complete("encode", "--scheme", ""), names)

    def test_arguments_that_are_schemes_can_be_configurations(self):
        with open(self.path("alpha.json"), "wb"):
            pass
        self.assertEqual(self.complete("encode", "al"), ["alibi", "alpha.json"])
        self.assertEqual(self.complete("check", "rope", "alp"), ["alpha.json"])
        self.assertEqual(self.complete("encode", "q"), [])

    def test_values_that_a_description_lists(self):
        for words, completed in ((("evaluate", "--task", "cop"), ["copy"]),
                                 (("plot", "wave"), ["waveforms"]),
                                 (("plot", "--theme", "d"), ["dark"]),
                                 (("check", "--color", "al"), ["always"]),
                                 (("--color", "ne"), ["never"]),
                                 (("load", "--format", "p"), ["prometheus"]),
                                 (("convert-layout", "--to", "h"), ["half-split"]),
                                 (("completion", ""), ["bash", "zsh", "fish"]),
                                 (("help", "conn"), ["connection"]),
                                 (("health", "--service", "locus.v1.At"),
                                  ["locus.v1.AttentionService"])):
            self.assertEqual(self.complete(*words), completed, words)

    def test_commands_and_arguments_are_both_completed(self):
        self.assertEqual(self.complete("load", "c"), ["compare", "check-properties"])

    def test_value_after_an_equals_sign(self):
        # bash makes three words of --theme=da.
        self.assertEqual(self.complete("plot", "--theme", "=", "da"), ["dark"])
        self.assertEqual(self.complete("plot", "--theme", "="), ["auto", "light", "dark"])

    def test_value_that_is_a_command_name(self):
        self.assertEqual(self.complete("attend", "--tokens", "load", "--causa"), ["--causal"])

    def test_completed_values_are_accepted(self):
        for kind in self.complete("plot", ""):
            words = ["--tokens", "a b"] if kind == "attention" else []
            result = subprocess.run([LOCUS, "plot", kind, *words, "--out", "-"],
                                    capture_output=True, text=True, check=False, timeout=120)
            self.assertNotIn("there is no kind", result.stderr)
        for shell in self.complete("completion", ""):
            self.assertIn("locus", self.run_locus("completion", shell))

    def test_tab_in_an_interactive_shell(self):
        """A real bash, on a terminal, with readline: TAB completes, Enter prints the line."""
        leader, follower = pty.openpty()
        with subprocess.Popen(["bash", "--norc", "-i"],
                              stdin=follower, stdout=follower, stderr=follower, close_fds=True,
                              start_new_session=True,
                              env={**os.environ, "PS1": "> ", "TERM": "dumb"}) as process:
            os.close(follower)
            self.addCleanup(os.close, leader)
            os.write(leader, f"source <({LOCUS} completion bash)\n".encode())
            # Readline completes `locus`, whatever it is.
            os.write(leader, b"locus() { echo \"got:$*\"; }\n")
            os.write(leader, b"locus plot heatm\t--scheme sinu\t--theme da\t--caus\t\n")
            shown = b""
            while b"got:" not in shown.replace(b'echo "got:', b""):
                self.assertTrue(select.select([leader], [], [], 60)[0], shown)
                shown += os.read(leader, 4096)
            os.write(leader, b"exit\n")
            while b"\n" not in shown[shown.rindex(b"got:"):]:
                shown += os.read(leader, 4096)
            self.assertIn(b"got:plot heatmap --scheme sinusoidal --theme dark --causal\r\n", shown)
            process.wait(timeout=60)

    def test_zsh_and_fish_get_the_same_values(self):
        fish = self.run_locus("completion", "fish")
        self.assertRegex(fish, r"(?m)^complete .*\"plot\".* -l theme -x -a 'auto light dark' ")
        self.assertRegex(fish, r"(?m)^complete .*\"plot\".* -f -a 'heatmap similarity ")
        self.assertIn("choices='auto light dark'", self.run_locus("completion", "zsh"))

    def test_every_value_type_is_known(self):
        """A new type must be listed above, and in the completion scripts if it is a file."""
        types = set(re.findall(r" \\fI(\S+?)\\fR", self.run_locus("manual").replace("\\-", "-")))
        self.assertLessEqual(self.FILE_TYPES, types)
        self.assertEqual(types - self.FILE_TYPES - self.OTHER_TYPES, set())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
