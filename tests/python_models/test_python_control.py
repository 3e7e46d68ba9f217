"""Python models that load, unload and look for other models, and that show in traces."""

import collections
import json
import queue

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models, python_models
from support.control import EXPLICIT
from support.server import Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

CONTROLLER = """\
def execute(self, requests):
    about = json.loads(requests[0].parameters())
    call, model = about["call"], about["target"]
    if call == "load":
        pb_utils.load_model(model_name=model)
    elif call == "config":
        pb_utils.load_model(model, config=about["config"])
    elif call == "files":
        pb_utils.load_model(model, about["config"], {"file:1/model.py": about["text"].encode()})
    elif call == "wrong files":
        pb_utils.load_model(model, about["config"], {"file:1/model.py": 5})
    elif call == "unload":
        pb_utils.unload_model(model)
    ready = pb_utils.is_model_ready(model) if call != "version" else pb_utils.is_model_ready(model, about["version"])
    return [answer(np.array([ready], dtype=np.float32))]
"""


def configuration(name, batch=0):
    tensor = {"data_type": "TYPE_FP32", "dims": [-1]}
    return json.dumps({"name": name, "backend": "python", "max_batch_size": batch, "input": [{"name": "INPUT0", **tensor}],
                       "output": [{"name": "OUTPUT0", **tensor}]})


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    python_models.write(folder, "controller", CONTROLLER)
    python_models.write(folder, "target", python_models.IDENTITY)
    python_models.write(folder, "broken", "def initialize(self, args):\n    raise RuntimeError('no weights')\n" + python_models.IDENTITY)
    return folder


@pytest.fixture(scope="module")
def client(repository):
    with Server(repository, python_models.INTERPRETER, EXPLICIT, 'plugin.control.load_model=["controller"]') as server:
        server.wait_ready("controller")
        with server.client() as client:
            yield client


def ask(client, model, array=np.array([1], dtype=np.float32), **options):
    tensor = grpcclient.InferInput("INPUT0", list(array.shape), "FP32")
    tensor.set_data_from_numpy(array)
    return client.infer(model, [tensor], **options).as_numpy("OUTPUT0")


def control(client, call, target="target", **more):
    return bool(ask(client, "controller", parameters={"call": call, "target": target, **more})[0])


def refusal(client, *arguments, **more):
    with pytest.raises(InferenceServerException) as raised:
        control(client, *arguments, **more)
    return raised.value.message().removeprefix("Failed to process the request(s) for model 'controller_0', message: ")


def test_models_load_and_unload_models(client):
    assert not client.is_model_ready("target") and not control(client, "look")
    assert control(client, "load")
    assert client.is_model_ready("target") and control(client, "look")
    assert (ask(client, "target") == [1]).all()
    assert control(client, "version", version="1") and not control(client, "version", version="2")
    assert not control(client, "unload")
    eventually(lambda: not client.is_model_ready("target"))


def test_models_load_models_with_a_configuration(client):
    assert control(client, "config", config=configuration("target", 4))
    assert client.get_model_config("target").config.max_batch_size == 4
    assert not control(client, "unload")


def test_models_bring_files_of_models(client):
    text = python_models.HEAD + """
class TritonPythonModel:
    def execute(self, requests):
        return [answer(value(request) + 41) for request in requests]
"""
    assert control(client, "files", "brought", config=configuration("brought"), text=text)
    assert ask(client, "brought") == [42]
    assert not control(client, "unload", "brought")


def test_what_fails_is_an_exception_with_the_reason(client):
    assert refusal(client, "load", "nowhere").startswith(
        "TritonModelException: Failed to load model: failed to load 'nowhere', failed to poll from model repository")
    broken = refusal(client, "load", "broken")
    assert broken.startswith("TritonModelException: Failed to load model: load failed for model 'broken'")
    assert "RuntimeError: no weights" in broken
    assert refusal(client, "wrong files", config=configuration("target")) == (
        "TritonModelException: failed to load model 'target', files should be a dictionary of file paths and file contents")
    assert refusal(client, "version", version="one") == (
        "TritonModelException: Failed to check model readiness: failed to get model version from specified version string 'one'")
    assert not control(client, "look", "nowhere")


def test_without_explicit_control_nothing_is_loaded(repository):
    with Server(repository, python_models.INTERPRETER, "plugin.models.strict_readiness=false") as server, server.client() as client:
        server.wait_ready("controller").wait_ready("target")
        assert refusal(client, "load") == ("TritonModelException: Failed to load model: explicit model load / unload is not allowed if "
                                           "polling is enabled")
        assert refusal(client, "unload").startswith("TritonModelException: Failed to unload model: explicit model load / unload is")
        assert control(client, "look")


# --- traces ---

CALLER = """\
def execute(self, requests):
    responses = []
    for request in requests:
        calls = [pb_utils.InferenceRequest(model_name="leaf", request_id=f"call {{i}}", requested_output_names=["OUTPUT0"],
                                           inputs=[pb_utils.Tensor("INPUT0", value(request).reshape(-1))], {}) for i in range(2)]
        total = sum(call.exec().output_tensors()[0].as_numpy() for call in calls)
        responses.append(answer(total.reshape(value(request).shape)))
    return responses
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traced")
    models.write_model(folder, "leaf", models.identity_config("leaf"))
    python_models.write(folder, "told", CALLER.format("trace=request.trace()"), max_batch_size=4, dims=(1,),
                        extra="dynamic_batching { preferred_batch_size: [ 2 ] max_queue_delay_microseconds: 60000000 }")
    python_models.write(folder, "silent", CALLER.format(""))
    file = folder.parent / f"{folder.name}.json"
    with Server(folder, python_models.INTERPRETER, f'plugin.trace.trace_file="{file}"', "plugin.trace.rate=1") as server:
        server.wait_ready()
        with server.client() as client:
            client.update_trace_settings(settings={"trace_level": ["TIMESTAMPS"]})
            yield client, file


def heads(file):
    """What each trace begins with, by its request's name."""
    if not file.exists():
        return {}
    return {(entry["model_name"], entry.get("request_id"), entry.get("parent_id")): entry["id"]
            for entry in json.loads(file.read_text()) if "model_name" in entry}


def children_of(file, parent):
    return collections.Counter(name for name, about, of in heads(file) if of == parent)


def trace_of(file, model, request_id):
    eventually(lambda: any(key[:2] == (model, request_id) for key in heads(file)))
    return next(number for key, number in heads(file).items() if key[:2] == (model, request_id))


def test_calls_are_children_of_the_request_that_is_executed(traced):
    client, file = traced
    ask(client, "silent", request_id="alone")
    parent = trace_of(file, "silent", "alone")
    eventually(lambda: children_of(file, parent) == {"leaf": 2})


def test_calls_are_children_of_the_request_whose_trace_they_were_given(traced):
    client, file = traced
    array = np.array([[1]], dtype=np.float32)
    tensor = grpcclient.InferInput("INPUT0", [1, 1], "FP32")
    tensor.set_data_from_numpy(array)
    ended = queue.Queue()
    for name in ("one", "two"):
        client.async_infer("told", [tensor], lambda result, error: ended.put(error), request_id=name)
    assert [ended.get(timeout=60), ended.get(timeout=60)] == [None, None]
    parents = [trace_of(file, "told", name) for name in ("one", "two")]
    assert len(set(parents)) == 2
    for parent in parents:
        eventually(lambda parent=parent: children_of(file, parent) == {"leaf": 2})


def test_a_request_that_is_not_traced_has_no_children(traced):
    client, file = traced
    client.update_trace_settings(model_name="silent", settings={"trace_level": ["OFF"]})
    before = len(heads(file))
    ask(client, "silent", request_id="hidden")
    ask(client, "leaf", request_id="after")
    trace_of(file, "leaf", "after")
    assert not any(key[1] == "hidden" for key in heads(file))
    assert len(heads(file)) == before + 1
