"""Reference implementation of encodings, attention and the layer, in numpy.

A case is a dict as in goldens.json (see make_goldens.py): a request in neutral form.
`encode`, `attend` and `module` compute its result, in long double throughout.
"""

import math

import numpy as np

from neutral import positions_of, to_array
from schemes import (BIASES, CAUSAL_BIASES, WIDE, alibi_slopes, bias_of, code_of, offsets,
                     rope_tables, rotate, xpos, xpos_tables)
from streams import Stream

INFINITY = float("inf")


def scheme_of(case):
    """(name, parameters) of {"scheme": {name: parameters}}."""
    (name, parameters), = case["scheme"].items()
    return name, parameters


def encode(case):
    """{"table"}, {"cos", "sin", "frequencies"} or {"bias", "slopes"}; "output" with an input."""
    name, parameters = scheme_of(case)
    x = to_array(case["input"]) if "input" in case else None
    if name in BIASES:
        return _encode_bias(case, name, parameters, x)
    positions = positions_of(case.get("positions"), 0, 0 if x is None else x.shape[-2])
    dim = case.get("dim") or x.shape[-1]
    if name == "none":
        return {} if x is None else {"output": x}
    if name == "rope":
        cos, sin, frequencies, factor = rope_tables(positions, dim, **parameters)
        result = {"cos": cos, "sin": sin, "frequencies": frequencies}
        if factor != 1:
            result["attention_factor"] = factor
        if x is not None:
            result["output"] = rotate(x, positions, **parameters)
        return result
    if name == "xpos":
        return _encode_xpos(case, parameters, positions, dim, x)
    result = {"table": code_of(name, parameters, positions, dim)}
    if x is not None:
        result["output"] = x + result["table"]
    return result


def _encode_xpos(case, parameters, positions, dim, x):
    """xPos; its tables depend on the side (queries or keys) and on the centre."""
    side = -1 if case.get("side") == "KEYS" else 1
    rest = {k: v for k, v in parameters.items() if k not in ("layout", "centre")}
    centre = parameters.get("centre", middle(positions))
    cos, sin, frequencies = xpos_tables(positions, dim, side, centre, **rest)
    result = {"cos": cos, "sin": sin, "frequencies": frequencies}
    if x is not None:
        result["output"] = xpos(x, positions, side, centre,
                                layout=parameters.get("layout", "INTERLEAVED"), **rest)
    return result


def middle(positions):
    return min(positions) + (max(positions) - min(positions)) // 2


def _encode_bias(case, name, parameters, x):
    queries = positions_of(case.get("positions"), 0, 0 if x is None else x.shape[-2])
    keys = positions_of(case["key_positions"]) if "key_positions" in case else queries
    heads = _head_count(case, parameters, x)
    result = {"bias": bias_of(name, parameters, heads, queries, keys)}
    if name == "alibi":
        result["slopes"] = alibi_slopes(
            heads, **{k: v for k, v in parameters.items() if k != "symmetric"})
    if name in CAUSAL_BIASES and not parameters.get("symmetric"):
        result["bias"][:, offsets(queries, keys) < 0] = -INFINITY
    if x is not None:
        result["output"] = x + result["bias"]
    return result


def _head_count(case, parameters, x):
    if case.get("head_count"):
        return case["head_count"]
    for given in ("slopes", "p", "a"):
        if parameters.get(given):
            return len(parameters[given])
    if "table" in parameters:
        return parameters["table"]["shape"][1]
    if "b2" in parameters:
        return parameters["b2"]["shape"][0]
    return x.shape[-3]


def first_query(options, query_count, key_count):
    """Index of query 0 among the keys."""
    if options.get("bottom_right"):
        return key_count - query_count
    return options.get("query_offset", 0)


def visible(options, mask, shape):
    """Visibility of each score, bool [B, Hq, Tq, Tk]."""
    query_count, key_count = shape[2:]
    indices = first_query(options, query_count, key_count) + np.arange(query_count)
    offset = indices[:, None] - np.arange(key_count)[None, :]
    visible_keys = np.ones((query_count, key_count), dtype=bool)
    if options.get("causal"):
        visible_keys &= offset >= 0
    if options.get("window"):
        visible_keys &= offset < options["window"]
        if not options.get("causal"):
            visible_keys &= -offset < options["window"]
    visible_keys = np.broadcast_to(visible_keys, shape)
    if mask is None:
        return visible_keys
    return visible_keys & np.broadcast_to(mask if mask.dtype == bool else mask != -INFINITY, shape)


def attend_arrays(name, parameters, q, k, v, options):
    """output, weights and log_sum_exp for q [B, Hq, Tq, D], k, v and neutral options."""
    heads, query_count, dim = q.shape[1:]
    key_count = k.shape[2]
    start = first_query(options, query_count, key_count)
    query_positions = positions_of(options.get("query_positions"), start, query_count)
    key_positions = positions_of(options.get("key_positions"), 0, key_count)
    if name == "rope":
        length = max(query_positions + key_positions) + 1
        q = rotate(q, query_positions, length, **parameters)
        k = rotate(k, key_positions, length, **parameters)
    if name == "xpos":
        # The centre cancels; the middle of the positions minimises rounding errors.
        plain = {key: value for key, value in parameters.items() if key != "centre"}
        centre = middle(query_positions + key_positions)
        q = xpos(q, query_positions, 1, centre, **plain)
        k = xpos(k, key_positions, -1, centre, **plain)
    group = heads // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)

    scale = options.get("scale")
    scores = q @ np.swapaxes(k, 2, 3) * (1 / np.sqrt(WIDE(dim)) if scale is None else WIDE(scale))
    if cap := options.get("softcap"):
        scores = WIDE(cap) * np.tanh(scores / WIDE(cap))
    scores = scores + bias_of(name, parameters, heads, query_positions, key_positions)
    mask = to_array(options["mask"]) if "mask" in options else None
    visible_keys = visible(options, mask, scores.shape)
    if mask is not None and mask.dtype != bool:
        scores = scores + mask
    return _softmax_product(np.where(visible_keys, scores, -INFINITY), visible_keys, v)


def _softmax_product(scores, visible_keys, v):
    any_visible = visible_keys.any(axis=-1, keepdims=True)
    max_score = np.where(any_visible, scores.max(axis=-1, keepdims=True, initial=-INFINITY), 0)
    powers = np.where(visible_keys, np.exp(scores - max_score), 0)
    total = powers.sum(axis=-1, keepdims=True)
    weights = powers / np.where(any_visible, total, 1)
    with np.errstate(divide="ignore"):
        log_sum_exp = np.where(any_visible, max_score + np.log(total), -INFINITY)[..., 0]
    # A matrix product would propagate NaNs of values that are masked.
    output = np.zeros(weights.shape[:3] + v.shape[3:], dtype=WIDE)
    for b, h, i in np.ndindex(*weights.shape[:3]):
        keys = visible_keys[b, h, i]
        output[b, h, i] = weights[b, h, i, keys] @ v[b, h, keys]
    return output, weights, log_sum_exp


def attend(case):
    name, parameters = scheme_of(case)
    output, weights, log_sum_exp = attend_arrays(
        name, parameters, to_array(case["q"]), to_array(case["k"]), to_array(case["v"]),
        case.get("options", {}))
    return {"output": output, "weights": weights, "log_sum_exp": log_sum_exp}


def module_weights(seed, dim):
    """wq, wk, wv, wo, each [dim, dim]."""
    return [Stream(seed, f"module.{name}").normals((dim, dim), 1 / math.sqrt(dim))
            for name in ("wq", "wk", "wv", "wo")]


def embeddings(seed, tokens, dim):
    """[1, T, dim]."""
    return np.stack([Stream(seed, f"module.token/{word}").normals(dim) for word in tokens])[None]


def module(case):
    """The whole multi-head layer."""
    name, parameters = scheme_of(case)
    options = case.get("options", {})
    seed, heads = case.get("seed", 0), case.get("head_count", 1)
    x = to_array(case["x"]) if "x" in case else embeddings(
        seed, case["tokens"], case.get("dim", 64))
    batch, count, dim = x.shape
    if "weights" in case:
        wq, wk, wv, wo = (to_array(case["weights"][w]) for w in ("wq", "wk", "wv", "wo"))
    else:
        wq, wk, wv, wo = module_weights(seed, dim)
    x = x + code_of(name, parameters,
                    positions_of(options.get("query_positions"), 0, count), dim)

    def split(y):
        return y.reshape(batch, count, heads, dim // heads).swapaxes(1, 2)

    output, weights, log_sum_exp = attend_arrays(
        name, parameters, split(x @ wq), split(x @ wk), split(x @ wv), options)
    joined = output.swapaxes(1, 2).reshape(batch, count, dim)
    return {"output": joined @ wo, "weights": weights, "log_sum_exp": log_sum_exp}
