"""A language model served step by step: every client gets the tokens that it would get alone, as they are made."""

import concurrent.futures
import json
import queue
import sys
import urllib.request

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support.server import ROOT, Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

sys.path.append(str(ROOT / "etc" / "models"))
import generator_graph  # noqa: E402
import step_loop  # noqa: E402
from step_loop import Request  # noqa: E402

HIDDEN, EMBEDDING = 48, 16
MODEL = generator_graph.MODEL
TYPES = {"PROMPT": "INT32", "PROMPT_LENGTH": "INT32", "MAX_TOKENS": "INT32", "TEMPERATURE": "FP32", "SEED": "INT64"}
NUMPY = {"INT32": np.int32, "INT64": np.int64, "FP32": np.float32}
TIMEOUT_S = 60


@pytest.fixture(scope="module")
def weights():
    random = np.random.default_rng(3)
    symbols = len(generator_graph.SYMBOLS)
    sizes = {"embedding": (symbols, EMBEDDING), "input": (3 * HIDDEN, EMBEDDING), "recurrent": (3 * HIDDEN, HIDDEN),
             "biases": (6 * HIDDEN,), "output": (HIDDEN, symbols), "output_bias": (symbols,)}
    return {name: random.normal(size=size).astype(np.float32) for name, size in sizes.items()}


@pytest.fixture(scope="module")
def graph(weights):
    return generator_graph.build(weights)


@pytest.fixture(scope="module")
def server(graph, weights, tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    generator_graph.write(graph, root / MODEL)
    generator_graph.write(generator_graph.build(weights, at_once=True), root / generator_graph.AT_ONCE_MODEL)
    with Server(root) as running:
        running.wait_ready()
        yield running


@pytest.fixture(scope="module")
def expected(graph):
    """What a request gets, by the reference of the loop."""
    loop = step_loop.StepLoop(graph.SerializeToString())

    def run(**fields):
        return loop.run([Request(**fields)])[0]

    return run


def tensors_of(**fields):
    tensors = []
    for name, values in Request(**fields).inputs().items():
        if name not in TYPES:
            continue
        array = np.asarray(values, NUMPY[TYPES[name]]).reshape(1, -1)
        tensor = grpcclient.InferInput(name, list(array.shape), TYPES[name])
        tensor.set_data_from_numpy(array)
        tensors.append(tensor)
    return tensors


class Stream:
    """One ModelStreamInfer with one request."""

    def __init__(self, server):
        self._answers = queue.Queue()
        self._client = server.client()
        self._client.start_stream(lambda result, error: self._answers.put((result, error)))

    def send(self, **fields):
        self._client.async_stream_infer(MODEL, tensors_of(**fields), enable_empty_final_response=True)

    def next(self):
        """The next token; None: that was all"""
        result, error = self._answers.get(timeout=TIMEOUT_S)
        if error is not None:
            raise error
        if result.get_response().parameters["triton_final_response"].bool_param:
            return None
        return int(result.as_numpy("TOKEN")[0, 0])

    def tokens(self):
        return list(iter(self.next, None))

    def close(self, cancel=False):
        self._client.stop_stream(cancel_requests=cancel)
        self._client.close()


def generate(server, **fields):
    stream = Stream(server)
    stream.send(**fields)
    tokens = stream.tokens()
    stream.close()
    return tokens


def test_a_stream_brings_the_tokens_of_the_reference(server, expected):
    fields = {"prompt": "The quick", "max_tokens": 40, "temperature": 0.8, "seed": 5}
    assert generate(server, **fields) == expected(**fields).tokens


def various_requests():
    """More than a batch holds, of all lengths, so that they join and leave at any step."""
    random = np.random.default_rng(9)
    return [{"prompt": "abcdefgh"[:1 + i % 8], "max_tokens": int(random.integers(1, 60)),
             "temperature": float(i % 3) / 2, "seed": i} for i in range(48)]


def test_clients_do_not_change_each_others_tokens(server, expected):
    various = various_requests()
    with concurrent.futures.ThreadPoolExecutor(len(various)) as pool:
        found = list(pool.map(lambda fields: generate(server, **fields), various))
    assert found == [expected(**fields).tokens for fields in various]


def test_a_model_that_is_not_decoupled_answers_with_the_last_step(server, expected):
    def infer(fields):
        result = client.infer(generator_graph.AT_ONCE_MODEL, tensors_of(**fields), client_timeout=TIMEOUT_S)
        return np.trim_zeros(result.as_numpy("TOKENS")[0], "b").tolist()

    client, various = server.client(), various_requests()
    with concurrent.futures.ThreadPoolExecutor(len(various)) as pool:
        found = list(pool.map(infer, various))
    assert found == [expected(**fields).tokens for fields in various]


def test_generate_stream_sends_an_event_for_each_token(server, expected):
    fields = {"prompt": "Hello", "max_tokens": 12, "temperature": 0.5, "seed": 2}
    body = {name: np.asarray(values).tolist() for name, values in Request(**fields).inputs().items() if name in TYPES}
    request = urllib.request.Request(f"http://{server.http_address}/v2/models/{MODEL}/generate_stream",
                                     json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        events = [json.loads(line[len("data:"):]) for line in answer.read().decode().splitlines() if line]
    reference = expected(**fields)
    assert [event["TOKEN"] for event in events if "TOKEN" in event] == reference.tokens
    assert "".join(event["TEXT"] for event in events if "TEXT" in event) == reference.text


def metric(server, name):
    with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=TIMEOUT_S) as answer:
        page = answer.read().decode()
    line = f'{name}{{model="{MODEL}",version="1"}} '
    return next(float(found[len(line):]) for found in page.splitlines() if found.startswith(line))


def test_a_client_that_goes_away_frees_its_place(server):
    stream = Stream(server)
    stream.send(prompt="x", max_tokens=generator_graph.MOST_TOKENS)
    assert stream.next() is not None
    before = metric(server, "atoll_sequence_rescheduled_total")
    stream.close(cancel=True)
    eventually(lambda: metric(server, "atoll_sequences_open") == 0)
    assert metric(server, "atoll_sequence_rescheduled_total") - before < generator_graph.MOST_TOKENS


def test_a_request_without_streams_is_refused(server):
    client = server.client()
    tensor = grpcclient.InferInput("SEED", [1, 1], "INT64")
    tensor.set_data_from_numpy(np.zeros((1, 1), np.int64))
    with pytest.raises(InferenceServerException, match="decoupled"):
        client.infer(MODEL, [tensor])
