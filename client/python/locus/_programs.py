"""Finds the programs of Locus: locusd, the server, and locus, the command line."""

from __future__ import annotations

import os
import shutil
from typing import List, Optional

from locus.errors import LocalServerError

_HERE = os.path.dirname(os.path.abspath(__file__))


def _checkout_program(name: str) -> Optional[str]:
    """The program in the build tree of the checkout that this file is in."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(_HERE)))
    path = os.path.join(root, "build", "release", name)
    return path if os.access(path, os.X_OK) else None


def find(name: str) -> str:
    """The path of a program: the environment variable LOCUSD or LOCUS, or `name` in PATH, or in
    build/release of the checkout that the package is used from."""
    variable = name.upper()
    given = os.environ.get(variable)
    if given:
        found = shutil.which(given)
        if found is None:
            raise LocalServerError(f"{variable}: {given} is not a program")
        return found
    path = shutil.which(name) or _checkout_program(name)
    if path is None:
        raise LocalServerError(_missing(name, variable))
    return path


def _missing(name: str, variable: str) -> str:
    places: List[str] = [f"the environment variable {variable} is not set",
                         f"there is no {name} in PATH"]
    advice = (f"install the Debian package {name}, or build it with ./run build "
              f"and set {variable}")
    if name == "locusd":
        advice += ", or pass the address of a server to connect()"
    return f"{name} was not found: {', and '.join(places)}; {advice}"
