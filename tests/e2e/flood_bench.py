#!/usr/bin/env python3
"""Measures a server during and after floods of HTTP/2 frames (see floods.py).

    LOCUSD=build/release/locusd tests/e2e/flood_bench.py [OPTIONS] [FLOOD...]

Every flood runs against a server of its own, on loopback, for at most 10 seconds. Meanwhile other
connections call the health service and Encode and get /healthz 20 times per second. A call that
fails counts with its timeout of 2 seconds. The CPU time after a flood is that of the 5 seconds
after its end.

With --address, the floods run against a server that is already running on loopback; then --http
and --pid are needed for the figures that depend on them.
"""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from concurrent import futures

import grpc

import wire
from daemon import Daemon
from floods import FLOODS, MAX_SECONDS
from haproxy import PublicFace

HERE = pathlib.Path(__file__).resolve().parent
PROBE_TIMEOUT = 2.0
PROBE_INTERVAL = 0.05
AFTER_SECONDS = 5
# A flood is ended when the server exceeds this, to protect the machine.
MAX_RSS_BYTES = 6 << 30


class Target:
    """The server under test: its addresses, and its process if that is known."""

    def __init__(self, address, http_port=None, pid=None, ca=None):
        self.address, self.http_port, self.pid, self.ca = address, http_port, pid, ca

    def _status(self, name):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            return int(next(line for line in status if line.startswith(name + ":")).split()[1])

    def rss(self):
        return self._status("VmRSS") * 1024 if self.alive() else 0

    def threads(self):
        return self._status("Threads") if self.alive() else 0

    def cpu_seconds(self):
        if not self.alive():
            return 0.0
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def alive(self):
        try:
            with open(f"/proc/{self.pid}/stat", encoding="ascii") as stat:
                return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False

    def channel(self):
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.initial_reconnect_backoff_ms", 50),
                   ("grpc.min_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 50)]
        if not self.ca:
            return grpc.insecure_channel(self.address, options)
        with open(self.ca, "rb") as file:
            credentials = grpc.ssl_channel_credentials(file.read())
        return grpc.secure_channel(self.address, credentials, options)


class LoggedDaemon(Daemon):
    """A locusd that logs to a file. A pipe would keep this process busy during a flood."""

    def __init__(self, folder, *flags):  # pylint: disable=super-init-not-called
        self.log_path = os.path.join(folder, "locusd.log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [os.environ.get("LOCUSD", "locusd"), "--listen=127.0.0.1:0", "--http=127.0.0.1:0",
                 *flags], stderr=log, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while not (ready := self._ready()):
            if time.monotonic() > end or not self.alive():
                self.process.kill()
                raise AssertionError(f"locusd did not start; see {self.log_path}")
            time.sleep(0.02)
        self.grpc_port, self.http_port = ready["grpc_port"], ready["http_port"]

    def _ready(self):
        with open(self.log_path, encoding="utf-8") as log:
            for line in log:
                if '"event":"ready"' in line and line.endswith("\n"):
                    return json.loads(line)
        return None


def small_encode():
    request = wire.EncodeRequest(dim=8)
    request.scheme.rope.SetInParent()
    request.positions.range.count = 4
    return request.SerializeToString()


class Probe:
    """Calls a server while it is entered as a context manager, at fixed intervals whether or not
    earlier calls have ended, and samples the process."""

    def __init__(self, target):
        self.target = target
        self.latencies = {"health": [], "encode": [], "healthz": []}
        self.failures = {name: 0 for name in self.latencies}
        self.rss, self.threads = [], []
        self.exceeded = threading.Event()
        self._end = threading.Event()
        self._channels = []
        self._pool = futures.ThreadPoolExecutor(64)

    def __enter__(self):
        actions = {"health": self._unary(wire.HEALTH_CHECK, b""),
                   "encode": self._unary(wire.ENCODE, small_encode())}
        if self.target.http_port:
            actions["healthz"] = lambda: self._pool.submit(self._healthz)
        self._threads = [threading.Thread(target=self._repeat, args=item)
                         for item in actions.items()]
        if self.target.pid:
            self._threads.append(threading.Thread(target=self._sample))
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        for thread in self._threads:
            thread.join()
        for channel in self._channels:
            channel.close()
        self._pool.shutdown()

    def _unary(self, path, request):
        channel = self.target.channel()
        self._channels.append(channel)
        method = channel.unary_unary(path)
        method(request, timeout=10)  # connects before the flood begins
        return lambda: method.future(request, timeout=PROBE_TIMEOUT)

    def _healthz(self):
        url = f"http://127.0.0.1:{self.target.http_port}/healthz"
        with urllib.request.urlopen(url, timeout=PROBE_TIMEOUT) as response:
            response.read()

    def _repeat(self, name, start_call):
        calls = []
        next_time = time.monotonic()
        while not self._end.wait(max(0, next_time - time.monotonic())):
            next_time += PROBE_INTERVAL
            calls.append(start_call())
            calls[-1].add_done_callback(
                lambda call, start=time.monotonic(): self._record(name, call, start))
        for call in calls:
            call.exception()  # waits for the end of the call

    def _record(self, name, call, start):
        if call.exception():
            self.failures[name] += 1
            self.latencies[name].append(PROBE_TIMEOUT)
        else:
            self.latencies[name].append(time.monotonic() - start)

    def _sample(self):
        while not self._end.wait(0.01) and self.target.alive():
            self.rss.append(self.target.rss())
            self.threads.append(self.target.threads())
            if self.rss[-1] > MAX_RSS_BYTES:
                self.exceeded.set()

    def summary(self):
        out = {}
        for name, values in self.latencies.items():
            if values:
                out[name] = {"count": len(values), "failures": self.failures[name],
                             "p50": statistics.median(values), "max": max(values),
                             "p99": sorted(values)[int(0.99 * (len(values) - 1) + 0.5)]}
        return out


def run_flood(name, target, seconds, *, rate=None, acknowledge=False,
              after_seconds=AFTER_SECONDS):
    """Runs one flood in a process of its own, and returns all figures."""
    command = [sys.executable, "-B", HERE / "floods.py", name, target.address,
               f"--seconds={seconds}"]
    if rate is not None:
        command.append(f"--rate={rate}")
    if acknowledge:
        command.append("--acknowledge")
    if target.ca:
        command.append(f"--ca={target.ca}")
    rss_before, cpu_before = (target.rss(), target.cpu_seconds()) if target.pid else (0, 0)
    with Probe(target) as probe:
        flood = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        while flood.poll() is None and not probe.exceeded.wait(0.02):
            pass
        flood.terminate()
        sent = flood.communicate()[0]
    cpu_end = target.cpu_seconds()
    if target.pid:
        time.sleep(after_seconds)
    after = target.cpu_seconds() - cpu_end
    return {"flood": name, "text": FLOODS[name].text, **(json.loads(sent) if sent else {}),
            "rss_before": rss_before, "rss_peak": max(probe.rss, default=0),
            "rss_after": target.rss(), "threads": max(probe.threads, default=0),
            "cpu_during": cpu_end - cpu_before, "cpu_after": after,
            "alive": target.alive() if target.pid else None,
            "ended_for_memory": probe.exceeded.is_set(), "probes": probe.summary()}


# Output.

COLUMNS = ("flood", "units/s", "RSS MiB", "threads", "CPU after, s", "health p50/p99/max ms",
           "failed", "Encode failed", "/healthz p50/p99/max ms", "connection")


def milliseconds(figures):
    return "/".join(f"{1000 * figures[key]:.0f}" for key in ("p50", "p99", "max"))


def connection_text(row):
    if not row.get("connections"):
        return "?"
    if not row["ended"]:
        return "stays open"
    return (f"{row['first_ended_by']} after {row['first_ended_seconds']:.2f} s" +
            (f"; {row['ended']} connections" if row["ended"] > 1 else "") +
            (f", {row['refused']} refused" if row["refused"] else ""))


def cells(row):
    probes = row["probes"]
    health, encode = probes["health"], probes["encode"]
    return (row["text"], f"{row.get('rate', 0):,.0f}",
            f"{row['rss_before'] >> 20} → {row['rss_peak'] >> 20}" +
            (" (ended)" if row["ended_for_memory"] else ""), str(row["threads"]),
            f"{row['cpu_after']:.1f}", milliseconds(health),
            f"{health['failures']} of {health['count']}",
            f"{encode['failures']} of {encode['count']}",
            milliseconds(probes["healthz"]) if "healthz" in probes else "",
            connection_text(row) + ("" if row["alive"] in (True, None) else "; SERVER DIED"))


def versions():
    found = subprocess.run([os.environ.get("LOCUSD", "locusd"), "--version"], capture_output=True,
                           text=True, check=False).stdout.strip().splitlines()
    return f"{'; '.join(found)}; Python grpcio {grpc.__version__}; {os.cpu_count()} processors; " \
           f"{platform.platform()}"


@contextlib.contextmanager
def started(flags):
    """The target of one flood: a new locusd, or the one that the flags name."""
    if flags.address:
        yield Target(flags.address, flags.http, flags.pid, flags.ca)
        return
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        daemon = stack.enter_context(LoggedDaemon(folder, *flags.server_flag))
        stack.callback(stop, daemon)
        target = Target(f"127.0.0.1:{daemon.grpc_port}", daemon.http_port, daemon.process.pid)
        if flags.haproxy:
            face = stack.enter_context(PublicFace(folder, daemon))
            target.address, target.ca = face.address, face.ca
        yield target


def stop(daemon):
    """Ends a locusd, by force if an unread response delays its shutdown."""
    daemon.terminate()
    try:
        daemon.process.wait(20)
    except subprocess.TimeoutExpired:
        daemon.process.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("floods", nargs="*", metavar="FLOOD", help=", ".join(FLOODS))
    parser.add_argument("--seconds", type=float, default=5, help=f"at most {MAX_SECONDS}")
    parser.add_argument("--rate", type=float, help="units per second; 0 is as many as possible")
    parser.add_argument("--acknowledge", action="store_true",
                        help="acknowledge the server's SETTINGS, which puts its limits in force")
    parser.add_argument("--address", help="a server on loopback, as 127.0.0.1:50051")
    parser.add_argument("--http", type=int, help="its HTTP port")
    parser.add_argument("--pid", type=int, help="its process id")
    parser.add_argument("--ca", help="connects with TLS and trusts this authority")
    parser.add_argument("--haproxy", action="store_true",
                        help="put HAProxy with deploy/haproxy/public.cfg in front of the server")
    parser.add_argument("--server-flag", action="append", default=[],
                        help="a flag of the locusd to start, as --server-flag=--max-streams=50")
    parser.add_argument("--json", help="writes all figures to this file")
    flags = parser.parse_args()
    unknown = set(flags.floods) - set(FLOODS)
    if unknown:
        parser.error(f"no such flood: {', '.join(sorted(unknown))}")
    print(versions())
    print("| " + " | ".join(COLUMNS) + " |")
    print("|---" * len(COLUMNS) + "|", flush=True)
    rows = []
    for name in flags.floods or FLOODS:
        with started(flags) as target:
            rows.append(run_flood(name, target, flags.seconds, rate=flags.rate,
                                  acknowledge=flags.acknowledge))
        print("| " + " | ".join(cells(rows[-1])) + " |", flush=True)
    if flags.json:
        with open(flags.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
