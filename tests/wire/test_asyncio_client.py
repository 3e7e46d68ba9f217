"""tritonclient's asyncio client against every gRPC frontend: many calls and streams at once on the one connection it has."""

import asyncio
import functools
import pathlib

import grpc
import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.grpc.aio as grpcaio
from support import models
from support.pki import make_pki, tls_arguments, tls_options, wait_ready
from support.server import SANITIZED, Server
from tritonclient.utils import InferenceServerException

MANIFEST = pathlib.Path(__file__).with_name("grpc_only.toml")
TIMEOUT_S = 60
GIVEN_UP_AFTER_S = 0.3  # by when a request is with its model
STUCK = 'parameters { key: "execute_delay_ms" value { string_value: "3600000" } } instance_group [ { count: 4 } ]'


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    models.write_model(repository, "echo", models.identity_config("echo", "TYPE_INT32"))
    models.write_model(repository, "stuck", models.identity_config("stuck", "TYPE_INT32", extra=STUCK))
    models.write_model(repository, "repeat", models.REPEAT_CONFIG)
    fails = 'parameters { key: "fail_at" value { string_value: "1" } }'
    models.write_model(repository, "fails", models.REPEAT_CONFIG.replace('"repeat"', '"fails"', 1) + fails)
    return repository


@pytest.fixture(scope="module")
def server(repository, grpc_frontend):
    with Server(repository, 'plugin.grpc.response_compression="low"', manifest=MANIFEST, grpc_frontend=grpc_frontend) as running:
        yield running.wait_ready()


def with_client(test):
    """Runs a coroutine with a client of the server, which is asked once more behind it: the connection lives."""
    @functools.wraps(test)
    def run(server):
        async def whole():
            async with grpcaio.InferenceServerClient(server.address) as client:
                await asyncio.wait_for(test(client), TIMEOUT_S)
                await echoed(client, 4)
        asyncio.run(whole())
        assert server.process.poll() is None
    del run.__wrapped__  # or else pytest would ask it which fixtures the test takes
    return run


def inputs(values):
    tensor = grpcclient.InferInput("INPUT0", [len(values)], "INT32")
    tensor.set_data_from_numpy(np.asarray(values, np.int32))
    return [tensor]


def repeat_inputs(count, delay_ms=0):
    tensors = []
    for name, array, datatype in (("IN", np.arange(count, dtype=np.int32), "INT32"),
                                  ("DELAY", np.full(count, delay_ms, np.uint32), "UINT32"),
                                  ("WAIT", np.zeros(1, np.uint32), "UINT32")):
        tensors.append(grpcclient.InferInput(name, list(array.shape), datatype))
        tensors[-1].set_data_from_numpy(array)
    return tensors


async def echoed(client, size, **options):
    """One request of so many values, and the check of its answer."""
    values = np.arange(size, dtype=np.int32) * (size % 1000)
    result = await client.infer("echo", inputs(values), request_id=str(size), **options)
    assert result.get_response().id == str(size)
    np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), values)


async def requests(sizes, model="echo"):
    for size in sizes:
        yield {"model_name": model, "inputs": inputs(np.full(size, size)), "request_id": str(size)}


async def failures(client, model):
    statistics = await client.get_inference_statistics(model)
    return statistics.model_stats[0].inference_stats.fail.count


async def until_failures(client, model, count):
    """The model has let go of that many requests; the time is bounded by the test's."""
    while await failures(client, model) < count:
        await asyncio.sleep(0.02)
    assert await failures(client, model) == count


@with_client
async def test_many_calls_at_once(client):
    await asyncio.gather(*[echoed(client, 1 + 37 * i % 5000) for i in range(500)])


@with_client
async def test_calls_and_streams_at_once(client):
    async def stream(start):
        sizes = range(start, start + 50)
        came = [result async for result, _ in client.stream_infer(requests(sizes))]
        assert [result.as_numpy("OUTPUT0").tolist() for result in came] == [[size] * size for size in sizes]

    await asyncio.gather(*[stream(start) for start in range(1, 401, 50)], *[echoed(client, size) for size in range(200)])


@with_client
async def test_large_tensors_at_once(client):
    # The thread sanitizer takes minutes over each megabyte that gRPC, which it does not know, sends.
    await asyncio.gather(*[echoed(client, ((1 << 12) if SANITIZED else (1 << 20)) + i) for i in range(8)])


@with_client
async def test_what_it_asks_beside_inference(client):
    assert await client.is_server_live() and await client.is_server_ready() and await client.is_model_ready("echo")
    assert not await client.is_model_ready("nobody")
    assert (await client.get_server_metadata()).name == "triton"
    metadata = await client.get_model_metadata("echo", as_json=True)
    assert (metadata["name"], metadata["inputs"][0]["datatype"]) == ("echo", "INT32")
    assert (await client.get_model_config("repeat")).config.model_transaction_policy.decoupled
    index = await client.get_model_repository_index()
    assert sorted((model.name, model.state) for model in index.models) == [(name, "READY") for name in ("echo", "fails", "repeat", "stuck")]
    with pytest.raises(InferenceServerException) as caught:
        await client.load_model("echo")
    assert caught.value.status() == "StatusCode.UNAVAILABLE"


@with_client
async def test_errors(client):
    for call, status, text in (
            (client.infer("nobody", inputs([1])), "NOT_FOUND", "Request for unknown model: 'nobody' is not found"),
            (client.infer("echo", inputs([1]), model_version="7"), "NOT_FOUND", "unknown model: 'echo' version 7 is not found"),
            (client.infer("repeat", repeat_inputs(1)), "UNIMPLEMENTED", "doesn't support models with decoupled transaction policy"),
            (client.infer("echo", repeat_inputs(1), request_id="x"), "INVALID_ARGUMENT", "[request id: x] expected 1 inputs but got 3"),
            (client.get_model_config("nobody"), "NOT_FOUND", "'nobody'")):
        with pytest.raises(InferenceServerException) as caught:
            await call
        assert caught.value.status() == f"StatusCode.{status}" and text in caught.value.message(), caught.value
    with pytest.raises(grpc.RpcError) as caught:
        await client._channel.unary_unary("/inference.GRPCInferenceService/Nothing")(b"")
    assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


@with_client
async def test_calls_that_are_given_up(client):
    """By cancellation, all at once, and by a deadline; others go on, and the model lets go of all of them."""
    before = await failures(client, "stuck")
    calls = [asyncio.ensure_future(client.infer("stuck", inputs([i]))) for i in range(20)]
    late = asyncio.ensure_future(client.infer("stuck", inputs([1]), client_timeout=GIVEN_UP_AFTER_S))
    await asyncio.sleep(GIVEN_UP_AFTER_S)
    await echoed(client, 100)
    for call in calls:
        call.cancel()
    assert all(isinstance(end, asyncio.CancelledError) for end in await asyncio.gather(*calls, return_exceptions=True))
    with pytest.raises(InferenceServerException) as caught:
        await late
    assert caught.value.status() == "StatusCode.DEADLINE_EXCEEDED"
    await until_failures(client, "stuck", before + 21)


@with_client
async def test_a_stream_answers_in_order_and_tells_failures(client):
    async def mixed():
        for number in range(60):
            model = ("echo", "nobody", "repeat")[number % 3]
            yield {"model_name": model, "inputs": inputs([number]), "request_id": str(number)}

    came = [pair async for pair in client.stream_infer(mixed())]
    assert len(came) == 60
    assert [result.as_numpy("OUTPUT0").tolist() for result, error in came if not error] == [[i] for i in range(0, 60, 3)]
    for text in ("unknown model: 'nobody'", "expected 3 inputs but got 1"):
        assert sum(text in str(error) for _, error in came) == 20


@with_client
async def test_a_stream_without_requests(client):
    assert [pair async for pair in client.stream_infer(requests([]))] == []


@with_client
async def test_a_decoupled_stream(client):
    async def one():
        yield {"model_name": "repeat", "inputs": repeat_inputs(2000), "request_id": "r"}

    came = [pair async for pair in client.stream_infer(one())]
    assert [error for _, error in came if error] == []
    assert [result.as_numpy("OUT")[0] for result, _ in came] == list(range(2000))


@with_client
async def test_a_stream_that_answers_before_it_is_asked_more(client):
    """Each request waits for the answer to the one before it."""
    asked = asyncio.Queue()
    asked.put_nowait(1)

    async def next_ones():
        while (size := await asked.get()) is not None:
            yield {"model_name": "echo", "inputs": inputs(np.full(size, size))}

    size = 1
    async for result, error in client.stream_infer(next_ones()):
        assert error is None and result.as_numpy("OUTPUT0").tolist() == [size] * size
        size += 1
        asked.put_nowait(size if size <= 100 else None)
    assert size == 101


@with_client
async def test_streams_that_are_given_up(client):
    """By cancellation, by a deadline, and because what asks fails: the requests of all of them end."""
    before = await failures(client, "stuck")

    async def until_stopped(then=None):
        yield {"model_name": "echo", "inputs": inputs([7])}
        yield {"model_name": "stuck", "inputs": inputs([8])}
        await asyncio.sleep(2 * GIVEN_UP_AFTER_S)
        if then:
            raise then
        await asyncio.sleep(TIMEOUT_S)

    async def first_and_end(stream, cancel=False):
        result, _ = await anext(stream)
        assert result.as_numpy("OUTPUT0").tolist() == [7]
        if cancel:
            await asyncio.sleep(GIVEN_UP_AFTER_S)
            assert stream.cancel()
        return await anext(stream)

    ends = await asyncio.gather(
        first_and_end(client.stream_infer(until_stopped()), cancel=True),
        first_and_end(client.stream_infer(until_stopped(), stream_timeout=4 * GIVEN_UP_AFTER_S)),
        first_and_end(client.stream_infer(until_stopped(RuntimeError("nothing more to ask")))), return_exceptions=True)
    assert isinstance(ends[0], asyncio.CancelledError)
    assert ends[1].code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert isinstance(ends[2], asyncio.CancelledError)
    await until_failures(client, "stuck", before + 3)


@with_client
async def test_a_stream_that_is_to_end_with_a_failure(client):
    before = await failures(client, "stuck")

    async def wrong():
        yield {"model_name": "stuck", "inputs": inputs([1])}  # is cancelled
        yield {"model_name": "fails", "inputs": repeat_inputs(100, delay_ms=1)}
        await asyncio.sleep(TIMEOUT_S)

    stream = client.stream_infer(wrong(), headers={"triton_grpc_error": "true"})
    result, _ = await anext(stream)
    assert result.as_numpy("OUT").tolist() == [0]
    with pytest.raises(grpc.RpcError) as caught:
        await anext(stream)
    assert caught.value.code() == grpc.StatusCode.INTERNAL
    await until_failures(client, "stuck", before + 1)


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_compression(server, algorithm):
    @with_client
    async def run(client):
        await asyncio.gather(*[echoed(client, 1 << i, compression_algorithm=algorithm) for i in range(0, 20, 2)])
        sizes = [1 << i for i in range(0, 18, 2)]
        came = [result async for result, _ in client.stream_infer(requests(sizes), compression_algorithm=algorithm)]
        assert [result.as_numpy("OUTPUT0").tolist() for result in came] == [[size] * size for size in sizes]

    run(server)


def test_tls(repository, grpc_frontend, tmp_path):
    pki = make_pki(tmp_path)

    async def ask(server, arguments):
        async with grpcaio.InferenceServerClient(server.address, **arguments) as client:
            await asyncio.gather(*[echoed(client, size) for size in (1, 100, 100_000)])
            return [result.as_numpy("OUTPUT0")[0] async for result, _ in client.stream_infer(requests([3, 2, 1]))]

    with Server(repository, *tls_options(pki, mutual=True), manifest=MANIFEST, grpc_frontend=grpc_frontend) as server:
        assert asyncio.run(ask(wait_ready(server, pki), tls_arguments(pki, own="client"))) == [3, 2, 1]
        for stranger in (tls_arguments(pki), tls_arguments(pki, own="stranger"), tls_arguments(pki, root="other_ca", own="client")):
            with pytest.raises(InferenceServerException) as caught:
                asyncio.run(ask(server, stranger))
            assert caught.value.status() == "StatusCode.UNAVAILABLE"
