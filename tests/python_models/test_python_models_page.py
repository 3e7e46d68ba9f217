"""docs/python-models.md: what it tells to write is served as it says."""

import json
import re
import urllib.request

import pytest
from support import python_models
from support.server import ROOT, Server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """All models of the page."""
    folder = tmp_path_factory.mktemp("page")
    page = (ROOT / "docs/python-models.md").read_text()
    for path, content in re.findall(r"```(?:python)?\n# ((?:models|backends)/\S+)\n(.*?)```", page, re.DOTALL):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    with Server(folder / "models", python_models.INTERPRETER, f'plugin.python.directories=["{folder}/backends"]') as server:
        for model in ("distance", "distances", "countdown", "nearest", "fruit"):
            server.wait_ready(model)
        yield server


def post(server, path, content):
    with urllib.request.urlopen(f"http://{server.http_address}/v2/models/{path}", json.dumps(content).encode(), 30) as answer:
        return answer.read().decode()


def infer(server, model, name, datatype, shape, data):
    answer = post(server, f"{model}/infer", {"inputs": [{"name": name, "datatype": datatype, "shape": shape, "data": data}]})
    return json.loads(answer)["outputs"][0]


def test_the_first_model(server):
    assert infer(server, "distance", "POINT", "FP32", [2], [3, 4])["data"] == [5.0]


def test_the_batched_model(server):
    answer = infer(server, "distances", "POINT", "FP32", [3, 2], [3, 4, 6, 8, 0, 1])
    assert (answer["shape"], answer["data"]) == ([3, 1], [5.0, 10.0, 1.0])


def test_the_stream(server):
    events = [json.loads(line[6:]) for line in post(server, "countdown/generate_stream", {"FROM": 3}).splitlines() if line]
    assert [event["NUMBER"] for event in events if "NUMBER" in event] == [3, 2, 1]


def test_the_model_of_a_backend_of_its_own(server):
    assert infer(server, "fruit", "TEXT", "BYTES", [1], ["plum and apple"])["data"] == ["apple", "plum"]


def test_the_model_that_asks_models(server):
    assert infer(server, "nearest", "POINTS", "FP32", [4, 2], [3, 4, 1, 0, 0, 0.5, 9, 9])["data"] == [2]
