"""The servers of a client: addresses, credentials, and a local server if no address is given."""

from __future__ import annotations

import itertools
import os
from typing import List, Optional, Sequence, Tuple

from locus._local_server import LocalServer
from locus._retry import Attempts, RetryPolicy, Server
from locus._security import ChannelFactory, Security
from locus.errors import InvalidInput

DEFAULT_TIMEOUT = 60.0
# Evaluations train models. Close to the deadline, the server sends a partial summary.
EVALUATION_TIMEOUT = 3600.0


def split_addresses(target: str) -> List[str]:
    """The addresses of a comma-separated list."""
    addresses = [part.strip() for part in target.split(",")]
    if not all(addresses):
        raise InvalidInput("target", "is empty; must be host:port or a comma-separated list")
    return addresses


class Connection:
    """Settings that the blocking and the async client share. open() must be called first."""

    def __init__(self, target: Optional[str], security: Security, timeout: float,
                 retry: RetryPolicy, server_flags: Sequence[str]) -> None:
        if not timeout > 0:
            raise InvalidInput("timeout", f"is {timeout} s; must be positive")
        self.timeout = timeout
        self.retry = retry
        self.servers: List[Server] = []
        self._local: Optional[LocalServer] = None
        self._flags = tuple(server_flags)
        self._turns = itertools.count()
        self._target = target if target is not None else os.environ.get("LOCUS_SERVER") or None
        if self._target is None:
            self.factory = ChannelFactory(Security(), retry)
            if security != Security():
                raise InvalidInput("target", "is needed with TLS or a token; a local server has "
                                             "neither")
        else:
            if self._flags:
                raise InvalidInput("server_flags", "are for a local server, but an address is "
                                                   "given")
            self.factory = ChannelFactory(security.with_environment(os.environ), retry)
            for address in split_addresses(self._target):
                self.factory.check(address)

    @property
    def addresses(self) -> List[str]:
        return [server.address for server in self.servers]

    def open(self) -> None:
        """Starts a local server if no address is given. Blocks until it is ready."""
        if self._target is None:
            self._local = LocalServer(self._flags)
            self.servers = [Server(self._local.address)]
        else:
            self.servers = [Server(address) for address in split_addresses(self._target)]

    @property
    def local_server(self) -> Optional[LocalServer]:
        return self._local

    def close(self) -> None:
        """Stops the local server, if there is one."""
        if self._local is not None:
            self._local.stop()

    def attempts(self, timeout: Optional[float], shared_pushback: bool) -> Attempts:
        return Attempts(self.servers, next(self._turns), self.retry,
                        self.timeout if timeout is None else timeout, shared_pushback)

    def metadata(self) -> Tuple[Tuple[str, str], ...]:
        return tuple(self.factory.metadata())
