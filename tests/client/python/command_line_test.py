#!/usr/bin/env python3
"""The package and the command line agree: on the texts of schemes, on results, and on
configurations of models."""

import json
import os
import subprocess
import tempfile
import unittest

import support  # noqa: F401
import numpy as np

import locus
from schemes_test import MALFORMED, SAME, WRONG

LOCUS = os.environ.get("LOCUS", "locus")
LLAMA = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 8, "max_position_embeddings": 131072, "rope_theta": 500000.0,
         "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                          "high_freq_factor": 4.0, "original_max_position_embeddings": 8192},
         "vocab_size": 128256}


def run(*arguments):
    return subprocess.run([LOCUS, *arguments], capture_output=True, text=True, check=False,
                          timeout=60)


def is_accepted(text):
    """Whether the command line parses the scheme."""
    error = run("check", "--scheme", text, "--json").stderr
    return "column" not in error and "names no scheme" not in error


class CommandLineTest(unittest.TestCase):
    def setUp(self):
        if not is_accepted("rope:base=5e5"):
            self.skipTest(f"{LOCUS} does not have the short form of schemes")

    def test_both_accept_the_same_texts(self):
        for text in [text for texts in SAME.values() for text in texts]:
            with self.subTest(text=text):
                self.assertTrue(is_accepted(text))

    def test_both_reject_the_same_texts(self):
        for text in [*WRONG, *MALFORMED]:
            if "\0" in text or len(text) > 1000:
                continue
            with self.subTest(text=text):
                self.assertFalse(is_accepted(text))

    def test_both_mean_the_same_by_a_text(self):
        with locus.connect() as client:
            for text in ("rope:base=500000,yarn.factor=4", "yarn\u00d74 base=500000",
                         "ntk:factor=2",
                         "RoPE { layout: half_split linear { factor: 2 } }"):
                done = run("encode", "--scheme", text, "--dim", "8", "--positions", "0:3", "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                wanted = json.loads(done.stdout)["rotation"]["frequencies"]
                np.testing.assert_allclose(client.encode(text, 3, 8).frequencies, wanted, rtol=1e-6)


class ConfigurationTest(unittest.TestCase):
    def setUp(self):
        if "--json" not in run("hf-config", "--help").stdout:
            self.skipTest(f"{LOCUS} hf-config does not print JSON")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "config.json")
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(LLAMA, file)

    def test_a_configuration_is_read(self):
        config = locus.read_config(self.path)
        self.assertEqual((config.head_dim, config.head_count, config.trained_length,
                          config.target_length), (128, 32, 8192, 131072))
        self.assertEqual(config.scheme, locus.parse_scheme(config.scheme_text))
        self.assertEqual(config.scheme.rope.llama3.factor, 8)

    def test_a_path_is_a_scheme(self):
        with locus.connect() as client:
            encoding = client.encode(self.path, [5], 128)
            same = client.encode(locus.read_config(self.path), [5], 128)
        np.testing.assert_array_equal(encoding.cos, same.cos)
        self.assertEqual(encoding.original_length, 8192)

    def test_mistakes_are_explained(self):
        with self.assertRaisesRegex(locus.SchemeError, "there is no such file"):
            locus.read_config("/nowhere/config.json")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("[]")
        with self.assertRaises(locus.SchemeError):
            locus.read_config(self.path)


if __name__ == "__main__":
    unittest.main()
