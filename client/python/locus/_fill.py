"""Sets fields of messages from Python values, along their descriptors.

Used for schemes that are given as dictionaries and for options of calls. Names may be written in
any case and with hyphens, enum values without their prefix, tensors as arrays, and positions as
ranges, lists or arrays.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np

from locus import _names
from locus._messages import Message, is_repeated
from locus._tensors import tensor_of
from locus.errors import InvalidInput

_MAX_DEPTH = 16


def set_positions(message: Message, positions: Any, field: str) -> None:
    """Sets a Positions message. A number n stands for 0 .. n - 1, and a range with step 1 takes no
    memory, however long it is. Fractional positions and arrays [axes, T] need a server that
    supports several axes."""
    if isinstance(positions, (int, np.integer)) and not isinstance(positions, bool):
        positions = range(int(positions))
    if isinstance(positions, range) and positions.step == 1:
        message.range.start = positions.start if positions else 0
        message.range.count = len(positions)
        message.range.SetInParent()
        return
    array = np.asarray(positions)
    if array.size == 0:
        array = array.astype("int64")
    has_axes = "axes" in message.DESCRIPTOR.fields_by_name
    if has_axes and (array.dtype.kind == "f" or array.ndim == 2):
        message.axes.CopyFrom(tensor_of(array if array.ndim == 2 else array[None], field))
        return
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InvalidInput(field, "must be a count, a range or a list of integers")
    message.ids.ids.extend(array.tolist())
    message.ids.SetInParent()


def fill(message: Message, values: Mapping[str, Any], path: str = "", depth: int = 0) -> None:
    """Sets the fields of `message`. None leaves a field unset. `path` is for error messages."""
    if depth > _MAX_DEPTH:
        raise InvalidInput(path, "is nested too deeply")
    for name, value in values.items():
        where = f"{path}.{name}" if path else name
        field = _names.find_field(message.DESCRIPTOR, name)
        if field is None:
            rule = _names.unknown_field(name, _names.field_names(message.DESCRIPTOR))
            raise InvalidInput(where, rule)
        if value is not None:
            set_field(message, field, value, where, depth)


def set_field(message: Message, field: Any, value: Any, where: str, depth: int = 0) -> None:
    """Sets one field, given by its descriptor."""
    if is_repeated(field):
        _set_repeated(message, field, value, where, depth)
    elif field.message_type:
        inner = getattr(message, field.name)
        inner.SetInParent()
        _set_message(inner, field, value, where, depth)
    elif field.enum_type:
        setattr(message, field.name, _choice(field, value, where))
    else:
        try:
            setattr(message, field.name, _scalar(field, value))
        except (TypeError, ValueError, OverflowError):
            raise InvalidInput(where, f"is {value!r}; must be {_type_name(field)}") from None


def _set_message(inner: Message, field: Any, value: Any, where: str, depth: int) -> None:
    kind = field.message_type.full_name
    if kind == "locus.v1.Tensor":
        inner.CopyFrom(tensor_of(value, where))
    elif kind == "locus.v1.Positions":
        set_positions(inner, value, where)
    elif kind == "locus.v1.Scheme":
        from locus import _schemes  # schemes use this module too
        inner.CopyFrom(_schemes.to_scheme(value))
    elif isinstance(value, Mapping):
        fill(inner, value, where, depth + 1)
    elif hasattr(value, "DESCRIPTOR"):
        inner.CopyFrom(value)
    elif isinstance(value, bool):
        if not value:
            raise InvalidInput(where, "is False; leave it out instead")
    elif isinstance(value, (int, float)) and "factor" in field.message_type.fields_by_name:
        fill(inner, {"factor": value}, where, depth + 1)
    else:
        raise InvalidInput(where, f"is {value!r}; must be a dictionary of its fields")


def _set_repeated(message: Message, field: Any, value: Any, where: str, depth: int) -> None:
    items: Sequence[Any] = list(np.asarray(value).tolist()) if hasattr(value, "__array__") else (
        list(value) if isinstance(value, (list, tuple, range)) else [value])
    target = getattr(message, field.name)
    for index, item in enumerate(items):
        if field.message_type:
            _set_message(target.add(), field, item, f"{where}[{index}]", depth)
            continue
        try:
            target.append(_scalar(field, item))
        except (TypeError, ValueError, OverflowError):
            rule = f"is {item!r}; must be {_type_name(field)}"
            raise InvalidInput(f"{where}[{index}]", rule) from None


def _choice(field: Any, value: Any, where: str) -> int:
    if isinstance(value, int):
        return value
    choice = _names.find_choice(field.enum_type, str(value))
    if choice is None:
        raise InvalidInput(where, _names.unknown_choice(field, str(value)))
    return int(choice.number)


def _scalar(field: Any, value: Any) -> Any:
    """`value` as a type that protobuf accepts for the field."""
    if isinstance(value, np.generic) or (hasattr(value, "item") and not isinstance(value, str)):
        value = value.item()
    is_integer = field.cpp_type in (field.CPPTYPE_INT64, field.CPPTYPE_UINT64,
                                    field.CPPTYPE_INT32, field.CPPTYPE_UINT32)
    if is_integer and isinstance(value, str):  # 64-bit integers in protobuf's JSON
        return int(value)
    if is_integer and isinstance(value, float) and value.is_integer():
        return int(value)
    if is_integer and isinstance(value, bool):
        raise TypeError("a bool is not an integer")
    if field.cpp_type == field.CPPTYPE_BOOL and not isinstance(value, bool):
        raise TypeError("not a bool")
    if field.cpp_type == field.CPPTYPE_DOUBLE:
        if isinstance(value, bool):
            raise TypeError("a bool is not a number")
        return float(value)
    return value


def _type_name(field: Any) -> str:
    return {field.CPPTYPE_BOOL: "True or False", field.CPPTYPE_DOUBLE: "a number",
            field.CPPTYPE_STRING: "text", field.CPPTYPE_UINT64: "an integer, at least 0"}.get(
                field.cpp_type, "an integer")
