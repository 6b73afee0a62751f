"""Exceptions of the package.

Every exception is a `LocusError`. Errors of calls are `RpcError`s with the gRPC code, the message
of the server, and the details that it sent; each common code has a class of its own, which is also
the matching built-in exception, so that `except TimeoutError` catches an expired deadline.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, Mapping, Optional, Tuple, Type

from locus import _messages


class LocusError(Exception):
    """Base class of all exceptions of this package."""


class InvalidInput(LocusError, ValueError):
    """An argument that this package rejects before it makes a call."""

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(f"{field}: {rule}")
        self.field = field


class SchemeError(LocusError, ValueError):
    """A scheme that cannot be read. The message shows the text with a caret below the error."""


class LocalServerError(LocusError, RuntimeError):
    """A local server or program that cannot be found or started."""


@dataclasses.dataclass(frozen=True)
class FieldViolation:
    """A rule that a field of the request breaks."""

    field: str
    description: str


class RpcError(LocusError):
    """A call that failed.

    code: the name of the gRPC status code, such as "INVALID_ARGUMENT".
    message: the message of the server, or of the client if no server was reached.
    field_violations: the fields of the request that the server rejected.
    reason: the reason of the rejection in a form for programs, such as "QUEUE_FULL"; may be empty.
    metadata: further facts about the reason.
    retry_delay: the seconds after which the server accepts a retry, or None.
    request_id: the id of the call in the server's log; empty if no server was reached.
    attempts: the number of attempts that were made.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.field_violations: List[FieldViolation] = []
        self.reason = ""
        self.metadata: Dict[str, str] = {}
        self.retry_delay: Optional[float] = None
        self.request_id = ""
        self.attempts = 1

    # Some subclasses derive from OSError, which has its own idea of both.
    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.code, self.message), self.__dict__


class InvalidArgument(RpcError, ValueError):
    """The server rejected the request; `field_violations` names the fields."""


class NotFound(RpcError, LookupError):
    """The server has no such service or method."""


class ResourceExhausted(RpcError):
    """The call exceeds a limit of the server."""


class Unavailable(RpcError, ConnectionError):
    """The server cannot be reached, is overloaded, or shuts down."""


class DeadlineExceeded(RpcError, TimeoutError):
    """The call did not end within its time limit."""


class Unauthenticated(RpcError, PermissionError):
    """The server requires a token or certificate that the call does not have."""


class Cancelled(RpcError):
    """The call was cancelled by the caller, or by a server that shuts down."""


_CLASSES: Dict[str, Type[RpcError]] = {
    "INVALID_ARGUMENT": InvalidArgument,
    "OUT_OF_RANGE": InvalidArgument,
    "NOT_FOUND": NotFound,
    "UNIMPLEMENTED": NotFound,
    "RESOURCE_EXHAUSTED": ResourceExhausted,
    "UNAVAILABLE": Unavailable,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
    "UNAUTHENTICATED": Unauthenticated,
    "PERMISSION_DENIED": Unauthenticated,
    "CANCELLED": Cancelled,
}


def error_of(code: str, message: str) -> RpcError:
    """An exception of the class of this code, without details."""
    return _CLASSES.get(code, RpcError)(code, message)


def _add_details(error: RpcError, serialized: bytes) -> None:
    try:
        status = _messages.RpcStatus.FromString(serialized)
        for detail in status.details:
            name = detail.type_url.rsplit("/", 1)[-1]
            if name == "google.rpc.BadRequest":
                for violation in _messages.BadRequest.FromString(detail.value).field_violations:
                    error.field_violations.append(
                        FieldViolation(violation.field, violation.description))
            elif name == "google.rpc.ErrorInfo":
                info = _messages.ErrorInfo.FromString(detail.value)
                error.reason, error.metadata = info.reason, dict(info.metadata)
            elif name == "google.rpc.RetryInfo":
                delay = _messages.RetryInfo.FromString(detail.value).retry_delay
                error.retry_delay = delay.seconds + delay.nanos * 1e-9
    except Exception:  # Details that cannot be parsed must not hide the error itself.
        return


def from_grpc(code: str, message: str, trailers: Mapping[str, Any]) -> RpcError:
    """The exception for a failed call, with the details in its trailing metadata."""
    error = error_of(code, message)
    error.request_id = str(trailers.get("x-request-id", ""))
    serialized = trailers.get("grpc-status-details-bin", b"")
    if isinstance(serialized, bytes) and serialized:
        _add_details(error, serialized)
    return error
