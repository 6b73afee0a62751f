"""Starts and stops a locusd of its own for a client."""

from __future__ import annotations

import collections
import json
import os
import selectors
import signal
import subprocess
import threading
import time
import weakref
from typing import Any, Deque, Dict, Optional, Sequence

from locus import _programs
from locus.errors import LocalServerError

_START_SECONDS = 60.0
_STOP_SECONDS = 10.0
_GRACE_SECONDS = 2
# The shell ends the server when its standard input is closed: by stop(), or by the kernel when this
# process dies, whatever the reason. The server's exit closes the only other copy of standard error.
_SUPERVISOR = ('"$@" </dev/null & server=$!; exec 2>/dev/null; cat >/dev/null; '
               "kill -TERM $server; wait $server")
# Settings of a real deployment that must not apply to a private server on loopback.
_IGNORED_VARIABLES = ("LOCUS_LISTEN", "LOCUS_HTTP", "LOCUS_TLS_CERT", "LOCUS_TLS_KEY",
                      "LOCUS_TLS_CLIENT_CA", "LOCUS_AUTH_TOKENS", "LOCUS_FLAGFILE")


def _environment() -> Dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _IGNORED_VARIABLES}


class LocalServer:
    """A locusd on a free loopback port. It ends with stop(), at the exit of the interpreter, when
    the object is collected, and when this process is killed."""

    def __init__(self, flags: Sequence[str] = ()) -> None:
        program = _programs.find("locusd")
        self._log: Deque[str] = collections.deque(maxlen=20)
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _SUPERVISOR, "sh", program, "--listen=127.0.0.1:0", "--http=",
             "--log-calls=false", "--background-evaluations=false",
             f"--grace-seconds={_GRACE_SECONDS}", *flags],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=_environment(), start_new_session=True)
        self._finalizer = weakref.finalize(self, _stop, self._process, os.getpid())
        try:
            self.address = f"127.0.0.1:{self._wait_until_ready(program)}"
        except BaseException:
            self.stop()
            if self._process.stderr is not None:
                self._process.stderr.close()
            raise
        threading.Thread(target=_drain, args=(self._process.stderr, self._log),
                         daemon=True).start()

    @property
    def supervisor_pid(self) -> int:
        """The process id of the supervisor, which is also the id of the server's process group."""
        return self._process.pid

    def _wait_until_ready(self, program: str) -> int:
        """Reads the log until the server is ready, and returns its port."""
        stream = self._process.stderr
        assert stream is not None
        deadline = time.monotonic() + _START_SECONDS
        pending = b""
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            while selector.select(max(0.0, deadline - time.monotonic())):
                chunk = os.read(stream.fileno(), 1 << 16)
                if not chunk:  # the server has ended
                    break
                *lines, pending = (pending + chunk).split(b"\n")
                for line in lines:
                    self._log.append(line.decode("utf-8", "replace"))
                    event = _event(line)
                    if event.get("event") == "ready":
                        return int(event["grpc_port"])
        reason = "\n".join(self._log) or "it wrote no log"
        raise LocalServerError(f"{program} did not start: {reason}")

    def stop(self) -> None:
        """Stops the server, and waits until it has ended. May be called again."""
        self._finalizer()


def _event(line: bytes) -> Dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


def _drain(stream: Any, log: Deque[str]) -> None:
    try:
        with stream:
            for line in stream:
                log.append(line.decode("utf-8", "replace").rstrip("\n"))
    except (OSError, ValueError):  # closed by the interpreter at its exit
        pass


def _stop(process: "subprocess.Popen[bytes]", owner: int) -> None:
    if os.getpid() != owner:  # a forked child must not stop its parent's server
        return
    assert process.stdin is not None
    try:
        process.stdin.close()
    except OSError:
        pass
    if _wait(process, _STOP_SECONDS) is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        _wait(process, _STOP_SECONDS)


def _wait(process: "subprocess.Popen[bytes]", seconds: float) -> Optional[int]:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
