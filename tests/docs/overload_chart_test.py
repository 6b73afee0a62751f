#!/usr/bin/env python3
"""Compares docs/overload-simulation.svg with a fresh simulation, and tests the generator.

    ADMISSION_SIMULATION=build/release/tests/admission_simulation \\
        python3 tests/docs/overload_chart_test.py
"""

import os
import unittest
import xml.etree.ElementTree

import make_overload_chart

ADMISSION_SIMULATION = os.environ.get("ADMISSION_SIMULATION", "admission_simulation")
SVG = "{http://www.w3.org/2000/svg}"


class OverloadChartTest(unittest.TestCase):
    def test_chart_matches_the_simulation(self):
        expected = make_overload_chart.chart(make_overload_chart.sweep(ADMISSION_SIMULATION))
        chart = make_overload_chart.CHART
        found = chart.read_text(encoding="utf-8") if chart.exists() else ""
        self.assertTrue(found == expected,
                        f"docs/{chart.name} is out of date; run: python3 "
                        "tests/docs/make_overload_chart.py "
                        "build/release/tests/admission_simulation")

    def test_every_series_is_drawn_in_both_panels(self):
        rows = [f"{connections},{seconds},{load},{goodput},{wait}"
                for connections, seconds, _, _ in make_overload_chart.SERIES
                for load, goodput, wait in ((0.25, 0.25, 0.5), (1, 1, 1), (10, 0.75, 9))]
        chart = make_overload_chart.chart(
            "connections,seconds_per_call,load,goodput,wait_p99_seconds\n" + "\n".join(rows))
        drawing = xml.etree.ElementTree.fromstring(chart)
        paths = [path.get("d") for path in drawing.iter(SVG + "path")]
        paths = [path for path in paths if path.count("L") == 2]
        self.assertEqual(paths, ["M44 275.5L165.76 112L368 166.5",
                                 "M424 275.5L545.76 221L748 112"] * len(make_overload_chart.SERIES))
        self.assertIn("50 µs: goodput 0.75, p99 wait 9.00 s;", chart)


if __name__ == "__main__":
    unittest.main()
