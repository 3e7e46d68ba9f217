"""backends/llamacpp: what becomes of files that are damaged, missing or of another kind, and of models for embeddings."""

import json
import random
import urllib.error
import urllib.request

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support.language_models import LLAMACPP, add_model, model_file
from support.server import Server
from tritonclient.utils import InferenceServerException

DAMAGES = 50


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return tmp_path_factory.mktemp("repository")


@pytest.fixture(scope="module")
def server(repository):
    with Server(repository, *LLAMACPP, 'plugin.control.use="control/explicit"', "plugin.models.strict_readiness=false",
                'plugin.openai.use="frontends/openai"') as running:
        yield running.wait_active()


@pytest.fixture
def client(server):
    with server.client() as client:
        yield client


def reason_of(client, name):
    with pytest.raises(InferenceServerException) as error:
        client.load_model(name)
    return str(error.value)


def generated(server, model):
    body = {"text_input": "The sea is", "sampling_parameters": json.dumps({"temperature": 0, "max_tokens": 2})}
    request = urllib.request.Request(f"http://{server.http_address}/v2/models/{model}/generate", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["text_output"]
    except urllib.error.HTTPError as error:
        return error


def damaged(content, number):
    """The bytes of a file that was cut off or changed. The beginning, where llama.cpp believes most, is hit most."""
    draw = random.Random(number)
    changed = bytearray(content)
    if number % 3 == 0:
        return changed[:draw.choice([draw.randrange(len(content)), draw.randrange(2_000_000), draw.randrange(500)])]
    head = draw.choice([400, 5_000, 1_900_000, len(content)])
    for _ in range(draw.choice([1, 3, 30])):
        at = draw.randrange(head)
        changed[at] = draw.choice([0, 0xFF, 0x80, changed[at] ^ (1 << draw.randrange(8)), draw.randrange(256)])
    return changed


def test_no_damaged_file_ends_the_server(server, client, repository):
    content = model_file().read_bytes()
    path = add_model(repository, "damaged")
    path.unlink()  # it has other names
    loaded = 0
    for number in range(DAMAGES):
        path.write_bytes(damaged(content, number))
        try:
            client.load_model("damaged")
        except InferenceServerException as error:
            assert "model file '" in str(error), f"damage {number}: {error}"
        else:
            loaded += 1
            generated(server, "damaged")  # whatever it says
        assert server.process.poll() is None, f"damage {number} has ended the server: {server.log}"
        path.unlink()
    assert 0 < loaded < DAMAGES, "damage of both kinds was meant"
    path.write_bytes(content)
    client.load_model("damaged")
    assert generated(server, "damaged").startswith("The sea is")
    client.unload_model("damaged")


def test_the_only_file_of_a_version_is_found(server, client, repository):
    add_model(repository, "named", file_name="SmolLM2-135M.Q4_0.gguf")
    client.load_model("named")
    assert generated(server, "named").startswith("The sea is")
    client.unload_model("named")
    add_model(repository, "two", file_name="a.gguf")
    (repository / "two/1/b.gguf").write_bytes(b"GGUF")
    assert "has 2 files *.gguf, such as 'a.gguf' and 'b.gguf', expected one" in reason_of(client, "two")
    (repository / "two/config.pbtxt").write_text('backend: "llamacpp" default_model_filename: "a.gguf"')
    client.load_model("two")
    client.unload_model("two")


@pytest.mark.parametrize("content, text", [
    (b"", "found an empty file, expected a GGUF file"), (b"GGUF", "llama.cpp cannot read it"), (b"no such thing" * 1000, "llama.cpp cannot read it")])
def test_what_is_no_model_is_told(client, repository, content, text):
    path = repository / "none/1/model.gguf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    assert text in reason_of(client, "none")


@pytest.mark.parametrize("config, text", [
    ('parameters { key: "context_length" value { string_value: "9000" } }', "parameter 'context_length' is '9000', expected a whole number from 16 to 8192"),
    ('parameters { key: "kv_cache_tokens" value { string_value: "100" } }', "parameter 'kv_cache_tokens' is '100'"),
    ('parameters { key: "kv_cache_tokens" value { string_value: "16777216" } }', "MiB left: set the parameters context_length and kv_cache_tokens to less"),
    ('parameters { key: "pooling" value { string_value: "max" } }', "expected none, mean, cls, last or rank"),
    ('max_batch_size: 4', "has max_batch_size 4, expected 0"),
    ('instance_group { kind: KIND_GPU gpus: 0 }', "GPU"),
    ('input { name: "text" data_type: TYPE_STRING dims: 1 }', "input 'text' is not known to this backend"),
    ('output { name: "text_output" data_type: TYPE_FP32 dims: 1 }', "output 'text_output' has type FP32, expected BYTES"),
    ('model_transaction_policy { decoupled: false } input { name: "text_input" data_type: TYPE_STRING dims: 2 }', "has dims [2], expected [1]")])
def test_wrong_configurations_are_told(client, repository, config, text):
    path = repository / "wrong"
    if not path.exists():
        add_model(repository, "wrong", config="")
    (path / "config.pbtxt").write_text('backend: "llamacpp"\n' + config)
    assert text in reason_of(client, "wrong")


def test_embeddings(server, client, repository):
    add_model(repository, "embeds", parameters={"pooling": "mean", "context_length": 256})
    client.load_model("embeds")
    texts = ["A cat sits on a mat.", "A kitten lies on a rug.", "The stock market fell by three percent."]
    tensor = grpcclient.InferInput("text_input", [3, 1], "BYTES")
    tensor.set_data_from_numpy(np.array([[text.encode()] for text in texts], dtype=object))
    vectors = client.infer("embeds", [tensor]).as_numpy("embedding")
    assert vectors.shape == (3, 576)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    # Each by itself is what it is among others.
    for text, vector in zip(texts, vectors):
        one = grpcclient.InferInput("text_input", [1, 1], "BYTES")
        one.set_data_from_numpy(np.array([[text.encode()]], dtype=object))
        assert client.infer("embeds", [one]).as_numpy("embedding")[0] @ vector > 0.999
    tensor.set_data_from_numpy(np.array([[b"word " * 300]] * 3, dtype=object))
    with pytest.raises(InferenceServerException, match="the text has 301 tokens, expected at most 256"):
        client.infer("embeds", [tensor])
    import openai
    with openai.OpenAI(base_url=f"http://{server.http_address}/v1", api_key="none", max_retries=0) as asks:
        answer = asks.embeddings.create(model="embeds", input=texts)
    assert np.array(answer.data[0].embedding) @ vectors[0] > 0.999
    client.unload_model("embeds")


def test_without_a_trial_a_file_is_loaded_at_once(tmp_path):
    add_model(tmp_path)
    with Server(tmp_path, *LLAMACPP, "plugin.llamacpp.probe=false") as running:
        running.wait_ready("smol")
        running.wait_active()
        assert generated(running, "smol").startswith("The sea is")


def test_a_trial_that_takes_too_long_is_ended(tmp_path):
    add_model(tmp_path)
    engine = tmp_path / "engine"
    engine.mkdir()
    from support.language_models import ENGINE
    for file in ENGINE.iterdir():
        (engine / file.name).symlink_to(file)
    (engine / "atoll-llamacpp-probe").unlink()
    (engine / "atoll-llamacpp-probe").write_text("#!/bin/sh\nexec sleep 1000\n")
    (engine / "atoll-llamacpp-probe").chmod(0o755)
    with Server(tmp_path, *LLAMACPP, f'plugin.llamacpp.library="{engine}"', 'plugin.llamacpp.probe_timeout="1s"',
                'plugin.repository.follow_links=true') as running:
        running.newest_line("its trial had not ended after 1 s \\(option probe_timeout\\)")


def test_without_llama_cpp_the_server_says_what_to_do(tmp_path):
    add_model(tmp_path / "models")
    with Server(tmp_path / "models", *LLAMACPP, f'plugin.llamacpp.library="{tmp_path}"') as running:
        running.newest_line(f"llama.cpp cannot be used: there is none in {tmp_path}; to get it: etc/dev/build release backends/llamacpp")


def test_libraries_for_another_cpu_are_refused(tmp_path):
    add_model(tmp_path / "models")
    from support.language_models import ENGINE
    for file in ENGINE.iterdir():
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "cpu_flags").unlink(missing_ok=True)  # else the libraries themselves would be refused from then on
    (tmp_path / "cpu_flags").write_text("sse4_2 avx8192 amx_int64 ")
    with Server(tmp_path / "models", *LLAMACPP, f'plugin.llamacpp.library="{tmp_path}"') as running:
        running.newest_line(f"the libraries in {tmp_path} were compiled for a CPU with avx8192, amx_int64, which this one lacks; "
                            "to get those for this CPU: etc/dev/fetch-llamacpp --compile")
