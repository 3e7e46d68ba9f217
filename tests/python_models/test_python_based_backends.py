"""Backends that are Python programs: one model.py runs all models that name the backend, in Triton's layout."""

import io
import json
import sys
import tarfile

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models, python_models
from support.control import EXPLICIT, PROTOCOLS, Control
from support.server import Server
from support.waiting import eventually

# Says what it is run with and what lies in the model's folder.
TELLER = """\
import helper
{}
class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        config.add_input({{"name": "KEY", "data_type": "TYPE_STRING", "dims": [1]}})
        config.add_output({{"name": "TOLD", "data_type": "TYPE_STRING", "dims": [1]}})
        config.set_max_batch_size(0)
        return config

    def initialize(self, args):
        with open(os.path.join(pb_utils.get_model_dir(), "data.json")) as file:
            self.told = json.load(file)
        self.told.update(module=__name__, helper=helper.WHO, paths=sys.path, args=args, executable=sys.executable,
                         folder=pb_utils.get_model_dir(), parameters=json.loads(args["model_config"]).get("parameters"))

    def execute(self, requests):
        return [answer(np.array([json.dumps(self.told.get(value(request, "KEY")[0].decode()))], np.object_), "TOLD")
                for request in requests]
""".format(python_models.HEAD)


def write_backend(folder, name="teller", program=TELLER):
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "model.py").write_text(program)
    (folder / name / "helper.py").write_text(f'WHO = "{name}"\n')
    return folder


def write_model(repository, name, backend="teller", data="{}", more=""):
    return models.write_model(repository, name, f'backend: "{backend}"\n{more}', files={"data.json": data.encode()})


def directories(*folders):
    return f"plugin.python.directories={[str(folder) for folder in folders]}".replace("'", '"')


def told_by(control, model, key):
    """What the model says of that."""
    module = control._module
    tensor = module.InferInput("KEY", [1], "BYTES")
    tensor.set_data_from_numpy(np.array([key], np.object_))
    return json.loads(control.client.infer(model, [tensor]).as_numpy("TOLD")[0])


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_one_program_runs_all_models_of_its_backend(tmp_path, repository, protocol):
    backends = write_backend(tmp_path / "backends")
    write_model(repository, "first", data='{"name": "one"}')
    write_model(repository, "second", data='{"name": "two"}', more='parameters { key: "a" value { string_value: "b" } }')
    # A program of the model's own is data like any other.
    models.write_model(repository, "second", files={"model.py": b"raise RuntimeError('not this one')"})
    with Server(repository, python_models.INTERPRETER, directories(tmp_path / "none", backends)) as server:
        server.wait_ready()
        server.wait_logged(f"option 'directories': '{tmp_path}/none' is no directory")
        with Control(server, protocol) as control:
            assert told_by(control, "first", "name") == "one" and told_by(control, "second", "name") == "two"
            assert told_by(control, "first", "module") == "model" and told_by(control, "first", "helper") == "teller"
            assert told_by(control, "second", "folder") == str(repository / "second" / "1")
            assert told_by(control, "second", "parameters") == {"a": {"string_value": "b"}}
            args = told_by(control, "second", "args")
            assert args["model_repository"] == str(repository / "second") and args["model_name"] == "second"
            paths = told_by(control, "second", "paths")
            assert str(backends / "teller") in paths and not any(path.startswith(str(repository)) for path in paths)
            assert control.index() == {"first": {"1": ("READY", "")}, "second": {"1": ("READY", "")}}
            config = control.client.get_model_config("first")
            assert (config.config.runtime if protocol == "grpc" else config["runtime"]) == "model.py"


def test_what_is_not_there_is_named(tmp_path, repository):
    backends = write_backend(tmp_path / "backends")
    write_backend(backends, "broken", "import json\nclass TritonPythonModel:\n    def initialize(self, args):\n        json.no_such_name\n")
    (backends / "bare").mkdir()
    (backends / "compiled").mkdir()
    (backends / "compiled" / "libtriton_compiled.so").write_bytes(b"\x7fELF")
    for name in ("bare", "broken", "compiled", "unknown"):
        write_model(repository, name, name, more=models.tensor_config("input", "I", "TYPE_FP32", [1]) +
                    models.tensor_config("output", "O", "TYPE_FP32", [1]))
    with Server(repository, python_models.INTERPRETER, EXPLICIT, directories(backends)) as server, Control(server, "grpc") as control:
        refusals = {name: control.refusal(control.load, name)[1] for name in ("bare", "broken", "compiled", "unknown")}
        assert f"backend 'bare': '{backends}/bare' has neither model.py nor libtriton_bare.so" in refusals["bare"]
        assert "AttributeError: module 'json' has no attribute 'no_such_name'" in refusals["broken"]
        server.wait_logged(f'File "{backends}/broken/model.py", line 4, in initialize')
        assert (f"backend 'compiled' is a shared object, '{backends}/compiled/libtriton_compiled.so', which takes an instance of "
                "backends/triton in the manifest") in refusals["compiled"]
        assert "unable to find backend library for backend 'unknown', try specifying runtime on the model configuration" in refusals["unknown"]
        # What is installed later is found by the next load.
        write_backend(backends, "bare")
        write_model(repository, "bare", "bare")
        control.load("bare")
        assert told_by(control, "bare", "helper") == "bare"
        write_model(repository, "compiled", "compiled", more='runtime: "model.py"')
        assert "has neither model.py" in control.refusal(control.load, "compiled")[1]


def test_an_environment_beside_the_program_is_that_of_its_models(tmp_path, repository):
    backends = write_backend(tmp_path / "backends")
    plain_script = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
    script = plain_script.replace("exec", "ATOLL_PACKED=1 exec").encode()
    with tarfile.open(backends / "teller" / "pb_exec_env_model.py.tar.gz", "w:gz") as archive:
        entry = tarfile.TarInfo("bin/python3")
        entry.size, entry.mode = len(script), 0o755
        archive.addfile(entry, io.BytesIO(script))
    program = (backends / "teller" / "model.py").read_text()
    (backends / "teller" / "model.py").write_text(program.replace("module=__name__", 'module=__name__, packed=os.environ.get("ATOLL_PACKED")'))
    write_model(repository, "packed")
    plain = tmp_path / "plain" / "bin"
    plain.mkdir(parents=True)
    (plain / "python3").write_text(plain_script)
    (plain / "python3").chmod(0o755)
    write_model(repository, "plain", more=f'parameters {{ key: "EXECUTION_ENV_PATH" value {{ string_value: "{plain.parent}" }} }}')
    with Server(repository, python_models.INTERPRETER, directories(backends)) as server, Control(server, "grpc") as control:
        server.wait_ready()
        assert told_by(control, "packed", "packed") == "1" and told_by(control, "plain", "packed") is None


STREAM = """\
{}
class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        config.add_input({{"name": "UPTO", "data_type": "TYPE_INT32", "dims": [1]}})
        config.add_output({{"name": "NUMBER", "data_type": "TYPE_INT32", "dims": [1]}})
        config.set_model_transaction_policy({{"decoupled": True}})
        config.set_max_batch_size(0)
        return config

    async def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            for number in range(value(request, "UPTO")[0]):
                await asyncio.sleep(0)
                sender.send(answer(np.array([number], np.int32), "NUMBER"))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
""".format(python_models.HEAD)


def test_a_streaming_backend(tmp_path, repository):
    backends = write_backend(tmp_path / "backends", "counter", STREAM)
    write_model(repository, "counting", "counter", more="instance_group [ { count: 2 } ]")
    with Server(repository, python_models.INTERPRETER, directories(backends)) as server, server.client() as client:
        server.wait_ready()
        numbers = []
        client.start_stream(lambda result, error: numbers.append(error or int(result.as_numpy("NUMBER")[0])))
        tensor = grpcclient.InferInput("UPTO", [1], "INT32")
        tensor.set_data_from_numpy(np.array([5], np.int32))
        client.async_stream_infer("counting", [tensor])
        eventually(lambda: numbers == [0, 1, 2, 3, 4])
        client.stop_stream()


def test_an_instance_of_that_name_comes_first(tmp_path, repository):
    backends = write_backend(tmp_path / "backends", "identity")
    (repository / "m" / "1").mkdir(parents=True)
    (repository / "m" / "config.pbtxt").write_text(models.identity_config("m"))
    with Server(repository, python_models.INTERPRETER, directories(backends)) as server, Control(server, "grpc") as control:
        server.wait_ready()
        assert control.infer("m") == ("1", 1.0)


def test_it_is_run_here_though_tritons_plugin_has_the_same_directory(tmp_path, repository):
    backends = write_backend(tmp_path / "backends")
    write_model(repository, "first", data='{"name": "one"}')
    settings = ('plugin.triton.use="backends/triton"', directories(backends).replace("python", "triton"))
    with Server(repository, python_models.INTERPRETER, directories(backends), *settings) as server, Control(server, "grpc") as control:
        server.wait_ready()
        assert told_by(control, "first", "name") == "one"
        assert len(python_models.children(server.pid)) == 1
