"""Trace settings and trace files, with the real client."""

import collections
import json
import pathlib
import time

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.server import START_TIMEOUT_S, Server
from tritonclient.utils import InferenceServerException

REQUEST_MOMENTS = ["REQUEST_START", "QUEUE_START", "COMPUTE_START", "COMPUTE_INPUT_END", "COMPUTE_OUTPUT_START",
                   "COMPUTE_END", "REQUEST_END"]
# The defaults of the manifest below, as the protocol shows them.
SETTINGS = {"trace_level": ["OFF"], "trace_rate": ["1"], "trace_count": ["-1"], "log_frequency": ["0"],
            "trace_mode": ["triton"]}


@pytest.fixture()
def traced(tmp_path):
    """A server with two models, and an ensemble of the first one twice, that traces nothing yet, and the path of its trace file."""
    repository, path = tmp_path / "models", tmp_path / "traces" / "trace.json"
    path.parent.mkdir()
    models.write_model(repository, "numbers", models.identity_config("numbers", dims=(3,)))
    steps = [f'{{ model_name: "numbers" model_version: -1 input_map {{ key: "INPUT0" value: "{given}" }} '
             f'output_map {{ key: "OUTPUT0" value: "{made}" }} }}' for given, made in (("INPUT0", "between"), ("between", "OUTPUT0"))]
    models.write_model(repository, "both", models.tensor_config("input", "INPUT0", "TYPE_FP32", (3,))
                       + models.tensor_config("output", "OUTPUT0", "TYPE_FP32", (3,))
                       + f'name: "both" platform: "ensemble" ensemble_scheduling {{ step [ {", ".join(steps)} ] }}')
    models.write_model(repository, "texts", models.identity_config("texts", "TYPE_STRING", dims=(-1,)))
    with Server(repository, 'plugin.trace.use="telemetry/trace"', f'plugin.trace.trace_file="{path}"',
                "plugin.trace.rate=1") as server:
        server.wait_ready()
        with server.client() as client:
            yield client, path


def infer(client, model="numbers", request_id=""):
    array = np.array([1, 2.5, -3], np.float32)
    if model == "texts":
        array = np.array([b'say "hi"\n', b"\xff\x00z"], np.object_)
    tensor = grpcclient.InferInput("INPUT0", list(array.shape), "BYTES" if model == "texts" else "FP32")
    tensor.set_data_from_numpy(array)
    client.infer(model, [tensor], request_id=request_id)


def settings(client, model=None):
    answer = client.get_trace_settings(model_name=model, as_json=True)
    return {key: value["value"] for key, value in answer["settings"].items() if value}


def read(path):
    """The objects of a trace file, by trace id."""
    traces = collections.defaultdict(list)
    for entry in json.loads(pathlib.Path(path).read_text()):
        traces[entry["id"]].append(entry)
    return dict(traces)


def wait_for_traces(path, count):
    """Files are written in the background; the array is valid at any moment."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if path.exists() and len(traces := read(path)) >= count:
            return traces
        time.sleep(0.02)
    raise AssertionError(f"no {count} traces in {path}")


def moments(trace):
    return [moment["name"] for entry in trace for moment in entry.get("timestamps", [])]


def error_of(call, *arguments, **named):
    with pytest.raises(InferenceServerException) as caught:
        call(*arguments, **named)
    return caught.value.status(), caught.value.message()


def test_settings_of_server_and_model(traced):
    client, path = traced
    expected = {**SETTINGS, "trace_file": [str(path)]}
    assert settings(client) == expected
    assert settings(client, "numbers") == expected
    client.update_trace_settings(model_name="numbers", settings={"trace_rate": "7", "trace_level": ["TIMESTAMPS"]})
    own = {**expected, "trace_rate": ["7"], "trace_level": ["TIMESTAMPS"]}
    assert settings(client, "numbers") == own
    assert settings(client, "texts") == expected
    client.update_trace_settings(settings={"log_frequency": "3", "trace_rate": "9"})
    assert settings(client, "numbers") == {**own, "log_frequency": ["3"]}
    client.update_trace_settings(model_name="numbers", settings={"trace_rate": None})
    assert settings(client, "numbers") == {**own, "log_frequency": ["3"], "trace_rate": ["9"]}
    client.update_trace_settings(model_name="numbers", settings={"trace_level": None})
    client.update_trace_settings(settings={"log_frequency": None, "trace_rate": None})
    assert settings(client, "numbers") == settings(client) == expected


def test_a_request_in_the_file(traced):
    client, path = traced
    client.update_trace_settings(settings={"trace_level": ["TIMESTAMPS", "TENSORS"]})
    infer(client, request_id="seven")
    (trace,) = wait_for_traces(path, 1).values()
    assert trace[0] == {"id": trace[0]["id"], "model_name": "numbers", "model_version": 1, "request_id": "seven"}
    assert [name for name in moments(trace) if name in REQUEST_MOMENTS] == REQUEST_MOMENTS
    times = {moment["name"]: moment["ns"] for entry in trace for moment in entry.get("timestamps", [])}
    assert [times[name] for name in REQUEST_MOMENTS] == sorted(times[name] for name in REQUEST_MOMENTS)
    tensors = {entry["activity"]: entry["tensor"] for entry in trace if "activity" in entry}
    values = {"data": "1,2.5,-3", "shape": "3", "dtype": "FP32"}
    assert tensors == {"TENSOR_QUEUE_INPUT": {"name": "INPUT0", **values},
                       "TENSOR_BACKEND_OUTPUT": {"name": "OUTPUT0", **values}}


def test_tensors_of_an_ensemble(traced):
    """Each step has its own, as the ensemble has."""
    client, path = traced
    client.update_trace_settings(settings={"trace_level": ["TIMESTAMPS", "TENSORS"]})
    infer(client, "both")
    traces = wait_for_traces(path, 3)
    assert sorted(trace[0]["model_name"] for trace in traces.values()) == ["both", "numbers", "numbers"]
    for trace in traces.values():
        values = {"data": "1,2.5,-3", "shape": "3", "dtype": "FP32"}
        assert [(entry["activity"], entry["tensor"]) for entry in trace if "activity" in entry] == [
            ("TENSOR_QUEUE_INPUT", {"name": "INPUT0", **values}), ("TENSOR_BACKEND_OUTPUT", {"name": "OUTPUT0", **values})]


def test_bytes_can_not_break_the_file(traced):
    client, path = traced
    client.update_trace_settings(model_name="texts", settings={"trace_level": ["TENSORS"]})
    infer(client, "texts", request_id='"},{\n')
    (trace,) = wait_for_traces(path, 1).values()
    assert trace[0]["request_id"] == '"},{\n'
    texts = [entry["tensor"]["data"] for entry in trace if "activity" in entry]
    assert [json.loads(f"[{text}]") for text in texts] == [['say "hi"\n', "\ufffd\x00z"]] * 2
    assert moments(trace) == []


def test_every_second_request_of_one_model(traced):
    client, path = traced
    client.update_trace_settings(model_name="numbers", settings={"trace_level": ["TIMESTAMPS"], "trace_rate": "2"})
    for i in range(6):
        infer(client, request_id=f"n{i}")
        infer(client, "texts", request_id=f"t{i}")
    traces = wait_for_traces(path, 3)
    assert [trace[0]["request_id"] for trace in traces.values()] == ["n1", "n3", "n5"]


def test_numbered_files_and_a_count(traced):
    client, path = traced
    client.update_trace_settings(settings={"trace_level": ["TIMESTAMPS"], "trace_count": "5", "log_frequency": "2"})
    for i in range(8):
        infer(client, request_id=str(i))
    assert settings(client)["trace_count"] == ["0"]
    found = [wait_for_traces(path.with_name(f"trace.json.{i}"), count) for i, count in enumerate([2, 2, 1])]
    assert [[trace[0]["request_id"] for trace in traces.values()] for traces in found] == [["0", "1"], ["2", "3"], ["4"]]
    assert not path.exists()


def test_a_folder_that_is_gone_does_not_stop_serving(traced):
    client, path = traced
    path.parent.rmdir()
    client.update_trace_settings(settings={"trace_level": ["TIMESTAMPS"]})
    for _ in range(5):
        infer(client)
    path.parent.mkdir()
    infer(client)
    wait_for_traces(path, 1)


@pytest.mark.parametrize("changes,message", [
    ({"trace_level": ["OFF", "TENSORS"]}, "Expect only one trace level 'OFF' is specified"),
    ({"trace_rate": "x"}, "Unable to parse 'trace_rate', got: x"),
    ({"trace_rate": "4294967296"},
     "Unable to parse 'trace_rate', value is out of range [ 0, 4294967295 ], got: 4294967296"),
    ({"trace_rate": ["1", "2"]}, "expect only 1 value for 'trace_rate'"),
    ({"trace_count": "-2"}, "Unable to parse 'trace_count'. Expecting value >= -1, got: -2"),
    ({"log_frequency": "-1"}, "Unable to parse 'log_frequency', value is out of range [ 0, 4294967295 ], got: -1"),
    ({"trace_level": ["TENSORS"], "trace_rate": "0"},
     "Attempting to set invalid trace setting :sample rate must be non-zero"),
])
def test_bad_values_change_nothing(traced, changes, message):
    client, _ = traced
    before = settings(client)
    for model in (None, "numbers"):
        status, text = error_of(client.update_trace_settings, model_name=model, settings=changes)
        assert (status, text) == ("StatusCode.INVALID_ARGUMENT", message)
    assert settings(client) == settings(client, "numbers") == before


def test_what_the_network_may_not_set(traced):
    client, path = traced
    assert error_of(client.update_trace_settings, settings={"trace_file": "/tmp/elsewhere"}) == (
        "StatusCode.UNIMPLEMENTED", "trace file location can not be updated through network protocol")
    client.update_trace_settings(settings={"trace_mode": "opentelemetry", "no_such_setting": "1"})
    assert settings(client) == {**SETTINGS, "trace_file": [str(path)]}
    for call in (client.get_trace_settings, client.update_trace_settings):
        assert error_of(call, model_name="nobody") == ("StatusCode.INVALID_ARGUMENT",
                                                       "Request for unknown model : nobody")


def test_an_unknown_model_is_told_before_what_may_not_be_set(tmp_path):
    models.write_model(tmp_path, "numbers", models.identity_config("numbers", dims=(3,)))
    with Server(tmp_path, 'plugin.trace.use="telemetry/trace"') as server:
        with server.http_client() as http, server.client() as grpc:
            for client in (http, grpc):
                with pytest.raises(InferenceServerException, match="Request for unknown model : nobody"):
                    client.update_trace_settings(model_name="nobody", settings={"trace_file": "/tmp/elsewhere"})
