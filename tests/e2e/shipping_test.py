#!/usr/bin/env python3
"""Version output, shell completion, manual pages and systemd integration of both programs."""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

import wire
from daemon import LOCUSD, Daemon

LOCUS = os.environ.get("LOCUS", "locus")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def declared_flags(help_text):
    """The flags that a help text declares, without those that its descriptions mention."""
    names = re.findall(r"^\s+((?:-\w, ?)?--[a-z][a-z-]*(?:, --[a-z][a-z-]*)*)", help_text, re.M)
    return {flag for name in names for flag in re.findall(r"--[a-z][a-z-]*", name)}


def flags_of(path):
    """The flags of a command of locus. Help texts refer to the connection flags as a whole."""
    text = output(LOCUS, *path, "--help")
    flags = declared_flags(text.split("\nOptions:\n")[1])
    if "\nConnection: " in text:
        flags |= declared_flags(output(LOCUS, "help", "connection").split("\nConnection:\n")[1])
    return flags


def commands(path=()):
    """The paths of all commands and subcommands of locus, according to its help texts."""
    listed = output(LOCUS, *path, "--help").split("\nCommands:\n")
    yield path
    if len(listed) > 1:
        for name in re.findall(r"^  (\S+) ", listed[1].split("\n\n")[0], re.M):
            yield from commands((*path, name))


class VersionTest(unittest.TestCase):
    def test_both_programs_report_version_commit_and_build(self):
        with open(os.path.join(wire.ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
            version = re.search(r"project\(locus VERSION (\S+)", file.read()).group(1)
        for line in (output(LOCUSD, "--version"), output(LOCUS, "--version"),
                     output(LOCUS, "version")):
            self.assertRegex(line, rf"^locusd? {re.escape(version)} "
                                   r"\(commit (unknown|[0-9a-f]{7,40}(-dirty)?); [^;]+\)\n$")
        document = json.loads(output(LOCUS, "version", "--json"))
        self.assertEqual(list(document), ["version", "commit", "build"])
        with Daemon() as daemon:
            ready = daemon.log.wait_for(lambda e: e["event"] == "ready")
            self.assertIn(f"commit {ready['commit']};", output(LOCUSD, "--version"))

    def test_version_reports_the_commit_of_the_sources(self):
        described = subprocess.run(
            ["git", "-C", wire.ROOT, "describe", "--always", "--abbrev=12", "--exclude=*"],
            capture_output=True, text=True, check=False)
        if not os.path.exists(os.path.join(wire.ROOT, ".git")) or described.returncode != 0:
            return  # The sources are not a git checkout.
        commit = json.loads(output(LOCUS, "version", "--json"))["commit"]
        self.assertEqual(commit.removesuffix("-dirty"), described.stdout.strip())


class BashCompletionTest(unittest.TestCase):
    def complete(self, script, function, *words):
        """The completions that bash offers for the last word."""
        quoted = " ".join(f"'{word}'" for word in words)
        done = subprocess.run(
            ["bash", "--norc", "-c",
             "compopt() { :; }\n" + script +
             f"\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; {function}\n"
             "printf '%s\\n' \"${COMPREPLY[@]}\""],
            capture_output=True, text=True, timeout=30, check=True)
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split())

    def test_locus_completes_every_command_and_flag(self):
        script = output(LOCUS, "completion", "bash")
        seen = 0
        for path in commands():
            offered = self.complete(script, "_locus", "locus", *path, "--")
            self.assertEqual(offered, flags_of(path), path)
            seen += len(offered)
        self.assertGreater(seen, 100)
        self.assertEqual(self.complete(script, "_locus", "locus", "hea"), {"health"})
        # The value of a flag is not completed as a command.
        offered = self.complete(script, "_locus", "locus", "encode", "--scheme", "")
        self.assertIn("rope", offered)
        self.assertNotIn("health", offered)
        self.assertEqual(self.complete(script, "_locus", "locus", "encode", "--dim", ""), set())
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "authority.pem")
            open(path, "w", encoding="ascii").close()
            offered = self.complete(script, "_locus", "locus", "health", "--ca", path[:-4])
            self.assertEqual(offered, {path})

    def test_locusd_completes_every_flag(self):
        offered = self.complete(output(LOCUSD, "--completion=bash"), "_locusd", "locusd", "--")
        expected = declared_flags(output(LOCUSD, "--help"))
        self.assertEqual({flag.rstrip("=") for flag in offered},
                         expected - {"--help", "--version", "--completion", "--manual"})

    def test_rejects_unknown_shells(self):
        for command in ((LOCUS, "completion", "tcsh"), (LOCUSD, "--completion=tcsh")):
            done = subprocess.run(command, capture_output=True, check=False)
            self.assertEqual(done.returncode, 2)

    def test_zsh_and_fish_scripts_contain_every_flag(self):
        for shell in ("zsh", "fish"):
            script = output(LOCUS, "completion", shell)
            for path in commands():
                self.assert_offers(shell, script, flags_of(path))
            script = output(LOCUSD, f"--completion={shell}")
            self.assert_offers(shell, script, declared_flags(output(LOCUSD, "--help")) -
                               {"--help", "--version", "--completion", "--manual"})

    def assert_offers(self, shell, script, flags):
        for flag in flags:
            self.assertIn(flag if shell == "zsh" else f"-l {flag[2:]} ", script)
        if shutil.which(shell):
            subprocess.run([shell, "-n"], input=script, text=True, check=True)


class ManualTest(unittest.TestCase):
    def check(self, page, flags):
        """Checks that a page describes these flags, uses only known macros, and that groff, if it
        is installed, formats it without warnings."""
        text = page.replace("\\-", "-")
        for flag in flags:
            self.assertRegex(text, rf"(?m)^\\fB.*{flag}\b")
        for line in page.splitlines():
            if line.startswith("."):
                self.assertRegex(line, r"^\.(TH|SH|SS|TP|PP|nf|fi)\b")
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8"], input=page, text=True,
                                  capture_output=True, check=True)
            self.assertEqual(done.stderr, "")

    def test_locus_manual_describes_every_command_and_flag(self):
        page = output(LOCUS, "manual")
        for path in commands():
            if path:
                self.assertIn(f".SS locus {' '.join(path)}\n", page.replace("\\-", "-"))
            self.check(page, flags_of(path))

    def test_locusd_manual_describes_every_flag(self):
        flags = declared_flags(output(LOCUSD, "--help"))
        self.check(output(LOCUSD, "--manual"),
                   flags - {"--help", "--version", "--completion", "--manual"})


class SystemdTest(unittest.TestCase):
    def test_notifies_systemd_of_start_and_stop(self):
        with tempfile.TemporaryDirectory() as folder, \
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
            for name in (os.path.join(folder, "notify"), f"\0locus-{os.getpid()}"):
                receiver.close()
                receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                receiver.bind(name)
                receiver.settimeout(30)
                os.environ["NOTIFY_SOCKET"] = name.replace("\0", "@")
                self.addCleanup(os.environ.pop, "NOTIFY_SOCKET", None)
                with Daemon() as daemon:
                    self.assertEqual(receiver.recv(1000), b"READY=1")
                    daemon.terminate()
                    self.assertIn(b"STOPPING=1\n", receiver.recv(1000))
                    self.assertEqual(daemon.process.wait(60), 0)
            receiver.close()

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
    def test_unit_is_valid_and_hardened(self):
        unit = os.path.join(wire.ROOT, "deploy", "debian", "locusd.service")
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "locusd.service")
            with open(unit, encoding="utf-8") as file, open(copy, "w", encoding="utf-8") as out:
                out.write(file.read().replace("/usr/bin/locusd", os.path.abspath(LOCUSD)))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy],
                                  capture_output=True, text=True, check=False)
            self.assertNotIn("locusd.service:", done.stderr)
            done = subprocess.run(["systemd-analyze", "security", "--offline=true",
                                   "--threshold=20", copy],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout[-400:] + done.stderr)

    def test_environment_file_contains_only_existing_flags(self):
        flags = output(LOCUSD, "--help")
        path = os.path.join(wire.ROOT, "deploy", "debian", "locusd.default")
        with open(path, encoding="utf-8") as file:
            names = re.findall(r"^#?LOCUS_([A-Z_]+)=", file.read(), re.M)
        self.assertGreater(len(names), 3)
        for name in names:
            self.assertIn(f"--{name.lower().replace('_', '-')} ", flags)


if __name__ == "__main__":
    unittest.main(verbosity=2)
