"""Requests and responses of all calls, without any transport.

Each function returns a Call: the bytes to send, and the function that turns the response into a
result. The blocking client and the async client share them.
"""

from __future__ import annotations

import dataclasses
import json
import re
from typing import (Any, Callable, Dict, Generic, List, Mapping, Optional, Sequence, Tuple, TypeVar,
                    Union)

import numpy as np

from locus import _messages as m
from locus import _names, _wire, results
from locus._fill import fill, set_positions
from locus._retry import CallInfo
from locus._schemes import SchemeLike, scheme_name, to_scheme
from locus._tensors import Array, as_array, dtype_code, make_tensor, to_array
from locus.errors import InvalidInput

T = TypeVar("T")
Event = Union[results.Progress, results.Cell, results.Summary]

# Weights of up to this many elements (8 MiB in FLOAT64) are requested by default.
_MAX_DEFAULT_WEIGHTS = 1 << 20


@dataclasses.dataclass(frozen=True)
class Call(Generic[T]):
    """A call that is ready to be sent."""

    path: str
    request: bytes = dataclasses.field(repr=False)
    decode: Callable[[bytes, CallInfo], T]
    # Whether a pushback of the server applies to all calls of the client. Evaluations have an
    # admission limit of their own, and health checks are never delayed.
    shared_pushback: bool = True


class _Outgoing:
    """A request whose tensors stay in the memory of their arrays."""

    def __init__(self, message: m.Message) -> None:
        self.message = message
        self._elements: Dict[Tuple[str, ...], memoryview] = {}

    def attach(self, path: Tuple[str, ...], value: Any, dtype: Any = None) -> Tuple[int, ...]:
        """Sets the tensor at `path`, and returns its shape."""
        tensor, elements = make_tensor(value, path[-1], dtype)
        target = self.message
        for name in path:
            target = getattr(target, name)
        target.CopyFrom(tensor)
        target.SetInParent()
        self._elements[path] = elements
        return tuple(tensor.shape)

    def bytes(self) -> bytes:
        return _wire.serialize(self.message, self._elements)


def _arrays(data: bytes, message_class: Any) -> Tuple[m.Message, Dict[Tuple[str, ...], Array]]:
    """A response, and its tensors by their path."""
    message, elements = _wire.parse(message_class, data)
    found: Dict[Tuple[str, ...], Array] = {}

    def visit(part: m.Message, path: Tuple[str, ...]) -> None:
        for field, value in part.ListFields():
            if not field.message_type or m.is_repeated(field):
                continue
            inner = path + (field.name,)
            if _names.is_tensor(field):
                empty = memoryview(b"") if not value.data else None
                found[inner] = to_array(value, elements.get(inner, empty))
            else:
                visit(value, inner)

    visit(message, ())
    return message, found


def list_schemes() -> Call[results.Schemes]:
    def decode(data: bytes, call: CallInfo) -> results.Schemes:
        return results.Schemes(_scheme_info(scheme)
                               for scheme in m.ListSchemesResponse.FromString(data).schemes)

    return Call("/locus.v1.EncodingService/ListSchemes",
                m.ListSchemesRequest().SerializeToString(), decode)


def _choice(message: m.Message, field: str) -> str:
    return _names.short_choice(message.DESCRIPTOR.fields_by_name[field], getattr(message, field))


def _scheme_info(scheme: m.Message) -> results.SchemeInfo:
    parameters = [results.Parameter(p.name, p.type, p.default_value, p.range, p.description,
                                    list(p.choices)) for p in scheme.parameters]
    properties = {promise.property: _choice(promise, "answer") for promise in scheme.promises}
    return results.SchemeInfo(scheme.name, scheme.title, _choice(scheme, "acts_on"), parameters,
                              properties, scheme.reference, scheme.beyond_training,
                              scheme.causal_only)


def encode(scheme: SchemeLike, positions: Any, dim: Optional[int], heads: Optional[int],
           input: Any, dtype: Any, options: Mapping[str, Any]) -> Call[results.Encoding]:
    request = m.EncodeRequest(scheme=to_scheme(scheme))
    outgoing = _Outgoing(request)
    if positions is not None:
        set_positions(request.positions, positions, "positions")
    fill(request, {"dim": dim, "head_count": heads,
                   "dtype": dtype_code(dtype) if dtype is not None else None, **options})
    if input is not None:
        outgoing.attach(("input",), input)
    name = scheme_name(request.scheme)

    def decode(data: bytes, call: CallInfo) -> results.Encoding:
        return _encoding(name, data, call)

    return Call("/locus.v1.EncodingService/Encode", outgoing.bytes(), decode)


_KINDS = {"additive": "table", "rotation": "rotation", "bias": "bias", None: "nothing"}


def _encoding(name: str, data: bytes, call: CallInfo) -> results.Encoding:
    message, found = _arrays(data, m.EncodeResponse)
    which = message.WhichOneof("encoding")
    arrays = {path[-1]: array for path, array in found.items()}
    details: Dict[str, Any] = {}
    for field in getattr(message, which).DESCRIPTOR.fields if which else ():
        value = getattr(getattr(message, which), field.name)
        if field.message_type:
            if field.name == "head_numbers":
                details.update({numbers.name: np.array(numbers.values) for numbers in value})
        elif m.is_repeated(field):
            details[field.name] = np.array(value)
        else:
            details[field.name] = value
    return results.Encoding(name, _KINDS.get(which, which or "nothing"), arrays, details, call)


def rope(positions: Any, dim: Optional[int], dtype: Any,
         parameters: Mapping[str, Any]) -> Call[results.Rotation]:
    given = {name: value for name, value in parameters.items() if value is not None}
    call = encode({"rope": given}, positions, dim, None, None, dtype, {})

    def decode(data: bytes, info: CallInfo) -> results.Rotation:
        encoding = call.decode(data, info)
        return results.Rotation(encoding.cos, encoding.sin)

    return Call(call.path, call.request, decode)


def _ndim(value: Any) -> int:
    shape = getattr(value, "shape", None)
    return len(shape) if shape is not None else int(np.ndim(value))


def _with_four_axes(value: Any, missing: int) -> Any:
    """Adds leading axes of extent 1, without a copy."""
    if missing == 0:
        return value
    array = value if hasattr(value, "reshape") else as_array(value, "input")[1]
    return array.reshape((1,) * missing + tuple(array.shape))


def attend(q: Any, k: Any, v: Any, scheme: SchemeLike, dtype: Any, mask: Any,
           options: Mapping[str, Any]) -> Call[results.Attention]:
    request = m.AttendRequest(scheme=to_scheme(scheme))
    outgoing = _Outgoing(request)
    missing = 4 - _ndim(q)
    if missing not in (0, 1, 2):
        raise InvalidInput("q", f"has {4 - missing} axes; must have the shape [B, H, T, D], "
                                "[H, T, D] or [T, D]")
    shapes = []
    for name, value in (("q", q), ("k", k), ("v", v)):
        if _ndim(value) != 4 - missing:
            raise InvalidInput(name, f"has {_ndim(value)} axes, but q has {4 - missing}")
        shapes.append(outgoing.attach(("heads", name), _with_four_axes(value, missing), dtype))
    _set_options(outgoing, mask, options, shapes[0][:3] + (shapes[1][2],))

    def decode(data: bytes, call: CallInfo) -> results.Attention:
        arrays = _attention_arrays(data)
        squeezed = {name: array.reshape(array.shape[missing:]) for name, array in arrays.items()}
        return results.Attention(squeezed, call)

    return Call("/locus.v1.AttentionService/Attend", outgoing.bytes(), decode)


def _set_options(outgoing: _Outgoing, mask: Any, options: Mapping[str, Any],
                 weights_shape: Tuple[int, ...]) -> None:
    """Sets the options of attention. Weights are requested by default if they are small."""
    values = dict(options)
    if values.get("return_weights") is None:
        values["return_weights"] = int(np.prod(weights_shape)) <= _MAX_DEFAULT_WEIGHTS
    fill(outgoing.message.options, values)
    if mask is not None:
        outgoing.attach(("options", "mask"), mask)


def _attention_arrays(data: bytes) -> Dict[str, Array]:
    _, found = _arrays(data, m.AttendResponse)
    return {path[-1]: array for path, array in found.items()}


def attend_module(x: Any, tokens: Optional[Sequence[str]], weights: Optional[Mapping[str, Any]],
                  seed: Optional[int], heads: Optional[int], dim: Optional[int],
                  scheme: SchemeLike, mask: Any,
                  options: Mapping[str, Any]) -> Call[results.Attention]:
    request = m.AttendRequest(scheme=to_scheme(scheme))
    outgoing = _Outgoing(request)
    module = request.module
    module.SetInParent()
    fill(module, {"seed": seed, "head_count": heads, "dim": dim, "tokens": tokens})
    batch, length = 1, len(tokens or ())
    if x is not None:
        missing = 3 - _ndim(x)
        if missing not in (0, 1):
            raise InvalidInput("x", f"has {3 - missing} axes; must have the shape [B, T, dim] or "
                                    "[T, dim]")
        batch, length, _ = outgoing.attach(("module", "x"), _with_four_axes(x, missing))
    else:
        missing = 1  # a sentence has no batch axis
    for name, value in (weights or {}).items():
        if name not in ("wq", "wk", "wv", "wo"):
            raise InvalidInput("weights", _names.unknown_field(name, ["wq", "wk", "wv", "wo"]))
        outgoing.attach(("module", "weights", name), value)
    _set_options(outgoing, mask, options, (batch, heads or 1, length, length))

    def decode(data: bytes, call: CallInfo) -> results.Attention:
        arrays = _attention_arrays(data)
        squeezed = {name: array.reshape(array.shape[missing:]) for name, array in arrays.items()}
        return results.Attention(squeezed, call, tokens)

    return Call("/locus.v1.AttentionService/Attend", outgoing.bytes(), decode)


def attend_tokens(tokens: Union[str, Sequence[str]], scheme: SchemeLike, dim: int, heads: int,
                  seed: int, causal: bool, options: Mapping[str, Any]) -> Call[results.Attention]:
    words = tokens.split() if isinstance(tokens, str) else list(tokens)
    given = {"return_weights": True, "return_log_sum_exp": True, "causal": causal, **options}
    mask = given.pop("mask", None)
    return attend_module(None, words, None, seed, heads, dim, scheme, mask, given)


def check(schemes: Optional[Sequence[SchemeLike]],
          naive: Optional[bool]) -> Call[results.Properties]:
    request = m.CheckPropertiesRequest(schemes=[to_scheme(scheme) for scheme in schemes or ()])
    fill(request, {"naive": naive})

    def decode(data: bytes, call: CallInfo) -> results.Properties:
        response = m.CheckPropertiesResponse.FromString(data)
        return results.Properties(
            results.Property(entry.scheme_name, row.property, _choice(row, "verdict"), row.measured,
                             row.tolerance, _choice(row, "promise"), row.as_promised,
                             row.worked_case, entry.naive)
            for entry in response.results for row in entry.properties)

    return Call("/locus.v1.EvaluationService/CheckProperties", request.SerializeToString(), decode)


def _parts_of(path: str) -> List[str]:
    """The words of a path: package, service and method."""
    return [part for part in re.split("[/.]", path) if part]


def raw(method: str, request: Any) -> Call[m.Message]:
    """A call of any unary method with a message or a dictionary."""
    wanted = _parts_of(method)
    paths = [path for path in m.UNARY_METHODS if wanted and
             _parts_of(path)[-len(wanted):] == wanted]
    if len(paths) != 1:
        names = [path.rsplit("/", 1)[1] for path in m.UNARY_METHODS]
        raise InvalidInput("method", f'there is no method "{method}"'
                                     f'{_names.did_you_mean(method, names)} '
                                     f'(methods: {", ".join(names)})')
    types = m.UNARY_METHODS[paths[0]]
    message = m.message_class(types.request)()
    if hasattr(request, "SerializeToString"):
        message.ParseFromString(request.SerializeToString())
    else:
        fill(message, request or {})

    def decode(data: bytes, call: CallInfo) -> m.Message:
        return m.message_class(types.response).FromString(data)

    return Call(paths[0], message.SerializeToString(), decode,
                shared_pushback=paths[0].startswith("/locus."))


def health(service: str) -> Call[str]:
    def decode(data: bytes, call: CallInfo) -> str:
        response = m.HealthCheckResponse.FromString(data)
        return str(response.DESCRIPTOR.fields_by_name["status"].enum_type.values_by_number[
            response.status].name)

    return Call("/grpc.health.v1.Health/Check",
                m.HealthCheckRequest(service=service).SerializeToString(), decode,
                shared_pushback=False)


def evaluate(schemes: Optional[Sequence[SchemeLike]], task: Optional[str],
             seeds: Optional[int], seed: Optional[int], train_length: Optional[int],
             eval_lengths: Optional[Sequence[int]], corpus: Optional[Union[str, bytes]],
             model: Optional[Mapping[str, Any]], training: Optional[Mapping[str, Any]],
             pattern: Optional[Mapping[str, Any]],
             task_options: Optional[Mapping[str, Any]]) -> Call[Event]:
    request = m.EvaluateRequest(schemes=[to_scheme(scheme) for scheme in schemes or ()])
    fill(request, {"train_length": train_length, "eval_lengths": eval_lengths, "seed": seed,
                   "seed_count": seeds})
    if task == "pattern" or (task is None and pattern is not None):
        if model or training or corpus or task_options:
            raise InvalidInput("task", "a pattern takes no model, training, corpus or task_options")
        request.pattern.SetInParent()
        fill(request.pattern, pattern or {}, "pattern")
    else:
        if pattern is not None:
            raise InvalidInput("pattern", f"cannot be combined with the task {task}")
        _set_task(request.trained, task or "text", corpus, task_options or {})
        fill(request.trained, {"model": model, "training": training})
    return Call("/locus.v1.EvaluationService/EvaluateExtrapolation", request.SerializeToString(),
                _event, shared_pushback=False)


def _set_task(trained: m.Message, task: str, corpus: Optional[Union[str, bytes]],
              options: Mapping[str, Any]) -> None:
    tasks = [field.name for field in trained.DESCRIPTOR.oneofs_by_name["task"].fields]
    name = _names.normalized(task)
    if name not in tasks:
        raise InvalidInput("task", f'there is no task "{task}"{_names.did_you_mean(name, tasks)} '
                                   f'(tasks: pattern, {", ".join(tasks)})')
    chosen = getattr(trained, name)
    chosen.SetInParent()
    fill(chosen, options, name)
    if corpus is None:
        return
    if "corpus" not in chosen.DESCRIPTOR.fields_by_name:
        raise InvalidInput("corpus", f"the task {name} takes no text")
    chosen.corpus = corpus.encode() if isinstance(corpus, str) else bytes(corpus)


def _event(data: bytes, call: CallInfo) -> Event:
    event = m.EvaluateResponse.FromString(data)
    which = event.WhichOneof("event")
    if which == "progress":
        p = event.progress
        return results.Progress(p.scheme_name, p.seed, p.step, p.step_count, p.loss,
                                p.remaining_seconds)
    if which == "cell":
        c = event.cell
        attention_map = to_array(c.attention_map) if c.HasField("attention_map") else None
        return results.Cell(c.scheme_name, c.seed, c.eval_length,
                            dict(sorted(c.metrics.items())), attention_map)
    s = event.summary
    rows = (results.EvaluationRow(r.scheme_name, r.eval_length, r.metric, r.mean, r.ci_low,
                                  r.ci_high, r.count) for r in s.rows)
    differences = (results.Difference(d.scheme_name, d.baseline_name, d.eval_length, d.metric,
                                      d.mean, d.ci_low, d.ci_high, d.count) for d in s.differences)
    gates = (results.Gate(g.scheme_name, g.metric, g.threshold, g.learned_share, g.passed)
             for g in s.gates)
    verdict = results.Verdict(_choice(s.verdict, "kind"), s.verdict.winner, s.verdict.text,
                              s.verdict.next_step)
    details = {name: value for name, value in _plain(s).items() if name not in _TYPED}
    return results.Summary(results.Table(rows), s.winner, s.reason, s.partial,
                           results.Table(differences), results.Table(gates), verdict, details,
                           json.loads(s.manifest_json or "{}"))


# Fields of a summary that have attributes with types of their own.
_TYPED = ("rows", "winner", "reason", "manifest_json", "partial", "differences", "gates", "verdict")


def _plain(message: m.Message) -> Dict[str, Any]:
    """The fields of a message that are set, as dictionaries, lists and numbers."""
    values: Dict[str, Any] = {}
    for field, value in message.ListFields():
        if _names.is_tensor(field):
            values[field.name] = to_array(value)
        elif field.message_type:
            values[field.name] = ([_plain(item) for item in value] if m.is_repeated(field)
                                  else _plain(value))
        else:
            values[field.name] = list(value) if m.is_repeated(field) else value
    return values
