"""An installed server is complete, holds nothing of the build tree and serves."""

import pathlib
import re

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from installed import install, run
from support import models
from support.built_tree import BuiltTree
from support.server import BUILD, ROOT, Server

ENGINE = "lib/atoll/engines/onnxruntime/libonnxruntime.so.1"


def binaries(prefix):
    return sorted(path for folder in ("bin", "lib") for path in (prefix / folder).rglob("*") if path.is_file() and path.suffix != ".py")


def test_it_is_the_server_and_its_plugins_and_nothing_of_the_tests(server_prefix):
    installed = {str(path.relative_to(server_prefix)) for path in server_prefix.rglob("*") if path.is_file()}
    plugins = {f"lib/atoll/plugins/{path.parent.parent.name}/{path.parent.name}.so"
               for path in (ROOT / "plugins").glob("*/*/plugin.cc")} - {
        "lib/atoll/plugins/frontends/grpc.so", "lib/atoll/plugins/backends/llamacpp.so"}
    assert len(plugins) > 15
    libraries = {f"lib/atoll/{name}" for name in ("libatoll_proto.so", "libatoll_server.so", "libtritonserver.so",
                                                  "libatoll_batch_strategies.so")}
    # What plugins open later: libtorch's part, ONNX Runtime, and all that a worker of Python models has.
    workers = ROOT / "plugins" / "backends" / "python" / "worker" / "python"
    opened = {"lib/atoll/plugins/backends/pytorch/torch.so", "lib/atoll/python/_atoll_python.abi3.so",
              "lib/atoll/python/libatoll_worker_cpus.so", ENGINE} | {
        f"lib/atoll/python/{path.relative_to(workers)}" for path in workers.rglob("*.py")}
    programs = {f"bin/{name}" for name in ("atoll", "atoll-config", "atoll-demo", "atoll-serve", "atollctl", "tritonserver")}
    documents = {f"share/doc/atoll/{path.relative_to(ROOT)}" for pattern in ("docs/*.md", "docs/*.svg", "docs/console/*.webp", "plugins/**/README.md")
                 for path in ROOT.glob(pattern)}
    assert installed == plugins | libraries | opened | programs | documents | {"etc/atoll/atoll.toml", "etc/atoll/pools.toml",
                                                     "share/atoll/pools.proto", "share/doc/atoll/LICENSE"}


@pytest.fixture(scope="module")
def small_prefix(tmp_path_factory):
    """What is installed of a tree that has built the default manifest's server and one plugin more: the rules are those of the build
    under test, read for the files of that tree."""
    folder = tmp_path_factory.mktemp("small")
    tree = BuiltTree(folder / "tree", "atoll_quickstart", "caches-local")
    for rules in BUILD.rglob("cmake_install.cmake"):
        place = tree.build_folder / rules.relative_to(BUILD)
        place.parent.mkdir(parents=True, exist_ok=True)
        # What is noted in the files is the folder that they were linked in.
        place.write_text("".join(line if "OLD_RPATH" in line else line.replace(str(BUILD), str(tree.build_folder))
                                 for line in rules.read_text().splitlines(keepends=True)))
    run("cmake", f"-DCMAKE_INSTALL_PREFIX={folder / 'installed'}", "-DCMAKE_INSTALL_COMPONENT=server", "-P",
        tree.build_folder / "cmake_install.cmake")
    return folder / "installed"


def test_what_is_not_built_is_left_out(small_prefix):
    default = re.findall(r'^use = "(\S+)"', (ROOT / "etc/atoll.toml").read_text(), re.MULTILINE)
    plugins = {str(path.relative_to(small_prefix / "lib/atoll/plugins").with_suffix(""))
               for path in (small_prefix / "lib/atoll/plugins").rglob("*.so")}
    assert plugins == {*default, "caches/local"}
    assert [path for path in small_prefix.rglob("*") if path.is_dir() and not any(path.iterdir())] == []
    assert {path.name for path in (small_prefix / "bin").iterdir()} == {"atoll", "atoll-config", "atoll-demo", "atoll-serve",
                                                                        "tritonserver"}
    assert {path.name for path in (small_prefix / "lib/atoll").iterdir()} == {"libatoll_proto.so", "plugins", "python"}
    run(small_prefix / "bin/atoll", "--manifest", small_prefix / "etc/atoll/atoll.toml", "--set", 'plugin.cache.use="caches/local"',
        "--set", f'plugin.repository.paths=["{small_prefix}"]', "--check")


def test_no_file_points_into_the_tree_it_was_built_in(server_prefix):
    for file in binaries(server_prefix):
        paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", run("readelf", "-d", file))
        assert all(re.match(r"\$ORIGIN(/|$)", part) for path in paths for part in path.split(":")), f"{file}: {paths}"
    for file in binaries(server_prefix):
        if "atoll/plugins" not in str(file):
            continue
        for target in re.findall(r"=> (/\S+)", run("ldd", file)):
            assert not pathlib.Path(target).is_relative_to(ROOT), f"{file} is linked with {target}"


def test_onnx_runtime_is_a_component_of_its_own(tmp_path):
    install(tmp_path, "onnxruntime")
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if not path.is_dir()] == [ENGINE]
    assert not (tmp_path / ENGINE).is_symlink()


class Installed(Server):
    """An installed server with the manifest that was installed with it."""

    def __init__(self, prefix, repository):
        command = [prefix / "bin" / "tritonserver", f"--model-repository={repository}", "--grpc-port=0", "--http-port=0",
                   "--metrics-port=0", "--grpc-address=127.0.0.1", "--http-address=127.0.0.1", "--metrics-address=127.0.0.1"]
        self._start([str(part) for part in command])
        self.address = self.wait_for_line(r"Started GRPCInferenceService at (\S+)").group(1)


@pytest.fixture(scope="module")
def server(server_prefix, tmp_path_factory):
    repository = tmp_path_factory.mktemp("models")
    models.write_model(repository, "echo", models.identity_config("echo", dims=(4,)))
    models.write_add(repository, "add", 2)
    with Installed(server_prefix, repository) as server:
        yield server.wait_ready()


@pytest.mark.parametrize("model, expected", [("echo", 1.0), ("add", 3.0)])
def test_it_serves(server, model, expected):
    tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
    tensor.set_data_from_numpy(np.ones(4, np.float32))
    with server.client() as client:
        assert client.infer(model, [tensor]).as_numpy("OUTPUT0").tolist() == [expected] * 4


def test_it_has_nothing_of_the_build_tree_mapped(server):
    mapped = {line.split()[-1] for line in pathlib.Path(f"/proc/{server.pid}/maps").read_text().splitlines()}
    assert not [path for path in mapped if path.startswith((str(BUILD), str(ROOT)))]


def test_configurations_can_be_checked(server_prefix, tmp_path):
    models.write_model(tmp_path, "echo", models.identity_config("echo", dims=(4,)))
    run(server_prefix / "bin" / "atoll-config", "check", tmp_path)
