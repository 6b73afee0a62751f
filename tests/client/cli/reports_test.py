"""Opens the reports of real evaluations in Chromium: light, dark, 400 px wide, printed and without
JavaScript. No texts overlap, nothing leaves the window, and every switch works.

Usage: reports_test.py LOCUS SCREENSHOTS
"""

import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "support" / "browser"))
import browser  # noqa: E402 (found through sys.path above)

LOCUS = None
SCREENSHOTS = None

OVERLAPPING = """<!DOCTYPE html><body style="margin:0"><p style="margin:0">first</p>
<p style="margin:-20px 0 0">second</p><p style="width:3000px;text-align:right">far</p>"""


def locus(*arguments):
    done = subprocess.run([LOCUS, *map(str, arguments)], capture_output=True, text=True,
                          check=False, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"locus {' '.join(map(str, arguments))}: {done.stderr}")


class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def check_layout(self, *files):
        results = browser.run_script("check_pages.mjs", SCREENSHOTS, *files, timeout=90)
        self.assertEqual(len(results), 6 * len(files))
        for result in results:
            with self.subTest(page=result["file"], mode=result["mode"]):
                self.assertGreater(result["count"], 50)
                self.assertEqual(result["overlaps"], [])
                self.assertEqual(result["outside"], [])
                self.assertEqual(result["overflow"], 0)
                self.assertEqual(result["requested"], [])
                self.assertEqual(result["problems"], [])

    def use(self, file, chart, table, column):
        screenshot = pathlib.Path(SCREENSHOTS) / f"{file.stem}-hover.png"
        seen = browser.run_script("use_page.mjs", screenshot, file, chart, table, column)
        self.assertEqual(seen["problems"], [])
        self.assertEqual(seen["left"], [])
        self.assertNotEqual(seen["first"], seen["second"])
        downloads = seen["downloads"]
        self.assertTrue(downloads["png"]["start"].startswith("\x89PNG"))
        self.assertTrue(downloads["svg"]["start"].startswith("<svg"))
        self.assertIn("<rect", downloads["svg"]["start"])
        self.assertTrue(downloads["csv"]["start"].startswith("series,x,value,low,high\n"))
        # Missing numbers come first.
        ascending = [-math.inf if value is None else value for value in seen["ascending"]]
        self.assertEqual(ascending, sorted(ascending))
        self.assertEqual(seen["descending"], list(reversed(seen["ascending"])))
        self.assertGreater(len(set(ascending)), 2)
        return seen


class EvaluationReportTest(BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        locus("evaluate", "--task", "text", "--scheme", "rope", "--scheme", "alibi", "--scheme",
              "none", "--steps", "20", "--dim", "32", "--seeds", "2", "--out", cls.folder / "text",
              "-q")
        locus("evaluate", "--pattern", "--out", cls.folder / "pattern", "-q")
        for name in ("text", "pattern"):
            (cls.folder / name / "report.html").rename(cls.folder / f"report-{name}.html")

    def test_layout(self):
        self.check_layout(self.folder / "report-text.html", self.folder / "report-pattern.html")

    def test_charts_can_be_used(self):
        seen = self.use(self.folder / "report-text.html", "chart-nll", "overview", 1)
        self.assertEqual(seen["hover"][0], "256 tokens")
        self.assertEqual(len(seen["hover"]), 4)
        self.assertRegex(" ".join(seen["hover"]), r"alibi \D*[\d.]+ \([\d.]+ to [\d.]+\)")
        self.assertEqual(seen["first"][0], "32 tokens")
        # A click on the legend hides the scheme in every chart that compares the three schemes. The
        # charts of training losses have one scheme each, and a line for each seed.
        self.assertEqual(seen["lines"][0], 3)
        self.assertEqual(seen["lines"].count(2), 3)
        self.assertGreater(seen["lines"].count(3), 1)
        self.assertEqual(seen["linesWithoutFirst"],
                         [2 if count == 3 else count for count in seen["lines"]])
        self.assertEqual(seen["pressed"], "false")
        self.assertEqual(seen["linesAgain"], seen["lines"])
        self.assertEqual(seen["labels"][0], "nats per byte")
        self.assertEqual(seen["logLabels"][0], "nats per byte, log")
        self.assertEqual(seen["bitsLabels"][0], "bits per byte")
        self.assertNotEqual(seen["bitsLabels"][1:], seen["labels"][1:])
        self.assertGreater(seen["bands"], 0)
        self.assertEqual(seen["bandsOff"], 0)
        self.assertEqual(seen["seeds"], 2 * 3 * 4)
        self.assertEqual(seen["downloads"]["csv"]["name"], "nll.csv")
        self.assertIn(',32,', seen["downloads"]["csv"]["start"])


class LoadReportTest(BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        before, after = cls.folder / "before.json", cls.folder / "after.json"
        short = ("--warm-up", "200ms", "--duration", "3s", "-q")
        locus("load", "--rate", "100", *short, "-o", before, "-o", cls.folder / "load.html")
        locus("load", "--rate", "200", *short, "-o", after)
        locus("load", "compare", before, after, "-o", cls.folder / "load-compare.html")
        locus("load", "--slo", "p99=2s", "--rate", "20", "--max-rate", "80", "--warm-up", "0",
              "--duration", "200ms", "-q", "-o", cls.folder / "load-search.html")

    def test_layout(self):
        self.check_layout(*(self.folder / f"load{name}.html"
                            for name in ("", "-compare", "-search")))

    def test_charts_can_be_used(self):
        seen = self.use(self.folder / "load.html", "chart-latency", "times", 2)
        self.assertEqual(len(seen["hover"]), 4)
        self.assertIn("max", seen["hover"][1])
        self.assertEqual(seen["labels"][0], "milliseconds")
        self.assertEqual(seen["logLabels"][0], "milliseconds, log")
        self.assertEqual(seen["lines"][1], 3)
        self.assertEqual(seen["linesWithoutFirst"][1], 2)

    def test_comparison_overlays_both_runs(self):
        seen = self.use(self.folder / "load-compare.html", "chart-percentiles", "headline",
                        1)
        self.assertRegex(seen["hover"][0], r"^9[\d.]+ % percentile$")
        self.assertEqual(sorted(row.split()[0] for row in seen["hover"][1:2]), ["after"])
        self.assertEqual(seen["lines"], [2, 4, 2, 2])


class FaultsTest(BrowserTest):
    def test_faults_of_pages_are_found(self):
        bad = self.folder / "bad.html"
        bad.write_text(OVERLAPPING, encoding="utf-8")
        for result in browser.run_script("check_pages.mjs", self.folder, bad):
            self.assertIn(["first", "second"], result["overlaps"])
            self.assertEqual(result["outside"], ["far"])
            self.assertGreater(result["overflow"], 1000)


if __name__ == "__main__":
    LOCUS, SCREENSHOTS = sys.argv[1], sys.argv[2]
    unittest.main(argv=sys.argv[:1])
