"""Runs locusd as a child process, for tests."""

import json
import os
import resource
import signal
import ssl
import subprocess
import threading
import urllib.error
import urllib.request

LOCUSD = os.environ.get("LOCUSD", "locusd")
START_SECONDS = 60
# Under sanitizers locusd reserves terabytes of address space, and its memory figures are
# meaningless.
SANITIZED = bool(os.environ.get("LOCUS_SANITIZED"))
# Limit of the address space of locusd (RLIMIT_AS), so that a missing size check ends the process
# instead of exhausting the memory of the machine.
ADDRESS_SPACE_BYTES = 16 << 30


class Log:
    """Collects the lines that a process writes to standard error. Thread-safe."""

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
        """Everything written so far."""
        with self._changed:
            return "\n".join(self._lines)

    def events(self):
        """The log events (lines that hold a JSON object) written so far."""
        with self._changed:
            return [json.loads(line) for line in self._lines if line.startswith("{")]

    def other_lines(self):
        """The lines written so far that are not log events."""
        with self._changed:
            return [line for line in self._lines if not line.startswith("{")]

    def wait_for(self, wanted, seconds=START_SECONDS):
        """Waits for the first event for which wanted(event) is true, and returns it."""
        def found():
            return next((e for e in self.events() if wanted(e)), None)

        with self._changed:
            self._changed.wait_for(lambda: found() or self._ended, seconds)
            event = found()
        if event is None:
            raise AssertionError("no such event in the log:\n" + self.text())
        return event


class Daemon:
    """A locusd on free loopback ports. As a context manager, it stops the process at the end."""

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
        self.tls = any(flag.startswith("--tls-cert=") for flag in flags)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def stop(self):
        """Sends SIGTERM, waits for the end, and returns the exit code."""
        if self.process.poll() is None:
            self.terminate()
        try:
            return self.process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def alive(self):
        return self.process.poll() is None

    def http(self, path, method="GET", pair=None):
        """Sends a request to the HTTP port, and returns (status code, body). If the server has TLS,
        uses it without checking the certificate, and presents the client certificate `pair`."""
        scheme, context = "http", None
        if self.tls:
            scheme, context = "https", ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            if pair:
                context.load_cert_chain(*pair)
        request = urllib.request.Request(
            f"{scheme}://127.0.0.1:{self.http_port}{path}", method=method)
        try:
            with urllib.request.urlopen(request, timeout=10, context=context) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metric(self, name):
        """The value of a metric, summed over all label values."""
        total = 0.0
        for line in self.http("/metrics")[1].splitlines():
            if line.startswith((name + " ", name + "{")):
                total += float(line.rsplit(" ", 1)[1])
        return total

    def memory(self, figure):
        """The memory of the process in bytes: VmRSS (current) or VmHWM (peak)."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith(figure + ":"):
                    return int(line.split()[1]) * 1024
        raise AssertionError(f"no {figure}")

    def cpu_seconds(self):
        """The CPU time of the process, summed over its threads."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def worker_seconds(self):
        """The CPU time of the threads that handle calls. They are recognised by their
        nice value, which is higher than that of the process."""
        ticks = 0
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            try:
                with open(f"/proc/{self.process.pid}/task/{thread}/stat",
                          encoding="ascii") as stat:
                    fields = stat.read().rsplit(")", 1)[1].split()
            except OSError:
                continue  # the thread has ended
            if int(fields[16]) > os.getpriority(os.PRIO_PROCESS, self.process.pid):
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def reset_peak_memory(self):
        """Resets VmHWM to the current size."""
        with open(f"/proc/{self.process.pid}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
