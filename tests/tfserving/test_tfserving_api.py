"""frontends/tfserving: plain HTTP as clients of TensorFlow Serving and of KServe's V1 protocol send it."""

import base64
import json
import subprocess
import urllib.error
import urllib.request

import pytest
from support.models import identity_config, write_add, write_model
from support.server import Server

TFSERVING = 'plugin.tfserving.use="frontends/tfserving"'
OPENAI = 'plugin.openai.use="frontends/openai"'
LABELS = ['plugin.routing.use="routing/weighted"', 'plugin.routing.labels={"adds.stable"=1}']

# A text in, a text out: what frontends/openai can serve, too. Two tensors a row, which come back under names of their own.
PAIR = """
backend: "identity" max_batch_size: 4
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 1 ] }, { name: "INPUT1" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 1 ] }, { name: "OUTPUT1" data_type: TYPE_STRING dims: [ 1 ] } ]
"""


class Api:
    def __init__(self, server, prefix=""):
        self.base = f"http://{server.http_address}{prefix}"

    def ask(self, path, body=None):
        """Status and JSON of the answer."""
        data = None if body is None else (body if isinstance(body, bytes) else json.dumps(body).encode())
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                assert reply.headers["Content-Type"] == "application/json"
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def predict(self, model, body):
        status, answer = self.ask(f"/v1/models/{model}:predict", body)
        assert status == 200, answer
        return answer


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tfserving") / "models"
    for version, constant in ((1, 1), (3, 100)):
        write_add(folder, "adds", constant, version)
    (folder / "adds" / "config.pbtxt").write_text("version_policy { all { } }\n")
    write_model(folder, "pair", PAIR)
    write_model(folder, "rows", identity_config("rows", max_batch_size=2))
    write_model(folder, "texts", 'backend: "identity" max_batch_size: 8\n'
                'input { name: "INPUT0" data_type: TYPE_STRING dims: 1 }\n'
                'output { name: "OUTPUT0" data_type: TYPE_STRING dims: 1 }\n'
                'parameters { key: "openai" value { string_value: "completion, text_input=INPUT0, text_output=OUTPUT0" } }\n')
    return folder


@pytest.fixture(scope="module")
def server(repository):
    with Server(repository, TFSERVING, *LABELS) as running:
        yield running.wait_ready()


@pytest.fixture(scope="module")
def api(server):
    return Api(server)


def test_rows_and_columns(api):
    assert api.predict("rows", {"instances": [[1, 2], [3, 4], [5, 6]]}) == {"predictions": [[1, 2], [3, 4], [5, 6]]}
    assert api.predict("rows", {"inputs": [[1, 2]], "signature_name": "serving_default"}) == {"outputs": [[1, 2]]}
    assert api.predict("rows", {"inputs": {"INPUT0": [[1, 2]]}}) == {"outputs": [[1, 2]]}


def test_named_values_and_base64(api):
    coded = {"b64": base64.b64encode(b"two").decode()}
    rows = [{"INPUT0": 1.5, "INPUT1": "one"}, {"INPUT0": 2.5, "INPUT1": coded}]
    assert api.predict("pair", {"instances": rows}) == {
        "predictions": [{"OUTPUT0": [1.5], "OUTPUT1": ["one"]}, {"OUTPUT0": [2.5], "OUTPUT1": ["two"]}]}
    assert api.predict("pair", {"inputs": {"INPUT0": [1.5], "INPUT1": ["one"]}}) == {
        "outputs": {"OUTPUT0": [[1.5]], "OUTPUT1": [["one"]]}}


def test_classify_and_regress(api):
    body = {"context": {"INPUT1": "cat"}, "examples": [{"INPUT0": 0.25}, {"INPUT0": 0.75, "INPUT1": "dog"}]}
    assert api.ask("/v1/models/pair:classify", body) == (200, {"result": [[["cat", 0.25]], [["dog", 0.75]]]})
    assert api.ask("/v1/models/pair:regress", body) == (200, {"result": [0.25, 0.75]})


def test_versions_and_labels(api):
    body = {"inputs": [0.5, 1, 2, 3]}
    first, newest = api.predict("adds/versions/1", {"inputs": {"INPUT0": body["inputs"]}}), api.predict("adds", body)
    assert first == {"outputs": [1.5, 2, 3, 4]}
    assert newest == {"outputs": [100.5, 101, 102, 103]}
    assert api.predict("adds/labels/stable", body) == first
    assert api.predict("adds/versions/3", body) == newest
    assert api.ask("/v1/models/adds/labels/none:predict", body) == (
        400, {"error": "Unrecognized servable version label: none"})
    assert api.ask("/v1/models/adds/versions/2:predict", body) == (
        404, {"error": "Servable not found for request: Specific(adds, 2)"})


def version(number):
    return {"version": str(number), "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}


def test_status_and_metadata(api):
    assert api.ask("/v1/models/adds") == (200, {"model_version_status": [version(3), version(1)]})
    assert api.ask("/v1/models/adds/labels/stable") == (200, {"model_version_status": [version(1)]})
    assert api.ask("/v1/models/none") == (404, {"error": "Could not find any versions of model none"})
    status, metadata = api.ask("/v1/models/rows/metadata")
    assert status == 200 and metadata["model_spec"] == {"name": "rows", "signature_name": "", "version": "1"}
    signature = metadata["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert signature["inputs"]["INPUT0"]["dtype"] == "DT_FLOAT"
    assert [dim["size"] for dim in signature["inputs"]["INPUT0"]["tensor_shape"]["dim"]] == ["-1", "-1"]


def test_errors_say_where(api):
    status, answer = api.ask("/v1/models/rows:predict", {"instances": [[1, 2], [1, "x"]]})
    assert (status, answer["error"]) == (400, "Failed to process element: 1 of 'instances' list. Error: input 'INPUT0' at "
                                              "[1][1]: found a string, expected a number (FP32)")
    assert api.ask("/v1/models/rows:predict", b"{")[0] == 400
    # What only the model can judge.
    status, answer = api.ask("/v1/models/pair:predict", {"inputs": {"INPUT0": [[1, 2]], "INPUT1": ["a"]}})
    assert status == 400 and "INPUT0" in answer["error"]


@pytest.mark.parametrize("path", ["rows:train", "rows", "rows/versions/1:train", "rows/labels/a:train", "rows/metadata"])
def test_actions_that_there_are_not(api, path):
    assert api.ask(f"/v1/models/{path}", {"instances": [[1]]}) == (
        400, {"error": f"Malformed request: POST /v1/models/{path}"})


def test_numbers_beyond_fp16(tmp_path):
    write_model(tmp_path, "halves", identity_config("halves", "TYPE_FP16", max_batch_size=2))
    with Server(tmp_path, TFSERVING) as running:
        api = Api(running.wait_ready())
        assert api.predict("halves", {"instances": [[65504, -1.5]]}) == {"predictions": [[65504, -1.5]]}
        status, answer = api.ask("/v1/models/halves:predict", {"instances": [[1, 65520]]})
        assert (status, answer["error"]) == (400, "Failed to process element: 0 of 'instances' list. Error: input 'INPUT0' at "
                                                  "[0][1]: found a number out of range, expected one of FP16")


def test_kserve_v1(repository):
    with Server(repository, TFSERVING, "plugin.tfserving.kserve_status=true") as running:
        api = Api(running.wait_ready())
        assert api.ask("/v1/models") == (200, {"models": ["adds", "pair", "rows", "texts"]})
        status, answer = api.ask("/v1/models/rows")
        assert (status, answer["name"], answer["ready"]) == (200, "rows", True)
        assert api.predict("rows", {"instances": [[6.8, 2.8]]})["predictions"] == [[6.8, 2.8]]


def test_curl(server):
    asked = subprocess.run(["curl", "-s", "-d", '{"instances": [1.0, 2.0, 3, 4]}',
                            f"http://{server.http_address}/v1/models/adds:predict"],
                           capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(asked.stdout) == {"predictions": [101, 102, 103, 104]}


def test_beside_openai_each_has_its_paths(repository):
    with Server(repository, TFSERVING, OPENAI) as running:
        api = Api(running.wait_ready())
        assert api.ask("/v1/models")[1]["object"] == "list"
        assert api.ask("/v1/models/texts")[1]["object"] == "model"
        assert api.ask("/v1/completions", {"model": "texts", "prompt": "hi"})[1]["choices"][0]["text"] == "hi"
        assert api.predict("texts", {"instances": ["a", "b"]}) == {"predictions": [["a"], ["b"]]}
        assert api.ask("/v1/models/texts/versions/1") == (200, {"model_version_status": [version(1)]})
        assert api.ask("/v1/models/texts/metadata")[1]["model_spec"]["name"] == "texts"
        assert api.ask("/v1/models/texts/labels/x")[0] == 400
        running.wait_logged("the route '/v1/models/*' of 'tfserving' is not served: 'openai' has it already")


def test_with_a_prefix_both_have_all(repository):
    with Server(repository, TFSERVING, OPENAI, 'plugin.tfserving.prefix="/tf"') as running:
        plain, prefixed = Api(running.wait_ready()), Api(running, "/tf")
        assert plain.ask("/v1/models/texts")[1]["object"] == "model"
        assert prefixed.ask("/v1/models/texts") == (200, {"model_version_status": [version(1)]})
        assert prefixed.ask("/v1/models") == (200, {"models": ["adds", "pair", "rows", "texts"]})
        assert "is not served" not in running.log
