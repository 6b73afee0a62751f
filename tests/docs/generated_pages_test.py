#!/usr/bin/env python3
"""Compares docs/api.md and docs/configuration.md with what their generators produce, and tests
the generators themselves.

    LOCUSD=build/release/locusd python3 tests/docs/generated_pages_test.py
"""

import difflib
import os
import unittest

import make_api_page
import make_configuration_page

LOCUSD = os.environ.get("LOCUSD", "locusd")


class GeneratedPagesTest(unittest.TestCase):
    def assert_current(self, path, expected, command):
        found = path.read_text(encoding="utf-8") if path.exists() else ""
        if found == expected:
            return
        changes = list(difflib.unified_diff(found.splitlines(), expected.splitlines(),
                                            f"{path.name} as committed", "as generated",
                                            lineterm="", n=0))
        self.fail(f"docs/{path.name} is out of date; run: {command}\n" + "\n".join(changes[:40]))

    def test_api_page_matches_the_proto_files(self):
        self.assert_current(make_api_page.PAGE, make_api_page.page(),
                            "python3 tests/docs/make_api_page.py")

    def test_configuration_page_matches_the_help_text(self):
        self.assert_current(make_configuration_page.PAGE, make_configuration_page.page(LOCUSD),
                            "python3 tests/docs/make_configuration_page.py build/release/locusd")


class ApiParserTest(unittest.TestCase):
    EXAMPLE = """\
syntax = "proto3";

package locus.v1;

// Not part of the service's comment.

// Says hello.
service Greeter {
  // Greets once.
  rpc Greet(GreetRequest) returns (stream GreetResponse);
}

// Names somebody.
message GreetRequest {
  // The name, |quoted|.
  optional string name = 1;
  // The way to greet.
  oneof way {
    // A number below 1, that is < 1.
    repeated double numbers = 2;
  }
}

message GreetResponse {}

enum Mood {
  // Unknown.
  MOOD_UNSPECIFIED = 0;
}
"""

    def rendered(self):
        items = make_api_page.parse(self.EXAMPLE, "greet.proto")
        return make_api_page.Page({"greet.proto": items}).text()

    def test_services_and_methods_are_listed_with_their_comments(self):
        text = self.rendered()
        self.assertIn("### Greeter\n\nSays hello.\n\n#### Greet\n\nGreets once.\n\n"
                      "Takes [GreetRequest](#greetrequest), returns a stream of "
                      "[GreetResponse](#greetresponse).\n", text)
        self.assertNotIn("Not part of", text)

    def test_fields_have_type_number_comment_and_oneof(self):
        text = self.rendered()
        self.assertIn("| `name` | optional `string` | 1 | The name, \\|quoted\\|. |\n", text)
        self.assertIn("| *oneof* `way` | | | The way to greet. |\n"
                      "| `numbers` | repeated `double` | 2 | A number below 1, that is &lt; 1. "
                      "(one of `way`) |\n", text)
        self.assertIn("### GreetResponse\n\nHas no fields.\n", text)
        self.assertIn("| `MOOD_UNSPECIFIED` | 0 | Unknown. |\n", text)

    def test_declarations_on_several_lines_are_joined(self):
        items = make_api_page.parse(
            "service A {\n  rpc B(C)\n      returns (stream D);\n}\n", "a.proto")
        self.assertEqual((items[0].members[0].response, items[0].members[0].streams), ("D", True))

    def test_unknown_syntax_is_an_error(self):
        for text in ("message A {\n  message B {}\n}\n",
                     "message A {\n  int32 b = 1 [packed=true];\n}\n",
                     "extend A {\n}\n", "message A {\n", "}\n"):
            with self.subTest(text), self.assertRaises(ValueError):
                make_api_page.parse(text, "bad.proto")


class HelpParserTest(unittest.TestCase):
    EXAMPLE = """locusd: a service
Usage: locusd [OPTIONS]

Options:
  -h,--help                   Print this help message and exit
  --threads VALUE             number of compute threads; see --max-heads [0]
  --a-flag-with-a-long-name VALUE
                              meaning on the next line
  --completion bash           print a script

Text.

Examples:
  locusd                      all defaults
"""

    def test_names_placeholders_and_meanings_are_found(self):
        self.assertEqual(make_configuration_page.options(self.EXAMPLE), [
            ("help", "", "Print this help message and exit"),
            ("threads", "VALUE", "number of compute threads; see --max-heads [0]"),
            ("a-flag-with-a-long-name", "VALUE", "meaning on the next line"),
            ("completion", "bash", "print a script")])

    def test_rows_have_variable_and_default(self):
        self.assertEqual(
            make_configuration_page.row("max-heads", "number of heads; see --threads [4096]"),
            "| `--max-heads` | `LOCUS_MAX_HEADS` | `4096` | Number of heads; see `--threads` |")
        self.assertEqual(make_configuration_page.row("tls-key", "its key"),
                         "| `--tls-key` | `LOCUS_TLS_KEY` |  | Its key |")

    def test_unknown_lines_are_an_error(self):
        with self.assertRaises(ValueError):
            make_configuration_page.options("\nOptions:\n  something else\n")


if __name__ == "__main__":
    unittest.main()
