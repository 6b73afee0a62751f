"""End-to-end tests of the command line: its output, files and exit codes.

    cli_test.py LOCUS LOCUSD VERSION
"""

import array
import ast
import contextlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

LOCUS, LOCUSD, VERSION = sys.argv[1:4]
COMMANDS = ("schemes", "encode", "attend", "check", "evaluate", "plot", "explain", "compare",
            "lab", "hf-config", "convert-layout", "load", "health", "version", "completion", "manual",
            "help")
# No server listens on this port.
NOWHERE = "127.0.0.1:1"


def run(*arguments, **options):
    options.setdefault("timeout", 120)
    return subprocess.run([LOCUS, *arguments], capture_output=True, text=True, **options)


def write_npy(path, shape, values, code="f", descr="<f4"):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(11 + len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little"))
        file.write(header.encode() + array.array(code, values).tobytes())


def parse_npy(content):
    size = int.from_bytes(content[8:10], "little")
    header = ast.literal_eval(content[10:10 + size].decode())
    code = {"<f4": "f", "<f8": "d", "<i8": "q"}.get(header["descr"], "B")
    return header["descr"], header["shape"], array.array(code, content[10 + size:])


def read_npy(path):
    with open(path, "rb") as file:
        return parse_npy(file.read())


class CliTest(unittest.TestCase):
    """Base class: runs `locus` in a temporary folder and checks its exit code."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def ok(self, *arguments, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"\A(locus: wrote [^\n]*\n)?\Z")
        return result.stdout

    def fails(self, code, pattern, *arguments, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        # One line, which indented lines may illustrate.
        self.assertRegex(result.stderr, r"\Alocus: [^\n]*\n(  [^\n]*\n)*\Z")
        self.assertRegex(result.stderr, pattern)

    def input(self, name, *shape):
        values = [((7 * i) % 11 - 5) / 4 for i in range(math.prod(shape))]
        write_npy(self.path(name), shape, values)
        return self.path(name)


class HelpTest(CliTest):
    def test_every_command_has_help_with_examples(self):
        for command in ((), *((name,) for name in COMMANDS)):
            text = self.ok(*command, "--help")
            self.assertIn("Examples:\n  locus ", text)

    def test_help_lists_every_command(self):
        text = self.ok("--help")
        for command in COMMANDS:
            self.assertRegex(text, rf"(?m)^  {command} ")

    def test_program_alone_prints_its_help(self):
        for arguments in ((), ("help",)):
            self.assertEqual(self.ok(*arguments), self.ok("--help"))

    def test_help_command_prints_the_help_of_a_command(self):
        for command in (("attend",), ("load", "compare")):
            self.assertEqual(self.ok("help", *command), self.ok(*command, "--help"))
        self.fails(2, "there is no help on \"atend\"; did you mean attend", "help", "atend")

    def test_connection_flags_are_described_once(self):
        line = "Connection: --server, --timeout, TLS and tokens; see `locus help connection`\n"
        text = self.ok("schemes", "--help")
        self.assertIn(line, text)
        self.assertNotIn("--token-file", text)
        self.assertRegex(self.ok("help", "connection"), r"(?m)^  --token-file FILE ")

    def test_examples_precede_flags(self):
        text = self.ok("attend", "--help")
        self.assertLess(text.index("Examples:"), text.index("Options:"))

    def test_help_fits_the_width(self):
        for columns in (80, 100):
            for command in (*((name,) for name in COMMANDS), ("load", "compare"), ()):
                text = self.ok(*command, "--help",
                               env={**os.environ, "COLUMNS": str(columns)})
                for line in text.splitlines():
                    self.assertLessEqual(len(line), columns, line)

    def test_version(self):
        self.assertTrue(self.ok("version").startswith(f"locus {VERSION} (commit "))
        self.assertEqual(self.ok("--version"), self.ok("version"))
        self.assertEqual(json.loads(self.ok("version", "--json"))["version"], VERSION)


class UsageTest(CliTest):
    def test_unknown_command_gets_a_suggestion(self):
        self.fails(2, "unknown command shcemes; did you mean schemes", "shcemes")
        self.fails(2, "unknown command frobnicate", "frobnicate")

    def test_unknown_flag_gets_a_suggestion(self):
        self.fails(2, "unknown flag --postions; did you mean --positions",
                   "encode", "--scheme", "rope", "--postions", "0:3")
        self.fails(2, "unknown flag --schem; did you mean --scheme", "encode", "--schem", "rope")

    def test_invalid_values_are_rejected(self):
        for dim in ("many", "0", "1.5", "99999999999999999999"):
            self.fails(2, f"--dim: is {dim}; must be an integer from 1 to 1048576 ",
                       "encode", "rope", "--dim", dim)
        for dtype in ("f8", "int64", "bool"):
            self.fails(2, f'--dtype: is "{dtype}"; must be float32, float64, float16 or bfloat16',
                       "encode", "rope", "--dtype", dtype)
        self.fails(2, "--timeout", "schemes", "--timeout", "soon")
        self.fails(2, "--timeout", "schemes", "--timeout", "-1")
        self.fails(2, "--positions", "encode", "--scheme", "rope", "--positions", "5:1")
        self.fails(2, r"--scheme: needs a value \(SCHEME\)", "encode", "--scheme")
        self.fails(2, r"--hf-config: needs a value \(JSON\)", "encode", "--hf-config")
        self.fails(2, "a scheme is required", "encode")

    def test_seeds_are_unsigned_64_bit_integers(self):
        for command in (("attend", "--scheme", "rope", "--tokens", "a b"),
                        ("plot", "attention", "--scheme", "rope", "--tokens", "a b", "--out", "-"),
                        ("evaluate", "--pattern", "--no-out")):
            for seed in ("-1", "-0", "18446744073709551616", "1.5", "many"):
                self.fails(2, f"--seed: is {seed}; must be an integer from 0 to 1844674407370955161"
                              "5 ", *command, "--seed", seed)
        for seed in ("0", "18446744073709551615"):
            self.ok("attend", "--scheme", "rope", "--tokens", "a b", "--seed", seed)

    def test_invalid_schemes_are_rejected(self):
        self.fails(2, "column 1: there is no scheme \"ropee\"; did you mean rope",
                   "encode", "--scheme", "ropee")
        self.fails(2, "column 8: there is no field \"bass\"; did you mean base",
                   "encode", "--scheme", "rope { bass: 3 }")
        self.fails(2, r"\n  rope:bass=3\n       \^\n  for example: rope:base=10000,",
                   "encode", "rope:bass=3")
        self.fails(2, "INTERLEAVED, HALF_SPLIT", "encode", "--scheme", "rope { layout: SKEW }")
        self.fails(2, "rope takes no table", "encode", "--scheme", "rope", "--table",
                   self.input("t.npy", 2, 2))

    def test_server_addresses_without_host_and_port_are_rejected(self):
        self.fails(2, r"--server: is http://localhost:50051; must be HOST:PORT, such as "
                      r"localhost:50051, without http://",
                   "schemes", "--server", "http://localhost:50051")
        for address, example in (("localhost", "localhost"), ("[::1]", r"\[::1\]")):
            self.fails(2, f"has no port; must be HOST:PORT, such as {example}:50051",
                       "schemes", "--server", address)
        self.fails(2, "has no port", "schemes", env={**os.environ, "LOCUS_SERVER": "localhost"})

    def test_unreadable_files_are_rejected(self):
        self.fails(2, "--input: cannot read /nonexistent.npy: No such file",
                   "encode", "--scheme", "rope", "--input", "/nonexistent.npy")
        with open(self.path("bad.npy"), "w", encoding="utf-8") as file:
            file.write("not an array")
        self.fails(2, "bad.npy: is not a .npy file",
                   "encode", "--scheme", "rope", "--input", self.path("bad.npy"))
        self.fails(2, "cannot read|not a .npy",
                   "encode", "--scheme", "rope", "--input", self.folder)

    def test_conflicting_flags_are_rejected(self):
        tensor = self.input("q.npy", 2, 4)
        self.fails(2, "--tokens", "attend", "--scheme", "rope")
        self.fails(2, "go together", "attend", "--scheme", "rope", "--q", tensor)
        self.fails(2, "either", "attend", "--scheme", "rope", "--x", tensor, "--tokens", "a b")
        self.fails(2, "--query-offset", "attend", "--scheme", "rope", "--tokens", "a b",
                   "--bottom-right", "--query-offset", "1")
        self.fails(2, "standard output", "encode", "--scheme", "rope", "-o", "-", "--json")
        self.fails(2, "SCHEME and --scheme exclude each other", "encode", "rope", "--scheme",
                   "alibi")
        self.fails(2, "--scheme: may be given only once", "encode", "-s", "rope", "-s", "alibi")

    def test_flags_without_effect_are_rejected(self):
        self.fails(2, "--heads: sinusoidal", "encode", "sinusoidal", "--heads", "4")
        self.fails(2, "--dim: alibi", "encode", "alibi", "--dim", "4")
        self.fails(2, "--causal: the encoding of rope", "encode", "rope", "--causal")


class ColorTest(CliTest):
    def test_pipes_get_no_color(self):
        self.assertNotIn("\x1b", self.ok("check", "--scheme", "none"))

    def test_color_can_be_forced_anywhere_on_the_command_line(self):
        for arguments in (("--color", "always", "check", "--scheme", "none"),
                          ("check", "--scheme", "none", "--color=always")):
            text = self.ok(*arguments)
            self.assertIn("\x1b[32m\u2713\x1b[0m", text)
            self.assertEqual(re.sub(r"\x1b\[[0-9;]*m", "", text),
                             self.ok("check", "--scheme", "none"))

    def test_errors_have_color(self):
        result = run("encode", "--color", "always")
        self.assertRegex(result.stderr, "\\A\x1b\\[1;31mlocus:\x1b\\[0m ")

    def test_unknown_values_are_rejected(self):
        self.fails(2, '--color: is "red"; must be auto, always or never', "check", "--color",
                   "red")


class SchemesTest(CliTest):
    def test_table(self):
        lines = self.ok("schemes").splitlines()
        self.assertRegex(lines[0], r"NAME +ACTS ON +TITLE")
        names = [line.split()[0] for line in lines[1:] if not line.startswith(" ")]
        self.assertEqual(names, ["none", "sinusoidal", "learned", "rope", "alibi", "t5_bias",
                                 "xpos", "kerple", "fire", "sandwich"])

    def test_details_of_one_scheme(self):
        text = self.ok("schemes", "rope")
        self.assertRegex(text, r"acts on +queries and keys")
        self.assertRegex(text, r"(?m)^base +10000 +the slowest pair makes one ")
        self.assertRegex(text, r"(?m)^shift_invariance +yes")
        self.assertIn("2104.09864", text)

    def test_unknown_scheme_gets_a_suggestion(self):
        self.fails(2, "there is no scheme \"alibye\"; did you mean alibi", "schemes", "alibye")

    def test_json(self):
        document = json.loads(self.ok("schemes", "--json"))
        self.assertIn("rope", [scheme["name"] for scheme in document["schemes"]])
        self.assertEqual(json.loads(self.ok("schemes", "alibi", "--json"))["name"], "alibi")


class EncodeTest(CliTest):
    def test_table_is_printed(self):
        text = self.ok("encode", "--scheme", "sinusoidal", "--dim", "4", "--positions", "0,7")
        self.assertIn("table  float32 [2, 4]", text)
        self.assertRegex(text, r"(?m)^7 +0\.6570 +0\.7539 ")

    def test_rotation_is_printed(self):
        text = self.ok("encode", "--scheme", "rope", "--dim", "4")
        for part in ("cos  float32 [8, 2]", "sin  float32 [8, 2]", "frequencies  1, 0.01",
                     "attention factor  1"):
            self.assertIn(part, text)

    def test_default_width_is_64(self):
        for command in (("encode", "rope"), ("encode", "sinusoidal")):
            self.assertEqual(self.ok(*command), self.ok(*command, "--dim", "64"))

    def test_biases_are_two_sided_unless_causal(self):
        def biases(*arguments):
            document = json.loads(self.ok("encode", *arguments, "--heads", "1", "--positions",
                                          "0:2", "--json"))
            return document["bias"]["bias"]["data"][0]

        self.assertEqual(biases("alibi"), biases("alibi { symmetric: true }", "--causal"))
        self.assertEqual(biases("alibi", "--causal"), biases("alibi:symmetric=false"))
        self.assertNotEqual(biases("alibi"), biases("alibi", "--causal"))
        self.assertEqual(biases("t5"), biases("t5_bias { bidirectional: true }", "--causal"))
        self.assertEqual(biases("kerple"), biases("kerple:symmetric", "--causal"))

    def test_bias_is_printed(self):
        text = self.ok("encode", "alibi", "--heads", "2", "--positions", "0:3")
        self.assertIn("bias  float32 [2, 3, 3]", text)
        self.assertIn("head 1", text)
        self.assertIn("slopes  0.0625, 0.00390625", text)

    def test_large_tables_are_abbreviated(self):
        text = self.ok("encode", "--scheme", "sinusoidal", "--dim", "512", "--positions", "0:2000")
        self.assertLess(len(text.splitlines()), 30)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertIn("...", text)

    def test_json_contains_the_numbers(self):
        document = json.loads(self.ok("encode", "alibi", "--heads", "1", "--causal",
                                      "--positions", "0:2", "--json"))
        self.assertEqual(document["bias"]["bias"]["shape"], [1, 2, 2])
        self.assertEqual(document["bias"]["bias"]["data"][0][0], [0.0, "-Infinity"])
        self.assertEqual(document["call"]["attempts"], 1)
        self.assertTrue(document["call"]["request_id"])

    def test_table_is_written(self):
        path = self.path("table.npy")
        self.ok("encode", "--scheme", "sinusoidal", "--dim", "6", "--dtype", "float64", "-o", path)
        descr, shape, values = read_npy(path)
        self.assertEqual((descr, shape), ("<f8", (8, 6)))
        self.assertEqual(list(values[:6]), [0, 1, 0, 1, 0, 1])
        self.assertEqual(os.listdir(self.folder), ["table.npy"])

    def test_rotation_is_written_as_two_files(self):
        result = run("encode", "--scheme", "rope", "--dim", "4", "-o", self.path("r.npy"))
        self.assertEqual((result.returncode, result.stderr),
                         (0, f"locus: wrote {self.path('r.cos.npy')}, {self.path('r.sin.npy')}\n"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["r.cos.npy", "r.sin.npy"])
        self.assertEqual(read_npy(self.path("r.cos.npy"))[1], (8, 2))

    def test_input_is_transformed_through_pipes(self):
        write_npy(self.path("q.npy"), (2, 2), [1, 0, 1, 0])
        with open(self.path("q.npy"), "rb") as file:
            result = subprocess.run(
                [LOCUS, "encode", "--scheme", "rope", "--input", "-", "-o", "-"], stdin=file,
                capture_output=True, check=True, timeout=120)
        _, shape, values = parse_npy(result.stdout)
        self.assertEqual(shape, (2, 2))
        self.assertAlmostEqual(values[2], 0.5403023, 6)
        self.assertAlmostEqual(values[3], 0.8414710, 6)

    def test_positions_from_a_file(self):
        write_npy(self.path("ids.npy"), (3,), [5, 5, 1000000], "q", "<i8")
        text = self.ok("encode", "--scheme", "sinusoidal", "--dim", "2", "--positions",
                       "@" + self.path("ids.npy"))
        self.assertRegex(text, r"(?m)^1000000 +-0\.3500 +0\.9368$")

    def test_scheme_table_from_a_file(self):
        table = self.path("t.npy")
        write_npy(table, (2, 3), [1, 2, 3, 4, 5, 6])
        document = json.loads(self.ok("encode", "--scheme", "learned { policy: CLAMP }", "--table",
                                      table, "--positions", "1,9", "--json"))
        self.assertEqual(document["additive"]["table"]["data"], [[4, 5, 6], [4, 5, 6]])

    def test_errors_name_the_flag(self):
        self.fails(2, r"locus: --dim: is 7 \(", "encode", "--scheme", "rope", "--dim", "7")
        self.fails(2, r"locus: scheme: rope\.base: is -1; must be from",
                   "encode", "--scheme", "rope { base: -1 }", "--dim", "8")
        self.fails(2, r"locus: --key-positions: ", "encode", "rope", "--key-positions", "0:3")


class AttendTest(CliTest):
    def test_tokens_label_both_axes(self):
        text = self.ok("attend", "--scheme", "rope", "--tokens", "the cat sat", "--causal",
                       "--heads", "2")
        self.assertRegex(text, r"(?m)^ +the +cat +sat$")
        self.assertRegex(text, r"(?m)^the +1\.0000█ +0\.0000 +0\.0000$")
        self.assertIn("head 1", text)
        self.assertIn("output  float32 [3, 64]", text)

    def test_json(self):
        document = json.loads(self.ok("attend", "--scheme", "none", "--tokens", "a b", "--json"))
        self.assertEqual(document["tokens"], ["a", "b"])
        self.assertEqual(document["weights"]["shape"], [1, 2, 2])
        for row in document["weights"]["data"][0]:
            self.assertAlmostEqual(sum(row), 1, 5)

    def test_rank_2_inputs_give_rank_2_outputs(self):
        q, k, v = self.input("q.npy", 3, 4), self.input("k.npy", 5, 4), self.input("v.npy", 5, 6)
        self.ok("attend", "--scheme", "rope", "--q", q, "--k", k, "--v", v, "--causal",
                "--bottom-right", "-o", self.path("out.npy"), "--weights-out", self.path("w.npy"),
                "--lse-out", self.path("l.npy"))
        self.assertEqual(read_npy(self.path("out.npy"))[1], (3, 6))
        self.assertEqual(read_npy(self.path("l.npy"))[1], (3,))
        _, shape, weights = read_npy(self.path("w.npy"))
        self.assertEqual(shape, (3, 5))
        self.assertEqual(list(weights[3:5]), [0, 0])
        self.assertGreater(weights[14], 0)

    def test_rank_3_inputs_give_rank_3_outputs(self):
        q = self.input("q.npy", 2, 3, 4)
        self.ok("attend", "--scheme", "alibi", "--causal", "--q", q, "--k", q, "--v", q, "-o",
                self.path("o.npy"))
        self.assertEqual(read_npy(self.path("o.npy"))[1], (2, 3, 4))

    def test_half_precision(self):
        q = self.input("q.npy", 3, 4)
        for dtype, descr in (("bfloat16", "<f4"), ("float16", "<f2"), ("float64", "<f8")):
            text = self.ok("attend", "--scheme", "rope", "--q", q, "--k", q, "--v", q, "--dtype",
                           dtype, "-o", self.path("o.npy"))
            self.assertIn(f"output  {dtype} [3, 4]", text)
            self.assertEqual(read_npy(self.path("o.npy"))[0], descr)

    def test_layer_weights_from_folder_and_files_agree(self):
        for name in ("wq", "wk", "wv", "wo"):
            write_npy(self.path(name + ".npy"), (2, 2), [1, 0, 0, 1])
        x = self.input("x.npy", 3, 2)
        by_folder = self.ok("attend", "--scheme", "sinusoidal", "--x", x, "--weights-from",
                            self.folder)
        by_file = self.ok("attend", "--scheme", "sinusoidal", "--x", x,
                          *(word for name in ("wq", "wk", "wv", "wo")
                            for word in (f"--{name}", self.path(name + ".npy"))))
        self.assertEqual(by_folder, by_file)
        self.assertIn("output  float32 [3, 2]", by_folder)

    def test_mask(self):
        q = self.input("q.npy", 2, 2)
        write_npy(self.path("m.npy"), (2,), [1, 0], "B", "|b1")
        text = self.ok("attend", "--scheme", "none", "--q", q, "--k", q, "--v", q, "--mask",
                       self.path("m.npy"), "--return-weights")
        self.assertRegex(text, r"attention  float32 \[2, 2\]\n.*\n0 +1\.0+█ +0\.0+\n1 +1\.0+█ +0\.0+\n")

    def test_options_reach_the_server(self):
        words = ("attend", "--scheme", "rope", "--tokens", "a b c d", "--json")
        plain = self.ok(*words)
        for option in (("--window", "1"), ("--scale", "3"), ("--softcap", "0.1"), ("--seed", "5"),
                       ("--dim", "8"), ("--query-positions", "0,9,1,2"),
                       ("--key-positions", "3:7"), ("--causal", "--query-offset", "1")):
            changed = self.ok(*words, *option)
            self.assertNotEqual(json.loads(changed)["output"], json.loads(plain)["output"], option)

    def test_server_errors_are_reported(self):
        q = self.input("q.npy", 3, 4)
        self.fails(2, "sinusoidal acts on embeddings; use --x or --tokens instead of --q", "attend",
                   "--scheme", "sinusoidal", "--q", q, "--k", q, "--v", q)
        self.fails(2, r"alibi\.symmetric: is false, which requires --causal", "attend",
                   "alibi:symmetric=false", "--tokens", "a b")
        self.fails(2, "--causal: is false; xpos", "attend", "xpos", "--tokens", "a b")
        self.fails(2, "--window: is -3", "attend", "--scheme", "rope", "--tokens", "a b",
                   "--window", "-3")
        self.fails(2, "--dim: is 7 ", "attend", "rope", "--tokens", "a b", "--dim", "7")
        result = subprocess.run([LOCUS, "attend", "rope", "--tokens", b"a \xff"],
                                capture_output=True, check=False, timeout=120)
        self.assertEqual((result.returncode, result.stderr),
                         (2, b"locus: --tokens: word 2 is not valid UTF-8 text\n"))

    def test_biases_are_two_sided_unless_causal(self):
        for scheme in ("alibi", "kerple", "t5"):
            document = json.loads(self.ok("attend", scheme, "--tokens", "a b c", "--json"))
            self.assertGreater(document["weights"]["data"][0][0][2], 0)
        self.assertEqual(
            json.loads(self.ok("attend", "alibi", "--tokens", "a b", "--json"))["output"],
            json.loads(self.ok("attend", "alibi:symmetric", "--tokens", "a b", "--json"))["output"])


class OutputTest(CliTest):
    def test_full_disk_is_reported(self):
        for arguments in (("schemes",), ("--help",), ("version",)):
            with open("/dev/full", "wb") as full:
                result = subprocess.run([LOCUS, *arguments], stdout=full, stderr=subprocess.PIPE,
                                        text=True, check=False, timeout=120)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, r"\Alocus: .*standard output: No space left.*\n\Z")
        result = run("encode", "--scheme", "sinusoidal", "--dim", "4", "-o", "/dev/full")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/dev/full: No space left", result.stderr)

    def test_unwritable_output_is_reported(self):
        result = run("encode", "--scheme", "sinusoidal", "--dim", "4", "-o", "/nonexistent/x.npy")
        self.assertEqual(
            (result.returncode, result.stderr),
            (1, "locus: NOT_FOUND: cannot write /nonexistent/x.npy: No such file or directory\n"))
        # The result is printed even if it cannot be written.
        self.assertTrue(result.stdout.startswith("table  float32 [8, 4]\n"), result.stdout)

    def test_closed_descriptors_are_not_reused(self):
        for redirections, shown in ((">&-", False), ("<&-", True), ("2>&-", True),
                                    ("<&- >&- 2>&-", False)):
            command = f'"$0" schemes {redirections}'
            result = subprocess.run(["sh", "-c", command, LOCUS], capture_output=True, text=True,
                                    timeout=120, check=False)
            self.assertEqual((result.returncode, result.stderr), (0, ""), redirections)
            self.assertEqual(bool(result.stdout), shown, redirections)
        # The output file must not receive text meant for closed descriptors 1 and 2.
        path = self.path("out.npy")
        subprocess.run(["sh", "-c", '"$0" encode --scheme sinusoidal --dim 4 -o "$1" >&- 2>&-',
                        LOCUS, path], timeout=120, check=True)
        self.assertEqual(read_npy(path)[0], "<f4")

    def test_closed_pipe_is_quiet(self):
        for arguments in (("schemes",), ("encode", "--scheme", "sinusoidal", "--dim", "4", "-o",
                                         "-")):
            read_end, write_end = os.pipe()
            os.close(read_end)
            result = subprocess.run([LOCUS, *arguments], stdout=write_end, stderr=subprocess.PIPE,
                                    check=False, timeout=120)
            os.close(write_end)
            self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_interrupt_exits_with_130(self):
        os.mkfifo(self.path("pipe"))
        process = subprocess.Popen([LOCUS, "encode", "--scheme", "rope", "--input",
                                    self.path("pipe")], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        # open() returns once the program has opened the other end and waits for data.
        with process, open(self.path("pipe"), "wb"):
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=60), 130)
            self.assertEqual(process.stderr.read(), b"")


class RemoteTest(CliTest):
    """Commands against a locusd that each test starts."""

    @contextlib.contextmanager
    def server(self):
        process = subprocess.Popen([LOCUSD, "--listen=127.0.0.1:0", "--http="],
                                   stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with process:
            try:
                yield self.address_of(process)
            finally:
                process.terminate()
                process.communicate(timeout=60)

    def address_of(self, process):
        for line in process.stderr:
            found = re.search(r"grpc_port\W+(\d+)", line)
            if found:
                return f"127.0.0.1:{found.group(1)}"
        self.fail("the server did not log its port")
        return None

    def test_unreachable_server_is_reported(self):
        for command in (("schemes",), ("health",), ("encode", "--scheme", "rope", "--dim", "4"),
                        ("attend", "--scheme", "rope", "--tokens", "a b")):
            self.fails(1, f"cannot reach {NOWHERE}: Connection refused", *command, "--server",
                       NOWHERE)

    def test_unroutable_server_ends_with_the_deadline(self):
        start = time.monotonic()
        self.fails(1, "cannot reach 192.0.2.1:50051", "schemes", "--server", "192.0.2.1:50051",
                   "--timeout", "300ms")
        self.assertLess(time.monotonic() - start, 30)

    def test_remote_and_embedded_agree(self):
        with self.server() as address:
            for command in (("schemes",), ("encode", "--scheme", "rope", "--dim", "4"),
                            ("attend", "--scheme", "rope", "--tokens", "a b c")):
                self.assertEqual(self.ok(*command), self.ok(*command, "--server", address))

    def test_health(self):
        with self.server() as address:
            self.assertEqual(self.ok("health", "--server", address), f"{address} SERVING\n")
            document = json.loads(self.ok("health", "--server", address, "--json", "--service",
                                          "locus.v1.AttentionService"))
            self.assertEqual(document, {"server": address, "service": "locus.v1.AttentionService",
                                        "status": "SERVING"})
            self.fails(1, "NOT_FOUND: the server has no service \"absent\" \\(services: "
                          "locus.v1.EncodingService, locus.v1.AttentionService, "
                          "locus.v1.EvaluationService\\)",
                       "health", "--server", address, "--service", "absent")

    def test_health_finds_the_local_server(self):
        with self.server() as address:
            any_address = address.replace("127.0.0.1", "0.0.0.0")
            for variables in ({"LOCUS_LISTEN": address}, {"LOCUS_LISTEN": any_address},
                              {"LOCUS_SERVER": address, "LOCUS_LISTEN": NOWHERE}):
                self.assertEqual(self.ok("health", env={**os.environ, **variables}),
                                 f"{address} SERVING\n")
        self.fails(1, f"cannot reach {NOWHERE}", "health",
                   env={**os.environ, "LOCUS_LISTEN": NOWHERE})

    def test_server_address_comes_from_the_environment(self):
        self.fails(1, f"cannot reach {NOWHERE}", "schemes",
                   env={**os.environ, "LOCUS_SERVER": NOWHERE})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
