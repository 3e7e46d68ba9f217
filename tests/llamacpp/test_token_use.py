"""What backends/llamacpp says of the tokens that its answers take: all of them are charged, whatever a client asks for."""

import json
import queue
import urllib.error
import urllib.request

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import gguf_models
from support.admission import metric
from support.language_models import LLAMACPP
from support.server import Server
from support.waiting import eventually

TOKENS = "atoll_admission_tokens_total"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    gguf_models.write_generator(repository / "tiny/1/model.gguf", gguf_models.generator_weights())
    gguf_models.write_generator(repository / "embeds/1/model.gguf", gguf_models.generator_weights())
    (repository / "embeds/config.pbtxt").write_text(
        'backend: "llamacpp" parameters { key: "pooling" value { string_value: "mean" } }')
    with Server(repository, *LLAMACPP, 'plugin.quotas.use="admission/quotas"', 'plugin.http.tenant_header="x-tenant"',
                'plugin.grpc.tenant_header="x-tenant"',
                'plugin.quotas.tenants=["plain:", "all:", "cancels:", "embeds:", "small:tokens=1/h,token_burst=8"]') as running:
        running.wait_ready()
        yield running.wait_active()


def used(server, tenant):
    return [metric(server, TOKENS, tenant=tenant, kind=kind) for kind in ("prompt", "generated")]


def post(server, path, body, tenant):
    request = urllib.request.Request(f"http://{server.http_address}{path}", json.dumps(body).encode(),
                                     {"Content-Type": "application/json", "x-tenant": tenant})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def sampling(max_tokens):
    return json.dumps({"temperature": 0, "max_tokens": max_tokens, "ignore_eos": True})


# The beginning, the blank that the tokenizer puts in front, which is three bytes, and the letters.
PROMPT_TOKENS = 1 + 3 + 3


def test_whoever_names_no_output_is_charged_and_sees_nothing_of_it(server):
    answer = post(server, "/v2/models/tiny/generate", {"text_input": "abc", "sampling_parameters": sampling(5)}, "all")
    assert used(server, "all") == [PROMPT_TOKENS, 5]
    assert set(answer) == {"model_name", "model_version", "text_output"}


def stream(server, tenant, outputs, max_tokens):
    """(client, queue of (result, error))"""
    client = grpcclient.InferenceServerClient(server.address)
    answers = queue.Queue()
    client.start_stream(lambda result, error: answers.put((result, error)), headers={"x-tenant": tenant})
    inputs = []
    for name, kind, value in (("text_input", "BYTES", b"abc"), ("sampling_parameters", "BYTES", sampling(max_tokens).encode()),
                              ("stream", "BOOL", True)):
        tensor = grpcclient.InferInput(name, [1], kind)
        tensor.set_data_from_numpy(np.array([value], dtype=bool if kind == "BOOL" else object))
        inputs.append(tensor)
    client.async_stream_infer("tiny", inputs, outputs=[grpcclient.InferRequestedOutput(name) for name in outputs],
                              enable_empty_final_response=True)
    return client, answers


def test_whoever_asks_for_the_text_alone_is_charged_too(server):
    client, answers = stream(server, "plain", ["text_output"], 9)
    final = False
    while not final:
        result, error = answers.get(timeout=60)
        assert error is None
        response = result.get_response()
        assert [output.name for output in response.outputs] in (["text_output"], [])
        assert not [key for key in response.parameters if "tokens" in key]
        final = response.parameters["triton_final_response"].bool_param
    client.stop_stream()
    client.close()
    assert used(server, "plain") == [PROMPT_TOKENS, 9]


def test_whoever_cancels_pays_for_what_was_computed(server):
    client, answers = stream(server, "cancels", ["text_output"], 200)
    assert answers.get(timeout=60)[1] is None
    client.stop_stream(cancel_requests=True)
    client.close()
    eventually(lambda: metric(server, "atoll_admission_running", tenant="cancels") == 0, 60)
    prompt, generated = used(server, "cancels")
    assert prompt == PROMPT_TOKENS
    assert 1 <= generated <= 200


def test_embeddings_are_charged(server):
    body = {"inputs": [{"name": "text_input", "datatype": "BYTES", "shape": [2, 1], "data": ["abc", "abcdef"]}],
            "outputs": [{"name": "embedding"}]}
    answer = post(server, "/v2/models/embeds/infer", body, "embeds")
    assert [output["name"] for output in answer["outputs"]] == ["embedding"] and "parameters" not in answer
    assert used(server, "embeds") == [2 * PROMPT_TOKENS + 3, 0]


def test_a_tenant_in_debt_is_refused(server):
    post(server, "/v2/models/tiny/generate", {"text_input": "abc", "sampling_parameters": sampling(5)}, "small")
    with pytest.raises(urllib.error.HTTPError) as refused:
        post(server, "/v2/models/tiny/generate", {"text_input": "abc", "sampling_parameters": sampling(5)}, "small")
    assert refused.value.code == 429
    assert int(refused.value.headers["retry-after"]) > 3600
