"""Opens the pictures of `locus plot` and `locus explain --plot` in Chromium: no two texts overlap, no
text leaves the canvas, and nothing is fetched from the network. Screenshots show them in light and
dark mode.

Usage: pictures_test.py LOCUS SCREENSHOTS
"""

import concurrent.futures
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

# Arguments of `locus plot`, by the name of the picture.
WORDS = ("the quick brown fox jumps over the lazy dog and then it runs away from the angry bear "
         "again").split()
YARN = "rope { yarn { factor: 4 } }"
ALIBI = "alibi { symmetric: true }"
PLOTS = {
    "heatmap": ["heatmap", "sinusoidal", "--dim", "128"],
    "heatmap_list": ["heatmap", "sinusoidal", "--positions", "0,7,500,3,1000000007"],
    "similarity": ["similarity", "rope", "--positions", "1000:1050"],
    "similarity_two": ["similarity", "rope", "sinusoidal"],
    "waveforms": ["waveforms", "sinusoidal", "--channels", "0,1,10,20,50"],
    "waveforms_list": ["waveforms", "rope", "--positions", "0,7,500,3"],
    "waveforms_two": ["waveforms", "rope", YARN],
    "triptych": ["triptych", "sinusoidal", "--dim", "128", "--rows", "0:50", "--columns", "0:64"],
    "decay": ["decay", "rope", "sinusoidal", YARN],
    "wavelengths": ["wavelengths", "rope", YARN],
    "clocks": ["clocks", "rope", "--dim", "128", "--trained", "2048", "--target", "8192"],
    "bias_alibi": ["bias", ALIBI, "--heads", "8"],
    "bias_alibi_causal": ["bias", "alibi", "--heads", "5", "--causal"],
    "bias_kerple": ["bias", "kerple"],
    "bias_list": ["bias", "t5_bias { bidirectional: true }", "--positions", "5,3,900"],
    "bias_one_head": ["bias", "sandwich", "--heads", "1"],
    "bias_two": ["bias", ALIBI, "fire"],
    "attention": ["attention", "rope", "--tokens", "the cat sat on the mat"],
    "attention_two": ["attention", "rope", ALIBI, "--tokens", "the cat sat on the mat"],
    "attention_heads": ["attention", "rope", "--tokens", " ".join(WORDS), "--heads", "4"],
    "attention_long": ["attention", "rope", "--tokens", " ".join(11 * WORDS), "--causal"],
}
# Arguments of `locus explain`.
EXPLANATIONS = {
    "explain_rope": ["--scheme", YARN, "--dim", "16"],
    "explain_alibi": ["--scheme", "alibi"],
    "explain_learned": ["--scheme", "learned"],
}

OVERLAPPING = """<svg xmlns="http://www.w3.org/2000/svg" width="100" height="40">
<text x="10" y="20" font-size="12">first</text>
<text x="20" y="22" font-size="12">second</text>
<text x="90" y="20" font-size="12">outside</text>
<text x="10" y="38" font-size="6">alone</text></svg>"""


def locus(*arguments):
    done = subprocess.run([LOCUS, *map(str, arguments)], capture_output=True, text=True,
                          check=False, timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"locus {' '.join(map(str, arguments))}: {done.stderr}")


class PicturesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_texts_neither_overlap_nor_leave_the_canvas(self):
        commands = {}
        for name, arguments in PLOTS.items():
            file = self.folder / f"{name}.svg"
            commands[file] = ["plot", *arguments, "--out", file]
        for name, arguments in EXPLANATIONS.items():
            file = self.folder / f"{name}.svg"
            commands[file] = ["explain", *arguments, "--plot", file]
        with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
            list(pool.map(lambda command: locus(*command), commands.values()))
        results = browser.run_script("check_svgs.mjs", SCREENSHOTS, *commands, timeout=240)
        self.assertEqual(len(results), len(commands))
        for result in results:
            with self.subTest(picture=result["file"]):
                self.assertGreater(result["count"], 3)
                self.assertEqual(result["overlaps"], [])
                self.assertEqual(result["outside"], [])
                self.assertEqual(result["requested"], [])
                self.assertEqual(result["problems"], [])

    def test_faults_are_found(self):
        bad = self.folder / "bad.svg"
        bad.write_text(OVERLAPPING, encoding="utf-8")
        result = browser.run_script("check_svgs.mjs", SCREENSHOTS, bad)[0]
        self.assertEqual(result["overlaps"], [["first", "second"]])
        self.assertEqual(result["outside"], ["outside"])


if __name__ == "__main__":
    LOCUS, SCREENSHOTS = sys.argv[1], sys.argv[2]
    unittest.main(argv=sys.argv[:1])
