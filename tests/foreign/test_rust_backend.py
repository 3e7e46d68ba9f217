"""The backend in Rust is built against nothing but the C API's names, and serves real clients."""

import subprocess

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support.models import tensor_config, write_model
from support.server import ROOT, Server
from support.triton_backends import write_manifest

SOURCE = ROOT / "sdk" / "template" / "triton_backends" / "copy.rs"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rust")
    (folder / "backends" / "copy").mkdir(parents=True)
    subprocess.run(["rustc", "--edition", "2021", "--crate-type", "cdylib", "-C", "panic=abort", "-D", "warnings", SOURCE,
                    "-o", folder / "backends" / "copy" / "libtriton_copy.so"], check=True)
    for name, datatype in (("numbers", "TYPE_FP32"), ("texts", "TYPE_STRING")):
        write_model(folder / "models", name, 'backend: "copy"\n' + tensor_config("input", "IN", datatype, [-1]) +
                    tensor_config("output", "OUTPUT0", datatype, [-1]))
    with Server(folder / "models", manifest=write_manifest(folder, folder / "backends")) as running:
        yield running.wait_ready()


@pytest.mark.parametrize("model, values, datatype", [
    ("numbers", np.arange(1000, dtype=np.float32), "FP32"), ("numbers", np.zeros(0, np.float32), "FP32"),
    ("texts", np.array([b"", b"one", b"x" * 5000], np.object_), "BYTES")], ids=["numbers", "nothing", "texts"])
def test_what_is_sent_comes_back(server, model, values, datatype):
    tensor = grpcclient.InferInput("IN", list(values.shape), datatype)
    tensor.set_data_from_numpy(values)
    with server.client() as client:
        assert np.array_equal(client.infer(model, [tensor]).as_numpy("OUTPUT0"), values)


def test_it_has_a_page_of_lines():
    assert len(SOURCE.read_text().splitlines()) < 80
