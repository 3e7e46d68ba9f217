"""frontends/openai: /v1/responses by OpenAI's client, /v1/messages by Anthropic's, and the calls that generate no text."""

import json
import urllib.error
import urllib.request

import anthropic
import openai
import pytest
from support.models import write_model
from support.openai_models import client_of, script, serve, tensor, write_scripted

TOOL = {"type": "function", "name": "weather", "description": "Of a city.", "parameters": {"type": "object"}}
CALL = '<tool_call>{"name": "weather", "arguments": {"city": "Rome"}}</tool_call>'
RERANK_CONFIG = f"""backend: "python" input [ {tensor("query")}, {tensor("documents", dims="-1")} ]
output [ {tensor("scores", "TYPE_FP32", "-1")} ]"""
# How often the query stands in each document.
RERANK = b"""
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            query = pb_utils.get_input_tensor_by_name(request, "query").as_numpy()[0]
            documents = pb_utils.get_input_tensor_by_name(request, "documents").as_numpy()
            scores = np.array([document.count(query) for document in documents], dtype=np.float32)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("scores", scores)]))
        return responses
"""
CLASSIFY_CONFIG = f"""backend: "python" max_batch_size: 4 input [ {tensor("text_input")} ]
output [ {tensor("label", dims="2")}, {tensor("score", "TYPE_FP32", "2")} ]"""
CLASSIFY = b"""
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            texts = pb_utils.get_input_tensor_by_name(request, "text_input").as_numpy().reshape(-1)
            share = [min(text.count(b"!") / 4, 1) for text in texts]
            responses.append(pb_utils.InferenceResponse([
                pb_utils.Tensor("label", np.array([[b"calm", b"loud"]] * len(texts), dtype=object)),
                pb_utils.Tensor("score", np.array([[1 - loud, loud] for loud in share], dtype=np.float32))]))
        return responses
"""
# Another name for its tensors, which the configuration says.
RENAMED_CONFIG = CLASSIFY_CONFIG.replace("text_input", "TEXT").replace('"score"', '"SCORE"') + """
parameters { key: "openai" value { string_value: "classify, text_input=TEXT, score=SCORE" } }"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("apis")
    write_scripted(repository, "scripted")
    write_model(repository, "ranks", RERANK_CONFIG, files={"model.py": RERANK})
    write_model(repository, "mood", CLASSIFY_CONFIG, files={"model.py": CLASSIFY})
    write_model(repository, "renamed", RENAMED_CONFIG, files={
        "model.py": CLASSIFY.replace(b'"text_input"', b'"TEXT"').replace(b'"score"', b'"SCORE"')})
    with serve(repository) as server:
        yield server


@pytest.fixture
def client(server):
    with client_of(server) as client:
        yield client


@pytest.fixture
def claude(server):
    with anthropic.Anthropic(base_url=f"http://{server.http_address}", api_key="none", max_retries=0, timeout=60) as client:
        yield client


def ask(server, path, body=None, method=None):
    request = urllib.request.Request(f"http://{server.http_address}{path}", None if body is None else json.dumps(body).encode(),
                                     {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def prompt(*pieces, **more):
    return script(*pieces, **more)[0]["content"]


# --- /v1/responses ---

def test_a_response(client):
    response = client.responses.create(model="scripted", input=prompt("one ", "two"), temperature=0.5, store=True, metadata={"a": "b"})
    assert response.output_text == "one two"
    assert (response.status, response.error, response.incomplete_details, response.temperature) == ("completed", None, None, 0.5)
    assert response.output[0].type == "message" and response.output[0].status == "completed"
    assert response.usage.output_tokens == 2 and response.usage.total_tokens == response.usage.input_tokens + 2
    assert response.metadata == {"a": "b"}
    cut = client.responses.create(model="scripted", input=prompt("one ", "two"), max_output_tokens=1)
    assert (cut.output_text, cut.status, cut.incomplete_details.reason) == ("one ", "incomplete", "max_output_tokens")


def test_a_response_is_streamed(client):
    events = list(client.responses.create(model="scripted", input=prompt("one ", "two"), stream=True))
    assert [event.type for event in events] == [
        "response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
        "response.output_text.delta", "response.output_text.delta", "response.output_text.done", "response.content_part.done",
        "response.output_item.done", "response.completed"]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.delta for event in events if event.type.endswith("delta")] == ["one ", "two"]
    assert events[-1].response.output_text == "one two" and events[-1].response.id == events[0].response.id
    with client.responses.stream(model="scripted", input=prompt("one ", "two")) as stream:
        assert stream.get_final_response().output_text == "one two"


def test_tools_of_responses(client):
    response = client.responses.create(model="scripted", input=prompt("Wait. ", CALL), tools=[TOOL])
    message, call = response.output
    assert message.content[0].text == "Wait."
    assert (call.type, call.name, json.loads(call.arguments)) == ("function_call", "weather", {"city": "Rome"})
    with client.responses.stream(model="scripted", input=prompt("Wait. ", *CALL), tools=[TOOL]) as stream:
        events = list(stream)
        final = stream.get_final_response()
    assert "".join(event.delta for event in events if event.type == "response.function_call_arguments.delta") == call.arguments
    assert [item.type for item in final.output] == ["message", "function_call"]
    history = [{"role": "user", "content": "a"}, {"type": "reasoning", "id": "rs_1", "summary": []},
               {"role": "assistant", "content": [{"type": "output_text", "text": "Wait."}]},
               {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments},
               {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"},
               {"role": "user", "content": [{"type": "input_text", "text": json.dumps({"inputs": True})}]}]
    told = json.loads(client.responses.create(model="scripted", instructions="brief", input=history, tools=[TOOL]).output_text)
    assert [message["role"] for message in told["messages"]] == ["system", "user", "assistant", "tool", "user"]
    assert told["messages"][2]["content"] == "Wait."
    assert told["messages"][2]["tool_calls"][0]["function"] == {"name": "weather", "arguments": call.arguments}
    assert told["messages"][3]["tool_call_id"] == call.call_id
    assert told["chat_options"]["tools"] == [{"type": "function", "function": {key: TOOL[key] for key in ("name", "description", "parameters")}}]


@pytest.mark.parametrize("wrong, param", [
    ({"previous_response_id": "resp_1"}, "previous_response_id"),
    ({"conversation": "conv_1"}, "conversation"),
    ({"background": True}, "background"),
    ({"input": []}, "input"),
    ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]}, "input[0].content"),
    ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].type"),
    ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
    ({"max_output_tokens": 0}, "max_output_tokens"),
    ({"text": {"format": {"type": "xml"}}}, "text.format"),
])
def test_what_responses_refuse(client, wrong, param):
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(**{"model": "scripted", "input": "a", **wrong})
    assert refused.value.param == param


def test_responses_are_not_kept(client):
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve("resp_1")
    with pytest.raises(openai.NotFoundError):
        client.responses.delete("resp_1")


def test_a_response_that_fails(client):
    with pytest.raises(openai.InternalServerError):
        client.responses.create(model="scripted", input=prompt("one", "two", fails=0))
    events = list(client.responses.create(model="scripted", input=prompt("one", "two", fails=1), stream=True))
    assert events[-1].type == "response.failed" and "it broke" in events[-1].response.error.message


# --- /v1/messages ---

def test_a_message(claude):
    message = claude.messages.create(model="scripted", max_tokens=10, messages=script("one ", "two"), system="brief")
    assert [block.text for block in message.content] == ["one two"]
    assert (message.role, message.stop_reason, message.stop_sequence) == ("assistant", "end_turn", None)
    assert message.usage.output_tokens == 2 and message.usage.input_tokens > 0
    assert claude.messages.create(model="scripted", max_tokens=1, messages=script("one ", "two")).stop_reason == "max_tokens"
    stopped = claude.messages.create(model="scripted", max_tokens=9, messages=script("one ", "two"), stop_sequences=["w"])
    assert (stopped.content[0].text, stopped.stop_reason, stopped.stop_sequence) == ("one t", "stop_sequence", "w")


def test_a_message_is_streamed(claude):
    with claude.messages.stream(model="scripted", max_tokens=10, messages=script("one ", "two")) as stream:
        assert list(stream.text_stream) == ["one ", "two"]
        assert stream.get_final_message().usage.output_tokens == 2
    events = list(claude.messages.create(model="scripted", max_tokens=10, messages=script("one ", "two"), stream=True))
    assert [event.type for event in events] == ["message_start", "content_block_start", "content_block_delta", "content_block_delta",
                                                "content_block_stop", "message_delta", "message_stop"]


def test_tools_of_messages(claude):
    tools = [{"name": "weather", "input_schema": {"type": "object"}}]
    message = claude.messages.create(model="scripted", max_tokens=90, messages=script("Wait. ", CALL), tools=tools)
    text, use = message.content
    assert (text.text, use.type, use.name, use.input) == ("Wait.", "tool_use", "weather", {"city": "Rome"})
    assert message.stop_reason == "tool_use"
    with claude.messages.stream(model="scripted", max_tokens=900, messages=script("Wait. ", *CALL), tools=tools) as stream:
        streamed = stream.get_final_message()
    assert [block.type for block in streamed.content] == ["text", "tool_use"] and streamed.content[1].input == {"city": "Rome"}
    history = [{"role": "user", "content": "a"}, {"role": "assistant", "content": [block.to_dict() for block in message.content]},
               {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "sunny"},
                                            {"type": "text", "text": json.dumps({"inputs": True})}]}]
    answer = claude.messages.create(model="scripted", max_tokens=900, messages=history, tools=tools, tool_choice={"type": "auto"})
    told = json.loads(answer.content[0].text)
    assert [message["role"] for message in told["messages"]] == ["user", "assistant", "tool", "user"]
    assert json.loads(told["messages"][1]["tool_calls"][0]["function"]["arguments"]) == {"city": "Rome"}
    assert told["messages"][2] == {"role": "tool", "content": "sunny", "tool_call_id": use.id}
    assert told["chat_options"]["tools"][0]["function"]["name"] == "weather"


def test_tools_that_messages_have_to_call(claude):
    tools = [{"name": "weather", "input_schema": {"type": "object"}}]
    message = claude.messages.create(model="scripted", max_tokens=90, messages=script('{"city": "Rome"}'), tools=tools,
                                     tool_choice={"type": "tool", "name": "weather"})
    assert message.content[0].input == {"city": "Rome"}


def test_errors_of_messages(claude, server):
    with pytest.raises(anthropic.NotFoundError) as missing:
        claude.messages.create(model="none", max_tokens=1, messages=script("a"))
    assert missing.value.body["error"]["type"] == "not_found_error"
    with pytest.raises(anthropic.BadRequestError) as refused:
        claude.messages.create(model="scripted", max_tokens=0, messages=script("a"))
    assert refused.value.body["type"] == "error" and refused.value.body["error"]["type"] == "invalid_request_error"
    with pytest.raises(urllib.error.HTTPError) as without:
        ask(server, "/v1/messages", {"model": "scripted", "messages": script("a")})
    assert without.value.code == 400
    with pytest.raises(anthropic.APIError) as broken:
        list(claude.messages.create(model="scripted", max_tokens=9, messages=script("a", "b", fails=1), stream=True))
    assert "it broke" in str(broken.value)


def test_tokens_of_messages(claude):
    text = "h\u00e9llo"
    assert claude.messages.count_tokens(model="scripted", messages=[{"role": "user", "content": text}]).input_tokens == len(text)


# --- the others ---

def test_rerank(server):
    documents = ["no", "ab ab", "ab"]
    answer = ask(server, "/v1/rerank", {"model": "ranks", "query": "ab", "documents": documents, "top_n": 2})
    assert [(result["index"], result["relevance_score"], result["document"]["text"]) for result in answer["results"]] == [
        (1, 2, "ab ab"), (2, 1, "ab")]


@pytest.mark.parametrize("model", ["mood", "renamed"])
def test_classify(server, model):
    answer = ask(server, "/v1/classify", {"model": model, "input": ["hm!", "wow!!!"]})
    assert [(item["label"], item["probs"]) for item in answer["data"]] == [("calm", [0.75, 0.25]), ("loud", [0.25, 0.75])]


def test_tokens(server):
    text = "t\u00e9xt \u20ac"
    answer = ask(server, "/tokenize", {"model": "scripted", "prompt": text})
    assert answer == {"count": len(text), "tokens": [ord(c) for c in text]}
    assert ask(server, "/detokenize", {"model": "scripted", "tokens": answer["tokens"]}) == {"prompt": text}


def test_health(server):
    assert ask(server, "/health") is None


def test_models_are_loaded_by_clients(tmp_path):
    write_scripted(tmp_path, "scripted")
    with serve(tmp_path, 'plugin.control.use="control/explicit"') as server, client_of(server) as client:
        assert [model.id for model in client.models.list()] == []
        assert ask(server, "/v1/models/scripted/load", {})["id"] == "scripted"
        assert [model.id for model in client.models.list()] == ["scripted"]
        assert client.responses.create(model="scripted", input=prompt("on")).output_text == "on"
        assert ask(server, "/v1/models/scripted/unload", {}) == {"id": "scripted", "object": "model", "deleted": True}
        assert [model.id for model in client.models.list()] == []
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(server, "/v1/models/none/load", {})
        assert refused.value.code in (400, 404, 500) and b"error" in refused.value.read()
