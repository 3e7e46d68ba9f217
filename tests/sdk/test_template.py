"""The template is built out of tree against an installed SDK, as a plugin's author would do it."""

import json
import pathlib
import re

import pytest
from installed import build_copy, run, symbols
from support.server import ATOLL, ROOT

TEMPLATE = ROOT / "sdk" / "template"
PLUGIN = pathlib.Path("build", "lib", "atoll", "plugins", "examples", "hello.so")


@pytest.fixture(scope="module")
def plugin(prefix, tmp_path_factory):
    return build_copy(prefix, "share/atoll/template", tmp_path_factory.mktemp("work") / "hello")


def test_the_sdk_component_is_complete_and_nothing_else(prefix):
    installed = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}
    headers = {str(pathlib.Path("include") / path.relative_to(base)) for base in
               (ROOT / "sdk" / "include", ROOT / "sdk" / "testing" / "include") for path in base.rglob("*.h")}
    headers |= {f"include/triton/core/{name}.h" for name in ("tritonserver", "tritonbackend")}
    assert headers <= installed
    assert "share/atoll/batching/volume_batching.cc" in installed
    assert {"lib/cmake/Atoll/AtollConfig.cmake", "lib/cmake/Atoll/AtollConfigVersion.cmake",
            "lib/cmake/Atoll/AtollPlugin.cmake", "lib/cmake/Atoll/atoll_plugin.map"} <= installed
    assert {"share/doc/atoll/docs/plugin-guide.md", "include/atoll/README.md", "include/atoll/testing/README.md"} <= installed
    assert {name for name in installed if name.startswith("bin/")} == {"bin/atoll-lint"}
    assert not any(name.endswith((".so", ".a")) for name in installed)
    compiled = {"bin/atoll-lint", "lib/atoll/testing/libcuda.so.1", "lib/atoll/testing/libnvidia-ml.so.1"}
    assert compiled <= installed
    for name in installed - compiled:
        assert str(ROOT) not in (prefix / name).read_text(errors="replace"), f"{name} points into the source tree"


def test_links_of_installed_documents_lead_to_installed_ones(prefix):
    documents = prefix / "share/doc/atoll"
    pages = sorted(documents.rglob("*.md"))
    assert len(pages) > 50
    for page in pages:
        for target in re.findall(r"\]\(([\w./-]+\.\w+)(?:#[\w-]*)?\)", page.read_text()):
            found = (page.parent / target).resolve().relative_to(documents.resolve())
            if found.parts[0] == "docs" or found.name == "README.md" and found.parts[0] == "plugins":
                assert (documents / found).exists(), f"{page.name} names {target}"


def test_the_whole_plugin_has_under_60_lines():
    lines = sum(len((TEMPLATE / name).read_text().splitlines()) for name in ("CMakeLists.txt", "plugin.cc"))
    assert lines < 60


def test_its_unit_test_and_the_lint_pass(plugin):
    output = run("ctest", "--test-dir", plugin / "build", "--output-on-failure", "--no-tests=error")
    assert "100% tests passed" in output and "out of 2" in output


def test_it_exports_the_descriptor_and_nothing_else(plugin):
    assert symbols(plugin / PLUGIN, "--defined-only") == {"atoll_plugin_v1"}


def check(plugin, tmp_path, options, code):
    assert ATOLL.exists(), f"{ATOLL} is not built"
    manifest = tmp_path / "atoll.toml"
    manifest.write_text(f'[atoll]\nplugin_path = ["{(plugin / PLUGIN).parents[1]}"]\n'
                        f'[plugin.hello]\nuse = "examples/hello"\n{options}\n')
    return run(ATOLL, "--manifest", manifest, "--check", code=code)


def test_the_server_accepts_it_in_a_manifest(plugin, tmp_path):
    check(plugin, tmp_path, 'greeting = "good morning"', 0)


def test_the_server_knows_its_options(plugin, tmp_path):
    output = check(plugin, tmp_path, 'greetin = "good morning"', 2)
    assert "greetin" in output and "greeting" in output


@pytest.mark.parametrize("arguments, optimised", [([], True), (["-DCMAKE_BUILD_TYPE=Debug"], False),
                                                  (["-DCMAKE_CXX_FLAGS=-O0"], False)])
def test_a_build_without_a_type_is_optimised(prefix, tmp_path, arguments, optimised):
    run("cmake", "-S", prefix / "share/atoll/template", "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
        "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *arguments)
    commands = [entry["command"] for entry in json.loads((tmp_path / "compile_commands.json").read_text())
                if "plugin_examples_hello" in entry["command"]]
    assert len(commands) == 1 and ("-O2" in commands[0].split()) == optimised, commands
