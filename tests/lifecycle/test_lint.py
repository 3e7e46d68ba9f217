"""atoll-lint finds what makes a plugin unsafe to load or unload."""
import subprocess

import pytest
from harness import BUILD, FIXTURES, SANITIZED


def lint(name):
    file = FIXTURES / name
    done = subprocess.run([BUILD / "bin" / "atoll-lint", file], capture_output=True, text=True, timeout=60)
    lines = done.stdout.splitlines()
    assert all(line.startswith(f"{file}: ") for line in lines), lines
    return done.returncode, [line[len(f"{file}: "):] for line in lines]


@pytest.mark.parametrize("name", ["provider.so", "watcher.so", "resident.so"])
def test_good_plugins(name):
    assert lint(name) == (0, ["ok"])


def test_unique_symbols():
    code, lines = lint("unique.so")
    assert code == 1
    assert any(line.startswith("defines the unique symbol ") for line in lines), lines
    assert ("stays mapped after it was closed, but is not flagged RESIDENT" in lines) == (not SANITIZED), lines


def test_exports_besides_the_descriptor():
    code, lines = lint("no_symbol.so")
    assert code == 1
    assert "exports some_other_symbol; expected only atoll_plugin_v1 (link with the version script)" in lines
    assert "does not export atoll_plugin_v1" in lines


def test_lazy_binding_and_undefined_symbols():
    code, lines = lint("undefined.so")
    assert code == 1
    assert "binds its symbols lazily; link with -z now" in lines
    assert f"{FIXTURES}/undefined.so: undefined symbol: atoll_fixture_symbol_that_nobody_has" in lines


def test_thread_local_with_destructor():
    code, lines = lint("thread_local.so")
    assert code == 1
    assert "has a thread_local with a destructor, which keeps it mapped, but is not flagged RESIDENT" in lines


def test_an_instance_that_leaves_something_behind():
    code, lines = lint("stuck.so")
    assert code == 1
    assert lines == ["left 1 passes of its gate after destroy"] * 2


def test_wrong_descriptor():
    code, lines = lint("wrong_magic.so")
    assert code == 1
    assert f"{FIXTURES}/wrong_magic.so: its descriptor does not begin with the magic number of one" in lines


def test_no_file():
    assert lint("nobody.so") == (1, ["cannot be read"])
