"""libtritonserver.so has every name of Triton's C API: code that is bound at once is refused for a single one that is missing."""

import collections

from c_api import LIBRARY, LIST, c_names, declared
from installed import symbols

NAMES = LIST.read_text().splitlines()


def test_the_list_is_complete_and_in_order():
    assert sorted(set(NAMES)) == NAMES
    assert collections.Counter(name.split("_")[0] for name in NAMES) == {
        "TRITONSERVER": 173, "TRITONBACKEND": 91, "TRITONREPOAGENT": 12, "TRITONCACHE": 8}


def test_the_library_exports_the_list():
    assert c_names(symbols(LIBRARY, "--defined-only")) == set(NAMES)


def test_the_headers_declare_the_list():
    assert declared("DECLSPEC") == set(NAMES)
