#!/usr/bin/env python3
"""Counts sentences in comments and documents that are hard to read at first sight.

usage: prose.py [--list] [--max PERCENT] [PATH...]

A sentence is flagged if it opens with a free relative clause or a fragment ("What is ...",
"Those that ...", "As that, ..."), uses such a clause as a noun ("what is visible"), or speaks of
calls, threads and data as people. Questions are never flagged. With --max, the exit code is 1 if
the share of flagged sentences is above PERCENT in the whole tree or in a top-level folder.
Without paths, all tracked sources and documents are read.
"""

import argparse
import re
import subprocess
import sys

OPENERS = re.compile(
    r"^(What|Who|Whoever|Whatever|Whichever|Nobody|Somebody|Those|That which|As that|As those|"
    r"The same (of|for|as)|Of (those|these|that|a|the|its|one|each|all|calls)\b|"
    r"So (many|much|long|often|few)\b)")
FREE_RELATIVES = re.compile(
    r"(?<!know )(?<!see )\b[Ww]hat (is|are|was|were|has|have|it|they|one|comes?|goes|follows|takes|"
    r"makes|becomes|remains|they're|others|nobody)\b")
PERSONS = re.compile(
    r"\b([Ww]hoever|[Ww]ho|[Ww]hom|[Nn]obody|[Ss]omebody|turn(s|ed)? away|hung up|hangs? up|"
    r"sends? away|is told|are told|was told|hears?( so)?)\b")
COMMENT = re.compile(
    r"^\s*(?://+|#(?!include|define|if|endif|pragma|!|undef|else|error)|\*)\s?(.*)$")
TRAILING_COMMENT = re.compile(r"[;,{)]\s*//\s+(.*)$")
LIST_ITEM = re.compile(r"^\s*([-*]|\d+\.)\s+")
READ = re.compile(r"\.(h|cc|proto|py|sh|md|cmake|ts|js|yaml)$|(^|/)(run|Dockerfile|CMakeLists\.txt)$")
# This file quotes what it looks for.
SKIPPED = re.compile(r"^third_party/|corpus/|LICENSE|^tests/lint/prose")


def tracked_files(paths):
    listed = subprocess.run(["git", "ls-files", "--", *paths], capture_output=True, text=True,
                            check=True).stdout.split()
    return [path for path in listed if READ.search(path) and not SKIPPED.search(path)]


def _document_words(line):
    if line.startswith(("|", "    ", "#")):
        return ""
    return LIST_ITEM.sub("", line)


def _comment_words(line):
    found = COMMENT.match(line) or TRAILING_COMMENT.search(line)
    return found.group(1) if found else ""


def paragraphs(text, is_document):
    """Paragraphs of a document without its code and tables, or of a source file's comments."""
    in_code = False
    paragraph = []
    for line in text.split("\n"):
        if is_document and line.lstrip().startswith("```"):
            in_code = not in_code
            continue
        words = "" if in_code else _document_words(line) if is_document else _comment_words(line)
        starts_item = is_document and LIST_ITEM.match(line)
        if paragraph and (starts_item or not words.strip()):
            yield " ".join(paragraph)
            paragraph = []
        if words.strip():
            paragraph.append(words.strip())
    if paragraph:
        yield " ".join(paragraph)


def sentences(text, is_document):
    for paragraph in paragraphs(text, is_document):
        without_code = re.sub(r"`[^`]*`", "X", paragraph)
        for sentence in re.split(r"(?<=[.!?;:])\s+(?=[A-Z\"*(])", without_code):
            if len(sentence.split()) >= 3:
                yield sentence.strip("*_ ")


def is_flagged(sentence):
    return not sentence.endswith("?") and bool(
        OPENERS.search(sentence) or FREE_RELATIVES.search(sentence) or PERSONS.search(sentence))


def count(paths, listing):
    """{top-level folder or file: [flagged, sentences]}"""
    counts = {}
    for path in tracked_files(paths):
        entry = counts.setdefault(path.split("/")[0], [0, 0])
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        for sentence in sentences(text, path.endswith(".md")):
            entry[1] += 1
            if is_flagged(sentence):
                entry[0] += 1
                if listing:
                    print(f"{path}: {sentence[:200]}")
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--list", action="store_true", help="print the flagged sentences")
    parser.add_argument("--max", type=float, help="the largest allowed share, in percent")
    parser.add_argument("paths", nargs="*", default=["."])
    arguments = parser.parse_args()
    counts = count(arguments.paths, arguments.list)
    counts["all"] = [sum(column) for column in zip(*counts.values())] if counts else [0, 0]
    too_many = False
    for name, (flagged, total) in counts.items():
        share = 100 * flagged / max(total, 1)
        # One sentence of a short file is no trend.
        above = arguments.max is not None and share > arguments.max and (total > 200 or flagged > 1)
        too_many = too_many or above
        if above or name == "all":
            print(f"{name}: {flagged} of {total} sentences flagged, {share:.1f} %")
    return 1 if too_many else 0


if __name__ == "__main__":
    sys.exit(main())
