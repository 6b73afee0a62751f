#!/usr/bin/env python3
"""Writes docs/configuration.md from the output of `locusd --help`.

    python3 tests/docs/make_configuration_page.py LOCUSD [OUTPUT]

LOCUSD is the path of the server binary, such as build/release/locusd.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "configuration.md"

INTRODUCTION = """\
# Configuration

<!-- Generated from `locusd --help` by tests/docs/make_configuration_page.py. Edit the flags instead. -->

Every option of `locusd` is a command-line flag, an environment variable, and a line in a flag file. This page is generated from `locusd --help`. [operations.md](operations.md#tuning) explains which options to change for which goal, [SECURITY.md](../SECURITY.md) explains TLS and tokens.

## Precedence

1. The command line: `--threads=4`. If a flag is repeated, the last one counts.
2. The environment: `LOCUS_THREADS=4`.
3. The flag file, named by `--flagfile` or `LOCUS_FLAGFILE`: a line `threads=4`. Empty lines and lines that start with `#` are ignored.
4. The default.

Sizes accept the suffixes `KiB`, `MiB`, `GiB` and `TiB`. Booleans are `true` or `false`. An empty value is written as `--http=`.

A wrong flag, an unreadable file, a certificate that is broken, expired or not yet valid, or a port in use ends the start with exit code 2 and one line that gives the reason. The exit code is 1 if the process cannot create the threads that it needs (`ulimit -u`, or `pids.max` of its cgroup). If TLS or token authentication is configured but cannot be set up, the server refuses to start.

## Options

"""

# Flags that print something and exit instead of starting the server.
ACTIONS = ("help", "version", "completion", "manual")
OPTION = re.compile(r"^  (?:-\w,)?--([a-z-]+)(?: ([\w:/|.-]+))?(?:\s+(\S.*))?$")
CONTINUATION = re.compile(r"^ {20,}(\S.*)$")
DEFAULT = re.compile(r"^(.*?)\s*\[([^\]]*)\]$")


def help_text(locusd):
    return subprocess.run([str(locusd), "--help"], capture_output=True, text=True, check=True,
                          timeout=60).stdout


def options(text):
    """Returns [(name, value placeholder, meaning)] of the options in a help text."""
    if "\nOptions:\n" not in text:
        raise ValueError("the help text has no section Options:")
    found = []
    for line in text.split("\nOptions:\n", 1)[1].split("\n"):
        if option := OPTION.match(line):
            found.append([option[1], option[2] or "", option[3] or ""])
        elif found and (more := CONTINUATION.match(line)):
            found[-1][2] = f"{found[-1][2]} {more[1]}".strip()
        elif not line.strip():
            break  # the examples follow
        else:
            raise ValueError(f"cannot parse this line of the help text: {line!r}")
    return [tuple(option) for option in found]


def cell(text):
    text = re.sub(r"(?<![\w`/-])(--[a-z][a-z-]+)", r"`\1`", text)
    text = text.replace("|", "\\|").replace("<", "&lt;")
    return text[:1].upper() + text[1:]


def row(name, text):
    meaning, default = text, ""
    if found := DEFAULT.match(text):
        meaning, default = found[1], f"`{found[2]}`"
    variable = "LOCUS_" + name.upper().replace("-", "_")
    return f"| `--{name}` | `{variable}` | {default} | {cell(meaning)} |"


def examples(text):
    """Returns the examples of a help text, without indentation."""
    lines = text.split("\nExamples:\n", 1)[1].rstrip().split("\n")
    return "\n".join(line[2:] for line in lines)


def page(locusd):
    """Returns the text of docs/configuration.md."""
    text = help_text(locusd)
    found = options(text)
    settings = [option for option in found if option[0] not in ACTIONS]
    actions = [option for option in found if option[0] in ACTIONS]
    lines = ["| flag | environment variable | default | meaning |", "|---|---|---|---|"]
    lines += [row(name, meaning) for name, _, meaning in settings]
    lines += ["", "These flags print something and exit:", "", "| flag | meaning |", "|---|---|"]
    lines += [f"| `--{name}{'=' + value if value else ''}` | {cell(meaning)} |"
              for name, value, meaning in actions]
    lines += ["", "## Examples", "", "```", examples(text), "```"]
    return INTRODUCTION + "\n".join(lines) + "\n"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    output = Path(sys.argv[2]) if len(sys.argv) > 2 else PAGE
    output.write_text(page(sys.argv[1]), encoding="utf-8")
    print(f"wrote {output}")


if __name__ == "__main__":
    main()
