"""The backends to copy are built out of tree against an installed SDK, with nothing but the C API's headers."""

import pytest
from c_api import LIBRARY, c_names
from installed import build_copy, symbols
from support.server import ROOT

TEMPLATES = ROOT / "sdk" / "template" / "triton_backends"
SOURCES = {"identity": "identity.c", "repeat": "repeat.cc", "accumulate": "accumulate.cc", "bls": "bls.cc"}


@pytest.fixture(scope="module")
def folder(prefix, tmp_path_factory):
    return build_copy(prefix, "share/atoll/triton_backends", tmp_path_factory.mktemp("work") / "my_backends") / "build"


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_a_backend_exports_what_it_is_called_by_and_finds_what_it_calls(folder, name):
    file = folder / f"libtriton_{name}.so"
    assert "TRITONBACKEND_ModelInstanceExecute" in symbols(file, "--defined-only")
    called = c_names(symbols(file, "--undefined-only"))
    assert "TRITONBACKEND_RequestRelease" in called
    assert called <= symbols(LIBRARY, "--defined-only")


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_a_whole_backend_has_under_150_lines(name):
    assert len((TEMPLATES / SOURCES[name]).read_text().splitlines()) < 150
