"""What backends made for Triton do with requests beside answering them: rescheduling, cancellation, state."""

import pathlib
import queue
import re

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support.models import tensor_config, write_model
from support.server import Server
from support.triton_backends import FIXTURES, put_backend, write_manifest
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

FOR_EVER = 2**31 - 1
MANY = 200_000
UNTIL_CANCELLED = -1
TENSORS = tensor_config("input", "COUNT", "TYPE_INT32", [1]) + tensor_config("output", "OUTPUT", "TYPE_INT32", [1])
STEPS = 'backend: "steps"\n' + TENSORS
ITERATIVE = STEPS + """
sequence_batching { iterative_sequence: true max_sequence_idle_microseconds: 60000000 %s state [ {
  input_name: "DONE_IN" output_name: "DONE_OUT" data_type: TYPE_INT32 dims: [ 1 ]
  initial_state { data_type: TYPE_INT32 dims: [ 1 ] zero_data: true name: "zero" }
} ] }
instance_group [ { count: 2 kind: KIND_CPU } ]
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("steps")
    put_backend(folder / "backends", "steps", "steps", FIXTURES)
    put_backend(folder / "backends", "repeat", "repeats")
    write_model(folder / "models", "plain", STEPS)
    write_model(folder / "models", "waiting", STEPS)
    write_model(folder / "models", "direct", ITERATIVE % "direct {}")
    write_model(folder / "models", "oldest", ITERATIVE % "oldest { max_candidate_sequences: 4 }")
    write_model(folder / "models", "repeats", 'backend: "repeats" model_transaction_policy { decoupled: true }\n' +
                "".join(tensor_config("input", name, "TYPE_INT32", dims) for name, dims in (("IN", [-1]), ("DELAY_MS", [1]))) +
                "".join(tensor_config("output", name, "TYPE_INT32", [1]) for name in ("OUT", "IDX")))
    with Server(folder / "models", manifest=write_manifest(folder, folder / "backends")) as running:
        running.wait_ready()
        yield running


def tensor(value, name="COUNT"):
    made = grpcclient.InferInput(name, [1], "INT32")
    made.set_data_from_numpy(np.array([value], np.int32))
    return made


def executions(client, model, count):
    return client.infer(model, [tensor(count)]).as_numpy("OUTPUT").tolist()


@pytest.mark.parametrize("model", ["direct", "oldest"])
def test_a_rescheduled_request_is_executed_again_with_its_state(server, model):
    with server.client() as client:
        for count in (1, 2, 50):
            assert executions(client, model, count) == [count]
        answers = queue.Queue()
        for count in range(1, 40):
            client.async_infer(model, [tensor(count)], lambda result, error, count=count: answers.put((count, result, error)))
        for _ in range(1, 40):
            count, result, error = answers.get(timeout=60)
            assert error is None, error
            assert result.as_numpy("OUTPUT").tolist() == [count]


def resident_mib(server):
    return int(re.search(r"VmRSS:\s+(\d+) kB", pathlib.Path(f"/proc/{server.process.pid}/status").read_text()).group(1)) / 1024


@pytest.mark.parametrize("model", ["direct", "oldest"])
def test_a_request_may_be_executed_very_often(server, model):
    """What the server does for each execution of a request must not pile up on it."""
    with server.client() as client:
        assert executions(client, model, 1000) == [1000]
        before = resident_mib(server)
        assert executions(client, model, MANY) == [MANY]
        assert resident_mib(server) - before < 16


def test_a_model_that_is_not_iterative_refuses_to_reschedule(server):
    with server.client() as client:
        assert executions(client, "plain", 1) == [1]
        with pytest.raises(InferenceServerException, match="TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not"):
            executions(client, "plain", 2)
        assert executions(client, "plain", 1) == [1]


def cancelled(client, model, value, begun):
    answers = queue.Queue()
    call = client.async_infer(model, [tensor(value)], lambda result, error: answers.put(error))
    begun()
    call.cancel()
    assert "CANCELLED" in str(answers.get(timeout=60).status())


@pytest.mark.parametrize("model", ["direct", "oldest"])
def test_a_request_that_is_cancelled_is_not_rescheduled(server, model):
    with server.client() as client:
        def rescheduled():
            stats = client.get_inference_statistics(model).model_stats[0]
            return stats.execution_count > before + 10

        for _ in range(4):  # more than there are instances
            before = client.get_inference_statistics(model).model_stats[0].execution_count
            cancelled(client, model, FOR_EVER, lambda: eventually(rescheduled))
        assert executions(client, model, 3) == [3]


def test_a_backend_sees_that_its_request_is_cancelled(server):
    """Of a model whose executions are long: light ones run on the thread that would read the client's cancel."""
    with server.client() as client:
        for _ in range(3):
            cancelled(client, "waiting", UNTIL_CANCELLED,
                      lambda: server.wait_for_line("steps.cc:1: waiting until the request is cancelled"))
            server.wait_for_line("steps.cc:2: the request is cancelled")
        assert executions(client, "waiting", 1) == [1]


def test_a_stream_that_is_cancelled_ends_its_responses(server):
    """The backend asks its response factory, after the request is released. Otherwise the server would not end in time: it
    waits for 30 s, and what is left of the responses takes 200 s."""
    with server.client() as client:
        answers = queue.Queue()
        client.start_stream(lambda result, error: answers.put((result, error)))
        values = grpcclient.InferInput("IN", [10000], "INT32")
        values.set_data_from_numpy(np.arange(10000, dtype=np.int32))
        client.async_stream_infer("repeats", [values, tensor(20, "DELAY_MS")])
        result, error = answers.get(timeout=60)
        assert error is None and result.as_numpy("OUT").tolist() == [0]
        client.stop_stream(cancel_requests=True)
