"""The batching strategy to copy is built out of tree against an installed SDK, and finds its functions in the server's
library."""

import re

import pytest
from c_api import LIBRARY, c_names, declared
from installed import build_copy, symbols
from support.server import ROOT

TEMPLATE = ROOT / "sdk" / "template" / "batching"


@pytest.fixture(scope="module")
def strategy(prefix, tmp_path_factory):
    folder = build_copy(prefix, "share/atoll/batching", tmp_path_factory.mktemp("work") / "my_strategy")
    return folder / "build" / "batchstrategy.so"


def of_strategies(names):
    return {name for name in names if re.match("TRITONBACKEND_ModelBatch", name)}


def test_a_strategy_is_five_functions_and_a_backend_nine():
    foreign = declared("ISPEC")
    assert len(of_strategies(foreign)) == 5
    assert len({name for name in foreign - of_strategies(foreign) if name.startswith("TRITONBACKEND_")}) == 9


def test_the_strategy_exports_them(strategy):
    assert c_names(symbols(strategy, "--defined-only")) == of_strategies(declared("ISPEC"))


def test_the_strategy_finds_what_it_calls(strategy):
    called = c_names(symbols(strategy, "--undefined-only"))
    assert "TRITONBACKEND_InputProperties" in called
    assert called <= symbols(LIBRARY, "--defined-only")


def test_the_whole_strategy_has_under_120_lines():
    assert len((TEMPLATE / "volume_batching.cc").read_text().splitlines()) < 120
