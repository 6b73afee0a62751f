"""End-to-end tests of `locus explain`.

    explain_test.py LOCUS
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

LOCUS = sys.argv[1]
LLAMA = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 8, "max_position_embeddings": 4096, "vocab_size": 32000}
LLAMA31 = {**LLAMA, "max_position_embeddings": 131072, "rope_theta": 500000.0,
           "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                            "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}}


def run(*arguments):
    return subprocess.run([LOCUS, *arguments], capture_output=True, text=True, timeout=120)


class ExplainTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def ok(self, *arguments):
        """Standard output and standard error of a successful command."""
        result = run(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout, result.stderr

    def fails(self, pattern, *arguments):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        self.assertRegex(result.stderr, pattern)

    def config(self, fields):
        with open(self.path("config.json"), "w", encoding="utf-8") as file:
            json.dump(fields, file)
        return self.path("config.json")

    def explained(self, scheme, *flags):
        return json.loads(self.ok("explain", "--scheme", scheme, "--json", *flags)[0])

    def test_wavelengths_and_turns_of_a_rotation(self):
        found = self.explained("rope { base: 100 linear { factor: 2 } }", "--dim", "4", "--trained",
                               "50", "--target", "100")
        for pair, w in zip(found["pairs"], (1, 0.1)):
            self.assertAlmostEqual(pair["unscaled_frequency"], w, places=12)
            self.assertAlmostEqual(pair["wavelength"], 4 * math.pi / w, places=9)
            self.assertAlmostEqual(pair["trained_turns"], 50 * w / (2 * math.pi), places=12)
            self.assertAlmostEqual(pair["target_turns"], 50 * w / (2 * math.pi), places=12)
        self.assertEqual(found["never_completed"], [1])

    def test_target_length_is_trained_length_times_factor(self):
        for scaling in ("linear", "ntk", "proportional"):
            found = self.explained(f"rope {{ {scaling} {{ factor: 4 }} }}", "--dim", "16",
                                   "--trained", "512")
            self.assertEqual((found["trained_length"], found["target_length"]), (512, 2048))

    def test_ramp_does_not_depend_on_the_length_flags(self):
        scheme = "rope { yarn { factor: 4 original_length: 4096 } }"
        ramp = [pair["ramp"] for pair in self.explained(scheme, "--dim", "16")["pairs"]]
        self.assertEqual(ramp, [0, 0, 0, 0.25, 0.5, 0.75, 1, 1])
        for flags in (("--trained", "100"), ("--target", "5000"),
                      ("--trained", "100", "--target", "150")):
            found = self.explained(scheme, "--dim", "16", *flags)
            self.assertEqual([pair["ramp"] for pair in found["pairs"]], ramp, flags)

    def test_length_dependent_scalings_are_shown_at_the_target_length(self):
        found = self.explained("rope { dynamic_ntk { factor: 4 max_position: 64 } }", "--dim", "16")
        self.assertEqual(found["target_length"], 256)
        base = 10000 * (4 * 256 / 64 - 3) ** (16 / 14)
        for k, pair in enumerate(found["pairs"]):
            self.assertAlmostEqual(pair["frequency"] * base ** (k / 8), 1, places=12)
            self.assertAlmostEqual(pair["target_turns"],
                                   256 * pair["frequency"] / (2 * math.pi), places=12)
        found = self.explained("rope { longrope { factor: 32 original_length: 512 long_factors: 2 "
                               "long_factors: 64 } }", "--dim", "4")
        self.assertAlmostEqual(found["pairs"][1]["stretched"], 64, places=9)

    def test_pairs_without_rotation_are_counted_separately(self):
        text, _ = self.ok("explain", "--scheme", "rope { base: 10 proportional { share: 0.5 } }",
                          "--dim", "8", "--trained", "4096")
        self.assertIn("2 of 4 pairs (0 to 1) complete a turn in training", text)
        self.assertIn("2 of 4 pairs (2 to 3) do not rotate", text)

    def test_configuration_sets_the_lengths(self):
        path = self.config(LLAMA31)
        found = json.loads(self.ok("explain", "--hf-config", path, "--json")[0])
        self.assertEqual((found["trained_length"], found["target_length"]), (8192, 131072))
        path = self.config(LLAMA)
        found = json.loads(self.ok("explain", "--hf-config", path, "--json")[0])
        self.assertEqual((found["trained_length"], found["target_length"]), (4096, 4096))

    def test_llama_31_is_safe_up_to_half_of_its_target(self):
        path = self.config(LLAMA31)
        text, _ = self.ok("explain", "--hf-config", path)
        self.assertIn("Verdict: not safe at 131072 tokens. 29 of 64 pairs (35 to 63) reach 2 times"
                      "\ntheir trained angles.\n- Safe up to 65536 tokens", text)
        self.assertNotIn("e+0", text)
        found = json.loads(self.ok("explain", "--hf-config", path, "--json")[0])
        self.assertEqual(found["verdict"]["safe_length"], 65536)
        self.assertEqual(found["verdict"]["beyond"], list(range(35, 64)))
        self.assertAlmostEqual(found["verdict"]["max_reach"], 2, places=12)

    def test_verdict_of_yarn_is_safe_at_its_target(self):
        text, _ = self.ok("explain", "--scheme", "rope { yarn { factor: 4 } }", "--dim", "16")
        self.assertIn("Verdict: safe at 8192 tokens.", text)
        self.assertIn("2 of 8 pairs (6 to 7) complete no turn in training; stretched by 4, they "
                      "stay\n  within trained angles at 8192.", text)

    def test_safe_length_of_every_scaling(self):
        """Compares with the definition: the longest call whose slow pairs, which complete no turn
        in training, stay within trained angles."""
        dim, trained = 64, 2048
        slow = [k for k in range(dim // 2) if trained * 10000 ** (-2 * k / dim) < 2 * math.pi]

        def ntk(growth, k):
            return (10000 * growth ** (dim / (dim - 2))) ** (-2 * k / dim)

        def dynamic(n, k):
            return ntk(4 * max(n, trained) / trained - 3, k)

        factors = [2 + k / 8 for k in range(dim // 2)]
        plain = [10000 ** (-2 * k / dim) for k in range(dim // 2)]
        scalings = {
            "": lambda n, k: plain[k],
            "linear { factor: 4 }": lambda n, k: plain[k] / 4,
            "ntk { factor: 4 }": lambda n, k: ntk(4, k),
            "dynamic_ntk { factor: 4 }": dynamic,
            "yarn { factor: 4 }": lambda n, k: plain[k] / 4,
            "llama3 { factor: 4 original_length: 2048 }": lambda n, k: plain[k] / 4,
            "longrope { factor: 4 " + " ".join(f"long_factors: {f}" for f in factors) + " }":
                lambda n, k: plain[k] / (factors[k] if n > trained else 1),
            "proportional { factor: 3 share: 1 }": lambda n, k: plain[k] / 3,
        }
        for scaling, frequency in scalings.items():
            found = self.explained(f"rope {{ {scaling} }}", "--dim", str(dim), "--trained",
                                   str(trained))["verdict"]["safe_length"]
            for length, is_safe in ((found, True), (found + max(1, found // 1000), False)):
                reach = max(length * frequency(length, k) / (trained * plain[k]) for k in slow)
                self.assertEqual(reach <= 1 + 1e-6, is_safe, (scaling, length))
        found = self.explained("rope { proportional { share: 0.5 } }", "--dim", "64", "--trained",
                               "2048")["verdict"]
        self.assertEqual((found["safe"], found["safe_length"]), (True, None))

    def test_verdict_of_biases_past_the_trained_length(self):
        for scheme, kind in (("alibi", "heads_below"), ("kerple", "heads_below"),
                             ("t5_bias", "heads_within"), ("fire", "heads_within"),
                             ("sandwich", "heads_below")):
            found = self.explained(scheme, "--heads", "4", "--trained", "1024")["verdict"]
            self.assertEqual(found[kind], [0, 1, 2, 3], scheme)
            self.assertEqual(found["target_length"], 4096)
            text, _ = self.ok("explain", "--scheme", scheme, "--heads", "4")
            self.assertIn("Verdict: past the trained length, ", text)

    def test_output_fits_80_columns(self):
        schemes = ("rope { yarn { factor: 4 } }", "rope { longrope { factor: 4 original_length: "
                   "1024 long_factors: 1.12345 long_factors: 2.34567 } }", "xpos", "sinusoidal",
                   "learned", "alibi", "t5_bias", "kerple", "fire", "sandwich")
        rotations_and_tables = ("rope", "xpos", "sinusoidal", "learned")
        for scheme in schemes:
            for flags in ((), ("--trained", "262144", "--target", "16777216"),
                          ("--length", "70000")):
                heads = () if scheme.startswith(rotations_and_tables) else ("--heads", "16")
                text, _ = self.ok("explain", "--scheme", scheme, *heads, *flags)
                self.assertLessEqual(max(map(len, text.splitlines())), 80, (scheme, flags))

    def test_decay_per_pair_and_parameters_per_head(self):
        found = self.explained("xpos", "--dim", "4")
        for k, pair in enumerate(found["pairs"]):
            self.assertAlmostEqual(pair["decay"], ((2 * k + 1.6) / 5.6) ** (1 / 512), places=14)
        found = self.explained("kerple { p: 0.5 p: 1 a: 2 a: 3 }")
        self.assertEqual((found["p"], found["a"]), ([0.5, 1], [2, 3]))
        self.assertAlmostEqual(found["bias"][1][1], -math.log(4), places=12)
        for scheme in ("fire", "sandwich"):
            found = self.explained(scheme, "--heads", "2", "--length", "100")
            self.assertEqual(found["distances"], [0, 1, 4, 16, 64, 99])
            self.assertEqual([len(head) for head in found["bias"]], [6, 6])

    def test_wavelengths_and_turns_of_a_table(self):
        for layout, frequencies in (("INTERLEAVED", (1, 0.1)), ("HALVES", (1, 0.1)),
                                    ("TENSOR2TENSOR", (1, 0.01))):
            found = self.explained(f"sinusoidal {{ base: 100 layout: {layout} }}", "--dim", "4",
                                   "--trained", "50", "--target", "200")
            for pair, w in zip(found["pairs"], frequencies):
                self.assertAlmostEqual(pair["frequency"], w, places=12)
                self.assertAlmostEqual(pair["wavelength"], 2 * math.pi / w, places=9)
                self.assertAlmostEqual(pair["trained_turns"], 50 * w / (2 * math.pi), places=12)
                self.assertAlmostEqual(pair["target_turns"], 200 * w / (2 * math.pi), places=12)
            self.assertEqual(found["never_completed"], [1])
        text, _ = self.ok("explain", "--scheme", "sinusoidal", "--dim", "8", "--trained", "512")
        self.assertIn("2 of 4 pairs (2 to 3) complete no turn in training", text)
        self.assertNotIn("attention factor", text)

    def test_learned_table_length_and_policy(self):
        found = self.explained("learned { max_length: 100 policy: WRAP }", "--dim", "4",
                               "--trained", "60")
        self.assertEqual(found.pop("verdict")["safe_length"], 60)
        self.assertEqual(found, {"table_length": 100, "policy": "WRAP", "trained_length": 60,
                                 "untrained_rows": 40})
        text, _ = self.ok("explain", "--scheme", "learned { max_length: 300 }", "--dim", "4")
        self.assertIn("300 rows", text)
        self.assertIn("ERROR", text)

    def test_slopes_and_buckets(self):
        self.assertEqual(self.explained("alibi", "--heads", "4")["slopes"],
                         [2.0 ** -2, 2.0 ** -4, 2.0 ** -6, 2.0 ** -8])
        edges = self.explained("t5_bias { bidirectional: true }", "--heads", "2")["bucket_edges"]
        self.assertEqual(edges, [*range(1, 9), 12, 16, 23, 32, 46, 64, 91])

    def test_every_scheme_except_none_has_a_chart(self):
        listed = json.loads(self.ok("schemes", "--json")[0])["schemes"]
        acting = [scheme["name"] for scheme in listed
                  if scheme["acts_on"] != "SCHEME_SITE_NOWHERE"]
        self.assertGreaterEqual(len(acting), 9)
        for scheme in acting:
            for suffix in ("svg", "png"):
                chart = self.path(f"chart.{suffix}")
                self.ok("explain", "--scheme", scheme, "--plot", chart)
                with open(chart, "rb") as file:
                    start = file.read(200)
                self.assertTrue(start.startswith(b"\x89PNG") if suffix == "png"
                                else b"<svg" in start, scheme)
        self.fails("none", "explain", "--scheme", "none")

    def test_chart_names_the_scheme_the_lengths_and_the_command(self):
        chart = self.path("chart.svg")
        self.ok("explain", "rope { yarn { factor: 4 } }", "--dim", "16", "--plot", chart)
        with open(chart, encoding="utf-8") as file:
            picture = file.read()
        self.assertIn("yarn ×4 of 2048 (dim 16)", picture)
        self.assertIn("8192", picture)
        self.assertIn("locus explain", picture)

    def test_flags_that_would_have_no_effect_are_rejected(self):
        self.fails("--theme needs --plot", "explain", "rope", "--theme", "dark")
        self.fails("standard output", "explain", "rope", "--json", "--plot", "-")

    def test_sizes_of_a_configuration_are_named(self):
        text, _ = self.ok("explain", self.config(LLAMA31))
        self.assertTrue(text.startswith("rope (dim 128 from config.json)\n\n"), text[:80])
        text, _ = self.ok("explain", self.config(LLAMA31), "--dim", "64")
        self.assertTrue(text.startswith("Turns "), text[:80])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
