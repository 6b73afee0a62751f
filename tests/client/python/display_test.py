#!/usr/bin/env python3
"""Displays of results in notebooks: well-formed, escaped, and of bounded size."""

import unittest
import xml.etree.ElementTree as xml

import support  # noqa: F401
import numpy as np

from locus import _display, results
from locus._retry import CallInfo

EVIL = '<script>alert("x")</script> & \'y\''
SVG = "{http://www.w3.org/2000/svg}"


def parse(markup):
    """Parses HTML as XML, which fails if it is not well-formed."""
    return xml.fromstring(f"<div>{markup}</div>")


class DisplayTest(unittest.TestCase):
    def summary(self, name="rope"):
        rows = results.Table([results.EvaluationRow(name, length, metric, length / 64, 0.1, 0.9, 3)
                              for metric in ("nll", "drift") for length in (32, 64)])
        return results.Summary(rows, name, f"{name} wins", True, results.Table(), results.Table(),
                               results.Verdict("winner", name, f"{name} wins", "ask again"), {}, {})

    def test_text_is_escaped_everywhere(self):
        weights = np.full((1, 2, 2), 0.5)
        for shown in (results.Attention({"weights": weights}, CallInfo(), [EVIL, "b"]),
                      results.Encoding(EVIL, "table", {"table": np.eye(3)}, {}, CallInfo()),
                      results.Encoding(EVIL, "nothing", {}, {}, CallInfo()), self.summary(EVIL),
                      results.Table([results.Gate(EVIL, "nll", 1.0, 1.0, True)])):
            markup = shown._repr_html_()
            self.assertNotIn("<script", markup)
            self.assertIn("&lt;script&gt;", markup)
            parse(markup)

    def test_a_heatmap_has_one_cell_per_number(self):
        tree = parse(_display.heatmap(np.arange(6).reshape(2, 3), "title", ["a", "b"],
                                      ["x", "y", "z"]))
        cells = tree.findall(f".//{SVG}rect")
        self.assertEqual(len(cells), 6)
        self.assertEqual([cells[0].get("fill"), cells[5].get("fill")], ["#ffffff", "#084594"])
        self.assertEqual(cells[5].find(f"{SVG}title").text, "1, 2: 5")

    def test_signs_have_different_colours_and_missing_values_are_grey(self):
        tree = parse(_display.heatmap(np.array([[-2.0, 0, 2, -np.inf]]), "title"))
        fills = [cell.get("fill") for cell in tree.findall(f".//{SVG}rect")]
        self.assertEqual(fills, ["#2166ac", "#ffffff", "#b2182b", "#cccccc"])

    def test_large_arrays_are_averaged(self):
        values = np.repeat(np.arange(2.0), 500)[:, None] * np.ones((1, 300))
        tree = parse(_display.heatmap(values, "title"))
        cells = tree.findall(f".//{SVG}rect")
        self.assertEqual(len(cells), 64 * 64)
        self.assertTrue(cells[0].find(f"{SVG}title").text.endswith(": 0"))
        self.assertTrue(cells[-1].find(f"{SVG}title").text.endswith(": 1"))

    def test_a_line_chart_has_a_line_and_a_label_per_series(self):
        tree = parse(_display.line_chart({"a": [(0, 1), (1, 2)], "b": [(0, 3), (1, np.nan)]},
                                         "title", "x"))
        self.assertEqual(len(tree.findall(f".//{SVG}polyline")), 2)
        labels = [text.text for text in tree.findall(f".//{SVG}text")]
        self.assertTrue({"title", "x", "a", "b"} <= set(labels))

    def test_charts_of_constant_and_missing_values(self):
        parse(_display.line_chart({"a": [(1, 5.0)]}, "title", "x"))
        parse(_display.line_chart({"a": [(1, np.nan)]}, "title", "x"))
        parse(_display.heatmap(np.zeros((1, 1)), "title"))
        parse(_display.heatmap(np.full((2, 2), np.nan), "title"))

    def test_every_kind_of_encoding_is_drawn(self):
        table, bias = np.eye(4), np.zeros((3, 4, 4))
        for arrays, count in (({"table": table}, 2), ({"cos": table, "sin": table}, 4),
                              ({"bias": bias}, 3)):
            encoding = results.Encoding("x", "table", arrays, {}, CallInfo())
            self.assertEqual(len(parse(encoding._repr_html_()).findall(f".//{SVG}svg")), count)

    def test_a_summary_has_charts_a_verdict_and_a_table(self):
        tree = parse(self.summary()._repr_html_())
        self.assertEqual(len(tree.findall(f".//{SVG}svg")), 2)
        self.assertEqual(len(tree.findall(".//tbody/tr")), 4)
        self.assertIn("rope wins", xml.tostring(tree, encoding="unicode"))
        self.assertIn("ask again", xml.tostring(tree, encoding="unicode"))

    def test_long_tables_are_cut(self):
        gates = results.Table([results.Gate("x", "nll", 1.0, 1.0, True)] * 500)
        tree = parse(gates._repr_html_())
        self.assertEqual(len(tree.findall(".//tbody/tr")), 200)
        self.assertIn("300 more rows", tree.findall(".//p")[0].text)


if __name__ == "__main__":
    unittest.main()
