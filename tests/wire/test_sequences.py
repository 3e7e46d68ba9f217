"""Sequences as a client sees them: each request is answered by the state of its own sequence."""

import itertools
import queue
import signal
import threading
import urllib.request

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from onnx import TensorProto
from support import models
from support.control import EXPLICIT
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
    models.write_model(root, "texts", models.accumulate_config(STRATEGIES["oldest"], id_type="TYPE_STRING"),
                       files={"model.onnx": models.onnx_accumulate(TensorProto.STRING)})
    models.write_model(root, "impatient", models.accumulate_config("", extra="max_sequence_idle_microseconds: 50000"),
                       files={"model.onnx": models.onnx_accumulate()})
    models.write_model(root, "append", models.append_config(), files={"model.onnx": models.onnx_append()})
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


def test_a_state_that_grows_keeps_its_values(server):
    """Over gRPC, two sequences in turns, up to 800 kB each."""
    client, ids = server.client(), (next(IDS), next(IDS))
    values = np.random.default_rng(4).integers(0, 2**30, (2, 200, 500))
    for step in range(200):
        for row, sequence in enumerate(ids):
            tensor = grpcclient.InferInput("INPUT", [500], "INT64")
            tensor.set_data_from_numpy(values[row, step])
            result = client.infer("append", [tensor], sequence_id=sequence, sequence_start=step == 0,
                                  sequence_end=step == 199)
            assert [int(result.as_numpy(name)[0]) for name in ("COUNT", "SUM", "FIRST")] == [
                500 * (step + 1), values[row, :step + 1].sum(), values[row, 0, 0]]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_id_may_be_a_text(server, protocol):
    sequence = Sequence(server, "texts", protocol, f"caf\u00e9 of {protocol}")
    other = Sequence(server, "texts", protocol, f"bar of {protocol}")
    assert sequence.sum(1, start=True) == 1
    assert other.sum(10, start=True) == 10
    result = sequence.send(2, end=True)
    assert float(result.as_numpy("OUTPUT")[0, 0]) == 3
    assert result.as_numpy("ID")[0, 0].decode() == sequence.id
    assert other.sum(20, end=True) == 30
    with pytest.raises(InferenceServerException, match="data-type is 'UINT64', but model 'texts' expects 'BYTES'"):
        Sequence(server, "texts", protocol, 7).send(1, start=True)


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


def change(repository, name):
    """Writes the model's file anew, with the same meaning."""
    models.let_settle()
    (repository / name / "1" / "model.onnx").write_bytes(models.onnx_accumulate())


@pytest.fixture
def controlled(tmp_path):
    """A server whose models a client loads and unloads."""
    for name, strategy in STRATEGIES.items():
        models.write_model(tmp_path, name, models.accumulate_config(strategy, extra="max_sequence_idle_microseconds: 60000000"),
                           files={"model.onnx": models.onnx_accumulate()})
    with Server(tmp_path, EXPLICIT) as running:
        client = running.client()
        for name in MODELS:
            client.load_model(name)
        yield running


def in_use(server, model):
    """Open sequences of all versions that there are."""
    line = f'atoll_sequences_open{{model="{model}",version="1"}} '
    return next((int(float(found[len(line):])) for found in metrics_of(server).splitlines() if found.startswith(line)), 0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("model", MODELS)
def test_a_reload_leaves_running_sequences_where_they_are(controlled, tmp_path, model, protocol):
    running = Sequence(controlled, model, protocol)
    assert running.sum(1, start=True) == 1
    change(tmp_path, model)
    controlled.client().load_model(model)
    begun_after = Sequence(controlled, model, protocol)
    assert begun_after.sum(10, start=True) == 10
    assert running.sum(2) == 3
    assert begun_after.sum(20, end=True) == 30
    eventually(lambda: in_use(controlled, model) == 1)  # an answer comes before its sequence has ended
    assert running.sum(3, end=True) == 6
    eventually(lambda: in_use(controlled, model) == 0)
    with pytest.raises(InferenceServerException, match="must specify the START flag"):
        running.send(4)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("model", MODELS)
def test_an_unload_leaves_running_sequences_until_they_end(controlled, model, protocol):
    running = Sequence(controlled, model, protocol)
    assert running.sum(1, start=True) == 1
    controlled.client().unload_model(model)
    with pytest.raises(InferenceServerException, match="is not at ready state|has no available versions|is not found"):
        Sequence(controlled, model, protocol).send(1, start=True)
    assert running.sum(2) == 3
    assert running.sum(3, end=True) == 6
    with pytest.raises(InferenceServerException, match="is not at ready state|has no available versions|is not found"):
        running.send(4)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("model", MODELS)
def test_the_server_ends_when_running_sequences_have(repository, model, protocol):
    with Server(repository) as running:
        running.wait_ready().wait_active()
        sequence = Sequence(running, model, protocol)
        assert sequence.sum(1, start=True) == 1
        running.process.send_signal(signal.SIGTERM)
        running.wait_for_line("open sequences: 1; their clients may finish them")
        with pytest.raises(InferenceServerException, match="stopped accepting new inference requests"):
            Sequence(running, model, protocol).send(1, start=True)
        assert sequence.sum(2) == 3
        assert sequence.sum(3, end=True) == 6
        assert running.process.wait(timeout=60) == 0
