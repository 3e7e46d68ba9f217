"""The pages that lead from nothing to something that is served, done as they say."""

import pytest
from guide import FENCE, Page
from installed import install
from support.server import ROOT

PAGES = sorted((ROOT / "docs").glob("guide-*.md"))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home folder with the SDK and the server in atoll/, as the plugin guide installs them."""
    home = tmp_path_factory.mktemp("home")
    install(home / "atoll", "sdk", "proto", "server", "onnxruntime")
    return home


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_does_what_it_says(page, home, tmp_path):
    text = page.read_text()
    kinds = [match["kind"] for match in FENCE.finditer(text)]
    assert "cpp" in kinds and "sh" in kinds and "text" in kinds, kinds
    Page(text, home, tmp_path).run()
