"""Tensors and positions in the neutral form of goldens.json (see make_goldens.py)."""

import math

import numpy as np


def from_array(array):
    """{"shape", "data"}; numbers that JSON cannot represent become strings."""
    if array.dtype == bool:
        return {"shape": list(array.shape), "bool": True,
                "data": [int(x) for x in array.ravel()]}
    return {"shape": list(array.shape), "data": [_plain(x) for x in array.ravel()]}


def to_array(tensor):
    if tensor.get("bool"):
        return np.array(tensor["data"], dtype=bool).reshape(tensor["shape"])
    numbers = [float(x) for x in tensor["data"]]
    return np.array(numbers, dtype=np.longdouble).reshape(tensor["shape"])


def _plain(x):
    x = float(x) + 0.0  # turns negative zeros into positive ones
    return x if math.isfinite(x) else str(x)


def positions_of(spec, default_start=0, default_count=0):
    """A list of ints from {"start", "count"} or {"ids"}; the default range if `spec` is None."""
    if spec is None:
        return list(range(default_start, default_start + default_count))
    if "ids" in spec:
        return list(spec["ids"])
    return list(range(spec.get("start", 0), spec.get("start", 0) + spec["count"]))
