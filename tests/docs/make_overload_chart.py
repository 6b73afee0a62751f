#!/usr/bin/env python3
"""Draws docs/overload-simulation.svg from the output of `admission_simulation --sweep`.

    python3 tests/docs/make_overload_chart.py ADMISSION_SIMULATION [OUTPUT]

ADMISSION_SIMULATION is the path of the program, such as build/release/tests/admission_simulation.
"""

import csv
import math
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "docs" / "overload-simulation.svg"

WIDTH, HEIGHT = 760, 400
PANELS = ((44, 368), (424, 748))  # left and right edges
TOP, BOTTOM = 112, 330
LOADS = (0.25, 0.5, 1, 2, 5, 10)
# Background, text, secondary text and grid lines, then the series: light and dark.
COLOURS = (("#ffffff", "#14171c"), ("#1b1f24", "#e8eaed"), ("#57606b", "#a3abb6"),
           ("#e1e5ea", "#2e353e"), ("#0072b2", "#56a8e8"), ("#d55e00", "#ff8a4c"),
           ("#00845f", "#2cc295"), ("#b4467f", "#e79bc4"), ("#d55e00", "#ff8a4c"))
# Connections, seconds per call, name and dash pattern, in the order of the colours. A line that
# another one hides shows through its dashes.
SERIES = ((8, 0.5e-3, "0.5 ms", None), (64, 0.5e-3, "0.5 ms, 64 connections", "2 4"),
          (8, 50e-6, "50 µs", "7 5"), (8, 40e-3, "40 ms", None), (8, 1.0, "1 s", None))
COLOUR_OF = (5, 5, 4, 6, 7)


def sweep(program):
    return subprocess.run([str(program), "--sweep"], capture_output=True, text=True, check=True,
                          timeout=600).stdout


def series(text):
    """Returns {(connections, seconds per call): [(load, goodput, p99 wait)]}."""
    found = {}
    for row in csv.DictReader(text.splitlines()):
        key = int(row["connections"]), float(row["seconds_per_call"])
        found.setdefault(key, []).append(
            (float(row["load"]), float(row["goodput"]), float(row["wait_p99_seconds"])))
    return found


def number(value):
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text(x, y, content, size=11.5, colour=2, extra=""):
    return (f'<text x="{number(x)}" y="{number(y)}" font-size="{size}"{extra} '
            f'class="lf-{colour}">{content}</text>')


def line(points, colour, width=1.0, dash=None):
    path = "L".join(f"{number(x)} {number(y)}" for x, y in points)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (f'<path d="M{path}" fill="none" class="ls-{colour}" stroke-width="{width}" '
            f'stroke-linejoin="round"{dashes}/>')


def style():
    def rules(theme):
        return "".join(f".lf-{i}{{fill:{pair[theme]}}}.ls-{i}{{stroke:{pair[theme]}}}"
                       for i, pair in enumerate(COLOURS))
    return f"<style>{rules(0)}@media (prefers-color-scheme: dark){{{rules(1)}}}</style>"


class Panel:
    """One diagram over the offered load, whose axis is logarithmic."""

    def __init__(self, edges, highest):
        self.left, self.right = edges
        self.highest = highest

    def x(self, load):
        share = math.log(load / LOADS[0]) / math.log(LOADS[-1] / LOADS[0])
        return self.left + share * (self.right - self.left)

    def y(self, value):
        return BOTTOM - value / self.highest * (BOTTOM - TOP)

    def frame(self, title, ticks):
        parts = [text(self.left - 30, TOP - 16, title)]
        for value, label in ticks:
            parts.append(line([(self.left, self.y(value)), (self.right, self.y(value))], 3))
            parts.append(text(self.left - 8, self.y(value) + 4, label, extra=' text-anchor="end"'))
        for load in LOADS:
            parts.append(text(self.x(load), BOTTOM + 18, f"{load:g}",
                              extra=' text-anchor="middle"'))
        parts.append(line([(self.x(1), TOP), (self.x(1), BOTTOM)], 2, 1, "3 3"))
        parts.append(text((self.left + self.right) / 2, BOTTOM + 36,
                          "offered load, relative to the capacity", extra=' text-anchor="middle"'))
        return parts


def legend():
    parts, x = [], 16
    for (_, _, name, dash), colour in zip(SERIES, COLOUR_OF):
        parts.append(line([(x, HEIGHT - 13), (x + 22, HEIGHT - 13)], colour, 2.2, dash))
        parts.append(text(x + 28, HEIGHT - 9, name))
        x += 28 + 7 * len(name) + 22
    return parts


def chart(csv_text):
    """Returns the chart as SVG."""
    data = series(csv_text)
    goodput, wait = Panel(PANELS[0], 1.0), Panel(PANELS[1], 2.0)
    described = "; ".join(
        f"{name}: goodput {data[connections, seconds][-1][1]:.2f}, "
        f"p99 wait {data[connections, seconds][-1][2]:.2f} s"
        for connections, seconds, name, _ in SERIES)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img" font-family="system-ui, -apple-system, \'Segoe UI\', '
        '\'DejaVu Sans\', Arial, sans-serif">',
        "<title>Goodput and waits under overload, simulated</title>",
        f"<desc>At ten times the capacity: {described}.</desc>", style(),
        f'<rect x="0" y="0" width="{WIDTH}" height="{HEIGHT}" class="lf-0"/>',
        text(16, 32, "Goodput and waits under overload, simulated", 16, 1, ' font-weight="600"'),
        text(16, 50, "Poisson arrivals without deadlines, one slot, 8 connections unless stated "
                     "otherwise, --max-queue-seconds=2.", 12),
        text(16, 66, "Lines are compute times of a call.", 12),
        *goodput.frame("goodput, relative to the capacity",
                       [(i / 4, f"{i / 4:g}") for i in range(5)]),
        *wait.frame("p99 of the wait in the server, in seconds",
                    [(i / 2, f"{i / 2:g}") for i in range(5)])]
    for (connections, seconds, _, dash), colour in zip(SERIES, COLOUR_OF):
        rows = data[connections, seconds]
        for panel, column in ((goodput, 1), (wait, 2)):
            points = [(panel.x(row[0]), panel.y(min(row[column], panel.highest))) for row in rows]
            parts.append(line(points, colour, 2.2, dash))
    return "\n".join([*parts, *legend(), "</svg>"]) + "\n"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    output = Path(sys.argv[2]) if len(sys.argv) > 2 else CHART
    output.write_text(chart(sweep(sys.argv[1])), encoding="utf-8")
    print(f"wrote {output}")


if __name__ == "__main__":
    main()
