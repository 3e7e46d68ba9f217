"""What hostile or careless gRPC clients send: it is refused as documented, and nobody else is harmed."""

import contextlib
import pathlib
import random
import threading

import grpc
import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.http2 import varint
from support.server import Server
from support.waiting import eventually
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException

MIB = 1 << 20
TIMEOUT_S = 60
MANIFEST = pathlib.Path(__file__).with_name("grpc_only.toml")
INFER = "/inference.GRPCInferenceService/ModelInfer"
STREAM = "/inference.GRPCInferenceService/ModelStreamInfer"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    models.write_model(repository, "any", models.identity_config("any"))
    # Its answers do not wait for those of the requests before it.
    early = "model_transaction_policy { decoupled: true }"
    models.write_model(repository, "early", models.identity_config("early", extra=early))
    for name, ms in (("slow", 3000), ("stuck", 3_600_000)):
        extra = f'parameters {{ key: "execute_delay_ms" value {{ string_value: "{ms}" }} }}'
        models.write_model(repository, name, models.identity_config(name, extra=extra))
    return repository


@pytest.fixture(scope="module")
def serve(repository, grpc_frontend):
    def start(*settings):
        return Server(repository, *settings, manifest=MANIFEST, grpc_frontend=grpc_frontend)
    return start


@pytest.fixture(scope="module")
def shared_server(serve):
    with serve('plugin.grpc.max_message_bytes="1MiB"',
               'plugin.grpc.header_forward_pattern="x-|priority"') as running:
        yield running.wait_ready()


@pytest.fixture
def server(shared_server):
    """After every case the same process serves another client right."""
    yield shared_server
    with shared_server.client() as client:
        assert infer(client).tolist() == [0, 1, 2, 3]
        assert client.is_server_ready()
    assert shared_server.process.poll() is None


def inputs():
    array = np.arange(4, dtype=np.float32)
    tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
    tensor.set_data_from_numpy(array)
    return [tensor]


def infer(client, model="any", **options):
    return client.infer(model, inputs(), **options).as_numpy("OUTPUT0")


def message(model="any", data=np.arange(4, dtype=np.float32).tobytes()):
    request = service_pb2.ModelInferRequest(model_name=model, raw_input_contents=[data])
    request.inputs.add(name="INPUT0", datatype="FP32", shape=[len(data) // 4])
    return request


def code_of(call):
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value.code().name, caught.value.details()


# --- messages ---

def test_random_bytes_as_messages(server):
    generator = random.Random(4)
    nested = b""
    for _ in range(100):
        nested = b"\x7a" + varint(len(nested)) + nested
    bodies = [generator.randbytes(generator.randrange(1, 2000)) for _ in range(300)] + [nested, b"\xff" * 11]
    with grpc.insecure_channel(server.address) as channel:
        unary = channel.unary_unary(INFER)
        stream = channel.stream_stream(STREAM)
        for body in bodies:
            code, _ = code_of(lambda: unary(body, timeout=TIMEOUT_S))
            assert code in ("INVALID_ARGUMENT", "NOT_FOUND")
        answers = list(stream(iter(bodies), timeout=TIMEOUT_S))
        assert len(answers) == len(bodies)
        assert all(service_pb2.ModelStreamInferResponse.FromString(answer).error_message for answer in answers)
        for method in ("ModelReady", "RepositoryIndex", "TraceSetting", "SystemSharedMemoryRegister"):
            call = channel.unary_unary(f"/inference.GRPCInferenceService/{method}")
            code, _ = code_of(lambda: call(b"\xff\xff\xff", timeout=TIMEOUT_S))
            assert code == "INTERNAL"


@pytest.mark.parametrize("size,fits", [(MIB - 1, True), (MIB, True), (MIB + 1, False), (8 * MIB, False)])
def test_messages_over_the_limit(server, size, fits):
    request = message(data=bytes(size))
    while request.ByteSize() > size:
        request.raw_input_contents[0] = request.raw_input_contents[0][:size - request.ByteSize()]
    assert request.ByteSize() == size
    with grpc.insecure_channel(server.address) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        code, _ = code_of(lambda: stub.ModelInfer(request))  # its shape does not fit, if it is read at all
        assert code == ("INVALID_ARGUMENT" if fits else "RESOURCE_EXHAUSTED")
        if fits:
            assert len(list(stub.ModelStreamInfer(iter([request])))) == 1
        else:
            assert code_of(lambda: list(stub.ModelStreamInfer(iter([request]))))[0] == "RESOURCE_EXHAUSTED"


def test_compressed_messages_within_and_beyond_the_limit(server):
    with grpc.insecure_channel(server.address, compression=grpc.Compression.Gzip) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        data = np.arange(100_000, dtype=np.float32).tobytes()
        assert stub.ModelInfer(message(data=data)).raw_output_contents[0] == data
        too_much = message(data=bytes(64 * MIB))
        assert code_of(lambda: stub.ModelInfer(too_much))[0] == "RESOURCE_EXHAUSTED"
        assert code_of(lambda: list(stub.ModelStreamInfer(iter([too_much]))))[0] == "RESOURCE_EXHAUSTED"


# --- deadlines and cancels ---

def ended_requests(client, model):
    stats = client.get_inference_statistics(model).model_stats[0].inference_stats
    return stats.success.count + stats.fail.count


@pytest.mark.parametrize("how", ["deadline", "cancel"])
def test_requests_that_nobody_waits_for_any_more(server, how):
    """One runs, for an hour; three wait in the queue. Each ends once."""
    with server.client() as observer, grpc.insecure_channel(server.address) as channel:
        before = ended_requests(observer, "stuck")
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        timeout = 1 if how == "deadline" else None
        calls = [stub.ModelInfer.future(message("stuck"), timeout=timeout) for _ in range(4)]
        if how == "cancel":
            # Behind them on the same connection: they have arrived when this is answered.
            stub.ServerLive(service_pb2.ServerLiveRequest())
            for call in calls:
                call.cancel()
        for call in calls:
            with pytest.raises((grpc.RpcError, grpc.FutureCancelledError)):
                call.result()
            assert call.code().name == ("DEADLINE_EXCEEDED" if how == "deadline" else "CANCELLED")
        eventually(lambda: ended_requests(observer, "stuck") == before + 4)


def test_metadata_over_the_limit(server):
    # The server may close the offender's connection, so no other client may share it.
    own = [("grpc.use_local_subchannel_pool", 1)]
    with grpcclient.InferenceServerClient(server.address, channel_args=own) as client:
        infer(client, headers={"x": "v" * 60_000})
        with pytest.raises(InferenceServerException) as caught:
            infer(client, headers={"x": "v" * 70_000})
        assert caught.value.status() == "StatusCode.RESOURCE_EXHAUSTED"


def test_forwarded_metadata(server):
    with server.client() as client:
        infer(client, headers={"x-tenant": "a", "other": "b"})
        with pytest.raises(InferenceServerException) as caught:
            infer(client, headers={"priority": "1"})
        assert caught.value.status() == "StatusCode.INVALID_ARGUMENT"
        assert caught.value.message() == "Header 'priority' is reserved for Triton usage and cannot be forwarded."


def test_unknown_methods_and_services(server):
    with grpc.insecure_channel(server.address) as channel:
        for path in ("/inference.GRPCInferenceService/NoSuchMethod", "/no.such.Service/Method",
                     "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"):
            assert code_of(lambda: channel.unary_unary(path)(b"", timeout=TIMEOUT_S)) == ("UNIMPLEMENTED", "")


# --- access ---

def test_restricted_protocols(serve):
    with serve('plugin.keys.use="security/keys"',
               'plugin.keys.restricted_protocols=["inference,statistics:key=secret", "model-repository:admin=root"]'
               ) as server:
        server.wait_ready("any")
        expected = "This protocol is restricted, expecting header 'triton-grpc-protocol-key'"
        right = {"triton-grpc-protocol-key": "secret"}
        with server.client() as client:
            assert infer(client, headers=right).tolist() == [0, 1, 2, 3]
            client.get_inference_statistics(headers=right)
            client.get_model_metadata("any")  # free
            for headers in (None, {"triton-grpc-protocol-key": "wrong"}, {"triton-grpc-protocol-admin": "root"}):
                for call in (lambda: infer(client, headers=headers),
                             lambda: client.get_inference_statistics(headers=headers)):
                    with pytest.raises(InferenceServerException) as caught:
                        call()
                    assert caught.value.status() == "StatusCode.UNAVAILABLE"
                    assert caught.value.message() == expected
            with pytest.raises(InferenceServerException) as caught:
                client.get_model_repository_index()
            assert caught.value.message() == "This protocol is restricted, expecting header 'triton-grpc-protocol-admin'"
            answers = []
            done = threading.Event()
            client.start_stream(lambda result, error: (answers.append((result, error)), done.set()))
            with contextlib.suppress(InferenceServerException):  # it may have ended already
                client.async_stream_infer("any", inputs())
            assert done.wait(TIMEOUT_S)
            client.stop_stream()
            assert expected in str(answers[0][1])
        assert "secret" not in server.log


# --- the end of the server ---

def test_shutdown_with_streams_open(serve):
    with serve() as server:
        server.wait_ready()
        go_on = threading.Event()
        more = threading.Event()

        def requests():
            yield message("slow")
            yield message("any")
            yield message("early")
            go_on.wait(TIMEOUT_S)
            yield message("any")
            more.wait(TIMEOUT_S)

        with grpc.insecure_channel(server.address) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            idle = stub.ModelStreamInfer(iter_until(more))
            call = stub.ModelStreamInfer(requests())
            assert next(call).infer_response.model_name == "early"  # so those before it have come
            server.process.terminate()
            eventually(lambda: not is_live(stub))
            text = "GRPC server is shutting down and has stopped accepting new requests."

            # The server is not live before its parts are told that it ends: until the frontend is, a request may still be
            # answered, or be refused by the models in their own words.
            def is_refused_at_the_door():
                try:
                    stub.ModelInfer(message())
                except grpc.RpcError as error:
                    assert error.code() == grpc.StatusCode.UNAVAILABLE
                    return error.details() == text
                return False

            eventually(is_refused_at_the_door)
            go_on.set()
            first, second, third = next(call), next(call), next(call)
            assert not first.error_message and not second.error_message
            assert third.error_message == text
            for stream in (call, idle):
                code, details = code_of(lambda: next(stream))
                assert (code, details) == ("UNAVAILABLE", text)
            more.set()
        assert server.process.wait(TIMEOUT_S) == 0


def iter_until(event):
    event.wait(TIMEOUT_S)
    yield from ()


def is_live(stub):
    try:
        return stub.ServerLive(service_pb2.ServerLiveRequest()).live
    except grpc.RpcError as error:
        assert error.code().name == "UNAVAILABLE"
        return False
