"""Checks attention kernels against Locus, for use in tests.

    from locus.testing import assert_attention_close

    def test_my_kernel():
        assert_attention_close(my_kernel, scheme="rope:layout=half_split", causal=True)

The kernel is called with random inputs of many shapes, and its output is compared with attention in
float64. An AssertionError describes the worst case, and how to repeat it alone.
"""

from __future__ import annotations

import atexit
import dataclasses
import inspect
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from locus._diagnosis import diagnose
from locus._schemes import SchemeLike, scheme_name, to_scheme
from locus._tensors import Array, as_array, dtype_code, round_to_bfloat16, BFLOAT16
from locus.client import Client, connect
from locus.errors import InvalidInput

# Tolerances relative to the largest element of the output, by the type of the inputs. The
# tolerances of 16-bit types allow for kernels that round scores and weights to the type as well.
TOLERANCES = {"float64": 1e-10, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
# Odd lengths, and lengths around multiples of common tile sizes.
_LENGTHS = (1, 2, 3, 5, 7, 15, 16, 17, 31, 33, 48, 63, 64, 65, 97, 127, 129, 161)
_HEAD_DIMS = (8, 16, 32, 64)
_WINDOWS = (1, 2, 7, 16, 33)
# Options that are tried if the kernel has a parameter of that name.
_OPTIONS = ("causal", "mask", "window", "query_offset", "scale", "scheme")

_shared: List[Client] = []


def shared_client() -> Client:
    """The client that is used if none is given: one for the process, closed at its exit."""
    if not _shared:
        _shared.append(connect())
        atexit.register(_shared[0].close)
    return _shared[0]


@dataclasses.dataclass
class Case:
    """The inputs of one comparison. `options` are those of Client.attend()."""

    index: int
    q: Array
    k: Array
    v: Array
    scheme: SchemeLike
    options: Dict[str, Any]

    def describe(self, dtype: str) -> str:
        parts = [f"q {list(self.q.shape)}", f"k {list(self.k.shape)}", f"v {list(self.v.shape)}",
                 dtype, f"scheme {self.scheme}"]
        for name, value in self.options.items():
            if isinstance(value, np.ndarray):
                parts.append(f"{name} {value.dtype} {list(value.shape)}")
            elif value is True:
                parts.append(name)
            elif value is not None and value is not False:
                parts.append(f"{name} {value:g}")
        return ", ".join(parts)


@dataclasses.dataclass
class _Outcome:
    case: Case
    error: float  # relative to the largest element of the expected output
    text: str


def accepted_options(kernel: Callable[..., Any]) -> Tuple[str, ...]:
    """The options that the kernel has a parameter for."""
    try:
        parameters = inspect.signature(kernel).parameters.values()
    except (TypeError, ValueError):  # some built-in functions have no signature
        return ()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return _OPTIONS
    names = [parameter.name for parameter in list(parameters)[3:]]
    return tuple(name for name in _OPTIONS if name in names)


def _rounded(values: Array, dtype: str) -> Array:
    """Float64 values that `dtype` represents exactly."""
    if dtype == "bfloat16":
        bits = round_to_bfloat16(values).astype("<u4") << np.uint32(16)
        return bits.view("<f4").astype("f8")
    return values.astype(dtype).astype("f8")


@dataclasses.dataclass(frozen=True)
class _Plan:
    """The fixed and the varied parts of all cases."""

    schemes: Sequence[SchemeLike]
    fixed: Mapping[str, Any]
    varied: Tuple[str, ...]
    grouped_heads: bool
    same_lengths: bool
    head_dims: Sequence[int]
    dtype: str
    seed: int

    def case(self, index: int) -> Case:
        random = np.random.default_rng([self.seed, index])
        scheme = self.schemes[index % len(self.schemes)]
        batch, kv_heads = int(random.integers(1, 3)), int(random.integers(1, 4))
        heads = kv_heads * (int(random.choice([1, 2, 4])) if self.grouped_heads else 1)
        tk = int(random.choice(_LENGTHS))
        tq = tk if self.same_lengths else int(random.choice(_LENGTHS))
        dim = int(random.choice(list(self.head_dims)))

        def draw(*shape: int) -> Array:
            return _rounded(random.standard_normal(shape), self.dtype)

        q, k, v = draw(batch, heads, tq, dim), draw(batch, kv_heads, tk, dim), draw(
            batch, kv_heads, tk, dim)
        options = dict(self.fixed)
        if "causal" in self.varied:
            options["causal"] = bool(random.integers(2)) or _needs_causal(scheme)
        if "window" in self.varied and random.integers(2):
            options["window"] = int(random.choice(_WINDOWS))
        if "query_offset" in self.varied and tk > tq:
            options["query_offset"] = int(random.integers(0, tk - tq + 1))
        if "scale" in self.varied and random.integers(2):
            options["scale"] = float(np.round(random.uniform(0.05, 0.5), 3))
        if "mask" in self.varied:
            options["mask"] = _mask(random, (batch, heads, tq, tk))
        return Case(index, q, k, v, scheme, options)


def _needs_causal(scheme: SchemeLike) -> bool:
    """Whether Attend accepts the scheme in causal calls only."""
    message = to_scheme(scheme)
    name = scheme_name(message)
    one_sided = name in ("alibi", "kerple") and not getattr(message, name).symmetric
    return one_sided or name in ("xpos",)


def _mask(random: np.random.Generator, shape: Tuple[int, int, int, int]) -> Optional[Array]:
    """No mask, a mask of booleans, or numbers with -inf, of two to four axes."""
    kind = int(random.integers(3))
    if kind == 0:
        return None
    axes = int(random.integers(2, 5))
    visible: Array = random.random(shape[4 - axes:]) < 0.8
    # Every query sees a key in both forms, because kernels differ in rows without any.
    visible[..., 0] = True
    if kind == 1:
        return visible
    added: Array = random.standard_normal(visible.shape).astype("f4")
    return np.where(visible, added, np.float32(-np.inf))


def _as_input(values: Array, dtype: str) -> Array:
    if dtype != "bfloat16":
        return values.astype(dtype)
    try:
        import ml_dtypes
    except ImportError:
        return values.astype("f4")
    return values.astype(ml_dtypes.bfloat16)


def _as_float64(value: Any) -> Array:
    code, array = as_array(value, "output of the kernel")
    if code == BFLOAT16:
        array = (array.astype("<u4") << np.uint32(16)).view("<f4")
    return np.asarray(array, dtype="f8")


class _Comparison:
    """Runs the kernel and the oracle, and compares their outputs."""

    def __init__(self, kernel: Callable[..., Any], client: Client, dtype: str, tolerance: float,
                 convert: Optional[Callable[[Array], Any]], passed: Sequence[str],
                 empty_rows: bool) -> None:
        self._kernel = kernel
        self._client = client
        self._dtype = dtype
        self._tolerance = tolerance
        self._convert = convert or (lambda array: array)
        self._passed = passed
        self._empty_rows = empty_rows

    def expected(self, case: Case, **changes: Any) -> Array:
        """The output of attention in float64. Rows that are not compared are NaN."""
        options: Dict[str, Any] = {"scheme": case.scheme, **case.options, **changes}
        q, k, v = (options.pop(name, getattr(case, name)) for name in ("q", "k", "v"))
        result = self._client.attend(q, k, v, return_weights=False, **options)
        if self._empty_rows:
            return result.output
        return np.where(np.isneginf(result.log_sum_exp)[..., None], np.nan, result.output)

    def actual(self, case: Case) -> Array:
        inputs = [self._convert(_as_input(x, self._dtype)) for x in (case.q, case.k, case.v)]
        options = {name: case.options.get(name) for name in self._passed if name != "scheme"}
        if "causal" in options:
            options["causal"] = bool(options["causal"])
        if isinstance(options.get("mask"), np.ndarray):
            options["mask"] = self._convert(np.asarray(options["mask"]))
        if "scheme" in self._passed:
            options["scheme"] = case.scheme
        return _as_float64(self._kernel(*inputs, **options))

    def run(self, case: Case) -> _Outcome:
        expected = self.expected(case)
        actual = self.actual(case)
        if actual.shape != expected.shape:
            return _Outcome(case, np.inf, f"the output has the shape {list(actual.shape)}; "
                                          f"expected {list(expected.shape)}")
        difference = np.abs(actual - expected)
        difference[np.isnan(difference)] = np.inf
        difference[np.isnan(expected)] = 0
        largest = max(float(np.nanmax(np.abs(expected), initial=0)), float(np.finfo(float).tiny))
        error = float(difference.max()) / largest
        at = np.unravel_index(int(difference.argmax()), difference.shape)
        text = (f"max error {error:.1e} of the largest element (tolerance {self._tolerance:.1e}), "
                f"at {[int(i) for i in at]}: got {actual[at]:.6g}, expected {expected[at]:.6g}")
        return _Outcome(case, error, text)

    def hint(self, case: Case) -> str:
        """A sentence about the mistake that explains a wrong output, or an empty one."""
        return diagnose(case, self.actual(case), self.expected, self._tolerance)


def assert_attention_close(kernel: Callable[..., Any], *, scheme: Optional[SchemeLike] = None,
                           schemes: Optional[Iterable[SchemeLike]] = None,
                           causal: Optional[bool] = None, window: Optional[int] = None,
                           dtype: Any = "float32", cases: int = 40, seed: int = 0,
                           case: Optional[int] = None, tolerance: Optional[float] = None,
                           grouped_heads: bool = True, same_lengths: bool = False,
                           head_dims: Sequence[int] = _HEAD_DIMS, empty_rows: bool = True,
                           convert: Optional[Callable[[Array], Any]] = None,
                           client: Optional[Client] = None, **options: Any) -> None:
    """Asserts that a kernel computes attention.

    kernel: called as kernel(q, k, v) with q [B, Hq, Tq, D], k and v [B, Hkv, Tk, D]; returns the
        output [B, Hq, Tq, D]. If it has parameters named causal, mask, window, query_offset, scale
        or scheme, these are passed, and varied unless they are fixed here. `mask` and `window` may
        be None.
    scheme, schemes: the position scheme of the kernel, or several for a kernel with a parameter
        `scheme`. Default: none.
    causal, window, options: fixed options of Client.attend(), such as bottom_right=True.
    dtype: the type of the inputs: float64, float32, float16 or bfloat16 (of ml_dtypes if that is
        installed, else rounded float32).
    cases, seed: the number of random cases, and their seed. The error message names the number of
        the worst case; `case` runs that one alone.
    tolerance: relative to the largest element of the output. Default: TOLERANCES[dtype].
    grouped_heads: False if the kernel needs as many key heads as query heads.
    same_lengths: True if the kernel needs as many queries as keys.
    head_dims: the values of D to try.
    empty_rows: whether to compare rows without visible keys, which are zero in Locus.
    convert: makes the inputs of the kernel from arrays, such as torch.from_numpy.
    client: the client of the oracle. Default: one for the process, made by connect().
    """
    if scheme is not None and schemes is not None:
        raise InvalidInput("schemes", "cannot be combined with scheme")
    dtype_code(dtype)
    name = str(dtype if isinstance(dtype, str) else getattr(dtype, "name", np.dtype(dtype).name))
    if name not in TOLERANCES:
        raise InvalidInput("dtype", f"is {name}; must be one of {', '.join(TOLERANCES)}")
    limit = TOLERANCES[name] if tolerance is None else tolerance
    accepted = accepted_options(kernel)
    fixed = {key: value for key, value in dict(options, causal=causal, window=window).items()
             if value is not None}
    chosen = list(schemes) if schemes is not None else [scheme if scheme is not None else "none"]
    plan = _Plan(chosen, fixed, tuple(o for o in accepted if o not in fixed), grouped_heads,
                 same_lengths, head_dims, name, seed)
    comparison = _Comparison(kernel, client or shared_client(), name, limit, convert, accepted,
                             empty_rows)
    indices = range(cases) if case is None else [case]
    failed = [outcome for outcome in (comparison.run(plan.case(i)) for i in indices)
              if not outcome.error <= limit]
    if failed:
        raise AssertionError(_report(kernel, failed, len(indices), name, seed, comparison))


def _report(kernel: Callable[..., Any], failed: List[_Outcome], count: int, dtype: str,
            seed: int, comparison: _Comparison) -> str:
    worst = max(failed, key=lambda outcome: outcome.error)
    title = getattr(kernel, "__name__", repr(kernel))
    lines = [f"{title} differs from the oracle in {len(failed)} of {count} cases; the worst:",
             f"  case {worst.case.index}: {worst.case.describe(dtype)}", f"  {worst.text}"]
    hint = comparison.hint(worst.case)
    if hint:
        lines.append(f"  {hint}")
    lines.append(f"  to repeat it alone: seed={seed}, case={worst.case.index}")
    return "\n".join(lines)
