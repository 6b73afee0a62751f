"""Test cases of Attend for heads: each option, alone and in random combinations."""

import json

import numpy as np

import encoding_cases
import inputs
import neutral
import reference as ref
import streams


def attend_case(name, scheme, q, k, v, options=None):
    case = {"name": name, "scheme": scheme, "q": q, "k": k, "v": v, "options": options or {}}
    result = ref.attend(case)
    case["expect"] = {"output": neutral.from_array(result["output"]),
                      "log_sum_exp": neutral.from_array(result["log_sum_exp"])}
    if case["options"].get("return_weights"):
        case["expect"]["weights"] = neutral.from_array(result["weights"])
    return case


def head_scheme(stream, heads, dim, causal):
    """A random scheme that acts on heads, with random parameters."""
    kind = stream.choice(["none", "rope", "rope", "alibi", "t5_bias"])
    if kind == "rope" and dim >= 2:
        parameters = {"layout": stream.choice(["INTERLEAVED", "HALF_SPLIT"]),
                      "base": stream.choice([10000.0, 100.0, 500000.0])}
        if dim % 2 or stream.below(2):
            parameters["rotary_dim"] = 2 * (1 + stream.below(dim // 2))
        return {"rope": parameters}
    if kind == "alibi":
        parameters = {"symmetric": True} if not causal or stream.below(3) == 0 else {}
        if stream.below(3) == 0:
            parameters["rule"] = "COURSE"
        elif stream.below(3) == 0:
            parameters["slopes"] = [(1 + stream.below(16)) / 16 for _ in range(heads)]
        elif stream.below(2):
            parameters["bias_max"] = 4.0
        return {"alibi": parameters}
    if kind == "t5_bias":
        parameters = {"bucket_count": stream.choice([4, 6, 8]),
                      "max_distance": stream.choice([5, 9, 40]),
                      "bidirectional": bool(stream.below(2))}
        if stream.below(2):
            parameters["seed"] = stream.below(100)
        else:
            parameters["table"] = inputs.tensor(stream, parameters["bucket_count"], heads)
        return {"t5_bias": parameters}
    return {"none": {}}


def mask_shapes(batch, heads, queries, keys):
    return [[keys], [queries, keys], [batch, 1, queries, keys], [batch, heads, queries, keys],
            [heads, queries, keys], [batch, 1, 1, keys], [queries, 1], [1, heads, 1, 1],
            [1, keys], []]


def draw_mask(stream, shape, as_bool):
    shown = np.asarray(stream.normals(shape), dtype=float) > -0.7
    if as_bool:
        return neutral.from_array(shown)
    return neutral.from_array(np.where(shown, inputs.draw(stream, shape), -np.inf))


def head_options(stream, batch, heads, queries, keys):
    """A random combination of options."""
    options = {}
    if stream.below(2):
        options["causal"] = True
    if keys >= queries and stream.below(5) == 0:
        options["bottom_right"] = True
    elif stream.below(3) == 0:
        options["query_offset"] = stream.below(keys + 2)
    if stream.below(3) == 0:
        options["window"] = 1 + stream.below(keys)
    if stream.below(3) == 0:
        options["scale"] = stream.choice([0.125, 1.0, 0.3, -0.5, 0.0])
    if stream.below(3) == 0:
        options["softcap"] = stream.choice([1.5, 5.0, 50.0])
    if stream.below(2):
        shape = stream.choice(mask_shapes(batch, heads, queries, keys))
        options["mask"] = draw_mask(stream, shape, bool(stream.below(2)))
    if stream.below(3) == 0:
        options["query_positions"] = {"ids": [stream.below(50) for _ in range(queries)]}
    if stream.below(3) == 0:
        options["key_positions"] = {"start": stream.below(1000), "count": keys}
    return options


def random_attend(number, limit=5):
    """One case of a seeded family; `limit` bounds its extents."""
    stream = streams.Stream(number, "golden.attend")
    kv_heads = 1 + stream.below(2)
    batch, heads = 1 + stream.below(2), kv_heads * (1 + stream.below(3))
    queries, keys = 1 + stream.below(limit), 1 + stream.below(limit + 1)
    dim, value_dim = 1 + stream.below(limit + 1), 1 + stream.below(limit)
    options = head_options(stream, batch, heads, queries, keys)
    options["return_weights"] = number % 4 == 0
    scheme = head_scheme(stream, heads, dim, options.get("causal", False))
    return attend_case(f"random/{number}", scheme,
                       inputs.tensor(stream, batch, heads, queries, dim),
                       inputs.tensor(stream, batch, kv_heads, keys, dim),
                       inputs.tensor(stream, batch, kv_heads, keys, value_dim), options)


def mask_shape_cases():
    """Each broadcast shape, once as a boolean mask and once as an additive mask."""
    cases = []
    for number, shape in enumerate(mask_shapes(2, 2, 3, 4)):
        for as_bool in (True, False):
            stream = streams.Stream(number, f"golden.mask/{as_bool}")
            kind = "bool" if as_bool else "additive"
            cases.append(attend_case(
                f"mask/{kind}/{shape}", {"none": {}}, inputs.tensor(stream, 2, 2, 3, 2),
                inputs.tensor(stream, 2, 1, 4, 2), inputs.tensor(stream, 2, 1, 4, 2),
                {"mask": draw_mask(stream, shape, as_bool)}))
    return cases


def masked_row_cases():
    stream = streams.Stream(20, "golden.masked")
    q, k, v = (inputs.tensor(stream, 1, 2, *shape) for shape in ((3, 4), (4, 4), (4, 2)))
    with_nan = json.loads(json.dumps(v))
    for value in range(6, 8):  # the last key of head 0
        with_nan["data"][value] = "nan"
        with_nan["data"][value + 8] = "inf"
    no_key = {"shape": [3, 4], "bool": True, "data": [1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0]}
    hidden = {"shape": [4], "data": [0.0, 0.5, 0.0, "-inf"]}
    large = {"shape": [3, 4], "data": [0.0, -32768.0, 0.0, 0.0] + [-32768.0] * 4 + [0.0] * 4}
    zeros = {"shape": [1, 2, 4, 4], "data": [0.0] * 32}
    return [
        attend_case("masked/row without keys", {"none": {}}, q, k, v,
                    {"mask": no_key, "return_weights": True}),
        attend_case("masked/all of it", {"rope": {}}, q, k, v,
                    {"mask": {"shape": [], "bool": True, "data": [0]}, "return_weights": True}),
        attend_case("masked/nan values, bool", {"none": {}}, q, k, with_nan,
                    {"mask": {"shape": [4], "bool": True, "data": [1, 1, 1, 0]}}),
        attend_case("masked/nan values, additive", {"none": {}}, q, k, with_nan, {"mask": hidden}),
        attend_case("masked/nan values, causal", {"alibi": {}}, q, k, with_nan, {"causal": True}),
        attend_case("masked/nan keys, window", {"none": {}}, q, keys_with_nan(k), v,
                    {"window": 2, "causal": True, "return_weights": True}),
        attend_case("masked/large negative is not -inf", {"none": {}}, q, zeros, v,
                    {"mask": large, "return_weights": True}),
        attend_case("masked/offset before every window", {"none": {}}, q, k, v,
                    {"query_offset": 100, "window": 3, "return_weights": True}),
    ]


def keys_with_nan(k):
    with_nan = json.loads(json.dumps(k))
    for channel in range(12, 16):  # the last key of head 0, past every query
        with_nan["data"][channel] = "nan"
    return with_nan


def decoding_cases():
    """A single query at the end, large positions, and extreme sizes."""
    stream = streams.Stream(21, "golden.decoding")
    q, k, v = (inputs.tensor(stream, 1, *shape) for shape in ((4, 1, 6), (1, 9, 6), (1, 9, 3)))
    far = {"query_positions": {"ids": [1000000]}, "key_positions": {"start": 999992, "count": 9}}
    one = inputs.tensor(stream, 1, 1, 1, 1)
    cases = [attend_case(f"decode/{name}", scheme, q, k, v,
                         {"causal": True, "bottom_right": True, **extra})
             for name, scheme, extra in (
                 ("none", {"none": {}}, {}), ("rope", {"rope": {}}, {}),
                 ("rope far", {"rope": {"layout": "HALF_SPLIT"}}, far),
                 ("alibi", {"alibi": {}}, {}), ("alibi far", {"alibi": {}}, far),
                 ("t5 far", {"t5_bias": {"seed": 5}}, far))]
    cases.append(attend_case("one of everything", {"none": {}}, one, one, one,
                             {"return_weights": True}))
    cases.append(attend_case("ids past the diagonal", {"alibi": {}}, q, k, v,
                             {"causal": True, "query_offset": 4,
                              "query_positions": {"ids": [2]}}))
    return cases


def scaling_attention_cases():
    """RoPE scalings; the length of the call covers both queries and keys."""
    stream = streams.Stream(22, "golden.scaling")
    q, k, v = (inputs.tensor(stream, 1, *shape) for shape in ((2, 2, 8), (1, 5, 8), (1, 5, 3)))
    options = {"causal": True, "bottom_right": True}
    far = {"query_positions": {"ids": [5, 40]}, "key_positions": {"ids": [3, 4, 5, 30, 40]}}
    return [attend_case(f"scaling/{number} {name} {place}", {"rope": {name: parameters}}, q, k, v,
                        {**options, **extra})
            for number, (name, parameters) in enumerate(encoding_cases.scalings(4))
            for place, extra in (("near", {}), ("far", far))]


def other_scheme_cases():
    """Schemes that the random cases do not cover."""
    schemes = [("xpos", {}), ("xpos", {"layout": "HALF_SPLIT", "scale_base": 16.0}),
               ("kerple", {"seed": 3}), ("kerple", {"symmetric": True, "kernel": "POWER"}),
               ("kerple", {"kernel": "POWER", "p": [2.0, 0.5], "a": [1.0, 3.0]}),
               ("sandwich", {}), ("sandwich", {"width": 8}), ("fire", {}),
               ("fire", {"threshold": 3.0, "seed": 9})]
    places = [("near", 5, 5, {"causal": True}),
              ("decode", 1, 9, {"causal": True, "bottom_right": True}),
              ("window", 4, 9, {"causal": True, "query_offset": 5, "window": 3}),
              ("ids", 3, 4, {"causal": True, "query_offset": 1, "return_weights": True,
                             "query_positions": {"ids": [700, 703, 900]},
                             "key_positions": {"ids": [690, 699, 702, 899]}})]
    cases = []
    for number, (name, parameters) in enumerate(schemes):
        for place, queries, keys, options in places:
            stream = streams.Stream(number, f"golden.breadth/{place}")
            cases.append(attend_case(
                f"breadth/{number} {name} {place}", {name: parameters},
                inputs.tensor(stream, 1, 2, queries, 6), inputs.tensor(stream, 1, 1, keys, 6),
                inputs.tensor(stream, 1, 1, keys, 3), options))
    return cases


def all_cases():
    return (masked_row_cases() + scaling_attention_cases() + other_scheme_cases()
            + decoding_cases() + mask_shape_cases()
            + [random_attend(number) for number in range(48)])
