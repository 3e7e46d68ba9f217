"""LoRA adapters of backends/llamacpp: they compute what the same weights merged compute, and come and go while their base serves."""

import json
import random
import threading
import urllib.request

import openai
import pytest
from support import gguf_models
from support.language_models import LLAMACPP
from support.server import Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

PROMPTS = ["The sea is", "1 2 3", "<>"]
TOLERANCE = 0.05  # of logarithms of probabilities, which lie some units apart; what is kept of tokens has half precision
DAMAGES = 40


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    weights = gguf_models.generator_weights()
    gguf_models.write_generator(folder / "tiny/1/model.gguf", weights)
    for name, seed in (("one", 2), ("two", 3)):
        matrices = gguf_models.adapter_matrices(seed)
        gguf_models.write_adapter(folder / f"tiny:{name}/1/model.gguf", matrices)
        gguf_models.write_generator(folder / f"merged-{name}/1/model.gguf", gguf_models.merged(weights, matrices))
    # Of any name, with a configuration of its own.
    gguf_models.write_adapter(folder / "named/1/any.gguf", gguf_models.adapter_matrices(2))
    (folder / "named/config.pbtxt").write_text('backend: "llamacpp"\n' + parameter("base_model", "tiny") + parameter("max_sequences", "2"))
    return folder


def parameter(key, value):
    return f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'


@pytest.fixture(scope="module")
def server(repository):
    with Server(repository, *LLAMACPP, 'plugin.openai.use="frontends/openai"', 'plugin.control.use="control/explicit"',
                'plugin.control.load_model=["*"]', "plugin.models.strict_readiness=false") as running:
        for model in ("tiny", "tiny:one", "tiny:two", "merged-one", "merged-two", "named"):
            running.wait_ready(model)
        yield running.wait_active()


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=f"http://{server.http_address}/v1", api_key="none", max_retries=0, timeout=120) as client:
        yield client


@pytest.fixture
def control(server):
    with server.client() as control:
        yield control


def post(server, path, body=None):
    request = urllib.request.Request(f"http://{server.http_address}{path}", json.dumps(body or {}).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def likely(server, model, prompt, tokens=6):
    """[{id of a token: logarithm of its probability}] of the likeliest tokens at each place, behind the most likely ones."""
    sampling = {"temperature": 0, "max_tokens": tokens, "logprobs": 5, "ignore_eos": True}
    answer = post(server, f"/v2/models/{model}/generate", {"text_input": prompt, "return_logprobs": True,
                                                           "sampling_parameters": json.dumps(sampling)})
    return [{one["id"]: one["logprob"] for one in place["top"]} for place in json.loads(answer["logprobs"])]


def difference(one, other):
    """The largest at any place, of tokens that both name."""
    return max(abs(a[token] - b[token]) for a, b in zip(one, other, strict=True) for token in a.keys() & b.keys())


def assert_equal(one, other):
    assert [set(place) for place in one] == [set(place) for place in other]
    assert difference(one, other) < TOLERANCE


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("name", ["one", "two"])
def test_an_adapter_computes_what_the_merged_weights_do(server, prompt, name):
    adapted, merged = likely(server, f"tiny:{name}", prompt), likely(server, f"merged-{name}", prompt)
    assert_equal(adapted, merged)
    base, other = likely(server, "tiny", prompt, 1), likely(server, f"tiny:{'two' if name == 'one' else 'one'}", prompt, 1)
    assert set(base[0]) != set(adapted[0]) or difference(base, adapted[:1]) > 10 * TOLERANCE
    assert set(other[0]) != set(adapted[0]) or difference(other, adapted[:1]) > 10 * TOLERANCE


def test_the_base_may_be_named_in_the_configuration(server):
    assert_equal(likely(server, "named", PROMPTS[0]), likely(server, "tiny:one", PROMPTS[0]))


def test_all_at_once(server):
    names = ["tiny", "tiny:one", "tiny:two", "merged-one"] * 4
    alone = {name: likely(server, name, PROMPTS[1]) for name in set(names)}
    found = [None] * len(names)

    def ask(number):
        found[number] = likely(server, names[number], PROMPTS[1])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(names))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, places in zip(names, found, strict=True):
        # Where two tokens are nearly alike the batch may decide, and then the places behind differ; the first one is sure.
        assert difference(places[:1], alone[name][:1]) < TOLERANCE, name


def test_they_are_listed_and_have_metrics_of_their_own(server, client):
    likely(server, "tiny:one", PROMPTS[0])
    assert {"tiny", "tiny:one", "tiny:two"} <= {model.id for model in client.models.list()}
    assert client.models.retrieve("tiny:one").id == "tiny:one"
    with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=30) as answer:
        assert 'atoll_llm_generated_tokens_total{model="tiny:one",version="1"}' in answer.read().decode()


def test_they_come_and_go_while_the_base_generates(server, client, control):
    before = likely(server, "tiny:two", PROMPTS[0])
    stop = threading.Event()
    failures, answers = [], []

    def generate():
        while not stop.is_set():
            try:
                answers.append(client.completions.create(model="tiny", prompt="x", max_tokens=32, temperature=0,
                                                         extra_body={"ignore_eos": True}).usage.completion_tokens)
            except openai.OpenAIError as error:
                failures.append(error)

    threads = [threading.Thread(target=generate) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for turn in range(10):
            post(server, "/v1/models/tiny:two/unload")
            eventually(lambda: not control.is_model_ready("tiny:two"), 60)
            with pytest.raises(openai.NotFoundError):
                client.completions.create(model="tiny:two", prompt="x")
            post(server, "/v1/models/tiny:two/load")
            eventually(lambda: control.is_model_ready("tiny:two"), 60)
            assert difference(likely(server, "tiny:two", PROMPTS[0])[:1], before[:1]) < TOLERANCE, turn
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures
    assert answers and set(answers) == {32}


def test_the_base_may_go_before_its_adapters(server, control):
    before = likely(server, "tiny:one", PROMPTS[0], 1)
    control.unload_model("tiny")
    eventually(lambda: not control.is_model_ready("tiny"), 60)
    assert difference(likely(server, "tiny:one", PROMPTS[0], 1), before) < TOLERANCE
    control.load_model("tiny")
    server.wait_ready("tiny")
    likely(server, "tiny", PROMPTS[0], 1)


def reason_of(control, name):
    with pytest.raises(InferenceServerException) as error:
        control.load_model(name)
    return str(error.value)


def test_what_is_no_adapter_of_the_base_is_refused(control, repository):
    random_matrices = gguf_models.adapter_matrices(9)
    gguf_models.write_adapter(repository / "tiny:other/1/model.gguf", random_matrices, architecture="gpt2")
    assert "arch mismatch" in reason_of(control, "tiny:other")
    narrow = {name: (a[:, :32], b) for name, (a, b) in random_matrices.items()}
    gguf_models.write_adapter(repository / "tiny:narrow/1/model.gguf", narrow)
    assert "incorrect shape" in reason_of(control, "tiny:narrow")
    gguf_models.write_adapter(repository / "tiny:else/1/model.gguf", {"blk.7.attn_q.weight": random_matrices["blk.0.attn_q.weight"]})
    assert "does not exist in base model" in reason_of(control, "tiny:else")
    gguf_models.write_generator(repository / "tiny:whole/1/model.gguf", gguf_models.generator_weights())
    assert "expect general.type to be 'adapter'" in reason_of(control, "tiny:whole")
    gguf_models.write_adapter(repository / "lost/1/model.gguf", random_matrices)
    (repository / "lost/config.pbtxt").write_text('backend: "llamacpp"\n' + parameter("base_model", "nothing"))
    assert "parameter 'base_model' is 'nothing', expected a model with a version in" in reason_of(control, "lost")
    (repository / "lost/config.pbtxt").write_text('backend: "llamacpp"\n' + parameter("base_model", "../repository/tiny"))
    assert "parameter 'base_model' is '../repository/tiny'" in reason_of(control, "lost")


def test_a_colon_alone_makes_no_adapter(server, control, repository):
    gguf_models.write_generator(repository / "family:8b/1/model.gguf", gguf_models.generator_weights())
    control.load_model("family:8b")
    assert_equal(likely(server, "family:8b", PROMPTS[0]), likely(server, "tiny", PROMPTS[0]))


def test_no_damaged_adapter_ends_the_server(server, control, repository):
    path = repository / "tiny:damaged/1/model.gguf"
    gguf_models.write_adapter(path, gguf_models.adapter_matrices(5))
    content, refused = path.read_bytes(), 0
    for number in range(DAMAGES):
        draw = random.Random(number)
        changed = bytearray(content)
        for _ in range(draw.choice([1, 3, 30])):
            changed[draw.randrange(draw.choice([200, 1500]))] = draw.choice([0, 0xFF, 0x80, draw.randrange(256)])
        path.write_bytes(changed[:draw.randrange(len(content))] if number % 3 == 0 else changed)
        try:
            control.load_model("tiny:damaged")
        except InferenceServerException:
            refused += 1
    assert refused > DAMAGES / 3
    likely(server, "tiny", PROMPTS[0], 1)
