"""End-to-end tests of `locus schemes`, `hf-config` and `convert-layout`.

    scheme_tools_test.py LOCUS
"""

import array
import ast
import itertools
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

LOCUS = sys.argv[1]
ROOT = pathlib.Path(__file__).resolve().parents[3]
HALVES = "layout: ROPE_LAYOUT_HALF_SPLIT"
LLAMA = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 8, "max_position_embeddings": 4096, "vocab_size": 32000}
# Each scaling type as published in a config.json, and the equivalent scheme parameters.
SCALINGS = (
    ({"rope_type": "default"}, ""),
    ({"rope_type": "linear", "factor": 2.0}, " linear { factor: 2 }"),
    ({"rope_type": "ntk", "factor": 2.5}, " ntk { factor: 2.5 }"),
    ({"rope_type": "dynamic", "factor": 4.0},
     " dynamic_ntk { factor: 4 max_position: 4096 }"),
    ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024,
      "beta_fast": 24.0, "beta_slow": 2.0, "mscale": 0.5, "mscale_all_dim": 0.25,
      "truncate": False},
     " yarn { factor: 4 original_length: 1024 beta_fast: 24 beta_slow: 2 truncate: false "
     "mscale: 0.5 mscale_all_dim: 0.25 }"),
    ({"rope_type": "yarn", "factor": 4.0, "attention_factor": 1.25},
     " yarn { factor: 4 original_length: 4096 attention_factor: 1.25 }"),
    ({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
      "original_max_position_embeddings": 512},
     " llama3 { factor: 8 low_freq_factor: 1 high_freq_factor: 4 original_length: 512 }"),
    ({"rope_type": "longrope", "factor": 4.0, "original_max_position_embeddings": 1024,
      "short_factor": [1.0] * 2, "long_factor": [2.0, 3.0]},
     " longrope { factor: 4 original_length: 1024 short_factors: 1 short_factors: 1 "
     "long_factors: 2 long_factors: 3 }"),
    ({"rope_type": "proportional", "factor": 2.0, "partial_rotary_factor": 0.25},
     " proportional { share: 0.25 factor: 2 }"),
)


def run(*arguments):
    # COLUMNS is so large that no table is wrapped.
    return subprocess.run([LOCUS, *arguments], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "COLUMNS": "1000"})


def write_npy(path, shape, values, code):
    write_npy_bytes(path, {"f": "<f4", "d": "<f8"}[code], shape,
                    array.array(code, values).tobytes())


def write_npy_bytes(path, descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(11 + len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little"))
        file.write(header.encode() + data)


def read_npy(path):
    """The shape and the elements of a .npy file."""
    with open(path, "rb") as file:
        content = file.read()
    size = int.from_bytes(content[8:10], "little")
    header = ast.literal_eval(content[10:10 + size].decode())
    code = {"<f4": "f", "<f8": "d"}[header["descr"]]
    return header["shape"], array.array(code, content[10 + size:]).tolist()


class ToolTest(unittest.TestCase):
    """Base class: runs `locus` in a temporary folder."""

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

    def scheme_of(self, fields):
        """The scheme of a config.json as text, and the notes on standard error."""
        out, notes = self.ok("hf-config", "--hf-config", self.config(fields))
        return re.match(r"scheme +(.*?) *\n", out).group(1), notes


class DocumentationTest(ToolTest):
    def test_schemes_page_contains_the_table_of_schemes(self):
        table, _ = self.ok("schemes", "--markdown")
        page = (ROOT / "docs" / "schemes.md").read_text(encoding="utf-8")
        self.assertIn(f"## The schemes\n\n{table}\n", page)


class ReadConfigTest(ToolTest):
    def test_every_scaling_type_in_both_spellings(self):
        for block, meaning in SCALINGS:
            older = {**block, "type": block["rope_type"]}
            del older["rope_type"]
            head = {"head_dim": 4} if "short_factor" in block else {}
            want = f"rope {{ base: 500000 {HALVES}{meaning} }}"
            for fields in ({**LLAMA, **head, "rope_theta": 500000.0, "rope_scaling": block},
                           {**LLAMA, **head, "rope_theta": 500000.0, "rope_scaling": older},
                           {**LLAMA, **head, "rope_parameters": {**block, "rope_theta": 5e5}}):
                with self.subTest(fields):
                    self.assertEqual(self.scheme_of(fields), (want, ""))

    def test_longrope_factor_is_the_ratio_of_lengths(self):
        block = {"type": "longrope", "short_factor": [1.0, 1.0], "long_factor": [2.0, 3.0]}
        scheme, _ = self.scheme_of({**LLAMA, "head_dim": 4, "rope_scaling": block,
                                    "max_position_embeddings": 131072,
                                    "original_max_position_embeddings": 4096})
        self.assertIn("longrope { factor: 32 original_length: 4096 ", scheme)

    def test_partial_rotary_dimension(self):
        for fields in ({"partial_rotary_factor": 0.4, "head_dim": 80},
                       {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4,
                                            "partial_rotary_factor": 0.4}, "head_dim": 80},
                       {"rotary_pct": 0.25}, {"rotary_dim": 32}):
            with self.subTest(fields):
                scheme, _ = self.scheme_of({**LLAMA, **fields})
                self.assertEqual(scheme, f"rope {{ base: 10000 {HALVES} rotary_dim: 32 }}")

    def test_interleaved_layout(self):
        for fields in ({"model_type": "gptj"},
                       {"model_type": "llama4_text", "rope_theta": 1e4,
                        "no_rope_layer_interval": 4},
                       {"rope_interleave": True}):
            with self.subTest(fields):
                scheme, notes = self.scheme_of({**LLAMA, **fields})
                self.assertEqual((scheme, notes),
                                 ("rope { base: 10000 layout: ROPE_LAYOUT_INTERLEAVED }", ""))
        scheme, _ = self.scheme_of({**LLAMA, "model_type": "deepseek_v3",
                                    "rope_interleave": False})
        self.assertEqual(scheme, f"rope {{ base: 10000 {HALVES} }}")

    def test_head_dimension_with_a_separate_rope_projection(self):
        path = self.config({**LLAMA, "model_type": "deepseek_v3", "qk_rope_head_dim": 64,
                            "qk_nope_head_dim": 128})
        out, notes = self.ok("hf-config", "--hf-config", path)
        self.assertRegex(out, r"head dimension +64\n")
        self.assertEqual(notes, "")

    def test_alibi_in_every_spelling(self):
        for fields, want in (({"model_type": "bloom"}, "alibi { }"), ({"alibi": True}, "alibi { }"),
                             ({"use_alibi": True}, "alibi { }"),
                             ({"position_embedding_type": "alibi"}, "alibi { }"),
                             ({"attn_config": {"alibi": True, "alibi_bias_max": 16}},
                              "alibi { bias_max: 16 }")):
            with self.subTest(fields):
                self.assertEqual(self.scheme_of({"num_attention_heads": 8, **fields}), (want, ""))
        scheme, _ = self.scheme_of({**LLAMA, "alibi": False})
        self.assertTrue(scheme.startswith("rope"))

    def test_unknown_fields_are_reported(self):
        _, notes = self.scheme_of({**LLAMA, "no_rope_layers": [0, 1], "rope_local_base_freq": 1e4,
                                   "rope_scaling": {"type": "linear", "factor": 2, "wobble": 1}})
        for name in ("no_rope_layers", "rope_local_base_freq", "rope_scaling.wobble"):
            self.assertIn(f"not understood: {name}\n", notes)
        self.assertEqual(notes.count("\n"), 3)

    def test_invalid_configurations_are_rejected(self):
        for fields, pattern in (({"rope_scaling": {"type": "spiral", "factor": 2}}, "spiral"),
                                ({"rope_scaling": {"type": "linear"}}, "factor is missing"),
                                ({"rope_theta": "much"}, "rope_theta is not a number")):
            self.fails(pattern, "hf-config", "--hf-config", self.config(fields))
        self.fails("cannot read .*missing.json", "hf-config", self.path("missing.json"))

    def test_every_command_accepts_a_configuration_as_its_scheme(self):
        path = self.config({**LLAMA, "hidden_size": 32, "num_attention_heads": 4,
                            "rope_scaling": {"type": "linear", "factor": 2.0}})
        scheme = ("--scheme", f"rope {{ {HALVES} linear {{ factor: 2 }} }}")
        for command in (("encode", "--dim", "8", "--positions", "0:5"),
                        ("attend", "--tokens", "a b c", "--dim", "8"),
                        ("explain", "--dim", "8", "--json", "--trained", "4096"),
                        ("check", "--json"),
                        ("evaluate", "--pattern", "--no-out", "--quiet", "--dim", "16",
                         "--train-length", "8")):
            with self.subTest(command):
                self.assertEqual(self.ok(*command, "--hf-config", path),
                                 self.ok(*command, *scheme))
        # An argument that ends in .json is a configuration, too.
        self.assertEqual(self.ok("encode", path), self.ok("encode", "--hf-config", path))
        # Without a command, the flag behaves like the hf-config command.
        self.assertEqual(self.ok("--hf-config", path), self.ok("hf-config", "--hf-config", path))

    def test_sizes_come_from_the_configuration(self):
        path = self.config({**LLAMA, "hidden_size": 32, "num_attention_heads": 4})
        scheme = f"rope {{ {HALVES} }}"
        found, _ = self.ok("encode", path)
        self.assertEqual(found, "rope (dim 8 from config.json)\n\n"
                         + self.ok("encode", scheme, "--dim", "8")[0])
        found, _ = self.ok("attend", path, "--tokens", "a b c")
        self.assertEqual(found, "rope (dim 8, 4 heads from config.json)\n\n" + self.ok(
            "attend", scheme, "--tokens", "a b c", "--dim", "32", "--heads", "4")[0])
        found, _ = self.ok("attend", path, "--tokens", "a b c", "--heads", "2")
        self.assertEqual(found, "rope (dim 8 from config.json)\n\n" + self.ok(
            "attend", scheme, "--tokens", "a b c", "--dim", "16", "--heads", "2")[0])
        picture = self.path("p.svg")
        found, _ = self.ok("plot", "waveforms", path, "--out", picture)
        self.assertEqual(found, f"wrote {picture} (dim 8 from config.json)\n")
        with open(picture, encoding="utf-8") as file:
            by_configuration = file.read()
        self.ok("plot", "waveforms", scheme, "--dim", "8", "--out", picture)
        with open(picture, encoding="utf-8") as file:
            self.assertEqual(file.read(), by_configuration)

    def test_width_of_a_table_is_the_width_of_the_embeddings(self):
        path = self.config({"model_type": "gpt2", "n_embd": 48, "n_head": 4, "n_positions": 16})
        found, _ = self.ok("encode", path, "--positions", "0:2")
        self.assertIn("learned (dim 48 from config.json)", found)
        self.assertIn("table  float32 [2, 48]", found)

    def test_heads_of_a_layer_keep_their_width(self):
        path = self.config({**LLAMA, "hidden_size": 32, "num_attention_heads": 4})
        write_npy(self.path("x.npy"), (2, 16), [0.5] * 32, "f")
        found, _ = self.ok("attend", path, "--x", self.path("x.npy"), "--return-weights")
        self.assertIn("attention  float32 [2, 2, 2]", found)
        write_npy(self.path("x.npy"), (2, 12), [0.5] * 24, "f")
        self.fails("--x: has width 12, which is no multiple of the head dimension 8 of config.json",
                   "attend", path, "--x", self.path("x.npy"))

    def test_json_contains_scheme_sizes_and_notes(self):
        out, _ = self.ok("hf-config", self.config({**LLAMA, "rope_theta": 5e5, "rope_wobble": 1}),
                         "--json")
        document = json.loads(out)
        self.assertEqual(document["file"], "config.json")
        self.assertEqual(document["scheme"]["rope"]["base"], 500000)
        self.assertIn("rope { base: 500000", document["scheme_text"])
        self.assertEqual([document[name] for name in ("head_dim", "head_count", "embedding_dim",
                                                      "trained_length")], [128, 32, 4096, 4096])
        self.assertEqual(document["notes"], ["not understood: rope_wobble"])
        self.fails("--dim needs a scheme", "hf-config", self.path("config.json"), "--dim", "4")

    def test_per_layer_schemes_need_enough_layers(self):
        path = self.config({**LLAMA, "model_type": "smollm3", "rope_theta": 1e4,
                            "no_rope_layer_interval": 2})
        out, notes = self.ok("hf-config", "--hf-config", path)
        self.assertRegex(out, r"with layers +rope .* layers { period: 2 }")
        self.assertEqual(notes, "")
        common = ("evaluate", "--no-out", "--quiet", "--task", "copy", "--steps", "2",
                  "--dim", "16", "--heads", "2", "--train-length", "8", "--json")
        kept, notes = self.ok(*common, "--layers", "2", "--hf-config", path)
        self.assertEqual(notes, "")
        self.assertIn("layers", kept)
        _, notes = self.ok(*common, "--hf-config", path)
        self.assertIn("layers alternate with period 2", notes)


class WriteConfigTest(ToolTest):
    def written(self, scheme, *flags):
        out, notes = self.ok("hf-config", "--scheme", scheme, *flags)
        return json.loads(out), notes

    def test_written_configuration_reads_back_as_the_same_scheme(self):
        for _, meaning in SCALINGS:
            scheme = f"rope {{ base: 500000 {HALVES}{meaning} }}"
            with self.subTest(scheme):
                fields, notes = self.written(scheme)
                if " ntk " not in scheme:
                    self.assertEqual(notes, "")
                self.assertEqual(self.scheme_of({"head_dim": 4, **fields}), (scheme, ""))

    def test_defaults_are_written_out(self):
        for name, factor in (("linear", 1), ("ntk", 1), ("dynamic_ntk", 1), ("yarn", 1),
                             ("llama3", 8), ("proportional", 1)):
            fields, _ = self.written(f"rope {{ {HALVES} {name} {{}} }}")
            self.assertEqual(fields["rope_scaling"]["factor"], factor, name)

    def test_partial_rotary_factor_reproduces_the_rotary_dimension(self):
        for head_dim in (48, 80, 96, 112, 192, 256):
            for rotary_dim in range(2, head_dim, 2):
                share = rotary_dim / head_dim
                if int(head_dim * share) == rotary_dim and rotary_dim % 10:
                    continue  # keep the cases that round down, and a sample of the others
                fields, _ = self.written(f"rope {{ {HALVES} rotary_dim: {rotary_dim} }}",
                                         "--dim", str(head_dim))
                self.assertEqual(int(head_dim * fields["partial_rotary_factor"]), rotary_dim)

    def test_unwritten_parameters_are_reported(self):
        for scheme, word in (("rope", "layout"), ("rope { layout: INTERLEAVED }", "layout"),
                             (f"rope {{ {HALVES} angles: FLOAT32 }}", "angles"),
                             (f"rope {{ {HALVES} longrope {{}} }}", "a list of factors of longrope"),
                             ("t5_bias { bidirectional: true }", "bidirectional"),
                             ("alibi { symmetric: true }", "symmetric")):
            _, notes = self.written(scheme)
            self.assertRegex(notes, rf"^locus: {word} is left out", scheme)

    def test_schemes_without_a_configuration_are_rejected(self):
        for scheme in ("fire", "xpos", "alibi { slopes: 1 }", "alibi { rule: COURSE }",
                       "rope {} randomized {}", "rope {} layers {}", "rope { rotary_dim: 4 }"):
            self.fails("SCHEME: ", "hf-config", "--scheme", scheme)


class ConvertLayoutTest(ToolTest):
    def converted(self, name, shape, values, code, *flags):
        write_npy(self.path("in.npy"), shape, values, code)
        self.ok("convert-layout", *flags, self.path("in.npy"), self.path(name))
        return read_npy(self.path(name))

    def test_half_split_layout_holds_even_then_odd_channels(self):
        shape, values = self.converted("out.npy", (8, 1), range(8), "f", "--to", "half-split",
                                       "--heads", "1")
        self.assertEqual((shape, values), ((8, 1), [0, 2, 4, 6, 1, 3, 5, 7]))
        _, values = self.converted("out.npy", (8, 1), range(8), "f", "--to", "interleaved",
                                   "--heads", "1")
        self.assertEqual(values, [0, 4, 1, 5, 2, 6, 3, 7])

    def test_round_trip_restores_every_shape(self):
        shapes = (((12, 5), ("--heads", "3")), ((5, 12), ("--heads", "2", "--axis", "1")),
                  ((2, 16, 3), ("--heads", "2", "--axis", "1", "--rotary-dim", "4")))
        for code, (shape, flags) in itertools.product("fd", shapes):
            rng = random.Random(1)
            values = array.array(code, [rng.gauss(0, 1) for _ in range(math.prod(shape))]).tolist()
            _, half_split = self.converted("a.npy", shape, values, code, "--to", "half-split",
                                           *flags)
            self.assertNotEqual(half_split, values)
            back = self.converted("b.npy", shape, half_split, code, "--to", "interleaved", *flags)
            self.assertEqual(back, (shape, values))

    def test_negative_axes_count_from_the_end(self):
        flags = ("--to", "half-split", "--heads", "2")
        last = self.converted("a.npy", (3, 8), range(24), "f", *flags, "--axis", "-1")
        self.assertEqual(last, self.converted("b.npy", (3, 8), range(24), "f", *flags,
                                              "--axis", "1"))

    def test_integers_keep_their_type(self):
        for code, descr in (("b", "|i1"), ("B", "|u1"), ("h", "<i2"), ("i", "<i4"), ("q", "<i8")):
            values = [*range(8)] if code == "B" else [*range(-4, 4)]
            data = array.array(code, values)
            write_npy_bytes(self.path("in.npy"), descr, (8,), data.tobytes())
            self.ok("convert-layout", "--to", "half-split", "--heads", "1", self.path("in.npy"),
                    self.path("out.npy"))
            with open(self.path("out.npy"), "rb") as file:
                raw = file.read()
            self.assertIn(f"'{descr}'".encode(), raw)
            order = [0, 2, 4, 6, 1, 3, 5, 7]
            self.assertEqual(raw[-len(data.tobytes()):],
                             array.array(code, [values[n] for n in order]).tobytes())

    def test_channels_past_rotary_dim_stay_in_place(self):
        _, values = self.converted("out.npy", (12,), range(12), "f", "--to", "half-split",
                                   "--heads", "2", "--rotary-dim", "4")
        self.assertEqual(values, [0, 2, 1, 3, 4, 5, 6, 8, 7, 9, 10, 11])

    def test_converted_weights_give_the_same_attention(self):
        """Permuted queries and keys with the other layout give the same output."""
        rng = random.Random(2)
        tensors = {name: [rng.gauss(0, 1) for _ in range(2 * 6 * 8)] for name in "qkv"}
        for name, values in tensors.items():
            write_npy(self.path(f"{name}.npy"), (1, 2, 6, 8), values, "d")
        for name in "qk":
            self.ok("convert-layout", "--to", "half-split", "--heads", "1", "--axis", "3",
                    self.path(f"{name}.npy"), self.path(f"{name}.half.npy"))

        def attended(layout, suffix):
            self.ok("attend", "--scheme", f"rope {{ layout: {layout} }}", "--q",
                    self.path(f"q{suffix}"), "--k", self.path(f"k{suffix}"), "--v",
                    self.path("v.npy"), "--output", self.path("y.npy"))
            return read_npy(self.path("y.npy"))[1]

        for a, b in zip(attended("INTERLEAVED", ".npy"), attended("HALF_SPLIT", ".half.npy")):
            self.assertAlmostEqual(a, b, places=12)

    def test_invalid_sizes_are_rejected(self):
        write_npy(self.path("in.npy"), (12, 2), range(24), "f")
        for flags, pattern in ((("--to", "sideways", "--heads", "2"), "--to"),
                               (("--to", "half-split", "--heads", "5"), "--heads"),
                               (("--to", "half-split", "--heads", "4"), "--rotary-dim"),
                               (("--to", "half-split", "--heads", "2", "--axis", "2"), "--axis"),
                               (("--to", "half-split", "--heads", "2", "--axis", "-3"), "--axis")):
            self.fails(pattern, "convert-layout", *flags, self.path("in.npy"), self.path("o.npy"))
        self.assertFalse(os.path.exists(self.path("o.npy")))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
