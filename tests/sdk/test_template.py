"""The template is built out of tree against an installed SDK, as a plugin's author would do it."""

import os
import pathlib
import re
import subprocess

import pytest
from support.server import ATOLL, BUILD, ROOT

LINT = BUILD / "bin" / "atoll-lint"
TEMPLATE = ROOT / "sdk" / "template"
PLUGIN = pathlib.Path("build", "lib", "atoll", "plugins", "examples", "hello.so")


def run(*command, code=0, **options):
    environment = dict(os.environ)
    for name in ("DESTDIR", "CXXFLAGS", "CMAKE_PREFIX_PATH"):
        environment.pop(name, None)
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", env=environment, timeout=600, **options)
    assert done.returncode == code, f"{command} ended with {done.returncode}\n{done.stdout}"
    return done.stdout


def cache_value(name):
    found = re.search(rf"^{name}(?::\w+)?=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
    return found.group(1) if found else ""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("installed")
    run("cmake", "--install", BUILD, "--component", "sdk", "--prefix", prefix)
    return prefix


@pytest.fixture(scope="module")
def plugin(prefix, tmp_path_factory):
    """A copy of the installed template, built. Sanitizers have to be those of the server that shall load it."""
    folder = tmp_path_factory.mktemp("work") / "hello"
    run("cp", "-r", prefix / "share" / "atoll" / "template", folder)
    sanitize = cache_value("ATOLL_SANITIZE")
    flags = "-Wall -Wextra -Wpedantic -Werror" + (f" -fsanitize={sanitize}" if sanitize else "")
    run("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_COMPILER={cache_value('CMAKE_CXX_COMPILER') or 'c++'}", f"-DCMAKE_CXX_FLAGS={flags}",
        f"-DCMAKE_CXX_COMPILER_LAUNCHER={cache_value('ATOLL_CCACHE').replace('ATOLL_CCACHE-NOTFOUND', '')}")
    run("cmake", "--build", folder / "build")
    return folder


def test_the_sdk_component_is_complete_and_nothing_else(prefix):
    installed = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}
    headers = {str(pathlib.Path("include") / path.relative_to(base)) for base in
               (ROOT / "sdk" / "include", ROOT / "sdk" / "testing" / "include") for path in base.rglob("*.h")}
    assert headers <= installed
    assert {"lib/cmake/Atoll/AtollConfig.cmake", "lib/cmake/Atoll/AtollConfigVersion.cmake",
            "lib/cmake/Atoll/AtollPlugin.cmake", "lib/cmake/Atoll/atoll_plugin.map"} <= installed
    assert not any(name.startswith("bin/") or name.endswith((".so", ".a")) for name in installed)
    for name in installed:
        assert str(ROOT) not in (prefix / name).read_text(errors="replace"), f"{name} points into the source tree"


def test_the_whole_plugin_has_under_60_lines():
    lines = sum(len((TEMPLATE / name).read_text().splitlines()) for name in ("CMakeLists.txt", "plugin.cc"))
    assert lines < 60


def test_its_unit_test_passes(plugin):
    output = run("ctest", "--test-dir", plugin / "build", "--output-on-failure", "--no-tests=error")
    assert "100% tests passed" in output


def test_it_exports_the_descriptor_and_nothing_else(plugin):
    symbols = run("nm", "-D", "--defined-only", "--format=posix", plugin / PLUGIN)
    assert [line.split()[0] for line in symbols.splitlines()] == ["atoll_plugin_v1"]


def test_lint_accepts_it(plugin):
    assert LINT.exists(), f"{LINT} is not built"
    run(LINT, plugin / PLUGIN)


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
