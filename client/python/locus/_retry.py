"""Deadlines, retries and pushback, as in the C++ client.

Calls that end in UNAVAILABLE (no connection, overload, draining), or that a server cancels while it
shuts down, are retried; other errors are final. Retries are safe because all calls are pure
computations. With several servers a retry goes to the next server, and the backoff applies once
every server has been tried.
"""

from __future__ import annotations

import dataclasses
import random
import time
from typing import Any, Callable, List, Mapping, Optional

from locus.errors import InvalidInput, RpcError, error_of, from_grpc


@dataclasses.dataclass(frozen=True)
class RetryPolicy:
    """The retry policy of a client. Times are in seconds."""

    # Maximum number of attempts, including the first; 1 disables retries.
    max_attempts: int = 4
    # Backoff after the first attempt. Doubles with each further attempt.
    initial_backoff: float = 0.1
    max_backoff: float = 5.0

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise InvalidInput("max_attempts", f"is {self.max_attempts}; must be at least 1")

    def backoff(self, attempt: int, server_delay: Optional[float], uniform: float) -> float:
        """The delay after attempt number `attempt` (counted from 1) has failed. It is never shorter
        than the delay that the server asked for. `uniform` in [0, 1) adds jitter, so that clients
        that were rejected together do not retry together."""
        backoff = min(self.initial_backoff * 2.0 ** (attempt - 1), self.max_backoff)
        jitter = uniform * backoff / 2
        if server_delay is not None:
            return max(server_delay, 0.0) + jitter
        return backoff / 2 + jitter


@dataclasses.dataclass(frozen=True)
class CallInfo:
    """Facts about a finished call, as reported by the server. Times are in seconds."""

    attempts: int = 1
    request_id: str = ""
    queue_seconds: Optional[float] = None
    compute_seconds: Optional[float] = None


def call_info(attempts: int, trailers: Mapping[str, Any]) -> CallInfo:
    def seconds(key: str) -> Optional[float]:
        text = str(trailers.get(key, ""))
        return int(text) * 1e-6 if text.isdigit() else None

    return CallInfo(attempts, str(trailers.get("x-request-id", "")),
                    seconds("locus-queue-us"), seconds("locus-compute-us"))


class Server:
    """One server address, and the time until which it asked for no calls."""

    def __init__(self, address: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.address = address
        # A dns: name may resolve to several servers. The pushback of one of them does not apply to
        # the others.
        self.is_multi_server = address.startswith("dns:")
        self._clock = clock
        self._pushback_until = 0.0

    def set_pushback(self, delay: float) -> None:
        self._pushback_until = self._clock() + delay

    def remaining_pushback(self) -> float:
        return max(0.0, self._pushback_until - self._clock())


def first_server(servers: List[Server], turn: int) -> int:
    """The index of the server in round-robin order, skipping those with a pushback unless all have
    one."""
    for step in range(len(servers)):
        if servers[(turn + step) % len(servers)].remaining_pushback() == 0:
            return turn + step
    return turn


def _pushback(trailers: Mapping[str, Any]) -> Optional[float]:
    """The delay of the trailer grpc-retry-pushback-ms (gRFC A6) in seconds. Negative means that the
    call must not be retried."""
    text = str(trailers.get("grpc-retry-pushback-ms", ""))
    try:
        return int(text) * 1e-3
    except ValueError:
        return None


def _explained(error: RpcError, address: str, timeout: float) -> RpcError:
    """The error of the server if it was reached, and an error about the connection otherwise."""
    if error.request_id:
        return error
    if error.code == "DEADLINE_EXCEEDED":
        return error_of(error.code, f"no answer from {address} within {timeout:g} s")
    if error.code == "UNAVAILABLE" and "connect" in error.message.lower():
        reason = error.message.rsplit("remote host: ", 1)[-1]
        return error_of(error.code, f"cannot reach {address}: {reason}")
    return error


class Attempts:
    """The attempts of one call. Decides whether and when to try again; sleeping and calling are
    left to the caller, so that the blocking and the async client share it."""

    def __init__(self, servers: List[Server], turn: int, policy: RetryPolicy, timeout: float,
                 shared_pushback: bool, clock: Callable[[], float] = time.monotonic,
                 uniform: Callable[[], float] = random.random) -> None:
        if not timeout > 0:
            raise InvalidInput("timeout", f"is {timeout} s; must be positive")
        self._servers = servers
        self._first = first_server(servers, turn)
        self._policy = policy
        self._timeout = timeout
        self._shared = shared_pushback
        self._clock = clock
        self._uniform = uniform
        self._deadline = clock() + timeout
        self.count = 1

    @property
    def index(self) -> int:
        """The index of the server of the current attempt."""
        return (self._first + self.count - 1) % len(self._servers)

    def remaining(self) -> float:
        """The seconds until the deadline."""
        return max(0.0, self._deadline - self._clock())

    def initial_wait(self) -> float:
        """The seconds to wait before the first attempt, because the server asked for it: to reject
        a call costs the server about as much as to serve a small one."""
        server = self._servers[self.index]
        pushback = server.remaining_pushback() if self._shared else 0.0
        if pushback == 0:
            return 0.0
        left = self.remaining()
        if pushback >= left:
            raise error_of("UNAVAILABLE", f"{server.address} is overloaded and asked for no calls "
                                          "before the deadline")
        # Jitter, so that delayed calls do not all start at the same time.
        return min(pushback * (1 + self._uniform() / 2), pushback + (left - pushback) / 2)

    def failed(self, code: str, message: str, trailers: Mapping[str, Any],
               final: bool = False) -> float:
        """Records a failed attempt. Returns the seconds to wait before the next one, or raises the
        error. `final` forbids another attempt."""
        server = self._servers[self.index]
        error = _explained(from_grpc(code, message, trailers), server.address, self._timeout)
        error.attempts = self.count
        pushback = _pushback(trailers)
        if error.retry_delay is None and pushback is not None and pushback >= 0:
            error.retry_delay = pushback
        if error.retry_delay is not None and self._shared and not server.is_multi_server:
            server.set_pushback(min(error.retry_delay, self._policy.max_backoff))
        if (final or self.count >= self._policy.max_attempts or not _is_retryable(error) or
                (pushback is not None and pushback < 0)):
            raise error
        wait = 0.0
        if self.count % len(self._servers) == 0:
            wait = self._policy.backoff(self.count, error.retry_delay, self._uniform())
        if wait >= self.remaining():
            raise error
        self.count += 1
        return wait


def _is_retryable(error: RpcError) -> bool:
    """Whether an error may be retried: UNAVAILABLE, or CANCELLED by a server that shuts down, which
    sends no trailers."""
    return error.code == "UNAVAILABLE" or (error.code == "CANCELLED" and not error.request_id)
