"""frontends/openai: LangChain's classes for OpenAI's models."""

import base64
import json
import struct
import urllib.error
import urllib.request

import openai
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from support.models import write_model
from support.openai_models import EMBEDS, EMBEDS_CONFIG, serve, write_scripted

# A vector of three numbers of each list of token ids.
BY_IDS_CONFIG = """
backend: "python"
input [ { name: "text_input" data_type: TYPE_STRING dims: [ 1 ] }, { name: "token_ids" data_type: TYPE_INT32 dims: [ -1 ] optional: true } ]
output [ { name: "embedding" data_type: TYPE_FP32 dims: [ 3 ] } ]
"""
BY_IDS = """
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            ids = pb_utils.get_input_tensor_by_name(request, "token_ids").as_numpy()
            values = np.array([len(ids), ids[0], ids[-1]], dtype=np.float32)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("embedding", values)]))
        return responses
"""
# What OpenAIEmbeddings of langchain-openai 1.7.4 sends for ["hello world", "a"] unless check_embedding_ctx_length is False.
RECORDED = {"input": [[15339, 1917], [64]], "model": "by-ids", "encoding_format": "base64"}
CALL = '<tool_call>{"name": "weather", "arguments": {"city": "Paris"}}</tool_call>'


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    write_scripted(repository, "scripted")
    write_model(repository, "embeds", EMBEDS_CONFIG, files={"model.py": EMBEDS.encode()})
    write_model(repository, "by-ids", BY_IDS_CONFIG, files={"model.py": BY_IDS.encode()})
    with serve(repository) as running:
        yield running


@pytest.fixture
def chat(server):
    return ChatOpenAI(model="scripted", base_url=f"http://{server.http_address}/v1", api_key="none", max_retries=0, timeout=60)


def script(**more):
    return json.dumps(more)


def test_a_chat(chat):
    answer = chat.invoke([SystemMessage("Be brief."), HumanMessage(script(pieces=["Hello", " World"]))])
    assert answer.content == "Hello World"
    assert answer.response_metadata["finish_reason"] == "stop"
    assert answer.usage_metadata["output_tokens"] == 2


def test_its_messages_reach_the_model(chat):
    answer = chat.invoke([SystemMessage("Be brief."), HumanMessage("Hi"), AIMessage("Ho"), HumanMessage(script(inputs=True))])
    given = json.loads(answer.content)["messages"]
    assert [(message["role"], message["content"]) for message in given[:3]] == [("system", "Be brief."), ("user", "Hi"), ("assistant", "Ho")]


def test_a_stream(chat):
    # With another address than OpenAI's LangChain asks for the usage of streams only if it is told.
    chunks = list(chat.stream(script(pieces=["a", "b", "c"]), stream_usage=True))
    assert [chunk.content for chunk in chunks if chunk.content] == ["a", "b", "c"]
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert whole.content == "abc" and whole.response_metadata["finish_reason"] == "stop"
    assert whole.usage_metadata["output_tokens"] == 3


def test_a_batch(chat):
    answers = chat.batch([script(pieces=[str(number)]) for number in range(8)])
    assert [answer.content for answer in answers] == [str(number) for number in range(8)]


def test_a_tool_is_called_and_answers(chat):
    with_tools = chat.bind_tools([weather])
    question = HumanMessage(script(pieces=[CALL]))
    answer = with_tools.invoke([question])
    call, = answer.tool_calls
    assert (call["name"], call["args"]) == ("weather", {"city": "Paris"})
    result = weather.invoke(call)
    assert isinstance(result, ToolMessage)
    end = with_tools.invoke([question, answer, result, HumanMessage(script(inputs=True))])
    history = json.loads(end.content)["messages"]
    assert history[1]["tool_calls"][0]["function"]["name"] == "weather"
    assert (history[2]["role"], history[2]["content"], history[2]["tool_call_id"]) == ("tool", "sunny in Paris", call["id"])


def test_a_structured_answer(chat):
    schema = {"title": "Colour", "description": "A colour.", "type": "object", "properties": {"name": {"type": "string"}},
              "required": ["name"]}
    answer = chat.with_structured_output(schema, method="json_schema").invoke(script(pieces=['{"name": ', '"red"}']))
    assert answer == {"name": "red"}


def test_errors_are_those_of_the_client(chat):
    with pytest.raises(openai.NotFoundError):
        ChatOpenAI(model="nothing", base_url=chat.openai_api_base, api_key="none", max_retries=0).invoke("x")
    with pytest.raises(openai.BadRequestError):
        chat.invoke("x", temperature=3)


def test_embeddings(server):
    # Otherwise LangChain sends the tokens of a vocabulary of OpenAI's, which it fetches for that.
    embeds = OpenAIEmbeddings(model="embeds", base_url=f"http://{server.http_address}/v1", api_key="none", max_retries=0,
                              check_embedding_ctx_length=False)
    vectors = embeds.embed_documents(["banana", "", "a"])
    assert vectors[0] == pytest.approx([6, 3, 0.1]) and vectors[1] == pytest.approx([0, 0, 0.1])
    assert embeds.embed_query("banana") == pytest.approx([6, 3, 0.1])


def test_requests_by_token_ids_are_the_models_own_tokens(server):
    def post(body):
        request = urllib.request.Request(f"http://{server.http_address}/v1/embeddings", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return [struct.unpack("<3f", base64.b64decode(item["embedding"])) for item in json.load(answer)["data"]]

    assert post(RECORDED) == [(2, 15339, 1917), (1, 64, 64)]
    with pytest.raises(urllib.error.HTTPError) as refused:
        post({**RECORDED, "model": "embeds"})
    assert refused.value.code == 400
    assert json.load(refused.value)["error"]["param"] == "input", "a model without token ids takes texts only"
