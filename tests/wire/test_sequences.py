"""Sequences as a client sees them: each request is answered by the state of its own sequence."""

import itertools
import queue
import threading
import urllib.request

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support import models
from support.server import Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

STRATEGIES = {"direct": "direct { }", "oldest": "oldest { max_candidate_sequences: 8 }"}
MODELS = sorted(STRATEGIES)
PROTOCOLS = {"grpc": grpcclient, "http": httpclient}
IDS = itertools.count(1)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    for name, strategy in STRATEGIES.items():
        models.write_model(root, name, models.accumulate_config(strategy, extra="max_sequence_idle_microseconds: 60000000"),
                           files={"model.onnx": models.onnx_accumulate()})
    models.write_model(root, "impatient", models.accumulate_config("", extra="max_sequence_idle_microseconds: 50000"),
                       files={"model.onnx": models.onnx_accumulate()})
    return root


@pytest.fixture(scope="module")
def server(repository):
    with Server(repository) as running:
        running.wait_ready()
        yield running


def metrics_of(server):
    with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=60) as answer:
        return answer.read().decode()


class Sequence:
    """A client's side of one sequence."""

    def __init__(self, server, model, protocol="grpc", sequence_id=None):
        self._module = PROTOCOLS[protocol]
        self._client = server.client() if protocol == "grpc" else server.http_client()
        self._model = model
        self.id = next(IDS) if sequence_id is None else sequence_id

    def send(self, value, start=False, end=False, rows=1, **options):
        tensor = self._module.InferInput("INPUT", [rows, 1], "FP32")
        tensor.set_data_from_numpy(np.full((rows, 1), value, np.float32))
        return self._client.infer(self._model, [tensor], sequence_id=self.id, sequence_start=start, sequence_end=end,
                                  **options)

    def sum(self, value, **flags):
        return float(self.send(value, **flags).as_numpy("OUTPUT")[0, 0])


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("model", MODELS)
def test_each_sequence_has_its_own_state(server, model, protocol):
    one, other = Sequence(server, model, protocol), Sequence(server, model, protocol)
    assert one.sum(1, start=True) == 1
    assert other.sum(100, start=True) == 100
    assert one.sum(2) == 3
    assert other.sum(200) == 300
    assert one.sum(3, end=True) == 6
    assert other.sum(300, end=True) == 600


@pytest.mark.parametrize("model", MODELS)
def test_a_model_is_told_the_id(server, model):
    sequence = Sequence(server, model)
    assert int(sequence.send(1, start=True, end=True).as_numpy("ID")[0, 0]) == sequence.id


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("model", MODELS)
def test_what_is_refused(server, model, protocol):
    def refusal(sequence, **options):
        with pytest.raises(InferenceServerException) as failure:
            sequence.send(1, **options)
        return failure.value.message(), failure.value.status()

    code = "StatusCode.INVALID_ARGUMENT" if protocol == "grpc" else "400"
    sequence = Sequence(server, model, protocol)
    assert refusal(sequence) == (
        f"inference request for sequence {sequence.id} to model '{model}' must specify the "
        "START flag on the first request of the sequence", code)
    assert refusal(Sequence(server, model, protocol, 0), start=True) == (
        f"inference request to model '{model}' must specify a non-zero or non-empty "
        "correlation ID", code)
    assert refusal(sequence, rows=2, start=True) == (
        f"inference request to model '{model}' must specify batch-size 1 due to "
        "requirements of sequence batcher", code)
    assert sequence.sum(5, start=True, end=True) == 5


@pytest.mark.parametrize("model", MODELS)
def test_more_sequences_than_slots_at_once(server, model):
    """Ten times as many as there are slots, each by a thread of its own."""
    wrong = queue.Queue()

    def client(number):
        sequence, total = Sequence(server, model), 0
        for step in range(1, 6):
            total += number * step
            got = sequence.sum(number * step, start=step == 1, end=step == 5)
            if got != total:
                wrong.put((number, step, got, total))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(1, 41)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(wrong.queue) == []


def test_a_silent_sequence_ends(server):
    sequence = Sequence(server, "impatient")
    assert sequence.sum(1, start=True) == 1
    family = 'atoll_sequence_idle_ended_total{model="impatient",version="1"} 1'
    eventually(lambda: family in metrics_of(server))
    with pytest.raises(InferenceServerException, match="must specify the START flag"):
        sequence.send(1)


@pytest.mark.parametrize("model", MODELS)
def test_requests_of_a_stream(server, model):
    answers = queue.Queue()
    client = server.client()
    client.start_stream(lambda result, error: answers.put((result, error)))
    sequence = next(IDS)
    for value in (1, 2, 3):
        tensor = grpcclient.InferInput("INPUT", [1, 1], "FP32")
        tensor.set_data_from_numpy(np.full((1, 1), value, np.float32))
        client.async_stream_infer(model, [tensor], sequence_id=sequence, sequence_start=value == 1, sequence_end=value == 3)
    got = [answers.get(timeout=60) for _ in range(3)]
    client.stop_stream()
    assert [error for _, error in got] == [None] * 3
    assert [float(result.as_numpy("OUTPUT")[0, 0]) for result, _ in got] == [1, 3, 6]
