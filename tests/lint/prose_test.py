#!/usr/bin/env python3
"""The prose checker flags the sentences that it describes, and no others."""

import unittest

import prose


class ProseTest(unittest.TestCase):
    def test_flags_free_relatives_and_fragments(self):
        for sentence in ("What is masked is skipped.", "Those that wait are counted.",
                         "As that, for keys.", "The cache holds what was read last.",
                         "Of a block the first row counts."):
            self.assertTrue(prose.is_flagged(sentence), sentence)

    def test_flags_calls_as_persons(self):
        for sentence in ("Calls are turned away early.", "Nobody reads the queue.",
                         "The caller is told to retry."):
            self.assertTrue(prose.is_flagged(sentence), sentence)

    def test_accepts_plain_sentences_and_questions(self):
        for sentence in ("The server rejects the call.", "What is a scheme?",
                         "NaNs in visible keys propagate to the output."):
            self.assertFalse(prose.is_flagged(sentence), sentence)

    def test_reads_comments_but_no_code(self):
        source = ("int who = 1;  // The count of callers.\n"
                  "// One sentence over\n// two lines. Another sentence follows.\n"
                  "const char* text = \"Nobody reads this\";\n")
        self.assertEqual(list(prose.sentences(source, is_document=False)),
                         ["The count of callers.", "One sentence over two lines.",
                          "Another sentence follows."])

    def test_reads_documents_without_tables_and_code_blocks(self):
        page = ("# Nobody reads headings\n\nA plain first sentence.\n\n| who | what |\n\n"
                "```\nwhat is this\n```\n\n- An item of three.\n- Another item here.\n")
        self.assertEqual(list(prose.sentences(page, is_document=True)),
                         ["A plain first sentence.", "An item of three.", "Another item here."])


if __name__ == "__main__":
    unittest.main()
