"""End-to-end tests of `locus load` against a real locusd.

    load_cli_test.py LOCUS LOCUSD EMPTY_SERVER
"""

import contextlib
import csv
import io
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TESTS / "e2e"))
from tools import needs  # noqa: E402 (found through the line above)

LOCUS, LOCUSD, EMPTY = sys.argv[1:4]
SHORT = ("--duration", "300ms", "--warm-up", "0", "--quiet")


def run(*arguments, **options):
    options.setdefault("timeout", 120)
    return subprocess.run([LOCUS, "load", *arguments], capture_output=True, text=True, check=False,
                          **options)


def sockets_to(port):
    """The number of established connections to a local port."""
    count = 0
    # gRPC uses IPv6 sockets even for IPv4 addresses.
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(FileNotFoundError), open(name, encoding="ascii") as file:
            for line in file.readlines()[1:]:
                fields = line.split()
                count += fields[2].endswith(f":{port:04X}") and fields[3] == "01"
    return count


class LoadTest(unittest.TestCase):
    """Base class: one locusd for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.daemon, cls.server = cls.start()

    @classmethod
    def tearDownClass(cls):
        cls.stop(cls.daemon)

    @staticmethod
    def start():
        with tempfile.NamedTemporaryFile("w+", suffix=".log") as log:
            # A pipe would fill up, because nothing reads it while calls are logged.
            daemon = subprocess.Popen([LOCUSD, "--listen=127.0.0.1:0", "--http="], stderr=log,
                                      stdout=subprocess.DEVNULL)
            end = time.monotonic() + 60
            while daemon.poll() is None and time.monotonic() < end:
                with open(log.name, encoding="utf-8") as written:
                    found = re.search(r"grpc_port\W+(\d+)", written.read())
                if found:
                    return daemon, f"127.0.0.1:{found.group(1)}"
                select.select([], [], [], 0.01)
            daemon.kill()
            raise AssertionError("the server did not log its port")

    @staticmethod
    def stop(daemon):
        daemon.terminate()
        daemon.wait(timeout=60)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def ok(self, *arguments):
        result = run("--server", self.server, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def document(self, *arguments):
        return json.loads(self.ok(*SHORT, "--json", *arguments))

    def fails(self, code, pattern, *arguments):
        result = run(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertRegex(result.stderr, pattern)
        return result

    @contextlib.contextmanager
    def empty_server(self):
        with subprocess.Popen([EMPTY], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as process:
            try:
                yield int(process.stdout.readline())
            finally:
                process.stdin.close()
                process.wait(timeout=60)


class CallsTest(LoadTest):
    def test_every_unary_call(self):
        for rpc, method, rate in (("list-schemes", "EncodingService/ListSchemes", 50),
                                  ("encode", "EncodingService/Encode", 50),
                                  ("attend", "AttentionService/Attend", 50),
                                  ("check-properties", "EvaluationService/CheckProperties", 4)):
            flags = ("--scheme", "rope") if rpc == "check-properties" else ()
            document = self.document(rpc, "--rate", str(rate), *flags)
            self.assertEqual(document["setup"]["method"], "/locus.v1." + method)
            self.assertEqual(document["statuses"], {"OK": -(-rate * 3 // 10)}, rpc)
            # The server reported its compute time for each call.
            self.assertEqual(document["compute_us"]["count"], document["calls"]["ok"])
            self.assertGreaterEqual(document["latency_us"]["p50"], document["compute_us"]["p50"])

    def test_health_check(self):
        document = self.document("health", "--rate", "50")
        self.assertEqual(document["setup"]["method"], "/grpc.health.v1.Health/Check")
        self.assertEqual(document["statuses"], {"OK": 15})

    def test_payload_sets_the_request_size(self):
        document = self.document("attend", "--payload", "300kB", "--rate", "10")
        self.assertAlmostEqual(document["setup"]["request_bytes"], 300000, delta=5000)
        self.assertEqual(document["calls"]["ok"], 3)

    def test_every_scheme_takes_a_payload(self):
        listed = subprocess.run([LOCUS, "schemes", "--json"], capture_output=True, text=True,
                                check=True)
        for scheme in json.loads(listed.stdout)["schemes"]:
            document = self.document("encode", "--scheme", scheme["name"], "--payload", "64KiB",
                                     "--rate", "10")
            self.assertAlmostEqual(document["setup"]["request_bytes"], 65536, delta=100)
            self.assertEqual(document["statuses"], {"OK": 3}, scheme["name"])

    def test_load_profiles(self):
        with open(self.path("starts"), "w", encoding="utf-8") as file:
            file.write("".join(f"{i * 7}ms\n" for i in range(40)))
        for flags, calls in ((("--rate", "100"), 30), (("--ramp", "0:200"), 30),
                             (("--steps", "50,100,150"), 30)):
            self.assertEqual(self.document(*flags)["calls"]["ok"], calls, flags)
        document = json.loads(self.ok("--json", "-q", "--replay", self.path("starts")))
        self.assertEqual(document["calls"]["ok"], 40)
        random = self.document("--rate", "500", "--poisson")["calls"]["ok"]
        self.assertTrue(80 < random < 230, random)
        self.assertGreater(self.document("--concurrency", "2")["calls"]["ok"], 2)

    def test_embedded_server_without_address(self):
        result = run(*SHORT, "--rate", "50", "--connections", "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("on a server in this process", result.stdout)
        self.assertIn("15 OK", result.stdout)

    def test_each_connection_is_a_socket(self):
        with self.empty_server() as port:
            process = subprocess.Popen(
                [LOCUS, "load", "list-schemes", "--server", f"127.0.0.1:{port}", "--connections",
                 "9", "--rate", "200", "--warm-up", "0", "--duration", "3s"],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            # The first progress line shows that calls are in flight.
            process.stderr.readline()
            connections = sockets_to(port)
            process.communicate(timeout=60)
        self.assertEqual((process.returncode, connections), (0, 9))

    def test_server_times_are_optional(self):
        with self.empty_server() as port:
            result = run("list-schemes", "--server", f"127.0.0.1:{port}", *SHORT, "--rate", "100")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("compute", result.stdout)


class OutputTest(LoadTest):
    def test_text_report(self):
        text = self.ok(*SHORT, "--rate", "100")
        self.assertIn("/locus.v1.EncodingService/Encode on " + self.server, text)
        self.assertIn("100/s constant for 0.3s, 1 connection, requests of ", text)
        self.assertRegex(text, r"(?m)^ +CALLS +MEAN +P50 +P75 +P90 +P95 +P99 +P99.9 +P99.99 +MAX$")
        for name in ("latency", "service", "- queue", "- compute", "sent late"):
            self.assertRegex(text, rf"(?m)^{name} +30 ")
        self.assertRegex(text, r"(?m)^calls +30 OK$")
        self.assertRegex(text, r"(?m)^client +[\d.]+us of processor time per call; busiest thread")

    def test_file_extension_selects_the_format(self):
        names = ("run.json", "run.csv", "run.prom", "run.txt")
        flags = [part for name in names for part in ("-o", self.path(name))]
        shown = self.ok(*SHORT, "--rate", "100", *flags)
        texts = {}
        for name in names:
            with open(self.path(name), encoding="utf-8") as file:
                texts[name] = file.read()
        self.assertEqual(texts["run.txt"], shown)
        self.assertEqual(json.loads(texts["run.json"])["calls"]["ok"], 30)
        rows = list(csv.DictReader(io.StringIO(texts["run.csv"])))
        self.assertEqual((rows[-1]["span"], rows[-1]["ok"]), ("all", "30"))
        self.assertIn('locus_load_calls_total{method="/locus.v1.EncodingService/Encode",'
                      'code="OK"} 30\n', texts["run.prom"])

    @needs("promtool")
    def test_promtool_accepts_the_metrics(self):
        text = self.ok(*SHORT, "--rate", "100", "--format", "prometheus")
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                                 capture_output=True, timeout=60, check=False)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))

    def test_progress_without_a_terminal_is_one_line_per_second(self):
        result = run("--server", self.server, "--rate", "50", "--warm-up", "1s", "--duration", "1s")
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 2, result.stderr)
        self.assertRegex(lines[0], r"^1s \(warm-up\)  \d+/s  0 failed  \d+ in flight  p50 ")
        self.assertRegex(lines[1], r"^2s  \d+/s  0 failed")

    def test_progress_on_a_terminal_is_one_line_that_is_erased(self):
        leader, follower = pty.openpty()
        with subprocess.Popen([LOCUS, "load", "--server", self.server, "--rate", "50",
                               "--warm-up", "0", "--duration", "2s"], stderr=follower,
                              stdout=subprocess.PIPE) as process:
            os.close(follower)
            shown = b""
            while select.select([leader], [], [], 60)[0]:
                try:
                    part = os.read(leader, 4096)
                except OSError:  # the other end is closed
                    break
                if not part:
                    break
                shown += part
            process.communicate(timeout=60)
        os.close(leader)
        self.assertIn(b"/s  0 failed", shown)
        self.assertNotIn(b"\n", shown)
        self.assertTrue(shown.endswith(b"\r\x1b[K"))

    def saved(self, name, *arguments):
        self.ok(*SHORT, "-o", self.path(name), *arguments)
        return self.path(name)

    def test_comparison(self):
        small = self.saved("small.json", "--rate", "200")
        same = run("compare", small, small, "--fail-above", "p99=0%")
        self.assertEqual((same.returncode, same.stderr), (0, ""))
        self.assertRegex(same.stdout, r"(?m)^p99 +\S+ +\S+ +\+0.0% +same$")
        large = self.saved("large.json", "attend", "--length", "512", "--rate", "100")
        worse = self.fails(1, r"^locus: compute p50 is \S+% worse, above 100%\n$",
                           "compare", small, large, "--fail-above", "compute p50=100%")
        self.assertRegex(worse.stdout, r"(?m)^compute p50 .* WORSE$")
        self.assertIn("the runs differ in method", worse.stdout)
        self.fails(2, "small.txt: is not a", "compare", small, self.saved("small.txt"))
        self.fails(2, "cannot read", "compare", small, "/nonexistent.json")
        self.fails(2, "p98=1%", "compare", small, small, "--fail-above", "p98=1%")

    def test_unwritable_file_is_reported_before_the_run(self):
        start = time.monotonic()
        for path in (self.path("absent/run.json"), "/proc/run.json"):
            result = self.fails(1, "cannot write " + path, "--server", self.server, "--duration",
                                "60s", "-o", path)
            self.assertEqual(result.stdout, "")
        self.assertLess(time.monotonic() - start, 30)
        self.assertEqual(os.listdir(self.folder), [])

    def test_report_is_printed_even_if_the_file_cannot_be_written(self):
        # /dev/full can be opened, but every write to it fails.
        result = self.fails(1, "cannot write .*No space left", "--server", self.server, *SHORT,
                            "-o", self.full())
        self.assertIn("Encode on " + self.server, result.stdout)

    def full(self):
        path = self.path("full.txt")
        os.symlink("/dev/full", path)
        return path


class SloTest(LoadTest):
    def test_met_slos(self):
        self.ok(*SHORT, "--rate", "50", "--fail-above", "p99=60s", "--fail-above", "errors=0")

    def test_missed_slo_exits_with_1(self):
        result = self.fails(1, r"\Alocus: p50 is \S+, above 1.00us\n\Z", "--server", self.server,
                            *SHORT, "--rate", "50", "--fail-above", "p50=1us")
        self.assertIn("15 OK", result.stdout)

    def test_search_stops_at_max_rate(self):
        document = self.document("--slo", "p99=10s", "--rate", "20", "--max-rate", "80")
        self.assertEqual(document["search"]["best_rate"], 80)
        self.assertTrue(document["search"]["reached_max"])
        self.assertEqual([trial["rate"] for trial in document["search"]["trials"]], [20, 40, 80])
        self.assertEqual(document["setup"]["offered_rate"], 80)

    def test_search_finds_the_highest_rate(self):
        # Attention of this size is slow, so the highest rate is low.
        text = self.ok(*SHORT, "attend", "--length", "1024", "--slo", "p90=300ms", "--rate", "50",
                       "--max-rate", "100000")
        found = re.search(r"Highest rate that holds p90=300ms, errors=0.1%: (\S+)/s\n", text)
        self.assertTrue(found, text)
        self.assertLess(float(found.group(1)), 50000)
        self.assertRegex(text, r"(?m)^\S+/s +\S+/s +no +")

    def test_search_without_a_rate_that_meets_the_slo(self):
        result = self.fails(1, "no rate holds p50=1us, errors=0.1%", "--server", self.server,
                            "--slo", "p50=1us", "--duration", "100ms", "--warm-up", "0", "-q")
        self.assertIn("No rate holds p50=1us", result.stdout)


class FailureTest(LoadTest):
    def test_invalid_flags_are_rejected(self):
        for pattern, arguments in (("there is no call \"encoed\"; did you mean|did you mean encode",
                                    ("encoed",)),
                                   ("--rate", ("--rate", "many")),
                                   ("give one of", ("--rate", "5", "--concurrency", "1")),
                                   ("--fail-above.*p99=5ms", ("--fail-above", "p99")),
                                   ("--out", ("-o", "run.xml")),
                                   ("--format", ("--format", "yaml")),
                                   ("--connections", ("--connections", "0")),
                                   ("unknown flag --pois", ("--pois",))):
            result = self.fails(2, pattern, *arguments)
            self.assertEqual(result.stdout, "")
            self.assertEqual(len(result.stderr.splitlines()), 1)

    def test_unreachable_server_is_reported(self):
        self.fails(1, "cannot reach 127.0.0.1:1: Connection refused", "--server", "127.0.0.1:1")

    def test_invalid_request_is_reported_once(self):
        result = self.fails(2, r"\Alocus: --scheme: [^\n]*is 3[^\n]*\n\Z", "--server",
                            self.server, "--dim", "3")
        self.assertEqual(result.stdout, "")

    def interrupted(self, *arguments):
        process = subprocess.Popen([LOCUS, "load", "--server", self.server, "--rate", "100",
                                    "--duration", "10m", "--warm-up", "0", *arguments],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
        return process.returncode, out, error

    def test_interrupt_prints_the_report_so_far(self):
        code, out, error = self.interrupted()
        self.assertEqual(code, 130)
        self.assertTrue(error.endswith("locus: interrupted\n"), error)
        self.assertTrue(out.startswith("INTERRUPTED. Results so far:\n"), out)
        calls = int(re.search(r"(?m)^calls +(\d+) OK$", out).group(1))
        self.assertGreater(calls, 50)

    def test_interrupted_json_is_json(self):
        code, out, _ = self.interrupted("--json")
        self.assertEqual(code, 130)
        self.assertTrue(json.loads(out)["interrupted"])

    def test_calls_to_a_stopped_server_are_counted(self):
        daemon, address = self.start()
        process = subprocess.Popen([LOCUS, "load", "--server", address, "--rate", "100",
                                    "--duration", "3s", "--warm-up", "0"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stderr.readline()
        self.stop(daemon)
        out, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertRegex(out, r"(?m)^calls +\d+ OK, .*\d+ UNAVAILABLE")
        self.assertRegex(error, r"locus: \d+ calls failed")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
