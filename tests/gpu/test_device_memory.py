"""Memory of GPUs from client to backend and back, with a plugin whose GPUs are none (device_plugin.cc): CUDA shared
memory over both protocols, instances of KIND_GPU, and outputs that are ready only later."""

import base64
import contextlib
import itertools
import os
import pathlib

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support import models
from support.server import BUILD, Server
from tritonclient.utils import InferenceServerException, serialize_byte_tensor

PLUGINS = [BUILD / "lib" / "atoll" / "plugins", BUILD / "tests" / "wire" / "plugins"]
LIMIT_BYTES = 1 << 20
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    models.write_model(folder, "fp32", models.identity_config("fp32"))
    models.write_model(folder, "text", models.identity_config("text", "TYPE_STRING"))
    models.write_model(folder, "batched", models.identity_config("batched", max_batch_size=8,
                                                                 extra="dynamic_batching { }"))
    models.write_model(folder, "add", 'backend: "onnxruntime"', files={"model.onnx": models.onnx_add(1)})
    on_device = models.identity_config("on_device").replace("identity", "device")
    models.write_model(folder, "on_device", on_device + models.tensor_config("output", "DEVICE", "TYPE_INT32", [1])
                       + "instance_group [ { count: 1 kind: KIND_GPU gpus: [ 1 ] } ]")
    models.write_model(folder, "everywhere", models.identity_config("everywhere").replace("identity", "device"))
    models.write_model(folder, "nowhere", models.identity_config("nowhere").replace("identity", "device")
                       + "instance_group [ { kind: KIND_GPU gpus: [ 2 ] } ]")
    return folder


def serve(repository, *settings):
    paths = ", ".join(f'"{path}"' for path in PLUGINS)
    return Server(repository, f"atoll.plugin_path=[{paths}]", 'plugin.shared.use="memory/shared"',
                  "plugin.shared.allow_client_shm=true", "plugin.models.strict_readiness=false", *settings)


@pytest.fixture(scope="module")
def server(repository):
    with serve(repository, 'plugin.device.use="fixtures/device"', f'plugin.device.limit="{LIMIT_BYTES}"') as running:
        yield running.wait_ready()


@pytest.fixture(params=[grpcclient, httpclient], ids=["grpc", "http"])
def protocol(request):
    return request.param


@pytest.fixture()
def client(server, protocol):
    with (server.client() if protocol is grpcclient else server.http_client()) as client:
        yield client
        client.unregister_cuda_shared_memory()


class Allocation:
    """A client's memory on a device: its bytes, and the handle that another process opens it by."""

    def __init__(self, byte_size):
        name = f"/atoll-fake-device-wire-{os.getpid()}-{next(NUMBERS)}"
        self.path = pathlib.Path(f"/dev/shm{name}")
        self.path.write_bytes(bytes(byte_size))
        self.handle = base64.b64encode(name.encode().ljust(64, b"\0"))

    def write(self, content, offset=0):
        with self.path.open("r+b") as file:
            file.seek(offset)
            file.write(content)

    def read(self, byte_size, offset=0):
        return self.path.read_bytes()[offset:offset + byte_size]


@contextlib.contextmanager
def allocation(byte_size):
    made = Allocation(byte_size)
    try:
        yield made
    finally:
        made.path.unlink()


def shared_input(protocol, region, shape, datatype, byte_size, offset=0):
    tensor = protocol.InferInput("INPUT0", list(shape), datatype)
    tensor.set_shared_memory(region, byte_size, offset)
    return [tensor]


def sent_input(protocol, array):
    tensor = protocol.InferInput("INPUT0", list(array.shape), "FP32")
    tensor.set_data_from_numpy(array)
    return [tensor]


def shared_output(protocol, region, byte_size, offset=0):
    tensor = protocol.InferRequestedOutput("OUTPUT0")
    tensor.set_shared_memory(region, byte_size, offset)
    return [tensor]


def refused(status, text, call, *arguments, **named):
    """status: of gRPC, and of HTTP"""
    with pytest.raises(InferenceServerException) as caught:
        call(*arguments, **named)
    assert caught.value.status() in status
    assert caught.value.message() == text


INVALID = ("StatusCode.INVALID_ARGUMENT", "400")
NOT_FOUND = ("StatusCode.NOT_FOUND", "404")
EXHAUSTED = ("StatusCode.RESOURCE_EXHAUSTED", "503", "429", "500")


@pytest.mark.parametrize("model, added", [("fp32", 0), ("add", 1), ("on_device", 0)])
@pytest.mark.parametrize("offset", [0, 4, 1])
def test_tensors_in_and_out(client, protocol, model, added, offset):
    array = models.sample(np.float32, (4,))
    size = array.nbytes
    with allocation(2 * size + offset) as memory:
        memory.write(array.tobytes(), offset)
        client.register_cuda_shared_memory("c", memory.handle, 1, 2 * size + offset)
        inputs = shared_input(protocol, "c", (4,), "FP32", size, offset)
        result = client.infer(model, inputs, outputs=shared_output(protocol, "c", size, offset + size))
        assert memory.read(size, offset + size) == (array + np.float32(added)).tobytes()
        if protocol is grpcclient:
            assert list(result.get_response().raw_output_contents) == [b""]
        sent = client.infer(model, inputs, outputs=[protocol.InferRequestedOutput("OUTPUT0")]).as_numpy("OUTPUT0")
        np.testing.assert_array_equal(sent, array + np.float32(added))
        memory.write(bytes(2 * size + offset))
        client.infer(model, sent_input(protocol, array), outputs=shared_output(protocol, "c", size, offset))
        assert memory.read(size, offset) == (array + np.float32(added)).tobytes()


def test_requests_of_a_batch(client, protocol):
    """What is on the device and what is sent go into one batch."""
    array = models.sample(np.float32, (2, 100))
    with allocation(array.nbytes) as memory:
        memory.write(array.tobytes())
        client.register_cuda_shared_memory("c", memory.handle, 0, array.nbytes)
        for _ in range(20):
            result = client.infer("batched", shared_input(protocol, "c", array.shape, "FP32", array.nbytes))
            np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), array)
            sent = client.infer("batched", sent_input(protocol, array)).as_numpy("OUTPUT0")
            np.testing.assert_array_equal(sent, array)


def test_texts_in_and_out(client, protocol):
    texts = np.array([b"one", b"", b"three" * 20_000], dtype=np.object_)
    raw = serialize_byte_tensor(texts).item()
    size = len(raw)
    with allocation(2 * size) as memory:
        memory.write(raw)
        client.register_cuda_shared_memory("c", memory.handle, 0, 2 * size)
        inputs = shared_input(protocol, "c", (3,), "BYTES", size)
        client.infer("text", inputs, outputs=shared_output(protocol, "c", size, size))
        assert memory.read(size, size) == raw
        refused(INVALID, "expected 4 string elements for inference input 'INPUT0' for model 'text', got 3",
                lambda: unprefixed(client.infer, "text", shared_input(protocol, "c", (4,), "BYTES", size)))


def unprefixed(call, *arguments):
    """Without the request's id in front of the text."""
    try:
        call(*arguments)
    except InferenceServerException as error:
        raise InferenceServerException(error.message().split("] ", 1)[-1], error.status()) from None


@pytest.mark.parametrize("model", ["fp32", "on_device"])
def test_input_and_output_may_overlap(client, protocol, model):
    array = np.arange(1000, dtype=np.float32)
    for offset in (0, 4, 400):
        with allocation(2 * array.nbytes) as memory:
            memory.write(array.tobytes())
            client.register_cuda_shared_memory("c", memory.handle, 0, 2 * array.nbytes)
            client.infer(model, shared_input(protocol, "c", (1000,), "FP32", array.nbytes),
                         outputs=shared_output(protocol, "c", array.nbytes, offset))
            assert memory.read(array.nbytes, offset) == array.tobytes()
            client.unregister_cuda_shared_memory("c")


def test_instances_are_on_the_devices_of_their_group(client, protocol):
    array = models.sample(np.float32, (1000,))
    outputs = [protocol.InferRequestedOutput("OUTPUT0"), protocol.InferRequestedOutput("DEVICE")]
    result = client.infer("on_device", sent_input(protocol, array), outputs=outputs)
    np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), array)
    assert list(result.as_numpy("DEVICE")) == [1]


def test_groups_see_the_devices_that_there_are(client, protocol):
    config = client.get_model_config("everywhere")
    groups = config.config.instance_group if protocol is grpcclient else config["instance_group"]
    gpus = [list(group.gpus) if protocol is grpcclient else group["gpus"] for group in groups]
    assert gpus == [[0, 1]]
    assert not client.is_model_ready("nowhere")
    index = client.get_model_repository_index()
    reasons = ({model.name: model.reason for model in index.models} if protocol is grpcclient
               else {model["name"]: model.get("reason") for model in index})
    assert "instance group nowhere_0 of model nowhere specifies invalid or unsupported gpu id 2. " in reasons["nowhere"]
    assert reasons["nowhere"].endswith("are: 0, 1")


def test_classification_of_what_is_ready_later(client, protocol):
    array = np.array([3, 9, 1, 5], np.float32)
    outputs = [protocol.InferRequestedOutput("OUTPUT0", class_count=2)]
    result = client.infer("on_device", sent_input(protocol, array), outputs=outputs).as_numpy("OUTPUT0")
    assert list(result) == [b"9.000000:1", b"5.000000:3"]


def test_status(client, protocol):
    with allocation(64) as memory:
        client.register_cuda_shared_memory("c", memory.handle, 1, 32)
        found = client.get_cuda_shared_memory_status("c")
        if protocol is grpcclient:
            region = found.regions["c"]
            assert (region.name, region.device_id, region.byte_size) == ("c", 1, 32)
        else:
            assert found == [{"name": "c", "device_id": 1, "byte_size": 32}]
        refused(NOT_FOUND, "The region named 'c' is registered as CUDA shared memory, not system shared memory",
                client.get_system_shared_memory_status, "c")
        client.unregister_system_shared_memory("c")
        client.unregister_system_shared_memory()
        refused(INVALID + ("StatusCode.ALREADY_EXISTS", "409"), "shared memory region 'c' already in manager",
                client.register_cuda_shared_memory, "c", memory.handle, 1, 32)
        client.unregister_cuda_shared_memory("c")
        refused(NOT_FOUND, "Unable to find cuda shared memory region: 'c'", client.get_cuda_shared_memory_status, "c")


def test_handles_that_are_none(client):
    bad = "failed to register shared memory region: invalid args"
    with allocation(64) as memory:
        refused(INVALID, bad, client.register_cuda_shared_memory, "c", base64.b64encode(bytes(64)), 0, 64)
        refused(INVALID, bad, client.register_cuda_shared_memory, "c", base64.b64encode(os.urandom(64)), 0, 64)
        refused(INVALID, bad, client.register_cuda_shared_memory, "c", memory.handle, 2, 64)
        refused(INVALID, "failed to register shared memory region 'c': invalid args",
                client.register_cuda_shared_memory, "c", memory.handle, 0, 65)


def test_parts_that_are_not_in_the_region(client, protocol):
    with allocation(64) as memory:
        client.register_cuda_shared_memory("c", memory.handle, 0, 64)
        refused(INVALID, "Invalid offset + byte size for shared memory region: 'c'", client.infer, "fp32",
                shared_input(protocol, "c", (17,), "FP32", 68))
        refused(INVALID, "Invalid offset for shared memory region: 'c'", client.infer, "fp32",
                shared_input(protocol, "c", (1,), "FP32", 4, 64))


def test_a_device_without_room(server, client, protocol):
    array = np.zeros(LIMIT_BYTES // 4 + 1, np.float32)
    text = (f"GPU 1: {array.nbytes} bytes asked for, 0 bytes of the limit of {LIMIT_BYTES} bytes are in use")
    refused(EXHAUSTED, text, client.infer, "on_device", sent_input(protocol, array))
    with allocation(2 * LIMIT_BYTES) as memory:
        refused(EXHAUSTED, "failed to register CUDA shared memory region 'c': GPU 0: "
                f"{LIMIT_BYTES + 1} bytes asked for, 0 bytes of the limit of {LIMIT_BYTES} bytes are in use",
                client.register_cuda_shared_memory, "c", memory.handle, 0, LIMIT_BYTES + 1)
    assert server.process.poll() is None
    small = models.sample(np.float32, (4,))
    np.testing.assert_array_equal(client.infer("on_device", sent_input(protocol, small)).as_numpy("OUTPUT0"), small)


def test_copies_count_as_the_requests_memory(repository):
    settings = ('plugin.device.use="fixtures/device"', 'plugin.host.request_budget="200KiB"')
    with serve(repository, *settings) as server, server.client() as client, allocation(1 << 18) as memory:
        server.wait_ready("fp32")
        client.register_cuda_shared_memory("c", memory.handle, 0, 1 << 18)
        with pytest.raises(InferenceServerException) as caught:
            client.infer("fp32", shared_input(grpcclient, "c", (1 << 16,), "FP32", 1 << 18))
        assert caught.value.status() == "StatusCode.RESOURCE_EXHAUSTED"
        assert "that all requests together may take" in caught.value.message()
        array = models.sample(np.float32, (4,))
        memory.write(array.tobytes())
        result = client.infer("fp32", shared_input(grpcclient, "c", (4,), "FP32", 16))
        np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), array)


def test_without_the_plugin_there_is_no_gpu(repository):
    with serve(repository) as server, server.client() as client, allocation(64) as memory:
        server.wait_ready("fp32")
        refused(INVALID, "failed to register CUDA shared memory region: 'c', GPUs not supported",
                client.register_cuda_shared_memory, "c", memory.handle, 0, 64)
