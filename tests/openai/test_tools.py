"""frontends/openai: tools, log probabilities and formats, with OpenAI's own client."""

import json

import openai
import pytest
from support.openai_models import client_of, script, serve, write_scripted

TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}},
         {"type": "function", "function": {"name": "now"}}]
ROME = '{"city": "Rome", "note": "\\"}{"}'
HERMES = f'<tool_call>\n{{"name": "weather", "arguments": {ROME}}}\n</tool_call>\n<tool_call>{{"name": "now", "arguments": {{}}}}</tool_call>'
LLAMA3 = f'{{"name": "weather", "parameters": {ROME}}}; {{"name": "now", "parameters": {{}}}}'
MISTRAL = f'[TOOL_CALLS] [{{"name": "weather", "arguments": {ROME}}}, {{"name": "now", "arguments": {{}}}}]'


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    repository = tmp_path_factory.mktemp("tools")
    write_scripted(repository, "hermes")
    for name in ("llama3", "mistral"):
        write_scripted(repository, name, f'parameters {{ key: "tool_call_parser" value {{ string_value: "{name}" }} }}')
    with serve(repository) as server, client_of(server) as client:
        yield client


def cut(text, size):
    return [text[at:at + size] for at in range(0, len(text), size)]


def called(message):
    return [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls]


CALLS = [("weather", json.loads(ROME)), ("now", {})]
SYNTAXES = pytest.mark.parametrize("model, text", [("hermes", HERMES), ("llama3", LLAMA3), ("mistral", MISTRAL)])


@SYNTAXES
def test_calls_of_tools(client, model, text):
    answer = client.chat.completions.create(model=model, messages=script(*cut(text, 5)), tools=TOOLS)
    choice = answer.choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    assert called(choice.message) == CALLS
    assert len({call.id for call in choice.message.tool_calls}) == 2


@SYNTAXES
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_calls_are_streamed(client, model, text, size):
    chunks = list(client.chat.completions.create(model=model, messages=script(*cut(text, size)), tools=TOOLS, stream=True))
    calls = []
    for chunk in chunks:
        for part in chunk.choices[0].delta.tool_calls or []:
            if part.index == len(calls):
                assert part.id and part.type == "function" and part.function.name
                calls.append([part.function.name, ""])
            else:
                assert part.index == len(calls) - 1 and part.id is None
            calls[-1][1] += part.function.arguments
    assert [(name, json.loads(arguments)) for name, arguments in calls] == CALLS
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == ""
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices[0].finish_reason] == ["tool_calls"]


def test_the_client_puts_a_stream_together(client):
    with client.chat.completions.stream(model="hermes", messages=script("Wait. ", *cut(HERMES, 4)), tools=TOOLS) as stream:
        message = stream.get_final_completion().choices[0].message
    assert message.content == "Wait."
    assert called(message) == CALLS


def test_what_the_model_is_told(client):
    def told(**more):
        text = client.chat.completions.create(model="hermes", messages=script(inputs=True), **more).choices[0].message.content
        return json.loads(text)

    assert told(tools=TOOLS)["chat_options"] == {"tools": TOOLS}
    assert told(tools=TOOLS, tool_choice="none")["chat_options"] == ""
    assert told(tools=TOOLS)["text_input"] == ""
    assert told(response_format={"type": "json_object"})["sampling_parameters"] == {"json_schema": {"type": "object"}}
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    formatted = told(response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": schema, "strict": True}})
    assert formatted["sampling_parameters"]["json_schema"] == schema
    more = {"chat_template_kwargs": {"enable_thinking": False}, "chat_template": "{{ messages }}"}
    assert told(reasoning_effort="low", extra_body=more)["chat_options"] == {**more, "reasoning_effort": "low"}


def test_tools_that_have_to_be_called(client):
    listed = json.dumps([{"name": "now", "parameters": {}}])
    answer = client.chat.completions.create(model="hermes", messages=script(*cut(listed, 2)), tools=TOOLS, tool_choice="required")
    assert called(answer.choices[0].message) == [("now", {})]
    answer = client.chat.completions.create(model="hermes", messages=script(*cut(ROME, 2)), tools=TOOLS,
                                            tool_choice={"type": "function", "function": {"name": "weather"}})
    assert called(answer.choices[0].message) == CALLS[:1]


def test_the_answer_of_a_tool_goes_back(client):
    calls = [{"id": "c1", "type": "function", "function": {"name": "now", "arguments": "{}"}}]
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "tool_calls": calls},
                {"role": "tool", "tool_call_id": "c1", "content": json.dumps({"inputs": True})}]
    answer = client.chat.completions.create(model="hermes", messages=messages, tools=TOOLS)
    told = json.loads(answer.choices[0].message.content)["messages"]
    assert told[1]["tool_calls"] == calls
    assert told[2]["tool_call_id"] == "c1"
    calls[0]["function"]["arguments"] = "{"
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="hermes", messages=messages)
    assert refused.value.param == "messages[1].tool_calls[0].function.arguments"


def test_logprobs(client):
    pieces = ["one", " t\u00e9o", " end"]
    answer = client.chat.completions.create(model="hermes", messages=script(*pieces), logprobs=True, top_logprobs=1)
    tokens = answer.choices[0].logprobs.content
    assert [token.token for token in tokens] == pieces
    assert [token.logprob for token in tokens] == [0, -1 / 8, -2 / 8]
    assert bytes(tokens[1].bytes).decode() == pieces[1]
    assert [other.token for other in tokens[0].top_logprobs] == ["other"]
    streamed = client.chat.completions.create(model="hermes", messages=script(*pieces), logprobs=True, stream=True)
    assert [token.token for chunk in streamed if chunk.choices[0].logprobs for token in chunk.choices[0].logprobs.content] == pieces
    completion = client.completions.create(model="hermes", prompt=json.dumps({"pieces": pieces}), logprobs=1).choices[0].logprobs
    assert completion.tokens == pieces
    assert completion.text_offset == [0, 3, 7]
    assert completion.top_logprobs[0] == {"other": -9.5}


def test_prompts_of_token_ids(client):
    ids = [ord(c) for c in json.dumps({"pieces": ["by ids"]})]
    assert client.completions.create(model="hermes", prompt=ids).choices[0].text == "by ids"
    assert [choice.text for choice in client.completions.create(model="hermes", prompt=[ids, ids]).choices] == ["by ids"] * 2
