#!/usr/bin/env python3
"""Writes locus/descriptors.binpb, the descriptors of the messages that the package uses.

usage: make_descriptors.py [OUTPUT]

Run this after every change of proto/; a test compares the file with proto/. Needs protoc, or the
environment variable PROTOC.
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FILES = (
    "locus/v1/encoding.proto",
    "locus/v1/attention.proto",
    "locus/v1/evaluation.proto",
    "google/rpc/status.proto",
    "google/rpc/error_details.proto",
    "grpc/health/v1/health.proto",
)


def make(output: str) -> None:
    subprocess.run(
        [os.environ.get("PROTOC", "protoc"), f"-I{ROOT}/proto", f"-I{ROOT}/third_party/proto",
         "--include_imports", f"--descriptor_set_out={output}", *FILES], check=True)


if __name__ == "__main__":
    make(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "locus", "descriptors.binpb"))
