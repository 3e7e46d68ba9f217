"""Outputs that differ from the configuration: clients get what Triton's clients get, and the log says so, once."""

import numpy as np
import pytest
from support import models, python_models
from support.control import PROTOCOLS, Control
from support.server import Server
from support.waiting import eventually

OUTPUTS = models.tensor_config("input", "INPUT0", "TYPE_FP32", [4]) + """
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] }, { name: "SECOND" data_type: TYPE_FP32 dims: [ -1, 2 ] } ]
"""
RETURNS = """\
def execute(self, requests):
    return [pb_utils.InferenceResponse([pb_utils.Tensor(name, array) for name, array in self.outputs(value(r))]) for r in requests]
def outputs(self, given):
    return [{}]
"""
AS_CONFIGURED = '("OUTPUT0", given), ("SECOND", np.zeros((3, 2), np.float32))'


def write(repository, name, outputs, max_batch_size=0):
    config = f'name: "{name}" backend: "python" max_batch_size: {max_batch_size}\n{OUTPUTS}'
    python_models.write(repository, name, RETURNS.format(outputs), config=config)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    write(repository, "right", AS_CONFIGURED)
    write(repository, "type", '("OUTPUT0", given.astype(np.int64)), ("SECOND", np.zeros((3, 2), np.float32))')
    write(repository, "shape", '("OUTPUT0", given.reshape(2, 2)), ("SECOND", np.zeros((0, 2), np.float32))')
    write(repository, "unknown", f'("THIRD", given), {AS_CONFIGURED}')
    write(repository, "batched", '("OUTPUT0", given), ("SECOND", np.zeros((3, 2), np.float32))', max_batch_size=4)
    with Server(repository, python_models.INTERPRETER) as running:
        yield running.wait_ready()


def ask(control, model, *outputs, shape=(4,)):
    module = control._module
    tensor = module.InferInput("INPUT0", list(shape), "FP32")
    tensor.set_data_from_numpy(np.arange(4, dtype=np.float32).reshape(shape))
    wanted = [module.InferRequestedOutput(name) for name in outputs] or None
    return control.client.infer(model, [tensor], outputs=wanted)


def warnings(server, model):
    return [line[line.index("model '"):] for line in server.lines if f"model '{model}' version 1" in line and " WARN" in line]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_answers_are_as_the_model_made_them(server, protocol):
    with Control(server, protocol) as control:
        assert (ask(control, "type").as_numpy("OUTPUT0") == np.arange(4, dtype=np.int64)).all()
        assert ask(control, "type").as_numpy("OUTPUT0").dtype == np.int64
        assert ask(control, "shape").as_numpy("OUTPUT0").shape == (2, 2)
        result = ask(control, "unknown")
        assert result.as_numpy("THIRD") is None and result.as_numpy("OUTPUT0").shape == (4,)
        assert ask(control, "unknown", "SECOND").as_numpy("SECOND").shape == (3, 2)
        assert ask(control, "batched", shape=(1, 4)).as_numpy("SECOND").shape == (3, 2)


def test_differences_are_told_once(server):
    with Control(server, "grpc") as control:
        for _ in range(3):
            for model in ("right", "type", "shape", "unknown"):
                ask(control, model)
            ask(control, "right", "SECOND")
            ask(control, "batched", shape=(1, 4))
    said = "; clients get it as it is"
    expected = {
        "right": [],
        "type": [f"model 'type' version 1, instance 'type_0': output 'OUTPUT0' has type INT64, and its configuration says FP32{said}"],
        "shape": [f"model 'shape' version 1, instance 'shape_0': output 'OUTPUT0' has the shape [2,2], which does not fit the [4] of its configuration{said}"],
        "unknown": ["model 'unknown' version 1: execute() returns an output 'THIRD', which its configuration does not have; nobody gets it. "
                    "This is said once"],
        "batched": [f"model 'batched' version 1, instance 'batched_0': output 'SECOND' has the shape [3,2], which does not fit the [-1,-1,2] of its configuration{said}"],
    }
    eventually(lambda: {model: warnings(server, model) for model in expected} == expected)
