"""Results of calls. In a notebook, each of them displays itself as a table or a chart."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, Generic, Iterator, List, NamedTuple, Optional, Sequence, TypeVar

from locus import _display
from locus._retry import CallInfo
from locus._tensors import Array

Row = TypeVar("Row")


class Table(List[Row], Generic[Row]):
    """A list of dataclasses that can be turned into a table."""

    def to_dicts(self) -> List[Dict[str, Any]]:
        """The rows as dictionaries."""
        return [{field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
                for row in self]

    def to_pandas(self) -> Any:
        """The rows as a pandas.DataFrame. Needs pandas."""
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas() needs pandas, which is not installed; "
                              "to_dicts() works without it") from None
        return pandas.DataFrame(self.to_dicts())

    def _repr_html_(self) -> str:
        return _display.table(self.to_dicts())


class Rotation(NamedTuple):
    """The cosines and sines of a rotation, each of shape [T, rotary_dim / 2]. Pair k of a query or
    key turns from (a, b) to (a cos - b sin, a sin + b cos)."""

    cos: Array
    sin: Array

    def _repr_html_(self) -> str:
        return _display.encoding_html("rotation", {"cos": self.cos, "sin": self.sin})


class Encoding:
    """The numbers of a scheme. `kind` is "table", "rotation", "bias" or "nothing".

    table: [T, dim], to be added to embeddings.
    cos, sin: [T, rotary_dim / 2], a rotation of queries and keys.
    bias: [heads, Tq, Tk], to be added to scores.
    output: the input with the scheme applied; only if an input was given.
    details: all other numbers that the server returned, such as frequencies, wavelengths, slopes,
        attention_factor, original_turns, target_turns, ramp and incomplete_pairs. Each is also an
        attribute.
    """

    def __init__(self, scheme_name: str, kind: str, arrays: Dict[str, Array],
                 details: Dict[str, Any], call: CallInfo) -> None:
        self.scheme_name = scheme_name
        self.kind = kind
        self.arrays = arrays
        self.details = details
        self.call = call

    def _array(self, name: str) -> Array:
        if name in self.arrays:
            return self.arrays[name]
        if name == "output":
            raise AttributeError("there is no output, because the call had no input")
        has = " and ".join(f".{array}" for array in self.arrays) or "nothing"
        raise AttributeError(f"{self.scheme_name} has no {name}; it has {has}")

    @property
    def table(self) -> Array:
        return self._array("table")

    @property
    def cos(self) -> Array:
        return self._array("cos")

    @property
    def sin(self) -> Array:
        return self._array("sin")

    @property
    def bias(self) -> Array:
        return self._array("bias")

    @property
    def output(self) -> Array:
        return self._array("output")

    def __getattr__(self, name: str) -> Any:
        details = self.__dict__.get("details", {})
        if name in details:
            return details[name]
        # A property that raises AttributeError comes here too.
        if name in ("table", "cos", "sin", "bias", "output") and "arrays" in self.__dict__:
            return self._array(name)
        raise AttributeError(f"{self.__dict__.get('scheme_name', 'the encoding')} has no {name}")

    def __dir__(self) -> Sequence[str]:
        return sorted({*super().__dir__(), *self.details})

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in self.arrays.items())
        return f"Encoding({self.scheme_name}: {shapes or 'nothing'})"

    def _repr_html_(self) -> str:
        return _display.encoding_html(self.scheme_name, self.arrays)


class Attention:
    """The result of an attention call.

    output: [B, Hq, Tq, Dv], or with fewer axes if the inputs had fewer; [B, T, d_model] for a
        module.
    weights: [B, Hq, Tq, Tk], the softmax of the scores.
    log_sum_exp: [B, Hq, Tq], the logarithm of the sum of exp(score) over visible keys.
    """

    def __init__(self, arrays: Dict[str, Array], call: CallInfo,
                 tokens: Optional[Sequence[str]] = None) -> None:
        self.arrays = arrays
        self.call = call
        self.tokens = list(tokens) if tokens is not None else None

    @property
    def output(self) -> Array:
        return self.arrays["output"]

    @property
    def weights(self) -> Array:
        if "weights" not in self.arrays:
            raise AttributeError("the weights were not requested; pass return_weights=True")
        return self.arrays["weights"]

    @property
    def log_sum_exp(self) -> Array:
        if "log_sum_exp" not in self.arrays:
            raise AttributeError("log_sum_exp was not requested; pass return_log_sum_exp=True")
        return self.arrays["log_sum_exp"]

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in self.arrays.items())
        return f"Attention({shapes})"

    def _repr_html_(self) -> str:
        return _display.attention_html(self.arrays, self.tokens)


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of a scheme. `type` is number, integer, flag, choice, numbers, tensor, seed or
    group."""

    name: str
    type: str
    default: str
    range: str
    description: str
    choices: List[str]


@dataclasses.dataclass(frozen=True)
class SchemeInfo:
    """The description of a scheme. `acts_on` is nowhere, embeddings, queries_and_keys or scores;
    `properties` are the declared ones: yes, no or not_applicable."""

    name: str
    title: str
    acts_on: str
    parameters: List[Parameter]
    properties: Dict[str, str]
    reference: str
    beyond_training: str
    causal_only: bool


class Schemes(Table[SchemeInfo]):
    """The schemes of the server."""

    def __getitem__(self, key: Any) -> Any:
        """A scheme by its name or index."""
        if isinstance(key, str):
            for scheme in self:
                if scheme.name == key:
                    return scheme
            raise KeyError(key)
        return super().__getitem__(key)

    def _repr_html_(self) -> str:
        return _display.table([
            {"name": scheme.name, "title": scheme.title, "acts on": scheme.acts_on,
             "beyond the training length": scheme.beyond_training} for scheme in self])


@dataclasses.dataclass(frozen=True)
class Property:
    """A measured property of a scheme. `verdict` is holds, fails or not_applicable; `promise` is
    the declaration of the scheme: yes, no or not_applicable."""

    scheme_name: str
    name: str
    verdict: str
    measured: float
    tolerance: float
    promise: str
    as_promised: bool
    worked_case: str
    naive: bool


class Properties(Table[Property]):
    """The measured properties of schemes, one row for each scheme and property."""

    @property
    def ok(self) -> bool:
        """Whether every scheme has the properties that it declares."""
        return all(row.as_promised for row in self)


@dataclasses.dataclass(frozen=True)
class Progress:
    """The progress of the current run of an evaluation."""

    scheme_name: str
    seed: int
    step: int
    step_count: int
    loss: float
    remaining_seconds: float


@dataclasses.dataclass(frozen=True)
class Cell:
    """The result of one scheme, trained with one seed, at one length."""

    scheme_name: str
    seed: int
    eval_length: int
    metrics: Dict[str, float]
    attention_map: Optional[Array] = dataclasses.field(default=None, repr=False)


@dataclasses.dataclass(frozen=True)
class EvaluationRow:
    """The mean of one metric over the seeds, with its 95 % interval."""

    scheme_name: str
    eval_length: int
    metric: str
    mean: float
    ci_low: float
    ci_high: float
    count: int


@dataclasses.dataclass(frozen=True)
class Difference:
    """The difference between a scheme and the first scheme, paired by seed."""

    scheme_name: str
    baseline_name: str
    eval_length: int
    metric: str
    mean: float
    ci_low: float
    ci_high: float
    count: int


@dataclasses.dataclass(frozen=True)
class Gate:
    """Whether a scheme learned the task at the length it was trained for."""

    scheme_name: str
    metric: str
    threshold: float
    learned_share: float
    passed: bool


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The conclusion of an evaluation. `kind` is winner, no_clear_winner, at_chance, one_seed,
    not_learned, no_comparison, pattern or partial; `next_step` may be empty."""

    kind: str
    winner: str
    text: str
    next_step: str


@dataclasses.dataclass(frozen=True)
class Summary:
    """The summary of an evaluation. `winner` is empty if there is none. `details` holds the other
    fields of the server's summary as plain values, such as effective_lengths, spreads,
    training_curves and ordering_answers."""

    rows: Table[EvaluationRow]
    winner: str
    reason: str
    partial: bool
    differences: Table[Difference]
    gates: Table[Gate]
    verdict: Verdict
    details: Dict[str, Any] = dataclasses.field(repr=False)
    manifest: Dict[str, Any] = dataclasses.field(repr=False)

    def metrics(self) -> List[str]:
        """The names of the metrics, in the order of the rows."""
        return list(dict.fromkeys(row.metric for row in self.rows))

    def of(self, metric: str) -> Iterator[EvaluationRow]:
        """The rows of one metric."""
        return (row for row in self.rows if row.metric == metric)

    def _repr_html_(self) -> str:
        return _display.summary_html(self)
