"""Programs that tests use where they are. Without one a test is skipped, and ctest says so; with
LOCUS_REQUIRE_TOOLS set, as continuous integration has it, it fails."""

import os
import shutil
import unittest

REQUIRED = bool(os.environ.get("LOCUS_REQUIRE_TOOLS"))


def missing_tool(why):
    """Ends a test that cannot be done."""
    if REQUIRED:
        raise AssertionError(f"LOCUS_REQUIRE_TOOLS is set, but {why}")
    raise unittest.SkipTest(why)


def needs(*programs):
    """Of a test, or of all tests of a class."""
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
