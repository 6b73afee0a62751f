#!/usr/bin/env python3
"""Measures goodput and latency of a server at 2 and 10 times its capacity.

    LOCUSD=build/release/locusd LOCUS=build/release/locus \\
        ADMISSION_SIMULATION=build/release/tests/admission_simulation \\
        tests/e2e/overload_bench.py [OPTIONS]

Measures the peak throughput with a closed loop, then offers 2 and 10 times that rate
in an open loop. During the overload it measures goodput, the latency of admitted
calls, the memory and CPU time of the server, and the latency of health checks and
GET /metrics; after the overload, the time until small calls are as fast as before. At the end
it sends bursts of long calls.

The speed of a shared machine varies from minute to minute. Goodput is therefore
relative to the mean of the peaks before and after the overload. The share of the CPU
time that the server spends in threads that handle calls varies less; it is printed as
"workers", during the overload and at the peaks. The remaining CPU time goes to accepting
calls and to calls that are rejected or cancelled.

Both are compared with a simulation of the admission policy, whose costs are those of the
peaks: CPU time of the workers per call, and CPU time of other threads per call. Half of the
latter, but at most 40 us, is the cost of accepting a call, and a rejection takes 1.5 times that.
The rest, which includes reading the message, is the cost of a response.

On a machine with two or more processors, the server runs on the first processor and the
clients run on the others, so that they do not compete for CPU time.
"""

import argparse
import dataclasses
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
ADMISSION_SIMULATION = os.environ.get("ADMISSION_SIMULATION", "admission_simulation")
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
# An attention of 2048 tokens takes tens of milliseconds.
BURST = ("attend", "--length", "2048", "--heads", "1")
BURST_CALLS = 40
PREPARE_SECONDS = 10e-6  # of SimulatedCosts in tests/server/admission/simulator.h
# The pass marks, as in docs/overload.md.
MIN_WORKER_SHARE = 0.9  # relative to the simulation
MIN_GOODPUT = 0.75  # relative to the simulation; the speed of the machine varies
MAX_REJECTION_SECONDS = 5e-3  # median, in the case `large` and of bursts
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


class CpuTime:
    """The CPU time of a server since construction: of its workers, and of all of its threads."""

    def __init__(self, daemon):
        self.daemon = daemon
        self._start = daemon.worker_seconds(), daemon.cpu_seconds()

    def workers(self):
        return self.daemon.worker_seconds() - self._start[0]

    def total(self):
        return self.daemon.cpu_seconds() - self._start[1]

    def share(self):
        """The share of the workers."""
        return self.workers() / max(self.total(), 1e-9)


@dataclasses.dataclass
class Peak:
    """The throughput of a closed loop in calls per second, and CPU times per call."""
    throughput: float
    worker_seconds: float
    other_seconds: float

    def share(self):
        return self.worker_seconds / (self.worker_seconds + self.other_seconds)


def mean_of(first, second):
    return Peak(*(statistics.mean(pair) for pair in zip(dataclasses.astuple(first),
                                                        dataclasses.astuple(second))))


def simulate(peak, load, connections, slots):
    """The result of the simulation for calls with the costs of this peak."""
    other = peak.other_seconds * 1e6
    accept = min(other / 2, 40)
    # The simulation adds the time to parse a message.
    compute = max(peak.worker_seconds - PREPARE_SECONDS, 1e-6)
    run = subprocess.run(
        [ADMISSION_SIMULATION, "--seconds-per-call", f"{compute:.7f}",
         "--load", str(load), "--deadline", "5", "--connections", str(connections),
         "--slots", str(slots), "--accept", f"{accept:.1f}", "--answer", f"{other - accept:.1f}",
         "--reject", f"{1.5 * accept:.1f}"],
        capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


class LoadError(Exception):
    """`locus load` wrote no report, because it could not call the server."""


class OverloadBench:
    """A server and the measurements on it."""

    def __init__(self, options):
        self.options = options
        self.processors = sorted(os.sched_getaffinity(0))
        self.pinned = len(self.processors) > 1 and not options.share
        self.slots = 1 if self.pinned else len(self.processors)
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

    def load(self, call, *arguments):
        """Runs `locus load`, and returns its JSON report."""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "run.json")
            run = subprocess.run(
                [LOCUS, "load", *call, "--server", f"127.0.0.1:{self.daemon.grpc_port}",
                 "-q", "-o", file, *arguments,
                 *(["--respect-pushback"] if self.options.respect_pushback else [])],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
            if not os.path.exists(file):
                raise LoadError(f"locus load {' '.join(call)} has no report: {run.stderr[-300:]}")
            with open(file, encoding="utf-8") as text:
                return json.load(text)

    def load_case(self, case, seconds, *arguments):
        return self.load(CASES[case], "--duration", f"{seconds}s", "--connections",
                         str(self.options.connections), "--timeout", "5s", *arguments)

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
        """Measures the peak. The probe runs as during the overload, because it takes CPU time as
        well."""
        with Probe(self.daemon, self.client):
            cpu = CpuTime(self.daemon)
            run = self.load_case(case, min(20, self.options.seconds), "--concurrency", "16")
            calls = max(1, sum(row["ok"] for row in run["timeline"]))
            workers = cpu.workers()
            return Peak(run["throughput"], workers / calls, (cpu.total() - workers) / calls)

    def burst(self):
        """Sends a burst of long calls with a deadline of half a second over a connection that has
        made such calls before. Returns the targets that it missed."""
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as starts:
            starts.write("".join(f"{i / 5}\n" for i in range(5)) + "2\n" * BURST_CALLS)
            starts.flush()
            run = self.load(BURST, "--replay", starts.name, "--connections", "1",
                            "--timeout", "500ms")
        rejected = run["failed_us"].get("p50", 0) / 1e6
        print(f"burst of {BURST_CALLS} long calls: median rejection {rejected * 1e3:.1f} ms  "
              f"statuses {run['statuses']}", flush=True)
        if rejected > MAX_REJECTION_SECONDS:
            return [f"burst: the median rejection took {rejected * 1e3:.1f} ms"]
        return []

    def run(self, case):
        """Measures and prints one case, and returns the targets that it missed."""
        baseline = self.baseline_seconds()
        peak = self.peak(case)
        first_peak = peak
        print(f"{case}: peak {peak.throughput:.0f} calls/s, CPU time per call "
              f"{peak.worker_seconds * 1e6:.0f} us in workers, "
              f"{peak.other_seconds * 1e6:.0f} us in other threads, a small call takes "
              f"{baseline * 1e3:.2f} ms", flush=True)
        problems = []
        for factor in (2, 10):
            peak_before = peak
            before, start = self.daemon.cpu_seconds(), time.monotonic()
            with Probe(self.daemon, self.client) as probe:
                cpu = CpuTime(self.daemon)
                run = self.load_case(case, self.options.seconds, "--rate",
                                     f"{factor * first_peak.throughput:.0f}", "--poisson")
                overload_share = cpu.share()
            recovery = self.recovery_seconds(baseline)
            busy = (self.daemon.cpu_seconds() - before) / (time.monotonic() - start)
            peak = self.peak(case)
            rows = measured_rows(run)
            mean_peak = mean_of(peak_before, peak)
            goodput = rate(rows, "ok") / mean_peak.throughput
            simulated = simulate(mean_peak, factor, self.options.connections, self.slots)
            rejected = run["failed_us"].get("p50", 0) / 1e6
            row = {
                "peaks": f"{peak_before.throughput:.0f}, {peak.throughput:.0f}/s",
                "goodput": f"{100 * goodput:.0f} % (simulated {100 * simulated['goodput']:.0f})",
                "workers": f"{100 * overload_share:.0f} % "
                           f"(simulated {100 * simulated['worker_share']:.0f}, "
                           f"peaks {100 * mean_peak.share():.0f})",
                "offered": f"{run['setup']['offered_rate']:.0f}/s",
                "answered": f"{rate(rows, 'ok', 'failed'):.0f}/s",
                "suppressed": f"{run['calls']['suppressed'] / run['measured_seconds']:.0f}/s",
                "admitted p99": f"{statistics.median(r['service_p99'] for r in rows) / 1e3:.0f} ms",
                "queued p99": f"{run['queue_us'].get('p99', 0) / 1e3:.0f} ms",
                "rejected p50": f"{rejected * 1e3:.1f} ms",
                "rejected p99": f"{run['failed_us'].get('p99', 0) / 1e3:.0f} ms",
                "health p99": f"{percentile(probe.health, 0.99) * 1e3:.0f} ms",
                "metrics p99": f"{percentile(probe.metrics, 0.99) * 1e3:.0f} ms",
                "RSS": f"{probe.rss[len(probe.rss) // 10] >> 20}..{max(probe.rss) >> 20} MiB",
                "server": f"{busy:.2f} processors",
                "recovery": f"{recovery * 1e3:.0f} ms",
                "statuses": " ".join(f"{k} {v}" for k, v in run["statuses"].items()),
            }
            print(f"  {factor:2d} x  " + "  ".join(f"{k} {v}" for k, v in row.items()), flush=True)
            if overload_share < MIN_WORKER_SHARE * simulated["worker_share"]:
                problems.append(f"{case} at {factor} x: workers had {row['workers']}")
            if goodput < MIN_GOODPUT * simulated["goodput"]:
                problems.append(f"{case} at {factor} x: goodput is {row['goodput']}")
            if case == "large" and rejected > MAX_REJECTION_SECONDS:
                problems.append(f"{case} at {factor} x: the median rejection took "
                                f"{row['rejected p50']}")
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
    parser.add_argument("--respect-pushback", action="store_true",
                        help="let clients respect the retry pushback of rejected calls")
    parser.add_argument("--flag", action="append", default=[],
                        help="additional flag for locusd; may be repeated")
    options = parser.parse_args()
    bench = OverloadBench(options)
    problems = []
    try:
        for case in options.case or CASES:
            problems += bench.run(case)
        problems += bench.burst()
    except LoadError as error:
        problems.append(str(error))
    finally:
        bench.client.close()
        bench.daemon.stop()
    print("\n".join(["FAILED", *problems]) if problems else "PASSED")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
