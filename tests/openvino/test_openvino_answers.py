"""backends/openvino answers what OpenVINO's own Python does, which is run apart: no server is to find it by itself."""

import os
import pathlib
import subprocess

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import openvino_models as models
from support.server import Server

REFERENCE = os.environ["ATOLL_OPENVINO_PYTHON"]
CONFIG = 'backend: "openvino"\n'


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return tmp_path_factory.mktemp("repository")


@pytest.fixture(scope="module")
def client(repository):
    with Server(repository, *models.OPENVINO, 'plugin.control.use="control/explicit"',
                "plugin.models.strict_readiness=false") as running, running.wait_active().client() as client:
        yield client


def given(name, array):
    tensor = grpcclient.InferInput(name, array.shape, "FP32")
    tensor.set_data_from_numpy(array)
    return tensor


def reference(what, *paths):
    subprocess.run([REFERENCE, pathlib.Path(__file__).with_name("reference.py"), what, *paths], check=True)


@pytest.mark.parametrize("kind", ["onnx", "ir", "savedmodel", "graphdef"])
def test_answers_are_those_of_openvinos_own_python(repository, client, tmp_path, kind):
    weights = np.random.default_rng(1).standard_normal((64, 10)).astype(np.float32)
    name, file_name, content, width = {
        "onnx": ("model.onnx", "model.onnx", models.onnx_dense(weights), 64),
        "ir": ("model.onnx", "model.xml", models.onnx_dense(weights), 64),
        "savedmodel": ("model.saved_model", "model.saved_model", models.tf_saved_model(1.7), 3),
        "graphdef": ("model.graphdef", "model.graphdef", models.tf_graph(1.7), 3)}[kind]
    models.add_model(tmp_path, "source", name, content)
    source = tmp_path / "source" / "1" / name
    if kind == "ir":
        reference("ir", source, tmp_path / "model.xml")
        source = tmp_path / "model.xml"
        models.add_model(repository, kind, "model.bin", (tmp_path / "model.bin").read_bytes())
        content = source.read_bytes()
    models.add_model(repository, kind, file_name, content, config=CONFIG + f'default_model_filename: "{file_name}"\n')
    client.load_model(kind)
    config = client.get_model_config(kind, as_json=True)["config"]
    inputs, outputs = config["input"][0]["name"], config["output"][0]["name"]
    x = np.random.default_rng(2).standard_normal((3, width)).astype(np.float32)
    np.savez(tmp_path / "inputs.npz", **{inputs: x})
    reference("infer", source, tmp_path / "inputs.npz", tmp_path / "answers.npz")
    expected = np.load(tmp_path / "answers.npz")[outputs]
    np.testing.assert_allclose(client.infer(kind, [given(inputs, x)]).as_numpy(outputs), expected, rtol=1e-5, atol=1e-6)
