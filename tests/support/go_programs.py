"""Programs written in Go, which tests/clients/build makes."""

import functools
import pathlib
import subprocess

from .server import ROOT


@functools.cache
def go_program(name):
    """Its path. The first use of a new tree downloads and compiles, for a minute or two."""
    built = subprocess.run([ROOT / "tests/clients/build"], stdout=subprocess.PIPE, text=True, check=True)
    return pathlib.Path(built.stdout.strip()) / name
