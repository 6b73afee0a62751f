#!/usr/bin/env python3
"""The package as a whole: descriptors, version, syntax, and a wheel in a fresh environment."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

import support
from tools import missing_tool

import locus

MAX_LINES = 500
PROGRAM = """
import locus, sys
assert locus.__file__.startswith(sys.prefix), locus.__file__
with locus.connect() as client:
    cos, sin = client.rope(positions=[0, 7, 1_000_000], dim=128, base=500_000)
    print(cos.shape, client.health())
"""


def sources():
    folder = os.path.join(support.PACKAGE, "locus")
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))
            if name.endswith(".py")]


class PackageTest(unittest.TestCase):
    def test_descriptors_match_the_proto_files(self):
        with tempfile.TemporaryDirectory() as folder:
            made = os.path.join(folder, "descriptors.binpb")
            subprocess.run([sys.executable, "-B",
                            os.path.join(support.PACKAGE, "make_descriptors.py"), made], check=True)
            with open(made, "rb") as new, open(os.path.join(support.PACKAGE, "locus",
                                                            "descriptors.binpb"), "rb") as old:
                self.assertEqual(new.read(), old.read(),
                                 "run client/python/make_descriptors.py after changes of proto/")

    def test_the_version_is_that_of_the_project(self):
        with open(os.path.join(support.ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
            version = re.search(r"project\(locus VERSION ([\d.]+)", file.read()).group(1)
        self.assertEqual(locus.__version__, version)

    def test_sources_are_valid_in_python_3_9_and_short(self):
        for path in sources():
            with open(path, encoding="utf-8") as file:
                text = file.read()
            ast.parse(text, path, feature_version=(3, 9))
            self.assertLessEqual(text.count("\n"), MAX_LINES, path)

    def test_everything_public_is_documented(self):
        for path in sources():
            with open(path, encoding="utf-8") as file:
                tree = ast.parse(file.read())
            self.assertTrue(ast.get_docstring(tree), path)
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    self.assertTrue(ast.get_docstring(node), f"{path}: {node.name}")

    def test_there_is_no_generated_code(self):
        self.assertFalse([path for path in sources() if "_pb2" in path])


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for module in ("setuptools", "wheel", "venv", "ensurepip"):
            if importlib.util.find_spec(module) is None:
                missing_tool(f"the Python module {module} is not installed")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.before = sorted(os.listdir(support.PACKAGE))
        subprocess.run([sys.executable, "-B", os.path.join(support.PACKAGE, "build_wheel.py"),
                        cls.folder, os.path.join(cls.folder, "unpacked")], check=True,
                       capture_output=True)
        cls.wheel = next(os.path.join(cls.folder, name) for name in os.listdir(cls.folder)
                         if name.endswith(".whl"))

    def test_the_wheel_is_pure_python_with_its_data(self):
        self.assertEqual(os.path.basename(self.wheel),
                         f"locus_client-{locus.__version__}-py3-none-any.whl")
        with zipfile.ZipFile(self.wheel) as archive:
            names = archive.namelist()
        for name in ("locus/__init__.py", "locus/aio.py", "locus/testing.py", "locus/py.typed",
                     "locus/descriptors.binpb"):
            self.assertIn(name, names)
        self.assertFalse([name for name in names
                          if not name.startswith(("locus/", "locus_client-"))])

    def test_the_unpacked_wheel_has_the_same_files(self):
        with zipfile.ZipFile(self.wheel) as archive:
            for name in archive.namelist():
                with open(os.path.join(self.folder, "unpacked", name), "rb") as file:
                    self.assertEqual(file.read(), archive.read(name))

    def test_building_leaves_the_sources_alone(self):
        self.assertEqual(sorted(os.listdir(support.PACKAGE)), self.before)

    def test_the_wheel_works_in_a_fresh_environment(self):
        home = os.path.join(self.folder, "venv")
        subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", home], check=True)
        python = os.path.join(home, "bin", "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
                        "--disable-pip-version-check", self.wheel], check=True)
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run([python, "-c", PROGRAM], cwd=self.folder, env=environment,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "(3, 64) SERVING\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
