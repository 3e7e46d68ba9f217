"""What a benchmark says about the machine of its figures."""

import pathlib
import platform


def cpu_model():
    """The CPU's name, as its maker writes it."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
