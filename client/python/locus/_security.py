"""TLS and bearer tokens of a client.

All files are in PEM format. If TLS or a token is configured but cannot be used, connecting fails;
there is no fall-back to plaintext.
"""

from __future__ import annotations

import dataclasses
import os
import re
import threading
import time
from typing import Any, List, Mapping, Optional, Tuple

import grpc

from locus._retry import RetryPolicy
from locus.errors import InvalidInput

_MAX_FILE_BYTES = 1 << 20
_CHECK_SECONDS = 1.0
_TRUE = ("1", "true", "yes", "on")


@dataclasses.dataclass(frozen=True)
class Security:
    """The security settings of a client. Setting any of the TLS fields enables TLS."""

    # Enables TLS; False uses plaintext unless another TLS field is set.
    tls: bool = False
    # CA certificates to verify the server with; None uses gRPC's default.
    ca_file: Optional[str] = None
    # Client certificate and private key for mutual TLS. Set both or neither.
    certificate_file: Optional[str] = None
    key_file: Optional[str] = None
    # Host name expected in the server's certificate; None uses the host name of the address.
    server_name: Optional[str] = None
    # The bearer token that is sent with every call, or a file with it. The token is the first line
    # of the file that is not empty and does not begin with #. The file is read again when it
    # changes.
    token: Optional[str] = dataclasses.field(default=None, repr=False)
    token_file: Optional[str] = None
    # Allows the token to be sent to another machine in plaintext.
    allow_plaintext_token: bool = False

    @property
    def uses_tls(self) -> bool:
        return self.tls or any((self.ca_file, self.certificate_file, self.key_file,
                                self.server_name))

    def with_environment(self, environment: Mapping[str, str]) -> Security:
        """Fills in settings that are not given from the variables that the command line uses."""
        def text(given: Optional[str], name: str) -> Optional[str]:
            return given if given is not None else environment.get(name) or None

        def flag(given: bool, name: str) -> bool:
            return given or environment.get(name, "").lower() in _TRUE

        token_file = self.token_file
        if self.token is None:
            token_file = text(self.token_file, "LOCUS_TOKEN_FILE")
        return dataclasses.replace(
            self, tls=flag(self.tls, "LOCUS_TLS"), ca_file=text(self.ca_file, "LOCUS_CA"),
            certificate_file=text(self.certificate_file, "LOCUS_CERT"),
            key_file=text(self.key_file, "LOCUS_KEY"),
            server_name=text(self.server_name, "LOCUS_SERVER_NAME"), token_file=token_file,
            allow_plaintext_token=flag(self.allow_plaintext_token, "LOCUS_ALLOW_PLAINTEXT_TOKEN"))


def is_loopback(address: str) -> bool:
    """Whether an address is on this machine."""
    if address.startswith("unix:"):
        return True
    address = re.sub(r"^(dns:///|ipv4:|ipv6:)", "", address)
    host = address.rsplit(":", 1)[0] if ":" in address else address
    return host in ("localhost", "[::1]") or bool(re.fullmatch(r"127(\.\d+){3}", host))


def _read(path: str, field: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_FILE_BYTES)
    except OSError as error:
        raise InvalidInput(field, f"{path}: {error.strerror}") from None


def _header(token: str, where: str) -> str:
    if not re.fullmatch(r"[!-~]+", token):
        raise InvalidInput(where, "contains no token; a token has visible ASCII characters and no "
                                  "spaces")
    return f"Bearer {token}"


class Token:
    """The value of the authorization header. Thread-safe. A file is checked for changes at most
    once a second; if it cannot be read, for example while it is replaced, the previous token is
    kept."""

    def __init__(self, token: Optional[str], path: Optional[str]) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._fingerprint: Tuple[Any, ...] = ()
        self._next_check = 0.0
        self._value = _header(token, "token") if token is not None else self._read_file()

    def _read_file(self) -> str:
        assert self._path is not None
        text = _read(self._path, "token_file").decode("utf-8", "replace")
        lines = [line.strip() for line in text.split("\n")]
        token = next((line for line in lines if line and not line.startswith("#")), "")
        return _header(token, self._path)

    def header(self) -> str:
        if self._path is None:
            return self._value
        with self._lock:
            now = time.monotonic()
            if now < self._next_check:
                return self._value
            self._next_check = now + _CHECK_SECONDS
            try:
                status = os.stat(self._path)
                fingerprint = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
                if fingerprint != self._fingerprint:
                    self._value, self._fingerprint = self._read_file(), fingerprint
            except (OSError, InvalidInput):
                pass
            return self._value


class ChannelFactory:
    """Creates the arguments of gRPC channels for security settings."""

    def __init__(self, security: Security, retry: RetryPolicy) -> None:
        self._security = security
        self._retry = retry
        if bool(security.certificate_file) != bool(security.key_file):
            raise InvalidInput("certificate_file", "a client certificate and its private key are "
                                                   "needed together")
        if security.token is not None and security.token_file is not None:
            raise InvalidInput("token", "is given together with token_file; give one of them")
        has_token = security.token is not None or security.token_file is not None
        self._token = Token(security.token, security.token_file) if has_token else None
        self._credentials = self._tls_credentials() if security.uses_tls else None

    def _tls_credentials(self) -> Any:
        def pem(path: Optional[str], field: str) -> Optional[bytes]:
            if path is None:
                return None
            content = _read(path, field)
            # gRPC accepts any content and later only reports a failed connection.
            if b"-----BEGIN " not in content:
                raise InvalidInput(field, f"{path} is not in PEM format")
            return content

        security = self._security
        return grpc.ssl_channel_credentials(
            root_certificates=pem(security.ca_file, "ca_file"),
            private_key=pem(security.key_file, "key_file"),
            certificate_chain=pem(security.certificate_file, "certificate_file"))

    def metadata(self) -> List[Tuple[str, str]]:
        """The metadata of a call."""
        return [("authorization", self._token.header())] if self._token else []

    def check(self, address: str) -> None:
        """Fails if a call to `address` would send the token to another machine in plaintext."""
        if (self._token is None or self._security.uses_tls or
                self._security.allow_plaintext_token or is_loopback(address)):
            return
        raise InvalidInput("token", f"would be sent to {address} in plaintext; use TLS, or set "
                                    "allow_plaintext_token if another layer encrypts the traffic")

    def options(self, address: str) -> List[Tuple[str, Any]]:
        """The channel options. Message sizes are not limited: gRPC's default of 4 MiB holds a
        single head of 16384 tokens."""
        # While gRPC backs off from reconnecting, it fails calls without contacting the server. Its
        # backoff is shorter than ours so that no attempt is wasted.
        backoff = max(1, int(self._retry.initial_backoff * 500))
        options: List[Tuple[str, Any]] = [
            ("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1),
            ("grpc.initial_reconnect_backoff_ms", backoff),
            ("grpc.max_reconnect_backoff_ms", max(backoff, int(self._retry.max_backoff * 1000))),
            ("grpc.enable_retries", 0)]
        if self._security.server_name:
            options.append(("grpc.ssl_target_name_override", self._security.server_name))
        if address.startswith("dns:"):
            options.append(("grpc.lb_policy_name", "round_robin"))
            if self._token is None:
                options.append(("grpc.service_config", '{"healthCheckConfig":{"serviceName":""}}'))
        is_plaintext_token = self._token is not None and not self._security.uses_tls
        if is_plaintext_token and not self._security.allow_plaintext_token:
            # A proxy configured in the environment would see the token.
            options.append(("grpc.enable_http_proxy", 0))
        return options

    def channel(self, address: str, module: Any) -> Any:
        """A channel made by `module`: grpc or grpc.aio."""
        self.check(address)
        options = self.options(address)
        if self._credentials is None:
            return module.insecure_channel(address, options=options)
        return module.secure_channel(address, self._credentials, options=options)
