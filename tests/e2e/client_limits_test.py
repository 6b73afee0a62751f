#!/usr/bin/env python3
"""Responses above the default limit of gRPC clients, and the pages that stay below it."""

import pathlib
import re
import types
import unittest

import grpc
import numpy as np
from google.protobuf import text_format

import wire
from daemon import Daemon

EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED
API_PAGE = pathlib.Path(wire.ROOT) / "docs" / "api.md"
LENGTH, PAGE = 300, 64
FACTORS = " ".join(f"short_factors: {1 + 0.01 * k} long_factors: {2 + 0.1 * k}" for k in range(16))
# Schemes whose numbers depend on all positions of a call. Without sequence_length, their pages
# differ from one call.
WHOLE_CALL = (
    "rope { dynamic_ntk { factor: 4 max_position: 64 } }",
    f"rope {{ longrope {{ factor: 4 original_length: 64 {FACTORS} }} }}",
    "learned { seed: 1 max_length: 64 policy: LEARNED_POLICY_INTERPOLATE }",
    "xpos {}",
    "sinusoidal {} randomized { maximum: 1000 seed: 1 }",
    "alibi {} randomized { maximum: 1000 seed: 1 }",
    "fire {} randomized { maximum: 1000 seed: 1 }",
    "xpos {} randomized { maximum: 1000 seed: 1 }")
# Schemes with other parameters than the defaults whose numbers do not.
ROW_BY_ROW = (
    "learned { seed: 1 max_length: 64 policy: LEARNED_POLICY_WRAP }",
    "learned { seed: 1 max_length: 64 policy: LEARNED_POLICY_CLAMP }",
    "rope { linear { factor: 4 } }", "rope { yarn { factor: 4 original_length: 64 } }",
    "rope { llama3 { factor: 8 original_length: 64 } }", "xpos { centre: 100 }")


def encode_request(text, start, count, **fields):
    """A request for a range of positions, with all keys for a bias."""
    request = wire.EncodeRequest(dim=32, head_count=4, **fields)
    text_format.Parse(text, request.scheme)
    request.positions.range.start = start
    request.positions.range.count = count
    return request


def tensors(response):
    """The tensors of a response by name, and everything else in it."""
    kind = response.WhichOneof("encoding")
    if kind is None:
        return {}, response
    encoding = getattr(response, kind)
    found = {}
    for name in {"additive": ["table"], "rotation": ["cos", "sin"], "bias": ["bias"]}[kind]:
        found[name] = np.copy(wire.array(getattr(encoding, name)))
        encoding.ClearField(name)
    return found, response


class ClientLimitsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)
        cls.unlimited = wire.Client(cls.daemon.grpc_port)
        cls.addClassCleanup(cls.unlimited.close)
        cls.default = wire.Client(cls.daemon.grpc_port)
        cls.default.channel = grpc.insecure_channel(f"127.0.0.1:{cls.daemon.grpc_port}")
        cls.addClassCleanup(cls.default.close)

    def assert_too_large(self, path, request, size):
        """Asserts that the call fails in a client with default limits, and only there."""
        request_id = f"too-large-{size}"
        with self.assertRaises(grpc.RpcError) as caught:
            self.default(path, request, metadata=(("x-request-id", request_id),))
        self.assertEqual(caught.exception.code(), EXHAUSTED)
        self.assertIn(f"Received message larger than max ({size} vs. {4 << 20})",
                      caught.exception.details())
        event = self.daemon.log.wait_for(lambda event: event.get("request_id") == request_id)
        self.assertEqual(event["code"], "OK")

    def test_large_table_arrives_in_pages(self):
        """Runs the function that the API page shows."""
        request = wire.EncodeRequest(dim=128)
        request.scheme.sinusoidal.SetInParent()
        request.positions.range.count = 8192
        whole = self.unlimited(wire.ENCODE, request)
        self.assert_too_large(wire.ENCODE, request, whole.ByteSize())
        code = re.search(r"```python\n(def table.*?)```", API_PAGE.read_text("utf-8"), re.DOTALL)[1]
        names = {"EncodeRequest": wire.EncodeRequest, "numpy": np}
        exec(code, names)  # pylint: disable=exec-used
        stub = types.SimpleNamespace(Encode=lambda request: self.default(wire.ENCODE, request))
        pages = names["table"](stub, request.scheme, 8192, 128)
        self.assertEqual(pages.shape, (8192, 128))
        self.assertEqual(pages.tobytes(), whole.additive.table.data)

    def test_large_attention_arrives_in_pages_of_queries(self):
        rng = np.random.default_rng(1)
        q, k, v = (rng.normal(size=(1, 8, 2048, 64)) for _ in range(3))

        def attend(client, first, count):
            request = wire.AttendRequest()
            request.scheme.rope.SetInParent()
            request.heads.q.CopyFrom(wire.tensor(q[:, :, first:first + count]))
            request.heads.k.CopyFrom(wire.tensor(k))
            request.heads.v.CopyFrom(wire.tensor(v))
            request.options.causal = True
            request.options.query_offset = first
            return wire.array(client(wire.ATTEND, request).output), request

        whole, request = attend(self.unlimited, 0, 2048)
        self.assert_too_large(wire.ATTEND, request, (4 << 20) + 19)
        pages = [attend(self.default, first, 512)[0] for first in range(0, 2048, 512)]
        np.testing.assert_allclose(np.concatenate(pages, axis=2), whole, rtol=0, atol=2e-6)

    # Pages of every scheme.

    def default_schemes(self):
        listed = self.unlimited(wire.LIST_SCHEMES, wire.ListSchemesRequest()).schemes
        return [f"{scheme.name} {{}}" for scheme in listed]

    def encode(self, text, start, count, keys=None, length=0, dtype=1):
        """The tensors of a range of positions, and the rest of the response."""
        request = encode_request(text, start, count, dtype=dtype)
        if length:
            request.sequence_length = length
        if keys:
            request.key_positions.range.start, request.key_positions.range.count = keys
        return tensors(self.unlimited(wire.ENCODE, request))

    def pages(self, text, keys, length, dtype=1):
        parts = [self.encode(text, start, min(PAGE, LENGTH - start), keys, length, dtype)
                 for start in range(0, LENGTH, PAGE)]
        joined = {name: np.concatenate([part[0][name] for part in parts], axis=-2)
                  for name in parts[0][0]}
        return joined, [part[1] for part in parts]

    def keys_of(self, text):
        """All keys for a bias, None for other schemes, which have no keys."""
        biases = ("alibi", "t5_bias", "kerple", "fire", "sandwich")
        return (0, LENGTH) if text.split()[0] in biases else None

    def test_pages_with_the_sequence_length_equal_one_call(self):
        for text in (*self.default_schemes(), *ROW_BY_ROW, *WHOLE_CALL):
            for dtype in ("FLOAT32", "FLOAT64"):
                with self.subTest(text, dtype=dtype):
                    code, keys = wire.CODES[dtype], self.keys_of(text)
                    whole, rest = self.encode(text, 0, LENGTH, keys, dtype=code)
                    found, rests = self.pages(text, keys, LENGTH, dtype=code)
                    self.assertEqual(found.keys(), whole.keys())
                    for name, values in whole.items():
                        self.assertEqual(found[name].tobytes(), values.tobytes(), name)
                    for each in rests:
                        self.assertEqual(each, rest)

    def test_pages_of_keys_equal_one_call(self):
        for text in ("alibi {}", "t5_bias {}", "kerple {}", "fire {}", "sandwich {}",
                     "fire {} randomized { maximum: 1000 seed: 1 }"):
            with self.subTest(text):
                whole = self.encode(text, 0, LENGTH, (0, LENGTH))[0]["bias"]
                parts = [self.encode(text, 0, LENGTH, (start, min(PAGE, LENGTH - start)),
                                     LENGTH)[0]["bias"] for start in range(0, LENGTH, PAGE)]
                self.assertEqual(np.concatenate(parts, axis=-1).tobytes(), whole.tobytes())

    def test_only_the_documented_schemes_need_the_sequence_length(self):
        for text in (*self.default_schemes(), *ROW_BY_ROW, *WHOLE_CALL):
            with self.subTest(text):
                keys = self.keys_of(text)
                whole = self.encode(text, 0, LENGTH, keys)[0]
                found = self.pages(text, keys, length=0)[0]
                same = all(found[name].tobytes() == whole[name].tobytes() for name in whole)
                # The keys of a bias already contain all positions.
                self.assertEqual(same, text not in WHOLE_CALL or keys is not None)

    def test_rejects_a_sequence_that_ends_before_the_positions(self):
        for length in (-1, 9, 2 ** 53 + 2):
            request = encode_request("rope {}", 5, 5)
            request.sequence_length = length
            with self.assertRaises(grpc.RpcError) as caught:
                self.unlimited(wire.ENCODE, request)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
            self.assertIn("sequence_length", caught.exception.details())
        request.sequence_length = 10
        self.unlimited(wire.ENCODE, request)


if __name__ == "__main__":
    unittest.main(verbosity=2)
