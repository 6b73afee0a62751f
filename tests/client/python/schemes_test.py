#!/usr/bin/env python3
"""Schemes as text, short form, dictionaries and messages."""

import unittest

import support  # noqa: F401
import numpy as np
from google.protobuf import text_format

import locus
from locus import _messages, _names, _schemes

# Plain protobuf text format, and other texts with the same meaning.
SAME = {
    "rope { base: 500000 yarn { factor: 4 } }": (
        "rope:base=500000,yarn.factor=4", "rope(base=5e5, yarn.factor=4)",
        "rope( base = 5e5 , yarn.factor = 4 )", "rope: base=500000, yarn.factor=4",
        "rope base=500000 yarn.factor=4", "rope(yarn(factor=4), base=500000)",
        "rope:yarn=4,base=500000", "ROPE:BASE=500000,Yarn.Factor=4",
        "rope base=500000 yarn\u00d74", "yarn:factor=4,base=5e5", "yarn(factor=4, base=500000)",
        "YaRN\u00d74 base=500000", "rotary:base=5e5,yarn=4", "rope:base=500000,yarn.factor=4,",
        "RoPE { BASE: 500000 Yarn { factor: 4 } }"),
    "learned { max_length: 1000 policy: LEARNED_POLICY_WRAP seed: 3 }": (
        "learned:max_length=1e3,policy=wrap,seed=3",
        "absolute { max_length: 1000 policy: wrap seed: 3 }"),
    "alibi { symmetric: true }": ("alibi:symmetric", "ALiBi(Symmetric=true)"),
    "alibi { }": ("alibi:symmetric=false", "alibi", "ALiBi"),
    "alibi { slopes: 0.5 slopes: 0.25 bias_max: 4 }": (
        "alibi:slopes=[0.5, 0.25],bias_max=4", "alibi{slopes: [0.5, 0.25] bias_max: 4}"),
    "rope { layout: ROPE_LAYOUT_HALF_SPLIT linear { } }": (
        "rope:layout=half-split,linear", "rope { layout: half_split linear {} }"),
    "rope { } randomized { maximum: 4096 }": (
        "rope:randomized.maximum=4096", "rope {} randomized { maximum: 4096 }"),
    "rope { yarn { } } randomized { seed: 1 }": ("yarn {} randomized { seed: 1 }",),
    "none { }": ("nope", "NoPE"),
    "t5_bias { }": ("T5", "t5-bias", "t5_bias", "  t5\n", "t5 # a comment"),
    "rope { dynamic_ntk { } }": ("dynamic", "dynamic-ntk"),
    "sinusoidal { }": ("sin", "sinusoidal {}"),
}
# Texts that are rejected, and the beginning of the message.
WRONG = {
    "ropee": 'column 1: there is no scheme "ropee"; did you mean rope?',
    "rope { layout: HALF_SPLIT bse: 1 }": 'column 27: there is no field "bse"; did you mean base?',
    "rope {\n  layout: SIDEWAYS }": 'line 2, column 11: layout has no choice "SIDEWAYS"',
    "rope { base: \"x\" layout: HALF_SPLIT }": "column 14: ",
    "rope {": "column 7: the text ends here, but a closing } is missing",
    "rope:bse=1": 'column 6: there is no field "bse"; did you mean base?',
    "rope(base=much)": 'column 11: base is "much"; must be a number',
    "rope:rotary_dim=2.5": 'column 17: rotary_dim is "2.5"; must be an integer',
    "rope:yarn.facto=4": 'column 11: there is no field "facto"; did you mean factor?',
    "rope:yarn=4,ntk=2": "column 13: yarn and ntk exclude each other",
    "rope:base=1,base=2": "column 13: base is given twice",
    "rope:base": "column 10: base needs a value",
    "rope(base=1": "column 12: a closing ) is missing",
    "rope(base=1) x": "column 14: the scheme should end here",
    "rope:layout=odd": 'column 13: layout has no choice "odd"',
    "alibi:slopes=[1,x]": 'column 17: slopes is "x"; must be',
    "learned:table=1": "column 9: table has no fields",
    "rope:base.x=1": "column 6: base has no fields",
    "alibi\u00d74": "column 7: has no factor",
    "rope: 3": 'column 7: there is no field "3"',
    "learned:seed=-1": 'column 14: seed is "-1"; must be',
}
MALFORMED = ("", " ", "{", "}", "rope }", "rope { base }", "rope { base: }", "rope rope",
             "rope {} alibi {}", "rope { base: 1 } }", "rope { base { } }",
             "rope { layout { x: 1 } }", '"rope"', "rope {{}}", "12", "rope { base: 1, , }",
             "rope { [a.b]: 1 }", "\x01\xff", "#", "rope { base: 'unterminated }",
             "rope " + "{ x " * 5000, "rope" + "(randomized" * 5000)


class SchemesTest(unittest.TestCase):
    def test_texts_mean_the_same_as_plain_text_format(self):
        for plain, texts in SAME.items():
            wanted = text_format.Parse(plain, _messages.Scheme())
            for text in texts:
                with self.subTest(text=text):
                    self.assertEqual(locus.parse_scheme(text), wanted)

    def test_every_name_is_a_scheme_with_defaults(self):
        for name in _names.scheme_names():
            self.assertEqual(locus.parse_scheme(name).WhichOneof("kind"), name)

    def test_errors_name_the_place_and_the_rule(self):
        for text, message in WRONG.items():
            with self.subTest(text=text), self.assertRaises(locus.SchemeError) as caught:
                locus.parse_scheme(text)
            self.assertTrue(str(caught.exception).startswith(message), caught.exception)

    def test_errors_show_a_caret(self):
        with self.assertRaises(locus.SchemeError) as caught:
            locus.parse_scheme("rope { bse: 1 }")
        self.assertEqual(str(caught.exception).split("\n")[1:],
                         ["  rope { bse: 1 }", "         ^"])

    def test_malformed_texts_are_rejected(self):
        for text in MALFORMED:
            with self.subTest(text=text[:40]), self.assertRaises(locus.SchemeError):
                locus.parse_scheme(text)

    def test_dictionaries_set_fields_of_all_types(self):
        scheme = locus.to_scheme({"RoPE": {"base": np.float32(8), "layout": "half-split",
                                           "rotary_dim": 4, "yarn": {"factor": 2}}})
        self.assertEqual((scheme.rope.base, scheme.rope.layout, scheme.rope.rotary_dim,
                          scheme.rope.yarn.factor), (8, 2, 4, 2))
        self.assertEqual(locus.to_scheme({"yarn": 4}).rope.yarn.factor, 4)
        self.assertEqual(locus.to_scheme({"alibi": None}).WhichOneof("kind"), "alibi")
        self.assertEqual(locus.to_scheme({"alibi": {"slopes": np.array([1.0, 0.5])}}).alibi.slopes,
                         [1, 0.5])
        table = locus.to_scheme({"learned": {"table": np.zeros((2, 3), "f4")}}).learned.table
        self.assertEqual((list(table.shape), len(table.data)), ([2, 3], 24))

    def test_dictionaries_with_mistakes_are_rejected(self):
        for values, message in (({"rope": {"bse": 1}}, "rope.bse: there is no field"),
                                ({"rope": {"base": "x"}}, "rope.base: is 'x'; must be a number"),
                                ({"rope": {"rotary_dim": 2.5}}, "must be an integer"),
                                ({"alibi": {"symmetric": 1}}, "must be True or False"),
                                ({"rope": 3}, "must be a dictionary"),
                                ({"frob": {}}, "there is no field"),
                                ({"rope": {}, "alibi": {}}, "a scheme is given already"),
                                ({}, "names no scheme")):
            with self.subTest(values=values), self.assertRaises(locus.SchemeError) as caught:
                locus.to_scheme(values)
            self.assertIn(message, str(caught.exception))

    def test_labels_are_split_from_schemes(self):
        for text, label in (("long=rope { base: 500000 }", "long"), ("my run = alibi", "my run"),
                            ("rope base=5", ""), ("yarn=4", ""), ("rope:base=5", ""),
                            ("rope(base=5)", ""), ("rope { base: 5 }", "")):
            self.assertEqual(_schemes._split_label(text)[0], label, text)
        scheme = locus.parse_scheme("long=rope:base=500000")
        self.assertEqual((scheme.label, scheme.rope.base), ("long", 500000))

    def test_messages_are_copied(self):
        scheme = locus.parse_scheme("rope")
        copy = locus.to_scheme(scheme)
        scheme.rope.base = 7
        self.assertFalse(copy.rope.HasField("base"))

    def test_other_objects_are_rejected(self):
        with self.assertRaisesRegex(locus.SchemeError, "cannot be made of int"):
            locus.to_scheme(3)


if __name__ == "__main__":
    unittest.main()
