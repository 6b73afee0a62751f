"""Test cases of Encode: each scheme with its parameters, at small and large positions."""

import numpy as np

import inputs
import neutral
import reference as ref
import schemes
import streams

POSITIONS = [0, 1, 17, 1000000, 2 ** 31]


def encode_case(name, scheme, **request):
    case = {"name": name, "scheme": scheme, **request}
    result = ref.encode(case)
    case["expect"] = {key: expected(value) for key, value in result.items()}
    return case


def expected(value):
    if value.ndim == 0:
        return float(value)
    return inputs.plain(value) if value.ndim == 1 else neutral.from_array(value)


def none_cases():
    return [encode_case("none/input", {"none": {}},
                        input=inputs.tensor(streams.Stream(1, "golden.none"), 3, 4))]


def sinusoidal_cases():
    cases = []
    for layout in ("INTERLEAVED", "HALVES", "TENSOR2TENSOR"):
        for dim in (4, 5, 7, 16):
            cases.append(encode_case(f"sinusoidal/{layout}/{dim}",
                                     {"sinusoidal": {"layout": layout}},
                                     positions={"ids": POSITIONS}, dim=dim))
        cases.append(encode_case(f"sinusoidal/{layout}/base",
                                 {"sinusoidal": {"layout": layout, "base": 500.0}},
                                 positions={"start": 998, "count": 5}, dim=6))
    for dim in (1, 2, 3):
        cases.append(encode_case(f"sinusoidal/narrow/{dim}", {"sinusoidal": {}},
                                 positions={"ids": [5, 0, 5]}, dim=dim))
    cases.append(encode_case("sinusoidal/input", {"sinusoidal": {}},
                             input=inputs.tensor(streams.Stream(2, "golden.sinusoidal"), 2, 3, 6)))
    cases.append(encode_case("sinusoidal/input at ids", {"sinusoidal": {"layout": "HALVES"}},
                             positions={"ids": [9, 2, 40000]},
                             input=inputs.tensor(streams.Stream(3, "golden.sinusoidal"), 3, 5)))
    return cases


def learned_cases():
    table = inputs.tensor(streams.Stream(4, "golden.learned"), 5, 3)
    within = {"ids": [4, 0, 2, 2]}
    past = {"ids": [3, 4, 5, 11, 1000000]}
    cases = [encode_case("learned/table", {"learned": {"table": table}}, positions=within, dim=3)]
    for policy in ("CLAMP", "WRAP", "ZERO", "RANDOM", "INTERPOLATE"):
        cases.append(encode_case(f"learned/table/{policy}",
                                 {"learned": {"table": table, "policy": policy}},
                                 positions=past, dim=3))
        cases.append(encode_case(
            f"learned/seed/{policy}",
            {"learned": {"seed": 7, "max_length": 6, "policy": policy}},
            positions={"start": 3, "count": 6}, dim=4))
    cases.append(encode_case("learned/seed", {"learned": {"seed": 2 ** 63 + 9}},
                             positions={"ids": [0, 1, 511]}, dim=5))
    cases.append(encode_case("learned/interpolate within",
                             {"learned": {"table": table, "policy": "INTERPOLATE"}},
                             positions=within, dim=3))
    cases.append(encode_case("learned/interpolate one row",
                             {"learned": {"seed": 1, "max_length": 1, "policy": "INTERPOLATE"}},
                             positions={"start": 0, "count": 3}, dim=2))
    cases.append(encode_case("learned/input", {"learned": {"table": table, "policy": "WRAP"}},
                             input=inputs.tensor(streams.Stream(5, "golden.learned"), 2, 7, 3)))
    return cases


def rope_cases():
    cases = []
    for layout in ("INTERLEAVED", "HALF_SPLIT"):
        for dim, rotary_dim in ((2, None), (8, None), (8, 4), (7, 6), (16, 2)):
            parameters = {"layout": layout}
            if rotary_dim:
                parameters["rotary_dim"] = rotary_dim
            cases.append(encode_case(
                f"rope/{layout}/{dim} of which {rotary_dim}", {"rope": parameters},
                positions={"ids": POSITIONS},
                input=inputs.tensor(streams.Stream(dim, f"golden.rope/{layout}"), 5, dim)))
        cases.append(encode_case(f"rope/{layout}/base", {"rope": {"layout": layout, "base": 5e5}},
                                 positions={"start": 131070, "count": 3}, dim=10))
    cases.append(encode_case("rope/heads", {"rope": {}},
                             input=inputs.tensor(streams.Stream(6, "golden.rope"), 2, 2, 3, 4)))
    return cases


def scalings(pairs):
    """Each RoPE scaling with its defaults and with each parameter, for that many pairs."""
    ramp = [1 + k / 4 for k in range(pairs)]
    return [
        ("linear", {}), ("linear", {"factor": 4.0}),
        ("ntk", {}), ("ntk", {"factor": 8.0}),
        ("dynamic_ntk", {}), ("dynamic_ntk", {"factor": 10.0, "max_position": 16}),
        ("dynamic_ntk", {"factor": 2.0, "max_position": 18}),
        ("yarn", {}), ("yarn", {"factor": 4.0}),
        ("yarn", {"factor": 16.0, "original_length": 64, "beta_fast": 8.0, "beta_slow": 0.5}),
        ("yarn", {"factor": 16.0, "original_length": 64, "truncate": False}),
        ("yarn", {"factor": 40.0, "mscale": 1.0, "mscale_all_dim": 0.8}),
        ("yarn", {"factor": 40.0, "mscale": 1.0, "mscale_all_dim": 0.0}),
        ("yarn", {"factor": 40.0, "mscale": 0.7, "attention_factor": 1.25}),
        ("yarn", {"factor": 4.0, "original_length": 6, "beta_fast": 1000.0}),
        ("llama3", {}),
        ("llama3", {"factor": 32.0, "low_freq_factor": 1.5, "high_freq_factor": 2.0,
                    "original_length": 256}),
        ("longrope", {}),
        ("longrope", {"factor": 32.0, "original_length": 17, "short_factors": [2.0] * pairs,
                      "long_factors": ramp}),
        ("longrope", {"factor": 32.0, "original_length": 18, "short_factors": [2.0] * pairs,
                      "long_factors": ramp}),
        ("longrope", {"factor": 4.0, "original_length": 4096, "long_factors": ramp,
                      "attention_factor": 1.125}),
        ("proportional", {}), ("proportional", {"share": 0.25}),
        ("proportional", {"share": 0.49, "factor": 4.0}), ("proportional", {"share": 0.0}),
    ]


def scaling_cases():
    """Lengths below and above the thresholds of length-dependent scalings, 17 and 18 here."""
    cases = []
    for dim in (16, 20):
        for number, (name, parameters) in enumerate(scalings(dim // 2)):
            layout = ("INTERLEAVED", "HALF_SPLIT")[number % 2]
            for last in (16, 17, 1000000):
                cases.append(encode_case(
                    f"rope/{name}/{number} of {dim} up to {last}",
                    {"rope": {"layout": layout, name: parameters}},
                    positions={"ids": [0, 3, last]}, dim=dim))
    cases.append(encode_case("rope/proportional/halves unless told", {"rope": {
        "proportional": {"share": 0.5}}}, positions={"ids": [0, 3, 17]}, input=inputs.tensor(
            streams.Stream(18, "golden.proportional"), 3, 8)))
    stream = streams.Stream(12, "golden.scaling")
    for number, (name, parameters) in enumerate(scalings(3)):
        if name == "proportional":
            continue
        cases.append(encode_case(
            f"rope/{name}/{number} partial",
            {"rope": {"base": 500000.0, "rotary_dim": 6, name: parameters}},
            positions={"start": 15, "count": 3}, input=inputs.tensor(stream, 3, 7)))
    return cases


def single_precision_cases():
    """Large positions, at which single precision differs visibly from exact angles."""
    far = {"ids": [0, 1, 4097, 131071, 1000000]}
    cases = []
    for base in (1e4, 5e5, 1e6):
        for dim, rotary_dim in ((128, None), (16, 12)):
            cases.append(encode_case(
                f"rope/single precision/{base:.0f} of {dim}",
                {"rope": {"angles": "FLOAT32", "layout": "HALF_SPLIT", "base": base,
                          **({"rotary_dim": rotary_dim} if rotary_dim else {})}},
                positions=far, dim=dim))
        for number, (name, parameters) in enumerate(scalings(8)):
            cases.append(encode_case(
                f"rope/single precision/{base:.0f}/{name}/{number}",
                {"rope": {"angles": "FLOAT32", "base": base, name: parameters}},
                positions=far, dim=16))
    stream = streams.Stream(17, "golden.single")
    cases.append(encode_case("rope/single precision/input", {"rope": {"angles": "FLOAT32"}},
                             positions=far, input=inputs.tensor(stream, 5, 8)))
    return cases


def alibi_cases():
    cases = []
    for heads in (1, 2, 3, 4, 6, 8, 12, 16, 20):
        for rule in ("PAPER", "COURSE"):
            cases.append(encode_case(f"alibi/{rule}/{heads}", {"alibi": {"rule": rule}},
                                     positions={"start": 0, "count": 2}, head_count=heads))
    cases += [
        encode_case("alibi/symmetric", {"alibi": {"symmetric": True}},
                    positions={"start": 0, "count": 4}, head_count=3),
        encode_case("alibi/bias_max", {"alibi": {"bias_max": 5.5, "symmetric": True}},
                    positions={"start": 7, "count": 2}, key_positions={"start": 5, "count": 4},
                    head_count=6),
        encode_case("alibi/far ids", {"alibi": {}},
                    positions={"ids": [2 ** 31, 17, 1000000]},
                    key_positions={"ids": [0, 17, 999999, 2 ** 31]}, head_count=2),
        encode_case("alibi/slopes", {"alibi": {"slopes": [0.5, 0.0, 1.25]}},
                    positions={"start": 0, "count": 3}),
        encode_case("alibi/negative slope", {"alibi": {"slopes": [-0.125], "symmetric": True}},
                    positions={"start": 0, "count": 3}, head_count=1),
        encode_case("alibi/input", {"alibi": {}},
                    input=inputs.tensor(streams.Stream(7, "golden.alibi"), 2, 2, 3, 3)),
        encode_case("alibi/symmetric input", {"alibi": {"symmetric": True}},
                    key_positions={"start": 1, "count": 4},
                    input=inputs.tensor(streams.Stream(8, "golden.alibi"), 2, 3, 4)),
    ]
    return cases


def t5_cases():
    """T5 biases. A table whose values are the bucket numbers reveals every edge."""
    cases = []
    for name, parameters in (
            ("causal", {}), ("bidirectional", {"bidirectional": True}),
            ("two buckets", {"bucket_count": 2, "max_distance": 5}),
            ("seven buckets", {"bucket_count": 7, "max_distance": 50}),
            ("six both ways", {"bucket_count": 6, "max_distance": 20, "bidirectional": True}),
            ("far", {"bucket_count": 64, "max_distance": 100000})):
        numbered = neutral.from_array(
            np.arange(parameters.get("bucket_count", 32), dtype=float)[:, None])
        keys = [500000 + rel for rel in bucket_ends(parameters)]
        cases.append(encode_case(
            f"t5_bias/edges/{name}", {"t5_bias": {**parameters, "table": numbered}},
            positions={"ids": [500000]}, key_positions={"ids": keys}))
    stream = streams.Stream(9, "golden.t5")
    cases += [
        encode_case("t5_bias/seed", {"t5_bias": {"seed": 3}},
                    positions={"start": 0, "count": 4}, head_count=3),
        encode_case("t5_bias/seed both ways", {"t5_bias": {"seed": 4, "bidirectional": True}},
                    positions={"ids": [1000000, 3, 90]}, key_positions={"ids": [0, 77, 2 ** 31]},
                    head_count=2),
        encode_case("t5_bias/input",
                    {"t5_bias": {"bucket_count": 4, "max_distance": 3, "bidirectional": True,
                                 "table": inputs.tensor(stream, 4, 2)}},
                    input=inputs.tensor(stream, 2, 4, 4)),
    ]
    return cases


def xpos_cases():
    cases = []
    for layout in ("INTERLEAVED", "HALF_SPLIT"):
        for side in ("QUERIES", "KEYS"):
            stream = streams.Stream(13, f"golden.xpos/{layout}/{side}")
            cases.append(encode_case(
                f"xpos/{layout}/{side}", {"xpos": {"layout": layout, "centre": 0}}, side=side,
                positions={"ids": [0, 1, 17, 2000]}, input=inputs.tensor(stream, 4, 6)))
    cases += [
        encode_case("xpos/centred", {"xpos": {}}, positions={"ids": [39999, 0, 20001]}, dim=4),
        encode_case("xpos/far", {"xpos": {}}, positions={"start": 1000000, "count": 3}, dim=8),
        encode_case("xpos/parameters", {"xpos": {"base": 500.0, "scale_base": 64.0, "centre": 9}},
                    positions={"start": 0, "count": 20}, dim=10, side="KEYS"),
    ]
    return cases


def kerple_cases():
    near, far = {"start": 0, "count": 4}, {"ids": [1000000, 3, 90]}
    stream = streams.Stream(14, "golden.kerple")
    cases = []
    for kernel in ("LOG", "POWER"):
        given = {"kernel": kernel, "p": [0.5, 1.0, 2.0], "a": [0.01, 0.25, 3.0]}
        cases += [
            encode_case(f"kerple/{kernel}/drawn", {"kerple": {"kernel": kernel, "seed": 5}},
                        positions=near, head_count=3),
            encode_case(f"kerple/{kernel}/given", {"kerple": given}, positions=near),
            encode_case(f"kerple/{kernel}/p alone",
                        {"kerple": {"kernel": kernel, "p": [0.5, 1.5]}}, positions=near),
            encode_case(f"kerple/{kernel}/symmetric", {"kerple": {**given, "symmetric": True}},
                        positions=far, key_positions={"ids": [0, 77, 2 ** 31]}),
            encode_case(f"kerple/{kernel}/input", {"kerple": {"kernel": kernel}},
                        input=inputs.tensor(stream, 2, 4, 4)),
        ]
    return cases


def sandwich_cases():
    stream = streams.Stream(15, "golden.sandwich")
    return [
        encode_case("sandwich/defaults", {"sandwich": {}}, positions={"start": 0, "count": 5},
                    head_count=3),
        encode_case("sandwich/parameters", {"sandwich": {"width": 10, "base": 300.0}},
                    positions={"ids": [0, 400, 7]}, key_positions={"ids": [1000, 5]},
                    head_count=8),
        encode_case("sandwich/far", {"sandwich": {}}, positions={"ids": [1000000, 0]},
                    key_positions={"ids": [300000, 2]}, head_count=2),
        encode_case("sandwich/input", {"sandwich": {}}, input=inputs.tensor(stream, 2, 4, 4)),
    ]


def fire_cases():
    stream = streams.Stream(16, "golden.fire")
    layers = {"w1": inputs.tensor(stream, 6), "b1": inputs.tensor(stream, 6),
              "w2": inputs.tensor(stream, 2, 6), "b2": inputs.tensor(stream, 2)}
    # Hidden units that are constant, always off, or that switch on at the same input.
    flat = {"w1": {"shape": [4], "data": [0.0, 0.0, 2.0, 4.0]},
            "b1": {"shape": [4], "data": [1.0, -1.0, -1.0, -2.0]},
            "w2": {"shape": [1, 4], "data": [1.0, 2.0, -3.0, 0.5]},
            "b2": {"shape": [1], "data": [0.25]}}
    near, far = {"start": 0, "count": 5}, {"ids": [1000000, 3, 600]}
    return [
        encode_case("fire/drawn", {"fire": {"seed": 3}}, positions=near, head_count=3),
        encode_case("fire/far", {"fire": {}}, positions=far,
                    key_positions={"ids": [0, 599, 2 ** 20]}, head_count=2),
        encode_case("fire/given", {"fire": {**layers, "c": 0.5, "threshold": 2.5}},
                    positions=near),
        encode_case("fire/width", {"fire": {"width": 5, "c": 3.0, "threshold": 100.0}},
                    positions=far, head_count=4),
        encode_case("fire/flat units", {"fire": flat}, positions=far,
                    key_positions={"start": 0, "count": 9}),
        encode_case("fire/input", {"fire": {}}, input=inputs.tensor(stream, 2, 4, 4)),
    ]


def bucket_ends(parameters):
    """Every rel whose bucket differs from that of its predecessor, and the predecessor."""
    rels = near_edges(parameters)
    buckets = [schemes.t5_bucket(rel, **parameters) for rel in rels]
    ends = {rels[0], rels[-1]}
    for i in range(1, len(rels)):
        if buckets[i] != buckets[i - 1]:
            ends.update(rels[i - 1:i + 1])
    return sorted(ends)


def near_edges(parameters):
    """All small distances, and distances near each edge exact (max/exact)^(t / buckets)."""
    bucket_count = parameters.get("bucket_count", 32)
    exact = bucket_count // (4 if parameters.get("bidirectional") else 2)
    logarithmic = bucket_count // (2 if parameters.get("bidirectional") else 1) - exact
    growth = (parameters.get("max_distance", 128) / exact) ** (1 / logarithmic)
    edges = [int(exact * growth ** t) for t in range(logarithmic + 2)]
    distances = {*range(140), *(edge + d for edge in edges for d in (-2, -1, 0, 1, 2))}
    return sorted({sign * n for n in distances if n >= 0 for sign in (-1, 1)})


def random_positions(stream, count):
    """A range at small positions, a range at large positions, or scattered ids."""
    kind = stream.below(3)
    if kind == 0:
        return {"start": stream.below(100), "count": count}
    if kind == 1:
        return {"start": 10 ** stream.below(7), "count": count}
    return {"ids": [stream.below(10 ** (1 + stream.below(7))) for _ in range(count)]}


def random_parameters(stream, name, size):
    """Some parameters of a scheme, for a width or for heads."""
    if name == "sinusoidal":
        layouts = ["INTERLEAVED", "HALVES"] + (["TENSOR2TENSOR"] if size >= 4 else [])
        return {"layout": stream.choice(layouts), "base": stream.choice([10000.0, 2.0, 1e6])}
    if name == "learned":
        return {"seed": stream.below(1000), "max_length": 1 + stream.below(40),
                "policy": stream.choice(["CLAMP", "WRAP", "ZERO", "RANDOM", "INTERPOLATE"])}
    if name == "rope":
        parameters = {"layout": stream.choice(["INTERLEAVED", "HALF_SPLIT"]),
                      "base": stream.choice([10000.0, 500.0, 1e6])}
        if size % 2 or stream.below(2):
            parameters["rotary_dim"] = 2 * (1 + stream.below(size // 2))
        parameters.update(random_scaling(stream, parameters.get("rotary_dim", size), size))
        if stream.below(4) == 0:
            parameters["angles"] = "FLOAT32"
        return parameters
    if name == "xpos":
        return {"layout": stream.choice(["INTERLEAVED", "HALF_SPLIT"]),
                "scale_base": stream.choice([512.0, 1e6])}
    if name == "kerple":
        kernel = stream.choice(["LOG", "POWER"])
        parameters = {"kernel": kernel, "symmetric": bool(stream.below(2)),
                      "seed": stream.below(1000)}
        if stream.below(2):
            parameters["p"] = [(1 + stream.below(16)) / 8 for _ in range(size)]
        if stream.below(2):
            parameters["a"] = [(1 + stream.below(64)) / 32 for _ in range(size)]
        return parameters
    if name == "sandwich":
        return {"width": 2 * (1 + stream.below(100)), "base": stream.choice([10000.0, 50.0])}
    if name == "fire":
        return {"c": stream.choice([0.1, 1.0, 7.0]), "threshold": float(1 + stream.below(1000)),
                "width": 1 + stream.below(40), "seed": stream.below(1000)}
    if name == "alibi":
        return {"symmetric": bool(stream.below(2)), "rule": stream.choice(["PAPER", "COURSE"]),
                "bias_max": float(1 + stream.below(16))}
    if name == "t5_bias":
        return {"bucket_count": 4 + 2 * stream.below(30), "max_distance": 40 + stream.below(200),
                "bidirectional": bool(stream.below(2)), "seed": stream.below(1000)}
    return {}


def random_scaling(stream, rotary_dim, dim):
    """{} or {name: parameters}, for `rotary_dim` rotated channels of `dim`."""
    def number(low, high):
        return low + (high - low) * stream.uniform()

    length = 2 ** (3 + stream.below(14))
    name = stream.choice([None, "linear", "ntk", "dynamic_ntk", "yarn", "llama3", "longrope",
                          "proportional"])
    if name is None or ("ntk" in name and rotary_dim == 2):
        return {}
    if name == "proportional" and rotary_dim != dim:
        return {}
    parameters = {"factor": number(1, 40)}
    if name == "dynamic_ntk":
        parameters["max_position"] = length
    if name in ("yarn", "llama3", "longrope"):
        parameters["original_length"] = length
    if name == "yarn":
        parameters.update(beta_fast=number(8, 64), beta_slow=number(0.5, 4),
                          truncate=bool(stream.below(2)))
        if stream.below(3) == 0:
            parameters["attention_factor"] = number(0.5, 2)
        elif stream.below(2):
            parameters.update(mscale=number(0.5, 2), mscale_all_dim=number(0.5, 2))
    if name == "llama3":
        low = number(0.5, 2)
        parameters.update(low_freq_factor=low, high_freq_factor=low + number(0.5, 8))
    if name == "longrope":
        for key in ("short_factors", "long_factors"):
            parameters[key] = [number(1, 64) for _ in range(rotary_dim // 2)]
    if name == "proportional":
        parameters["share"] = number(0, 1)
    return {name: parameters}


def random_encode(number):
    """One case of a seeded family, for tests that need many cases."""
    stream = streams.Stream(number, "golden.encode")
    name = stream.choice(["none", "sinusoidal", "learned", "rope", "rope", "rope", "alibi",
                          "t5_bias", "xpos", "kerple", "sandwich", "fire"])
    size, count = 2 + stream.below(30), 1 + stream.below(20)
    scheme = {name: random_parameters(stream, name, size)}
    request = {"positions": random_positions(stream, count)}
    if name == "xpos":
        size += size % 2
        request["positions"] = {"start": stream.below(1000000), "count": count}
    on_scores = name in schemes.BIASES
    key_count = count
    if on_scores and stream.below(2):
        key_count = 1 + stream.below(20)
        request["key_positions"] = random_positions(stream, key_count)
    request["head_count" if on_scores else "dim"] = size
    if name == "none" or stream.below(2):
        shape = (size, count, key_count) if on_scores else (1 + stream.below(3), count, size)
        request["input"] = inputs.tensor(stream, *shape)
    return encode_case(f"random/{number}", scheme, **request)


def all_cases():
    return (none_cases() + sinusoidal_cases() + learned_cases() + rope_cases() + scaling_cases()
            + single_precision_cases() + alibi_cases() + t5_cases() + xpos_cases()
            + kerple_cases() + sandwich_cases() + fire_cases())
