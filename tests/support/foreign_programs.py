"""Programs of others that open this build's libraries."""

import os
import re
import subprocess

from support.server import BUILD

LIBRARIES = BUILD / "lib" / "atoll"


def environment(*, preload=(), **variables):
    """Of such a program. The runtime of a sanitizer, which the libraries of such a build need, has to be loaded before all
    else; what the program itself does with its memory is not judged: perf_analyzer reads what it has freed."""
    needs = subprocess.run(["readelf", "-d", LIBRARIES / "libtritonserver.so"], check=True, capture_output=True, text=True).stdout
    runtimes = re.findall(r"\[(lib[at]san\.so\S*|libubsan\.so\S*)\]", needs)
    options = [os.environ.get("ASAN_OPTIONS", ""), "detect_leaks=0", "alloc_dealloc_mismatch=0", "replace_intrin=0"]
    return {**os.environ, **variables, "LD_PRELOAD": " ".join([*runtimes, *map(str, preload)]),
            "ASAN_OPTIONS": ":".join(filter(None, options))}
