"""End-to-end tests of `locus check` and `evaluate`.

    evaluation_cli_test.py LOCUS FAKE_EVALUATION MANIFEST
"""

import csv
import html.parser
import json
import math
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

from fake_server import BREAKING, BUSY, COMPLETE, HANGING, INVALID, LATE, fake_server

LOCUS, FAKE, MANIFEST = sys.argv[1:4]
SVG = "{http://www.w3.org/2000/svg}"


def run(*arguments, **options):
    options.setdefault("timeout", 120)
    return subprocess.run([LOCUS, *arguments], capture_output=True, text=True, check=False,
                          **options)


class CliTest(unittest.TestCase):
    """Base class: runs `locus` in a temporary folder, against a fake server if needed."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def ok(self, *arguments, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def fails(self, code, pattern, *arguments, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertRegex(result.stderr, pattern)
        return result

    def fake(self):
        return fake_server(FAKE, MANIFEST)


class CheckTest(CliTest):
    def test_properties_as_declared(self):
        with self.fake() as server:
            text = self.ok("check", "--server", server, "--details")
        self.assertIn("All 2 verdicts are as promised.", text)
        self.assertIn("shifted by 100", text)

    def test_property_that_differs_from_its_declaration_exits_with_1(self):
        with self.fake() as server:
            result = run("check", "--server", server, "--naive")
            document = run("check", "--server", server, "--naive", "--json")
        self.assertEqual((result.returncode, document.returncode), (1, 1))
        self.assertIn("1 of 2 verdicts break a promise:\n", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^rope +✓ +✗$")
        self.assertRegex(result.stdout, r"(?m)^integer +–$")
        self.assertEqual(json.loads(document.stdout)["results"][1]["naive"], True)

    def test_invalid_flags_are_rejected(self):
        self.fails(2, "there is no scheme \"ropee\"; did you mean rope", "check", "--scheme", "ropee")
        self.fails(2, "unknown flag --detials; did you mean --details", "check", "--detials")


class EvaluateTest(CliTest):
    def evaluate(self, server, seed, *arguments, **options):
        return run("evaluate", "--server", server, "--seed", str(seed), *arguments,
                   cwd=self.folder, **options)

    def test_all_files_are_written(self):
        with self.fake() as server:
            result = self.evaluate(server, COMPLETE)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Winner: alibi", result.stdout)
        self.assertIn("wrote 6 files to locus-evaluation/; open locus-evaluation/report.html\n",
                      result.stdout)
        self.assertEqual(sorted(os.listdir(self.path("locus-evaluation"))),
                         ["cells.csv", "drift.svg", "manifest.json", "nll.svg",
                          "nll_by_position.svg", "report.html"])
        with open(self.path("locus-evaluation", "manifest.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["winner"], "alibi")
        with open(self.path("locus-evaluation", "cells.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 4)
        self.assertEqual(rows[1]["metric"], "nll")

    def test_progress_without_a_terminal_is_one_line_per_run_and_cell(self):
        with self.fake() as server:
            result = self.evaluate(server, COMPLETE, "--no-out")
            quiet = self.evaluate(server, COMPLETE, "--no-out", "--quiet")
        self.assertEqual(result.stderr.splitlines(),
                         ["rope seed 0: training, 400 steps, about 1m20s left in all",
                          "rope seed 0 length 64: nll 1.5", "rope seed 0 length 128: nll 1.5"])
        self.assertEqual(quiet.stderr, "")
        self.assertEqual(os.listdir(self.folder), [])

    def test_json_is_the_manifest(self):
        with self.fake() as server:
            result = self.evaluate(server, COMPLETE, "--no-out", "--json")
        with open(MANIFEST, encoding="utf-8") as file:
            self.assertEqual(json.loads(result.stdout), json.load(file))

    def test_progress_on_a_terminal_is_one_line_that_is_erased(self):
        leader, follower = pty.openpty()
        with self.fake() as server, subprocess.Popen(
                [LOCUS, "evaluate", "--server", server, "--no-out"], stderr=follower,
                stdout=subprocess.PIPE) as process:
            os.close(follower)
            shown = b""
            while select.select([leader], [], [], 60)[0]:
                try:
                    part = os.read(leader, 4096)
                except OSError:  # the other end is closed
                    break
                if not part:
                    break
                shown += part
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0)
        os.close(leader)
        self.assertIn(b"rope  seed 0  [", shown)
        self.assertNotIn(b"\n", shown)
        self.assertTrue(shown.endswith(b"\r\x1b[K"))

    def interrupted(self, number):
        with self.fake() as server:
            process = subprocess.Popen([LOCUS, "evaluate", "--server", server, "--seed",
                                        str(HANGING)], cwd=self.folder, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            with process:
                lines = [process.stderr.readline() for _ in range(3)]
                self.assertIn("length 128", lines[-1])
                start = time.monotonic()
                process.send_signal(number)
                stdout, stderr = process.communicate(timeout=60)
                return process.returncode, time.monotonic() - start, stdout, stderr

    def test_interrupt_prints_the_finished_cells(self):
        code, seconds, stdout, stderr = self.interrupted(signal.SIGINT)
        self.assertEqual(code, 130)
        self.assertLess(seconds, 10)  # about one second on an idle machine
        self.assertEqual(stderr, "locus: interrupted\n")
        self.assertRegex(stdout, r"(?m)^rope +1 +128 +bits_per_byte 2.25  nll 1.5$")
        self.assertEqual(os.listdir(self.path("locus-evaluation")), ["unfinished"])
        self.assertEqual(os.listdir(self.path("locus-evaluation", "unfinished")), ["cells.csv"])

    def test_interrupt_says_which_report_is_older(self):
        with self.fake() as server:
            self.assertEqual(self.evaluate(server, COMPLETE).returncode, 0)
        _, _, stdout, _ = self.interrupted(signal.SIGINT)
        self.assertTrue(stdout.endswith(
            "\nwrote the finished cells to locus-evaluation/unfinished/cells.csv\n"
            "locus-evaluation/report.html is from an earlier evaluation\n"), stdout)

    def test_ordering_with_a_question(self):
        text = self.ok("evaluate", "--task", "ordering", "--scheme", "rope", "--scheme", "none",
                       "--steps", "5", "--seeds", "2", "--ask", "3,1,4,2", "--no-out", timeout=60)
        self.assertIn("trained at 4\n", text)
        self.assertRegex(text, r"(?m)^SCHEME +AT 4 +AT 5 +AT 6 +AT 8$")
        self.assertIn("Is 3, 1, 4, 2 sorted? It is not.", text)
        self.assertIn("No winner: none reached balanced accuracy 0.85 at length 4 in 5 steps", text)
        self.assertIn("Try --steps 50 or a shorter --train-length.", text)
        self.assertNotIn("Winner", text)
        self.fails(2, r"--ask: \[0\].values\[1\]: is 9; must be from 0 to 7",
                   "evaluate", "--task", "ordering", "--ask", "3,9", "--no-out", "-q")

    def test_pattern_has_no_winner(self):
        text = self.ok("evaluate", "--pattern", "--no-out", timeout=60)
        self.assertIn("Steadiest map: ", text)
        self.assertIn("Largest drift: ", text)
        self.assertNotIn("Winner", text)

    def test_schemes_with_equal_results_are_drawn(self):
        self.ok("evaluate", "--pattern", "--train-length", "64", "--eval-lengths", "64",
                "--scheme", "sinusoidal", "--scheme",
                "sinusoidal { layout: SINUSOIDAL_LAYOUT_HALVES }", "--out", self.path("x"),
                timeout=60)

    def test_rejected_evaluation_removes_no_files(self):
        with self.fake() as server:
            self.assertEqual(self.evaluate(server, COMPLETE).returncode, 0)
            before = sorted(os.listdir(self.path("locus-evaluation")))
            self.assertEqual(self.evaluate(server, INVALID).returncode, 1)
        self.assertEqual(sorted(os.listdir(self.path("locus-evaluation"))), before)

    def test_files_of_others_are_not_removed(self):
        folder = self.path("locus-evaluation")
        os.mkdir(folder)
        with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as file:
            file.write('{"name": "not ours"}')
        for name in ("notes.txt", "mine.svg", "accuracy.svg"):
            with open(os.path.join(folder, name), "w", encoding="utf-8"):
                pass
        os.symlink("notes.txt", os.path.join(folder, "linked.svg"))
        with self.fake() as server:
            self.assertEqual(self.evaluate(server, COMPLETE).returncode, 0)
        self.assertLessEqual({"accuracy.svg", "linked.svg", "mine.svg", "notes.txt"},
                             set(os.listdir(folder)))

    def test_termination_exits_with_143(self):
        self.assertEqual(self.interrupted(signal.SIGTERM)[0], 143)

    def test_failed_evaluation_prints_the_finished_cells(self):
        with self.fake() as server:
            broken = self.evaluate(server, BREAKING)
            late = self.evaluate(server, LATE, "--no-out")
        self.assertEqual((broken.returncode, late.returncode), (1, 1))
        self.assertIn("UNFINISHED", broken.stdout)
        self.assertIn("locus: UNAVAILABLE: going down", broken.stderr)
        self.assertIn("locus: DEADLINE_EXCEEDED: too late", late.stderr)

    def test_busy_server_is_retried(self):
        with self.fake() as server:
            self.assertEqual(self.evaluate(server, BUSY, "--no-out").returncode, 0)

    def test_invalid_request_is_reported(self):
        with self.fake() as server:
            result = self.evaluate(server, INVALID, "--no-out")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout, "")
        self.assertIn("train_length: is 1", result.stderr)

    def test_unwritable_folder_is_reported_before_the_call(self):
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        # No server listens there: the folder is checked before the call.
        for out, pattern in ((self.path("file", "x"), "Not a directory"),
                             ("/proc/locus", "cannot create the folder|cannot write")):
            self.fails(1, pattern, "evaluate", "--server", "127.0.0.1:1", "--out", out)

    def test_invalid_flags_are_rejected(self):
        for pattern, arguments in (
                ("there is no task \"cpoy\"; did you mean copy", ("--task", "cpoy")),
                ("--steps cannot be combined with --pattern", ("--pattern", "--steps", "3")),
                ("unknown flag --taks; did you mean --task", ("--taks", "copy")),
                ("--eval-lengths", ("--eval-lengths", "64,many")),
                ("--corpus: cannot read", ("--corpus", "/nonexistent")),
                ("--from: .* is no manifest", ("--from", sys.argv[0])),
                ("--causal", ("--causal", "--bidirectional")),
                ("--steps: is 0; must be at least 1", ("--steps", "0")),
                ("--seeds: is -1; must be at least 1", ("--seeds", "-1")),
                ("--train-length: is 0", ("--train-length", "0")),
                ("--dim: is 0", ("--pattern", "--dim", "0")),
                ("--ask needs --task ordering, not text", ("--ask", "3,1,4,2")),
                ("--ask: \"3,x\" is no list", ("--task", "ordering", "--ask", "3,x")),
                ("--ask cannot be combined with --pattern", ("--pattern", "--ask", "1,2"))):
            self.fails(2, pattern, "evaluate", "--no-out", *arguments)


class PageParser(html.parser.HTMLParser):
    """Tables by id as lists of rows of cells, and the text of #reason."""

    def __init__(self):
        super().__init__()
        self.tables, self.reason, self.rows, self.cell = {}, "", None, None

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "table":
            self.rows = self.tables.setdefault(attrs["id"], [])
        elif tag == "tr" and self.rows is not None:
            self.rows.append([])
        elif tag in ("td", "th") and self.rows is not None:
            self.rows[-1].append("")
            self.cell = True
        elif tag == "br" and self.cell:
            self.rows[-1][-1] += " "
        elif attrs.get("id") == "reason":
            self.cell = "reason"

    def handle_endtag(self, tag):
        if tag == "table":
            self.rows = None
        if tag in ("td", "th", "p"):
            self.cell = None

    def handle_data(self, data):
        if self.cell == "reason":
            self.reason += data
        elif self.cell and self.rows:
            self.rows[-1][-1] += data


# Names of metrics in the report.
METRICS = {"nll": "Negative log-likelihood", "bits_per_byte": "Bits per byte",
           "drift": "Drift beyond the training length"}


def metric_title(metric):
    bucket = re.fullmatch(r"nll_bucket_(\d+)_(\d+)", metric)
    if bucket:
        return f"Negative log-likelihood, positions {bucket[1]} to {bucket[2]}"
    return METRICS[metric]


def number(text):
    return float(text.replace("\u2212", "-"))


class ReportTest(CliTest):
    """The report shows exactly the numbers of the manifest."""

    def setUp(self):
        super().setUp()
        self.ok("evaluate", "--from", MANIFEST, "--out", self.path("out"))
        with open(MANIFEST, encoding="utf-8") as file:
            self.manifest = json.load(file)
        self.page = PageParser()
        with open(self.path("out", "report.html"), encoding="utf-8") as file:
            self.text = file.read()
        self.page.feed(self.text)

    def close(self, shown, exact):
        self.assertTrue(math.isclose(number(shown), exact, rel_tol=6e-4, abs_tol=6e-8),
                        (shown, exact))

    def test_rows_and_differences(self):
        for table in ("rows", "differences"):
            shown, exact = self.page.tables[table][1:], self.manifest["results"][table]
            self.assertEqual(len(shown), len(exact))
            for cells, row in zip(shown, exact):
                self.assertEqual(cells[:2], [row["scheme_name"], metric_title(row["metric"])])
                for cell, key in zip(cells[2:], ("eval_length", "mean", "ci_low", "ci_high",
                                                 "count")):
                    self.close(cell, row[key])

    def test_overview(self):
        rows = {(row["scheme_name"], row["eval_length"]): row
                for row in self.manifest["results"]["rows"] if row["metric"] == "nll"}
        heading, *body = self.page.tables["overview"]
        lengths = [int(cell.split()[0]) for cell in heading[1:]]
        self.assertEqual(lengths, self.manifest["configuration"]["eval_lengths"])
        for scheme, *cells in body:
            for length, cell in zip(lengths, cells):
                mean, low, _, high = cell.split()
                for shown, key in ((mean, "mean"), (low, "ci_low"), (high, "ci_high")):
                    self.close(shown, rows[scheme, length][key])

    def test_gates_and_reason(self):
        for cells, gate in zip(self.page.tables["gates"][1:], self.manifest["results"]["gates"]):
            self.assertEqual(cells[0], gate["scheme_name"])
            self.close(cells[2], gate["threshold"])
            seeds = len(self.manifest["seeds"])
            self.assertEqual(cells[3], f"{round(gate['learned_share'] * seeds)} of {seeds}")
            self.assertEqual(cells[4], "learned" if gate["passed"] else "did not learn")
        self.assertEqual(self.page.reason, self.manifest["reason"])

    def test_points_of_curves(self):
        exact = {(row["scheme_name"], row["eval_length"]): row["mean"]
                 for row in self.manifest["results"]["rows"] if row["metric"] == "nll"}
        root = xml.etree.ElementTree.parse(self.path("out", "nll.svg")).getroot()
        found = 0
        for title in root.iter(SVG + "title"):
            match = re.match(r"(\w+)[^:]* at (\d+): (\S+)", title.text or "")
            if match:
                self.close(match[3], exact[match[1], int(match[2])])
                found += 1
        self.assertEqual(found, len(exact))

    def test_best_values_are_bold(self):
        nll = {(row["eval_length"], row["mean"])
               for row in self.manifest["results"]["rows"]
               if row["metric"] == "nll" and row["scheme_name"] != "none"}
        best = [min(mean for at, mean in nll if at == length)
                for length in self.manifest["configuration"]["eval_lengths"]]
        shown = re.findall(r'class="n best"><strong>([^<]*)<', self.text)
        self.assertEqual(sorted(map(float, shown)), sorted(best))

    def test_command_and_facts(self):
        self.assertIn(f"<code>locus evaluate --from {MANIFEST} --out {self.path('out')}</code>",
                      self.text)
        self.assertIn("task text \u00b7 2 layers, width 64, 4 heads \u00b7 400 steps of 32 sequences "
                      "\u00b7 built-in text \u00b7 trained up to 64 tokens \u00b7 3 seeds", self.text)

    def test_charts_in_the_page_are_well_formed_svg(self):
        charts = re.findall(r"<svg.*?</svg>", self.text, re.DOTALL)
        self.assertEqual(self.text.count('<figure class="chart"'), 3)
        # Each chart has a legend of six schemes.
        self.assertEqual(len(charts), 3 * 7)
        for chart in charts:
            xml.etree.ElementTree.fromstring(chart)

    def test_stdout_has_the_same_numbers(self):
        text = self.ok("evaluate", "--from", MANIFEST, "--no-out")
        for row in self.manifest["results"]["rows"]:
            if row["metric"] == "nll":
                self.assertIn(f"{row['mean']:.4g}", text)


class ManifestTest(CliTest):
    """Charts of manifests with extreme or undefined numbers."""

    def written(self, change):
        with open(MANIFEST, encoding="utf-8") as file:
            manifest = json.load(file)
        for row in manifest["results"]["rows"]:
            change(row)
        with open(self.path("changed.json"), "w", encoding="utf-8") as file:
            json.dump(manifest, file)
        return self.path("changed.json")

    def drawn(self, mean):
        def change(row):
            row["mean"] = row["ci_low"] = row["ci_high"] = mean(row)

        self.ok("evaluate", "--from", self.written(change), "--out", self.path("out"), timeout=60)
        for name in os.listdir(self.path("out")):
            if name.endswith(".svg"):
                root = xml.etree.ElementTree.parse(self.path("out", name)).getroot()
                for element in root.iter():
                    for value in element.attrib.values():
                        self.assertNotRegex(value, r"\b(nan|inf)\b")

    def test_means_that_differ_by_rounding(self):
        self.drawn(lambda row: 1.0 if row["scheme_name"] == "rope" else 1.0000000000000002)

    def test_huge_and_undefined_means(self):
        for mean in (1e308, -1e308, "NaN", "Infinity", "-Infinity"):
            self.drawn(lambda row: mean if row["scheme_name"] == "rope" else 2.0)
            self.drawn(lambda row: mean)
        self.drawn(lambda row: 1e308 if row["scheme_name"] == "rope" else -1e308)

    def test_lengths_below_one_are_rejected(self):
        for length in (0, -64):
            self.fails(2, rf"--from: .*results.rows\[0\].eval_length: is {length}; must be at "
                          "least 1", "evaluate", "--no-out", "--from",
                       self.written(lambda row: row.update(eval_length=length)))

    def test_redrawing_keeps_cells_of_the_same_manifest(self):
        self.ok("evaluate", "--from", MANIFEST, "--out", self.path("out"))
        with open(self.path("out", "cells.csv"), "w", encoding="utf-8") as file:
            file.write("scheme,seed,length,metric,value\n")
        before = sorted(os.listdir(self.path("out")))
        self.ok("evaluate", "--from", self.path("out", "manifest.json"), "--out", self.path("out"))
        self.assertEqual(sorted(os.listdir(self.path("out"))), before)

    def test_another_manifest_replaces_all_files(self):
        self.ok("evaluate", "--from", MANIFEST, "--out", self.path("out"))
        with open(self.path("out", "cells.csv"), "w", encoding="utf-8") as file:
            file.write("scheme,seed,length,metric,value\n")
        other = self.written(lambda row: row.update(metric="surprise"))
        self.ok("evaluate", "--from", other, "--out", self.path("out"))
        self.assertEqual(sorted(os.listdir(self.path("out"))),
                         ["manifest.json", "report.html", "surprise.svg"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
