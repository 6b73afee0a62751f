"""End-to-end tests of `locus plot`.

    plot_cli_test.py LOCUS
"""

import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

LOCUS = os.path.abspath(sys.argv[1])
SVG = "{http://www.w3.org/2000/svg}"


class PlotTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run_locus(self, *arguments, **options):
        return subprocess.run([LOCUS, *arguments], capture_output=True, text=True, check=False,
                              timeout=120, **options)

    def ok(self, *arguments, **options):
        result = self.run_locus(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def fails(self, code, pattern, *arguments):
        result = self.run_locus(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertRegex(result.stderr, pattern)

    def svg(self, *arguments):
        root = xml.etree.ElementTree.fromstring(self.ok("plot", *arguments, "--out", "-"))
        self.assertEqual(root.tag, SVG + "svg")
        return root

    def texts(self, root):
        return [text.text for text in root.iter(SVG + "text")]

    def test_kinds(self):
        for kind, scheme in (("heatmap", "sinusoidal"), ("heatmap", "learned"),
                             ("similarity", "sinusoidal"), ("similarity", "rope"),
                             ("waveforms", "sinusoidal"), ("waveforms", "rope"),
                             ("bias", "alibi"), ("bias", "t5_bias")):
            root = self.svg(kind, "--scheme", scheme, "--positions", "0:48")
            self.assertTrue(root.find(SVG + "title").text)
            self.assertTrue(root.find(SVG + "desc").text)

    def test_waveforms_choose_distinct_channels(self):
        for dim in ("7", "8", "16", "64"):
            root = self.svg("waveforms", "--scheme", "sinusoidal", "--dim", dim,
                            "--positions", "0:8")
            labels = [text for text in self.texts(root) if text and "channel " in text]
            self.assertEqual(len(set(labels)), 6, labels)

    def test_heads_are_small_multiples(self):
        texts = self.texts(self.svg("bias", "--scheme", "alibi", "--heads", "8"))
        self.assertLessEqual({f"head {i}" for i in range(8)}, set(texts))

    def test_tokens_and_title_are_escaped(self):
        root = self.svg("attention", "--scheme", "rope", "--tokens", "<b> & \"quote\" \x01 été",
                        "--title", "</title><x>")
        texts = self.texts(root)
        self.assertLessEqual({"<b>", "&", "\"quote\"", "été"}, set(texts))
        self.assertEqual(root.find(SVG + "title").text, "</title><x>")

    def test_png(self):
        sizes = []
        for theme in ("light", "dark"):
            path = self.path(theme + ".png")
            self.assertEqual(self.ok("plot", "heatmap", "--scheme", "sinusoidal", "--out", path,
                                     "--theme", theme), f"wrote {path}\n")
            with open(path, "rb") as file:
                content = file.read()
            self.assertEqual(content[:8], b"\x89PNG\r\n\x1a\n")
            sizes.append(struct.unpack(">II", content[16:24]))
        self.assertEqual(sizes[0], sizes[1])

    def test_theme(self):
        fixed = self.ok("plot", "heatmap", "--scheme", "sinusoidal", "--out", "-", "--theme", "dark")
        self.assertNotIn("@media", fixed)
        self.assertIn("@media", self.ok("plot", "heatmap", "--scheme", "sinusoidal", "--out", "-"))

    def test_inapplicable_kind_is_rejected_with_alternatives(self):
        for kind, scheme, pattern in (
                ("bias", "rope", "rope has no score bias; try similarity, waveforms or attention"),
                ("heatmap", "alibi", "alibi has no table of position codes; try bias or attention"),
                ("similarity", "none", "none has no position codes; try attention"),
                ("waveforms", "t5_bias", "t5_bias has no position codes; try bias or attention")):
            self.fails(2, pattern, "plot", kind, "--scheme", scheme, "--out", "-")

    def test_invalid_flags_are_rejected(self):
        for pattern, arguments in (
                ("there is no kind \"heatmpa\"; did you mean heatmap",
                 ("heatmpa", "--scheme", "rope", "--out", "-")),
                ("neither in .svg nor in .png", ("bias", "--scheme", "alibi", "--out", "x.gif")),
                ("--tokens", ("attention", "--scheme", "rope", "--out", "-")),
                ("--theme", ("bias", "--scheme", "alibi", "--out", "-", "--theme", "grey")),
                ("--channels: 99", ("waveforms", "--scheme", "rope", "--channels", "1,99",
                                    "--out", "-")),
                ("a scheme is required", ("bias", "--out", "-")),
                ("--columns: 0:99 is not within 0:64",
                 ("heatmap", "sinusoidal", "--columns", "0:99", "--out", "-")),
                ("--rows: \"3\" must be a range", ("heatmap", "sinusoidal", "--rows", "3")),
                ("the maximum is 8", ("decay", *["rope"] * 9, "--out", "-")),
                ("too many", ("similarity", "--scheme", "rope", "--positions", "0:3000",
                              "--out", "-"))):
            self.fails(2, pattern, "plot", *arguments)

    def test_unwritable_file_is_reported(self):
        self.fails(1, "/nonexistent/x.svg: No such file", "plot", "bias", "--scheme", "alibi",
                   "--out", "/nonexistent/x.svg")

    def test_ticks_are_the_ids_of_a_list(self):
        for kind, scheme in (("heatmap", "sinusoidal"), ("similarity", "rope"),
                             ("bias", "alibi"), ("waveforms", "sinusoidal")):
            texts = self.texts(self.svg(kind, scheme, "--positions", "0,7,500,3"))
            self.assertIn("500", texts, kind)
            self.assertNotIn("2", texts, kind)

    def test_ticks_are_the_ids_of_a_range(self):
        for kind, *scheme in (("heatmap", "sinusoidal", "--dim", "8"), ("similarity", "rope"),
                              ("bias", "alibi"), ("waveforms", "sinusoidal")):
            texts = self.texts(self.svg(kind, *scheme, "--positions", "1000:1050"))
            self.assertIn("1040", texts, kind)
            self.assertNotIn("40", texts, kind)

    def test_heads_of_alibi_have_their_slope_and_scale(self):
        texts = self.texts(self.svg("bias", "alibi", "--heads", "8"))
        self.assertIn("m = 1/64 \u00b7 halves every 44", texts)
        # 127 times 1/2, and 127 times 1/256.
        self.assertLessEqual({"\u221260", "\u22120.4"}, set(texts))
        self.assertEqual(texts.count("key \u2192"), 4)

    def test_bias_says_that_later_keys_share_a_value(self):
        sentence = "Keys after the query all have one bias; causal attention masks them."
        one_sided = "t5_bias { bidirectional: false }"
        note = " ".join(filter(None, self.texts(self.svg("bias", one_sided))[:4]))
        self.assertIn(sentence, note)
        note = " ".join(filter(None, self.texts(self.svg("bias", one_sided, "--causal"))[:4]))
        self.assertIn("Grey: masked keys.", note)

    def test_several_schemes_share_axes(self):
        for kind in ("decay", "wavelengths", "waveforms"):
            texts = self.texts(self.svg(kind, "rope", "rope { yarn { factor: 4 } }"))
            self.assertLessEqual({"rope", "rope, yarn \u00d74 of 2048"}, set(texts), kind)
        texts = self.texts(self.svg("bias", "alibi",
                                    "kerple"))
        self.assertEqual(texts.count("head 0"), 1)

    def test_several_schemes_stand_side_by_side(self):
        texts = self.texts(self.svg("similarity", "rope", "--scheme", "sinusoidal"))
        self.assertLessEqual({"Similarity of positions: rope",
                              "Similarity of positions: sinusoidal"}, set(texts))

    def test_triptych_selects_rows_columns_and_channels(self):
        texts = self.texts(self.svg("triptych", "sinusoidal", "--dim", "128", "--rows", "0:50",
                                    "--columns", "0:64", "--channels", "0,1,10,20,50"))
        self.assertLessEqual({"Table", "Cosine between positions", "channel 50"}, set(texts))

    def test_clocks_say_how_far_pairs_turn(self):
        texts = self.texts(self.svg("clocks", "rope { yarn { factor: 4 } }", "--dim", "16"))
        self.assertIn("pair 7", texts)
        # Stretched by 4, so that the angle at the target length was trained.
        self.assertIn("0.1031 \u2192 0.1031 turns", texts)
        texts = self.texts(self.svg("clocks", "rope", "--dim", "16", "--trained", "2048",
                                    "--target", "8192"))
        self.assertIn("0.1031 \u2192 0.4123 turns", texts)

    def test_subtitle_has_sizes_and_parameters(self):
        for note, arguments in (
                ("dim 64 \u00b7 base 10000 \u00b7 positions 0 to 127", ("heatmap", "sinusoidal")),
                ("dim 32 \u00b7 positions 0 to 7",
                 ("waveforms", "rope { base: 500000 }", "--dim", "32", "--positions", "0:8")),
                ("dim 16 \u00b7 2 heads \u00b7 base 10000 \u00b7 layer of seed 3",
                 ("attention", "rope", "--tokens", "a b", "--dim", "16", "--heads", "2",
                  "--seed", "3"))):
            self.assertIn(note, self.texts(self.svg(*arguments)))

    def test_many_words_have_numbers_and_a_robust_scale(self):
        words = " ".join(f"w{i}" for i in range(200))
        texts = self.texts(self.svg("attention", "rope", "--tokens", words, "--causal"))
        self.assertLessEqual({"0", "100", "180"}, set(texts))
        self.assertNotIn("1.0", texts)
        self.assertRegex(" ".join(filter(None, texts)), "the 99th percentile")

    def test_pictures_contain_their_command(self):
        arguments = ["plot", "heatmap", "sinusoidal", "--positions", "0:4", "--title", "it's"]
        command = "locus plot heatmap sinusoidal --positions 0:4 --title 'it'\\''s' --out "
        root = xml.etree.ElementTree.fromstring(self.ok(*arguments, "--out", "-"))
        self.assertRegex(root.find(SVG + "metadata").text,
                         "^command: " + re.escape(command + "-") + "\nsoftware: locus [0-9.]+$")
        self.assertIn(command + "-", self.texts(root))
        path = self.path("x.png")
        self.ok(*arguments, "--out", path)
        with open(path, "rb") as file:
            self.assertIn(b"tEXtSource\0" + (command + path).encode(), file.read())

    def test_default_file_name(self):
        self.assertEqual(self.ok("plot", "bias", "ALiBi", cwd=self.folder),
                         "wrote alibi-bias.svg\n")
        self.assertEqual(os.listdir(self.folder), ["alibi-bias.svg"])
        self.assertEqual(self.ok("plot", "decay", "rope", "sinusoidal:base=500", cwd=self.folder),
                         "wrote rope-sinusoidal-decay.svg\n")

    def test_flags_that_a_kind_ignores_are_rejected(self):
        for flag, arguments in (("--channels", ("heatmap", "sinusoidal", "--channels", "0,1,2")),
                                ("--tokens", ("heatmap", "sinusoidal", "--tokens", "a b")),
                                ("--heads", ("waveforms", "rope", "--heads", "2")),
                                ("--dim", ("bias", "alibi", "--dim", "8")),
                                ("--positions", ("attention", "rope", "--tokens", "a b", "-p",
                                                 "0:2")),
                                ("--trained", ("decay", "rope", "--trained", "8")),
                                ("--seed", ("heatmap", "learned", "--seed", "1")),
                                ("--window", ("bias", "alibi", "--window", "2"))):
            self.fails(2, f"{flag} does not apply to {arguments[0]}, which uses --", "plot",
                       *arguments, "--out", "-")

    def test_waveforms_of_different_kinds_are_rejected(self):
        self.fails(2, "waveforms of rope and sinusoidal have no common axis", "plot", "waveforms",
                   "rope", "sinusoidal", "--out", "-")

    def test_small_heatmaps_have_values_on_hover(self):
        root = self.svg("heatmap", "sinusoidal", "--positions", "5,900", "--dim", "4")
        hovers = [title.text for title in root.iter(SVG + "title")]
        self.assertIn("position 5, channel 0: \u22120.9589", hovers)



if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
