"""TorchScript models over the wire: a network trained and saved by PyTorch, and models that are wrong."""

import subprocess
import sys

import numpy as np
import pytest
import sklearn.datasets
import tritonclient.grpc as grpc_client
from support.server import DEFAULT_MANIFEST, ROOT, Server
from tritonclient.utils import InferenceServerException

DIGITS = f"{sklearn.datasets.__path__[0]}/data/digits.csv.gz"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits_torch")
    # Debian's PyTorch is that of libtorch-dev, and has Debian's Python.
    subprocess.run(["/usr/bin/python3", ROOT / "etc/models/train_digits_torch.py", "--digits", DIGITS,
                    "--output", folder / "models", "--heldout", folder / "heldout.npz"], check=True)
    return folder


@pytest.fixture(scope="module")
def server(trained, tmp_path_factory):
    manifest = tmp_path_factory.mktemp("manifest") / "atoll.toml"
    manifest.write_text(DEFAULT_MANIFEST.read_text() + '\n[plugin.pytorch]\nuse = "backends/pytorch"\n')
    for name, platform in (("damaged", "pytorch_libtorch"), ("inductor", "torch_aoti")):
        (trained / "models" / name / "1").mkdir(parents=True, exist_ok=True)
        (trained / "models" / name / "1" / "model.pt").write_bytes(b"not a model")
        (trained / "models" / name / "config.pbtxt").write_text(
            f'platform: "{platform}" default_model_filename: "model.pt" '
            'input { name: "x" data_type: TYPE_FP32 dims: 1 } output { name: "y" data_type: TYPE_FP32 dims: 1 }')
    with Server(trained / "models", manifest=manifest) as server:
        server.wait_active()
        yield server


def test_held_out_images_are_classified(server, trained):
    run = subprocess.run([sys.executable, ROOT / "etc/models/classify_digits.py", "--url", server.address, "--model",
                          "digits_torch", "--heldout", trained / "heldout.npz", "--wait", "30"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_wrong_inputs_are_told(server):
    client = grpc_client.InferenceServerClient(server.address)
    image = grpc_client.InferInput("image", [1, 63], "FP32")
    image.set_data_from_numpy(np.zeros((1, 63), np.float32))
    with pytest.raises(InferenceServerException, match="unexpected shape for input 'image'"):
        client.infer("digits_torch", [image])


@pytest.mark.parametrize("model, reason", [
    ("damaged", "PyTorch cannot read it"), ("inductor", "this backend runs TorchScript models")])
def test_what_is_no_torchscript_does_not_load(server, model, reason):
    client = grpc_client.InferenceServerClient(server.address)
    entries = {entry.name: entry for entry in client.get_model_repository_index().models}
    assert entries[model].state == "UNAVAILABLE"
    assert reason in entries[model].reason, entries[model].reason
