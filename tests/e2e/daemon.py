"""A real locusd in a process of its own."""

import json
import os
import resource
import signal
import subprocess
import threading
import urllib.error
import urllib.request

LOCUSD = os.environ.get("LOCUSD", "locusd")
START_SECONDS = 60
# Sanitizers need terabytes of address space, and memory figures mean nothing there.
SANITIZED = bool(os.environ.get("LOCUS_SANITIZED"))
# Should a check of sizes ever be missing, the process pays for it, not the machine.
ADDRESS_SPACE_BYTES = 16 << 30


class Log:
    """The lines a process writes to standard error, as they come."""

    def __init__(self, stream):
        self._lines = []
        self._ended = False
        self._changed = threading.Condition()
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream):
        with stream:
            for line in stream:
                with self._changed:
                    self._lines.append(line.rstrip("\n"))
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def text(self):
        with self._changed:
            return "\n".join(self._lines)

    def events(self):
        with self._changed:
            return [json.loads(line) for line in self._lines if line.startswith("{")]

    def others(self):
        """Lines that are not events."""
        with self._changed:
            return [line for line in self._lines if not line.startswith("{")]

    def wait_for(self, wanted, seconds=START_SECONDS):
        """The first event for which wanted(event), however far it is."""
        def found():
            return next((e for e in self.events() if wanted(e)), None)

        with self._changed:
            self._changed.wait_for(lambda: found() or self._ended, seconds)
            event = found()
        if event is None:
            raise AssertionError("no such event in the log:\n" + self.text())
        return event


class Daemon:
    """Starts locusd on free ports; a context manager that stops it."""

    def __init__(self, *flags):
        self.process = subprocess.Popen(
            [LOCUSD, "--listen=127.0.0.1:0", "--http=127.0.0.1:0", *flags],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.log = Log(self.process.stderr)
        try:
            ready = self.log.wait_for(lambda event: event["event"] == "ready")
        except AssertionError:
            self.process.kill()
            raise
        if not SANITIZED:
            resource.prlimit(self.process.pid, resource.RLIMIT_AS,
                             (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))
        self.grpc_port, self.http_port = ready["grpc_port"], ready["http_port"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def stop(self):
        """SIGTERM, and the exit code."""
        if self.process.poll() is None:
            self.terminate()
        try:
            return self.process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def alive(self):
        return self.process.poll() is None

    def http(self, path, method="GET"):
        """(code, body) of a request to the HTTP port."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.http_port}{path}", method=method)
        try:
            with urllib.request.urlopen(request, timeout=10) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metric(self, name):
        """The sum of a metric over its labels."""
        total = 0.0
        for line in self.http("/metrics")[1].splitlines():
            if line.startswith((name + " ", name + "{")):
                total += float(line.rsplit(" ", 1)[1])
        return total

    def memory(self, figure):
        """VmRSS or VmHWM, in bytes."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith(figure + ":"):
                    return int(line.split()[1]) * 1024
        raise AssertionError(f"no {figure}")

    def cpu_seconds(self):
        """What the process has computed, all threads together."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def worker_seconds(self):
        """What of that the workers have: threads that handle calls, which are a little
        nicer than the rest."""
        ticks = 0
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            try:
                with open(f"/proc/{self.process.pid}/task/{thread}/stat",
                          encoding="ascii") as stat:
                    fields = stat.read().rsplit(")", 1)[1].split()
            except OSError:
                continue  # it ended meanwhile
            if int(fields[16]) > os.getpriority(os.PRIO_PROCESS, self.process.pid):
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def forget_peak(self):
        """From here on VmHWM is the largest size since."""
        with open(f"/proc/{self.process.pid}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
