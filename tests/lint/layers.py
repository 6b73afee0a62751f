"""Which layer includes what, and whether it may.

    core <- server -> proto <- client

An arrow is an include, and there are no others, except that the command line's
embedded mode starts the server in its own process, in one file.
"""

import os
import re

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
IMPORT = re.compile(r'^\s*import\s+(?:public\s+)?"([^"]+)"', re.MULTILINE)
SOURCES = (".h", ".cc")
BUILD_FILES = re.compile(r"(^|/)(CMakeLists\.txt|CMakePresets\.json|Makefile|Dockerfile|run)$"
                         r"|\.cmake$|^\.ci/")
# Results must not depend on the machine that built them, nor infinities break.
FORBIDDEN_FLAGS = ("-march=native", "-ffast-math")
EMBEDDED = "client/cli/support/embedded_server.cc"


def _is_std(header):
    """<vector> is; <sys/mman.h> and <immintrin.h> are not, nor is a clock mathematics."""
    return re.fullmatch(r"[a-z_0-9]+", header) and header not in ("chrono", "ctime")


def _may_core(quote, header):
    if header.split("/")[0] in ("core", "absl", "Eigen", "hwy"):
        return True
    return quote == "<" and _is_std(header)


def _may_include(path, quote, header):
    """Whether the file at `path` (relative to the root) may include `header`."""
    layer, target = path.split("/")[0], header.split("/")[0]
    if layer == "core":
        return _may_core(quote, header)
    if layer == "server":
        return target != "client"
    if layer == "client":
        return target != "core" and (target != "server" or path == EMBEDDED)
    return True


def _files(root):
    """Paths relative to the root, without what is built or belongs to git."""
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name not in (".git", "build", "node_modules")]
        for name in files:
            yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")


def _check(path, text):
    if path.endswith(SOURCES):
        for quote, header in INCLUDE.findall(text):
            if not _may_include(path, quote, header):
                yield f"{path} includes {header}"
    if path.startswith("proto/") and path.endswith(".proto"):
        for imported in IMPORT.findall(text):
            if not imported.startswith(("locus/", "google/")):
                yield f"{path} imports {imported}"
    if path.startswith("proto/") and path.endswith(SOURCES):
        yield f"{path}: proto holds the contract alone"
    if BUILD_FILES.search(path):
        for flag in FORBIDDEN_FLAGS:
            if flag in text:
                yield f"{path} mentions {flag}"


def violations(root):
    """One line for each breach in the tree at `root`, sorted."""
    found = []
    for path in _files(root):
        if not (path.endswith(SOURCES + (".proto",)) or BUILD_FILES.search(path)):
            continue
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            found += _check(path, file.read())
    return sorted(found)
