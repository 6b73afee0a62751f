#!/usr/bin/env python3
"""Measures goodput and latency of a server at 2 and 10 times its capacity.

    LOCUSD=build/release/locusd LOCUS=build/release/locus tests/e2e/overload_bench.py [OPTIONS]

Measures the peak throughput with a closed loop, then offers 2 and 10 times that rate
in an open loop. During the overload it measures goodput, the latency of admitted
calls, the memory and CPU time of the server, and the latency of health checks and
GET /metrics; after the overload, the time until small calls are as fast as before.

The speed of a shared machine varies from minute to minute. Goodput is therefore
relative to the mean of the peaks before and after the overload. The share of the CPU
time that the server spends in threads that handle calls varies less; it is printed as
"workers", during the overload and at the peaks. The remaining CPU time goes to accepting
calls and to calls that are rejected or cancelled.

On a machine with two or more processors, the server runs on the first processor and the
clients run on the others, so that they do not compete for CPU time.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import wire
from daemon import Daemon
from overload_test import small_request

LOCUS = os.environ.get("LOCUS", "locus")
# Arguments of `locus load` for each case.
CASES = {
    # A fifth of a millisecond per call, most of it in gRPC.
    "tiny": ("encode",),
    # Less than a millisecond, with a request of a few bytes.
    "middle": ("check-properties", "--scheme", "rope"),
    # Less than a millisecond, with a request of 192 KiB.
    "attend": ("attend", "--length", "256", "--heads", "1"),
    # Tens of milliseconds.
    "large": ("attend", "--length", "1024", "--heads", "8"),
}
MIN_GOODPUT = 0.9
MAX_PROBE_SECONDS = 0.1  # p99 of health checks and of GET /metrics
MAX_RECOVERY_SECONDS = 1.0
MAX_QUEUE_SECONDS = 2.0  # default of locusd --max-queue-seconds


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def measured_rows(run):
    """The rows of the timeline between the warm-up and the end of the load. A row counts the calls
    that ended in its second, regardless of when they were scheduled: a client that is behind
    schedule still sends calls that were due earlier."""
    warm_up = run["setup"]["warm_up_seconds"]
    end = warm_up + run["setup"]["duration_seconds"] + 0.1
    return [row for row in run["timeline"]
            if row["from_seconds"] >= warm_up - 0.1 and row["to_seconds"] <= end]


def rate(rows, *names):
    """The sum of these columns per second."""
    return (sum(row[name] for row in rows for name in names) /
            (rows[-1]["to_seconds"] - rows[0]["from_seconds"]))


class Probe:
    """Calls the health check and GET /metrics and samples the memory, with a pause of 0.1 s
    between two repetitions, while it is entered as a context manager."""

    def __init__(self, daemon, client):
        self.daemon, self.client = daemon, client
        self.health, self.metrics, self.rss, self.failures = [], [], [], []
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._repeat, args=(action,))
                         for action in (self._check_health, self._get_metrics, self._sample_memory)]

    def _check_health(self):
        start = time.monotonic()
        self.client(wire.HEALTH_CHECK, wire.HealthCheckRequest(), timeout=10)
        self.health.append(time.monotonic() - start)

    def _get_metrics(self):
        start = time.monotonic()
        self.daemon.http("/metrics")
        self.metrics.append(time.monotonic() - start)

    def _sample_memory(self):
        self.rss.append(self.daemon.memory("VmRSS"))

    def _repeat(self, action):
        while not self._end.wait(0.1):
            try:
                action()
            except Exception as error:  # pylint: disable=broad-except
                self.failures.append(f"{action.__name__.strip('_')}: {error!r}"[:200])

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        for thread in self._threads:
            thread.join()


class WorkerShare:
    """The share of a server's CPU time that its worker threads used since construction."""

    def __init__(self, daemon):
        self.daemon = daemon
        self._start = daemon.cpu_seconds(), daemon.worker_seconds()

    def value(self):
        total = self.daemon.cpu_seconds() - self._start[0]
        return (self.daemon.worker_seconds() - self._start[1]) / max(total, 1e-9)


class OverloadBench:
    """A server and the measurements on it."""

    def __init__(self, options):
        self.options = options
        self.processors = sorted(os.sched_getaffinity(0))
        self.pinned = len(self.processors) > 1 and not options.share
        flags = ["--log-calls=false"]
        if self.pinned:
            flags.append("--threads=1")
        # A process inherits the CPU affinity of the thread that starts it.
        if self.pinned:
            os.sched_setaffinity(0, self.processors[:1])
        self.daemon = Daemon(*flags, *options.flag)
        if self.pinned:
            os.sched_setaffinity(0, self.processors[1:])
        self.client = wire.Client(self.daemon.grpc_port)

    def load(self, case, seconds, *arguments):
        """Runs `locus load`, and returns its JSON report."""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "run.json")
            subprocess.run(
                [LOCUS, "load", *CASES[case], "--server", f"127.0.0.1:{self.daemon.grpc_port}",
                 "--duration", f"{seconds}s", "--connections", str(self.options.connections),
                 "--timeout", "5s", "-q", "-o", file, *arguments,
                 *(["--heed-pushback"] if self.options.heed_pushback else [])],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            with open(file, encoding="utf-8") as text:
                return json.load(text)

    def call_seconds(self):
        start = time.monotonic()
        self.client(wire.ENCODE, small_request())
        return time.monotonic() - start

    def baseline_seconds(self):
        """The median latency of a small call without other load."""
        return statistics.median(self.call_seconds() for _ in range(50))

    def recovery_seconds(self, baseline):
        """The time until three consecutive calls each take at most three times the baseline, or
        2 ms if that is more."""
        start, good = time.monotonic(), 0
        while good < 3 and time.monotonic() - start < 10:
            good = good + 1 if self.call_seconds() <= max(3 * baseline, 2e-3) else 0
        return time.monotonic() - start

    def peak(self, case):
        """The peak throughput in calls per second, and the share of the workers. The probe runs as
        during the overload, because it takes CPU time as well."""
        with Probe(self.daemon, self.client):
            workers = WorkerShare(self.daemon)
            run = self.load(case, min(20, self.options.seconds), "--concurrency", "16")
            return run["throughput"], workers.value()

    def run(self, case):
        """Measures and prints one case, and returns the targets that it missed."""
        baseline = self.baseline_seconds()
        peak, peak_share = self.peak(case)
        first_peak = peak
        print(f"{case}: peak {peak:.0f} calls/s, a small call takes {baseline * 1e3:.2f} ms",
              flush=True)
        problems = []
        for factor in (2, 10):
            peak_before, share_before = peak, peak_share
            before, start = self.daemon.cpu_seconds(), time.monotonic()
            with Probe(self.daemon, self.client) as probe:
                workers = WorkerShare(self.daemon)
                run = self.load(case, self.options.seconds, "--rate",
                                f"{factor * first_peak:.0f}", "--poisson")
                overload_share = workers.value()
            recovery = self.recovery_seconds(baseline)
            busy = (self.daemon.cpu_seconds() - before) / (time.monotonic() - start)
            peak, peak_share = self.peak(case)
            rows = measured_rows(run)
            goodput = rate(rows, "ok") / statistics.mean((peak_before, peak))
            row = {
                "peaks": f"{peak_before:.0f}, {peak:.0f}/s",
                "goodput": f"{100 * goodput:.0f} %",
                "workers": f"{100 * overload_share:.0f} of "
                           f"{100 * statistics.mean((share_before, peak_share)):.0f} %",
                "offered": f"{run['setup']['offered_rate']:.0f}/s",
                "answered": f"{rate(rows, 'ok', 'failed'):.0f}/s",
                "withheld": f"{run['calls']['withheld'] / run['measured_seconds']:.0f}/s",
                "admitted p99": f"{statistics.median(r['service_p99'] for r in rows) / 1e3:.0f} ms",
                "queued p99": f"{run['queue_us'].get('p99', 0) / 1e3:.0f} ms",
                "rejected p99": f"{run['failed_us'].get('p99', 0) / 1e3:.0f} ms",
                "health p99": f"{percentile(probe.health, 0.99) * 1e3:.0f} ms",
                "metrics p99": f"{percentile(probe.metrics, 0.99) * 1e3:.0f} ms",
                "RSS": f"{probe.rss[len(probe.rss) // 10] >> 20}..{max(probe.rss) >> 20} MiB",
                "server": f"{busy:.2f} processors",
                "recovery": f"{recovery * 1e3:.0f} ms",
                "statuses": " ".join(f"{k} {v}" for k, v in run["statuses"].items()),
            }
            print(f"  {factor:2d} x  " + "  ".join(f"{k} {v}" for k, v in row.items()), flush=True)
            if goodput < MIN_GOODPUT:
                problems.append(f"{case} at {factor} x: goodput is {row['goodput']}")
            for name, times in (("health", probe.health), ("metrics", probe.metrics)):
                if percentile(times, 0.99) > MAX_PROBE_SECONDS:
                    problems.append(f"{case} at {factor} x: {name} p99 is {row[name + ' p99']}")
            if probe.failures:
                problems.append(f"{case} at {factor} x: {len(probe.failures)} probes failed, "
                                f"the first with {probe.failures[0]}")
            if run["queue_us"].get("p99", 0) > MAX_QUEUE_SECONDS * 1e6:
                problems.append(f"{case} at {factor} x: queueing p99 is {row['queued p99']}")
            if recovery > MAX_RECOVERY_SECONDS:
                problems.append(f"{case} at {factor} x: recovery took {row['recovery']}")
            if max(probe.rss) > 1.25 * probe.rss[len(probe.rss) // 10] + (64 << 20):
                problems.append(f"{case} at {factor} x: memory grew: {row['RSS']}")
        return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60,
                        help="duration of each overload (default: %(default)s)")
    parser.add_argument("--connections", type=int, default=8,
                        help="connections of the clients (default: %(default)s)")
    parser.add_argument("--case", choices=CASES, action="append",
                        help="case to run; may be repeated (default: all)")
    parser.add_argument("--share", action="store_true",
                        help="let server and clients share all processors")
    parser.add_argument("--heed-pushback", action="store_true",
                        help="let clients respect the retry pushback of rejected calls")
    parser.add_argument("--flag", action="append", default=[],
                        help="additional flag for locusd; may be repeated")
    options = parser.parse_args()
    bench = OverloadBench(options)
    problems = []
    try:
        for case in options.case or CASES:
            problems += bench.run(case)
    finally:
        bench.client.close()
        bench.daemon.stop()
    print("\n".join(["FAILED", *problems]) if problems else "PASSED")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
