"""ModelStreamInfer with the real clients: order, decoupled answers, failures, ends before the time, slow readers."""

import asyncio
import itertools
import pathlib
import queue
import time

import grpc
import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.grpc.aio as grpcaio
from support import models
from support.server import MEMORY_SLACK_BYTES, SANITIZED, Server, usage
from support.waiting import eventually
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException

MANIFEST = pathlib.Path(__file__).with_name("grpc_only.toml")
MIB = 1 << 20
# Sanitizers' servers are too slow to fill more in a reasonable time.
BACKLOG_BYTES = (1 if SANITIZED else 8) * MIB
TIMEOUT_S = 60


def repeat_config(name, **parameters):
    text = f'name: "{name}" backend: "repeat" model_transaction_policy {{ decoupled: true }}\n'
    for tensor, kind, dim in (("IN", "TYPE_INT32", -1), ("DELAY", "TYPE_UINT32", -1), ("WAIT", "TYPE_UINT32", 1)):
        text += models.tensor_config("input", tensor, kind, [dim])
    for tensor, kind in (("OUT", "TYPE_INT32"), ("IDX", "TYPE_UINT32")):
        text += models.tensor_config("output", tensor, kind, [1])
    for key, value in parameters.items():
        text += f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'
    return text


@pytest.fixture(scope="module")
def server(tmp_path_factory, grpc_frontend):
    repository = tmp_path_factory.mktemp("repository")
    models.write_model(repository, "fast", models.identity_config("fast"))
    slow = 'parameters { key: "execute_delay_ms" value { string_value: "300" } }'
    models.write_model(repository, "slow", models.identity_config("slow", extra=slow))
    stuck = 'parameters { key: "execute_delay_ms" value { string_value: "3600000" } }'
    models.write_model(repository, "stuck", models.identity_config("stuck", extra=stuck))
    models.write_model(repository, "repeat", repeat_config("repeat"))
    models.write_model(repository, "repeat_final", repeat_config("repeat_final", final_with_last="true"))
    models.write_model(repository, "repeat_fails", repeat_config("repeat_fails", fail_at="1"))
    with Server(repository, f"plugin.grpc.max_stream_backlog_bytes={BACKLOG_BYTES}", manifest=MANIFEST,
                grpc_frontend=grpc_frontend) as running:
        yield running.wait_ready()


@pytest.fixture(autouse=True)
def unharmed(server):
    """After every case the same process serves another client right, and every request is over."""
    yield
    with server.client() as client:
        assert client.infer("fast", inputs(np.arange(4))).as_numpy("OUTPUT0").tolist() == [0, 1, 2, 3]
    assert server.process.poll() is None


def inputs(values):
    array = np.asarray(values, dtype=np.float32)
    tensor = grpcclient.InferInput("INPUT0", list(array.shape), "FP32")
    tensor.set_data_from_numpy(array)
    return [tensor]


def repeat_inputs(count, delay_ms=0, wait_ms=0):
    arrays = [("IN", np.arange(count, dtype=np.int32), "INT32"),
              ("DELAY", np.full(count, delay_ms, dtype=np.uint32), "UINT32"),
              ("WAIT", np.array([wait_ms], dtype=np.uint32), "UINT32")]
    tensors = []
    for name, array, datatype in arrays:
        tensors.append(grpcclient.InferInput(name, list(array.shape), datatype))
        tensors[-1].set_data_from_numpy(array)
    return tensors


class Stream:
    """A stream of the real client whose answers wait in a queue."""

    def __init__(self, server, **start):
        self.client = server.client()
        self.answers = queue.Queue()
        self.client.start_stream(lambda result, error: self.answers.put((result, error)), **start)

    def send(self, model, tensors, request_id="", **options):
        self.client.async_stream_infer(model, tensors, request_id=request_id, **options)

    def result(self):
        result, error = self.answers.get(timeout=TIMEOUT_S)
        assert error is None, error
        return result

    def error(self):
        result, error = self.answers.get(timeout=TIMEOUT_S)
        assert result is None and isinstance(error, InferenceServerException)
        return error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.stop_stream()
        self.client.close()


def final_flag(result):
    return result.get_response().parameters["triton_final_response"].bool_param


def test_answers_keep_the_order_of_their_requests(server):
    with Stream(server) as stream:
        for i in range(20):
            stream.send("slow" if i in (0, 7) else "fast", inputs([i, i]), request_id=str(i))
        for i in range(20):
            result = stream.result()
            assert result.get_response().id == str(i)
            assert result.as_numpy("OUTPUT0").tolist() == [i, i]
            assert final_flag(result)


def test_decoupled_answers_do_not_wait_for_others(server):
    with Stream(server) as stream:
        stream.send("slow", inputs([1]), request_id="slow")
        stream.send("repeat", repeat_inputs(5), request_id="repeat")
        ids = [stream.result().get_response().id for _ in range(6)]
        assert ids == ["repeat"] * 5 + ["slow"]


def test_a_decoupled_model_answers_any_number_of_times(server):
    with Stream(server) as stream:
        for count in (3, 0, 1, 1000):
            stream.send("repeat", repeat_inputs(count), request_id=str(count))
            for i in range(count):
                result = stream.result()
                assert result.as_numpy("OUT").tolist() == [i]
                assert result.as_numpy("IDX").tolist() == [i]
                assert not final_flag(result)
        stream.send("fast", inputs([1]), request_id="end")
        assert stream.result().get_response().id == "end"  # nothing else was sent


def test_the_empty_final_response(server):
    with Stream(server) as stream:
        for count in (2, 0):
            stream.send("repeat", repeat_inputs(count), request_id="x", enable_empty_final_response=True)
            for _ in range(count):
                assert not final_flag(stream.result())
            last = stream.result()
            assert final_flag(last)
            response = last.get_response()
            assert (response.id, response.model_name, response.model_version) == ("x", "repeat", "")
            assert len(response.outputs) == 0


def test_a_model_that_marks_its_last_response(server):
    with Stream(server) as stream:
        stream.send("repeat_final", repeat_inputs(3))
        assert [final_flag(stream.result()) for _ in range(3)] == [False, False, True]


def test_failures_do_not_end_the_stream(server):
    with Stream(server) as stream:
        stream.send("nope", inputs([1]), request_id="a")
        assert "Request for unknown model: 'nope' is not found" in str(stream.error())
        stream.send("fast", repeat_inputs(1), request_id="b")
        assert "[request id: b] expected 1 inputs but got 3 inputs for model 'fast'" in str(stream.error())
        stream.send("repeat_fails", repeat_inputs(3), request_id="c")
        assert stream.result().as_numpy("OUT").tolist() == [0]
        stream.error()
        assert stream.result().as_numpy("OUT").tolist() == [2]
        stream.send("fast", inputs([5]))
        assert stream.result().as_numpy("OUTPUT0").tolist() == [5]


def test_failures_end_the_stream_if_the_client_wants_that(server):
    with server.client() as observer, Stream(server, headers={"triton_grpc_error": "true"}) as stream:
        stuck = ended_requests(observer, "stuck")
        stream.send("nope", inputs([1]))
        assert "Request for unknown model: 'nope' is not found" in str(stream.error())
        stream.send("stuck", inputs([1]))  # is cancelled
        stream.send("repeat_fails", repeat_inputs(100, delay_ms=1))
        assert stream.result().as_numpy("OUT").tolist() == [0]
        assert stream.error().status() == "StatusCode.INTERNAL"
        eventually(lambda: ended_requests(observer, "stuck") == stuck + 1)


def ended_requests(client, model):
    """How many requests the model is done with, well or not."""
    stats = client.get_inference_statistics(model).model_stats[0].inference_stats
    return stats.success.count + stats.fail.count


@pytest.mark.parametrize("how", ["cancel", "deadline"])
def test_the_end_of_a_stream_is_the_end_of_its_requests(server, how):
    """Of those that run, for an hour, and of those that wait."""
    with server.client() as observer:
        stuck, repeats = ended_requests(observer, "stuck"), ended_requests(observer, "repeat")
        stream = Stream(server, stream_timeout=1 if how == "deadline" else None)
        for _ in range(3):
            stream.send("stuck", inputs([1]))
        stream.send("repeat", repeat_inputs(1000, delay_ms=10_000))
        stream.send("repeat", repeat_inputs(1))
        stream.result()
        if how == "deadline":
            assert stream.error().status() == "StatusCode.DEADLINE_EXCEEDED"
        stream.client.stop_stream(cancel_requests=True)
        stream.client.close()
        eventually(lambda: ended_requests(observer, "stuck") == stuck + 3)
        eventually(lambda: ended_requests(observer, "repeat") == repeats + 2)


def test_asyncio_streams(server):
    async def requests(ids):
        for i in ids:
            yield {"model_name": "fast", "inputs": inputs([i]), "request_id": str(i)}

    async def one(client, start):
        ids = range(start, start + 50)
        seen = []
        async for result, error in client.stream_infer(requests(ids)):
            assert error is None
            seen.append(int(result.get_response().id))
        assert seen == list(ids)

    async def run():
        async with grpcaio.InferenceServerClient(server.address) as client:
            await asyncio.gather(*[one(client, start) for start in range(0, 1000, 100)])

    asyncio.run(run())


def message(model, tensors, request_id=""):
    result = service_pb2.ModelInferRequest(model_name=model, id=request_id)
    for tensor in tensors:
        result.inputs.append(tensor._get_tensor())
        result.raw_input_contents.append(tensor._get_content())
    return result


def test_a_client_that_never_reads_is_stopped_by_flow_control(server):
    """100,000 requests, none of whose answers is read."""
    before = usage(server.pid)["resident_bytes"]
    sent = itertools.count()
    one = message("fast", inputs(np.zeros(4096)))

    def endless():
        for _ in range(100_000):
            next(sent)
            yield one

    with grpc.insecure_channel(server.address) as channel:
        call = service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelStreamInfer(endless())
        last = -1
        while (now := next(sent)) != last + 1:  # until nobody but this loop counts
            last = now
            time.sleep(0.5)
        assert now < 10_000  # of 16 KiB each, and what gRPC buffers
        grown = usage(server.pid)["resident_bytes"] - before
        call.cancel()
    assert grown < 4 * BACKLOG_BYTES + MEMORY_SLACK_BYTES


def test_a_decoupled_model_with_a_slow_reader_is_cancelled(server):
    before = usage(server.pid)["resident_bytes"]
    # Of about 60 bytes each, so that they are more than the backlog and what gRPC and the kernel hold.
    count = 400_000 if SANITIZED else 1_000_000
    with grpc.insecure_channel(server.address) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        with server.client() as observer:
            done, grown = ended_requests(observer, "repeat"), 0
            call = stub.ModelStreamInfer(iter([message("repeat", repeat_inputs(count), "x")]))
            # The model's end tells that it was stopped; nothing is read until then. A sanitizer's server takes minutes.
            deadline = time.monotonic() + 10 * TIMEOUT_S
            while ended_requests(observer, "repeat") == done:
                assert time.monotonic() < deadline, "the model goes on though nobody reads"
                grown = max(grown, usage(server.pid)["resident_bytes"] - before)
                time.sleep(0.05)
        answers = list(call)
    assert len(answers) < count
    assert all(not answer.error_message for answer in answers[:-1])
    assert "[request id: x] the client does not read the responses of model 'repeat'" in answers[-1].error_message
    assert answers[-1].infer_response.parameters["triton_final_response"].bool_param
    # Besides what waits: the request itself, with 8 bytes each, and what the model makes of it.
    assert grown < 8 * (BACKLOG_BYTES + count) + MEMORY_SLACK_BYTES


def test_a_stream_that_is_closed_at_once(server):
    with grpc.insecure_channel(server.address) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        assert list(stub.ModelStreamInfer(iter([]))) == []
        many = [message("fast", inputs([i]), str(i)) for i in range(500)]
        assert [answer.infer_response.id for answer in stub.ModelStreamInfer(iter(many))] == [m.id for m in many]
