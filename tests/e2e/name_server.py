"""A DNS server for tests that resolves every name to the same addresses."""

import socket
import struct
import threading

A_RECORD = 1


class NameServer:
    """Serves DNS on loopback while it is entered as a context manager. gRPC queries it for targets
    of the form dns://<address>/<name>:<port>."""

    def __init__(self, *addresses):
        self.addresses = addresses
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        # An empty datagram ends the thread.
        host, port = self.address.split(":")
        self._socket.sendto(b"", (host, int(port)))
        self._thread.join()
        self._socket.close()

    def _serve(self):
        while True:
            query, sender = self._socket.recvfrom(4096)
            if not query:
                return
            self._socket.sendto(self._answer(query), sender)

    def _answer(self, query):
        """The response to a query (RFC 1035): the question section, followed by the addresses
        if the query asks for A records."""
        end = query.index(0, 12) + 5
        kind = struct.unpack("!H", query[end - 4:end - 2])[0]
        found = self.addresses if kind == A_RECORD else ()
        header = query[:2] + struct.pack("!HHHHH", 0x8580, 1, len(found), 0, 0)
        # Compression pointer to the name in the question, type, class, TTL, data length.
        records = [struct.pack("!HHHIH", 0xc00c, A_RECORD, 1, 0, 4) + socket.inet_aton(address)
                   for address in found]
        return header + query[12:end] + b"".join(records)
