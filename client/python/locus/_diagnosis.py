"""Finds out which attention a wrong kernel computes instead."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, Tuple

import numpy as np

from locus._schemes import scheme_name, to_scheme
from locus.errors import LocusError

_LAYOUTS = {1: "INTERLEAVED (channels 2k and 2k + 1)",
            2: "HALF_SPLIT (channels k and k + D/2)"}


def _alternatives(case: Any) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """Common mistakes: a description, and the changed arguments of attend()."""
    scheme = to_scheme(case.scheme)
    kind = scheme_name(scheme)
    inner = getattr(scheme, kind)
    if "layout" in inner.DESCRIPTOR.fields_by_name and kind in ("rope", "xpos"):
        for layout, text in _LAYOUTS.items():
            if inner.layout == layout or (inner.layout == 0 and layout == 1):
                continue
            other = type(scheme)()
            other.CopyFrom(scheme)
            getattr(other, kind).layout = layout
            yield f"the RoPE layout {text}", {"scheme": other}
    if kind != "none":
        yield "no positions at all (the scheme none)", {"scheme": "none"}
    options = case.options
    if options.get("causal"):
        yield "bidirectional attention instead of causal", {"causal": False}
    elif kind in ("none", "rope", "sinusoidal"):
        yield "causal attention instead of bidirectional", {"causal": True}
    if "query_offset" not in options and case.q.shape[2] != case.k.shape[2]:
        aligned = not options.get("bottom_right", False)
        name = "bottom right" if aligned else "top left"
        yield f"queries aligned with the keys at the {name}", {"bottom_right": aligned}
    yield "scores without the factor 1 / sqrt(D)", {"scale": 1.0}
    if options.get("window"):
        yield "no window", {"window": None}
        yield "a window that is one key wider", {"window": options["window"] + 1}
    if options.get("mask") is not None:
        yield "no mask", {"mask": None}
        if options["mask"].dtype == bool:
            yield "an inverted mask (True hides)", {"mask": ~options["mask"]}
    heads, kv_heads = case.q.shape[1], case.k.shape[1]
    if 1 < kv_heads < heads:
        order = np.arange(heads) % kv_heads
        yield ("query head h reading key head h % Hkv instead of h // (Hq / Hkv)",
               {"k": case.k[:, order], "v": case.v[:, order]})


def diagnose(case: Any, actual: Any, expected: Callable[..., Any], tolerance: float) -> str:
    """A sentence that names the mistake, or an empty one if none fits."""
    correct = expected(case)
    if actual.shape != correct.shape:
        return ""
    if (np.isnan(actual) & ~np.isnan(correct)).any():
        rows = int(np.isnan(actual).any(axis=-1).sum())
        return (f"{rows} of {actual[..., 0].size} rows of the output are NaN; rows without visible "
                "keys must be zero")
    for text, changes in _alternatives(case):
        try:
            other = expected(case, **changes)
        except LocusError:  # not every change is valid for every scheme
            continue
        compared = ~np.isnan(other)
        largest = float(np.abs(other[compared]).max(initial=1e-300))
        if (np.abs(actual - other)[compared] <= tolerance * largest).all():
            return f"the output agrees with {text}"
    return ""
