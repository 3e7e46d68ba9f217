"""Models that are encrypted, and their keys."""

import pathlib
import subprocess

import numpy as np
import onnx
import tritonclient.grpc as grpcclient
from onnx import TensorProto, external_data_helper, helper, numpy_helper
from support.server import BUILD

MANIFEST = pathlib.Path(__file__).parents[1] / "security" / "encrypted.toml"
SIZE = 50_000  # of the constant: a file with some pages


class ModelKeys:
    """A file of keys by id."""

    def __init__(self, path, **keys):
        self.path = pathlib.Path(path)
        self.write(**keys)

    def write(self, **keys):
        """In one step, as whoever wants no half file. A key is said by one hexadecimal digit."""
        new = self.path.with_suffix(".new")
        new.write_text("".join(f"{name}:{64 * digit}\n" for name, digit in keys.items()))
        new.chmod(0o600)
        new.rename(self.path)


def weights(seed):
    return np.random.default_rng(seed).random(SIZE, dtype=np.float32)


def write_plain(folder, seed, external=None):
    """A model without a configuration: OUTPUT0 = INPUT0 + weights(seed). \\param external  the file of the weights, beside the model"""
    version = pathlib.Path(folder) / "1"
    version.mkdir(parents=True)
    value = helper.make_tensor_value_info
    constant = numpy_helper.from_array(weights(seed), "C")
    graph = helper.make_graph([helper.make_node("Add", ["INPUT0", "C"], ["OUTPUT0"])], "add",
                              [value("INPUT0", TensorProto.FLOAT, [1])], [value("OUTPUT0", TensorProto.FLOAT, [SIZE])], [constant])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    if external:
        external_data_helper.convert_model_to_external_data(model, location=external, size_threshold=0)
    onnx.save_model(model, version / "model.onnx")
    return pathlib.Path(folder)


def encrypt(folder, out, keys, key_id="main"):
    """\\returns the new folder"""
    command = [BUILD / "bin" / "atollctl", "model", "encrypt", folder, "--key-file", keys.path, "--key-id", key_id, "--out", out]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return pathlib.Path(out)


def answer(client, name):
    """Of INPUT0 = 1."""
    values = grpcclient.InferInput("INPUT0", [1], "FP32")
    values.set_data_from_numpy(np.ones(1, np.float32))
    return client.infer(name, [values]).as_numpy("OUTPUT0")
