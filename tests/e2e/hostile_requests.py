"""Invalid and oversized requests: (name, method, request, code, field).

`code` is the status that the server must return. `field` is the field path that the message and
the details of the status must name; None if the message need not begin with a field.
"""

import grpc
import numpy as np
from google.protobuf import text_format

import wire

INVALID = grpc.StatusCode.INVALID_ARGUMENT
EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED
UNIMPLEMENTED = grpc.StatusCode.UNIMPLEMENTED

FLOATS_2X3 = 'dtype: DATA_TYPE_FLOAT32 shape: 2 shape: 3 data: "' + r"\000" * 24 + '"'
SINUSOIDAL = "scheme { sinusoidal {} } "
RANGE = "positions { range { count: 4 } } "
HUGE = 1 << 62


def encode(name, text, code, field):
    return name, wire.ENCODE, text_format.Parse(text, wire.EncodeRequest()), code, field


def invalid_schemes():
    def scheme(name, text, field, code=INVALID, extra="dim: 8 "):
        return encode(name, f"scheme {{ {text} }} {RANGE}{extra}", code, f"scheme.{field}")

    heads = "head_count: 2 "
    cases = [
        encode("no scheme", RANGE + "dim: 8", INVALID, "scheme"),
        encode("empty request", "", INVALID, "scheme"),
        scheme("layout 77", "sinusoidal { layout: 77 }", "sinusoidal.layout"),
        scheme("tensor2tensor of width 2",
               "sinusoidal { layout: SINUSOIDAL_LAYOUT_TENSOR2TENSOR }", "sinusoidal.layout",
               extra="dim: 2 "),
        scheme("odd rotary_dim", "rope { rotary_dim: 3 }", "rope.rotary_dim"),
        scheme("rotary_dim past the head", "rope { rotary_dim: 10 }", "rope.rotary_dim"),
        scheme("rotary_dim of 2^62", f"rope {{ rotary_dim: {HUGE} }}", "rope.rotary_dim"),
        scheme("odd head", "rope {}", "rope.rotary_dim", extra="dim: 7 "),
        scheme("slopes for other heads", "alibi { slopes: 1 }", "alibi.slopes", extra=heads),
        scheme("slope nan", "alibi { slopes: 1 slopes: nan }", "alibi.slopes[1]", extra=heads),
        scheme("bias_max inf", "alibi { bias_max: inf }", "alibi.bias_max", extra=heads),
        scheme("one bucket", "t5_bias { bucket_count: 1 }", "t5_bias.bucket_count", extra=heads),
        scheme("2^62 buckets", f"t5_bias {{ bucket_count: {HUGE} }}", "t5_bias.bucket_count",
               extra=heads),
        scheme("odd buckets both ways", "t5_bias { bucket_count: 5 bidirectional: true }",
               "t5_bias.bucket_count", extra=heads),
        scheme("max_distance among the exact", "t5_bias { max_distance: 16 }",
               "t5_bias.max_distance", extra=heads),
        scheme("t5 table of another size", f"t5_bias {{ table {{ {FLOATS_2X3} }} }}",
               "t5_bias.table.shape", extra=""),
        scheme("max_length beside a table", f"learned {{ table {{ {FLOATS_2X3} }} max_length: 4 }}",
               "learned.max_length", extra=""),
        scheme("past the table", f"learned {{ table {{ {FLOATS_2X3} }} }}", "learned.policy",
               extra=""),
        scheme("max_length 0", "learned { seed: 1 max_length: 0 }", "learned.max_length"),
        scheme("table for another width",
               f"learned {{ policy: LEARNED_POLICY_WRAP table {{ {FLOATS_2X3} }} }}",
               "learned.table.shape"),
        scheme("empty table", "learned { table { dtype: DATA_TYPE_FLOAT32 shape: 0 shape: 4 } }",
               "learned.table.shape", extra="dim: 4 "),
        scheme("table of bools",
               r'learned { table { dtype: DATA_TYPE_BOOL shape: 1 shape: 1 data: "\000" } }',
               "learned.table.dtype", extra="dim: 1 "),
    ]
    cases.append(scheme("16 million drawn biases",
                        "t5_bias { bucket_count: 4096 max_distance: 100000 }",
                        "t5_bias.bucket_count", EXHAUSTED, "head_count: 4096 "))
    for base in ("0", "-1", "nan", "inf", "1e300"):
        cases.append(scheme(f"base {base}", f"rope {{ base: {base} }}", "rope.base"))
    return cases


def invalid_sizes():
    """Small requests for terabytes of output, or with invalid sizes."""
    alibi, t5 = "scheme { alibi {} } ", "scheme { t5_bias {} } "
    return [
        encode("2^62 positions", f"{SINUSOIDAL}dim: 8 positions {{ range {{ count: {HUGE} }} }}",
               EXHAUSTED, None),
        encode("2^40 positions", f"{SINUSOIDAL}dim: 8 positions {{ range {{ count: {1 << 40} }} }}",
               EXHAUSTED, None),
        encode("response of a gigabyte",
               SINUSOIDAL + "dim: 1024 positions { range { count: 262144 } }", EXHAUSTED, None),
        encode("width of 2^62", f"{SINUSOIDAL}{RANGE}dim: {HUGE}", EXHAUSTED, "dim"),
        encode("width of 2^31", f"{SINUSOIDAL}{RANGE}dim: {1 << 31}", EXHAUSTED, "dim"),
        encode("rope of 2^40", f"scheme {{ rope {{}} }} {RANGE}dim: {1 << 40}", EXHAUSTED, "dim"),
        encode("2^62 heads", f"{alibi}{RANGE}head_count: {HUGE}", EXHAUSTED, "head_count"),
        encode("2^31 heads", f"{alibi}{RANGE}head_count: {1 << 31}", EXHAUSTED, "head_count"),
        encode("2^40 heads of t5", f"{t5}{RANGE}head_count: {1 << 40}", EXHAUSTED, "head_count"),
        encode("a bias of 2^60", alibi + "head_count: 4 positions { range { count: 1073741824 } }",
               EXHAUSTED, None),
        encode("negative width", f"{SINUSOIDAL}{RANGE}dim: -4", INVALID, "dim"),
        encode("no width", SINUSOIDAL + RANGE, INVALID, "dim"),
        encode("no heads", alibi + RANGE, INVALID, "head_count"),
        encode("negative heads", f"{alibi}{RANGE}head_count: -1", INVALID, "head_count"),
        encode("table of 2^40 rows, interpolated, of 2^20 width",
               f"scheme {{ learned {{ max_length: {1 << 40} "
               "policy: LEARNED_POLICY_INTERPOLATE } } "
               f"positions {{ range {{ count: 100000 }} }} dim: {1 << 20}", EXHAUSTED, None),
    ]


def invalid_positions():
    def positions(name, text, field):
        return encode(name, f"{SINUSOIDAL}dim: 8 {text}", INVALID, field)

    return [
        positions("no positions", "", "positions"),
        positions("neither range nor ids", "positions {}", "positions.range"),
        positions("negative start", "positions { range { start: -1 count: 2 } }",
                  "positions.range.start"),
        positions("negative count", "positions { range { count: -2 } }", "positions.range.count"),
        positions("past int64", f"positions {{ range {{ start: {2 ** 63 - 1} count: 2 }} }}",
                  "positions.range.count"),
        positions("negative id", "positions { ids { ids: 3 ids: -9 } }", "positions.ids.ids[1]"),
        positions("keys without a bias", RANGE + "key_positions { range { count: 2 } }",
                  "key_positions"),
    ]


def invalid_tensors():
    def tensor(name, text, field):
        return encode(name, f"{SINUSOIDAL}input {{ {text} }}", INVALID, f"input.{field}")

    shape = "shape: 2 shape: 3 "
    data = 'data: "' + r"\000" * 24 + '"'
    return [
        tensor("no type", shape + data, "dtype"),
        tensor("type 99", "dtype: 99 " + shape + data, "dtype"),
        tensor("integers", r'dtype: DATA_TYPE_INT64 shape: 1 shape: 1 data: "\0\0\0\0\0\0\0\0"',
               "dtype"),
        tensor("too few bytes", f'dtype: DATA_TYPE_FLOAT32 {shape} data: "abc"', "data"),
        tensor("too many bytes", f"dtype: DATA_TYPE_FLOAT16 {shape}{data}", "data"),
        tensor("no bytes", "dtype: DATA_TYPE_FLOAT32 " + shape, "data"),
        tensor("negative extent", "dtype: DATA_TYPE_FLOAT32 shape: -2 shape: -3 " + data, "shape"),
        tensor("overflowing extents",
               f"dtype: DATA_TYPE_FLOAT32 shape: {1 << 33} shape: {1 << 33} {data}", "shape"),
        tensor("overflow that wraps to its size",
               f"dtype: DATA_TYPE_FLOAT32 shape: {1 << 61} shape: 8 shape: 2", "shape"),
        tensor("nine axes", "dtype: DATA_TYPE_FLOAT32 " + "shape: 1 " * 9 + 'data: "abcd"',
               "shape"),
        tensor("one axis", 'dtype: DATA_TYPE_FLOAT32 shape: 1 data: "abcd"', "shape"),
        encode("numbers as bools", SINUSOIDAL + RANGE + "dim: 4 dtype: DATA_TYPE_BOOL", INVALID,
               "dtype"),
        encode("numbers of type 99", SINUSOIDAL + RANGE + "dim: 4 dtype: 99", INVALID, "dtype"),
        encode("input and positions differ", f"{SINUSOIDAL}{RANGE}input {{ {FLOATS_2X3} }}",
               INVALID, "input.shape"),
        encode("input and width differ", f"{SINUSOIDAL}dim: 4 input {{ {FLOATS_2X3} }}",
               INVALID, "input.shape"),
    ]


def heads(q=(1, 2, 3, 4), k=None, v=None, dtypes=("FLOAT32",) * 3, scheme="none"):
    """An Attend request with zeros of these shapes. The defaults are valid."""
    request = wire.AttendRequest()
    getattr(request.scheme, scheme).SetInParent()
    shapes = (q, k or q, v or k or q)
    for name, shape, dtype in zip("qkv", shapes, dtypes):
        getattr(request.heads, name).CopyFrom(wire.tensor(np.zeros(shape), dtype))
    return request


def attend(name, request, code, field, options=""):
    text_format.Parse(options, request.options)
    return f"attend: {name}", wire.ATTEND, request, code, field


def invalid_heads():
    cases = [
        attend("q alone", without_heads(heads(), "k", "v"), INVALID, "heads.k"),
        attend("types differ", heads(dtypes=("FLOAT32", "FLOAT64", "FLOAT32")), INVALID,
               "heads.k.dtype"),
        attend("integers", heads(dtypes=("INT64",) * 3), INVALID, "heads.q.dtype"),
        attend("three axes", heads(q=(2, 3, 4)), INVALID, "heads.q.shape"),
        attend("widths differ", heads(k=(1, 2, 3, 5)), INVALID, "heads.k.shape"),
        attend("batches differ", heads(k=(2, 2, 3, 4)), INVALID, "heads.k.shape"),
        attend("heads do not divide", heads(q=(1, 3, 3, 4), k=(1, 2, 3, 4)), INVALID,
               "heads.k.shape"),
        attend("lengths of k and v differ", heads(v=(1, 2, 5, 4)), INVALID, "heads.v.shape"),
        attend("no key heads", heads(k=(1, 0, 3, 4)), INVALID, "heads.k.shape"),
        attend("width 0", heads(q=(1, 2, 3, 0)), INVALID, "heads.q.shape"),
        attend("embeddings in heads", heads(scheme="sinusoidal"), INVALID, "scheme"),
        attend("causal bias without causal masking", heads(scheme="alibi"), INVALID,
               "scheme.alibi.symmetric"),
        attend("odd head", heads(q=(1, 1, 2, 3), scheme="rope"), INVALID, "scheme.rope.rotary_dim"),
        attend("2^40 empty heads", hollow(heads=1 << 40), INVALID, "heads.q.shape"),
        attend("2^62 queries of no batch", hollow(batch=0, queries=HUGE), INVALID,
               "heads.q.shape", f"query_offset: {1 << 61}"),
        attend("weights of 16 GiB", heads(q=(1, 1, 65536, 1)), EXHAUSTED, None,
               "return_weights: true"),
    ]
    empty = wire.AttendRequest()
    empty.scheme.none.SetInParent()
    return cases + [attend("neither heads nor module", empty, INVALID, "heads")]


def without_heads(request, *missing):
    for name in missing:
        request.heads.ClearField(name)
    return request


def hollow(batch=1, heads=1, queries=0):
    """An Attend request whose tensors have huge extents but no elements, and so no bytes."""
    request = wire.AttendRequest()
    request.scheme.none.SetInParent()
    for name in "qkv":
        tensor = getattr(request.heads, name)
        tensor.CopyFrom(wire.tensor(np.zeros(0)))
        tensor.shape[:] = [batch, heads, queries, 4]
    return request


def invalid_options():
    def option(name, text, field):
        return attend(name, heads(), INVALID, f"options.{field}", text)

    bools = r'dtype: DATA_TYPE_BOOL data: "\001\001\001\001\001"'
    return [
        option("negative window", "window: -1", "window"),
        option("scale nan", "scale: nan", "scale"),
        option("scale inf", "scale: -inf", "scale"),
        option("negative softcap", "softcap: -2", "softcap"),
        option("softcap nan", "softcap: nan", "softcap"),
        option("offset of the largest int64", f"query_offset: {2 ** 63 - 1}", "query_offset"),
        option("offset of the smallest int64", f"query_offset: {-2 ** 63}", "query_offset"),
        option("two offsets", "query_offset: 1 bottom_right: true", "bottom_right"),
        option("mask that does not broadcast", f"mask {{ {bools} shape: 5 }}", "mask.shape"),
        option("mask of five axes",
               'mask { dtype: DATA_TYPE_BOOL shape: 1 shape: 1 shape: 1 shape: 1 shape: 1 '
               r'data: "\001" }', "mask.shape"),
        option("mask of integers",
               r'mask { dtype: DATA_TYPE_INT64 shape: 1 data: "\0\0\0\0\0\0\0\0" }', "mask.dtype"),
        option("mask without type", 'mask { shape: 1 data: "a" }', "mask.dtype"),
        option("mask with too few bytes", f"mask {{ {bools} shape: 2 shape: 3 }}", "mask.data"),
        option("too few query positions", "query_positions { ids { ids: 1 } }", "query_positions"),
        option("too many key positions", "key_positions { range { count: 9 } }", "key_positions"),
        option("negative query position", "query_positions { ids { ids: -1 } }",
               "query_positions.ids.ids[0]"),
    ]


def module(name, text, code, field):
    request = wire.AttendRequest()
    request.scheme.none.SetInParent()
    text_format.Parse(text, request.module)
    request.module.SetInParent()
    return f"module: {name}", wire.ATTEND, request, code, f"module.{field}" if field else None


def invalid_modules():
    tokens = 'tokens: "a" tokens: "b" '
    x = 'x { dtype: DATA_TYPE_FLOAT32 shape: 1 shape: 2 shape: 3 data: "' + r"\000" * 24 + '" } '
    return [
        module("neither x nor tokens", "", INVALID, "x"),
        module("x and tokens", x + tokens, INVALID, "x"),
        module("x of two axes", f"x {{ {FLOATS_2X3} }}", INVALID, "x.shape"),
        module("heads that do not divide", x + "head_count: 2", INVALID, "head_count"),
        module("negative heads", x + "head_count: -1", INVALID, "head_count"),
        module("2^62 heads", f"{x}head_count: {HUGE}", INVALID, "head_count"),
        module("negative width", tokens + "dim: -8", INVALID, "dim"),
        module("2^60 tokens of no batch",
               f"x {{ dtype: DATA_TYPE_FLOAT32 shape: 0 shape: {1 << 60} shape: 8 }}", INVALID,
               "x.shape"),
        module("a gigabyte of drawn weights", tokens + "dim: 16000", EXHAUSTED, "dim"),
        module("width of 2^20", f"{tokens}dim: {1 << 20}", EXHAUSTED, None),
        module("width of 2^62", f"{tokens}dim: {HUGE}", EXHAUSTED, None),
        module("weights of another size", f"{x}weights {{ wq {{ {FLOATS_2X3} }} wk {{ {FLOATS_2X3} "
               f"}} wv {{ {FLOATS_2X3} }} wo {{ {FLOATS_2X3} }} }}", INVALID, "weights.wq.shape"),
        module("some weights", x + "weights {}", INVALID, "weights.wq"),
    ]


def evaluate(name, text, code, field):
    request = text_format.Parse(text, wire.EvaluateRequest())
    return f"evaluate: {name}", wire.EVALUATE, request, code, field


def check(name, text, code, field):
    request = text_format.Parse(text, wire.CheckPropertiesRequest())
    return f"check: {name}", wire.CHECK_PROPERTIES, request, code, field


def invalid_evaluations():
    def trained(name, text, field, code=INVALID):
        return evaluate(name, f"trained {{ {text} }}", code, field)

    def model(name, text, field):
        return trained(f"model: {name}", f"copy {{}} model {{ {text} }}", f"trained.model.{field}")

    def training(name, text, field):
        return trained(name, f"copy {{}} training {{ {text} }}", f"trained.training.{field}")

    return [
        evaluate("empty request", "", INVALID, "pattern"),
        trained("no task", "", "trained.ordering"),
        evaluate("train_length of 2^62", f"pattern {{}} train_length: {HUGE}", INVALID,
                 "train_length"),
        evaluate("negative train_length", "pattern {} train_length: -1", INVALID, "train_length"),
        evaluate("eval_length of 2^62", f"pattern {{}} eval_lengths: 64 eval_lengths: {HUGE}",
                 INVALID, "eval_lengths[1]"),
        evaluate("negative eval_length", "pattern {} eval_lengths: -64", INVALID,
                 "eval_lengths[0]"),
        evaluate("eval_length 0", "trained { copy {} } eval_lengths: 0", INVALID,
                 "eval_lengths[0]"),
        evaluate("thousands of lengths", "pattern {} " + "eval_lengths: 64 " * 5000, INVALID,
                 "eval_lengths"),
        evaluate("2^62 seeds", f"pattern {{}} seed_count: {HUGE}", INVALID, "seed_count"),
        evaluate("negative seeds", "trained { copy {} } seed_count: -3", INVALID, "seed_count"),
        evaluate("thousands of schemes", "pattern {} " + "schemes { rope {} } " * 5000, EXHAUSTED,
                 "schemes"),
        evaluate("empty scheme", "pattern {} schemes { rope {} } schemes {}", INVALID,
                 "schemes[1]"),
        evaluate("base nan", "pattern {} schemes { rope { base: nan } }", INVALID,
                 "schemes[0].rope.base"),
        evaluate("label of a mebibyte",
                 f"pattern {{}} schemes {{ rope {{}} label: '{'x' * 2**20}' }}", INVALID,
                 "schemes[0].label"),
        evaluate("label with a control character",
                 r"pattern {} schemes { rope {} label: 'a\033[2Jb' }", INVALID,
                 "schemes[0].label"),
        evaluate("two equal labels", "pattern {} schemes { rope {} label: 'a' } "
                 "schemes { alibi {} label: 'a' }", INVALID, "schemes[1].label"),
        trained("question with a value of 2^62", f"ordering {{ ask {{ values: [1, {HUGE}] }} }}",
                "trained.ordering.ask[0].values[1]"),
        trained("question without values", "ordering { ask {} }",
                "trained.ordering.ask[0].values"),
        trained("question of thousands of values",
                "ordering { ask { values: [" + ", ".join("1" * 5000) + "] } }",
                "trained.ordering.ask[0].values"),
        trained("thousands of questions", "ordering { " + "ask { values: [1, 2] } " * 5000 + "}",
                "trained.ordering.ask"),
        evaluate("width of 2^62", f"pattern {{ dim: {HUGE} }}", INVALID, "pattern.dim"),
        evaluate("negative width", "pattern { dim: -32 }", INVALID, "pattern.dim"),
        evaluate("2^62 heads", f"pattern {{ head_count: {HUGE} }}", INVALID, "pattern.head_count"),
        evaluate("heads that do not divide", "pattern { dim: 32 head_count: 3 }", INVALID,
                 "pattern.head_count"),
        evaluate("maps of 2^31", f"pattern {{ map_size: {1 << 31} }}", INVALID,
                 "pattern.map_size"),
        model("width of 2^62", f"dim: {HUGE}", "dim"),
        model("negative layers", "layer_count: -2", "layer_count"),
        model("2^31 layers", f"layer_count: {1 << 31}", "layer_count"),
        model("heads that do not divide", "dim: 64 head_count: 5", "head_count"),
        model("feed_forward of 2^62", f"feed_forward_dim: {HUGE}", "feed_forward_dim"),
        training("2^62 steps", f"step_count: {HUGE}", "step_count"),
        training("negative steps", "step_count: -1", "step_count"),
        training("2^62 sequences", f"batch_size: {HUGE}", "batch_size"),
        training("learning_rate nan", "learning_rate: nan", "learning_rate"),
        training("learning_rate inf", "learning_rate: inf", "learning_rate"),
        training("negative learning_rate", "learning_rate: -1", "learning_rate"),
        training("weight_decay nan", "weight_decay: nan", "weight_decay"),
        training("clip_norm 0", "clip_norm: 0", "clip_norm"),
        training("negative warm-up", "warmup_step_count: -1", "warmup_step_count"),
        training("2^62 steps of warm-up", f"warmup_step_count: {HUGE}", "warmup_step_count"),
        trained("a corpus of 5 MiB", 'text { corpus: "' + "x" * (5 << 20) + '" }',
                "trained.text.corpus", EXHAUSTED),
        trained("a corpus of 3 bytes", 'text { corpus: "abc" }', "trained.text.corpus"),
        trained("a million steps of everything",
                "copy {} model { dim: 256 layer_count: 8 feed_forward_dim: 1024 } "
                "training { step_count: 1000000 batch_size: 1024 }", "request", EXHAUSTED),
        check("thousands of schemes", "schemes { rope {} } " * 5000, EXHAUSTED, "schemes"),
        check("empty scheme", "schemes {}", INVALID, "schemes[0]"),
        check("base nan", "schemes { none {} } schemes { rope { base: nan } }", INVALID,
              "schemes[1].rope.base"),
        ("evaluate: not a message", wire.EVALUATE, b"\xff" * 40, INVALID, "request"),
    ]


def invalid_bytes():
    """Bytes that a Protobuf library would not write, unknown methods, and messages whose parsed
    form is many times larger than their bytes."""
    bad_text = wire.AttendRequest()
    bad_text.scheme.none.SetInParent()
    bad_text.module.tokens.append("ZZ")
    not_utf8 = bad_text.SerializeToString().replace(b"ZZ", b"\xff\xfe")
    groups = b"\x7b" * 100000  # nested groups of field 15
    return [
        ("not a message", wire.ENCODE, b"\xff" * 40, INVALID, "request"),
        ("truncated message", wire.ATTEND, heads().SerializeToString()[:-5], INVALID, "request"),
        ("not UTF-8", wire.ATTEND, not_utf8, INVALID, "request"),
        ("nested groups", wire.ENCODE, groups, INVALID, "request"),
        ("a length past the end", wire.ENCODE, b"\x2a\xff\xff\xff\xff\x07abc", INVALID, "request"),
        ("unknown method", "/locus.v1.EncodingService/NoSuchMethod", b"", UNIMPLEMENTED, None),
        ("unknown service", "/locus.v1.NoSuchService/Encode", b"", UNIMPLEMENTED, None),
        ("20 million ids", wire.ENCODE, many_ids(20_000_000), EXHAUSTED, "request"),
        ("four million empty tokens", wire.ATTEND, many_tokens(4_000_000), EXHAUSTED, "request"),
    ]


def many_tokens(count):
    """A request with empty tokens: 2 bytes each when serialized, dozens of bytes in memory."""
    request = wire.AttendRequest()
    request.scheme.none.SetInParent()
    request.module.tokens.extend([""] * count)
    return request.SerializeToString()


def many_ids(count):
    """A request with position ids: one byte each when serialized, eight bytes in memory."""
    request = wire.EncodeRequest(dim=2)
    request.scheme.none.SetInParent()
    request.positions.ids.SetInParent()
    packed = b"\x0a" + varint(count) + b"\x01" * count  # PositionIds.ids
    ids = b"\x12" + varint(len(packed)) + packed        # Positions.ids
    return request.SerializeToString() + b"\x12" + varint(len(ids)) + ids


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def all_requests():
    return (invalid_schemes() + invalid_sizes() + invalid_positions() + invalid_tensors()
            + invalid_heads() + invalid_options() + invalid_modules() + invalid_evaluations()
            + invalid_bytes())
