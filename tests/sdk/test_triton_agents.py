"""The repository agents to copy are built out of tree against an installed SDK, with nothing but the C API's headers."""

import pytest
from c_api import LIBRARY, c_names
from installed import build_copy, symbols
from support.server import ROOT

TEMPLATES = ROOT / "sdk" / "template" / "triton_agents"
SOURCES = {"checksum": "checksum.c", "decode": "decode.cc"}


@pytest.fixture(scope="module")
def folder(prefix, tmp_path_factory):
    return build_copy(prefix, "share/atoll/triton_agents", tmp_path_factory.mktemp("work") / "my_agents") / "build"


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_an_agent_exports_what_it_is_called_by_and_finds_what_it_calls(folder, name):
    file = folder / f"libtritonrepoagent_{name}.so"
    assert c_names(symbols(file, "--defined-only")) == {"TRITONREPOAGENT_ModelAction"}
    called = c_names(symbols(file, "--undefined-only"))
    assert "TRITONREPOAGENT_ModelRepositoryLocation" in called
    assert called <= symbols(LIBRARY, "--defined-only")


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_a_whole_agent_has_under_150_lines(name):
    assert len((TEMPLATES / SOURCES[name]).read_text().splitlines()) < 150
