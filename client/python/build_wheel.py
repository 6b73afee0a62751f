#!/usr/bin/env python3
"""Builds the wheel of the package: build_wheel.py FOLDER [UNPACKED]

Writes locus_client-VERSION-py3-none-any.whl to FOLDER, and its unpacked files to UNPACKED. Needs
Debian's python3-setuptools and python3-wheel only, and no network.
"""

import os
import shutil
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def build(folder: str) -> str:
    """Builds the wheel, and returns its path."""
    folder = os.path.abspath(folder)
    os.makedirs(folder, exist_ok=True)
    # zip archives have no times before 1980. A fixed time makes the wheel reproducible.
    os.environ.setdefault("SOURCE_DATE_EPOCH", "315532800")
    with tempfile.TemporaryDirectory() as temporary:
        # setuptools writes beside the sources, so it gets a copy.
        source = shutil.copytree(HERE, os.path.join(temporary, "source"),
                                 ignore=shutil.ignore_patterns("__pycache__", ".mypy_cache"))
        os.chdir(source)
        from setuptools import build_meta
        name = build_meta.build_wheel(folder)
        os.chdir(HERE)
    return os.path.join(folder, name)


def main() -> None:
    folder, *unpacked = (os.path.abspath(path) for path in sys.argv[1:])  # setuptools changes argv
    wheel = build(folder)
    if unpacked:
        shutil.rmtree(unpacked[0], ignore_errors=True)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(unpacked[0])


if __name__ == "__main__":
    main()
