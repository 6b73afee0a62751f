"""Schemes as people write them: text, short form, dictionary, message or config.json."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
from typing import Any, List, Mapping, Optional, Tuple, Union

from locus import _names, _programs, _scheme_short, _scheme_text
from locus._fill import fill, set_field
from locus._messages import Message, Scheme
from locus.errors import InvalidInput, LocalServerError, SchemeError

# A name ("rope"), a short form ("rope:base=500000,yarn.factor=4", "rope(base=5e5)"), protobuf text
# format ("rope { base: 500000 }"), a dictionary ({"rope": {"base": 500000}}), a message of type
# locus.v1.Scheme, or a model's configuration: a path, or text that ends in .json.
SchemeLike = Union[str, "os.PathLike[str]", Mapping[str, Any], Any]

_MAX_WIDTH = 72
_READ_SECONDS = 30
# A label has no character that a scheme could begin its parameters with.
_LABEL = re.compile(r"""([^=:{}()\[\]<>,#"']+)=(?=\s*[A-Za-z])""")


def _error(text: str, error: _scheme_text.TextError) -> SchemeError:
    """The error with its place in the text and a caret below it."""
    offset = min(error.offset, len(text))
    start = text.rfind("\n", 0, offset) + 1
    line = text[start:].split("\n", 1)[0]
    column = offset - start
    place = f"column {column + 1}: "
    if "\n" in text:
        place = f"line {text.count(chr(10), 0, offset) + 1}, {place}"
    cut = max(0, column - 48) if len(line) > _MAX_WIDTH else 0
    shown = "".join(c if c.isprintable() else "?" for c in line[cut:cut + _MAX_WIDTH])
    return SchemeError(f"{place}{error.message}\n  {shown}\n  {' ' * (column - cut)}^")


def _split_label(text: str) -> Tuple[str, int]:
    """The label of `NAME=SCHEME` and the offset of the scheme; ("", 0) without a label."""
    found = _LABEL.match(text)
    if found is None or _names.find_scheme(found.group(1).strip()) is not None:
        return "", 0
    return found.group(1).strip(), found.end()


def parse_scheme(text: str) -> Message:
    """The Scheme message of a text. Raises SchemeError."""
    plain = text.replace("\t", " ").replace("\r", " ")
    label, start = _split_label(plain)
    if label:
        scheme = parse_scheme(plain[start:])
        scheme.label = label
        return scheme
    try:
        short = _scheme_short.name_end(plain)
        scheme = (_scheme_short.parse(plain, short[1], short[0]) if short
                  else _scheme_text.parse(plain))
    except _scheme_text.TextError as error:
        raise _error(plain, error) from None
    if scheme.WhichOneof("kind") is None:
        raise SchemeError(f"names no scheme; schemes: {', '.join(_names.scheme_names())}")
    return scheme


def _from_mapping(values: Mapping[str, Any]) -> Message:
    """A scheme from {name: parameters}, with any of the names of a scheme."""
    scheme = Scheme()
    try:
        for name, value in values.items():
            named = _names.find_scheme(name)
            if named is None:
                fill(scheme, {name: value})
                continue
            if scheme.WhichOneof("kind") not in (None, named.kind.name):
                raise InvalidInput(name, "a scheme is given already")
            target, field = scheme, named.kind
            if named.group is not None:
                target, field = getattr(scheme, named.kind.name), named.group
            set_field(target, field, {} if value is None or value is True else value, name)
    except InvalidInput as error:
        raise SchemeError(str(error)) from None
    if scheme.WhichOneof("kind") is None:
        raise SchemeError(f"names no scheme; schemes: {', '.join(_names.scheme_names())}")
    return scheme


def to_scheme(value: SchemeLike) -> Message:
    """The Scheme message for anything that stands for a scheme."""
    if isinstance(value, ModelConfig):
        return value.scheme
    if isinstance(value, os.PathLike):
        return read_config(value).scheme
    if isinstance(value, str):
        if value.lower().endswith(".json"):
            return read_config(value).scheme
        return parse_scheme(value)
    if isinstance(value, Mapping):
        return _from_mapping(value)
    descriptor = getattr(value, "DESCRIPTOR", None)
    if descriptor is not None and descriptor.full_name == Scheme.DESCRIPTOR.full_name:
        scheme = Scheme()  # the message may be of a generated class
        scheme.ParseFromString(value.SerializeToString())
        return scheme
    raise SchemeError(f"a scheme cannot be made of {type(value).__name__}; "
                      "use text, a dictionary, a Scheme message or the path of a config.json")


def scheme_name(scheme: Message) -> str:
    """The name of a scheme, such as "rope"."""
    return scheme.WhichOneof("kind") or ""


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """The positional encoding of a model, read from its Hugging Face config.json. Can be passed
    wherever a scheme is expected. Sizes are None if the configuration does not have them."""

    scheme: Message
    scheme_text: str
    head_dim: Optional[int]
    head_count: Optional[int]
    trained_length: Optional[int]
    target_length: Optional[int]
    notes: List[str]


def read_config(path: Union[str, "os.PathLike[str]"]) -> ModelConfig:
    """Reads a Hugging Face config.json with the program `locus`, which knows the model types."""
    name = os.fspath(path)
    if not os.path.exists(name):
        raise SchemeError(f"{name}: there is no such file")
    program = _programs.find("locus")
    done = subprocess.run([program, "hf-config", "--hf-config", name, "--json"],
                          capture_output=True, text=True, timeout=_READ_SECONDS, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().replace("locus: ", "", 1)
        if "--json" in reason:
            raise LocalServerError(f"{program} is too old to read configurations for this package")
        raise SchemeError(f"{name}: {reason}")
    read = json.loads(done.stdout)
    return ModelConfig(
        scheme=_from_mapping(read["scheme"]), scheme_text=read["scheme_text"],
        head_dim=read.get("head_dim"), head_count=read.get("head_count"),
        trained_length=read.get("trained_length"), target_length=read.get("target_length"),
        notes=list(read.get("notes", [])))
