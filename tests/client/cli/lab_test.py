"""End-to-end tests of `locus lab`: files, manifests, assertions, languages, determinism.

Usage: lab_test.py LOCUS
"""

import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

LOCUS = sys.argv.pop(1)

# Labs that only call Encode, Attend or CheckProperties. The others train models.
QUICK = ("equivariance", "sinusoidal", "rope", "alibi", "properties")
TRAINED = ("ordering", "extrapolation")
MANIFEST_KEYS = ["experiment", "date", "seed", "versions", "config", "results_summary"]


def run(*arguments):
    return subprocess.run([LOCUS, *arguments], capture_output=True, encoding="utf-8",
                          timeout=300, check=False)


def contents(folder):
    """The bytes of all files of a folder, with the date of the manifest removed."""
    files = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            files[name] = file.read()
    files["manifest.json"] = re.sub(rb'"date": "[^"]*"', b'"date": ""', files["manifest.json"])
    return files


class LabTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, *parts):
        return os.path.join(self.folder.name, *parts)

    def lab(self, name, *arguments, out="out", code=0):
        result = run("lab", name, "--out", self.path(out), *arguments)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout

    def manifest(self, out="out"):
        with open(self.path(out, "manifest.json"), encoding="utf-8") as file:
            return json.load(file)

    def text(self, name, out="out"):
        with open(self.path(out, name), encoding="utf-8") as file:
            return file.read()

    def check_folder(self, name, printed, out="out"):
        """Checks the files that every lab hands in."""
        manifest = self.manifest(out)
        self.assertEqual(list(manifest), MANIFEST_KEYS)
        self.assertEqual(manifest["experiment"], name)
        self.assertRegex(manifest["date"], r"^\d{4}-\d\d-\d\d$")
        self.assertEqual(list(manifest["versions"]), ["locus", "compiler", "instruction_set"])
        self.assertGreater(len(manifest["config"]), 0)
        count = manifest["results_summary"]["assertions"]
        self.assertGreater(count, 0)
        story = self.text("demo_output.txt", out)
        self.assertTrue(printed.startswith(story), "the printout differs from demo_output.txt")
        self.assertEqual(len(re.findall(r"(?m)^(PASS|FAIL)  ", story)), count)
        self.assertLessEqual(max(map(len, story.splitlines())), 80)
        readme = self.text("README.md", out)
        self.assertEqual(len(re.findall(r"(?m)^- (PASS|\*\*FAIL\*\*): ", readme)), count)
        figures = re.findall(r"\]\((\w+)\.svg\)", readme)
        self.assertGreater(len(figures), 0)
        for figure in figures:
            xml.etree.ElementTree.fromstring(self.text(figure + ".svg", out))
            with open(self.path(out, figure + ".png"), "rb") as file:
                header = file.read(24)
            self.assertEqual(header[:8], b"\x89PNG\r\n\x1a\n")
            width, height = struct.unpack(">II", header[16:24])
            self.assertGreater(min(width, height), 100)
        expected = {"README.md", "demo_output.txt", "manifest.json"}
        for figure in figures:
            expected |= {figure + ".svg", figure + ".png"}
        self.assertEqual(set(os.listdir(self.path(out))), expected)
        return manifest["results_summary"]


class QuickLabsTest(LabTest):
    def test_every_lab_writes_its_folder_and_passes(self):
        for name in QUICK:
            with self.subTest(lab=name):
                printed = self.lab(name, out=name)
                summary = self.check_folder(name, printed, out=name)
                self.assertEqual(summary["failed_assertions"], 0)
                self.assertIn(f"All {summary['assertions']} assertions hold.", printed)
                self.assertIn(f"files to {self.path(name)}; open", printed)

    def test_same_seed_gives_the_same_bytes(self):
        for name in QUICK:
            with self.subTest(lab=name):
                self.lab(name, "--seed", "5", out="one")
                self.lab(name, "--seed", "5", out="two")
                self.assertEqual(contents(self.path("one")), contents(self.path("two")))
                self.folder.cleanup()
                os.makedirs(self.folder.name, exist_ok=True)

    def test_another_seed_gives_other_numbers(self):
        for name in ("equivariance", "rope"):
            self.assertNotEqual(self.lab(name, out="one"), self.lab(name, "--seed", "1", out="two"))

    def test_equivariance_has_the_keys_of_the_course(self):
        printed = self.lab("equivariance")
        manifest = self.manifest()
        config, results = manifest["config"], manifest["results_summary"]
        self.assertEqual((config["d_model"], config["n_heads"], config["T"]), (8, 1, 3))
        self.assertEqual(config["pe_scheme_compared"], "sinusoidal")
        self.assertLess(results["without_PE_equivariance_max_diff"], 1e-6)
        self.assertGreater(results["with_PE_equivariance_max_diff"], 1e-3)
        # The example by hand: softmax of (1, 0, 1) times X.
        self.assertIn("1  0.8446  0.5777\n2  0.5777  0.8446\n3  0.7881  0.7881\n", printed)
        self.assertIn("3  0.7881  0.7881\n2  0.5777  0.8446\n1  0.8446  0.5777\n", printed)

    def test_equivariance_with_other_tokens_and_width(self):
        self.lab("equivariance", "--tokens", "I work you work", "--dim", "16")
        config = self.manifest()["config"]
        self.assertEqual((config["T"], config["d_model"]), (4, 16))
        self.assertEqual(config["permutation"], [3, 0, 1, 2])
        self.assertIn('--tokens "I work you work" --dim 16', self.text("README.md"))

    def test_sinusoidal_dot_products(self):
        printed = self.lab("sinusoidal")
        results = self.manifest()["results_summary"]
        self.assertAlmostEqual(results["PE0_dot_PE1"], 1.5402523, places=7)
        self.assertAlmostEqual(results["PE5_dot_PE6"], 1.5402523, places=7)
        self.assertAlmostEqual(results["PE0_dot_PE5"], 1.2824124, places=7)
        self.assertIn("-0.989992   0.141120", printed)
        self.assertLess(results["linear_shift_max_error"], 1e-9)

    def test_alibi_rules_agree_for_eight_heads_only(self):
        self.lab("alibi")
        results = self.manifest()["results_summary"]
        self.assertEqual(results["head_counts_where_rules_agree"], [8])
        self.assertEqual(results["slopes_paper"], [2.0 ** -h for h in range(1, 9)])
        self.assertEqual(results["slopes_12_heads"][8], 2 ** -0.5)

    def test_matrix_of_properties(self):
        self.lab("properties")
        matrix = self.manifest()["results_summary"]["matrix"]
        self.assertEqual(len(matrix), 13)
        self.assertTrue(all(matrix["sinusoidal"].values()))
        self.assertFalse(matrix["integer"]["bounded"])
        self.assertFalse(matrix["normalised"]["generalises_to_unseen_lengths"])
        self.assertFalse(matrix["one_hot"]["smooth"])
        self.assertIsNone(matrix["none"]["smooth"])


class LanguageTest(LabTest):
    def test_spanish_story_and_readme(self):
        for name in QUICK:
            with self.subTest(lab=name):
                printed = self.lab(name, "--lang", "es", "--answers", out=name)
                self.check_folder(name, printed, out=name)
                readme = self.text("README.md", name)
                self.assertIn("# Laboratorio: ", readme)
                for heading in ("## Comprobaciones", "## Interpretación",
                                "## Preguntas y respuestas"):
                    self.assertIn(heading, readme)
                # No English sentence is left, but for quotations of the service.
                self.assertNotRegex(readme, r"\b(the|which|and|without)\b")
                self.assertRegex(printed, r"Las \d+ comprobaciones se cumplen\.")

    def test_numbers_do_not_depend_on_the_language(self):
        self.lab("rope", out="en")
        self.lab("rope", "--lang", "es", out="es")
        self.assertEqual(self.manifest("en")["results_summary"],
                         self.manifest("es")["results_summary"])

    def test_answers_only_on_request(self):
        self.lab("alibi", out="open")
        self.lab("alibi", "--answers", out="answered")
        self.assertIn("## Open questions", self.text("README.md", "open"))
        self.assertNotIn("Mostly not: the penalty hides it", self.text("README.md", "open"))
        self.assertIn("Mostly not: the penalty hides it", self.text("README.md", "answered"))


class TrainedLabsTest(LabTest):
    def test_ordering(self):
        printed = self.lab("ordering", "--seeds", "1")
        summary = self.check_folder("ordering", printed)
        accuracy = summary["balanced_accuracy"]
        self.assertEqual(accuracy["none"]["4"]["mean"], 0.5)
        for scheme in ("sinusoidal", "learned", "rope", "alibi"):
            self.assertGreater(accuracy[scheme]["4"]["mean"], 0.85)
        self.assertEqual(summary["winner"], "")
        answers = summary["probability_of_sorted"]
        self.assertEqual(set(answers), set(accuracy))
        self.assertLess(answers["rope"]["[3, 1, 4, 2]"], 0.5)
        self.assertGreater(answers["rope"]["[1, 2, 3, 4]"], 0.5)
        # Without positions, both orders of the same numbers look alike.
        self.assertAlmostEqual(answers["none"]["[3, 1, 4, 2]"],
                               answers["none"]["[1, 2, 3, 4]"], places=5)
        self.assertIn("One seed gives no interval", printed)

    def test_failed_assertion_exits_with_1(self):
        # One step teaches nothing, and the lab says so.
        printed = self.lab("ordering", "--seeds", "1", "--steps", "1", code=1)
        summary = self.check_folder("ordering", printed)
        self.assertEqual(summary["failed_assertions"], 1)
        self.assertIn("FAIL  With positions every scheme learns the task", printed)
        self.assertIn("1 of 3 assertions FAILED.", printed)

    def test_extrapolation_is_deterministic(self):
        arguments = ("--seeds", "2", "--steps", "40", "--lang", "es")
        printed = self.lab("extrapolation", *arguments, out="one")
        self.lab("extrapolation", *arguments, out="two")
        self.check_folder("extrapolation", printed, out="one")
        self.assertEqual(contents(self.path("one")), contents(self.path("two")))
        self.assertIn("Recomendación", printed)
        self.assertEqual(self.manifest("one")["results_summary"]["clamped_codes_max_distance"], 0)


class UsageTest(LabTest):
    def fails(self, code, pattern, *arguments):
        result = run("lab", *arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertRegex(result.stderr, pattern)

    def test_list(self):
        result = run("lab")
        self.assertEqual(result.returncode, 0)
        self.assertEqual([line.split()[0] for line in result.stdout.splitlines()],
                         [*QUICK, *TRAINED])
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 80)
        spanish = run("lab", "--lang", "es").stdout
        self.assertIn("la tabla sinusoidal", spanish)
        self.assertLessEqual(max(map(len, spanish.splitlines())), 80)

    def test_mistakes_are_usage_errors(self):
        self.fails(2, 'there is no lab "ropes"; did you mean rope\\?', "ropes")
        self.fails(2, "--lang: is fr; must be en or es", "rope", "--lang", "fr")
        self.fails(2, "--tokens: the lab rope does not use it", "rope", "--tokens", "he works")
        self.fails(2, "--seeds: the lab alibi does not use it", "alibi", "--seeds", "2")
        self.fails(2, "--dim: is 0; must be an integer from 1", "rope", "--dim", "0")
        self.fails(2, "--dim: is 7; must be even", "rope", "--dim", "7", "--out", self.path("o"))
        self.fails(2, "--steps: is 0; must be at least 1", "ordering", "--steps", "0")
        self.fails(2, "--tokens: give at least two words", "equivariance", "--tokens", "he")

    def test_folder_that_cannot_be_written_is_reported_first(self):
        path = self.path("file")
        with open(path, "w", encoding="utf-8"):
            pass
        self.fails(1, "file", "ordering", "--out", path)


class CourseFlagsTest(LabTest):
    """`attend --permute`, `encode --gram` and `encode --shift-matrix`."""

    def ok(self, *arguments):
        result = run(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_permute(self):
        words = ("--tokens", "he work I", "--dim", "8", "--permute", "2,0,1")
        self.assertIn("The layer is equivariant", self.ok("attend", "--scheme", "none", *words))
        text = self.ok("attend", "--scheme", "sinusoidal", *words)
        self.assertIn("The layer is not equivariant", text)
        document = json.loads(self.ok("attend", "--scheme", "none", *words, "--json"))
        self.assertEqual(document["permutation"]["order"], [2, 0, 1])
        self.assertTrue(document["permutation"]["equivariant"])
        self.assertEqual(document["permutation"]["permuted_y"][0],
                         document["permutation"]["y"][2])

    def test_gram(self):
        text = self.ok("encode", "--scheme", "sinusoidal", "--dim", "4", "--positions", "0,1,5,6",
                       "--gram")
        self.assertIn("0  2.0000000  1.5402523  1.2824124  1.9583708\n", text)
        self.assertIn("cosines of the codes", text)

    def test_shift_matrix(self):
        for scheme in ("sinusoidal", "sinusoidal { layout: HALVES }", "rope", "xpos",
                       "rope { yarn { factor: 4 original_length: 64 } }"):
            document = json.loads(self.ok("encode", "--scheme", scheme, "--dim", "8",
                                          "--positions", "0:20", "--shift-matrix", "3", "--json"))
            self.assertLess(document["shift_matrix"]["max_error"], 1e-12, scheme)
            self.assertEqual(len(document["shift_matrix"]["blocks"]), 4)

    def test_mistakes_are_usage_errors(self):
        for pattern, arguments in (
                ("--permute: has 3 numbers for 2 tokens",
                 ("attend", "--scheme", "none", "--tokens", "a b", "--permute", "2,0,1")),
                ("--permute: is 1,1; give every number",
                 ("attend", "--scheme", "none", "--tokens", "a b", "--permute", "1,1")),
                ("--gram: needs a scheme with a code",
                 ("encode", "--scheme", "alibi", "--heads", "2", "--gram")),
                ("--shift-matrix: needs a scheme of sines",
                 ("encode", "--scheme", "learned", "--dim", "4", "--shift-matrix", "1")),
                ("--shift-matrix: is -1, which moves position 0",
                 ("encode", "--scheme", "rope", "--dim", "4", "--shift-matrix", "-1")),
                ("give either --gram or --shift-matrix",
                 ("encode", "--scheme", "rope", "--dim", "4", "--gram", "--shift-matrix", "1"))):
            result = run(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertRegex(result.stderr, pattern)


if __name__ == "__main__":
    unittest.main()
