"""What users of Triton are used to, and `atoll` alone would not do: links out of a repository, and the environment in Python models."""

import subprocess
import sys

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models, python_models
from support.launched import Launched
from support.server import Server
from support.waiting import eventually
from test_launcher import echo
from tritonclient.utils import InferenceServerException

INTERPRETER = {"ATOLL__PLUGIN__PYTHON__INTERPRETER": sys.executable}

SHOWS = """\
def execute(self, requests):
    text = f"{os.environ.get('HF_HOME')} {sys.prefix}"
    return [pb_utils.InferenceResponse(error=pb_utils.TritonError(text)) for request in requests]
"""


@pytest.fixture
def repository(tmp_path):
    """Its models are kept elsewhere, as a release that a link names."""
    models.write_model(tmp_path / "releases", "echo", models.identity_config("echo"))
    folder = tmp_path / "models"
    models.write_model(folder, "echo", models.identity_config("echo"))
    (folder / "echo" / "1").rmdir()
    (folder / "echo" / "1").symlink_to(tmp_path / "releases" / "echo" / "1")
    return folder


def shown(client, model):
    tensor = grpcclient.InferInput("INPUT0", [1], "FP32")
    tensor.set_data_from_numpy(np.zeros(1, np.float32))
    with pytest.raises(InferenceServerException) as raised:
        client.infer(model, [tensor])
    return raised.value.message().split(" ")



def test_links_lead_out_of_a_repository(repository):
    with Launched(repository) as server, server.client() as client:
        server.wait_ready("echo")
        assert echo(client)


@pytest.mark.parametrize("how", ["tritonserver", "atoll"])
def test_where_they_may_not_the_target_and_the_option_are_named(repository, tmp_path, how):
    start = (lambda: Launched(repository, "--follow-links=false")) if how == "tritonserver" else (lambda: Server(repository))
    with start() as server:
        text = (f"{repository}/echo/1: is reached by a link that leads out of the repository, to {tmp_path}/releases/echo/1; "
                "plugin.repository.linked_paths allows that")
        eventually(lambda: text in server.log)


def test_the_named_option_allows_it(repository, tmp_path):
    with Server(repository, f'plugin.repository.linked_paths=["{tmp_path}/releases"]') as server, server.client() as client:
        server.wait_ready("echo")
        assert echo(client)


@pytest.mark.parametrize("flags, seen", [([], "/cache/hub"), (["--pass-environment=false"], "None")])
def test_python_models_see_the_environment(tmp_path, flags, seen):
    python_models.write(tmp_path / "models", "shows", SHOWS)
    with Launched(tmp_path / "models", *flags, environment={**INTERPRETER, "HF_HOME": "/cache/hub"}) as server, server.client() as client:
        server.wait_ready("shows")
        assert shown(client, "shows")[0] == seen


VENV = 'parameters { key: "EXECUTION_ENV_PATH" value { string_value: "$$TRITON_MODEL_DIRECTORY/venv" } }'


@pytest.mark.parametrize("how", ["tritonserver", "atoll", "atoll that may not"])
def test_a_virtual_environment_in_a_models_folder(tmp_path, how):
    repository = tmp_path / "models"
    python_models.write(repository, "shows", SHOWS, extra=VENV)
    venv = repository / "shows" / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    [packages] = venv.glob("lib/python3*/site-packages")
    (packages / "tests.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    interpreter = (venv / "bin" / "python3").resolve()
    if how == "atoll that may not":
        with Server(repository) as server:
            eventually(lambda: f": is reached by a link that leads out of the repository, to {interpreter}; "
                               "plugin.repository.linked_paths allows that" in server.log)
        return
    options = [f'plugin.repository.linked_paths=["{interpreter.parent}"]']
    with (Launched(repository) if how == "tritonserver" else Server(repository, *options)) as server, server.client() as client:
        server.wait_ready("shows")
        assert shown(client, "shows")[1] == str(venv)
        assert "is ignored" not in server.log  # nobody takes `venv` for a version
