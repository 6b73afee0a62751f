"""The client for asyncio, with the methods of the blocking client.

    async with locus.aio.connect() as client:
        cos, sin = await client.rope(range(16), dim=64)
        async for event in client.evaluate(["rope", "alibi"]): ...

Cancelling a task cancels its call on the server.
"""

from __future__ import annotations

import asyncio
from typing import (Any, AsyncGenerator, AsyncIterator, Awaitable, List, Mapping, Optional,
                    Sequence, TypeVar, Union)

import grpc
import grpc.aio

from locus import _calls, results
from locus._calls import Call, Event
from locus._connection import DEFAULT_TIMEOUT, EVALUATION_TIMEOUT, Connection
from locus._retry import CallInfo, RetryPolicy, call_info
from locus._schemes import SchemeLike
from locus._security import Security
from locus.client import metadata_dict, trailers_of
from locus.errors import LocusError

T = TypeVar("T")


class Evaluation:
    """A running evaluation: an async iterable of Progress, Cell and Summary events.

    `await evaluation.summary` waits for the end; `await evaluation.cancel()` cancels it. Iterating
    again repeats the events.
    """

    def __init__(self, source: AsyncGenerator[Event, None]) -> None:
        self._source = source
        self._seen: List[Event] = []

    async def __aiter__(self) -> AsyncIterator[Event]:
        index = 0
        while True:
            if index == len(self._seen):
                try:
                    self._seen.append(await self._source.__anext__())
                except StopAsyncIteration:
                    return
            yield self._seen[index]
            index += 1

    async def _summary(self) -> results.Summary:
        async for event in self:
            if isinstance(event, results.Summary):
                return event
        raise LocusError("the evaluation was cancelled before its summary")

    @property
    def summary(self) -> Awaitable[results.Summary]:
        """An awaitable of the summary."""
        return self._summary()

    async def cancel(self) -> None:
        """Cancels the evaluation on the server."""
        await self._source.aclose()


class Client:
    """The async counterpart of locus.Client. Use it within one event loop.

    A local server, if there is one, is started by `async with` or by the first call.
    """

    def __init__(self, target: Optional[str] = None, *, security: Security = Security(),
                 timeout: float = DEFAULT_TIMEOUT, retry: RetryPolicy = RetryPolicy(),
                 server_flags: Sequence[str] = ()) -> None:
        self._connection = Connection(target, security, timeout, retry, server_flags)
        self._channels: List[Any] = []
        self._opening: Optional["asyncio.Task[None]"] = None
        self._closed = False

    async def _start(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._connection.open)
        self._channels = [self._connection.factory.channel(address, grpc.aio)
                          for address in self._connection.addresses]

    async def _open(self) -> None:
        """Opens the connection once, also if several calls need it at the same time."""
        if self._closed:
            raise LocusError("the client is closed")
        if self._opening is None:
            self._opening = asyncio.ensure_future(self._start())
        # A cancelled call must not cancel the start that others wait for.
        await asyncio.shield(self._opening)

    async def close(self) -> None:
        """Cancels running calls, closes the connections, and stops a local server. May be called
        again."""
        if self._closed:
            return
        self._closed = True
        if self._opening is not None:
            await asyncio.wait([self._opening])
        for channel in self._channels:
            await channel.close()
        await asyncio.get_running_loop().run_in_executor(None, self._connection.close)

    async def __aenter__(self) -> Client:
        await self._open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def address(self) -> str:
        """The address of the server, or a comma-separated list."""
        return ",".join(self._connection.addresses)

    # Transport.

    async def _run(self, call: Call[T], timeout: Optional[float]) -> T:
        await self._open()
        attempts = self._connection.attempts(timeout, call.shared_pushback)
        await asyncio.sleep(attempts.initial_wait())
        while True:
            method = self._channels[attempts.index].unary_unary(call.path)
            running = method(call.request, timeout=attempts.remaining(),
                             metadata=self._connection.metadata())
            try:
                data = await running
                trailers = metadata_dict(await running.trailing_metadata())
            except grpc.aio.AioRpcError as error:
                failure = error
            else:
                return call.decode(data, call_info(attempts.count, trailers))
            await asyncio.sleep(attempts.failed(failure.code().name, failure.details() or "",
                                                trailers_of(failure)))

    async def _stream(self, call: Call[T], timeout: Optional[float]) -> AsyncGenerator[T, None]:
        """The responses of a streaming call. It is not retried once a response has arrived."""
        await self._open()
        attempts = self._connection.attempts(timeout, call.shared_pushback)
        is_final = False
        while True:
            method = self._channels[attempts.index].unary_stream(call.path)
            stream = method(call.request, timeout=attempts.remaining(),
                            metadata=self._connection.metadata())
            try:
                async for data in stream:
                    is_final = True
                    yield call.decode(data, CallInfo(attempts.count))
                return
            except grpc.aio.AioRpcError as error:
                failure = error
            finally:
                stream.cancel()
            await asyncio.sleep(attempts.failed(failure.code().name, failure.details() or "",
                                                trailers_of(failure), final=is_final))

    # Calls.

    async def schemes(self, *, timeout: Optional[float] = None) -> results.Schemes:
        """Same as locus.Client.schemes()."""
        return await self._run(_calls.list_schemes(), timeout)

    async def encode(self, scheme: SchemeLike, positions: Any = None, dim: Optional[int] = None, *,
                     heads: Optional[int] = None, input: Any = None, dtype: Any = None,
                     timeout: Optional[float] = None, **options: Any) -> results.Encoding:
        """Same as locus.Client.encode()."""
        call = _calls.encode(scheme, positions, dim, heads, input, dtype, options)
        return await self._run(call, timeout)

    async def rope(self, positions: Any, dim: int, base: Optional[float] = None, *,
                   dtype: Any = None, timeout: Optional[float] = None,
                   **parameters: Any) -> results.Rotation:
        """Same as locus.Client.rope()."""
        call = _calls.rope(positions, dim, dtype, {"base": base, **parameters})
        return await self._run(call, timeout)

    async def attend(self, q: Any, k: Any, v: Any, *, scheme: SchemeLike = "none",
                     causal: bool = False, window: Optional[int] = None, mask: Any = None,
                     scale: Optional[float] = None, softcap: Optional[float] = None,
                     query_offset: Optional[int] = None, bottom_right: bool = False,
                     query_positions: Any = None, key_positions: Any = None,
                     return_weights: Optional[bool] = None, return_log_sum_exp: bool = True,
                     dtype: Any = None, timeout: Optional[float] = None,
                     **options: Any) -> results.Attention:
        """Same as locus.Client.attend()."""
        given = dict(options, causal=causal, window=window, scale=scale, softcap=softcap,
                     query_offset=query_offset, bottom_right=bottom_right,
                     query_positions=query_positions, key_positions=key_positions,
                     return_weights=return_weights, return_log_sum_exp=return_log_sum_exp)
        return await self._run(_calls.attend(q, k, v, scheme, dtype, mask, given), timeout)

    async def attend_tokens(self, tokens: Union[str, Sequence[str]], *, scheme: SchemeLike = "none",
                            dim: int = 16, heads: int = 1, seed: int = 0, causal: bool = False,
                            timeout: Optional[float] = None, **options: Any) -> results.Attention:
        """Same as locus.Client.attend_tokens()."""
        call = _calls.attend_tokens(tokens, scheme, dim, heads, seed, causal, options)
        return await self._run(call, timeout)

    async def attend_module(self, x: Any, *, weights: Optional[Mapping[str, Any]] = None,
                            seed: Optional[int] = None, heads: int = 1, scheme: SchemeLike = "none",
                            causal: bool = False, mask: Any = None, timeout: Optional[float] = None,
                            **options: Any) -> results.Attention:
        """Same as locus.Client.attend_module()."""
        options = dict({"return_log_sum_exp": True}, causal=causal, **options)
        call = _calls.attend_module(x, None, weights, seed, heads, None, scheme, mask, options)
        return await self._run(call, timeout)

    async def check(self, schemes: Optional[Sequence[SchemeLike]] = None, *,
                    naive: Optional[bool] = None,
                    timeout: Optional[float] = None) -> results.Properties:
        """Same as locus.Client.check()."""
        return await self._run(_calls.check(schemes, naive), timeout)

    def evaluate(self, schemes: Optional[Sequence[SchemeLike]] = None, *,
                 task: Optional[str] = None, seeds: Optional[int] = None,
                 seed: Optional[int] = None, train_length: Optional[int] = None,
                 eval_lengths: Optional[Sequence[int]] = None,
                 corpus: Optional[Union[str, bytes]] = None,
                 model: Optional[Mapping[str, Any]] = None,
                 training: Optional[Mapping[str, Any]] = None,
                 pattern: Optional[Mapping[str, Any]] = None,
                 task_options: Optional[Mapping[str, Any]] = None,
                 timeout: Optional[float] = None) -> Evaluation:
        """Same as locus.Client.evaluate(). The result is an async iterable."""
        call = _calls.evaluate(schemes, task, seeds, seed, train_length, eval_lengths, corpus,
                               model, training, pattern, task_options)
        return Evaluation(self._stream(call, EVALUATION_TIMEOUT if timeout is None else timeout))

    async def call(self, method: str, request: Any = None, *,
                   timeout: Optional[float] = None) -> Any:
        """Same as locus.Client.call()."""
        return await self._run(_calls.raw(method, request), timeout)

    async def health(self, service: str = "", *, timeout: Optional[float] = None) -> str:
        """Same as locus.Client.health()."""
        return await self._run(_calls.health(service), timeout)


def connect(target: Optional[str] = None, *, token: Optional[str] = None,
            token_file: Optional[str] = None, tls: bool = False, ca_file: Optional[str] = None,
            certificate_file: Optional[str] = None, key_file: Optional[str] = None,
            server_name: Optional[str] = None, allow_plaintext_token: bool = False,
            timeout: float = DEFAULT_TIMEOUT, retry: RetryPolicy = RetryPolicy(),
            server_flags: Sequence[str] = ()) -> Client:
    """Makes an async client. The arguments are those of locus.connect()."""
    security = Security(tls, ca_file, certificate_file, key_file, server_name, token, token_file,
                        allow_plaintext_token)
    return Client(target, security=security, timeout=timeout, retry=retry,
                  server_flags=server_flags)
