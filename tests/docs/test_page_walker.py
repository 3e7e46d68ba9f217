"""The walker of pages on pages that were made up for it: what is forgotten is found, with page, line and what is missing."""

import pytest
from page_walker import Walk

PLUGINS = ("caches/local", "control/none", "schedulers/dynamic")
MAKES = {"atoll_quickstart": ["bin/atoll", "bin/tritonserver", "lib/atoll/plugins/control/none.so", "lib/atoll/libatoll_proto.so"],
         "caches/local": ["lib/atoll/plugins/caches/local.so"],
         "atollctl": ["bin/atollctl"],
         "schedulers/dynamic": ["lib/atoll/libatoll_batch_strategies.so", "lib/atoll/libtritonserver.so"],
         "sdk": ["bin/atoll-lint", "lib/atoll/testing/libcuda.so.1", "lib/atoll/testing/libnvidia-ml.so.1"]}


class Tree:
    """A tree in which the server takes a manifest whenever the plugins of its settings are there."""

    def __init__(self, **files):
        self.files = files
        self.there = set(MAKES["atoll_quickstart"])

    def build(self, words):
        unknown = [word for word in words[1:] if word not in MAKES]
        for word in words[1:]:
            self.there.update(MAKES.get(word, ()))
        return f"there is no {unknown[0]}" if unknown else None

    def has(self, name):
        return name in self.there

    def is_plugin(self, use):
        return use in PLUGINS

    def is_script(self, path):
        return path in self.files

    def read(self, path):
        return self.files[path]

    def refusal(self, manifest, settings):
        return "no cache" if "cache" in " ".join([manifest, *settings]) and not self.has("lib/atoll/plugins/caches/local.so") else ""

    def flags_refusal(self, flags):
        return self.refusal("", flags)


def walked(page, **files):
    return Walk(Tree(page=page, **files)).page("page")


SERVED = "# Page\n\n    build/release/bin/atoll --manifest etc/atoll.toml\n"
WITH_CACHE = """\
Then

    build/release/bin/atoll --manifest etc/atoll.toml \\
      --set 'plugin.cache.use="caches/local"'
"""
BUILD_CACHE = "First\n\n    etc/dev/build release caches/local   # a minute\n\n"


def test_what_the_quickstart_has_needs_no_command():
    assert walked(SERVED) == []


def test_a_forgotten_plugin_is_found_with_its_line():
    assert walked(WITH_CACHE) == ["page:3: plugin caches/local is not built", "page:3: the server says: no cache"]
    assert walked(BUILD_CACHE + WITH_CACHE) == []


def test_a_command_that_comes_too_late_does_not_count():
    assert walked(WITH_CACHE + "\n" + BUILD_CACHE) == walked(WITH_CACHE)


@pytest.mark.parametrize("page, missing", [
    ("    atollctl pool list\n", "bin/atollctl is not built"),
    ("`atollctl pool list` says\n", "bin/atollctl is not built"),
    ("    ~/atoll/bin/atoll-lint x.so\n", "bin/atoll-lint is not built"),
    ("    cd x && FOO=1 atollctl list | cat\n", "bin/atollctl is not built"),
    ("    $ atollctl list\n", "bin/atollctl is not built"),
    ("```toml\nuse = \"caches/local\"\n```\n", "plugin caches/local is not built"),
    ("set `plugin.x.use = \"caches/local\"` in it\n", "plugin caches/local is not built"),
    ("the library `lib/atoll/libtritonserver.so` is\n", "lib/atoll/libtritonserver.so is not built"),
    ("    LD_LIBRARY_PATH=x ./a build/release/lib/atoll/libtritonserver.so\n", "lib/atoll/libtritonserver.so is not built"),
    ("    cp build/batchstrategy.so /srv/models/m/\n", "lib/atoll/libatoll_batch_strategies.so is not built"),
    ("    cmake -B build -DCMAKE_PREFIX_PATH=~/atoll\n", "the SDK is not installed"),
    ("    cmake --install build/release --component sdk --prefix x\n", "bin/atoll-lint is not built"),
    ("    tritonserver --cache-config=local,size=1\n", "the server says: no cache"),
    ("    etc/dev/build release caches/lokal\n", "there is no caches/lokal"),
])
def test_each_kind_of_use_is_seen(page, missing):
    assert f"page:{2 if 'toml' in page else 1}: {missing}" in walked(page)


@pytest.mark.parametrize("page", [
    "The program `atollctl` is one word, `sdk` another\n",
    "    use = \"examples/mine\"\n",
    "    cp x build/lib/atoll/plugins/examples/mine.so y\n",
    "```python\nuse = \"caches/local\"\n```\n",
    "    etc/dev/build release atollctl && build/release/bin/atollctl pool list\n",
    "| build | `etc/dev/build release sdk` |\n\n    cmake --install b --component sdk --prefix x\n    cmake -DCMAKE_PREFIX_PATH=x\n",
    "    curl x -d '{\"a\":\n      1}'\n",
])
def test_what_needs_nothing_is_let_be(page):
    assert walked(page) == []


def test_a_script_is_read_in_its_place():
    script = ("here=etc/x\nfolder=${1:-build/release/bin}\netc/dev/build release caches/local\n"
              "setsid $folder/atoll --manifest $here/cache.toml >log &\n")
    assert walked("    etc/examples/run\n", **{"etc/examples/run": script}) == []
    assert walked("    etc/examples/run\n", **{"etc/examples/run": script.replace("release caches/local", "release")}) == [
        "etc/examples/run:4: the server says: no cache"]


def test_a_section_on_installing_is_followed():
    guide = "# Guide\n\n    atollctl no\n\n## Install it\n\n    etc/dev/build release sdk\n\n## Use\n\n    atollctl no\n"
    page = "Do as [the guide](guide.md#install-it) says.\n\n    atoll-lint mine.so\n"
    assert walked(page, **{"guide.md": guide}) == []
    assert walked(page.replace("#install-it", ""), **{"guide.md": guide}) == ["page:3: bin/atoll-lint is not built"]
