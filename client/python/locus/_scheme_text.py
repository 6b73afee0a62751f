"""Schemes in protobuf text format with abbreviations, such as `RoPE { layout: half_split }`.

Walks through the tokens along the message descriptors, writes names and enum values out in full,
and leaves the rest to protobuf.
"""

from __future__ import annotations

import re
from typing import Any, List, NamedTuple, Optional, Tuple

from google.protobuf import text_format

from locus import _names
from locus._messages import Message, Scheme

_TOKEN = re.compile(r"""
    (?P<space>\s+|\#[^\n]*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<number>\.?[0-9](?:[eE][+-]|[\w.])*)
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<symbol>.)
""", re.VERBOSE | re.DOTALL)
_MAX_DEPTH = 32


class TextError(Exception):
    """An error at an offset of the text."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message


class _Token(NamedTuple):
    kind: str
    text: str
    offset: int


class _Scope(NamedTuple):
    message: Any  # the descriptor of the message, or None if it is unknown
    opened: int  # the number of messages that a name opened around it: 1 for `yarn`


class _Expander:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [_Token(str(found.lastgroup), found.group(), found.start())
                       for found in _TOKEN.finditer(text) if found.lastgroup != "space"]
        self.scopes = [_Scope(Scheme.DESCRIPTOR, 0)]
        self.pending = 0
        self.field: Any = None
        self.out: List[str] = []
        # Pairs of a column of the expanded text and an offset of the original text.
        self.starts: List[Tuple[int, int]] = []
        self.size = 0

    def run(self) -> str:
        is_bare = len(self.tokens) == 1 and self.tokens[0].kind == "name"
        for index in range(len(self.tokens)):
            self._add(index, is_bare)
        if is_bare:
            self._append(len(self.text), "{ }" + " }" * self.pending)
        if len(self.scopes) > 1:
            raise TextError(len(self.text.rstrip()),
                            "the text ends here, but a closing } is missing")
        return " ".join(self.out)

    def offset_of(self, column: int) -> int:
        """The offset of the original text for a column of the expanded text."""
        before = [offset for start, offset in self.starts if start <= column]
        return before[-1] if before and column < self.size else len(self.text.rstrip())

    def _append(self, offset: int, text: str) -> None:
        self.starts.append((self.size, offset))
        self.out.append(text)
        self.size += len(text) + 1

    def _has_value(self, index: int) -> bool:
        return (index + 1 < len(self.tokens) and
                self.tokens[index + 1].text in (":", "{", "<"))

    def _add(self, index: int, is_bare: bool) -> None:
        token = self.tokens[index]
        if token.text in ("{", "<"):
            if len(self.scopes) > _MAX_DEPTH:
                raise TextError(token.offset, "nested too deeply")
            message = self.field.message_type if self.field is not None else None
            self.scopes.append(_Scope(message, self.pending))
            self.pending, self.field = 0, None
        elif token.text in ("}", ">") and len(self.scopes) > 1:
            self._append(token.offset, token.text + " }" * self.scopes.pop().opened)
            return
        elif token.kind == "name":
            if self.scopes[-1].message is not None and (is_bare or self._has_value(index)):
                self._add_name(token)
                return
            if self.field is not None and self.field.enum_type:
                self._add_choice(token)
                return
        self._append(token.offset, token.text)

    def _add_name(self, token: _Token) -> None:
        message = self.scopes[-1].message
        self.field = _names.find_field(message, token.text)
        if message is Scheme.DESCRIPTOR or message.full_name == Scheme.DESCRIPTOR.full_name:
            named = _names.find_scheme(token.text)
            if named is not None:
                self.field = named.kind
                if named.group is not None:
                    self._append(token.offset, f"{named.kind.name} {{")
                    self.pending, self.field = 1, named.group
            elif self.field is None:
                raise TextError(token.offset, _names.unknown_scheme(token.text))
        if self.field is None:
            raise TextError(token.offset,
                            _names.unknown_field(token.text, _names.field_names(message)))
        self._append(token.offset, self.field.name)

    def _add_choice(self, token: _Token) -> None:
        choice = _names.find_choice(self.field.enum_type, token.text)
        if choice is None:
            raise TextError(token.offset, _names.unknown_choice(self.field, token.text))
        self._append(token.offset, choice.name)


def parse(text: str) -> Message:
    """Parses a scheme. Raises TextError."""
    expander = _Expander(text)
    expanded = expander.run()
    scheme = Scheme()
    try:
        text_format.Parse(expanded, scheme)
    except text_format.ParseError as error:
        column: Optional[int] = error.GetColumn()
        message = re.sub(r"^\d+:\d+ : ", "", str(error)).replace("locus.v1.", "")
        # protobuf quotes the whole line before the reason.
        message = message.rsplit("': ", 1)[-1]
        offset = expander.offset_of(column - 1) if column else len(text.rstrip())
        raise TextError(offset, message) from None
    return scheme
