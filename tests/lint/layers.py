"""Include rules of the source tree.

    core <- server -> proto <- client library

An arrow is an include, and there are no others. client/cli is an application and
may include everything. Within a layer, FOLDERS lists the folders from the lowest
to the highest: a folder may include its own headers and those of lower folders,
so that there are no cycles between folders.
"""

import os
import re

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
IMPORT = re.compile(r'^\s*import\s+(?:public\s+)?"([^"]+)"', re.MULTILINE)
SOURCES = (".h", ".cc")
BUILD_FILES = re.compile(r"(^|/)(CMakeLists\.txt|CMakePresets\.json|Makefile|Dockerfile|run)$"
                         r"|\.cmake$|^\.ci/")
# Results must not depend on the machine that built them, and infinities must
# keep their meaning.
FORBIDDEN_FLAGS = ("-march=native", "-ffast-math")

FOLDERS = (
    "core/simd",
    "core/base",
    "core/parallel",
    "core/encoding/angles",
    "core/encoding",
    "core/encoding/rope_scaling",
    "core/encoding/schemes",
    "core/attention",
    "core/attention/tiled",
    "core/attention/split_kv",
    "core/properties",
    "core/training",
    "core/evaluation/tasks",
    "core/evaluation/types",
    "core/evaluation/pattern",
    "core/evaluation/summary",
    "core/evaluation",
    "server/base",
    "server/config",
    "server/admission",
    "server/observability",
    "server/net",
    "server/http",
    "server/rpc/wire",
    "server/rpc",
    "server/services/convert",
    "server/evaluation",
    "server/services",
    "server",
    "client/base",
    "client/include/locus/client",
    "client/io",
    "client/src",
    "client/plot",
    "client/report",
    "client/load",
    "client/hf_config",
    "client/cli/support",
    "client/cli/requests",
    "client/cli/render",
    "client/cli/distributed",
    "client/cli/labs",
    "client/cli/commands",
    "client/cli",
)
RANK = {folder: rank for rank, folder in enumerate(FOLDERS)}
APPLICATION = "client/cli"


def _is_std(header):
    """Whether a header such as <vector> belongs to the standard library. Clocks do not count:
    mathematics has no time."""
    return re.fullmatch(r"[a-z_0-9]+", header) and header not in ("chrono", "ctime")


def _may_core(quote, header):
    if header.split("/")[0] in ("core", "absl", "Eigen", "hwy"):
        return True
    return quote == "<" and _is_std(header)


def _may_include(path, quote, header):
    """Whether the layer of the file at `path` (relative to the root) may include `header`."""
    layer, target = path.split("/")[0], header.split("/")[0]
    if layer == "core":
        return _may_core(quote, header)
    if layer == "server":
        return target != "client" and not header.startswith("locus/client/")
    if layer == "client" and not path.startswith(APPLICATION + "/"):
        return target not in ("core", "server") and not header.startswith(APPLICATION + "/")
    return True


def _folder_of_header(header):
    if header.startswith("locus/client/"):
        return "client/include/locus/client"
    return os.path.dirname(header)


def _folder_breach(path, header):
    """A complaint if `path` includes a header of a higher folder of its layer, or None."""
    own, other = os.path.dirname(path), _folder_of_header(header)
    layer = own.split("/")[0]
    if layer not in ("core", "server", "client"):
        return None
    if own not in RANK:
        return f"{path}: folder {own} is not listed in tests/lint/layers.py"
    if other.split("/")[0] != layer or other not in RANK:
        return None
    if RANK[other] > RANK[own]:
        return f"{path} includes {header} of a higher folder"
    return None


def _files(root):
    """Paths relative to the root, without build results and git's own files."""
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name not in (".git", "build", "node_modules")]
        for name in files:
            yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")


def _check(path, text):
    if path.endswith(SOURCES):
        for quote, header in INCLUDE.findall(text):
            if not _may_include(path, quote, header):
                yield f"{path} includes {header}"
            else:
                breach = _folder_breach(path, header)
                if breach:
                    yield breach
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
    """One line for each violation in the tree at `root`, sorted."""
    found = set()
    for path in _files(root):
        if not (path.endswith(SOURCES + (".proto",)) or BUILD_FILES.search(path)):
            continue
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            found.update(_check(path, file.read()))
    return sorted(found)


def folders_without_build_file(root):
    """Folders with sources that have no CMakeLists.txt of their own. Folders of headers alone need
    none."""
    listed = {os.path.dirname(path) for path in _files(root) if path.endswith("CMakeLists.txt")}
    return sorted(folder for folder in FOLDERS
                  if folder not in listed and
                  any(path.endswith(".cc") and os.path.dirname(path) == folder
                      for path in _files(root)))
