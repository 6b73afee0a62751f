#!/usr/bin/env python3
"""Writes the seed corpus of the fuzz targets: tests/fuzz/corpus/TARGET/seed-*.

Fuzzing starts from these inputs, and tests replay them. The output is committed; run the script
again when the contract grows. Inputs that fuzzing found are in the same folders as found-*, and
are not changed.
"""

import glob
import hashlib
import io
import os
import re
import sys

import numpy as np
from google.protobuf import text_format

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))

import hostile_requests  # noqa: E402 (found through the line above)
import wire  # noqa: E402
from methods import REFLECT_METHODS  # noqa: E402

# The order of kMethods in request_fuzz.cc.
METHODS = (wire.LIST_SCHEMES, wire.ENCODE, wire.ATTEND, wire.CHECK_PROPERTIES, wire.EVALUATE,
           wire.HEALTH_CHECK, REFLECT_METHODS["v1alpha"], wire.HEALTH_WATCH, REFLECT_METHODS["v1"])
MAX_BYTES = 600  # longer inputs are left out

SCHEMES = (
    "none {}", "sinusoidal { base: 100 layout: SINUSOIDAL_LAYOUT_HALVES }",
    "sinusoidal { layout: SINUSOIDAL_LAYOUT_TENSOR2TENSOR }", "learned { seed: 3 max_length: 16 }",
    "rope { base: 500000 layout: ROPE_LAYOUT_HALF_SPLIT rotary_dim: 4 }",
    "rope { linear { factor: 2 } }", "rope { ntk { factor: 2 } }",
    "rope { dynamic_ntk { factor: 2 max_position: 8 } }",
    "rope { yarn { factor: 4 original_length: 8 beta_fast: 32 beta_slow: 1 truncate: false } }",
    "rope { llama3 { factor: 8 low_freq_factor: 1 high_freq_factor: 4 original_length: 8 } }",
    "rope { longrope { factor: 2 original_length: 8 short_factors: [1, 1, 1, 1] "
    "long_factors: [1, 2, 3, 4] } }",
    "rope { proportional { share: 0.5 factor: 2 } }", "alibi { symmetric: true }",
    "alibi { slopes: [0.5, 0.25] }", "t5_bias { bucket_count: 8 max_distance: 16 seed: 1 }",
    "xpos {}", "kerple {}", "fire {}", "sandwich {}")
CONFIGS = (
    '{"rope_scaling": {"type": "linear", "factor": 2}}', '{"alibi": true, "n_head": 8}',
    '{"rope_scaling": {"rope_type": "longrope", "factor": 2, "short_factor": [1, 1], '
    '"long_factor": [1, 2], "original_max_position_embeddings": 4096}, "head_dim": 4}',
    "{}", "[]", '{"rope_theta": 1e309}', '{"text_config": {"rope_theta": 5}}')
METADATA = (
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "Bearer 0123456789abcdef",
    "bearer  0123456789abcdef ", "/grpc.health.v1.Health/Check", "/grpc.health.v1.Healthy/Check",
    "# tokens\n0123456789abcdef\nfedcba9876543210\n", "health,reflection,metrics", "[::1]:50051",
    "GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer 0123456789abcdef\r\n\r\n",
    "HEAD /readyz?a=b HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\n folded\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n",
    "127.0.0.1:0", 'a"b\\c\n\r\t\x00\x1b\x7f', "gr\u00fc\u00dfe \u2028 \U0001f600", "")


def requests():
    """Yields (index of the method, serialized request)."""
    yield METHODS.index(wire.LIST_SCHEMES), b""
    for _, path, request, *_ in hostile_requests.all_requests():
        data = request if isinstance(request, bytes) else request.SerializeToString()
        if path in METHODS:
            yield METHODS.index(path), data
    for scheme in SCHEMES:
        encode = text_format.Parse(
            f"scheme {{ {scheme} }} positions {{ range {{ start: 3 count: 4 }} }} dim: 8 "
            "head_count: 2", wire.EncodeRequest())
        yield METHODS.index(wire.ENCODE), encode.SerializeToString()
        attend = hostile_requests.heads(q=(1, 2, 3, 4))
        attend.scheme.Clear()
        text_format.Parse(scheme, attend.scheme)
        attend.options.causal = True
        yield METHODS.index(wire.ATTEND), attend.SerializeToString()
        module = text_format.Parse(
            f"scheme {{ {scheme} }} module {{ tokens: ['a', 'b', 'a'] seed: 1 head_count: 1 "
            "dim: 8 } options { causal: true return_weights: true }", wire.AttendRequest())
        yield METHODS.index(wire.ATTEND), module.SerializeToString()
        check = text_format.Parse(f"schemes {{ {scheme} }}", wire.CheckPropertiesRequest())
        yield METHODS.index(wire.CHECK_PROPERTIES), check.SerializeToString()
        pattern = text_format.Parse(
            f"schemes {{ {scheme} }} pattern {{ dim: 8 head_count: 1 }} train_length: 4 "
            "eval_lengths: 8", wire.EvaluateRequest())
        yield METHODS.index(wire.EVALUATE), pattern.SerializeToString()
    for task in ("ordering", "agreement", "text", "copy", "reverse", "recall", "retrofit"):
        trained = text_format.Parse(
            f"schemes {{ rope {{}} }} trained {{ {task} {{}} training {{ step_count: 1 batch_size: 1 }} "
            "model { layer_count: 1 dim: 8 head_count: 1 } } train_length: 8 eval_lengths: 16",
            wire.EvaluateRequest())
        yield METHODS.index(wire.EVALUATE), trained.SerializeToString()
    for path in (wire.HEALTH_CHECK, wire.HEALTH_WATCH):
        yield METHODS.index(path), wire.HealthCheckRequest(
            service="locus.v1.EncodingService").SerializeToString()
    for path in REFLECT_METHODS.values():
        yield METHODS.index(path), b"\x3a\x01*"
        yield METHODS.index(path), b"\x22\x18locus.v1.EncodingService"


def npy_files():
    for values in (np.arange(6, dtype="<f4").reshape(2, 3), np.float64(1.5), np.zeros((0, 4), "<f2"),
                   np.array([True, False]), np.arange(4, dtype=">i8"),
                   np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.array([1, 2], "<u2"),
                   np.array(["text"])):
        for version in ((1, 0), (2, 0)):
            file = io.BytesIO()
            np.lib.format.write_array(file, np.asarray(values), version=version)
            yield file.getvalue()


def configs():
    """Yields the configurations in the unit test of the reader, and those above."""
    path = os.path.join(os.path.dirname(HERE), "client", "hf_config", "hf_config_test.cc")
    with open(path, encoding="utf-8") as file:
        for text in re.findall(r'R"\((.*?)\)"', file.read(), re.S):
            yield text.encode()
    yield from (text.encode() for text in CONFIGS)


def seeds():
    """All seeds as {target: {file name: bytes}}."""
    cases = {
        "request": [bytes([method]) + data for method, data in requests()],
        "npy": npy_files(),
        "hf_config": configs(),
        "scheme_text": [text.encode() for text in SCHEMES] + [
            b"rope", b" rope # the usual one\n", b"rope{layout:half_split}",
            b"learned { policy: WRAP }", b"alibi{slopes: [1, 0.5] symmetric: true}", b"ropee",
            b"rope {\n  layout: SIDEWAYS }",
            b"rope:base=500000,yarn.factor=4", b"rope(base=5e5, yarn(factor=4))",
            b"long=RoPE base=5e5 yarn\xc3\x974", b"alibi:slopes=[0.5,0.25],symmetric",
            b"yarn { factor: 4 } randomized { seed: 1 }", b"learned:max_length=1e3,policy=wrap",
            b"rope:yarn=4,ntk=2", b"rope(base=", b'"a b"=t5-bias'],
        "metadata": [text.encode() for text in METADATA] + [b"\xff\xfe\xc0\x80"]}
    return {target: {"seed-" + hashlib.sha256(data).hexdigest()[:12]: data
                     for data in inputs if len(data) <= MAX_BYTES}
            for target, inputs in cases.items()}


def write(target, cases):
    """Replaces the seeds of a target."""
    folder = os.path.join(HERE, "corpus", target)
    os.makedirs(folder, exist_ok=True)
    for old in glob.glob(os.path.join(folder, "seed-*")):
        os.unlink(old)
    for name, data in cases.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


if __name__ == "__main__":
    for fuzz_target, seed_files in seeds().items():
        write(fuzz_target, seed_files)
