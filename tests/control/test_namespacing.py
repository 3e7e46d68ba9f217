"""Models of one name in several repositories, served side by side (namespacing)."""

import json
import re
import shutil
import urllib.request

import pytest
from support.control import EXPLICIT, PROTOCOLS, Control
from support.models import write_add, write_model
from support.server import Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

NAMESPACING = ("plugin.repository.namespacing=true", "plugin.models.namespacing=true")
AMBIGUOUS = ("There are 2 identifiers of model 'm' in global map, model namespace must be provided to resolve "
             "ambiguity.")


@pytest.fixture
def repositories(tmp_path):
    """ "m" is in both, and adds 1 or 2; "alone" is in one, and adds 3."""
    a, b = tmp_path / "a", tmp_path / "b"
    write_add(a, "m", 1)
    write_add(b, "m", 2)
    write_add(b, "alone", 3)
    return a, b


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_name_is_served_while_one_repository_only_serves_it(repositories, protocol):
    with Server(repositories, EXPLICIT, *NAMESPACING) as server, Control(server, protocol) as control:
        control.load("alone")
        assert control.infer("alone") == ("1", 4.0)
        assert control.index()["alone"] == {"1": ("READY", "")}
        control.load("m")
        code, message = control.refusal(control.infer, "m")
        assert (code, message) == ("INVALID_ARGUMENT", AMBIGUOUS)
        control.unload("m")
        code, message = control.refusal(control.infer, "m")
        assert (code, message) == ("NOT_FOUND", "Request for unknown model: 'm' has no available versions")
        assert control.infer("alone") == ("1", 4.0)


def test_all_are_loaded_and_an_identifier_tells_them_apart(repositories):
    a, b = repositories
    with Server(repositories, *NAMESPACING) as server, Control(server, "grpc") as control:
        server.wait_ready()
        assert control.refusal(control.infer, "m") == ("INVALID_ARGUMENT", AMBIGUOUS)
        assert control.infer(f"{a}::m") == ("1", 2.0)
        assert control.infer(f"{b}::m") == ("1", 3.0)
        assert control.infer("alone") == ("1", 4.0)
        assert control.client.get_model_metadata(f"{b}::m").name == "m"
        with urllib.request.urlopen(f"http://{server.http_address}/v2/models/stats", timeout=60) as answer:
            statistics = json.loads(answer.read())["model_stats"]
        names = {entry["name"]: entry["inference_stats"]["success"]["count"] for entry in statistics}
        assert names == {f"{a}::m": 1, f"{b}::m": 1, "alone": 1}
        with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        labels = r'\{model="([^"]*)",namespace="([^"]*)",version="1"\}'
        shown = re.findall(f"^nv_inference_request_success{labels} 1$", text, re.M)
        assert sorted(shown) == [("alone", str(b)), ("m", str(a)), ("m", str(b))]
        assert text.count('model="') == len(re.findall(r'\{model="[^"]*",namespace="[^"]*",', text))


def test_without_it_a_name_in_two_repositories_is_not_served(repositories):
    with Server(repositories, EXPLICIT) as server, Control(server, "grpc") as control:
        _, message = control.refusal(control.load, "m")
        assert "model appears in two or more repositories" in message


ENSEMBLE = """
name: "top" platform: "ensemble"
input { name: "INPUT0" data_type: TYPE_FP32 dims: 4 }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: 4 }
ensemble_scheduling { step { model_name: "m" model_version: -1
  input_map { key: "INPUT0" value: "INPUT0" } output_map { key: "OUTPUT0" value: "OUTPUT0" } } }
"""


def answer_of_top(control):
    """None while it is linked to another member, and while it has none."""
    try:
        return control.infer("top")
    except InferenceServerException as absent:
        assert "has no available versions" in absent.message()
        return None


def test_an_ensemble_whose_member_goes_is_linked_to_the_one_that_is_left(repositories):
    a, b = repositories
    write_model(a, "top", ENSEMBLE).joinpath("1").mkdir(exist_ok=True)
    poll = ('plugin.control.use="control/poll"', 'plugin.control.interval="100ms"', 'plugin.control.settle_time="100ms"')
    with Server(repositories, *poll, *NAMESPACING) as server, Control(server, "grpc") as control:
        server.wait_ready()
        assert control.infer("top") == ("1", 2.0)
        shutil.move(a / "m", a.parent / "away")
        eventually(lambda: answer_of_top(control) == ("1", 3.0))
        assert control.infer("m") == ("1", 3.0)
        shutil.rmtree(b / "m")
        eventually(lambda: not control.client.is_model_ready("top"))
        shutil.move(a.parent / "away", a / "m")
        eventually(lambda: answer_of_top(control) == ("1", 2.0))
