"""Answers to cases: encodings, attention and the layer by their definitions, in numpy.

A case is a dict as goldens.json has it (see make_goldens.py): a request in neutral
form. `encode`, `attend` and `module` answer it, in long double throughout.
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
    """{"table"} or {"cos", "sin", "frequencies"} or {"bias", "slopes"}, and "output"."""
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
        answer = {"cos": cos, "sin": sin, "frequencies": frequencies}
        if factor != 1:
            answer["attention_factor"] = factor
        if x is not None:
            answer["output"] = rotate(x, positions, **parameters)
        return answer
    if name == "xpos":
        return _encode_xpos(case, parameters, positions, dim, x)
    answer = {"table": code_of(name, parameters, positions, dim)}
    if x is not None:
        answer["output"] = x + answer["table"]
    return answer


def _encode_xpos(case, parameters, positions, dim, x):
    """xPos depends on what it is for, and on its centre."""
    side = -1 if case.get("side") == "KEYS" else 1
    rest = {k: v for k, v in parameters.items() if k not in ("layout", "centre")}
    centre = parameters.get("centre", middle(positions))
    cos, sin, frequencies = xpos_tables(positions, dim, side, centre, **rest)
    answer = {"cos": cos, "sin": sin, "frequencies": frequencies}
    if x is not None:
        answer["output"] = xpos(x, positions, side, centre,
                                layout=parameters.get("layout", "INTERLEAVED"), **rest)
    return answer


def middle(positions):
    return min(positions) + (max(positions) - min(positions)) // 2


def _encode_bias(case, name, parameters, x):
    queries = positions_of(case.get("positions"), 0, 0 if x is None else x.shape[-2])
    keys = positions_of(case["key_positions"]) if "key_positions" in case else queries
    heads = _head_count(case, parameters, x)
    answer = {"bias": bias_of(name, parameters, heads, queries, keys)}
    if name == "alibi":
        answer["slopes"] = alibi_slopes(
            heads, **{k: v for k, v in parameters.items() if k != "symmetric"})
    if name in CAUSAL_BIASES and not parameters.get("symmetric"):
        answer["bias"][:, offsets(queries, keys) < 0] = -INFINITY
    if x is not None:
        answer["output"] = x + answer["bias"]
    return answer


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
    """Where query 0 stands."""
    if options.get("bottom_right"):
        return key_count - query_count
    return options.get("query_offset", 0)


def visible(options, mask, shape):
    """Which scores count, bool of `shape` [B, Hq, Tq, Tk]."""
    query_count, key_count = shape[2:]
    place = first_query(options, query_count, key_count) + np.arange(query_count)
    ahead = place[:, None] - np.arange(key_count)[None, :]
    seen = np.ones((query_count, key_count), dtype=bool)
    if options.get("causal"):
        seen &= ahead >= 0
    if options.get("window"):
        seen &= ahead < options["window"]
        if not options.get("causal"):
            seen &= -ahead < options["window"]
    seen = np.broadcast_to(seen, shape)
    if mask is None:
        return seen
    return seen & np.broadcast_to(mask if mask.dtype == bool else mask != -INFINITY, shape)


def attend_arrays(name, parameters, q, k, v, options):
    """output, weights, log_sum_exp of q [B, Hq, Tq, D], k, v and neutral options."""
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
        # The centre cancels; here it is where double precision is happiest.
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
    seen = visible(options, mask, scores.shape)
    if mask is not None and mask.dtype != bool:
        scores = scores + mask
    return _softmax_product(np.where(seen, scores, -INFINITY), seen, v)


def _softmax_product(scores, seen, v):
    some = seen.any(axis=-1, keepdims=True)
    top = np.where(some, scores.max(axis=-1, keepdims=True, initial=-INFINITY), 0)
    powers = np.where(seen, np.exp(scores - top), 0)
    total = powers.sum(axis=-1, keepdims=True)
    weights = powers / np.where(some, total, 1)
    with np.errstate(divide="ignore"):
        log_sum_exp = np.where(some, top + np.log(total), -INFINITY)[..., 0]
    # A product would spread NaNs of values that no query sees.
    output = np.zeros(weights.shape[:3] + v.shape[3:], dtype=WIDE)
    for b, h, i in np.ndindex(*weights.shape[:3]):
        keys = seen[b, h, i]
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
