#!/usr/bin/env python3
"""locusd as a process: flags, startup errors, graceful shutdown, deadlines and cancellation."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import grpc
import numpy as np

import wire
from daemon import LOCUSD, SANITIZED, Daemon

SERVING, NOT_SERVING = 1, 2
# Tokens of a call that is in flight for long enough to be observed on any machine, and short
# enough to wait for: 155 GFLOP, which take one thread with AVX-512 about a second.
LONG_TOKENS = 4096 if SANITIZED else 24576
# Max time that locusd takes to stop, beyond its grace period.
STOP_SECONDS = 20 if SANITIZED else 5


def run(*flags, **environment):
    """Runs locusd until it exits, for flags that make it fail or print text."""
    return subprocess.run([LOCUSD, *flags], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **environment})


class StartTest(unittest.TestCase):
    def assert_usage_error(self, result, *parts):
        """Asserts exit code 2 and one line on standard error that contains these parts."""
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.endswith("\n"))
        for part in parts:
            self.assertIn(part, result.stderr)

    def test_rejects_unknown_flags(self):
        self.assert_usage_error(run("--no-such-flag=1"), "no-such-flag")

    def test_rejects_positional_arguments(self):
        self.assert_usage_error(run("serve"), "serve")

    def test_rejects_flags_without_a_value(self):
        self.assert_usage_error(run("--threads"), "threads")

    def test_rejects_invalid_flag_values(self):
        for flag, value in (("threads", "many"), ("threads", "-1"), ("threads", "1e99"),
                            ("listen", "nowhere"), ("listen", "127.0.0.1:99999"),
                            ("http", "127.0.0.1:http"), ("max-queued-calls", "-5"),
                            ("max-message-bytes", "3 apples"), ("max-message-bytes", "1TiB"),
                            ("memory-budget-bytes", "-1"), ("grace-seconds", "nan"),
                            ("grace-seconds", "-1"), ("log-calls", "perhaps"),
                            ("max-evaluations", "-1"), ("max-evaluations", "1000"),
                            ("max-evaluation-flops", "0"), ("max-evaluation-flops", "nan")):
            with self.subTest(flag=flag, value=value):
                self.assert_usage_error(run(f"--{flag}={value}"), f"--{flag}")

    def test_rejects_invalid_environment_variables(self):
        self.assert_usage_error(run(LOCUS_THREADS="abc"), "LOCUS_THREADS", "abc")
        self.assert_usage_error(run(LOCUS_LISTEN="nowhere"), "nowhere")

    def test_rejects_a_missing_flag_file(self):
        self.assert_usage_error(run("--flagfile=/no/such/file"), "/no/such/file")

    def test_error_names_the_invalid_line_of_a_flag_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".flags") as file:
            file.write("# comment\nthreads=1\nno-such-flag=1\n")
            file.flush()
            self.assert_usage_error(run(f"--flagfile={file.name}"), ":3", "no-such-flag")

    def test_flags_override_the_flag_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".flags") as file:
            file.write("# comment\n--log-calls=false\nlisten=nowhere\n")
            file.flush()
            with Daemon(f"--flagfile={file.name}") as daemon:
                client = wire.Client(daemon.grpc_port)
                client(wire.LIST_SCHEMES, wire.ListSchemesRequest())
                client.close()
                self.assertEqual(daemon.stop(), 0)
                self.assertNotIn("call", [e["event"] for e in daemon.log.events()])

    def test_fails_if_a_port_is_in_use(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            address = f"127.0.0.1:{listener.getsockname()[1]}"
            self.assert_usage_error(run(f"--listen={address}", "--http=127.0.0.1:0"), address)
            self.assert_usage_error(run("--listen=127.0.0.1:0", f"--http={address}"), address)

    def test_fails_if_another_locusd_uses_the_port(self):
        with Daemon() as daemon:
            for flag, port in (("listen", daemon.grpc_port), ("http", daemon.http_port)):
                other = "http" if flag == "listen" else "listen"
                self.assert_usage_error(run(f"--{flag}=127.0.0.1:{port}", f"--{other}=127.0.0.1:0"),
                                    str(port))

    def test_prints_help_and_version(self):
        help_result = run("--help")
        self.assertEqual((help_result.returncode, help_result.stderr), (0, ""))
        for flag in ("--listen", "--http", "--threads", "--flagfile", "--max-evaluations",
                     "--max-evaluation-flops"):
            self.assertIn(flag, help_result.stdout)
        version = run("--version")
        self.assertEqual(version.returncode, 0)
        self.assertRegex(version.stdout, r"\d+\.\d+\.\d+")

    def test_listens_on_loopback_by_default(self):
        self.assertIn("127.0.0.1:50051", run("--help").stdout)


def long_request(tokens=LONG_TOKENS):
    """An Attend request of 18 MiB by default, which computes for about a second or more on one
    thread."""
    tensor = wire.tensor(np.zeros((1, 1, tokens, 64), dtype="f4"))
    request = wire.AttendRequest()
    request.scheme.none.SetInParent()
    for name in ("q", "k", "v"):
        getattr(request.heads, name).CopyFrom(tensor)
    return request


# A client that makes one long call; its argument is the port.
LONG_CALL = """
import sys, wire, process_test
wire.Client(int(sys.argv[1]))(wire.ATTEND, process_test.long_request(), timeout=240)
"""


class InFlight:
    """A daemon that computes one long call, as a context manager."""

    def __init__(self, *flags):
        self.daemon = Daemon("--threads=1", *flags)
        self.client = wire.Client(self.daemon.grpc_port)

    def __enter__(self):
        self.future = self.client.method(wire.ATTEND).future(long_request(), timeout=240)
        # The server observes this metric when a call starts to compute. Each iteration is an HTTP
        # request, so that no pause is needed.
        while self.daemon.metric("locus_queue_seconds_count") < 1 and not self.future.done():
            pass
        return self

    def __exit__(self, *_):
        self.client.close()
        self.daemon.stop()


class StopTest(unittest.TestCase):
    def test_idle_server_exits_with_code_0(self):
        daemon = Daemon()
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(daemon.log.events()[-1]["event"], "stopped")

    def test_interrupt_stops_the_server(self):
        daemon = Daemon()
        daemon.process.send_signal(signal.SIGINT)
        self.assertEqual(daemon.process.wait(60), 0)

    def test_health_watch_does_not_delay_shutdown(self):
        daemon = Daemon()
        client = wire.Client(daemon.grpc_port)
        watch = client.channel.unary_stream(
            wire.HEALTH_WATCH, request_serializer=wire.HealthCheckRequest.SerializeToString,
            response_deserializer=wire.HealthCheckResponse.FromString)
        stream = watch(wire.HealthCheckRequest(), timeout=60)
        self.assertEqual(next(stream).status, SERVING)
        daemon.terminate()
        self.assertEqual(next(stream).status, NOT_SERVING)
        self.assertEqual(daemon.process.wait(60), 0)
        client.close()

    def test_call_in_flight_completes_during_drain(self):
        with InFlight() as running:
            daemon = running.daemon
            daemon.terminate()
            daemon.log.wait_for(lambda e: e["event"] == "draining")
            self.assertEqual(list(running.future.result().output.shape), [1, 1, LONG_TOKENS, 64])
            self.assertEqual(daemon.process.wait(60), 0)
            events = [e["event"] for e in daemon.log.events()]
            self.assertLess(events.index("draining"), events.index("call"),
                            "the call ended before the drain began; increase LONG_TOKENS")
            self.assertEqual(events[-1], "stopped")

    def test_rejects_new_calls_during_drain(self):
        with InFlight() as running:
            daemon, client = running.daemon, running.client
            daemon.terminate()
            daemon.log.wait_for(lambda e: e["event"] == "draining")
            while daemon.http("/readyz")[0] == 200:
                pass
            self.assertEqual(daemon.http("/healthz")[0], 200)
            status = client(wire.HEALTH_CHECK, wire.HealthCheckRequest()).status
            self.assertEqual(status, NOT_SERVING)
            with self.assertRaises(grpc.RpcError) as caught:
                client(wire.LIST_SCHEMES, wire.ListSchemesRequest())
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
            _, details = wire.details_of(caught.exception)
            self.assertEqual(details["ErrorInfo"].reason, "DRAINING")
            self.assertTrue(details["RetryInfo"].retry_delay.seconds > 0)
            self.assertIsNotNone(running.future.result())

    def test_second_signal_ends_a_drain_at_once(self):
        with InFlight() as running:
            running.daemon.terminate()
            running.daemon.log.wait_for(lambda e: e["event"] == "draining")
            running.daemon.terminate()
            self.assertEqual(running.daemon.process.wait(20), -signal.SIGTERM)

    def test_client_that_does_not_read_its_response_does_not_prevent_the_end(self):
        """A stopped client neither reads the response nor closes its connection."""
        with Daemon("--threads=1", "--grace-seconds=1") as daemon:
            client = subprocess.Popen([sys.executable, "-B", "-c", LONG_CALL,
                                       str(daemon.grpc_port)],
                                      cwd=os.path.dirname(os.path.abspath(__file__)))
            try:
                while daemon.metric("locus_queue_seconds_count") < 1 and client.poll() is None:
                    pass
                client.send_signal(signal.SIGSTOP)
                daemon.log.wait_for(lambda e: e["event"] == "call")
                daemon.terminate()
                self.assertEqual(daemon.process.wait(1 + STOP_SECONDS), 0)
                self.assertEqual(daemon.log.other_lines(), [])
            finally:
                client.kill()
                client.wait()

    def test_calls_in_flight_are_cancelled_after_the_grace_period(self):
        with InFlight("--grace-seconds=0") as running:
            running.daemon.terminate()
            self.assertEqual(running.daemon.process.wait(20), 0)
            with self.assertRaises(grpc.RpcError):
                running.future.result()



class StopDuringStartTest(unittest.TestCase):
    FLAGS = ("--listen=127.0.0.1:0", "--http=127.0.0.1:0", "--grace-seconds=2")

    def start(self, *flags):
        """Starts locusd. Popen() returns when the child process has executed the program."""
        process = subprocess.Popen([LOCUSD, *self.FLAGS, *flags], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def events_of(self, process):
        """The events that the process has logged. Fails if a line is not a log event."""
        return [json.loads(line)["event"] for line in process.stderr]

    def test_signal_at_any_moment_of_the_start_stops_the_server(self):
        """The default action of SIGTERM applies until main() has run its first lines, that is while
        the dynamic linker loads locusd; then the process has not written anything. From then on the
        exit code is 0."""
        ends = []
        for milliseconds in (0, 2, 5, 10, 20, 50, 100):
            for _ in range(8):
                process = self.start()
                time.sleep(milliseconds / 1000)
                process.terminate()
                code = process.wait(2 + STOP_SECONDS)
                events = self.events_of(process)
                ends.append((milliseconds, code, events))
                if code == -signal.SIGTERM:
                    self.assertEqual(events, [], ends[-1])
                    continue
                self.assertEqual(code, 0, ends[-1])
                self.assertEqual(events[-2:], ["draining", "stopped"], ends[-1])
        self.assertIn(0, [code for _, code, _ in ends])

    def start_that_hangs(self):
        """Starts a process whose main thread opens a pipe, which blocks until another process opens
        the other end. Waits until the default action of SIGTERM no longer applies."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        pipe = os.path.join(folder.name, "flags")
        os.mkfifo(pipe)
        process = self.start(f"--flagfile={pipe}")
        self.wait_for(lambda: self.has_sigterm(process, "SigBlk"))
        return process

    def wait_for(self, condition):
        end = time.monotonic() + STOP_SECONDS
        while not condition():
            self.assertLess(time.monotonic(), end)

    def has_sigterm(self, process, name):
        """Whether SIGTERM is in a signal mask of the process: SigBlk (blocked by the main thread)
        or ShdPnd (pending)."""
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            mask = next(line.split()[1] for line in status if line.startswith(name + ":"))
        return int(mask, 16) >> (signal.SIGTERM - 1) & 1 == 1

    def test_signal_ends_a_start_that_hangs(self):
        process = self.start_that_hangs()
        process.terminate()
        self.assertEqual(process.wait(STOP_SECONDS), 0)
        self.assertEqual(self.events_of(process), ["stop_timeout"])

    def test_second_signal_ends_a_start_that_hangs_at_once(self):
        process = self.start_that_hangs()
        process.terminate()
        # Equal signals are merged until the first one is received.
        self.wait_for(lambda: not self.has_sigterm(process, "ShdPnd"))
        process.terminate()
        self.assertEqual(process.wait(STOP_SECONDS), -signal.SIGTERM)
        self.assertEqual(self.events_of(process), [])


def seconds_of(action):
    start = time.monotonic()
    action()
    return time.monotonic() - start


class LoadTest(unittest.TestCase):
    def test_deadline_stops_the_computation(self):
        with Daemon("--threads=1") as daemon:
            client = wire.Client(daemon.grpc_port)
            # The server learns the cost of such calls from these, and would otherwise reject the
            # long call at once. The test measures the cost as well, and sets the deadline of the
            # long call to a third of its expected time.
            short = min(seconds_of(lambda: client(wire.ATTEND, long_request(LONG_TOKENS // 6)))
                        for _ in range(16))
            with self.assertRaises(grpc.RpcError) as caught:
                client(wire.ATTEND, long_request(), timeout=short * 6 * 6 / 3)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
            # The last call succeeds only if the server's single thread has become free.
            ended = daemon.log.wait_for(lambda e: e["event"] == "call" and e["code"] != "OK")
            self.assertIn(ended["code"], ("DEADLINE_EXCEEDED", "CANCELLED"))
            client(wire.LIST_SCHEMES, wire.ListSchemesRequest(), timeout=10)
            client.close()

    def test_cancellation_stops_the_computation(self):
        with InFlight() as running:
            running.future.cancel()
            ended = running.daemon.log.wait_for(lambda e: e["event"] == "call")
            self.assertEqual(ended["code"], "CANCELLED")

    def test_health_and_metrics_respond_under_full_load(self):
        with InFlight("--max-queued-calls=0") as running:
            client = running.client
            status = client(wire.HEALTH_CHECK, wire.HealthCheckRequest(), timeout=5).status
            self.assertEqual(status, SERVING)
            self.assertEqual(running.daemon.http("/metrics")[0], 200)
            running.future.cancel()

    def test_rejects_calls_if_the_queue_is_full(self):
        with InFlight("--max-queued-calls=0") as running:
            with self.assertRaises(grpc.RpcError) as caught:
                running.client(wire.ATTEND, long_request(), timeout=30)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
            _, details = wire.details_of(caught.exception)
            self.assertEqual(details["ErrorInfo"].reason, "OVERLOADED")
            self.assertIn("RetryInfo", details)
            running.future.cancel()

    def test_concurrent_clients_get_equal_results(self):
        with Daemon() as daemon:
            responses = []

            def make_calls():
                client = wire.Client(daemon.grpc_port)
                responses.extend(client(wire.ATTEND, long_request(tokens=100)).SerializeToString()
                                 for _ in range(10))
                client.close()

            threads = [threading.Thread(target=make_calls) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(responses, responses[:1] * 80)


if __name__ == "__main__":
    unittest.main()
