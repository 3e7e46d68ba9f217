"""The names of Triton's C API, as headers and libraries have them."""

import re

from support.server import BUILD, ROOT

LIBRARY = BUILD / "lib" / "atoll" / "libtritonserver.so"
HEADERS = ROOT / "sdk" / "triton" / "include" / "triton" / "core"
LIST = ROOT / "sdk" / "triton" / "exported_names.txt"


def c_names(names):
    return {name for name in names if name.startswith("TRITON")}


def declared(mark):
    """The functions of the headers that are marked as the server's (DECLSPEC) or the foreign code's (ISPEC)."""
    text = "".join(re.sub(r"//.*", "", header.read_text()) for header in HEADERS.glob("*.h"))
    return set(re.findall(rf"^TRITON\w+_{mark}\s[^;(]*?(TRITON\w+)\(", text, re.MULTILINE))
