"""Every datatype and shape kind through Python models, over every protocol: what comes back has the bytes that went in, however the
model makes its outputs. One request has a tensor of each type."""

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
from support import models, python_models
from support.server import Server
from tritonclient.utils import serialize_bf16_tensor, serialize_byte_tensor

TYPES = {triton: (config_type, numpy_type) for triton, config_type, _, numpy_type in models.TYPES}
# Kind of shape: model, shape sent.
SHAPES = {
    "one": ("unbatched", (1, 1)),
    "odd": ("unbatched", (3, 5)),
    "no_rows": ("unbatched", (0, 4)),
    "no_columns": ("unbatched", (4, 0)),
    "tall": ("unbatched", (300, 70)),
    "scalars": ("scalars", (5, 1)),  # each row is one in the model
    "fixed": ("fixed", (2, 3)),
    "batch_of_one": ("batched", (1, 6)),
    "full_batch": ("batched", (8, 3)),
    "batch_of_nothing": ("batched", (2, 0)),
}
TRANSPORTS = ["http_json", "http_binary", "http_shared", "grpc", "grpc_stream", "grpc_shared"]
WAYS = ["view", "copy", "empty", "dlpack"]
NOT_IN_JSON = ("FP16", "BF16")
REGION_BYTES = 4 << 20

ECHO = """\
def outputs(self, request):
    how = json.loads(request.parameters())["how"]
    for tensor in request.inputs():
        name = "OUT" + tensor.name()[2:]
        if tensor.name() == "IN_BF16" or how == "dlpack" and tensor.name() != "IN_BYTES":
            yield pb_utils.Tensor.from_dlpack(name, tensor)
        elif how == "empty" and tensor.name() != "IN_BYTES":
            made = pb_utils.empty(name, tensor.shape(), tensor.as_numpy().dtype)
            made.as_numpy()[...] = tensor.as_numpy()
            yield made
        else:
            yield pb_utils.Tensor(name, tensor.as_numpy() if how == "view" else tensor.as_numpy().copy())
"""
ANSWER = ECHO + """\
def execute(self, requests):
    return [pb_utils.InferenceResponse(list(self.outputs(request))) for request in requests]
"""
STREAM = ECHO + """\
def execute(self, requests):
    for request in requests:
        sender = request.get_response_sender()
        for _ in range(2):
            sender.send(pb_utils.InferenceResponse(list(self.outputs(request))))
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""


def write(repository, name, body, dims, tensor_extra="", extra=""):
    config = f'name: "{name}" backend: "python" {extra}\n'
    for triton, (config_type, _) in TYPES.items():
        config += models.tensor_config("input", f"IN_{triton}", config_type, dims, "optional: true " + tensor_extra)
        config += models.tensor_config("output", f"OUT_{triton}", config_type, dims, tensor_extra)
    python_models.write(repository, name, body, config=config)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    write(repository, "unbatched", ANSWER, (-1, -1))
    write(repository, "fixed", ANSWER, (2, 3))
    write(repository, "scalars", ANSWER, (1,), "reshape { shape: [ ] }", "max_batch_size: 8")
    write(repository, "batched", ANSWER, (-1,), extra="max_batch_size: 8 dynamic_batching { }")
    write(repository, "decoupled", STREAM, (-1, -1), extra="model_transaction_policy { decoupled: true }")
    with Server(repository, python_models.INTERPRETER, "plugin.shared.allow_client_shm=true") as running:
        for model in ("unbatched", "fixed", "scalars", "batched", "decoupled"):
            running.wait_ready(model)
        yield running


def sample(triton, shape, in_json):
    if triton == "BYTES" and in_json:
        texts = ["", "plain", "\0 and \n", "Ä€𝄞", '"quoted" \\']
        count = int(np.prod(shape))
        return np.array([texts[i % len(texts)].encode() for i in range(count)], np.object_).reshape(shape)
    if triton == "BF16":
        return models.sample(np.float32, shape).astype(ml_dtypes.bfloat16).astype(np.float32)
    return models.sample(TYPES[triton][1], shape)


def arrays_for(transport, shape):
    return {triton: sample(triton, shape, transport == "http_json") for triton in TYPES
            if transport != "http_json" or triton not in NOT_IN_JSON}


def to_bytes(triton, array):
    """The tensor as it lies in the protocol."""
    if array.size == 0:
        return b""
    if triton == "BYTES":
        texts = np.array([x if isinstance(x, bytes) else str(x).encode() for x in array.ravel()], np.object_)
        return serialize_byte_tensor(texts).item()
    return serialize_bf16_tensor(array).item() if triton == "BF16" else np.ascontiguousarray(array).tobytes()


class Caller:
    """Asks over one transport. Use as a context manager."""

    def __init__(self, server, transport):
        self._module = grpcclient if transport.startswith("grpc") else httpclient
        self._client = server.client() if self._module is grpcclient else server.http_client()
        self._streams, self._shares = transport == "grpc_stream", transport.endswith("shared")
        self._binary = {} if self._module is grpcclient else {"binary_data": transport != "http_json"}
        self._answers = queue.Queue()

    def __enter__(self):
        self._exit = contextlib.ExitStack()
        self._exit.callback(self._client.close)
        if self._streams:
            self._client.start_stream(lambda result, error: self._answers.put((result, error)))
        if self._shares:
            self._given, self._taken = self._region("given"), self._region("taken")
        return self

    def __exit__(self, *_):
        self._exit.close()

    def _region(self, name):
        key = f"/atoll_python_{os.getpid()}_{name}"
        handle = shm.create_shared_memory_region(name, key, REGION_BYTES)
        self._exit.callback(shm.destroy_shared_memory_region, handle)
        self._client.register_system_shared_memory(name, key, REGION_BYTES)
        self._exit.callback(self._client.unregister_system_shared_memory, name)
        return handle

    def ask(self, model, arrays, how, responses=1):
        """[{type: (shape, bytes)}], one a response"""
        inputs, outputs, places = [], [], {}
        offset = 0
        for triton, array in arrays.items():
            tensor = self._module.InferInput(f"IN_{triton}", list(array.shape), triton)
            output = self._module.InferRequestedOutput(f"OUT_{triton}", **self._binary)
            if self._shares:
                data = to_bytes(triton, array)
                if data:
                    shm.set_shared_memory_region(self._given, [np.frombuffer(data, np.uint8)], offset)
                    shm.set_shared_memory_region(self._taken, [np.full(len(data), 0xEE, np.uint8)], offset)
                tensor.set_shared_memory("given", len(data), offset)
                output.set_shared_memory("taken", len(data), offset)
                places[triton] = (offset, len(data))
                offset += (len(data) + 63) // 64 * 64
            else:
                tensor.set_data_from_numpy(array, **self._binary)
            inputs.append(tensor)
            outputs.append(output)
        more = {"outputs": outputs, "parameters": {"how": how}}
        if not self._streams:
            return [self._read(self._client.infer(model, inputs, **more), arrays, places)]
        self._client.async_stream_infer(model, inputs, enable_empty_final_response=True, **more)
        found = []
        while True:
            result, error = self._answers.get(timeout=60)
            if error is not None:
                raise error
            if result.get_response().outputs:
                found.append(self._read(result, arrays, places))
            if result.get_response().parameters["triton_final_response"].bool_param:
                assert len(found) == responses
                return found

    def _read(self, result, arrays, places):
        content = shm.get_contents_as_numpy(self._taken, np.uint8, [REGION_BYTES]) if places else None
        tensors = {}
        for triton in arrays:
            output = result.get_output(f"OUT_{triton}")
            datatype, shape = (output.datatype, output.shape) if self._module is grpcclient else (output["datatype"], output["shape"])
            assert datatype == triton
            if places:
                offset, size = places[triton]
                data = content[offset:offset + size].tobytes()
            else:
                data = to_bytes(triton, result.as_numpy(f"OUT_{triton}"))
            tensors[triton] = (tuple(shape), data)
        return tensors


def check(caller, model, arrays, how="view", responses=1):
    expected = {triton: (array.shape, to_bytes(triton, array)) for triton, array in arrays.items()}
    for found in caller.ask(model, arrays, how, responses):
        assert found.keys() == expected.keys()
        for triton, tensor in found.items():
            assert tensor == expected[triton], (model, how, triton)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_type_and_shape_comes_back(server, transport):
    with Caller(server, transport) as caller:
        for (model, shape), how in itertools.product(SHAPES.values(), WAYS):
            check(caller, model, arrays_for(transport, shape), how)


@pytest.mark.parametrize("how", WAYS)
def test_every_type_and_shape_is_streamed(server, how):
    with Caller(server, "grpc_stream") as caller:
        for model, shape in SHAPES.values():
            if model == "unbatched":
                check(caller, "decoupled", arrays_for("grpc_stream", shape), how, responses=2)


@pytest.mark.parametrize("transport", ["http_binary", "grpc", "grpc_stream"])
def test_large_tensors_come_back(server, transport):
    with Caller(server, transport) as caller:
        for triton, (_, numpy_type) in TYPES.items():
            if triton in ("BYTES", "BF16"):
                continue
            for how in ("view", "empty"):
                check(caller, "unbatched", {triton: models.sample(numpy_type, (1200, 1000))}, how)


@pytest.mark.parametrize("transport", ["http_binary", "grpc", "grpc_stream", "http_json"])
def test_texts_of_every_size_come_back(server, transport):
    texts = [b"", "Ä€𝄞".encode(), b"x" * (16 << 20), b"\0", b"y" * 65536, b""]
    if transport != "http_json":
        texts += [b"\xff\xfe\x00", bytes(range(256))]
    array = np.array(texts, np.object_).reshape(2, -1)
    with Caller(server, transport) as caller:
        check(caller, "unbatched", {"BYTES": array})
        check(caller, "unbatched", {"BYTES": array}, "copy")
        check(caller, "unbatched", {"BYTES": np.full((200, 50), b"", np.object_)})


@pytest.mark.parametrize("bits", [0x7FC12345, 0x7F812345, 0xFFFFFFFF, 0x80000000, 0x00000001])
def test_floats_keep_their_bits(server, bits):
    """NaNs with a payload, quiet and signalling, minus zero and the smallest number."""
    array = np.full((1, 3), bits, np.uint32).view(np.float32)
    for transport in ("grpc", "http_binary"):
        with Caller(server, transport) as caller:
            for how in WAYS:
                check(caller, "unbatched", {"FP32": array}, how)
