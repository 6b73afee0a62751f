"""A small HTTP/2 client on a raw socket, for tests that send what no gRPC library would send.

Frames are plain bytes that the functions below build, so that a test may combine them in any
order and break any rule. HPACK is limited to literals without indexing and without Huffman
coding, which need no table. Connection reads and counts the frames of the server; it does not
observe flow control or the limits that the server announces.
"""

import collections
import select
import socket
import ssl
import struct
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

# Types of frames.
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, \
    CONTINUATION = range(10)
NAMES = ("DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY",
         "WINDOW_UPDATE", "CONTINUATION")

# Flags of frames.
END_STREAM, ACK, END_HEADERS, PADDED, HAS_PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20

# Identifiers of settings.
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, \
    MAX_HEADER_LIST_SIZE = range(1, 7)

CANCEL = 0x8  # error code of RST_STREAM
MAX_WINDOW = 2 ** 31 - 1
DEFAULT_WINDOW = 65535
DEFAULT_FRAME_SIZE = 16384
HEAD_SIZE = 9


# Frames.

def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">BHBBI", len(payload) >> 16, len(payload) & 0xFFFF, kind, flags,
                       stream) + payload


def settings(values=None):
    """A SETTINGS frame with these values, given as {identifier: value}."""
    return frame(SETTINGS, payload=b"".join(struct.pack(">HI", *item)
                                            for item in (values or {}).items()))


def settings_ack():
    return frame(SETTINGS, ACK)


def ping(ack=False, payload=b"12345678"):
    return frame(PING, ACK if ack else 0, 0, payload)


def window_update(stream, increment):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", increment))


def rst_stream(stream, code=CANCEL):
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


def priority(stream, depends_on=0, weight=15):
    return frame(PRIORITY, 0, stream, struct.pack(">IB", depends_on, weight))


def data(stream, payload=b"", end=False):
    return frame(DATA, END_STREAM if end else 0, stream, payload)


def headers(stream, block, end=False, frame_size=DEFAULT_FRAME_SIZE):
    """A header block as one HEADERS frame and as many CONTINUATION frames as it needs."""
    parts = [block[i:i + frame_size] for i in range(0, len(block), frame_size)] or [b""]
    out = []
    for i, part in enumerate(parts):
        flags = END_HEADERS if i + 1 == len(parts) else 0
        if i == 0 and end:
            flags |= END_STREAM
        out.append(frame(CONTINUATION if i else HEADERS, flags, stream, part))
    return b"".join(out)


# Header blocks and messages.

def _text(characters):
    characters = characters.encode() if isinstance(characters, str) else characters
    size = len(characters)
    out = bytearray([min(size, 127)])
    size -= 127
    while size >= 128:
        out.append(size & 127 | 128)
        size >>= 7
    if size >= 0:
        out.append(size)
    return bytes(out) + characters


def header(name, value):
    """A header in HPACK, as a literal without indexing and without Huffman coding."""
    return b"\0" + _text(name) + _text(value)


def call_block(path, *extra, scheme="http", authority="x"):
    """The header block of a gRPC call of this method, with extra (name, value) pairs."""
    return b"".join(header(*pair) for pair in (
        (":method", "POST"), (":scheme", scheme), (":path", path), (":authority", authority),
        ("content-type", "application/grpc"), ("te", "trailers"), *extra))


def message(payload=b""):
    """A message in gRPC's framing: not compressed, with its length."""
    return struct.pack(">BI", 0, len(payload)) + payload


# Connections.

class Closed(ConnectionError):
    """The server has closed the connection."""


def tls_context(ca):
    """A context for a Connection with TLS to a server whose certificate this authority issued."""
    context = ssl.create_default_context(cafile=ca)
    context.set_alpn_protocols(["h2"])
    return context


class Connection:
    """A connection to a server, in plaintext or, with an ssl.SSLContext, in TLS. Not thread-safe.

    Sends the preface and the settings at once. While it sends or waits, it reads the frames of the
    server unless `reads` is false, acknowledges its SETTINGS unless `acknowledges` is false, and
    answers its PINGs. `source` is the address to connect from.
    """

    def __init__(self, host, port, values=None, *, context=None, source="", reads=True,
                 acknowledges=True):
        self.received = collections.Counter()  # frames by name
        self.received_bytes = 0
        self.server_settings = {}
        self.ended = set()  # streams that the server has ended or reset
        self.goaway = None  # (error code, debug data)
        self.goaway_at = None
        self.opened_at = time.monotonic()
        self.closed_at = None
        self._reads, self._acknowledges = reads, acknowledges
        self._buffer = bytearray()
        self._answers = bytearray()
        self._socket = socket.create_connection((host, port), 10, (source, 0))
        try:
            if context:
                self._socket = context.wrap_socket(self._socket, server_hostname=host)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.setblocking(False)
            self.send(PREFACE + settings(values))
        except OSError:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._socket.close()

    @property
    def scheme(self):
        return "https" if isinstance(self._socket, ssl.SSLSocket) else "http"

    def send(self, frames, until=None):
        """Sends whole frames, and reads meanwhile. Returns the number of bytes of them that were
        sent until the given time of the monotonic clock, by default 10 seconds from now."""
        until = until or time.monotonic() + 10
        answers = len(self._answers)
        view = memoryview(bytes(self._answers) + frames)
        self._answers.clear()
        sent = 0
        while sent < len(view) and time.monotonic() < until:
            self._wait(until, writing=True)
            self._receive()
            sent += self._send_some(view[sent:])
        return max(0, sent - answers)

    def wait(self, until, condition=lambda: False):
        """Reads until the time or until the condition is true."""
        while time.monotonic() < until and not condition():
            if self._answers:
                self.send(b"", until)
            self._wait(min(until, time.monotonic() + 0.1), writing=False)
            self._receive()

    def _wait(self, until, writing):
        wanted = select.POLLOUT if writing else 0
        poll = select.poll()
        poll.register(self._socket, wanted | (select.POLLIN if self._reads else 0))
        events = poll.poll(max(0, (until - time.monotonic()) * 1000))
        # A connection that reads nothing still notices a reset.
        if not self._reads and any(event & (select.POLLHUP | select.POLLERR)
                                   for _, event in events):
            self._end()

    def _send_some(self, view):
        try:
            return self._socket.send(view[:1 << 20])
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return 0
        except OSError as error:
            # The server may have sent a GOAWAY before it closed the connection.
            self._receive()
            self._end(error)
            return 0

    def _receive(self):
        while self._reads:
            try:
                received = self._socket.recv(1 << 18)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except OSError as error:
                self._end(error)
            if not received:
                self._end()
            self.received_bytes += len(received)
            self._buffer += received
            self._parse()

    def _end(self, error=None):
        self.closed_at = self.closed_at or time.monotonic()
        raise Closed("closed by the server") from error

    def _parse(self):
        offset = 0
        while len(self._buffer) - offset >= HEAD_SIZE:
            high, low, kind, flags, stream = struct.unpack_from(">BHBBI", self._buffer, offset)
            end = offset + HEAD_SIZE + (high << 16 | low)
            if len(self._buffer) < end:
                break
            self._take(kind, flags, stream, bytes(self._buffer[offset + HEAD_SIZE:end]))
            offset = end
        del self._buffer[:offset]

    def _take(self, kind, flags, stream, payload):
        self.received[NAMES[kind] if kind < len(NAMES) else "other"] += 1
        if kind == SETTINGS and not flags & ACK:
            self.server_settings.update(struct.iter_unpack(">HI", payload))
            if self._acknowledges:
                self._answers += settings_ack()
        elif kind == PING and not flags & ACK:
            self._answers += ping(True, payload)
        elif kind == GOAWAY:
            self.goaway = struct.unpack(">I", payload[4:8])[0], payload[8:]
            self.goaway_at = self.goaway_at or time.monotonic()
        elif kind == RST_STREAM or kind in (DATA, HEADERS) and flags & END_STREAM:
            self.ended.add(stream)
