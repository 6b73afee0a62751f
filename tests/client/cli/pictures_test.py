"""Opens the pictures of `locus plot` and `locus explain --plot` in Chromium, in light and dark mode:
no two texts overlap, no text leaves the canvas, and nothing is fetched from the network.

Usage: pictures_test.py LOCUS SCREENSHOTS
"""

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
PLOTS = {
    "heatmap": ["heatmap", "--scheme", "sinusoidal", "--dim", "128"],
    "similarity": ["similarity", "--scheme", "rope", "--positions", "0:256"],
    "waveforms": ["waveforms", "--scheme", "sinusoidal", "--channels", "0,1,10,20,50"],
    "bias_alibi": ["bias", "--scheme", "alibi { symmetric: true }", "--heads", "8"],
    "attention": ["attention", "--scheme", "rope", "--tokens", "the cat sat on the mat"],
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
        files = []
        for name, arguments in PLOTS.items():
            files.append(self.folder / f"{name}.svg")
            locus("plot", *arguments, "--out", files[-1])
        results = browser.run_script("check_svgs.mjs", SCREENSHOTS, *files)
        self.assertEqual(len(results), 2 * len(files))
        for result in results:
            with self.subTest(picture=result["file"], theme=result["theme"]):
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
