"""The short form of schemes, parsed along the descriptors of the proto:

    rope:base=500000,yarn.factor=4        rope(base=5e5, yarn(factor=4))
    alibi:symmetric                       rope yarn=4 layout=half-split
    alibi:slopes=[0.5,0.25]               yarn(factor=4, base=5e5)

A group with a number (`yarn=4`, `yarn×4`) sets the factor of the group. A flag without a value is
true. Parameters are separated by commas or spaces.
"""

from __future__ import annotations

import re
from typing import Any, List, Optional, Set, Tuple

from locus import _names
from locus._messages import Message, Scheme, is_repeated
from locus._scheme_text import TextError

_TIMES = "\u00d7"
_NAME = re.compile(r"[A-Za-z0-9_-]*")
_LIST_OR_VALUE = re.compile(r"\[[^\]]*\]?|[^,)\s]*")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf(inity)?|nan)",
                     re.IGNORECASE)
_MAX_DEPTH = 8
_MAX_EXACT = 2.0**53
_FLAGS = {"true": True, "t": True, "yes": True, "y": True, "1": True,
          "false": False, "f": False, "no": False, "n": False, "0": False}


def _number(text: str) -> Optional[float]:
    return float(text) if _NUMBER.fullmatch(text) else None


def _integer(text: str) -> Optional[int]:
    """An integer, which may be written like a number: 8192 or 4e3."""
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    number = _number(text)
    if number is None or abs(number) > _MAX_EXACT or number != int(number):
        return None
    return int(number)


def name_end(text: str) -> Optional[Tuple[_names.NamedScheme, int]]:
    """If `text` begins with the name of a scheme in the short form: the scheme, and the end of its
    name."""
    start = len(text) - len(text.lstrip())
    end = start + len(_NAME.match(text, start).group())  # type: ignore[union-attr]
    named = _names.find_scheme(text[start:end])
    rest = text[end:].lstrip()
    if named is None:
        return None
    if not rest and "-" in text:  # text format has no hyphens
        return named, end
    # A bare name, a message (`rope {`, `rope: {`), or a comment is in text format.
    if not rest or rest[0] in "{<#":
        return None
    if rest[0] == ":":
        return None if rest[1:].lstrip()[:1] in ("{", "<") else (named, end)
    is_separated = text[end].isspace()
    is_short = rest[0] in ("(", _TIMES) or (is_separated and rest[0].isalpha())
    return (named, end) if is_short else None


class _Parser:
    def __init__(self, text: str, offset: int) -> None:
        self.text = text
        self.at = offset
        self.given: Set[Any] = set()

    def run(self, named: _names.NamedScheme) -> Message:
        scheme = Scheme()
        kind = getattr(scheme, named.kind.name)
        kind.SetInParent()
        scopes = [kind, scheme]
        if named.group is not None:
            group = getattr(kind, named.group.name)
            group.SetInParent()
            scopes.insert(0, group)
        if self.text.startswith(_TIMES, self.at):
            self.at += 1
            self._group_factor(scopes[0])
            self._skip_separator()
        has_parenthesis = self._take("(")
        if not has_parenthesis:
            self._take(":")
        self._parameters(scopes, 0)
        if has_parenthesis and not self._take(")"):
            raise TextError(self.at, "a closing ) is missing")
        self._skip_space()
        if self.at < len(self.text):
            raise TextError(self.at, "the scheme should end here")
        return scheme

    def _skip_space(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _skip_separator(self) -> None:
        self._skip_space()
        if self._take(","):
            self._skip_space()

    def _take(self, character: str) -> bool:
        self._skip_space()
        if not self.text.startswith(character, self.at):
            return False
        self.at += 1
        return True

    def _take_name(self) -> str:
        name = _NAME.match(self.text, self.at).group()  # type: ignore[union-attr]
        self.at += len(name)
        return name

    def _take_value(self) -> str:
        self._skip_space()
        value = _LIST_OR_VALUE.match(self.text, self.at).group()  # type: ignore[union-attr]
        self.at += len(value)
        return value

    def _parameters(self, scopes: List[Message], depth: int) -> None:
        """Parses up to the end of the text or a closing parenthesis. The first name of a path is
        looked up in each scope in turn."""
        while True:
            self._skip_space()
            if self.at >= len(self.text) or self.text[self.at] == ")":
                return
            self._parameter(scopes, depth)
            self._skip_separator()

    def _parameter(self, scopes: List[Message], depth: int) -> None:
        start = self.at
        name = self._take_name()
        if not name:
            raise TextError(start, "expected the name of a parameter")
        for message in scopes:
            field = _find_parameter(message, name)
            if field is not None:
                break
        else:
            raise TextError(start, _unknown(name, scopes))
        while self.text.startswith(".", self.at):
            self.at += 1
            message = self._enter(start, message, field)
            part = self.at
            name = self._take_name()
            field = _find_parameter(message, name)
            if field is None:
                raise TextError(part, _unknown(name, [message]))
        self._assign(start, message, field, depth)

    def _enter(self, offset: int, message: Message, field: Any) -> Message:
        """Sets a field that is a message, and returns the message."""
        if not field.message_type or is_repeated(field) or _names.is_tensor(field):
            raise TextError(offset, f"{field.name} has no fields")
        self._check_oneof(offset, message, field)
        inner = getattr(message, field.name)
        inner.SetInParent()
        return inner

    def _check_oneof(self, offset: int, message: Message, field: Any) -> None:
        oneof = field.containing_oneof
        other = message.WhichOneof(oneof.name) if oneof else None
        if other is not None and other != field.name:
            raise TextError(offset, f"{other} and {field.name} exclude each other; "
                                    f"give one {oneof.name}")

    def _assign(self, start: int, message: Message, field: Any, depth: int) -> None:
        if field.message_type:
            group = self._enter(start, message, field)
            if self._take(_TIMES) or self._take("="):
                self._group_factor(group)
            elif self._take("("):
                if depth >= _MAX_DEPTH:
                    raise TextError(self.at, "nested too deeply")
                self._parameters([group], depth + 1)
                if not self._take(")"):
                    raise TextError(self.at, "a closing ) is missing")
            return
        self._check_oneof(start, message, field)
        self._give(start, field)
        if not self._take("="):
            if field.cpp_type != field.CPPTYPE_BOOL:
                raise TextError(self.at, f"{field.name} needs a value: {field.name}=...")
            setattr(message, field.name, True)
            return
        self._skip_space()
        value = self.at
        if is_repeated(field):
            self._set_list(value, self._take_value(), message, field)
        else:
            self._set_value(value, self._take_value(), message, field)

    def _give(self, offset: int, field: Any) -> None:
        if field.full_name in self.given:
            raise TextError(offset, f"{field.name} is given twice")
        self.given.add(field.full_name)

    def _group_factor(self, group: Message) -> None:
        factor = group.DESCRIPTOR.fields_by_name.get("factor")
        self._skip_space()
        value = self.at
        if factor is None:
            names = ", ".join(_names.field_names(group.DESCRIPTOR))
            raise TextError(value, f"has no factor; write its parameters by name ({names})")
        self._give(value, factor)
        self._set_value(value, self._take_value(), group, factor)

    def _set_list(self, offset: int, value: str, message: Message, field: Any) -> None:
        if field.cpp_type != field.CPPTYPE_DOUBLE:
            raise TextError(offset, f"{field.name} cannot be written in this form")
        if value.startswith("[") and not value.endswith("]"):
            raise TextError(self.at, "a closing ] is missing")
        for found in re.finditer(r"[^,\s\[\]]+", value):
            number = _number(found.group())
            if number is None:
                raise TextError(offset + found.start(),
                                f'{field.name} is "{found.group()}"; must be a number')
            getattr(message, field.name).append(number)

    def _set_value(self, offset: int, value: str, message: Message, field: Any) -> None:
        parsed: Any = None
        rule = "in another form"
        if field.cpp_type == field.CPPTYPE_DOUBLE:
            parsed, rule = _number(value), "a number"
        elif field.cpp_type == field.CPPTYPE_INT64:
            parsed, rule = _integer(value), "an integer"
        elif field.cpp_type == field.CPPTYPE_UINT64:
            parsed, rule = _integer(value), "an integer that is not negative"
            parsed = None if parsed is not None and parsed < 0 else parsed
        elif field.cpp_type == field.CPPTYPE_BOOL:
            parsed, rule = _FLAGS.get(value.lower()), "true or false"
        elif field.cpp_type == field.CPPTYPE_STRING:
            parsed = value
        elif field.cpp_type == field.CPPTYPE_ENUM:
            choice = _names.find_choice(field.enum_type, value)
            if choice is None:
                raise TextError(offset, _names.unknown_choice(field, value))
            parsed = choice.number
        if parsed is None:
            raise TextError(offset, f'{field.name} is "{value}"; must be {rule}')
        try:
            setattr(message, field.name, parsed)
        except ValueError:
            raise TextError(offset, f'{field.name} is "{value}"; must be {rule} '
                                    "of 64 bits") from None


def _find_parameter(message: Message, name: str) -> Any:
    """The field with this name. Kinds of schemes are no parameters."""
    field = _names.find_field(message.DESCRIPTOR, name)
    is_kind = (field is not None and field.containing_oneof is not None and
               field.containing_oneof.full_name == "locus.v1.Scheme.kind")
    return None if is_kind else field


def _unknown(name: str, scopes: List[Message]) -> str:
    names = [field for scope in scopes if scope.DESCRIPTOR.full_name != "locus.v1.Scheme"
             for field in _names.field_names(scope.DESCRIPTOR)]
    return _names.unknown_field(name, names)


def parse(text: str, offset: int, named: _names.NamedScheme) -> Message:
    """Parses the parameters of a scheme from `offset` on. Raises TextError."""
    return _Parser(text, offset).run(named)
