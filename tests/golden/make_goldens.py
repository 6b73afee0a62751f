#!/usr/bin/env python3
"""Writes goldens.json: requests in a neutral form, with their expected results.

    make_goldens.py            writes the file
    make_goldens.py --check    fails if the committed file differs from its output

A tensor is {"shape", "data"}, with "bool": true for booleans. Numbers that JSON cannot
represent are strings ("-inf", "nan"). A scheme is {name: parameters}, with the names of
the protocol and enum values without their prefix. Positions are {"start", "count"} or
{"ids"}. Inputs are multiples of 1/16 with a magnitude below 4, which every
floating-point type of the protocol represents exactly, so that one expected result is
valid for all types.
"""

import argparse
import json
import math
import os
import sys

import attention_cases
import encoding_cases
import inputs
import module_cases
import schemes
import streams

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens.json")


# Random streams.

def random_cases():
    named = [(0, "module.wq"), (1, "learned.table/0"), (7, "t5_bias.table"),
             (2 ** 64 - 1, "module.token/naïve"), (12345678901234567890, "")]
    return [random_case(seed, purpose) for seed, purpose in named]


def random_case(seed, purpose):
    nexts, uniforms, normals = (streams.Stream(seed, purpose) for _ in range(3))
    return {"seed": seed, "purpose": purpose,
            "next": [nexts.next() for _ in range(4)],
            "uniform": [uniforms.uniform() for _ in range(4)],
            "normal": [normals.normal() for _ in range(9)]}


# Published values that validate this script itself.

def check_worked_values():
    pe = schemes.sinusoidal(range(7), 4)
    for a, b, known in ((0, 1, 1.5402523), (5, 6, 1.5402523), (0, 5, 1.2824124)):
        assert abs(pe[a] @ pe[b] - known) < 5e-8
    for bidirectional, known in (
            (True, [*range(1, 9), 12, 16, 23, 32, 46, 64, 91]),
            (False, [*range(1, 17), 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113])):
        buckets = [schemes.t5_bucket(-n, bidirectional=bidirectional) for n in range(1000)]
        assert [n for n in range(1, 1000) if buckets[n] != buckets[n - 1]] == known
    halves = [2.0 ** -h for h in range(1, 9)]
    assert inputs.plain(schemes.alibi_slopes(8)) == halves
    assert inputs.plain(schemes.alibi_slopes(8, "COURSE")) == halves
    assert inputs.plain(schemes.alibi_slopes(3)) == [2.0 ** -4, 2.0 ** -8, 2.0 ** -2]


def make():
    check_worked_values()
    return {
        "random": random_cases(),
        "encode": encoding_cases.all_cases(),
        "attend": attention_cases.all_cases(),
        "module": module_cases.all_cases(),
    }


def text_of(goldens):
    """One case per line, so that a diff shows the cases that changed."""
    parts = []
    for section, cases in goldens.items():
        lines = ",\n".join(json.dumps(case, separators=(",", ":"), ensure_ascii=False,
                                      allow_nan=False) for case in cases)
        parts.append(f'"{section}": [\n{lines}\n]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def agree(a, b):
    """Equality up to the last digits of numbers, in which math libraries differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(agree(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(agree, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-14, abs_tol=1e-15)
    return a == b


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    text = text_of(make())
    if not parser.parse_args().check:
        with open(PATH, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    with open(PATH, encoding="utf-8") as file:
        committed = json.load(file)
    if agree(committed, json.loads(text)):
        return 0
    print("goldens.json differs from the output of make_goldens.py; run the script and review "
          "the diff", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
