"""The scripted server of fake_evaluation.h for tests of the command line."""

import contextlib
import subprocess

# Seeds that select the behaviour of the server.
(COMPLETE, HANGING, BUSY, BREAKING, INVALID, LATE, PARTIAL, LARGE, HOSTILE, HOSTILE_ERROR,
 MALFORMED, NO_SUMMARY) = range(12)


@contextlib.contextmanager
def fake_server(program, manifest):
    """Runs the server and yields its address."""
    with subprocess.Popen([program, manifest], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            yield "127.0.0.1:" + process.stdout.readline().strip()
        finally:
            process.stdin.close()
            process.wait(timeout=60)
