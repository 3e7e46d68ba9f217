"""Whoever has run etc/dev/quickstart, and nothing else, can follow any page from its top: what a command uses was built by the
quickstart, or by a command that the page names before. Commands are followed, but for those that build: what they make is taken
from the build under test, which has everything."""

import re

import pytest
from page_walker import Walk
from support.built_tree import BuiltTree
from support.server import BUILD, ROOT

# Others are made by programs, or are about the pages themselves.
GENERATED = ("docs/manifest.md",)
PAGES = sorted(str(path.relative_to(ROOT)) for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"),
                                                        *(path for folder in ("etc", "plugins", "sdk")
                                                          for path in (ROOT / folder).rglob("README.md"))])


@pytest.mark.parametrize("page", [page for page in PAGES if page not in GENERATED])
def test_a_page_names_what_builds_what_it_uses(page, tmp_path):
    problems = Walk(BuiltTree(tmp_path, "atoll_quickstart")).page(page)
    assert problems == [], "\n".join(["not there for who has run etc/dev/quickstart:", *problems])


def test_every_plugin_says_what_builds_it():
    default = re.findall(r'^use = "(\S+)"', (ROOT / "etc/atoll.toml").read_text(), re.MULTILINE)
    for file in sorted((ROOT / "plugins").glob("*/*/plugin.cc")):
        name = f"{file.parent.parent.name}/{file.parent.name}"
        assert name in default or f"`etc/dev/build release {name}`" in (file.parent / "README.md").read_text(), name


def test_the_tree_has_what_the_quickstart_builds_and_no_more(tmp_path):
    tree = BuiltTree(tmp_path, "atoll_quickstart")
    assert tree.has("bin/atoll") and tree.has("bin/tritonserver") and not tree.has("bin/atollctl")
    assert tree.refusal("etc/atoll.toml", []) == ""
    assert tree.refusal("etc/pools.toml", []).count("to get it: etc/dev/build ") == 4
    assert f"to get it: etc/dev/build {BUILD.name} caches/local" in tree.flags_refusal(["--cache-config=local,size=1048576"])
