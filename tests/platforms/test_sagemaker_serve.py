"""SageMaker starts a container as `IMAGE serve`: the program of that name in the image makes flags of the container's environment."""

import os
import subprocess

import pytest
from support import models
from support.http_call import call
from support.server import BUILD, ROOT, START_TIMEOUT_S, Server
from support.waiting import eventually
from test_cloud_endpoints import SAGEMAKER, check_inference, place_of
from test_sagemaker_models import load, unpack

SERVE = ROOT / "etc/packages/image/serve"


def environment(root, **more):
    return {"PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}", "ATOLL_SAGEMAKER_ROOT": str(root), "SAGEMAKER_BIND_TO_PORT": "0", **more}


class Serving(Server):
    def __init__(self, root, **more):
        self._start([str(SERVE)], environment(root, **more))
        self.place = place_of(self, "http_sagemaker")


def test_the_only_model_is_served(tmp_path):
    models.write_model(tmp_path / "model", "echo", models.identity_config("echo"))
    with Serving(tmp_path, SAGEMAKER_TRITON_LOG_VERBOSE="1", SAGEMAKER_SAFE_PORT_RANGE="0-9000") as server:
        eventually(lambda: call("GET", f"{server.place}/ping").status == 200)
        check_inference(f"{server.place}/invocations", SAGEMAKER)
        for other in ("[http]", "[grpc]", "[metrics]"):
            assert f"{other} Started" not in server.log
        server.wait_logged("DEBUG")


def test_one_of_several_is_named(tmp_path):
    for name in ("echo", "other"):
        models.write_model(tmp_path / "model", name, models.identity_config(name))
    with Serving(tmp_path, SAGEMAKER_TRITON_DEFAULT_MODEL_NAME="echo") as server:
        check_inference(f"{server.place}/invocations", SAGEMAKER)
        assert "echo' version 1" in server.log and "other' version 1" not in server.log


def test_models_that_come_later(tmp_path):
    with Serving(tmp_path, SAGEMAKER_MULTI_MODEL="true") as server:
        assert call("GET", f"{server.place}/models").json() == {"models": []}
        # Archives may have members of one name.
        for name in ("aaa", "bbb"):
            url = unpack(tmp_path / "models", name, "member")
            tensors = (models.tensor_config("input", "INPUT0", "TYPE_FP32", [-1]) +
                       models.tensor_config("output", "OUTPUT0", "TYPE_FP32", [-1]))
            step = ('step [ { model_name: "member" model_version: -1 input_map { key: "INPUT0" value: "INPUT0" } '
                    'output_map { key: "OUTPUT0" value: "OUTPUT0" } } ]')
            unpack(tmp_path / "models", name, "whole", f'platform: "ensemble" {tensors} ensemble_scheduling {{ {step} }}')
            loaded = load(server, name, url)
            assert loaded.status == 200, loaded.text
        for name in ("aaa", "bbb"):
            check_inference(f"{server.place}/models/{name}/invoke", SAGEMAKER)
        assert call("DELETE", f"{server.place}/models/aaa").status == 200
        check_inference(f"{server.place}/models/bbb/invoke", SAGEMAKER)


@pytest.mark.parametrize("names, named, text", [
    ((), None, "there is no folder '{root}/model' with a model"),
    (("a", "b"), None, "'{root}/model' has several models; SAGEMAKER_TRITON_DEFAULT_MODEL_NAME has to name the one that is asked"),
    (("a", ), "b", "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME: there is no folder '{root}/model/b'"),
    (("", ), None, "'{root}/model' is a model; it has to be the folder above the model's")])
def test_what_is_not_there_is_said(tmp_path, names, named, text):
    for name in names:
        (tmp_path / "model" / name / "1").mkdir(parents=True)
        (tmp_path / "model" / name / "config.pbtxt").write_text(models.identity_config("x"))
    more = {"SAGEMAKER_TRITON_DEFAULT_MODEL_NAME": named} if named else {}
    done = subprocess.run([SERVE], env={**os.environ, **environment(tmp_path, **more)}, capture_output=True, text=True,
                          timeout=START_TIMEOUT_S)
    assert done.returncode == 1 and done.stderr == f"serve: {text.format(root=tmp_path)}\n", done
