"""Protobuf's wire format, for messages with large tensors.

protobuf copies a bytes field when it is set, serialised, parsed and read. The functions here write
the elements of a tensor once, into the request, and find them in a response without copying. All
other fields are left to protobuf. https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Tuple, Union

from locus._messages import Descriptor, Message, fields_of, is_repeated

Buffer = Union[bytes, memoryview]
# Elements by the path of the Tensor that they belong to, such as ("heads", "q").
Elements = Mapping[Tuple[str, ...], memoryview]

_LENGTH_DELIMITED = 2
_TENSOR = "locus.v1.Tensor"
_DATA = 3  # the number of Tensor.data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, parts: List[Buffer]) -> List[Buffer]:
    size = sum(len(part) for part in parts)
    return [_varint(number << 3 | _LENGTH_DELIMITED) + _varint(size), *parts]


def _parts(message: Message, elements: Elements) -> List[Buffer]:
    if () in elements:
        return [message.SerializeToString(), *_field(_DATA, [elements[()]])]
    inner: Dict[str, Dict[Tuple[str, ...], memoryview]] = {}
    for path, data in elements.items():
        inner.setdefault(path[0], {})[path[1:]] = data
    rest = type(message)()
    rest.CopyFrom(message)
    for name in inner:
        rest.ClearField(name)
    parts: List[Buffer] = [rest.SerializeToString()]
    for name, below in inner.items():
        number = message.DESCRIPTOR.fields_by_name[name].number
        parts += _field(number, _parts(getattr(message, name), below))
    return parts


def serialize(message: Message, elements: Elements) -> bytes:
    """The message as bytes, with these elements as the data of its tensors."""
    if not elements:
        return bytes(message.SerializeToString())
    return b"".join(_parts(message, elements))


def _read_varint(view: memoryview, at: int) -> Tuple[int, int]:
    value = shift = 0
    while True:
        byte = view[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7


def _read_fields(view: memoryview) -> Iterator[Tuple[int, int, int, int, int]]:
    """The fields of a message: (number, wire type, start of the field, start and end of its
    value)."""
    at = 0
    while at < len(view):
        start = at
        tag, at = _read_varint(view, at)
        kind, size = tag & 7, 0
        value = at
        if kind == 0:
            _, at = _read_varint(view, at)
        elif kind == 1:
            at += 8
        elif kind == _LENGTH_DELIMITED:
            size, value = _read_varint(view, at)
            at = value + size
        elif kind == 5:
            at += 4
        else:
            raise ValueError(f"wire type {kind} is not supported")
        if at > len(view):
            raise ValueError("the message is truncated")
        yield tag >> 3, kind, start, value, at


def _holds_tensor(descriptor: Descriptor) -> bool:
    """Whether a Tensor is the message or a field of it, at any depth."""
    pending, seen = [descriptor], set()
    while pending:
        current = pending.pop()
        if current.full_name == _TENSOR:
            return True
        if current.full_name in seen:
            continue
        seen.add(current.full_name)
        pending += [field.message_type for field in current.fields if field.message_type]
    return False


def _strip(view: memoryview, descriptor: Descriptor, path: Tuple[str, ...],
           found: Dict[Tuple[str, ...], memoryview]) -> List[Buffer]:
    """Copies a message without the elements of its tensors, and adds these to `found`."""
    tensors: Dict[int, Any] = {}
    for field in fields_of(descriptor).values():
        if field.message_type and not is_repeated(field) and _holds_tensor(field.message_type):
            tensors[field.number] = field
    parts: List[Buffer] = []
    for number, kind, start, value, end in _read_fields(view):
        if descriptor.full_name == _TENSOR and number == _DATA and kind == _LENGTH_DELIMITED:
            found[path] = view[value:end]
        elif number in tensors and kind == _LENGTH_DELIMITED:
            field = tensors[number]
            inner = _strip(view[value:end], field.message_type, path + (field.name,), found)
            parts += _field(number, inner)
        else:
            parts.append(view[start:end])
    return parts


def parse(message_class: Any, data: bytes) -> Tuple[Message, Dict[Tuple[str, ...], memoryview]]:
    """Parses a message. The elements of tensors outside of repeated fields are not in the message,
    but in the returned dictionary, as views of `data`."""
    found: Dict[Tuple[str, ...], memoryview] = {}
    try:
        parts = _strip(memoryview(data), message_class.DESCRIPTOR, (), found)
    except (IndexError, ValueError):
        # protobuf decides whether the bytes are a message.
        return message_class.FromString(data), {}
    return message_class.FromString(b"".join(parts)), found
