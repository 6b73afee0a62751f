"""Paths of the package and of the helpers in tests/e2e. Import this module first."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
PACKAGE = os.path.join(ROOT, "client", "python")
sys.path[:0] = [PACKAGE, os.path.join(ROOT, "tests", "e2e")]
# A client in a test must never use a server that happens to be configured.
os.environ.pop("LOCUS_SERVER", None)
