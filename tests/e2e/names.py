"""A name server for one name, which may stand for several servers."""

import socket
import struct
import threading

A_RECORD = 1


class NameServer:
    """Answers on loopback; a context manager. gRPC asks it for dns://<address>/<name>:port."""

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
        # An empty question ends it.
        host, port = self.address.split(":")
        self._socket.sendto(b"", (host, int(port)))
        self._thread.join()
        self._socket.close()

    def _serve(self):
        while True:
            question, sender = self._socket.recvfrom(4096)
            if not question:
                return
            self._socket.sendto(self._answer(question), sender)

    def _answer(self, message):
        """As RFC 1035 has it: the question again, then addresses if it asks for these."""
        end = message.index(0, 12) + 5
        kind = struct.unpack("!H", message[end - 4:end - 2])[0]
        found = self.addresses if kind == A_RECORD else ()
        header = message[:2] + struct.pack("!HHHHH", 0x8580, 1, len(found), 0, 0)
        # A pointer to the name in the question, kind, class, seconds to keep it, length.
        records = [struct.pack("!HHHIH", 0xc00c, A_RECORD, 1, 0, 4) + socket.inet_aton(address)
                   for address in found]
        return header + message[12:end] + b"".join(records)
