"""backends/llamacpp with a real model: over HTTP, over gRPC, by OpenAI's client, many at once, and unloaded meanwhile."""

import http.client
import json
import queue
import threading
import urllib.error
import urllib.request

import numpy as np
import openai
import pytest
import tritonclient.grpc as grpcclient
from support.language_models import LLAMACPP, PlainLoop, add_model
from support.server import Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

# Whose most likely answers are so by far (PlainLoop.most_likely checks it): the same text comes in whatever steps it is computed.
PROMPTS = ["10, 20, 30, 40, 50, 60,", "1, 2, 3, 4, 5, 6, 7, 8,", "2, 4, 6, 8, 10, 12, 14,"]
STORY = "Once upon a time, in a small village,"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    add_model(repository)  # no configuration at all
    add_model(repository, "tight", parameters={"context_length": 512, "kv_cache_tokens": 640, "max_sequences": 8})
    with Server(repository, *LLAMACPP, 'plugin.openai.use="frontends/openai"', 'plugin.control.use="control/explicit"',
                'plugin.control.load_model=["*"]', 'plugin.http.tenant_header="x-tenant"') as running:
        running.wait_ready("smol")
        running.wait_ready("tight")
        yield running.wait_active()


@pytest.fixture(scope="module")
def plain_loop(server):
    from support.language_models import MODEL_FILE
    return PlainLoop(MODEL_FILE)


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=f"http://{server.http_address}/v1", api_key="none", max_retries=0, timeout=120) as client:
        yield client


def post(server, path, body, headers=None):
    request = urllib.request.Request(f"http://{server.http_address}{path}", json.dumps(body).encode(),
                                     {"Content-Type": "application/json", **(headers or {})})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return answer.read().decode()


def generate(server, prompt, model="smol", headers=None, inputs=None, **sampling):
    body = {"text_input": prompt, "exclude_input_in_output": True, "sampling_parameters": json.dumps(sampling), **(inputs or {})}
    return json.loads(post(server, f"/v2/models/{model}/generate", body, headers))


def refused(server, prompt, **sampling):
    with pytest.raises(urllib.error.HTTPError) as error:
        generate(server, prompt, **sampling)
    return error.value.code, json.loads(error.value.read())["error"]


def metrics(server):
    with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return {line.split(" ")[0]: float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("atoll_llm_")}


def metric(server, name, model="smol"):
    return metrics(server)[f'atoll_llm_{name}{{model="{model}",version="1"}}']


def in_threads(count, work):
    """The results of work(i), each in a thread of its own."""
    results = [None] * count

    def run(i):
        try:
            results[i] = work(i)
        except Exception as error:  # noqa: BLE001: it is the result
            results[i] = error
    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_the_configuration_comes_from_the_file(server):
    with urllib.request.urlopen(f"http://{server.http_address}/v2/models/smol/config", timeout=30) as answer:
        config = json.load(answer)
    assert config["backend"] == "llamacpp" and config["model_transaction_policy"]["decoupled"]
    assert [tensor["name"] for tensor in config["input"]][:3] == ["text_input", "messages", "chat_options"]
    shown = {key: value["string_value"] for key, value in config["parameters"].items()}
    assert shown["gguf_context_length"] == "8192" and shown["gguf_embedding_size"] == "576"
    assert shown["gguf_vocabulary_size"] == "49152" and shown["gguf_chat_template"] == "true"


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_most_likely_text_is_that_of_a_plain_loop(server, plain_loop, prompt):
    answer = generate(server, prompt, temperature=0, max_tokens=24, headers={"x-tenant": "plain"})
    assert answer["text_output"] == plain_loop.most_likely(prompt, 24)


def test_the_prompt_is_repeated_where_that_is_asked_for(server):
    answer = json.loads(post(server, "/v2/models/smol/generate", {
        "text_input": PROMPTS[0], "sampling_parameters": json.dumps({"temperature": 0, "max_tokens": 4})}))
    assert answer["text_output"].startswith(PROMPTS[0] + " ")


def test_a_stream_over_http(server, plain_loop):
    whole = plain_loop.most_likely(PROMPTS[1], 16)
    body = post(server, "/v2/models/smol/generate_stream", {
        "text_input": PROMPTS[1], "stream": True, "return_finish_reason": True, "return_num_input_tokens": True,
        "return_num_output_tokens": True, "sampling_parameters": json.dumps({"temperature": 0, "max_tokens": 16})})
    events = [json.loads(line.removeprefix("data: ")) for line in body.splitlines() if line.startswith("data: ")]
    assert len(events) > 8
    assert "".join(event["text_output"] for event in events) == whole
    assert [event["finish_reason"] for event in events] == [""] * (len(events) - 1) + ["length"]
    assert sum(event["num_output_tokens"] for event in events) == 16
    assert {event["num_input_tokens"] for event in events} == {len(plain_loop.tokenize(PROMPTS[1]))}


def test_a_stream_over_grpc(server, plain_loop):
    whole = plain_loop.most_likely(PROMPTS[0], 8)
    answers = queue.Queue()
    inputs = []
    for name, kind, value in (("text_input", "BYTES", PROMPTS[0].encode()), ("stream", "BOOL", True),
                              ("sampling_parameters", "BYTES", b'{"temperature": 0, "max_tokens": 8}')):
        inputs.append(grpcclient.InferInput(name, [1], kind))
        inputs[-1].set_data_from_numpy(np.array([value], dtype=bool if kind == "BOOL" else object))
    with server.client() as client:
        client.start_stream(lambda result, error: answers.put((result, error)))
        client.async_stream_infer("smol", inputs, outputs=[grpcclient.InferRequestedOutput("text_output"),
                                                           grpcclient.InferRequestedOutput("finish_reason")],
                                  enable_empty_final_response=True)
        text, reason = "", ""
        while not reason:
            result, error = answers.get(timeout=60)
            assert error is None, error
            text += result.as_numpy("text_output")[0].decode()
            reason = result.as_numpy("finish_reason")[0].decode()
        client.stop_stream()
    assert (text, reason) == (whole, "length")


def test_32_clients_at_once(server):
    texts = in_threads(32, lambda i: generate(server, f"Item {i}:", temperature=0.7, seed=i, max_tokens=16, ignore_eos=True,
                                              **({"stop": [" the"]} if i % 4 == 0 else {})))
    assert [error for error in texts if isinstance(error, Exception)] == []
    assert all(" the" not in texts[i]["text_output"] for i in range(0, 32, 4))
    assert metric(server, "requests_running") == 0


def test_equal_seeds_give_equal_texts(server):
    """Where equal steps are computed: each is of a tenant of its own, so that nothing of the prompt is there from before."""
    first, second, other = (generate(server, STORY, temperature=1, seed=seed, max_tokens=16, headers={"x-tenant": tenant})["text_output"]
                            for tenant, seed in (("s1", 5), ("s2", 5), ("s3", 6)))
    assert first == second != other


def test_a_stop_string_is_not_in_the_text(server, plain_loop):
    whole = plain_loop.most_likely(PROMPTS[1], 24)
    stop = whole[10:15]
    assert generate(server, PROMPTS[1], temperature=0, max_tokens=24, stop=stop)["text_output"] == whole[:whole.index(stop)]
    assert generate(server, PROMPTS[1], temperature=0, max_tokens=24, stop=[stop], include_stop_str_in_output=True)[
        "text_output"] == whole[:whole.index(stop) + len(stop)]


def test_probabilities(server):
    answer = generate(server, PROMPTS[0], temperature=0, max_tokens=3, logprobs=3, inputs={"return_logprobs": True})
    tokens = json.loads(answer["logprobs"])
    assert "".join(token["token"] for token in tokens) == answer["text_output"]
    for token in tokens:
        assert token["top"][0]["id"] == token["id"] and token["logprob"] == token["top"][0]["logprob"] <= 0
        assert sorted((top["logprob"] for top in token["top"]), reverse=True) == [top["logprob"] for top in token["top"]]
        assert bytes(token["bytes"]).decode() == token["token"]


def test_json_by_a_schema(server):
    schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}, "age": {"type": "integer"}},
              "required": ["name", "age"], "additionalProperties": False}
    answer = generate(server, "A person as JSON: ", temperature=0, max_tokens=100, json_schema=schema)
    found = json.loads(answer["text_output"])
    assert set(found) == {"name", "age"} and isinstance(found["age"], int)
    assert generate(server, "Yes or no? ", temperature=0, max_tokens=9, grammar='root ::= "yes" | "no"')["text_output"] in ("yes", "no")


@pytest.mark.parametrize("sampling, text", [
    ({"temperature": -1}, "field 'temperature': found -1"), ({"nonsense": 1}, "field 'nonsense' is not known"),
    ({"json_schema": {"$ref": "#/none"}}, "field 'json_schema'"), ({"grammar": "root ::= ("}, "field 'grammar'")])
def test_wrong_sampling_is_told(server, sampling, text):
    code, reason = refused(server, "x", **sampling)
    assert code == 400 and text in reason


def test_a_prompt_that_does_not_fit_is_told(server):
    with pytest.raises(urllib.error.HTTPError) as error:
        generate(server, "word " * 2000, model="tight")
    reason = json.loads(error.value.read())["error"]
    assert error.value.code == 400 and "the prompt has 2001 tokens, and the context of 512 tokens" in reason


def test_a_prefix_is_computed_once(server):
    prompt = "A list of all kinds of numbers: " + " ".join(str(n) for n in range(150))
    inputs = {"return_num_input_tokens": True}
    first = generate(server, prompt, headers={"x-tenant": "a"}, inputs=inputs, temperature=0, max_tokens=4)
    again = generate(server, prompt, headers={"x-tenant": "a"}, inputs=inputs, temperature=0, max_tokens=4)
    other = generate(server, prompt, headers={"x-tenant": "b"}, inputs=inputs, temperature=0, max_tokens=4)
    assert again["num_cached_tokens"] == again["num_input_tokens"] - 1
    assert first["num_cached_tokens"] < 10 and other["num_cached_tokens"] < 10
    assert first["text_output"] == other["text_output"]


def test_out_of_memory_loses_no_request(server):
    before = metric(server, "preemptions_total", "tight")
    answers = in_threads(8, lambda i: generate(server, f"{i} " * 20, model="tight", temperature=0, max_tokens=150, ignore_eos=True,
                                               inputs={"return_num_output_tokens": True}))
    assert [answer["num_output_tokens"] for answer in answers] == [150] * 8
    assert metric(server, "preemptions_total", "tight") > before


def test_a_client_that_goes_ends_its_request(server):
    connection = http.client.HTTPConnection(server.http_address, timeout=60)
    connection.request("POST", "/v2/models/smol/generate_stream", json.dumps({
        "text_input": "Go on: ", "stream": True, "sampling_parameters": json.dumps({"max_tokens": 4000, "ignore_eos": True})}))
    answer = connection.getresponse()
    answer.read(50)
    eventually(lambda: metric(server, "requests_running") == 1)
    answer.close()
    connection.close()
    eventually(lambda: metric(server, "requests_running") == 0)


def test_chat_by_openais_client(client):
    # 12 tokens: up to there each is the most likely one by far.
    answer = client.chat.completions.create(model="smol", messages=[{"role": "user", "content": "What is the capital of France?"}],
                                            temperature=0, max_tokens=12)
    assert "Paris" in answer.choices[0].message.content
    assert answer.usage.prompt_tokens > 20 and answer.usage.completion_tokens > 3
    chunks = list(client.chat.completions.create(model="smol", messages=[{"role": "user", "content": "What is the capital of France?"}],
                                                 temperature=0, max_tokens=12, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == answer.choices[0].message.content


def infer(server, outputs, **inputs):
    tensors = []
    for name, value in inputs.items():
        kind = "INT32" if name == "token_ids" else "BYTES"
        array = np.array(value, dtype=np.int32) if kind == "INT32" else np.array([value.encode()], dtype=object)
        tensors.append(grpcclient.InferInput(name, list(array.shape), kind))
        tensors[-1].set_data_from_numpy(array)
    answers = queue.Queue()
    with server.client() as client:
        client.start_stream(lambda result, error: answers.put((result, error)))
        client.async_stream_infer("smol", tensors, outputs=[grpcclient.InferRequestedOutput(name) for name in outputs])
        result, error = answers.get(timeout=60)
        client.stop_stream()
    if error:
        raise error
    return result


def test_tokens_of_texts_and_texts_of_tokens(server, plain_loop):
    tokens = infer(server, ["prompt_token_ids"], text_input=PROMPTS[1]).as_numpy("prompt_token_ids").tolist()
    assert tokens == plain_loop.tokenize(PROMPTS[1])
    assert infer(server, ["prompt_text"], token_ids=tokens).as_numpy("prompt_text")[0].decode() == PROMPTS[1]
    messages = json.dumps([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}])
    prompt = infer(server, ["prompt_text"], messages=messages).as_numpy("prompt_text")[0].decode()
    assert prompt == ("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n")
    ids = infer(server, ["text_output"], token_ids=plain_loop.tokenize(PROMPTS[2]),
                sampling_parameters='{"temperature": 0, "max_tokens": 8}')
    assert ids.as_numpy("text_output")[0].decode() == plain_loop.most_likely(PROMPTS[2], 8)


@pytest.mark.parametrize("inputs, text", [
    ({"messages": "{"}, "input 'messages': found no JSON"), ({"messages": "{}"}, "found no array, expected a JSON array"),
    ({"messages": "[" * 100 + "]" * 100}, "more than 64 levels"), ({"messages": '[{"role":"user"}]'}, "the chat template: "),
    ({"messages": '[{"role":"user","content":"x"}]', "chat_options": '{"chat_template":"x"}'}, "a request cannot bring its own"),
    ({"token_ids": [49152]}, "input 'token_ids': found 49152, expected ids from 0 to 49151"), ({"text_input": ""}, "the prompt is empty")])
def test_wrong_prompts_are_told(server, inputs, text):
    with pytest.raises(InferenceServerException, match=".*") as error:
        infer(server, ["text_output"], **inputs)
    assert text in str(error.value)


def test_unload_while_32_generate(server):
    """Each request is answered or told, and the server goes on."""
    started = threading.Barrier(33)

    def ask(i):
        started.wait(timeout=60)
        return generate(server, f"Story {i}: ", temperature=0, max_tokens=40, ignore_eos=True)
    results = []
    asking = threading.Thread(target=lambda: results.extend(in_threads(32, ask)))
    asking.start()
    started.wait(timeout=60)
    eventually(lambda: metric(server, "requests_running") > 4)
    with server.client() as client:
        client.unload_model("smol")
        asking.join()
        client.load_model("smol")
    errors = [result for result in results if isinstance(result, Exception)]
    assert len(results) == 32 and all(isinstance(error, urllib.error.HTTPError) for error in errors), errors
    assert len(errors) < 32, "those that had begun are answered"
    assert generate(server, "x", max_tokens=1)["text_output"] is not None


def test_a_stream_of_triton_says_why_it_ends(tmp_path):
    add_model(tmp_path)
    with Server(tmp_path, *LLAMACPP, 'atoll.drain_timeout="12s"') as server:
        server.wait_active().wait_ready("smol")
        body = {"text_input": "Once", "stream": True, "sampling_parameters": json.dumps({"max_tokens": 8000, "ignore_eos": True})}
        request = urllib.request.Request(f"http://{server.http_address}/v2/models/smol/generate_stream", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=120) as stream:
            events = (json.loads(line[6:]) for line in stream if line.startswith(b"data: "))
            assert "text_output" in next(events)
            server.process.terminate()
            last = list(events)[-1]
        assert last == {"error": "The server ends, and has cut this answer off."}
        assert server.process.wait(60) == 0, "nothing is left to drain"
