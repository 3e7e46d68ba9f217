"""The calls by which SageMaker keeps the models of a multi-model endpoint, by its rules for containers: load, list, get, invoke and
unload, each by the name that SageMaker gives the model."""

import json
import pathlib
import re
import signal
import sys
import textwrap
import threading
import time

import pytest
from support import edits, models, python_models
from support.http_call import call
from support.identities import MANIFEST, Keys
from support.launched import Launched
from support.server import DEFAULT_MANIFEST, Server
from support.waiting import eventually
from test_cloud_endpoints import SAGEMAKER, body_of, check_inference, place_of
from test_port_opening import HELD

TARGET = "X-Amzn-SageMaker-Target-Model"
PING_S = 2


@pytest.fixture
def folder(tmp_path):
    """As /opt/ml/models of a container."""
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


@pytest.fixture(params=["false", "true"])
def namespacing(request):
    return request.param


@pytest.fixture
def server(folder, tmp_path, namespacing):
    """With and without namespaces, which let models of one name in several archives be served."""
    (tmp_path / "none").mkdir()
    with Launched(tmp_path / "none", f"--model-namespacing={namespacing}", "--allow-sagemaker=true", "--sagemaker-port=0", "--model-control-mode=explicit",
                  environment={"SAGEMAKER_MULTI_MODEL": "true",
                               "ATOLL__PLUGIN__SAGEMAKER__MODELS_DIRECTORY": str(folder),
                               "ATOLL__PLUGIN__PYTHON__INTERPRETER": sys.executable}) as running:
        running.place = place_of(running, "http_sagemaker")
        yield running


def unpack(folder, name, model=None, config=None):
    """What SageMaker does with an archive; model: the folder of the model in it; None: the archive is the model."""
    inside = folder / name / "model"
    where = inside if model is None else inside / model
    (where / "1").mkdir(parents=True)
    (where / "config.pbtxt").write_text(config or models.identity_config("x").replace('name: "x" ', ""))
    return inside


def load(server, name, url, **headers):
    return call("POST", f"{server.place}/models", json.dumps({"model_name": name, "url": str(url)}).encode(), headers=headers)


def listed(server):
    return {entry["modelName"]: entry["modelUrl"] for entry in call("GET", f"{server.place}/models").json()["models"]}


def test_a_model_comes_and_goes(server, folder):
    assert call("GET", f"{server.place}/ping").status == 200 and listed(server) == {}
    urls = {"aaa": unpack(folder, "aaa"), "bbb": unpack(folder, "bbb", "bert")}
    for name, url in urls.items():
        loaded = load(server, name, f"{url}/")
        assert loaded.status == 200, loaded.text
    assert {name: pathlib.Path(url) for name, url in listed(server).items()} == urls
    one = call("GET", f"{server.place}/models/aaa")
    assert one.json() == {"modelName": "aaa", "modelUrl": f"{urls['aaa']}/"}
    check_inference(f"{server.place}/models/aaa/invoke", SAGEMAKER)
    check_inference(f"{server.place}/models/bbb/invoke", SAGEMAKER)
    assert load(server, "aaa", urls["aaa"]).status == 409
    assert call("DELETE", f"{server.place}/models/aaa").status == 200
    for method, path in (("GET", "/models/aaa"), ("POST", "/models/aaa/invoke"), ("DELETE", "/models/aaa")):
        assert call(method, server.place + path).status == 404, path
    assert list(listed(server)) == ["bbb"]
    # SageMaker deletes the files, and brings them again when somebody asks.
    assert load(server, "aaa", urls["aaa"]).status == 200
    check_inference(f"{server.place}/models/aaa/invoke", SAGEMAKER)


def test_the_model_has_the_name_that_clients_know(server, folder):
    assert load(server, "aaa", unpack(folder, "aaa"), **{TARGET: "bert.tar.gz"}).status == 200
    check_inference(f"{server.place}/models/aaa/invoke", SAGEMAKER)
    page = call("GET", f"http://{server.metrics_address}/metrics").text
    assert re.search(r'nv_inference_request_success{[^}]*model="bert.tar.gz"', page)
    assert load(server, "bbb", unpack(folder, "bbb"), **{TARGET: "bert.tar.gz"}).status == 409
    assert list(listed(server)) == ["aaa"]


def unpack_ensemble(folder, name, datatype="TYPE_FP32"):
    tensors = models.tensor_config("input", "INPUT0", datatype, [-1]) + models.tensor_config("output", "OUTPUT0", datatype, [-1])
    step = 'step [ { model_name: "part" model_version: -1 input_map { key: "INPUT0" value: "INPUT0" } output_map { key: "OUTPUT0" value: "OUTPUT0" } } ]'
    unpack(folder, name, "part")
    return unpack(folder, name, "whole", f'platform: "ensemble" {tensors} ensemble_scheduling {{ {step} }}')


def states(server):
    """Of all models that the server knows of: what the index says beside the name."""
    index = call("POST", place_of(server, "http") + "/v2/repository/index", b"{}")
    assert index.status == 200, index.text
    return {entry["name"]: entry.get("state") for entry in index.json()}


def test_an_ensemble_goes_with_its_members(server, folder):
    assert load(server, "aaa", unpack_ensemble(folder, "aaa")).status == 200
    check_inference(f"{server.place}/models/aaa/invoke", SAGEMAKER)
    assert call("DELETE", f"{server.place}/models/aaa").status == 200
    assert set(states(server).values()) <= {None, "UNAVAILABLE"}, states(server)


def test_a_member_is_that_of_its_own_archive(server, folder, namespacing):
    """Or it is not loaded: it would be answered by another archive's."""
    assert load(server, "aaa", unpack_ensemble(folder, "aaa")).status == 200
    told = load(server, "bbb", unpack_ensemble(folder, "bbb"))
    if namespacing == "true":
        assert told.status == 200, told.text
        assert call("DELETE", f"{server.place}/models/aaa").status == 200
        check_inference(f"{server.place}/models/bbb/invoke", SAGEMAKER)
    else:
        assert told.status == 400 and "has a member 'part', and a model of this name is loaded: set namespacing = true" in told.text
        check_inference(f"{server.place}/models/aaa/invoke", SAGEMAKER)


def test_an_ensemble_that_cannot_be_loaded_takes_its_members_along(server, folder):
    told = load(server, "aaa", unpack_ensemble(folder, "aaa", "TYPE_INT32"))
    assert told.status == 400, told.text
    assert call("DELETE", f"{server.place}/models/aaa").status == 404
    assert states(server) == {}, "neither memory nor a name is taken"
    assert load(server, "bbb", unpack_ensemble(folder, "bbb")).status == 200
    check_inference(f"{server.place}/models/bbb/invoke", SAGEMAKER)


def test_a_target_in_a_folder_has_the_name_that_sagemaker_gives_it(server, folder):
    """Such a key of S3 cannot be a model's name."""
    assert load(server, "aaa", unpack(folder, "aaa"), **{TARGET: "team/bert.tar.gz"}).status == 200
    assert states(server) == {"aaa": "READY"}
    check_inference(f"{server.place}/models/aaa/invoke", SAGEMAKER)


def test_a_load_that_fails_leaves_nothing(server, folder, tmp_path):
    broken = unpack(folder, "aaa", config='backend: "none"')
    outside = unpack(tmp_path / "elsewhere", "bbb")
    for name, url, status, text in (("aaa", broken, 400, "none"), ("bbb", outside, 400, "does not lie below"),
                                    ("ccc", folder / "ccc", 400, "No such file"), ("ddd", "/proc/self", 400, "does not lie below")):
        told = load(server, name, url)
        assert told.status == status and text in told.json()["error"], told.text
        assert told.headers["Content-Type"] == "application/json"
    assert listed(server) == {} == states(server)
    assert call("GET", place_of(server, "http") + "/v2/health/ready").status == 200
    assert call("GET", f"{server.place}/ping").status == 200, "a model that fails is no reason to replace the container"
    (broken / "config.pbtxt").write_text(models.identity_config("x").replace('name: "x" ', ""))
    assert load(server, "aaa", broken).status == 200


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"model_name": "a"}', b'{"model_name": "", "url": "/a"}', b'{"model_name": 1, "url": "/a"}',
                                  b'{"model_name": "%s", "url": "/a"}' % (b"a" * 256), b'{"model_name": "a\\nb", "url": "/a"}',
                                  b'{"model_name": "a/b", "url": "/a"}', b"[" * 100000])
def test_requests_that_say_too_little(server, body):
    told = call("POST", f"{server.place}/models", body)
    assert told.status == 400 and told.json()["error"], told.text
    assert call("PUT", f"{server.place}/models", body).status == 405


def test_one_of_two_loads_of_a_name_wins(server, folder):
    url = unpack(folder, "aaa")
    statuses = []
    threads = [threading.Thread(target=lambda: statuses.append(load(server, "aaa", url).status)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] + [409] * 7
    check_inference(f"{server.place}/models/aaa/invoke", SAGEMAKER)


def test_a_load_holds_up_nobody(server, folder, tmp_path):
    """SageMaker gives a ping 2 s, and a load 360: what is loaded meanwhile is asked, listed and unloaded."""
    assert load(server, "aaa", unpack(folder, "aaa")).status == 200
    gate = tmp_path / "gate"
    tensors = models.tensor_config("input", "INPUT0", "TYPE_FP32", [-1]) + models.tensor_config("output", "OUTPUT0", "TYPE_FP32", [-1])
    url = unpack(folder, "bbb", config=f'backend: "python" {tensors}')
    (url / "1/model.py").write_text(python_models.HEAD + "class TritonPythonModel:\n" + textwrap.indent(
        HELD.format(gate=str(gate)), "    "))
    statuses = []
    loading = threading.Thread(target=lambda: statuses.append(load(server, "bbb", url).status))
    loading.start()
    try:
        eventually(gate.with_suffix(".begun").exists)
        assert load(server, "bbb", url).status == 409
        begin = time.monotonic()
        assert call("GET", f"{server.place}/ping").status == 200
        assert time.monotonic() - begin < PING_S
        check_inference(f"{server.place}/models/aaa/invoke", SAGEMAKER)
        assert list(listed(server)) == ["aaa"]
        assert call("DELETE", f"{server.place}/models/bbb").status == 404, "it is not there yet"
        assert call("DELETE", f"{server.place}/models/aaa").status == 200
    finally:
        gate.touch()
        loading.join()
    assert statuses == [200] and list(listed(server)) == ["bbb"]
    check_inference(f"{server.place}/models/bbb/invoke", SAGEMAKER)


def test_what_is_loaded_outlives_a_new_instance_of_the_plugin(folder, tmp_path):
    manifest = edits.read(DEFAULT_MANIFEST.read_text())
    manifest["plugin"]["control"] = {"use": "control/explicit"}
    manifest["plugin"]["sagemaker"] = {"use": "frontends/sagemaker", "multi_model": True, "models_directory": str(folder)}
    path = tmp_path / "atoll.toml"
    path.write_text(edits.write(manifest))
    with Server(folder, manifest=path) as server:
        server.place = f"http://{server.http_address}"
        assert load(server, "aaa", unpack(folder, "aaa")).status == 200
        manifest["plugin"]["sagemaker"]["default_model"] = "aaa"
        path.write_text(edits.write(manifest))
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: call("POST", f"{server.place}/invocations", body_of([1.0], binary=False)[0]).status == 200)
        eventually(lambda: listed(server) == {"aaa": str(folder / "aaa/model")})
        check_inference(f"{server.place}/models/aaa/invoke", SAGEMAKER)
        assert call("DELETE", f"{server.place}/models/aaa").status == 200


def test_a_caller_lists_loads_and_unloads_the_models_that_it_may(folder, tmp_path):
    """Any other one is as if SageMaker had not loaded it."""
    keys = Keys(tmp_path / "keys")
    everything, some = ({"Authorization": f"Bearer {keys.add(name, permissions)}"} for name, permissions in (
        ("all", "*"), ("some", "inference@fraud-*,model-repository@fraud-*")))
    options = ('plugin.sagemaker.use="frontends/sagemaker"', "plugin.sagemaker.multi_model=true",
               f'plugin.sagemaker.models_directory="{folder}"', f'plugin.keys.keys_file="{keys.path}"')
    (tmp_path / "none").mkdir()
    body, _ = body_of([1.0], binary=False)
    with Server(tmp_path / "none", *options, manifest=MANIFEST, grpc_frontend=None) as server:
        server.wait_active()
        server.place = f"http://{server.http_address}"

        def names(headers):
            return [model["modelName"] for model in call("GET", f"{server.place}/models", headers=headers).json()["models"]]
        hidden, own = unpack(folder, "aaa"), unpack(folder, "bbb")
        assert load(server, "aaa", hidden, **everything, **{TARGET: "secret"}).status == 200
        assert load(server, "bbb", own, **some, **{TARGET: "fraud-b"}).status == 200
        assert names(everything) == ["aaa", "bbb"] and names(some) == ["bbb"]
        for method in ("GET", "DELETE"):
            answers = [call(method, f"{server.place}/models/{name}", headers=some) for name in ("aaa", "zzz")]
            assert [answer.status for answer in answers] == [404, 404]
            assert answers[0].text == answers[1].text.replace("zzz", "aaa")
        assert call("POST", f"{server.place}/models/aaa/invoke", body, headers=some).status == 404
        assert call("POST", f"{server.place}/models/bbb/invoke", body, headers=some).status == 200
        other = unpack(folder, "ccc")
        for more in ({TARGET: "other"}, {TARGET: "secret"}, {}):
            assert load(server, "ccc", other, **some, **more).status == 403, more
        ensemble = unpack_ensemble(folder, "ddd")
        told = load(server, "ddd", ensemble, **some, **{TARGET: "fraud-d"})
        assert told.status == 403 and "'part'" in told.text, "nor the models of an ensemble"
        assert names(everything) == ["aaa", "bbb"]
        assert call("DELETE", f"{server.place}/models/bbb", headers=some).status == 200
        assert names(everything) == ["aaa"]


def test_the_body_of_a_call_is_that_of_the_protocol(server, folder):
    assert load(server, "aaa", unpack(folder, "aaa")).status == 200
    body, _ = body_of([1.0], binary=False)
    assert call("POST", f"{server.place}/models/aaa/invoke", body).status == 200
    assert call("POST", f"{server.place}/models/aaa/invoke", b"{}").status == 400
