"""A Python model that says itself what its answers take: in parameters of its responses, which the client does not see."""

import json
import urllib.request

import pytest
from support.admission import metric
from support.models import write_model
from support.openai_models import serve

CONFIG = """
backend: "python"
input [ { name: "text_input" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "text_output" data_type: TYPE_STRING dims: [ 1 ] } ]
"""
MODEL = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse(
            [pb_utils.Tensor("text_output", pb_utils.get_input_tensor_by_name(request, "text_input").as_numpy())],
            parameters={"prompt_tokens_used": 5, "mine": "yes", "generated_tokens_used": 2}) for request in requests]
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    write_model(folder, "says", CONFIG, files={"model.py": MODEL.encode()})
    return folder


def parameters_of_answer(server):
    body = {"inputs": [{"name": "text_input", "datatype": "BYTES", "shape": [1], "data": ["x"]}]}
    request = urllib.request.Request(f"http://{server.http_address}/v2/models/says/infer", json.dumps(body).encode(),
                                     {"Content-Type": "application/json", "x-tenant": "team"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["parameters"]


def test_they_are_charged_and_left_out_of_the_answer(repository):
    with serve(repository, 'plugin.quotas.use="admission/quotas"', 'plugin.http.tenant_header="x-tenant"',
               'plugin.quotas.tenants=["team:"]') as server:
        for number in (1, 2):
            assert parameters_of_answer(server) == {"mine": "yes"}
            assert metric(server, "atoll_admission_tokens_total", tenant="team", kind="prompt") == 5 * number
            assert metric(server, "atoll_admission_tokens_total", tenant="team", kind="generated") == 2 * number


def test_where_nobody_counts_they_are_the_clients(repository):
    with serve(repository) as server:
        assert parameters_of_answer(server) == {"prompt_tokens_used": 5, "mine": "yes", "generated_tokens_used": 2}
