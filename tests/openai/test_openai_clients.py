"""frontends/openai: OpenAI's own client against models of Python."""

import base64
import json
import re
import struct
import subprocess
import sys
import threading
import urllib.request

import openai
import pytest
from support.openai_models import EMBEDS
from support.python_models import INTERPRETER
from support.server import ROOT, Server

CONFIG = """
backend: "python"
max_batch_size: {batch}
{policy}
input [ {{ name: "text_input" data_type: TYPE_STRING dims: [ 1 ] }}{optional} ]
output [ {{ name: "{output}" data_type: {type} dims: [ {dims} ] }}{more} ]
"""
OPTIONAL = """,
  { name: "stream" data_type: TYPE_BOOL dims: [ 1 ] optional: true },
  { name: "sampling_parameters" data_type: TYPE_STRING dims: [ 1 ] optional: true }
"""
COUNTS = """,
  { name: "num_input_tokens" data_type: TYPE_UINT32 dims: [ 1 ] },
  { name: "num_output_tokens" data_type: TYPE_UINT32 dims: [ 1 ] }"""
# Repeats the last words of its prompt, one piece a word, up to max_tokens; "forever" goes on until it is cancelled.
REPEATS = """
import json
import threading
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def answer(self, request):
        prompt = pb_utils.get_input_tensor_by_name(request, "text_input").as_numpy()[0].decode()
        sampling = pb_utils.get_input_tensor_by_name(request, "sampling_parameters")
        most = json.loads(sampling.as_numpy()[0]).get("max_tokens", 1000)
        words = prompt.split("user\\n")[-1].split("<|im_end|>")[0].split(" ")
        sender = request.get_response_sender()

        def send(word, tokens):
            sender.send(pb_utils.InferenceResponse([
                pb_utils.Tensor("text_output", np.array([word], dtype=object)),
                pb_utils.Tensor("num_input_tokens", np.array([len(words)], dtype=np.uint32)),
                pb_utils.Tensor("num_output_tokens", np.array([tokens], dtype=np.uint32))]))

        while words == ["forever"] and not sender.is_cancelled():
            send("on ", 1)
        for i, word in enumerate(words[:most]):
            send((" " if i else "") + word, 1)
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def execute(self, requests):
        for request in requests:
            threading.Thread(target=self.answer, args=(request,)).start()
"""


def write_model(repository, name, source, **config):
    (repository / name / "1").mkdir(parents=True)
    (repository / name / "config.pbtxt").write_text(CONFIG.format(**config))
    (repository / name / "1" / "model.py").write_text(source)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("openai")
    write_model(repository, "repeats", REPEATS, batch=0, policy="model_transaction_policy { decoupled: true }", optional=OPTIONAL,
                output="text_output", type="TYPE_STRING", dims="1", more=COUNTS)
    write_model(repository, "embeds", EMBEDS, batch=8, policy="dynamic_batching { }", optional="", output="embedding", type="TYPE_FP32",
                dims="3", more="")
    with Server(repository, 'plugin.python.use="backends/python"', INTERPRETER, 'plugin.openai.use="frontends/openai"',
                'plugin.openai.aliases={"gpt-4o" = "repeats"}') as server:
        server.wait_ready()
        yield server.wait_active()


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=f"http://{server.http_address}/v1", api_key="none", max_retries=0, timeout=60) as client:
        yield client


def user(text):
    return [{"role": "system", "content": "be brief"}, {"role": "user", "content": text}]


def test_models(client):
    assert [model.id for model in client.models.list()] == ["embeds", "gpt-4o", "repeats"]
    assert client.models.retrieve("gpt-4o").owned_by == "atoll"
    with pytest.raises(openai.NotFoundError) as refused:
        client.models.retrieve("org/none")
    assert refused.value.code == "model_not_found"


def test_chat(client):
    answer = client.chat.completions.create(model="gpt-4o", messages=user("one two thr\u00e9\u00e9 \u20ac"), temperature=0)
    assert answer.choices[0].message.content == "one two thr\u00e9\u00e9 \u20ac"
    assert answer.choices[0].finish_reason == "stop"
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (4, 4, 8)
    assert answer.model == "gpt-4o" and answer.id.startswith("chatcmpl-")


def test_chat_streams(client):
    chunks = list(client.chat.completions.create(model="repeats", messages=user("a b c"), stream=True, n=2,
                                                 stream_options={"include_usage": True}))
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == 6
    for index in range(2):
        own = [chunk.choices[0] for chunk in chunks if chunk.choices and chunk.choices[0].index == index]
        assert own[0].delta.role == "assistant"
        assert "".join(choice.delta.content or "" for choice in own) == "a b c"
        assert [choice.finish_reason for choice in own] == [None] * (len(own) - 1) + ["stop"]


def test_completions(client):
    answer = client.completions.create(model="repeats", prompt=["a b", "c d e"], max_tokens=2)
    assert [choice.text for choice in answer.choices] == ["a b", "c d"]
    assert [choice.finish_reason for choice in answer.choices] == ["length", "length"]
    assert client.completions.create(model="repeats", prompt=" ".join("x" * 40)).usage.completion_tokens == 16
    assert "".join(chunk.choices[0].text for chunk in client.completions.create(model="repeats", prompt="a b c", stop="b c",
                                                                                stream=True)) == "a "


def test_a_stream_that_is_left_is_cancelled(server, client):
    stream = client.chat.completions.create(model="repeats", messages=user("forever"), stream=True)
    assert next(iter(stream)).choices[0].delta.role == "assistant"
    stream.close()
    # The model's only instance is there for others, and its thread ends, or the server could not stop.
    assert client.chat.completions.create(model="repeats", messages=user("a")).choices[0].message.content == "a"


def test_stop_ends_a_model_that_goes_on(client):
    answer = client.completions.create(model="repeats", prompt="forever", stop=["on on on"])
    assert (answer.choices[0].text, answer.choices[0].finish_reason) == ("", "stop")


def test_many_at_a_time(client):
    answers = {}

    def ask(number):
        answers[number] = client.chat.completions.create(model="repeats", messages=user(f"n {number}")).choices[0].message.content

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: f"n {number}" for number in range(32)}


def test_embeddings(server, client):
    answer = client.embeddings.create(model="embeds", input=["banana", ""])  # the client asks for base64
    assert [item.index for item in answer.data] == [0, 1]
    assert answer.data[0].embedding == pytest.approx([6, 3, 0.1])
    assert answer.data[1].embedding == pytest.approx([0, 0, 0.1])
    raw = json.load(urllib.request.urlopen(urllib.request.Request(
        f"http://{server.http_address}/v1/embeddings", b'{"model":"embeds","input":"banana","encoding_format":"base64"}',
        {"Content-Type": "application/json"})))
    assert struct.unpack("<3f", base64.b64decode(raw["data"][0]["embedding"])) == pytest.approx([6, 3, 0.1])
    cut = client.embeddings.create(model="embeds", input="aaaa", dimensions=2, encoding_format="float")
    assert cut.data[0].embedding == pytest.approx([0.5 ** 0.5] * 2)


@pytest.mark.parametrize("wrong, param", [
    ({"temperature": 3}, "temperature"),
    ({"n": 0}, "n"),
    ({"messages": []}, "messages"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}, "messages[0].content"),
    ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
    ({"response_format": {"type": "xml"}}, "response_format"),
])
def test_what_is_wrong_is_named(client, wrong, param):
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(**{"model": "repeats", "messages": user("a"), **wrong})
    assert refused.value.param == param


def test_other_models_are_refused(client):
    with pytest.raises(openai.NotFoundError) as refused:
        client.chat.completions.create(model="none", messages=user("a"))
    assert refused.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="embeds", messages=user("a"))
    with pytest.raises(openai.BadRequestError):
        client.embeddings.create(model="repeats", input="a")


def test_the_example_of_the_page(tmp_path):
    """docs/language-models.md: its model, served, and its program."""
    page = (ROOT / "docs" / "language-models.md").read_text()
    for path, text in re.findall(r"`chat/(\S+)`:\n\n```\w*\n(.*?)```", page, re.DOTALL):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    program, = re.findall(r"```python\n(from openai.*?)```", page, re.DOTALL)
    said = re.search(r"prints `(.*?)`", page).group(1)
    curl = next(call for call in re.findall(r"curl -s http://127.0.0.1:8000(\S+) -d '(.*)'", page) if "whisper" in call[1])
    with Server(tmp_path, 'plugin.python.use="backends/python"', INTERPRETER, 'plugin.openai.use="frontends/openai"') as server:
        server.wait_ready()
        program = program.replace("127.0.0.1:8000", server.http_address)
        assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == said
        answer = json.load(urllib.request.urlopen(urllib.request.Request(f"http://{server.http_address}{curl[0]}", curl[1].encode())))
        assert answer["choices"][0]["message"]["content"] == said
