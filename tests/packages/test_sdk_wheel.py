"""The SDK's wheel beside the server's: the guide's backend is built against it and served."""

import os
import pathlib
import shutil
import subprocess

import pytest
from guide import Page
from packed import Venv
from support.server import ROOT


@pytest.fixture(scope="module")
def venv(sdk_wheel, wheel, tmp_path_factory):
    """Without ONNX Runtime, which nothing here needs."""
    return Venv(tmp_path_factory.mktemp("sdk") / "venv", "--no-deps", sdk_wheel, wheel)


def folder(venv, which):
    return pathlib.Path(venv.run("python", "-m", "atoll_server_sdk", f"--{which}").strip())


def test_it_says_where_things_are(venv):
    assert (folder(venv, "prefix") / "include/atoll/core/plugin.h").exists()
    assert (folder(venv, "cmake-dir") / "AtollConfig.cmake").exists()
    assert (folder(venv, "template-dir") / "plugin.cc").exists()
    assert "one of the arguments" in venv.run("python", "-m", "atoll_server_sdk", code=2)
    assert venv.run("atoll-lint", "--version").startswith("atoll-lint ")


def test_a_plugin_needs_no_more_than_a_compiler_and_cmake(venv, tmp_path):
    """By Atoll_DIR, without the components that need GoogleTest."""
    shutil.copytree(folder(venv, "template-dir"), tmp_path / "hello")
    project = tmp_path / "hello" / "CMakeLists.txt"
    project.write_text('cmake_minimum_required(VERSION 3.25)\nproject(hello LANGUAGES CXX)\nfind_package(Atoll 0.1 REQUIRED)\n'
                       "atoll_add_plugin(examples hello SOURCES plugin.cc)\n")
    for command in (["cmake", "-S", tmp_path / "hello", "-B", tmp_path / "build", f"-DAtoll_DIR={folder(venv, 'cmake-dir')}",
                     "-DCMAKE_CXX_FLAGS=-O0"], ["cmake", "--build", tmp_path / "build"]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
                              env={name: value for name, value in os.environ.items() if name != "CXXFLAGS"})
        assert done.returncode == 0, done.stdout
    plugin = tmp_path / "build/lib/atoll/plugins/examples/hello.so"
    assert venv.run("atoll-lint", plugin).endswith(": ok\n")


def test_the_guides_backend_is_built_and_served(venv, tmp_path):
    """The page as it is; what it calls ~/atoll are the two packages."""
    prefix, home = folder(venv, "prefix"), tmp_path / "home"
    (home / "atoll/bin").mkdir(parents=True)
    for name in ("include", "lib", "share"):
        (home / "atoll" / name).symlink_to(prefix / name)
    for name in ("atoll", "atoll-lint"):
        (home / "atoll/bin" / name).symlink_to(venv.bin / name)
    (tmp_path / "work").mkdir()
    Page((ROOT / "docs/guide-backend.md").read_text(), home, tmp_path / "work").run()
