#!/usr/bin/env python3
"""Standard error that is blocked, closed or full: it costs log lines, but neither calls nor a
clean exit."""

import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.request

import wire
from daemon import LOCUSD

CALLS = 600
GRACE_SECONDS = 3
EXIT_SECONDS = 30


def free_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


class Server:
    """A locusd with this standard error, on ports that are known without its log."""

    def __init__(self, case, stderr, command=(LOCUSD,)):
        self.grpc_port, self.http_port = free_port(), free_port()
        self.process = subprocess.Popen(
            [*command, f"--listen=127.0.0.1:{self.grpc_port}",
             f"--http=127.0.0.1:{self.http_port}", f"--grace-seconds={GRACE_SECONDS}"],
            stdout=subprocess.DEVNULL, stderr=stderr)
        case.addCleanup(self.process.wait, EXIT_SECONDS)
        case.addCleanup(self.process.kill)
        self.client = wire.Client(self.grpc_port)
        case.addCleanup(self.client.close)

    def call(self, count):
        """Makes calls with the request ids 0, 1, ... one after another. Each must succeed."""
        for number in range(count):
            self.client(wire.LIST_SCHEMES, wire.ListSchemesRequest(), timeout=20,
                        wait_for_ready=True, metadata=[("x-request-id", f"call-{number}")])

    def dropped_lines(self):
        url = f"http://127.0.0.1:{self.http_port}/metrics"
        with urllib.request.urlopen(url, timeout=10) as response:
            for line in response.read().decode().splitlines():
                if line.startswith("locus_log_lines_dropped_total "):
                    return float(line.split()[1])
        raise AssertionError("no such metric")

    def await_dropped_lines(self, count):
        """Waits until at least this number of lines has been dropped."""
        deadline = time.monotonic() + 20
        while self.dropped_lines() < count:
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.dropped_lines()} lines were dropped")

    def stop(self):
        """Sends SIGTERM, and returns the exit code and the seconds until the exit."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(EXIT_SECONDS), time.monotonic() - start


class LogTest(unittest.TestCase):
    def fifo(self):
        """Returns the two ends of a FIFO, for reading and for writing."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "log")
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        writer = os.open(path, os.O_WRONLY)
        os.set_blocking(reader, True)
        return reader, writer

    def server_with_unread_log(self):
        """Returns a server after 600 calls, and the end of its log's FIFO for reading."""
        reader, writer = self.fifo()
        self.addCleanup(os.close, reader)
        server = Server(self, writer)
        server.call(CALLS)
        writable = select.select([], [writer], [], 0)[1]
        os.close(writer)
        self.assertFalse(writable, "the FIFO is not full; increase CALLS")
        return server, reader

    def assert_clean_exit(self, server):
        code, seconds = server.stop()
        self.assertEqual(code, 0)
        self.assertLess(seconds, GRACE_SECONDS)

    def test_unread_log_blocks_neither_calls_nor_the_exit(self):
        server, _ = self.server_with_unread_log()
        self.assertEqual(server.dropped_lines(), 0)
        self.assert_clean_exit(server)

    def test_log_is_complete_and_in_order_if_it_is_read_late(self):
        server, reader = self.server_with_unread_log()
        lines = []

        def read():
            with open(reader, encoding="utf-8", closefd=False) as log:
                lines.extend(log)

        thread = threading.Thread(target=read)
        thread.start()
        self.assert_clean_exit(server)
        thread.join()
        events = [json.loads(line) for line in lines]
        self.assertEqual([e["request_id"] for e in events if e["event"] == "call"],
                         [f"call-{number}" for number in range(CALLS)])
        names = [e["event"] for e in events]
        self.assertEqual((names[0], names[-2:]), ("ready", ["draining", "stopped"]))

    def test_start_does_not_wait_for_a_full_pipe(self):
        reader, writer = self.fifo()
        self.addCleanup(os.close, reader)
        os.set_blocking(writer, False)
        try:
            while True:
                os.write(writer, b"." * 4096)
        except BlockingIOError:
            os.set_blocking(writer, True)
        server = Server(self, writer)
        os.close(writer)
        server.call(1)
        self.assert_clean_exit(server)

    def test_closed_standard_error_is_harmless(self):
        server = Server(self, None, ("sh", "-c", 'exec "$0" "$@" 2>&-', LOCUSD))
        server.call(CALLS)
        self.assert_clean_exit(server)

    def test_full_device_is_harmless_and_lines_are_counted(self):
        with open("/dev/full", "wb") as full:
            server = Server(self, full)
        server.call(CALLS)
        server.await_dropped_lines(CALLS)
        self.assert_clean_exit(server)

    def test_closed_reader_is_harmless_and_lines_are_counted(self):
        reader, writer = self.fifo()
        server = Server(self, writer)
        os.close(writer)
        server.call(1)
        os.close(reader)
        server.call(CALLS)
        server.await_dropped_lines(CALLS)
        self.assert_clean_exit(server)


if __name__ == "__main__":
    unittest.main()
