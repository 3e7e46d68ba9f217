"""frontends/openai: random requests to a model of canned tokens, beside an oracle that was written apart from the plugin."""

import codecs
import concurrent.futures
import dataclasses
import http.client
import json
import random
import re

import pytest
from support.openai_models import serve, write_scripted

REQUESTS = 1000
AT_A_TIME = 8
SEED = 20261127
WORDS = ["a", "b", "ab", " ", "\n", "END", "EN", "\u00e9", "\u20ac", "\U0001f600", "\"", "\\", "\t", "{", "}", "<", "tool", "</"]
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("f", "g")]
# What a model may say of calls, and what is in it: a text, or a name with its arguments.
CALLS = [("f", '{"a": 1}'), ("g", "{}"), ("f", '{"text": "}\\" <b>", "list": [[], {}]}')]


# A byte that is of no character is one U+FFFD.
codecs.register_error("each_byte", lambda error: ("\ufffd" * (error.end - error.start), error.end))


@dataclasses.dataclass
class Case:
    """A request, and what its answer has to be."""
    body: dict
    path: str
    choices: list  # of each: content, calls, finish_reason, tokens of the log probabilities
    usage: dict


def cut(random_, data):
    """The bytes in pieces, anywhere."""
    pieces = []
    while data:
        size = random_.randint(1, 6)
        pieces.append(data[:size])
        data = data[size:]
    return pieces


def first_stop(data, stops):
    """Where the text ends and whether a stop string ends it: that which is complete first, and of several the longest."""
    best = None
    for stop in stops:
        at = data.find(stop)
        if at >= 0 and (best is None or (at + len(stop), at) < best):
            best = (at + len(stop), at)
    return best


def parse_calls(text):
    """Plain text and calls in the syntax of hermes, all of it at hand."""
    content, calls = "", []
    for number, part in enumerate(re.split(r"(<tool_call>.*?</tool_call>)", text, flags=re.DOTALL)):
        if number % 2 == 0:
            content += part
            continue
        inner = part.removeprefix("<tool_call>").removesuffix("</tool_call>")
        name = re.search(r'"name": "(\w)"', inner).group(1)
        calls.append((name, re.search(r'"arguments": (.*)}\s*$', inner, re.DOTALL).group(1)))
    return content, calls


def make_case(number):
    r = random.Random(SEED + number)
    is_chat = r.random() < 0.7
    has_tools = is_chat and r.random() < 0.35
    if has_tools:
        # Words that touch no call, so that blanks beside calls, which are nobody's text, are told apart easily.
        said = r.choice(["", "So", "Wait: \u20ac"])
        data = said.encode()
        for name, arguments in r.sample(CALLS, r.randint(0, 3)):
            data += f'<tool_call>{{"name": "{name}", "arguments": {arguments}}}</tool_call>'.encode()
    else:
        data = "".join(r.choice(WORDS) for _ in range(r.randint(0, 25))).encode()
    pieces = cut(r, data)
    n = r.randint(1, 3)
    body = {"model": "scripted", "stream": r.random() < 0.5, "n": n}
    script = json.dumps({"bytes": [list(piece) for piece in pieces], "reason": r.choice([None, "stop", "length"])})
    reason = json.loads(script)["reason"]
    if body["stream"] and r.random() < 0.7:
        body["stream_options"] = {"include_usage": True}
    stops = []
    if not has_tools and r.random() < 0.5:
        stops = ["".join(r.choice(WORDS) for _ in range(r.randint(1, 3))) for _ in range(r.randint(1, 3))]
        body["stop"] = stops[0] if len(stops) == 1 and r.random() < 0.5 else stops
    includes = bool(stops) and r.random() < 0.3
    if includes:
        body["include_stop_str_in_output"] = True
    most = len(pieces) + 1
    if not is_chat or r.random() < 0.3:
        most = r.randint(1, 40)
        body["max_tokens"] = most
    logprobs = r.random() < 0.3
    if logprobs:
        body.update({"logprobs": True, "top_logprobs": r.randint(0, 2)} if is_chat else {"logprobs": r.randint(0, 2)})
    if has_tools:
        body["tools"] = TOOLS
    prompts = 1 if is_chat else r.randint(1, 2)
    if is_chat:
        body["messages"] = [{"role": "user", "content": script}]
    else:
        body["prompt"] = script if prompts == 1 else [script] * prompts
    sent = pieces[:most]
    choice, spent = expected(sent, stops, includes, logprobs, has_tools, reason, most)
    usage = {"prompt_tokens": prompts * len(script) if sent else 0, "completion_tokens": n * prompts * spent}
    return Case(body, "/v1/chat/completions" if is_chat else "/v1/completions", [choice] * (n * prompts), usage)


def expected(sent, stops, includes, logprobs, has_tools, reason, most):
    """One choice, and how many of its tokens the model has said when it is stopped."""
    data, spent, stopped = b"", 0, None
    for piece in sent:
        data += piece
        spent += 1
        stopped = first_stop(data, [stop.encode() for stop in stops])
        if stopped:
            break
    end = len(data) if not stopped else stopped[0] if includes else stopped[1]
    text = data[:end].decode(errors="each_byte")
    tokens, begin = [], 0
    for piece in sent[:spent]:
        if begin < end or not stopped:
            tokens.append(list(piece))
        begin += len(piece)
    finish = "stop"
    if not stopped:
        is_last_sent = spent and reason is not None
        finish = reason if is_last_sent else ("length" if spent >= most else "stop")
    calls = []
    if has_tools:
        text, calls = parse_calls(text) if text.count("<tool_call>") == text.count("</tool_call>") else (None, None)
        if calls and finish == "stop":
            finish = "tool_calls"
    return {"content": text, "calls": calls, "finish": finish, "tokens": tokens if logprobs else None}, spent


# --- what the server answers ---

def ask(address, case):
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.request("POST", case.path, json.dumps(case.body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    assert response.status == 200, (case.body, text)
    return whole(case, json.loads(text)) if not case.body["stream"] else streamed(case, text)


def tokens_of(case, logprobs):
    if "messages" in case.body:
        return [token["bytes"] for token in logprobs["content"]]
    return [list(token.encode()) for token in logprobs["tokens"]]


def whole(case, answer):
    choices = []
    for choice in answer["choices"]:
        message = choice.get("message", {})
        calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", [])]
        choices.append({"content": message.get("content") or "" if message else choice["text"], "calls": calls,
                        "finish": choice["finish_reason"],
                        "tokens": tokens_of(case, choice["logprobs"]) if choice["logprobs"] is not None else None})
    return choices, answer["usage"]


def streamed(case, text):
    events = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert events[-1] == "[DONE]"
    chunks = [json.loads(event) for event in events[:-1]]
    assert len({chunk["id"] for chunk in chunks}) == 1
    choices = [{"content": "", "calls": [], "finish": None, "tokens": []} for _ in case.choices]
    usage = None
    for chunk in chunks:
        if not chunk["choices"]:
            assert usage is None
            usage = chunk["usage"]
            continue
        assert chunk.get("usage") is None
        part = chunk["choices"][0]
        choice = choices[part["index"]]
        assert choice["finish"] is None, "nothing comes behind the end"
        delta = part.get("delta", {"content": part.get("text")})
        choice["content"] += delta.get("content") or ""
        for call in delta.get("tool_calls", []):
            if call["index"] == len(choice["calls"]):
                choice["calls"].append((call["function"]["name"], ""))
            name, arguments = choice["calls"][call["index"]]
            choice["calls"][call["index"]] = (name, arguments + call["function"]["arguments"])
        choice["finish"] = part["finish_reason"]
        if part["logprobs"] is not None:
            choice["tokens"] += tokens_of(case, part["logprobs"])
    if not case.body.get("logprobs") and case.body.get("logprobs") != 0:
        for choice in choices:
            choice["tokens"] = None
    assert (usage is not None) == ("stream_options" in case.body)
    return choices, usage


def check(address, number):
    case = make_case(number)
    choices, usage = ask(address, case)
    assert len(choices) == len(case.choices)
    for got, wanted in zip(choices, case.choices):
        if wanted["content"] is None:  # a call that max_tokens has cut off: what there is of it is a matter of taste
            continue
        if "messages" not in case.body and wanted["tokens"] is not None:
            # Completions name tokens by their texts, which halves of characters do not have.
            wanted = {**wanted, "tokens": [list(bytes(token).decode(errors="replace").encode()) for token in wanted["tokens"]]}
        assert got == wanted, (number, case.body)
    if usage is not None:
        assert {key: usage[key] for key in case.usage} == case.usage, (number, case.body)
        assert usage["total_tokens"] == sum(case.usage.values())


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    repository = tmp_path_factory.mktemp("random")
    write_scripted(repository, "scripted")
    with serve(repository) as server:
        yield server.http_address


def test_answers_are_those_of_the_oracle(address):
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        list(pool.map(lambda number: check(address, number), range(REQUESTS)))
