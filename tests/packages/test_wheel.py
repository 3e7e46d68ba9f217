"""The server's wheel, installed into a fresh virtual environment: the commands, what they serve, and what is mapped meanwhile."""

import os
import pathlib
import re
import signal
import subprocess
import threading

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http
from packed import Venv
from support import models
from support.server import START_TIMEOUT_S
from support.waiting import eventually

PORTS = ["--http-port=0", "--grpc-port=0", "--metrics-port=0"]
PYTHON_MODEL = """
import sys
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [-1]})
        config.add_output({"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [-1]})
        config.add_output({"name": "PYTHON", "data_type": "TYPE_STRING", "dims": [1]})
        return config

    def execute(self, requests):
        where = np.array([f"{sys.prefix} {np.__file__}".encode()], np.object_)
        return [pb_utils.InferenceResponse([
            pb_utils.Tensor("OUTPUT0", 2 * pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()),
            pb_utils.Tensor("PYTHON", where)]) for request in requests]
"""


@pytest.fixture(scope="module")
def venv(wheel, tmp_path_factory):
    return Venv(tmp_path_factory.mktemp("venv") / "venv", wheel)


class Serving:
    """A command that serves, its lines and its addresses."""

    def __init__(self, venv, *words):
        self.process = subprocess.Popen([venv.bin / words[0], *words[1:], *PORTS], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env=venv.environment, cwd="/", start_new_session=True)
        self.lines = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def wait_serving(self):
        def found():
            return re.search(r"^serving at http://([^/,;]+), gRPC ([^,;]+),", self.log, re.MULTILINE)
        eventually(lambda: found() or self.process.poll() is not None, say=lambda: self.log)
        assert found(), self.log
        self.http, self.grpc = found().groups()
        return self

    @property
    def log(self):
        return "".join(self.lines)

    @property
    def server_pid(self):
        return int(pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0])

    def end(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(START_TIMEOUT_S)
        self._reader.join(START_TIMEOUT_S)
        self.process.stdout.close()
        return code

    def __enter__(self):
        return self.wait_serving()

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def infer(library, address, model, name, tensor, output):
    value = library.InferInput(name, list(tensor.shape), "FP32")
    value.set_data_from_numpy(tensor)
    with library.InferenceServerClient(address) as client:
        return client.infer(model, [value]).as_numpy(output)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An ONNX model and a Python model."""
    path = tmp_path_factory.mktemp("models")
    (path / "plus_two.onnx").write_bytes(models.onnx_add(2))
    (path / "twice.py").write_text(PYTHON_MODEL)
    return path


@pytest.mark.parametrize("command", [["atoll"], ["atoll-server"], ["python", "-m", "atoll_server"]], ids=" ".join)
def test_each_name_of_the_server_is_the_server(venv, command):
    shown = venv.run(*command, "--version")
    assert shown.startswith("atoll ") and shown == venv.run("atoll", "--version")
    assert "atoll WORD" in venv.run(*command, "--help")


def test_the_other_programs_are_commands_of_their_own(venv, folder):
    for program in ("atollctl", "atoll-config", "tritonserver"):
        assert venv.run(program, "--version").startswith(f"{program} ")
    assert "errors: 0" in venv.run("atoll-config", "check", folder)


def test_the_demo_answers_and_nothing_of_python_stays(venv):
    with Serving(venv, "atoll-server", "demo") as serving:
        command = re.search(r"^(curl -s http.*)$", serving.log, re.MULTILINE).group(1)
        expected = re.search(r'the answer has ("data":\[\d\])', serving.log).group(1)
        answer = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=START_TIMEOUT_S).stdout
        assert expected in answer
        image = np.zeros((1, 64), np.float32)
        assert infer(tritonclient.grpc, serving.grpc, "digits", "image", image, "label").size == 1
        programs = {pathlib.Path(f"/proc/{pid}/exe").resolve() for pid in (serving.process.pid, serving.server_pid)}
        bin_folder = pathlib.Path(venv.evaluate("atoll_server.FOLDER")).resolve() / "bin"
        assert programs == {bin_folder / "atoll", bin_folder / "atoll-demo"}
        assert serving.end() == 0, serving.log


def test_models_of_ones_own_are_served_and_python_is_the_environments(venv, folder):
    """The environment is not activated, so `python3` would be another one."""
    values = np.arange(4, dtype=np.float32)
    with Serving(venv, "atoll", "serve", folder) as serving:
        for library, address in ((tritonclient.grpc, serving.grpc), (tritonclient.http, serving.http)):
            assert infer(library, address, "plus_two", "INPUT0", values, "OUTPUT0").tolist() == [2, 3, 4, 5]
            assert infer(library, address, "twice", "INPUT0", values, "OUTPUT0").tolist() == [0, 2, 4, 6]
        prefix, numpy = infer(tritonclient.grpc, serving.grpc, "twice", "INPUT0", values, "PYTHON")[0].decode().split()
        assert prefix == venv.evaluate("sys.prefix") and pathlib.Path(numpy).is_relative_to(prefix)
        # The libraries that come along are used, and not this machine's.
        site_packages = pathlib.Path(venv.evaluate("atoll_server.FOLDER")).resolve().parent
        maps = pathlib.Path(f"/proc/{serving.server_pid}/maps").read_text()
        mapped = {pathlib.Path(line.split()[-1]) for line in maps.splitlines() if ".so" in line.split()[-1]}
        runtime = {"ld-linux-x86-64", "libc", "libdl", "libgcc_s", "libm", "libpthread", "libresolv", "librt", "libstdc++"}
        assert site_packages / "atoll_server/lib/private/libprotobuf.so.32" in mapped
        foreign = {path for path in mapped if not path.is_relative_to(site_packages)}
        assert {path.name.split(".so")[0] for path in foreign} <= runtime, foreign
        assert serving.end() == 0, serving.log


def test_an_interpreter_that_the_user_chose_stays(venv, folder):
    """PATH is changed only where `python3` is not the environment's; a manifest's interpreter comes before it."""
    environment = "atoll_server._environment()['PATH']"
    assert venv.evaluate(environment) == f"{venv.bin}:{venv.environment['PATH']}"
    activated = Venv.__new__(Venv)
    activated.bin, activated.environment = venv.bin, {**venv.environment, "PATH": f"{venv.bin}:/usr/bin"}
    assert activated.evaluate(environment) == f"{venv.bin}:/usr/bin"
    with Serving(venv, "atoll", "serve", folder, "--set", "plugin.python.interpreter=/bin/false") as serving:
        assert re.search(r"^atoll serve: twice: (?!ready)", serving.log, re.MULTILINE), serving.log
        assert "atoll serve: plus_two: ready" in serving.log
        assert serving.end() == 0, serving.log


@pytest.fixture
def copied(venv, tmp_path):
    """The package's Python without its programs, and a function that runs `python -m atoll_server` with it."""
    copy, folder = tmp_path / "atoll_server", pathlib.Path(venv.evaluate("atoll_server.FOLDER"))
    (copy / "bin").mkdir(parents=True)
    for file in folder.glob("*.py"):
        (copy / file.name).write_text(file.read_text())
    return copy, lambda: subprocess.run([venv.bin / "python", "-m", "atoll_server", "demo"], cwd=tmp_path, env=venv.environment,
                                        capture_output=True, text=True, timeout=START_TIMEOUT_S)


def test_a_program_that_cannot_be_started_is_one_line(copied):
    copy, run = copied
    done = run()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (f"atoll: {copy}/bin/atoll cannot be started: No such file or directory; this package is for Linux on x86-64 "
                           "with glibc 2.36 or later\n")


def test_a_program_starts_as_it_would_without_python(copied):
    """Python ignores some signals, and what is ignored stays so in another program."""
    copy, run = copied
    program = copy / "bin" / "atoll"
    program.write_text("#!/bin/sh\ngrep -h SigIgn /proc/$$/status\necho $1\n")
    program.chmod(0o755)
    ignored, word = run().stdout.splitlines()
    assert int(ignored.split()[1], 16) & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1) == 0
    assert word == "demo"
