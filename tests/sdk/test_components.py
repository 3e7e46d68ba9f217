"""Every component of the package is found, used and, where it is missing, missed for its own reason."""

import re
import shutil

import pytest
from installed import configure, install, run
from support.server import BUILD

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(probe LANGUAGES CXX)
find_package(Atoll 0.1 REQUIRED COMPONENTS {components})
"""
PROBE = PROJECT.format(components="proto tools testing") + """
atoll_add_plugin(examples probe SOURCES plugin.cc LIBRARIES atoll::proto)
add_executable(probe_test test.cc plugin.cc)
target_link_libraries(probe_test PRIVATE atoll::testing atoll::proto GTest::gtest_main)
enable_testing()
add_test(NAME probe_test COMMAND probe_test)
add_test(NAME probe_lint COMMAND atoll::lint $<TARGET_FILE:atoll_plugin_examples_probe>)
"""
PLUGIN = """
#include <model_config.pb.h>

#include "atoll/core/plugin.h"

class Probe final : public atl::Plugin {
 public:
  explicit Probe(atl::Host& host) {
    inference::ModelConfig config;
    config.set_name("digits");
    host.log().info("made ", config.name(), " of ", config.ByteSizeLong(), " bytes");
  }
};

ATOLL_PLUGIN(Probe, {.name = "examples/probe", .version = "1.0.0", .license = "Apache-2.0", .help = "Uses protobuf."});
"""
TEST = """
#include <gtest/gtest.h>

#include "atoll/testing/plugin_runner.h"

TEST(Probe, UsesGeneratedCode) {
  atl::test::FakeHost host("probe");
  atl::test::PluginRunner plugin(host);
  ASSERT_TRUE(plugin.create_and_start().ok());
  EXPECT_TRUE(host.log().contains("made digits of 8 bytes"));
}
"""


def project(folder, **files):
    folder.mkdir()
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


def missing(prefix, folder, components, *arguments):
    """What is said about a project that asks for these components."""
    output = configure(prefix, project(folder, CMakeLists_txt=PROJECT.format(components=components)), *arguments, code=1)
    return re.sub(r"\s+", " ", output)


@pytest.fixture(scope="module")
def probe(whole_prefix, tmp_path_factory):
    """A plugin that was built with an SDK that is gone."""
    prefix = tmp_path_factory.mktemp("moved") / "an sdk"
    shutil.copytree(whole_prefix, prefix, symlinks=True)
    folder = project(tmp_path_factory.mktemp("work") / "probe", CMakeLists_txt=PROBE, plugin_cc=PLUGIN, test_cc=TEST)
    configure(prefix, folder)
    run("cmake", "--build", folder / "build")
    assert "100% tests passed" in run("ctest", "--test-dir", folder / "build", "--output-on-failure", "--no-tests=error")
    shutil.rmtree(prefix)
    return folder / "build" / "lib" / "atoll" / "plugins"


def test_a_plugin_uses_every_component_and_knows_no_folder_of_its_author(probe):
    dynamic = run("readelf", "-d", probe / "examples" / "probe.so")
    assert "libatoll_proto.so" in dynamic
    assert "PATH" not in dynamic, dynamic


@pytest.mark.parametrize("name", ["aaa", "probe", "zzz"])
def test_a_shipped_plugin_finds_the_servers_libraries_whatever_its_name(probe, server_prefix, tmp_path, name):
    manifest = tmp_path / "atoll.toml"
    manifest.write_text(f'[atoll]\nplugin_path = ["{probe}"]\n[plugin.{name}]\nuse = "examples/probe"\n'
                        '[plugin.configs]\nuse = "configs/pbtxt"\n')
    for atoll in (server_prefix / "bin" / "atoll", BUILD / "bin" / "atoll"):
        assert "ok, 2 plugin instances" in run(atoll, "--manifest", manifest, "--check")


def test_what_is_missing_is_said_for_each_component(tmp_path):
    prefix = install(tmp_path / "sdk", "sdk")
    (prefix / "bin" / "atoll-lint").unlink()
    said = missing(prefix, tmp_path / "all", "proto tools testing nonsense", "-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON")
    assert f"proto: there is no {prefix}/lib/atoll/libatoll_proto.so (cmake --install" in said
    assert f"tools: there is no {prefix}/bin/atoll-lint" in said
    assert "testing: GoogleTest is not found" in said
    assert "nonsense: no such component, expected testing, tools or proto" in said


def test_what_generated_code_needs_is_named(whole_prefix, tmp_path):
    said = missing(whole_prefix, tmp_path / "p", "proto", "-DCMAKE_DISABLE_FIND_PACKAGE_Protobuf=ON")
    assert "proto: Protobuf is not found" in said


def test_generated_code_needs_no_grpc(whole_prefix, tmp_path):
    folder = project(tmp_path / "p", CMakeLists_txt=PROJECT.format(components="proto"))
    configure(whole_prefix, folder, "-DCMAKE_DISABLE_FIND_PACKAGE_gRPC=ON")


def test_no_folder_is_installed_empty(whole_prefix, server_prefix):
    for prefix in (whole_prefix, server_prefix):
        assert [str(path) for path in prefix.rglob("*") if path.is_dir() and not any(path.iterdir())] == []
