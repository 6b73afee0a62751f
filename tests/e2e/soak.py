#!/usr/bin/env python3
"""Soak test: mixed load on one server for minutes, with checks for leaks and errors.

    LOCUSD=build/release/locusd LOCUS=build/release/locus tests/e2e/soak.py [SECONDS]

Clients in separate processes make small and large calls of every method, and run
one evaluation after the other, at about the capacity of the machine. The test fails
on any status other than OK and UNAVAILABLE, and if the memory, threads or file
descriptors of the server in the last third of the time exceed those of the first
third by more than a margin. The default duration is 600 seconds.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

from daemon import Daemon

LOCUS = os.environ.get("LOCUS", "locus")
LOADS = (("encode", "--rate", "200", "--poisson"),
         ("encode", "--scheme", "sinusoidal", "--length", "4096", "--dim", "256", "--rate", "4"),
         ("attend", "--length", "64", "--rate", "40", "--poisson", "--connections", "8"),
         ("attend", "--length", "512", "--heads", "8", "--rate", "2"),
         ("list-schemes", "--rate", "20"),
         ("check-properties", "--rate", "0.5"))
EVALUATION = ("evaluate", "--scheme", "rope", "--scheme", "alibi", "--task", "ordering",
              "--steps", "20", "--seeds", "1", "--timeout", "5m")
EXPECTED = {"OK", "UNAVAILABLE"}


def figures(daemon):
    """The memory, threads and file descriptors of the server now."""
    folder = f"/proc/{daemon.process.pid}"
    return {"rss": daemon.memory("VmRSS"), "threads": len(os.listdir(folder + "/task")),
            "descriptors": len(os.listdir(folder + "/fd"))}


def max_of(samples, name):
    return max(sample[name] for sample in samples)


def growth(samples):
    """Describes the figures whose maximum in the last third exceeds that of the first third by
    more than the margin."""
    third = max(1, len(samples) // 3)
    first, last = samples[:third], samples[-third:]
    allowed = {"rss": max_of(first, "rss") * 1.25 + (64 << 20),
               "threads": max_of(first, "threads") + 32,
               "descriptors": max_of(first, "descriptors") + 32}
    return [f"{name} grew from {max_of(first, name)} to {max_of(last, name)}"
            for name in allowed if max_of(last, name) > allowed[name]]


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600
    problems, samples = [], []
    with tempfile.TemporaryDirectory() as folder, Daemon("--log-calls=false") as daemon:
        server = ("--server", f"127.0.0.1:{daemon.grpc_port}")
        runs = []
        for number, load in enumerate(LOADS):
            file = os.path.join(folder, f"{number}.json")
            runs.append((load, file, subprocess.Popen(
                [LOCUS, "load", *load, *server, "--duration", f"{seconds}s", "-q", "-o", file],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)))
        end = time.monotonic() + seconds
        evaluation = None
        while time.monotonic() < end:
            if evaluation is None or evaluation.poll() is not None:
                if evaluation is not None and evaluation.returncode != 0:
                    problems.append(f"evaluate: exit code {evaluation.returncode}")
                evaluation = subprocess.Popen(
                    [LOCUS, *EVALUATION, *server, "--out", os.path.join(folder, "report")],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            # The figures are sampled every two seconds; there is no event to wait for.
            time.sleep(min(2, max(0, end - time.monotonic())))
            samples.append(figures(daemon))
            print(f"{len(samples) * 2:5d} s  " + "  ".join(
                f"{name} {value}" for name, value in samples[-1].items()), flush=True)
        for load, file, process in runs:
            process.wait(120)
            with open(file, encoding="utf-8") as text:
                statuses = json.load(text)["statuses"]
            print(" ".join(load), statuses)
            if set(statuses) - EXPECTED or not statuses.get("OK"):
                problems.append(f"{' '.join(load)}: {statuses}")
        evaluation.terminate()
        evaluation.wait(60)
        if daemon.stop() != 0:
            problems.append(f"locusd: exit code {daemon.process.returncode}")
    problems += growth(samples)
    print("\n".join(["FAILED", *problems]) if problems else "PASSED")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
