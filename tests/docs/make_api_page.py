#!/usr/bin/env python3
"""Writes docs/api.md from the comments of proto/locus/v1/*.proto.

    python3 tests/docs/make_api_page.py [OUTPUT]

The parser covers the part of the protobuf language that our files use and fails on anything
else, so that no declaration is left out silently.
"""

import dataclasses
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROTO = ROOT / "proto" / "locus" / "v1"
PAGE = ROOT / "docs" / "api.md"
# The order of the page; a file that is missing here fails the generation.
FILES = ("encoding.proto", "attention.proto", "evaluation.proto", "scheme.proto", "tensor.proto")

INTRODUCTION = """\
# API reference

<!-- Generated from proto/locus/v1 by tests/docs/make_api_page.py. Edit those files instead. -->

The contract of `locusd`: three gRPC services in the protobuf package `locus.v1`, defined in [proto/locus/v1](../proto/locus/v1). This page is generated from the comments there.

## Conventions

- **Transport.** gRPC over HTTP/2, on `--listen` (`127.0.0.1:50051` by default). Compressed requests are not supported and fail with `UNIMPLEMENTED`. A message may have at most `--max-message-bytes` (512 MiB by default).
- **Tensors** travel as `{dtype, shape, data}`: raw bytes, row-major, little-endian, of exactly the size that shape and type imply. See [Tensor](#tensor).
- **Defaults.** An unset field has the default that its comment names. A scheme parameter whose default is not zero is `optional`, so that 0 is distinct from unset.
- **Compatibility.** Fields and methods are only added. A test compares the contract with the committed one. Servers ignore fields that they do not know.
- **Deadlines.** Set one on every call. The server stops computing when the deadline passes or the client cancels. It rejects a call at once if the deadline would pass before the call could be served.
- **Other services.** `grpc.health.v1.Health` (`Check` and `Watch`, for the server as a whole and for each service) and server reflection (`grpc.reflection.v1` and `v1alpha`), which also describes the `google.rpc` types of error details.

## Metadata

| direction | key | meaning |
|---|---|---|
| request | `x-request-id` | An id for the call, 1 to 128 visible ASCII characters. The server generates one if it is missing or malformed. |
| request | `traceparent` | W3C trace context. The server writes it to its log. |
| request | `authorization` | `Bearer TOKEN`. Required if the server runs with `--auth-tokens`. |
| trailer | `x-request-id` | The id of the call, as in the server's log. |
| trailer | `locus-queue-us` | Microseconds that the call waited before it computed. |
| trailer | `locus-compute-us` | Microseconds that the call computed. |
| trailer | `grpc-retry-pushback-ms` | On a rejected call: milliseconds to wait before a retry. |

## Errors

A failed call has a status code, a message of one sentence, and a `google.rpc.Status` in the trailer `grpc-status-details-bin`. Its details start with a `google.rpc.ErrorInfo` of the domain `locus.v1`; a second detail depends on the code:

| code | reason in ErrorInfo | second detail | cause | retry |
|---|---|---|---|---|
| `INVALID_ARGUMENT` | `INVALID_FIELD` | `BadRequest` with the path of the field | The request is wrong. The metadata of ErrorInfo has the path as `field`. | no |
| `RESOURCE_EXHAUSTED` | `LIMIT_EXCEEDED` | `QuotaFailure` with the name of the limit | The request exceeds a limit of the server and can never succeed there. The metadata of ErrorInfo has the `limit` and, where one applies, the `field`. | no |
| `UNAVAILABLE` | `OVERLOADED` | `RetryInfo` | The server lacks capacity at the moment. | after the delay, or on another server |
| `UNAVAILABLE` | `DRAINING` | `RetryInfo` | The server is shutting down. | on another server |
| `DEADLINE_EXCEEDED` | `DEADLINE_EXCEEDED` | | The deadline passed. | |
| `CANCELLED` | `CANCELLED` | | The call was cancelled. | |
| `INTERNAL` | `INTERNAL` | | A bug in the server. The message is generic; the server's log has the error under the request id. | |

gRPC itself generates some errors, without details: `UNAUTHENTICATED` for a missing or wrong token, `UNIMPLEMENTED` for an unknown method, `RESOURCE_EXHAUSTED` for a message above `--max-message-bytes`. A client library generates `RESOURCE_EXHAUSTED` for a response above its own limit, see below.

No method changes state on the server, so every call is safe to retry. Clients should retry `UNAVAILABLE` only, after the delay in `RetryInfo`; [overload.md](overload.md) describes when the server rejects calls.

## Large responses

gRPC clients accept messages of at most 4 MiB by default. `Encode` for 8192 positions of width 128, or `Attend` with 8 heads of 2048 queries and width 64, returns more. The call then fails in the client, while the server logs `OK`:

```
RESOURCE_EXHAUSTED: Received message larger than max (4195357 vs. 4194304)
```

This error has no details, and a retry fails in the same way. The `locus` command and the C++ client library of Locus have no limit. Other clients can raise theirs:

| language | setting |
|---|---|
| Python | `grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", -1)])` |
| Node (`@grpc/grpc-js`) | `new Client(address, credentials, {"grpc.max_receive_message_length": -1})` |
| Go | `grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1 << 30))` |
| C++ | `grpc::ChannelArguments arguments; arguments.SetMaxReceiveMessageSize(-1);` |

Requests are not limited by most clients, but by `--max-message-bytes` of the server.

Alternatively, fetch a table in pages. Set `sequence_length` to the length of the whole table: the rows are then bit for bit those of a single call, for every scheme.

```python
def table(stub, scheme, length, dim, page=4096):
    rows = []
    for start in range(0, length, page):
        request = EncodeRequest(scheme=scheme, dim=dim, sequence_length=length)
        request.positions.range.start = start
        request.positions.range.count = min(page, length - start)
        rows.append(stub.Encode(request).additive.table.data)
    return numpy.frombuffer(b"".join(rows), "<f4").reshape(length, dim)
```

For a bias of shape [H, Tq, Tk], page over the queries, and set `key_positions` to all keys. For `Attend`, page over the queries: send a part of `q` with all of `k` and `v`, and the index of its first query as `query_offset`.
"""

COMMENT = re.compile(r"//\s?(.*)")
FIELD = re.compile(r"(?:(optional|repeated) )?(map<\w+, [\w.]+>|[\w.]+) (\w+) = (\d+);")
RPC = re.compile(r"rpc (\w+)\((stream )?([\w.]+)\) returns \((stream )?([\w.]+)\);")
VALUE = re.compile(r"(\w+) = (\d+);")
BLOCK = re.compile(r"(service|message|enum|oneof) (\w+) \{(\})?")
IGNORED = re.compile(r"syntax = .*;|package .*;|import .*;|option .*;|reserved .*;")


@dataclasses.dataclass
class Item:
    """A declaration: a service, message, enum, oneof, method, field or enum value."""
    kind: str
    name: str
    comment: str = ""
    # The following three are set for fields and, in part, for enum values.
    number: str = ""
    label: str = ""
    type: str = ""
    # The following three are set for methods.
    request: str = ""
    response: str = ""
    streams: bool = False
    members: list = dataclasses.field(default_factory=list)


def statements(text):
    """Yields (line number, comment above, statement), with statements that span lines joined."""
    comment, pending, start = [], "", 0
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not pending:
            if found := COMMENT.fullmatch(line):
                comment.append(found[1])
                continue
            if not line:
                comment = []
                continue
            start = number
        pending = f"{pending} {line}".strip()
        if pending[-1] in ";{}":
            yield start, "\n".join(comment), re.sub(r"\( ", "(", pending)
            comment, pending = [], ""
    if pending:
        raise ValueError(f"line {start}: unfinished statement: {pending}")


def parse_statement(kind, statement):
    """Returns the declaration that a statement makes inside a block of that kind, or None."""
    if found := BLOCK.fullmatch(statement):
        return Item(found[1], found[2])
    if kind == "service" and (found := RPC.fullmatch(statement)):
        if found[2]:
            return None
        return Item("rpc", found[1], request=found[3], response=found[5], streams=bool(found[4]))
    if kind == "enum" and (found := VALUE.fullmatch(statement)):
        return Item("value", found[1], number=found[2])
    if kind in ("message", "oneof") and (found := FIELD.fullmatch(statement)):
        return Item("field", found[3], label=found[1] or "", type=found[2], number=found[4])
    return None


def parse(text, name):
    """Returns the top-level declarations of a .proto file."""
    top = Item("file", name)
    open_blocks = [top]
    for number, comment, statement in statements(text):
        if statement == "}":
            open_blocks.pop()
            if not open_blocks:
                raise ValueError(f"{name}:{number}: unmatched }}")
            continue
        if IGNORED.fullmatch(statement):
            continue
        item = parse_statement(open_blocks[-1].kind, statement)
        if item is None or (item.kind in ("message", "enum") and open_blocks[-1] is not top):
            raise ValueError(f"{name}:{number}: cannot document this: {statement}")
        item.comment = comment
        open_blocks[-1].members.append(item)
        if statement.endswith("{"):
            open_blocks.append(item)
    if open_blocks != [top]:
        raise ValueError(f"{name}: a block is not closed")
    return top.members


def paragraphs(comment):
    """A comment as Markdown: lines of a paragraph are joined, indented ones are code."""
    blocks = []
    for block in re.split(r"\n\s*\n", comment):
        lines = block.split("\n")
        if all(line.startswith("  ") for line in lines):
            blocks.append("\n".join(["```", *(line[2:] for line in lines), "```"]))
        else:
            blocks.append(escape(" ".join(line.strip() for line in lines)))
    return "\n\n".join(blocks)


def escape(text):
    """Text that Markdown would take for HTML, outside of `code`."""
    parts = text.split("`")
    return "`".join(part if index % 2 else part.replace("<", "&lt;")
                    for index, part in enumerate(parts))


def cell(comment):
    return escape(" ".join(comment.split())).replace("|", "\\|")


class Page:
    def __init__(self, files):
        """files: {name: declarations}."""
        self.files = files
        self.declared = {item.name for items in files.values() for item in items}

    def link(self, type_name):
        return f"[{type_name}](#{type_name.lower()})" if type_name in self.declared \
            else f"`{type_name}`"

    def of_kind(self, *kinds):
        for items in self.files.values():
            yield from (item for item in items if item.kind in kinds)

    def contents(self):
        lines = ["## Contents", ""]
        for service in self.of_kind("service"):
            methods = ", ".join(f"[{rpc.name}](#{rpc.name.lower()})" for rpc in service.members)
            lines.append(f"- {self.link(service.name)}: {methods}")
        for name, items in self.files.items():
            links = [self.link(item.name) for item in items if item.kind != "service"]
            lines.append(f"- Types of {name}: {', '.join(links)}")
        return "\n".join(lines) + "\n"

    def service(self, item):
        parts = [f"### {item.name}", paragraphs(item.comment)]
        for rpc in item.members:
            stream = "a stream of " if rpc.streams else ""
            parts += [f"#### {rpc.name}", paragraphs(rpc.comment),
                      f"Takes {self.link(rpc.request)}, returns {stream}"
                      f"{self.link(rpc.response)}."]
        return parts

    def rows(self, message):
        for member in message.members:
            if member.kind == "field":
                yield self.row(member, "")
                continue
            note = f"one of `{member.name}`"
            if member.comment:
                yield f"| *oneof* `{member.name}` | | | {cell(member.comment)} |"
            for field in member.members:
                yield self.row(field, note)

    def row(self, field, note):
        kind = f"{field.label} {self.link(field.type)}".strip()
        text = cell(field.comment)
        if note:
            text = f"{text} ({note})" if text else note
        return f"| `{field.name}` | {kind} | {field.number} | {text} |"

    def type(self, item):
        parts = [f"### {item.name}", paragraphs(item.comment)]
        if item.kind == "enum":
            parts.append("\n".join(["| value | number | meaning |", "|---|---|---|", *(
                f"| `{value.name}` | {value.number} | {cell(value.comment)} |"
                for value in item.members)]))
        elif item.members:
            parts.append("\n".join(["| field | type | number | meaning |", "|---|---|---|---|",
                                    *self.rows(item)]))
        elif not item.comment:
            parts.append("Has no fields.")
        return parts

    def text(self):
        parts = [self.contents().rstrip(), INTRODUCTION_REST.strip(), "## Services"]
        for service in self.of_kind("service"):
            parts += self.service(service)
        for name, items in self.files.items():
            types = [item for item in items if item.kind != "service"]
            parts.append(f"## Types of {name}")
            for item in types:
                parts += self.type(item)
        return INTRODUCTION_HEAD + "\n\n".join(part for part in parts if part) + "\n"


# The contents stand between the first paragraph and the first section.
INTRODUCTION_HEAD, _, INTRODUCTION_REST = INTRODUCTION.partition("## Conventions")
INTRODUCTION_REST = "## Conventions" + INTRODUCTION_REST


def page():
    """Returns the text of docs/api.md."""
    found = {path.name for path in PROTO.glob("*.proto")}
    if found != set(FILES):
        raise ValueError(f"FILES of {Path(__file__).name} and {PROTO} differ: "
                         f"{sorted(found ^ set(FILES))}")
    return Page({name: parse((PROTO / name).read_text(encoding="utf-8"), name)
                 for name in FILES}).text()


def main():
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    output.write_text(page(), encoding="utf-8")
    print(f"wrote {output}")


if __name__ == "__main__":
    main()
