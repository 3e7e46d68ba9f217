"""Loads that bring a configuration or the model's files, and what is wrong with some of them."""

import base64
import http.client
import json
import os
import signal
import time

import grpc
import pytest
from support import models
from support.control import EXPLICIT, ONNX_CONFIG, POLL_FAILED, PROTOCOLS, Control
from support.server import Server
from tritonclient.grpc import service_pb2, service_pb2_grpc


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    models.write_add(folder, "plus", 1)
    for version in (1, 2, 3):
        models.write_add(folder, "many", 10 * version, version=version)
    models.write_model(folder, "broken", "max_batchsize: 8\n")
    return folder


@pytest.fixture(scope="module")
def temporary(tmp_path_factory):
    return tmp_path_factory.mktemp("temporary")


@pytest.fixture(scope="module")
def server(repository, temporary):
    with Server(repository, EXPLICIT, environment={"TMPDIR": str(temporary)}) as running:
        yield running.wait_ready()
    assert list(temporary.iterdir()) == [], "private directories are removed at the end"


def private_directories(temporary):
    return [path for folder in temporary.iterdir() for path in folder.iterdir()]


# --- configurations ---

def test_a_configuration_takes_the_place_of_the_files(control):
    config = json.dumps({"backend": "onnxruntime", "version_policy": {"specific": {"versions": [2]}}})
    control.load("many")
    assert control.infer("many", 0) == ("3", 30)
    control.load("many", config=config)
    assert control.infer("many", 0) == ("2", 20)
    control.load("many")
    assert control.infer("many", 0) == ("2", 20), "kept while nothing changes"
    control.unload("many")
    control.load("many")
    assert control.infer("many", 0) == ("3", 30)


def test_a_configuration_is_kept_until_a_file_changes(tmp_path):
    models.write_add(tmp_path, "m", 1, version=1)
    models.write_add(tmp_path, "m", 2, version=2)
    with Server(tmp_path, EXPLICIT) as server, Control(server, "grpc") as control:
        server.wait_ready()
        models.let_settle()
        control.load("m", config='{"backend":"onnxruntime","version_policy":{"specific":{"versions":["1"]}}}')
        assert control.infer("m", 0) == ("1", 1)
        models.write_add(tmp_path, "m", 5, version=2)
        control.load("m")
        assert control.infer("m", 0) == ("2", 5)


def test_a_configuration_makes_up_for_a_broken_one(control):
    control.load("broken", config=json.dumps({
        "backend": "identity", "max_batch_size": 0,
        "input": [{"name": "INPUT0", "data_type": "type_fp32", "dims": [4]}],
        "output": [{"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": ["4"]}]}))
    assert control.infer("broken", 7) == ("1", 7)


@pytest.mark.parametrize("config", ["", "no JSON", "null", "[]", '{"max_batchsize":8}', '{"backend":"a","backend":"b"}',
                                    '{"max_batch_size":-1}', '{"name":"another"}', "{" * 1000, "[" * 250000,
                                    '{"parameters":' * 1000 + "{}" + "}" * 1000])
def test_bad_configurations_are_refused_and_what_serves_stays(control, config):
    control.load("plus")
    code, message = control.refusal(control.load, "plus", config=config)
    assert code == "INVALID_ARGUMENT"
    assert message.startswith(POLL_FAILED.format("plus"))
    assert control.infer("plus", 1) == ("1", 2)


# --- files ---

def test_files_make_a_model(control, temporary):
    control.load("fresh", config=ONNX_CONFIG, files={"1/model.onnx": models.onnx_add(100), "7/model.onnx": models.onnx_add(700)})
    assert control.infer("fresh", 0) == ("7", 700)
    assert control.index()["fresh"] == {"7": ("READY", "")}
    assert len(private_directories(temporary)) == 1
    control.load("fresh", config=ONNX_CONFIG, files={"7/model.onnx": models.onnx_add(701)})
    assert control.infer("fresh", 0) == ("7", 701)
    control.unload("fresh")
    # A version's files go with it, and then the index is told, which has no other place it could be loaded from.
    deadline = time.monotonic() + 30
    while private_directories(temporary) or "fresh" in control.index():
        assert time.monotonic() < deadline, (private_directories(temporary), control.index())
    assert control.refusal(control.load, "fresh")[0] == "INTERNAL"


def test_files_take_the_place_of_a_directory_until_a_plain_load(control):
    control.load("many")
    control.load("many", config=ONNX_CONFIG, files={"1/model.onnx": models.onnx_add(77)})
    assert control.infer("many", 0) == ("1", 77)
    assert control.refusal(control.infer, "many", version="3")[0] == "UNAVAILABLE"
    control.load("many")
    assert control.infer("many", 0) == ("3", 30)


def test_files_need_a_configuration(control):
    control.load("plus")
    assert control.refusal(control.load, "plus", files={"1/model.onnx": models.onnx_add(5)}) == (
        "INVALID_ARGUMENT",
        POLL_FAILED.format("plus") + "Load parameter 'config' must be specified for model file override")
    assert control.infer("plus", 1) == ("1", 2)


@pytest.mark.parametrize("path", ["../../x", "../escaped", "/etc/x", "a/../../x", "..", "1/../../x"])
def test_files_stay_in_their_directory(control, temporary, path):
    normal = os.path.normpath(path)
    code, message = control.refusal(control.load, "fresh", config=ONNX_CONFIG,
                                    files={"1/model.onnx": models.onnx_add(1), path: b"escaped"})
    assert code == "INVALID_ARGUMENT"
    assert message == POLL_FAILED.format("fresh") + (
        f"Invalid file parameter 'file:{path}' with normalized path '{normal}' must stay within model directory.")
    assert not any(path.read_bytes() == b"escaped" for path in temporary.rglob("*") if path.is_file())
    assert private_directories(temporary) == []


@pytest.mark.parametrize("files", [{"n" * 256: b""}, {"n" * 5000: b""}, {"d/" * 40 + "f": b""}, {"": b""}, {"1/": b""},
                                   {"1": b"", "1/model.onnx": b""}, {"1/a": b"", "1//a": b""}])
def test_paths_that_no_disk_takes_are_refused(control, temporary, files):
    code, message = control.refusal(control.load, "fresh", config=ONNX_CONFIG, files=files)
    assert code == "INVALID_ARGUMENT"
    assert "Invalid file parameter" in message
    assert private_directories(temporary) == []


def test_a_bad_file_says_why_and_names_no_private_path(control, temporary):
    control.load("plus")
    for model in ("plus", "fresh"):
        code, message = control.refusal(control.load, model, config=ONNX_CONFIG, files={"1/model.onnx": b"no model"})
        assert code == "INVALID_ARGUMENT"
        assert message.startswith(f"load failed for model '{model}': version 1 is at UNAVAILABLE state: ")
        assert str(temporary) not in message
    assert str(temporary) not in json.dumps(control.index())
    assert control.infer("plus", 1) == ("1", 2)


def test_a_large_file_arrives_whole(control):
    filler = os.urandom(8 << 20)
    control.load("fresh", config=ONNX_CONFIG, files={"1/model.onnx": models.onnx_add(9), "1/filler": filler})
    assert control.infer("fresh", 0) == ("1", 9)


def test_files_can_be_switched_off(repository):
    with Server(repository, EXPLICIT, "plugin.control.allow_file_override=false") as server:
        for protocol in PROTOCOLS:
            with Control(server, protocol) as control:
                code, message = control.refusal(control.load, "fresh", config=ONNX_CONFIG,
                                                files={"1/model.onnx": models.onnx_add(1)})
                assert code == "UNIMPLEMENTED" and "switched off" in message


def test_a_killed_server_leaves_nothing_for_the_next(repository, tmp_path):
    environment = {"TMPDIR": str(tmp_path)}
    server = Server(repository, EXPLICIT, environment=environment)
    with Control(server, "grpc") as control:
        control.load("fresh", config=ONNX_CONFIG, files={"1/model.onnx": models.onnx_add(1)})
    assert server.stop(signal.SIGKILL) == -signal.SIGKILL
    left = list(tmp_path.iterdir())
    assert len(left) == 1
    with Server(repository, EXPLICIT, environment=environment) as server, Control(server, "grpc") as control:
        control.load("fresh", config=ONNX_CONFIG, files={"1/model.onnx": models.onnx_add(1)})
        assert len(list(tmp_path.iterdir())) == 1 and list(tmp_path.iterdir()) != left
    assert list(tmp_path.iterdir()) == []


# --- parameters, as the wires carry them ---

def post(server, path, body):
    connection = http.client.HTTPConnection(server.http_address, timeout=60)
    connection.request("POST", path, body if isinstance(body, (bytes, str)) else json.dumps(body))
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, json.loads(text)["error"] if answer.status != 200 else text


@pytest.mark.parametrize("parameters,text", [
    ({"config": ONNX_CONFIG, "file:1/model.onnx": "no base64 !"}, "expected the file's content as base64"),
    ({"config": ONNX_CONFIG, "file:1/model.onnx": base64.b64encode(b"x" * 100000).decode() + "*"},
     "expected the file's content as base64"),
    ({"config": {}}, "attempt to access JSON non-string as string"),
    ({"config": ONNX_CONFIG, "file:1/model.onnx": 1}, "attempt to access JSON non-string as string"),
    ({"speed": "fast"}, "unexpected error on creating Triton parameter"),
    ([], "Unable to parse 'parameters'"),
])
def test_bad_load_parameters_over_http(server, parameters, text):
    status, error = post(server, "/v2/repository/models/fresh/load", {"parameters": parameters})
    assert status == 400 and text in error
    assert post(server, "/v2/repository/models/fresh/load", "[" * 250000)[0] == 400


def test_bad_load_parameters_over_grpc(server):
    parameter = service_pb2.ModelRepositoryParameter
    cases = [({"config": parameter(bytes_param=b"{}")}, "invalid value type for load parameter 'config', expected string_param."),
             ({"file:1/x": parameter(string_param="x")}, "invalid value type for load parameter 'file:1/x', expected bytes_param."),
             ({"speed": parameter(int64_param=1)}, "unrecognized load parameter 'speed'.")]
    with grpc.insecure_channel(server.address) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        for parameters, text in cases:
            with pytest.raises(grpc.RpcError) as caught:
                stub.RepositoryModelLoad(service_pb2.RepositoryModelLoadRequest(model_name="plus", parameters=parameters))
            assert (caught.value.code().name, caught.value.details()) == ("INVALID_ARGUMENT", text)
        with pytest.raises(grpc.RpcError) as caught:
            stub.RepositoryModelUnload(service_pb2.RepositoryModelUnloadRequest(
                model_name="plus", parameters={"unload_dependents": parameter(string_param="true")}))
        assert caught.value.details() == "invalid value type for 'unload_dependents' parameter, expected bool_param."
