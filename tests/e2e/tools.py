"""Optional programs that tests use. A test is skipped if its program is not installed, and fails
instead if LOCUS_REQUIRE_TOOLS is set, as in continuous integration."""

import os
import shutil
import unittest

REQUIRED = bool(os.environ.get("LOCUS_REQUIRE_TOOLS"))


def missing_tool(why):
    """Skips the running test, or fails it if tools are required."""
    if REQUIRED:
        raise AssertionError(f"LOCUS_REQUIRE_TOOLS is set, but {why}")
    raise unittest.SkipTest(why)


def needs(*programs):
    """Decorator of a test method or a test class that needs these programs."""
    missing = [name for name in programs if not shutil.which(name)]
    why = f"not installed: {', '.join(missing)}"
    if not missing or not REQUIRED:
        return unittest.skipIf(missing, why)

    def fail(case):
        def failing(self):
            missing_tool(why)
        if not isinstance(case, type):
            return failing
        return type(case.__name__, (unittest.TestCase,),
                    {name: failing for name in dir(case) if name.startswith("test")})
    return fail
