"""Which ONNX Runtime a server uses: the one that is named, that of the user's Python, or that of its installation; and what it says
where there is none or one that is too old."""

import os
import pathlib
import re
import shutil
import subprocess
import urllib.request

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.built_tree import BuiltTree
from support.server import BUILD, DEFAULT_MANIFEST, START_TIMEOUT_S, Server
from tritonclient.utils import InferenceServerException

ENGINE = "lib/atoll/engines/onnxruntime/libonnxruntime.so.1"
REAL = (BUILD / ENGINE).resolve()
NAMED = BUILD / "tests" / "libonnxruntime_named.so"  # of the version that its file's name says, and without functions
WAY = "to get one: pip install 'onnxruntime>=1.21', or set the option library of backends/onnxruntime"


def package(site, version, library=REAL):
    """The part of the package onnxruntime that counts, in a folder of packages."""
    file = site / "onnxruntime" / "capi" / f"libonnxruntime.so.{version}"
    file.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(library, file)
    return file


class Tree(Server):
    """A server of a tree of its own, whose environment names no Python but those that a test makes."""

    def __init__(self, root, repository, *settings, **environment):
        words = [root / "bin/atoll", "--manifest", DEFAULT_MANIFEST]
        for setting in (f'plugin.repository.paths=["{repository}"]', "plugin.models.strict_readiness=false",
                        *(f'plugin.{name}.address="127.0.0.1:0"' for name in ("grpc", "http", "metrics")), *settings):
            words += ["--set", setting]
        self._start([str(word) for word in words], {name: str(value) for name, value in environment.items()})
        self.address = self.wait_for_line(r"Started GRPCInferenceService at (\S+)").group(1)

    def added(self):
        tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
        tensor.set_data_from_numpy(np.ones(4, np.float32))
        with self.client() as client:
            return client.infer("add", [tensor]).as_numpy("OUTPUT0").tolist()

    def used(self):
        """The file that the log names, which is the only one in the process."""
        file = self.newest_line(r"models run with ONNX Runtime 1\.\d+\.\d+ of (\S+)").group(1)
        mapped = {line.split()[-1] for line in pathlib.Path(f"/proc/{self.pid}/maps").read_text().splitlines()}
        assert [path for path in mapped if "/libonnxruntime" in path] == [str(pathlib.Path(file).resolve())]
        return pathlib.Path(file)


@pytest.fixture
def root(tmp_path):
    """A build tree with the library that was fetched."""
    return BuiltTree(tmp_path / "tree", "atoll_quickstart", "control-explicit").build_folder


@pytest.fixture
def bare(root):
    """One without."""
    (root / ENGINE).unlink()
    return root


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    models.write_model(folder, "echo", models.identity_config("echo", dims=(4,)))
    models.write_add(folder, "add", 2)
    return folder


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "environment" / "lib" / "python3.11" / "site-packages"
    folder.mkdir(parents=True)
    return folder


def test_without_another_one_it_is_that_of_the_tree(root, repository, site, tmp_path):
    with Tree(root, repository, VIRTUAL_ENV=tmp_path / "environment") as server:
        assert server.wait_ready("add").added() == [3.0] * 4
        assert server.used() == root / ENGINE
        with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=START_TIMEOUT_S) as answer:
            page = answer.read().decode()
        assert re.search(r'^atoll_onnxruntime_info\{instance="onnxruntime",version="1\.\d+\.\d+"\} 1$', page, re.M), page


def test_the_active_environment_comes_first(root, repository, site, tmp_path):
    file = package(site, "1.31.1")
    with Tree(root, repository, VIRTUAL_ENV=tmp_path / "environment") as server:
        assert server.wait_ready("add").added() == [3.0] * 4
        assert server.used() == file


def test_the_python_in_path_is_found(bare, repository, tmp_path):
    prefix = tmp_path / "usr"
    (prefix / "lib/python3.11").mkdir(parents=True)
    (prefix / "bin").mkdir()
    program = prefix / "bin/python3.11"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    (prefix / "bin/python3").symlink_to("python3.11")
    file = package(prefix / "lib/python3/dist-packages", "1.31.1")
    with Tree(bare, repository, PATH=f"{prefix}/bin:{os.environ['PATH']}") as server:
        assert server.wait_ready("add").added() == [3.0] * 4
        assert server.used() == file


def test_a_server_in_a_folder_of_packages_uses_those_beside_it(root, repository, site, tmp_path):
    own = tmp_path / "own" / "lib" / "python3.11" / "site-packages"
    own.mkdir(parents=True)
    root.rename(own / "atoll_server")
    package(site, "1.31.1")
    file = package(own, "1.31.1")
    with Tree(own / "atoll_server", repository, VIRTUAL_ENV=tmp_path / "environment") as server:
        assert server.wait_ready("add").added() == [3.0] * 4
        assert server.used() == file


def test_one_that_is_too_old_is_passed_over(root, repository, site, tmp_path):
    old = package(site, "1.20.1", NAMED)
    with Tree(root, repository, VIRTUAL_ENV=tmp_path / "environment") as server:
        assert server.wait_ready("add").added() == [3.0] * 4
        assert server.used() == root / ENGINE
        line = f"passed over: {old}: found ONNX Runtime 1.20.1, expected 1.21 or newer; to get one: pip install 'onnxruntime>=1.21'"
        assert [one for one in server.lines if str(old) in one and not one.endswith(line)] == []
        assert sum(one.endswith(line) for one in server.lines) == 1


def test_without_any_the_other_models_are_served_until_there_is_one(bare, repository, site, tmp_path):
    old = package(site, "1.20.1", NAMED)
    # Between the two folders is that of the Python in PATH.
    reason = (rf"no ONNX Runtime can be used: {old}: found ONNX Runtime 1\.20\.1, expected 1\.21 or newer; there is none in "
              rf"\S+, {(bare / ENGINE).parent}; {re.escape(WAY)}")
    with Tree(bare, repository, 'plugin.control.use="control/explicit"', 'plugin.control.load_model=["*"]',
              VIRTUAL_ENV=tmp_path / "environment") as server:
        server.wait_ready("echo")
        assert sum(bool(re.search("its models will not load: " + reason, line)) for line in server.lines) == 1
        with server.client() as client:
            with pytest.raises(InferenceServerException, match=reason):
                client.load_model("add")
            states = {model.name: (model.state, model.reason) for model in client.get_model_repository_index().models}
            assert states["add"][0] == "UNAVAILABLE" and re.search(reason, states["add"][1]) and states["echo"][0] == "READY"
            file = package(site, "1.31.1")
            client.load_model("add")
        assert server.added() == [3.0] * 4
        assert server.used() == file


def run(root, *words, **environment):
    return subprocess.run([root / "bin/atoll", *map(str, words)], capture_output=True, text=True, errors="replace",
                          timeout=START_TIMEOUT_S, env={**os.environ, **environment})


@pytest.mark.parametrize("version, said", [("1.20.1", "found ONNX Runtime 1.20.1, expected 1.21 or newer"),
                                           ("1.31.1", "file too short")])
def test_of_one_that_is_named_and_wrong_nothing_else_is_tried(root, repository, tmp_path, version, said):
    file = package(tmp_path, version, NAMED)
    if version == "1.31.1":
        file.write_text("")
    done = run(root, "--manifest", DEFAULT_MANIFEST, "--set", f'plugin.repository.paths=["{repository}"]', "--set",
               f'plugin.onnxruntime.library="{file}"')
    assert done.returncode == 1, done.stderr
    assert re.search(rf"option library: {re.escape(str(file))}: {said}", done.stderr), done.stderr


def test_the_check_reads_the_file_that_is_named(root, repository, tmp_path):
    file = package(tmp_path, "1.31.1")
    words = ["--manifest", DEFAULT_MANIFEST, "--set", f'plugin.repository.paths=["{repository}"]', "--set",
             f'plugin.onnxruntime.library="{file}"', "--check"]
    assert run(root, *words).returncode == 0
    os.truncate(file, 100000)
    done = run(root, *words)
    assert done.returncode == 2 and "plugin.onnxruntime.library" in done.stderr and "truncated" in done.stderr, done.stderr
    (root / ENGINE).unlink()
    assert run(root, *words[:4], "--check").returncode == 0  # a server without one serves its other models


def test_atoll_serve_says_it_once(bare, tmp_path):
    repository = tmp_path / "models"
    repository.mkdir()
    for name in ("add", "more"):
        (repository / f"{name}.onnx").write_bytes(models.onnx_add(2))
    ports = ["--http-port=0", "--grpc-port=0", "--metrics-port=0", "--exit-on-error=true"]
    done = run(bare, "serve", repository, *ports)
    assert done.returncode == 1, done.stderr
    said = [line for line in done.stderr.splitlines() if re.match("atoll serve: (add|more): failed", line)]
    assert len(said) == 2 and sum("no ONNX Runtime can be used: there is none in " in line and line.endswith(WAY) for line in said) == 1
    assert sum(": failed for the same reason as " in line for line in said) == 1
