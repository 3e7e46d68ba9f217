"""frontends/openai: OpenAI's own client for Node.js, beside the one for Python."""

import json
import subprocess

import pytest
from support.models import write_model
from support.openai_models import EMBEDS, EMBEDS_CONFIG, serve, write_scripted
from support.openai_node import FOLDER, PROGRAM
from support.server import ROOT


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What the client has printed."""
    repository = tmp_path_factory.mktemp("repository")
    write_scripted(repository, "scripted")
    write_model(repository, "embeds", EMBEDS_CONFIG, files={"model.py": EMBEDS.encode()})
    with serve(repository) as server:
        run = subprocess.run([PROGRAM, ROOT / "tests/openai/ask.mjs", FOLDER, f"http://{server.http_address}/v1"], capture_output=True,
                             text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_models_are_listed(found):
    assert sorted(found["models"]) == ["embeds", "scripted"]


def test_chats(found):
    choice, = found["chat"]["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("Hello World", "stop")
    assert found["chat"]["usage"]["completion_tokens"] == 2
    cut, = found["cut"]["choices"]
    assert (cut["message"]["content"], cut["finish_reason"]) == ("ab", "length")


def test_streams(found):
    assert "".join(found["stream"]["texts"]) == "Zwölf 🙂" and len(found["stream"]["texts"]) == 3
    assert found["stream"]["reasons"] == ["stop"]
    assert found["stream"]["usage"]["completion_tokens"] == 3
    assert found["left"], "a stream that is left is given up"


def test_tools(found):
    assert found["tool"]["finish_reason"] == "tool_calls"
    for function in (found["tool"]["message"]["tool_calls"][0]["function"], found["streamedTool"]):
        assert (function["name"], json.loads(function["arguments"])) == ("weather", {"city": "Paris"})


def test_completions(found):
    assert [(choice["index"], choice["text"]) for choice in found["completion"]["choices"]] == [(0, "xy"), (1, "xy")]


def test_responses(found):
    assert found["response"] == "one two"
    assert found["events"][0] == "response.created" and found["events"][-1] == "response.completed"
    assert found["events"].count("response.output_text.delta") == 2


def test_embeddings(found):
    assert found["embeddings"][0] == pytest.approx([6, 3, 0.1])
    assert found["embeddings"][1] == pytest.approx([0, 0, 0.1])
    assert found["floats"] == pytest.approx([6, 3, 0.1])


def test_errors(found):
    assert found["unknown"]["kind"] == "NotFoundError" and found["unknown"]["code"] == "model_not_found"
    assert (found["wrong"]["kind"], found["wrong"]["status"], found["wrong"]["param"]) == ("BadRequestError", 400, "temperature")
