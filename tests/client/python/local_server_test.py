#!/usr/bin/env python3
"""connect() without an address: starts a locusd, and never leaves one behind."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import support

import locus
from locus import _programs

DEADLINE_SECONDS = 20
# A program that connects and prints the process group of its server.
CONNECT = """
import os, sys, locus
client = locus.connect()
print(client._connection.local_server.supervisor_pid, flush=True)
"""


def group_exists(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until_gone(group):
    deadline = time.monotonic() + DEADLINE_SECONDS
    while group_exists(group):
        if time.monotonic() > deadline:
            os.killpg(group, signal.SIGKILL)
            raise AssertionError("the local server still runs")
        time.sleep(0.02)


class LocalServerTest(unittest.TestCase):
    def group(self, client):
        return client._connection.local_server.supervisor_pid

    def run_program(self, code):
        """Starts Python with this code after CONNECT. Returns the process and the group."""
        environment = dict(os.environ, PYTHONPATH=support.PACKAGE)
        process = subprocess.Popen([sys.executable, "-B", "-c", CONNECT + code],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True, env=environment)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        return process, int(process.stdout.readline())

    def test_a_with_block_stops_the_server(self):
        with locus.connect() as client:
            group = self.group(client)
            self.assertTrue(group_exists(group))
            self.assertEqual(client.health(), "SERVING")
        self.assertFalse(group_exists(group))

    def test_an_exception_stops_the_server(self):
        with self.assertRaises(KeyError):
            with locus.connect() as client:
                group = self.group(client)
                raise KeyError
        self.assertFalse(group_exists(group))

    def test_collecting_the_client_stops_the_server(self):
        client = locus.connect()
        group = self.group(client)
        del client
        wait_until_gone(group)

    def test_the_exit_of_the_interpreter_stops_the_server(self):
        for code in ("", "raise SystemExit(3)", "1 / 0"):
            with self.subTest(code=code):
                process, group = self.run_program(code + " # " if code else "")
                process.wait(DEADLINE_SECONDS)
                wait_until_gone(group)

    def test_killing_the_process_stops_the_server(self):
        for sent in (signal.SIGKILL, signal.SIGTERM):
            with self.subTest(signal=sent):
                process, group = self.run_program("import time; time.sleep(600)")
                process.send_signal(sent)
                process.wait(DEADLINE_SECONDS)
                wait_until_gone(group)

    def test_a_forked_child_does_not_stop_the_server(self):
        process, group = self.run_program(
            "pid = os.fork()\n"
            "if pid == 0: sys.exit(0)\n"
            "os.waitpid(pid, 0)\n"
            "print(client.health(), flush=True); sys.stdin.read()")
        self.assertEqual(process.stdout.readline(), "SERVING\n")
        process.stdin.close()
        process.wait(DEADLINE_SECONDS)
        wait_until_gone(group)

    def test_flags_reach_the_server(self):
        with locus.connect(server_flags=["--max-heads=2"]) as client:
            with self.assertRaises(locus.ResourceExhausted):
                client.encode("alibi", 4, heads=4)
        with self.assertRaisesRegex(locus.InvalidInput, "server_flags"):
            locus.connect("127.0.0.1:1", server_flags=["--threads=1"])

    def test_settings_of_a_deployment_do_not_apply(self):
        with mock.patch.dict(os.environ, {"LOCUS_AUTH_TOKENS": "/nowhere",
                                          "LOCUS_TLS_CERT": "/nowhere"}):
            with locus.connect() as client:
                self.assertEqual(client.health(), "SERVING")

    def test_a_server_that_does_not_start_is_explained(self):
        with self.assertRaisesRegex(locus.LocalServerError, "did not start: .*no-such-flag"):
            locus.connect(server_flags=["--no-such-flag"])

    def test_a_missing_server_is_explained(self):
        with mock.patch.dict(os.environ, {"PATH": "/nowhere"}):
            os.environ.pop("LOCUSD", None)
            with mock.patch.object(_programs, "_checkout_program", return_value=None):
                with self.assertRaisesRegex(locus.LocalServerError, "locusd was not found"):
                    locus.connect()
            os.environ["LOCUSD"] = "/nowhere/locusd"
            with self.assertRaisesRegex(locus.LocalServerError, "is not a program"):
                locus.connect()

    def test_the_server_is_found_in_the_path(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "locusd")
            with open(path, "w", encoding="ascii") as file:
                file.write("#!/bin/sh\n")
            os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
            with mock.patch.dict(os.environ, {"PATH": folder}):
                os.environ.pop("LOCUSD", None)
                self.assertEqual(_programs.find("locusd"), path)

    def test_credentials_need_an_address(self):
        with self.assertRaisesRegex(locus.InvalidInput, "target: is needed"):
            locus.connect(token="secret")


if __name__ == "__main__":
    unittest.main()
