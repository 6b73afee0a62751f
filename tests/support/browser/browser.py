"""Runs scripts of Debian's Chromium with playwright-core from npm. A test is skipped if one of them
is missing, and fails instead if LOCUS_REQUIRE_TOOLS is set.

Usage in a test:  sys.path.insert(0, ".../tests/support/browser"); import browser
                  results = browser.run_script("check_svgs.mjs", screenshots, *files)
"""

import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
# Where the npm package is installed, below the build tree.
TOOLS = pathlib.Path(os.environ.get("LOCUS_BROWSER_TOOLS", ROOT / "build" / "browser"))
PLAYWRIGHT = "playwright-core@1.49.1"

sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from tools import missing_tool  # noqa: E402 (found through sys.path above)


def tools_folder():
    """Returns the folder with playwright-core, which is installed on first use."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            missing_tool(f"not installed: {program}")
    TOOLS.mkdir(parents=True, exist_ok=True)
    mark = TOOLS / "installed"
    # Tests that run at the same time install it once.
    with open(TOOLS / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if mark.exists() and mark.read_text(encoding="utf-8") == PLAYWRIGHT:
            return TOOLS
        installed = subprocess.run(
            ["npm", "install", "--silent", "--no-audit", "--no-fund", "--no-save", "--prefix",
             str(TOOLS), PLAYWRIGHT], capture_output=True, text=True, check=False, timeout=240)
        if installed.returncode != 0:
            missing_tool("npm could not install: " + installed.stderr[-500:])
        mark.write_text(PLAYWRIGHT, encoding="utf-8")
    return TOOLS


def chromium():
    """Returns the path of the browser."""
    path = shutil.which("chromium")
    if path is None:
        missing_tool("not installed: chromium")
    return path


def run_script(script, *arguments, timeout=120):
    """Runs a script with the folder of npm packages as its first argument. Returns its output,
    parsed as JSON. `script` is a file of this folder or an absolute path."""
    command = ["node", str(HERE / script), str(tools_folder()), *map(str, arguments)]
    environment = dict(os.environ, CHROMIUM=chromium())
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout,
                          env=environment)
    if done.returncode != 0:
        raise AssertionError(f"{script} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return json.loads(done.stdout)
