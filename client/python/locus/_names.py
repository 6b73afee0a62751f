"""Names of schemes, fields and choices as people write them.

A scheme can be called by its name in the proto or by the first word of it ("t5" for t5_bias), by
the name of one of its parameter groups ("yarn" for rope with YaRN), or by a name from the
literature ("nope", "rotary"). Case does not matter, and a hyphen counts as an underscore. The
command line accepts the same names.
"""

from __future__ import annotations

import difflib
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from locus._messages import Descriptor, Scheme, fields_of

# Names from papers and libraries that cannot be derived from the proto.
_SYNONYMS: Dict[str, str] = {
    "nope": "none",
    "sin": "sinusoidal",
    "sine": "sinusoidal",
    "absolute": "learned",  # position_embedding_type of BERT
    "rotary": "rope",
    "pi": "linear",  # position interpolation
    "position_interpolation": "linear",
    "ntk_aware": "ntk",
    "su": "longrope",  # the former name in the transformers library
    "p_rope": "proportional",
}


class NamedScheme(NamedTuple):
    """A scheme that a name stands for."""

    kind: Any  # the field of the message Scheme
    group: Any  # the group of parameters that the name stands for, or None


def normalized(name: str) -> str:
    return name.lower().replace("-", "_")


def _kinds() -> List[Any]:
    return list(Scheme.DESCRIPTOR.oneofs_by_name["kind"].fields)


def is_tensor(field: Any) -> bool:
    return bool(field.message_type and field.message_type.full_name == "locus.v1.Tensor")


def groups_of(kind: Any) -> List[Any]:
    """The groups of a scheme: the messages of a oneof, except tensors."""
    return [field for field in kind.message_type.fields
            if field.containing_oneof and field.message_type and not is_tensor(field)]


def _is_name_of(name: str, full: str) -> bool:
    """Whether `name` is the whole of `full`, or the words before one of its underscores."""
    return name == full or full.startswith(name + "_")


def find_scheme(name: str) -> Optional[NamedScheme]:
    """The scheme that `name` stands for; None if there is none."""
    wanted = normalized(name)
    wanted = _SYNONYMS.get(wanted, wanted)
    for kind in _kinds():
        if _is_name_of(wanted, kind.name):
            return NamedScheme(kind, None)
        for group in groups_of(kind):
            if _is_name_of(wanted, group.name):
                return NamedScheme(kind, group)
    return None


def find_field(message: Descriptor, name: str) -> Any:
    """The field of a message with that name; None if there is none."""
    return message.fields_by_name.get(normalized(name))


def scheme_names() -> List[str]:
    return [kind.name for kind in _kinds()]


def _prefix_of(enum: Any) -> str:
    """The common prefix of all values. By convention, the first one is <PREFIX>UNSPECIFIED."""
    name = str(enum.values[0].name)
    return name[:-len("UNSPECIFIED")] if name.endswith("UNSPECIFIED") else ""


def find_choice(enum: Any, name: str) -> Any:
    """The value of an enum: its full name, or its name without the common prefix; None if there is
    none."""
    upper = normalized(name).upper()
    return enum.values_by_name.get(upper) or enum.values_by_name.get(_prefix_of(enum) + upper)


def did_you_mean(word: str, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(normalized(word), [name.lower() for name in names], 1)
    found = next((name for name in names if close and name.lower() == close[0]), None)
    return f"; did you mean {found}?" if found else ""


def unknown_scheme(name: str) -> str:
    groups = [group.name for kind in _kinds() for group in groups_of(kind)]
    return (f'there is no scheme "{name}"{did_you_mean(name, scheme_names() + groups)} '
            f'(schemes: {", ".join(scheme_names())})')


def unknown_field(name: str, names: Sequence[str]) -> str:
    return (f'there is no field "{name}"{did_you_mean(name, names)} '
            f'(fields: {", ".join(names) or "none"})')


def unknown_choice(field: Any, name: str) -> str:
    prefix = _prefix_of(field.enum_type)
    names = [value.name[len(prefix):] for value in field.enum_type.values[1:]]
    return (f'{field.name} has no choice "{name}"{did_you_mean(name, names)} '
            f'(choices: {", ".join(names)})')


def short_choice(field: Any, number: int) -> str:
    """The name of an enum value without the common prefix, in lower case."""
    value = field.enum_type.values_by_number.get(number)
    return str(value.name)[len(_prefix_of(field.enum_type)):].lower() if value else str(number)


def field_names(message: Descriptor) -> List[str]:
    return list(fields_of(message))
