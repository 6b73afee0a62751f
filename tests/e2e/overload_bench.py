#!/usr/bin/env python3
"""Far more calls than a server can do: what is still done, and how soon?

    LOCUSD=build/release/locusd LOCUS=build/release/locus tests/e2e/overload_bench.py [OPTIONS]

Finds the peak (callers that wait for their answers), then offers 2 and 10 times
as much in an open loop, and measures meanwhile: goodput, the latency of the calls
that were admitted, the server's memory and processor time, and how soon health
and metrics answer; after it, how long until a call takes what it took before.
What machines can do varies from minute to minute where others use them, too: the
peak that goodput is compared with is the mean of that before and that after. How the
server spends its processor time varies less: "workers" is what the threads that handle
calls have of it, in the storm and at the peaks. The rest goes to taking calls in, and
to those that are turned away or give up.

With two processors or more the server has one of its own, and the callers
another: on one they would take from each other what is to be measured.
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
# What a call costs the server: a fifth of a millisecond, most of it gRPC's; about
# one, with a request of a few bytes and with one of 192 KiB; tens.
CASES = {
    "tiny": ("encode",),
    "middle": ("check-properties", "--scheme", "rope"),
    "attend": ("attend", "--length", "256", "--heads", "1"),
    "large": ("attend", "--length", "1024", "--heads", "8"),
}
GOODPUT, ANSWER_SECONDS, RECOVERY_SECONDS = 0.9, 0.1, 1.0
QUEUE_SECONDS = 2.0  # locusd's --max-queue-seconds


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def seconds_of_storm(run):
    """The rows of the timeline after the warm-up: what ended in each second, whenever it
    was due. A caller that is far behind still sends what was due long ago."""
    warm_up = run["setup"]["warm_up_seconds"]
    end = warm_up + run["setup"]["duration_seconds"] + 0.1
    return [row for row in run["timeline"]
            if row["from_seconds"] >= warm_up - 0.1 and row["to_seconds"] <= end]


def rate(rows, *names):
    return (sum(row[name] for row in rows for name in names) /
            (rows[-1]["to_seconds"] - rows[0]["from_seconds"]))


class Probe:
    """Asks for health and metrics, and looks at the memory, ten times a second."""

    def __init__(self, daemon, client):
        self.daemon, self.client = daemon, client
        self.health, self.metrics, self.rss, self.failures = [], [], [], []
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._repeat, args=(action,))
                         for action in (self._ask_health, self._ask_metrics, self._look)]

    def _ask_health(self):
        start = time.monotonic()
        self.client(wire.HEALTH_CHECK, wire.HealthCheckRequest(), timeout=10)
        self.health.append(time.monotonic() - start)

    def _ask_metrics(self):
        start = time.monotonic()
        self.daemon.http("/metrics")
        self.metrics.append(time.monotonic() - start)

    def _look(self):
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


class Share:
    """Of a server's processor time, what its workers have."""

    def __init__(self, daemon):
        self.daemon = daemon
        self._start = daemon.cpu_seconds(), daemon.worker_seconds()

    def so_far(self):
        all_of_it = self.daemon.cpu_seconds() - self._start[0]
        return (self.daemon.worker_seconds() - self._start[1]) / max(all_of_it, 1e-9)


class Storm:
    def __init__(self, options):
        self.options = options
        self.processors = sorted(os.sched_getaffinity(0))
        self.pinned = len(self.processors) > 1 and not options.share
        flags = ["--log-calls=false"]
        if self.pinned:
            flags.append("--threads=1")
        # Threads have the processors of the one that starts them.
        if self.pinned:
            os.sched_setaffinity(0, self.processors[:1])
        self.daemon = Daemon(*flags, *options.flag)
        if self.pinned:
            os.sched_setaffinity(0, self.processors[1:])
        self.client = wire.Client(self.daemon.grpc_port)

    def load(self, case, seconds, *arguments):
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

    def usual_seconds(self):
        return statistics.median(self.call_seconds() for _ in range(50))

    def recovery_seconds(self, usual):
        """Until three calls running take no more than three times the usual, or 2 ms."""
        start, good = time.monotonic(), 0
        while good < 3 and time.monotonic() - start < 10:
            good = good + 1 if self.call_seconds() <= max(3 * usual, 2e-3) else 0
        return time.monotonic() - start

    def peak(self, case):
        """Calls in a second, and the workers' share. Beside the same questions as a
        storm: they take some of it, too."""
        with Probe(self.daemon, self.client):
            share = Share(self.daemon)
            run = self.load(case, min(20, self.options.seconds), "--concurrency", "16")
            return run["throughput"], share.so_far()

    def run(self, case):
        """The rows of one case, and what is wrong with them."""
        usual = self.usual_seconds()
        peak, peak_share = self.peak(case)
        first_peak = peak
        print(f"{case}: peak {peak:.0f} calls/s, a small call takes {usual * 1e3:.2f} ms",
              flush=True)
        problems = []
        for factor in (2, 10):
            peak_before, share_before = peak, peak_share
            before, start = self.daemon.cpu_seconds(), time.monotonic()
            with Probe(self.daemon, self.client) as probe:
                workers = Share(self.daemon)
                run = self.load(case, self.options.seconds, "--rate",
                                f"{factor * first_peak:.0f}", "--poisson")
                storm_share = workers.so_far()
            recovery = self.recovery_seconds(usual)
            busy = (self.daemon.cpu_seconds() - before) / (time.monotonic() - start)
            peak, peak_share = self.peak(case)
            rows = seconds_of_storm(run)
            share = rate(rows, "ok") / statistics.mean((peak_before, peak))
            row = {
                "peaks": f"{peak_before:.0f}, {peak:.0f}/s",
                "goodput": f"{100 * share:.0f} %",
                "workers": f"{100 * storm_share:.0f} of "
                           f"{100 * statistics.mean((share_before, peak_share)):.0f} %",
                "offered": f"{run['setup']['offered_rate']:.0f}/s",
                "answered": f"{rate(rows, 'ok', 'failed'):.0f}/s",
                "withheld": f"{run['calls']['withheld'] / run['measured_seconds']:.0f}/s",
                "admitted p99": f"{statistics.median(r['service_p99'] for r in rows) / 1e3:.0f} ms",
                "queued p99": f"{run['queue_us'].get('p99', 0) / 1e3:.0f} ms",
                "refused p99": f"{run['failed_us'].get('p99', 0) / 1e3:.0f} ms",
                "health p99": f"{percentile(probe.health, 0.99) * 1e3:.0f} ms",
                "metrics p99": f"{percentile(probe.metrics, 0.99) * 1e3:.0f} ms",
                "RSS": f"{probe.rss[len(probe.rss) // 10] >> 20}..{max(probe.rss) >> 20} MiB",
                "server": f"{busy:.2f} processors",
                "recovery": f"{recovery * 1e3:.0f} ms",
                "statuses": " ".join(f"{k} {v}" for k, v in run["statuses"].items()),
            }
            print(f"  {factor:2d} x  " + "  ".join(f"{k} {v}" for k, v in row.items()), flush=True)
            if share < GOODPUT:
                problems.append(f"{case} at {factor} x: goodput is {row['goodput']}")
            for name, times in (("health", probe.health), ("metrics", probe.metrics)):
                if percentile(times, 0.99) > ANSWER_SECONDS:
                    problems.append(f"{case} at {factor} x: {name} took {row[name + ' p99']}")
            if probe.failures:
                problems.append(f"{case} at {factor} x: {len(probe.failures)} questions failed, "
                                f"first {probe.failures[0]}")
            if run["queue_us"].get("p99", 0) > QUEUE_SECONDS * 1e6:
                problems.append(f"{case} at {factor} x: calls waited {row['queued p99']}")
            if recovery > RECOVERY_SECONDS:
                problems.append(f"{case} at {factor} x: recovery took {row['recovery']}")
            if max(probe.rss) > 1.25 * probe.rss[len(probe.rss) // 10] + (64 << 20):
                problems.append(f"{case} at {factor} x: memory grew, {row['RSS']}")
        return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60, help="of every storm")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--case", choices=CASES, action="append", help="default: all")
    parser.add_argument("--share", action="store_true",
                        help="the callers' processors are the server's, too")
    parser.add_argument("--heed-pushback", action="store_true",
                        help="callers that keep away when they are asked to")
    parser.add_argument("--flag", action="append", default=[], help="another one for locusd")
    options = parser.parse_args()
    storm = Storm(options)
    problems = []
    try:
        for case in options.case or CASES:
            problems += storm.run(case)
    finally:
        storm.client.close()
        storm.daemon.stop()
    print("\n".join(["FAILED", *problems]) if problems else "as it should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
