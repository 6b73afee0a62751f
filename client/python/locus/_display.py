"""HTML and SVG for notebooks. All text is escaped."""

from __future__ import annotations

import html
import math
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

_MAX_CELLS = 64  # per axis; larger arrays are averaged over blocks
_MAX_ROWS = 200
_MAX_HEADS = 8
_SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="{w:g}" height="{h:g}" ' \
       'viewBox="0 0 {w:g} {h:g}" font-family="sans-serif" font-size="11" ' \
       'fill="currentColor" role="img">'
# Okabe and Ito's palette, which colour-blind readers can tell apart.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_DASHES = ("", "6 3", "2 3", "8 3 2 3")


def _text(value: Any) -> str:
    return html.escape(str(value), quote=True)


def _number(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of dictionaries with the same keys."""
    if not rows:
        return "<p>no rows</p>"
    head = "".join(f"<th>{_text(name)}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{_text(_number(value))}</td>" for value in row.values()) + "</tr>"
        for row in rows[:_MAX_ROWS])
    more = f"<p>{len(rows) - _MAX_ROWS} more rows</p>" if len(rows) > _MAX_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _shrunk(values: Any) -> Any:
    """The means over blocks, so that no axis has more than _MAX_CELLS cells."""
    for axis in (0, 1):
        size = values.shape[axis]
        if size > _MAX_CELLS:
            edges = np.linspace(0, size, _MAX_CELLS + 1).astype(int)[:-1]
            counts = np.diff(np.append(edges, size))
            sums = np.add.reduceat(values, edges, axis=axis)
            values = sums / (counts[:, None] if axis == 0 else counts[None, :])
    return values


def _colour(value: float, low: float, high: float) -> str:
    """Blue for negative, red for positive numbers if both occur; otherwise white to blue."""
    if not math.isfinite(value):
        return "#cccccc"
    if low < 0 < high:
        limit = max(-low, high)
        share = value / limit
        end = (178, 24, 43) if share > 0 else (33, 102, 172)
        share = abs(share)
    else:
        share = (value - low) / (high - low) if high > low else 0.0
        end = (8, 69, 148)
    return "#" + "".join(f"{round(255 + (part - 255) * share):02x}" for part in end)


def heatmap(values: Any, title: str, rows: Optional[Sequence[str]] = None,
            columns: Optional[Sequence[str]] = None) -> str:
    """A heatmap of a matrix as SVG. Cells that are not finite are grey."""
    values = np.asarray(values, dtype=float)
    shown = _shrunk(values)
    if shown.shape != values.shape:
        rows = columns = None
    finite = shown[np.isfinite(shown)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    cell = max(5.0, min(22.0, 320.0 / max(shown.shape + (1,))))
    left = 6.0 + (7.0 * max(map(len, rows)) if rows else 0.0)
    top = 22.0 + (7.0 * max(map(len, columns)) if columns else 0.0)
    width = max(left + cell * shown.shape[1] + 8, 7.0 * len(title) + 12)
    height = top + cell * shown.shape[0] + 20
    parts = [_SVG.format(w=width, h=height), f'<text x="6" y="13">{_text(title)}</text>']
    for i, j in np.ndindex(*shown.shape):
        parts.append(
            f'<rect x="{left + j * cell:g}" y="{top + i * cell:g}" width="{cell:g}" '
            f'height="{cell:g}" fill="{_colour(float(shown[i, j]), low, high)}">'
            f"<title>{i}, {j}: {shown[i, j]:.4g}</title></rect>")
    for i, label in enumerate(rows or ()):
        parts.append(f'<text x="{left - 4:g}" y="{top + (i + 0.5) * cell + 4:g}" '
                     f'text-anchor="end">{_text(label)}</text>')
    for j, label in enumerate(columns or ()):
        x, y = left + (j + 0.5) * cell + 4, top - 4
        parts.append(f'<text x="{x:g}" y="{y:g}" transform="rotate(-90 {x:g} {y:g})">'
                     f"{_text(label)}</text>")
    parts.append(f'<text x="{left:g}" y="{height - 6:g}" opacity="0.7">'
                 f"{low + 0.0:.3g} to {high + 0.0:.3g}</text></svg>")
    return "".join(parts)


def _ticks(low: float, high: float) -> List[float]:
    step = 10.0 ** math.floor(math.log10((high - low) / 3)) if high > low else 1.0
    for factor in (1, 2, 5, 10):
        if (high - low) / (step * factor) <= 5:
            step *= factor
            break
    first = math.ceil(low / step - 1e-9)
    return [n * step for n in range(first, int(math.floor(high / step + 1e-9)) + 1)]


def line_chart(series: Mapping[str, Sequence[Tuple[float, float]]], title: str,
               x_label: str) -> str:
    """Lines of (x, y) points as SVG, with a legend. Points that are not finite are left out."""
    points = {name: [(float(x), float(y)) for x, y in line if math.isfinite(y)]
              for name, line in series.items()}
    everything = [point for line in points.values() for point in line]
    if not everything:
        return f"<p>{_text(title)}: no finite values</p>"
    xs, ys = [x for x, _ in everything], [y for _, y in everything]
    x_low, x_high, y_low, y_high = min(xs), max(xs), min(ys), max(ys)
    left, top, plot_width, plot_height = 56.0, 24.0, 360.0, 200.0

    def place(x: float, y: float) -> Tuple[float, float]:
        share_x = (x - x_low) / (x_high - x_low) if x_high > x_low else 0.5
        share_y = (y - y_low) / (y_high - y_low) if y_high > y_low else 0.5
        return left + plot_width * share_x, top + plot_height * (1 - share_y)

    width = left + plot_width + 24 + 7.0 * max(map(len, points))
    height = max(top + plot_height + 36, top + 16.0 * len(points) + 8)
    parts = [_SVG.format(w=width + 20, h=height), f'<text x="6" y="13">{_text(title)}</text>']
    for tick in _ticks(y_low, y_high):
        _, y = place(x_low, tick)
        parts.append(f'<line x1="{left:g}" x2="{left + plot_width:g}" y1="{y:g}" y2="{y:g}" '
                     f'stroke="#dddddd"/><text x="{left - 4:g}" y="{y + 4:g}" '
                     f'text-anchor="end">{tick:.4g}</text>')
    for tick in sorted(set(xs)) if len(set(xs)) <= 6 else _ticks(x_low, x_high):
        x, _ = place(tick, y_low)
        parts.append(f'<text x="{x:g}" y="{top + plot_height + 14:g}" '
                     f'text-anchor="middle">{tick:g}</text>')
    parts.append(f'<text x="{left + plot_width / 2:g}" y="{top + plot_height + 30:g}" '
                 f'text-anchor="middle">{_text(x_label)}</text>')
    for index, (name, line) in enumerate(points.items()):
        style = (f'stroke="{_COLOURS[index % len(_COLOURS)]}" stroke-width="1.5" fill="none" '
                 f'stroke-dasharray="{_DASHES[index // len(_COLOURS) % len(_DASHES)]}"')
        path = " ".join("{:g},{:g}".format(*place(x, y)) for x, y in line)
        y = top + 16.0 * index + 8
        parts.append(f'<polyline points="{path}" {style}/>'
                     f'<line x1="{left + plot_width + 8:g}" x2="{left + plot_width + 26:g}" '
                     f'y1="{y:g}" y2="{y:g}" {style}/>'
                     f'<text x="{left + plot_width + 30:g}" y="{y + 4:g}">{_text(name)}</text>')
    return "".join(parts) + "</svg>"


def _figures(parts: Sequence[str]) -> str:
    return "<div>" + "".join(
        f'<span style="display:inline-block;margin:4px;vertical-align:top">{part}</span>'
        for part in parts) + "</div>"


def _waves(name: str, values: Any) -> str:
    """Some columns of a table over the rows."""
    columns = np.unique(np.linspace(0, values.shape[1] - 1, min(5, values.shape[1])).astype(int))
    step = max(1, len(values) // 200)
    return line_chart({f"{name}[:, {c}]": [(i, values[i, c]) for i in range(0, len(values), step)]
                       for c in columns}, f"{name}, some columns", "row")


def encoding_html(name: str, arrays: Mapping[str, Any]) -> str:
    parts: List[str] = []
    for key, array in arrays.items():
        values = np.asarray(array, dtype=float)
        title = f"{name}: {key} {list(values.shape)}"
        if key == "output" or values.size == 0:
            continue
        if values.ndim == 2:
            parts += [heatmap(values, title), _waves(key, values)]
        else:
            parts += [heatmap(head, f"{title}, head {index}")
                      for index, head in enumerate(values[:_MAX_HEADS])]
    return _figures(parts) if parts else f"<p>{_text(name)} adds nothing</p>"


def attention_html(arrays: Mapping[str, Any], tokens: Optional[Sequence[str]]) -> str:
    if "weights" not in arrays:
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in arrays.items())
        return f"<p>Attention: {_text(shapes)}</p>"
    weights = np.asarray(arrays["weights"], dtype=float)
    heads = weights.reshape((-1,) + weights.shape[-2:])
    parts = [heatmap(head, f"attention weights, head {index}", tokens, tokens)
             for index, head in enumerate(heads[:_MAX_HEADS])]
    more = len(heads) - len(parts)
    return _figures(parts) + (f"<p>{more} more heads</p>" if more > 0 else "")


def summary_html(summary: Any) -> str:
    """One chart for each of the first metrics, the verdict, and the rows."""
    parts = []
    for metric in summary.metrics()[:4]:
        series: Dict[str, List[Tuple[float, float]]] = {}
        for row in summary.of(metric):
            series.setdefault(row.scheme_name, []).append((row.eval_length, row.mean))
        parts.append(line_chart(series, metric, "tokens"))
    verdict = f"<p>{_text(summary.verdict.text or summary.reason)}</p>"
    if summary.verdict.next_step:
        verdict += f"<p>{_text(summary.verdict.next_step)}</p>"
    if summary.partial:
        verdict += "<p>The evaluation ended early; the rows cover the finished cells only.</p>"
    return _figures(parts) + verdict + table(summary.rows.to_dicts())
