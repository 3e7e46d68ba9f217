"""Every datatype and shape kind, over every protocol, with tensors in the message and in shared memory: of the server, and of
Triton's own server program over libtritonserver.so. That program's endpoints differ in two ways, over Triton's library as well:
they refuse a region for an input of no bytes, and what they read as FP64 from JSON may be the number next to the one written."""

import contextlib
import itertools
import os
import queue

import ml_dtypes
import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
import tritonclient.utils.shared_memory as shm
from support import models
from support.triton_program import SERVERS, TritonProgram, start
from support.waiting import eventually
from tritonclient.utils import InferenceServerException, serialize_bf16_tensor, serialize_byte_tensor

# Kind of shape: dims of the configuration, largest batch, shape sent.
SHAPES = {
    "fixed": ((2, 3), 0, (2, 3)),
    "variable": ((-1, 2), 0, (5, 2)),
    "empty": ((-1,), 0, (0,)),
    "batched": ((4,), 8, (3, 4)),
    "batched_variable": ((-1,), 8, (2, 7)),
}
REGION_BYTES = 4096
TRANSPORTS = ["grpc", "grpc_stream", "http_binary", "http_json"]
PLACES = ["message", "shared_memory"]


@pytest.fixture(scope="module", params=SERVERS)
def server(request, tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    for (triton, config_type, _, _), (kind, (dims, batch, _)) in itertools.product(models.TYPES, SHAPES.items()):
        name = f"{kind}_{triton}"
        models.write_model(repository, name, models.identity_config(name, config_type, dims, max_batch_size=batch))
    with start(request.param, repository, "plugin.shared.allow_client_shm=true") as running:
        yield running.wait_ready()


def unregistered(client, name):
    """Triton's program holds a region until its request is released, which may come after the answer, and refuses till then."""
    try:
        client.unregister_system_shared_memory(name)
    except InferenceServerException as failure:
        assert "it is currently in use" in str(failure)
        return False
    return True


@contextlib.contextmanager
def region(client, name):
    key = f"/atoll_matrix_{os.getpid()}_{name}"
    handle = shm.create_shared_memory_region(name, key, REGION_BYTES)
    try:
        client.register_system_shared_memory(name, key, REGION_BYTES)
        yield handle
    finally:
        eventually(lambda: unregistered(client, name))
        shm.destroy_shared_memory_region(handle)


class Grpc:
    module = grpcclient

    def __init__(self, server, streams):
        self.client, self.answers = server.client(), queue.Queue()
        self.streams = streams
        if streams:
            self.client.start_stream(lambda result, error: self.answers.put((result, error)))

    def fill(self, tensor, array):
        tensor.set_data_from_numpy(array)

    def output(self):
        return grpcclient.InferRequestedOutput("OUTPUT0")

    def infer(self, model, tensor, output):
        if not self.streams:
            return self.client.infer(model, [tensor], outputs=[output])
        self.client.async_stream_infer(model, [tensor], outputs=[output])
        result, error = self.answers.get(timeout=60)
        if error is not None:
            raise error
        return result

    def datatype_and_shape(self, result):
        output = result.get_output("OUTPUT0")
        return output.datatype, tuple(output.shape)


class Http:
    module = httpclient

    def __init__(self, server, binary):
        self.client, self.binary = server.http_client(), binary

    def fill(self, tensor, array):
        tensor.set_data_from_numpy(array, binary_data=self.binary)

    def output(self):
        return httpclient.InferRequestedOutput("OUTPUT0", binary_data=self.binary)

    def infer(self, model, tensor, output):
        return self.client.infer(model, [tensor], outputs=[output])

    def datatype_and_shape(self, result):
        output = result.get_output("OUTPUT0")
        return output["datatype"], tuple(output["shape"])


def open_client(server, transport):
    if transport.startswith("grpc"):
        return Grpc(server, transport == "grpc_stream")
    return Http(server, transport == "http_binary")


def sample(triton, numpy_type, shape, only_text):
    if triton == "BYTES" and only_text:
        texts = ["", "plain", "\0 and \n", "Ä€𝄞", '"quoted" \\'] * 10
        return np.array([text.encode() for text in texts[:int(np.prod(shape))]], np.object_).reshape(shape)
    if triton == "BF16":
        return models.sample(np.float32, shape).astype(ml_dtypes.bfloat16).astype(np.float32)
    return models.sample(numpy_type, shape)


def to_bytes(triton, array):
    """The tensor as it lies in the protocol."""
    if triton == "BYTES":
        return serialize_byte_tensor(array).item() if array.size else b""
    return serialize_bf16_tensor(array).item() if triton == "BF16" and array.size else array.tobytes()


def same(triton, got, array, last_bit_counts=True):
    if triton == "BYTES":
        return [bytes(x) if isinstance(x, bytes) else x.encode() for x in np.ravel(got)] == [
            x if isinstance(x, bytes) else str(x).encode() for x in np.ravel(array)]
    if not last_bit_counts:
        return np.all(np.abs(got.view(np.int64) - array.view(np.int64)) <= 1)
    return got.tobytes() == array.tobytes()


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("output_in", PLACES)
@pytest.mark.parametrize("input_in", PLACES)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_datatype(server, transport, input_in, output_in, kind):
    of_triton = isinstance(server, TritonProgram)
    side = open_client(server, transport)
    shape = SHAPES[kind][2]
    with side.client as client, region(client, "in") as given, region(client, "out") as taken:
        for triton, _, _, numpy_type in models.TYPES:
            if transport == "http_json" and triton in ("FP16", "BF16") and "message" in (input_in, output_in):
                continue  # JSON has no form for these; their refusal is tested with the HTTP frontend
            array = sample(triton, numpy_type, shape, transport == "http_json")
            data = to_bytes(triton, array)
            tensor = side.module.InferInput("INPUT0", list(shape), triton)
            if input_in == "message":
                side.fill(tensor, array)
            else:
                shm.set_shared_memory_region(given, [np.frombuffer(data, np.uint8)] if data else [])
                tensor.set_shared_memory("in", len(data))
            output = side.output()
            if output_in == "shared_memory":
                shm.set_shared_memory_region(taken, [np.full(REGION_BYTES, 0xEE, np.uint8)])
                output.set_shared_memory("out", REGION_BYTES)
            if of_triton and input_in == "shared_memory" and not data:
                with pytest.raises(InferenceServerException, match="Invalid offset . byte size for shared memory region: 'in'"):
                    side.infer(f"{kind}_{triton}", tensor, output)
                continue
            result = side.infer(f"{kind}_{triton}", tensor, output)
            assert side.datatype_and_shape(result) == (triton, shape), triton
            exact = not (of_triton and triton == "FP64" and transport == "http_json" and input_in == "message")
            if output_in == "message":
                assert same(triton, result.as_numpy("OUTPUT0"), array, exact), triton
            else:
                content = shm.get_contents_as_numpy(taken, np.uint8, [REGION_BYTES]).tobytes()
                assert content[:len(data)] == data or (not exact and same(
                    triton, np.frombuffer(content[:len(data)]).reshape(shape), array, exact)), triton
                assert content[len(data):] == b"\xee" * (REGION_BYTES - len(data)), triton
