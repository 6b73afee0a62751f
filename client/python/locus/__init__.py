"""Positional encodings and attention, computed by a Locus server.

    import locus
    with locus.connect() as client:
        cos, sin = client.rope(positions=[0, 7, 1_000_000], dim=128, base=500_000)

connect() uses the server at $LOCUS_SERVER, or starts a local locusd and stops it at the end.
locus.aio has the same client for asyncio, locus.testing checks attention kernels, and locus.errors
has the exceptions.
"""

from __future__ import annotations

from locus._retry import CallInfo, RetryPolicy
from locus._schemes import ModelConfig, SchemeLike, parse_scheme, read_config, to_scheme
from locus._tensors import to_array
from locus._version import __version__
from locus.client import Client, Evaluation, connect
from locus.errors import (Cancelled, DeadlineExceeded, FieldViolation, InvalidArgument,
                          InvalidInput, LocalServerError, LocusError, NotFound, ResourceExhausted,
                          RpcError, SchemeError, Unauthenticated, Unavailable)
from locus.results import (Attention, Cell, Encoding, EvaluationRow, Progress, Properties, Rotation,
                           SchemeInfo, Schemes, Summary, Table, Verdict)

__all__ = [
    "Attention", "CallInfo", "Cancelled", "Cell", "Client", "DeadlineExceeded", "Encoding",
    "Evaluation", "EvaluationRow", "FieldViolation", "InvalidArgument", "InvalidInput",
    "LocalServerError", "LocusError", "ModelConfig", "NotFound", "Progress", "Properties",
    "ResourceExhausted", "RetryPolicy", "Rotation", "RpcError", "SchemeError", "SchemeInfo",
    "SchemeLike", "Schemes", "Summary", "Table", "Unauthenticated", "Unavailable", "Verdict",
    "__version__", "connect", "parse_scheme", "read_config", "to_array", "to_scheme",
]
