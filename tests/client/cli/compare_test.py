"""End-to-end tests of `locus compare`.

    compare_test.py LOCUS
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

LOCUS = sys.argv[1]
LLAMA31 = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
           "num_key_value_heads": 8, "max_position_embeddings": 131072, "rope_theta": 500000.0,
           "vocab_size": 128256,
           "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                            "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}}
YARN = "rope { yarn { factor: 4 } }"


def run(*arguments):
    return subprocess.run([LOCUS, *arguments], capture_output=True, text=True, timeout=120)


class CompareTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def ok(self, *arguments):
        result = run("compare", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def compared(self, *arguments):
        return json.loads(self.ok(*arguments, "--json"))

    def fails(self, pattern, *arguments):
        result = run("compare", *arguments)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, pattern)

    def llama(self):
        path = self.path("llama31.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(LLAMA31, file)
        return path

    def test_ratios_follow_the_formula_of_the_base(self):
        found = self.compared("rope", "rope { base: 500000 }", "--dim", "16")
        self.assertEqual([scheme["name"] for scheme in found["schemes"]],
                         ["rope base=10000", "rope base=500000"])
        for k, ratio in enumerate(found["schemes"][1]["wavelength_ratios"]):
            self.assertAlmostEqual(ratio, 50 ** (k / 8), places=9)

    def test_turns_at_trained_and_target_length_of_a_scaling(self):
        """Plain rope takes the trained length of the scaling."""
        found = self.compared("rope", YARN, "--dim", "16")
        self.assertEqual(found["target_length"], 8192)
        plain, yarn = (scheme["rotation"] for scheme in found["schemes"])
        for rotation in (plain, yarn):
            self.assertEqual(rotation["trained_length"], 2048)
            self.assertAlmostEqual(rotation["pairs"][7]["trained_turns"],
                                   2048 * 10000 ** (-7 / 8) / (2 * math.pi), places=12)
        self.assertEqual(plain["verdict"]["safe_length"], 2048)
        self.assertEqual(yarn["verdict"]["safe_length"], 8192)
        text = self.ok("rope", YARN, "--dim", "16")
        self.assertIn("rope yarn×4  16   2048     8192        safe                ×1.296", text)
        self.assertIn("7     19869  79477        4\n", text)

    def test_target_defaults_to_a_multiple_of_the_trained_length(self):
        self.assertEqual(self.compared("rope", "xpos", "--trained", "512")["target_length"], 2048)
        self.assertEqual(
            self.compared("rope", YARN, "--trained", "512")["target_length"], 2048)
        self.assertEqual(
            self.compared("rope", "xpos", "--trained", "512", "--target", "700")["target_length"],
            700)
        self.assertNotIn("target_length", self.compared("rope", "xpos"))
        self.assertIn("Set --trained", self.ok("rope", "xpos"))

    def test_configurations_and_schemes_in_any_mixture(self):
        text = self.ok(self.llama(), "rope { base: 500000 }", "--hf-config", self.llama())
        self.assertIn("llama31 (1)", text)
        self.assertIn("(dim 128 from llama31.json)", text)
        found = self.compared(self.llama(), "rope { base: 500000 }")
        self.assertEqual([scheme["dim"] for scheme in found["schemes"]], [128, 128])
        self.assertEqual(found["target_length"], 131072)
        llama, rope = (scheme["rotation"]["verdict"] for scheme in found["schemes"])
        self.assertEqual((llama["safe_length"], rope["safe_length"]), (65536, 8192))

    def test_schemes_take_the_layout_of_a_configuration(self):
        """The fast pairs of both are equal. With different layouts, they would turn different
        channels of the random layer."""
        def difference(scheme):
            found = self.compared(self.llama(), scheme, "--tokens", "a b c d")
            return found["attention"]["differences"][0]["largest"]

        self.assertLess(difference("rope { base: 500000 }"), 1e-3)
        self.assertGreater(difference("rope { base: 500000 layout: INTERLEAVED }"), 0.01)
        self.assertIn("Rotations without a layout of their own take that of llama31.json.",
                      self.ok(self.llama(), "rope"))

    def test_differences_of_attention_are_those_of_attend(self):
        words = "to be or not to be"
        found = self.compared("rope", YARN, "--dim", "16", "--tokens", words)["attention"]
        maps = []
        for scheme in ("rope", YARN):
            result = run("attend", "--scheme", scheme, "--tokens", words, "--dim", "16", "--json")
            maps.append(json.loads(result.stdout)["weights"]["data"][0])
        largest = max((abs(b - a), query, key)
                      for query, rows in enumerate(zip(*maps))
                      for key, (a, b) in enumerate(zip(*rows)))
        difference = found["differences"][0]
        self.assertEqual(found["tokens"], words.split())
        self.assertAlmostEqual(difference["largest"], largest[0], places=6)
        self.assertEqual((difference["query"], difference["key"]), largest[1:])

    def test_biases_by_distance(self):
        found = self.compared("alibi", "kerple { p: 1 a: 2 }", "--heads", "1", "--causal",
                              "--length", "17")
        alibi, kerple = (scheme["bias"] for scheme in found["schemes"])
        self.assertEqual(alibi["distances"], [0, 1, 4, 16])
        for n, a, k in zip(alibi["distances"], alibi["heads"][0], kerple["heads"][0]):
            self.assertAlmostEqual(a, -n / 256, places=12)
            self.assertAlmostEqual(k, -math.log(1 + 2 * n), places=12)
        text = self.ok("alibi", "kerple", "--trained", "1024")
        self.assertIn("8 of 8 heads lower", text)
        self.assertIn("2 of 8 heads; --all shows all", text)
        self.assertIn("Bias of head 3", self.ok("alibi", "kerple", "--all"))

    def test_mixed_kinds_compare_their_attention(self):
        text = self.ok("none", "rope", "alibi", "learned", "--trained", "256")
        self.assertIn("act at different sites", text)
        for name in ("rope", "alibi", "learned"):
            self.assertRegex(text, rf"- {name}: 0\.\d+, where ")
        self.assertNotIn("Wavelength", text)

    def test_a_causal_scheme_makes_all_attention_causal(self):
        found = self.compared("rope", "xpos")["attention"]
        self.assertTrue(found["causal"])
        self.assertRegex(self.ok("rope", "xpos"), r"causal because\s+of xpos")
        self.assertFalse(self.compared("rope", "alibi")["attention"]["causal"])

    def test_different_widths_have_no_common_layer(self):
        factors = "rope { longrope { factor: 4 long_factors: 1 long_factors: 4 } }"
        text = self.ok("rope { rotary_dim: 4 }", factors)
        self.assertIn("Attention is not compared: the schemes have widths of 64 and 4;",
                      text.replace("\n", " "))
        self.assertNotIn("not compared", self.ok("rope", factors, "--dim", "4"))

    def test_one_picture_of_all_schemes(self):
        cases = {"waves": ("rope", YARN), "biases": ("alibi", "kerple", "sandwich"),
                 "mixed": ("none", "rope", "alibi")}
        labels = {"waves": "positions for a turn", "biases": ">bias<", "mixed": "mean weight"}
        for name, schemes in cases.items():
            svg = self.path(f"{name}.svg")
            text = self.ok(*schemes, "-o", svg)
            self.assertTrue(text.endswith(f"wrote {svg}\n"))
            with open(svg, encoding="utf-8") as file:
                picture = file.read()
            self.assertIn(labels[name], picture)
            self.assertIn("locus compare " + schemes[0], picture)
            self.assertIn(f">{schemes[0]}<", picture)
            self.ok(*schemes, "--out", self.path(f"{name}.png"), "--theme", "dark")
            with open(self.path(f"{name}.png"), "rb") as file:
                self.assertTrue(file.read(8).startswith(b"\x89PNG"))
        self.assertIn("<svg", self.ok("rope", YARN, "-o", "-"))

    def test_output_fits_80_columns(self):
        llama = self.llama()
        cases = (("rope", YARN, "--trained", "4096"),
                 (llama, "rope", "xpos", "sinusoidal", "rope { linear { factor: 8 } }",
                  "rope { ntk { factor: 8 } }", "rope { dynamic_ntk { factor: 8 } }", YARN),
                 ("alibi", "kerple", "t5_bias", "fire", "sandwich", "--trained", "512"),
                 ("none", "rope", "alibi", "learned", "--tokens", "word " * 40))
        for case in cases:
            for flags in ((), ("--all",)):
                text = self.ok(*case, *flags)
                self.assertLessEqual(max(map(len, text.splitlines())), 80, case)

    def test_usage_errors_come_before_any_output(self):
        self.fails("give 2 to 8 schemes", "rope")
        self.fails("give 2 to 8 schemes", *["rope"] * 9)
        self.fails("no words", "rope", "alibi", "--tokens", " ")
        self.fails("--out", "rope", "alibi", "-o", self.path("chart.gif"))
        self.fails("--theme", "rope", "alibi", "--theme", "pink", "-o", self.path("chart.svg"))
        self.fails("--theme needs --out", "rope", "alibi", "--theme", "dark")
        self.fails("standard output", "rope", "alibi", "--json", "-o", "-")
        self.fails("ropes", "rope", "ropes")
        self.fails("--length", "rope", "alibi", "--length", "0")
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
