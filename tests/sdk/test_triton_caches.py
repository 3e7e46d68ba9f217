"""The cache to copy is built out of tree against an installed SDK, with nothing but the C API's headers."""

import pytest
from c_api import LIBRARY, c_names, declared
from installed import build_copy, symbols
from support.server import ROOT

SOURCE = ROOT / "sdk" / "template" / "triton_caches" / "memory.cc"


@pytest.fixture(scope="module")
def cache(prefix, tmp_path_factory):
    folder = build_copy(prefix, "share/atoll/triton_caches", tmp_path_factory.mktemp("work") / "my_caches")
    return folder / "build" / "libtritoncache_memory.so"


def test_the_cache_exports_four_functions_and_finds_what_it_calls(cache):
    foreign = {name for name in declared("ISPEC") if name.startswith("TRITONCACHE_")}
    assert len(foreign) == 4
    assert c_names(symbols(cache, "--defined-only")) == foreign
    called = c_names(symbols(cache, "--undefined-only"))
    assert "TRITONCACHE_Copy" in called
    assert called <= symbols(LIBRARY, "--defined-only")


def test_the_whole_cache_has_under_150_lines():
    assert len(SOURCE.read_text().splitlines()) < 150
