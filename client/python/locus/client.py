"""The blocking client."""

from __future__ import annotations

import time
from typing import (Any, Dict, Generator, Iterator, List, Mapping, Optional, Sequence, Type,
                    TypeVar, Union)

import grpc

from locus import _calls, results
from locus._calls import Call, Event
from locus._connection import DEFAULT_TIMEOUT, EVALUATION_TIMEOUT, Connection
from locus._retry import CallInfo, RetryPolicy, call_info
from locus._schemes import SchemeLike
from locus._security import Security
from locus.errors import LocusError

T = TypeVar("T")


def metadata_dict(metadata: Any) -> Dict[str, Any]:
    """Metadata of a call, which is None or an iterable of pairs, as a dictionary."""
    return {str(key): value for key, value in metadata or ()}


def trailers_of(call: Any) -> Dict[str, Any]:
    """The trailing metadata of a failed or finished call."""
    trailing = getattr(call, "trailing_metadata", None)
    return metadata_dict(trailing()) if trailing is not None else {}


class Evaluation:
    """A running evaluation: an iterable of Progress, Cell and Summary events.

    `summary` waits for the end. The evaluation runs while it is iterated; iterating again repeats
    the events. A `with` block, `cancel()` or the end of the program cancels it.
    """

    def __init__(self, source: Generator[Event, None, None]) -> None:
        self._source = source
        self._seen: List[Event] = []

    def __iter__(self) -> Iterator[Event]:
        index = 0
        while True:
            if index == len(self._seen):
                try:
                    self._seen.append(next(self._source))
                except StopIteration:
                    return
            yield self._seen[index]
            index += 1

    @property
    def summary(self) -> results.Summary:
        """The summary. Blocks until the evaluation has ended."""
        for event in self:
            if isinstance(event, results.Summary):
                return event
        raise LocusError("the evaluation was cancelled before its summary")

    @property
    def cells(self) -> List[results.Cell]:
        """All cells. Blocks until the evaluation has ended."""
        return [event for event in self if isinstance(event, results.Cell)]

    def cancel(self) -> None:
        """Cancels the evaluation on the server."""
        self._source.close()

    def __enter__(self) -> Evaluation:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()

    def _repr_html_(self) -> str:
        if self._seen and isinstance(self._seen[-1], results.Summary):
            return self._seen[-1]._repr_html_()
        return f"<p>Evaluation with {len(self._seen)} events so far</p>"


class Client:
    """A connection to one server, or to several equivalent servers. Thread-safe.

    Each call blocks until it succeeds, fails with an error that is not retried, or exceeds its time
    limit. Errors of calls are exceptions of locus.errors. Use connect() to make a client, and
    close() or a `with` block to end it.
    """

    def __init__(self, target: Optional[str] = None, *, security: Security = Security(),
                 timeout: float = DEFAULT_TIMEOUT, retry: RetryPolicy = RetryPolicy(),
                 server_flags: Sequence[str] = ()) -> None:
        self._connection = Connection(target, security, timeout, retry, server_flags)
        self._connection.open()
        self._closed = False
        try:
            self._channels = [self._connection.factory.channel(address, grpc)
                              for address in self._connection.addresses]
        except BaseException:
            self._connection.close()
            raise

    @property
    def address(self) -> str:
        """The address of the server, or a comma-separated list."""
        return ",".join(self._connection.addresses)

    def close(self) -> None:
        """Cancels running calls, closes the connections, and stops a local server. May be called
        again."""
        if not self._closed:
            self._closed = True
            for channel in self._channels:
                channel.close()
            self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.address}{', closed' if self._closed else ''})"

    # Transport.

    def _check_open(self) -> None:
        if self._closed:
            raise LocusError("the client is closed")

    def _run(self, call: Call[T], timeout: Optional[float]) -> T:
        self._check_open()
        attempts = self._connection.attempts(timeout, call.shared_pushback)
        time.sleep(attempts.initial_wait())
        while True:
            method = self._channels[attempts.index].unary_unary(call.path)
            try:
                data, finished = method.with_call(call.request, timeout=attempts.remaining(),
                                                  metadata=self._connection.metadata())
            except grpc.RpcError as error:
                failure, reason = error, (error.code().name, error.details() or "")
            else:
                return call.decode(data, call_info(attempts.count, trailers_of(finished)))
            self._check_open()
            time.sleep(attempts.failed(*reason, trailers_of(failure)))

    def _stream(self, call: Call[T], timeout: Optional[float]) -> Generator[T, None, None]:
        """The responses of a streaming call. It is not retried once a response has arrived."""
        self._check_open()
        attempts = self._connection.attempts(timeout, call.shared_pushback)
        is_final = False
        while True:
            method = self._channels[attempts.index].unary_stream(call.path)
            stream = method(call.request, timeout=attempts.remaining(),
                            metadata=self._connection.metadata())
            try:
                for data in stream:
                    is_final = True
                    yield call.decode(data, CallInfo(attempts.count))
                return
            except grpc.RpcError as error:
                failure, reason = error, (error.code().name, error.details() or "")
            finally:
                stream.cancel()
            time.sleep(attempts.failed(*reason, trailers_of(failure), final=is_final))

    # Calls.

    def schemes(self, *, timeout: Optional[float] = None) -> results.Schemes:
        """Describes all schemes: parameters, defaults, declared properties, papers."""
        return self._run(_calls.list_schemes(), timeout)

    def encode(self, scheme: SchemeLike, positions: Any = None, dim: Optional[int] = None, *,
               heads: Optional[int] = None, input: Any = None, dtype: Any = None,
               timeout: Optional[float] = None, **options: Any) -> results.Encoding:
        """Computes the table, rotation or bias of a scheme.

        positions: a count, a range, or a list or array of positions. May be left out with `input`.
        dim: the width of the embeddings, or of one head for a rotation.
        heads: the number of heads of a bias.
        input: an array to apply the scheme to.
        dtype: the type of the numbers, such as "float64". Default float32.
        options: further fields of EncodeRequest, such as key_positions, side, trained_length,
            target_length and sequence_length.
        """
        return self._run(_calls.encode(scheme, positions, dim, heads, input, dtype, options),
                         timeout)

    def rope(self, positions: Any, dim: int, base: Optional[float] = None, *, dtype: Any = None,
             timeout: Optional[float] = None, **parameters: Any) -> results.Rotation:
        """The cosines and sines of RoPE: `cos, sin = client.rope(range(2048), dim=128)`.

        parameters: further fields of RopeScheme, such as rotary_dim, angles or a scaling:
            yarn={"factor": 4, "original_length": 4096}, or yarn=4 for the factor alone.
        """
        return self._run(_calls.rope(positions, dim, dtype, {"base": base, **parameters}), timeout)

    def attend(self, q: Any, k: Any, v: Any, *, scheme: SchemeLike = "none", causal: bool = False,
               window: Optional[int] = None, mask: Any = None, scale: Optional[float] = None,
               softcap: Optional[float] = None, query_offset: Optional[int] = None,
               bottom_right: bool = False, query_positions: Any = None, key_positions: Any = None,
               return_weights: Optional[bool] = None, return_log_sum_exp: bool = True,
               dtype: Any = None, timeout: Optional[float] = None,
               **options: Any) -> results.Attention:
        """Computes attention over given heads.

        q, k, v: arrays [B, H, T, D], [H, T, D] or [T, D]. The number of key heads must divide the
            number of query heads.
        causal: hides keys after the query.
        window: a query sees only keys at a distance below this value.
        mask: broadcasts to [B, H, Tq, Tk]. Booleans: True is visible. Numbers are added to the
            scores, and -inf hides a key.
        scale: the factor of dot products. Default 1 / sqrt(D).
        query_offset: the index of the first query among the keys; bottom_right=True aligns the last
            query with the last key.
        return_weights: True or False; by default, weights are returned if they have at most 2**20
            elements.
        dtype: converts q, k and v first; "float64" gives the most precise result.
        options: further fields of AttentionOptions that the server supports.
        """
        given = dict(options, causal=causal, window=window, scale=scale, softcap=softcap,
                     query_offset=query_offset, bottom_right=bottom_right,
                     query_positions=query_positions, key_positions=key_positions,
                     return_weights=return_weights, return_log_sum_exp=return_log_sum_exp)
        return self._run(_calls.attend(q, k, v, scheme, dtype, mask, given), timeout)

    def attend_tokens(self, tokens: Union[str, Sequence[str]], *, scheme: SchemeLike = "none",
                      dim: int = 16, heads: int = 1, seed: int = 0, causal: bool = False,
                      timeout: Optional[float] = None, **options: Any) -> results.Attention:
        """Runs a seeded attention layer over the words of a sentence. Equal words have equal
        embeddings, so that without positions they get equal outputs. Weights are [heads, T, T]."""
        call = _calls.attend_tokens(tokens, scheme, dim, heads, seed, causal, options)
        return self._run(call, timeout)

    def attend_module(self, x: Any, *, weights: Optional[Mapping[str, Any]] = None,
                      seed: Optional[int] = None, heads: int = 1, scheme: SchemeLike = "none",
                      causal: bool = False, mask: Any = None, timeout: Optional[float] = None,
                      **options: Any) -> results.Attention:
        """Runs a whole multi-head attention layer.

        x: embeddings [B, T, dim] or [T, dim].
        weights: a dictionary of wq, wk, wv and wo, each [dim, dim], applied as x w. Without them,
            weights are drawn from `seed`.
        """
        options = dict({"return_log_sum_exp": True}, causal=causal, **options)
        call = _calls.attend_module(x, None, weights, seed, heads, None, scheme, mask, options)
        return self._run(call, timeout)

    def check(self, schemes: Optional[Sequence[SchemeLike]] = None, *,
              naive: Optional[bool] = None, timeout: Optional[float] = None) -> results.Properties:
        """Measures the declared properties of schemes, by default of all. `naive` adds three
        encodings that fail some of the checks."""
        return self._run(_calls.check(schemes, naive), timeout)

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
        """Trains a small model with every scheme at one length and tests it at others.

        task: text (the default), ordering, agreement, copy, reverse, recall or retrofit; or
            pattern, which examines an untrained layer.
        seeds: the number of seeds; `seed` is the first one.
        corpus: the text of the tasks text and retrofit.
        model, training, pattern: fields of EvaluationModel, EvaluationTraining and PatternMode,
            such as model={"dim": 32} and training={"step_count": 100}.
        task_options: fields of the task's message, such as {"ask": [{"values": [3, 1, 4, 2]}]} of
            the task ordering.
        timeout: the time limit in seconds, by default an hour. Close to it, the server ends the
            evaluation with a partial summary.
        """
        call = _calls.evaluate(schemes, task, seeds, seed, train_length, eval_lengths, corpus,
                               model, training, pattern, task_options)
        return Evaluation(self._stream(call, EVALUATION_TIMEOUT if timeout is None else timeout))

    def call(self, method: str, request: Any = None, *, timeout: Optional[float] = None) -> Any:
        """Calls any unary method by its name, such as "Encode", and returns the response as a
        protobuf message. For methods and fields that have no method of this class.

        request: a message, or a dictionary of its fields, in which schemes are texts, tensors are
            arrays and positions are ranges or lists. locus.to_array() converts tensors back.
        """
        return self._run(_calls.raw(method, request), timeout)

    def health(self, service: str = "", *, timeout: Optional[float] = None) -> str:
        """The health of a service, or of the whole server: "SERVING" or "NOT_SERVING"."""
        return self._run(_calls.health(service), timeout)


def connect(target: Optional[str] = None, *, token: Optional[str] = None,
            token_file: Optional[str] = None, tls: bool = False, ca_file: Optional[str] = None,
            certificate_file: Optional[str] = None, key_file: Optional[str] = None,
            server_name: Optional[str] = None, allow_plaintext_token: bool = False,
            timeout: float = DEFAULT_TIMEOUT, retry: RetryPolicy = RetryPolicy(),
            server_flags: Sequence[str] = ()) -> Client:
    """Connects to a server.

    target: host:port, another name that gRPC resolves, or a comma-separated list of equivalent
        servers. Default: the environment variable LOCUS_SERVER; if that is not set, a local locusd
        is started, and stopped when the client is closed.
    token, token_file: the bearer token of every call. It is sent in plaintext only to this machine,
        unless allow_plaintext_token is set.
    tls, ca_file, certificate_file, key_file, server_name: TLS; each of them enables it. A
        certificate and its key are for mutual TLS.
    timeout: the time limit of a call in seconds, all attempts included.
    retry: the retry policy.
    server_flags: flags of a local locusd, such as "--threads=2".

    The variables LOCUS_TLS, LOCUS_CA, LOCUS_CERT, LOCUS_KEY, LOCUS_SERVER_NAME, LOCUS_TOKEN_FILE
    and LOCUS_ALLOW_PLAINTEXT_TOKEN of the command line are the defaults of these settings.
    """
    security = Security(tls, ca_file, certificate_file, key_file, server_name, token, token_file,
                        allow_plaintext_token)
    return Client(target, security=security, timeout=timeout, retry=retry,
                  server_flags=server_flags)
