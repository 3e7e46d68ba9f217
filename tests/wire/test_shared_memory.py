"""System shared memory with the real client: zero-copy requests, every refusal, and owners who misbehave."""

import base64
import contextlib
import itertools
import os
import pathlib
import struct
import threading

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.utils.shared_memory as shm
from support import models
from support.server import Server, usage
from support.waiting import eventually
from tritonclient.utils import InferenceServerException, serialize_byte_tensor

DISABLED = "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable."
PAGE = os.sysconf("SC_PAGE_SIZE")
NUMBERS = itertools.count()
WAIT_S = 30


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    models.write_model(folder, "fp32", models.identity_config("fp32"))
    models.write_model(folder, "text", models.identity_config("text", "TYPE_STRING"))
    slow = 'parameters { key: "execute_delay_ms" value { string_value: "300" } }'
    models.write_model(folder, "slow", models.identity_config("slow", extra=slow))
    return folder


def serve(repository, *settings):
    return Server(repository, 'plugin.shared.use="memory/shared"', *settings)


@pytest.fixture(scope="module")
def server(repository):
    with serve(repository, "plugin.shared.allow_client_shm=true") as running:
        yield running.wait_ready()


@pytest.fixture()
def client(server):
    with server.client() as client:
        yield client
        client.unregister_system_shared_memory()


@contextlib.contextmanager
def region(byte_size):
    """An object of the client's: its handle and key."""
    key = f"/atoll-wire-test-{os.getpid()}-{next(NUMBERS)}"
    handle = shm.create_shared_memory_region(key, key, byte_size)
    try:
        yield handle, key
    finally:
        shm.destroy_shared_memory_region(handle)


def resize(key, byte_size):
    os.truncate(f"/dev/shm{key}", byte_size)


def mapped(server, key):
    return key in pathlib.Path(f"/proc/{server.pid}/maps").read_text()


def refused(code, text, call, *arguments, **named):
    with pytest.raises(InferenceServerException) as caught:
        call(*arguments, **named)
    assert caught.value.status() == f"StatusCode.{code}"
    if text is not None:
        assert caught.value.message() == text


def shared_input(name, shape, datatype, byte_size, offset=0):
    tensor = grpcclient.InferInput("INPUT0", list(shape), datatype)
    tensor.set_shared_memory(name, byte_size, offset)
    return [tensor]


def shared_output(name, byte_size, offset=0):
    tensor = grpcclient.InferRequestedOutput("OUTPUT0")
    tensor.set_shared_memory(name, byte_size, offset)
    return [tensor]


def fp32(name, count, offset=0):
    return shared_input(name, (count,), "FP32", 4 * count, offset)


# --- use ---


@pytest.mark.parametrize("offset", [0, 4, 1, PAGE, PAGE - 3])
def test_tensors_in_and_out(client, offset):
    array = models.sample(np.float32, (1000,))
    with region(offset + 2 * array.nbytes) as (handle, key):
        shm.set_shared_memory_region(handle, [array], offset)
        client.register_system_shared_memory("r", key, 2 * array.nbytes, offset)
        result = client.infer("fp32", fp32("r", 1000), outputs=shared_output("r", array.nbytes, array.nbytes))
        response = result.get_response()
        assert list(response.raw_output_contents) == [b""]
        output = result.get_output("OUTPUT0")
        assert (output.datatype, list(output.shape)) == ("FP32", [1000])
        content = shm.get_contents_as_numpy(handle, np.uint8, [array.nbytes], offset + array.nbytes)
        assert content.tobytes() == array.tobytes()
        sent = client.infer("fp32", fp32("r", 1000)).as_numpy("OUTPUT0")
        np.testing.assert_array_equal(sent, array)


def test_texts_in_and_out(client):
    texts = np.array([b"one", b"", b"three" * 50_000], dtype=np.object_)
    raw = serialize_byte_tensor(texts)
    size = len(raw.item())
    with region(2 * size) as (handle, key):
        shm.set_shared_memory_region(handle, [raw])
        client.register_system_shared_memory("r", key, 2 * size)
        client.infer("text", shared_input("r", (3,), "BYTES", size), outputs=shared_output("r", size, size))
        np.testing.assert_array_equal(shm.get_contents_as_numpy(handle, np.object_, [3], size), texts)


def test_input_and_output_may_overlap(client):
    array = np.arange(1000, dtype=np.float32)
    for offset in (0, 4, 400):
        with region(2 * array.nbytes) as (handle, key):
            shm.set_shared_memory_region(handle, [array])
            client.register_system_shared_memory("r", key, 2 * array.nbytes)
            client.infer("fp32", fp32("r", 1000), outputs=shared_output("r", array.nbytes, offset))
            np.testing.assert_array_equal(shm.get_contents_as_numpy(handle, np.float32, [1000], offset), array)
            client.unregister_system_shared_memory("r")


def test_status(client):
    with region(64) as (_, key):
        assert not client.get_system_shared_memory_status().regions
        client.register_system_shared_memory("r", key, 32, 8)
        found = client.get_system_shared_memory_status().regions["r"]
        assert (found.name, found.key, found.offset, found.byte_size) == ("r", key, 8, 32)
        assert list(client.get_system_shared_memory_status("r").regions) == ["r"]
        refused("NOT_FOUND", "Unable to find system shared memory region: 'x'",
                client.get_system_shared_memory_status, "x")
        refused("NOT_FOUND", "The region named 'r' is registered as system shared memory, not CUDA shared memory",
                client.get_cuda_shared_memory_status, "r")
        client.unregister_system_shared_memory("unknown")
        client.unregister_system_shared_memory("r")
        assert not client.get_system_shared_memory_status().regions


# --- refusals ---


def test_off_by_default(repository):
    with serve(repository) as server, server.client() as client, region(64) as (_, key):
        server.wait_ready()
        refused("UNIMPLEMENTED", DISABLED, client.register_system_shared_memory, "r", key, 64)
        refused("UNIMPLEMENTED", DISABLED, client.unregister_system_shared_memory, "r")
        refused("UNIMPLEMENTED", DISABLED, client.unregister_system_shared_memory)
        refused("UNIMPLEMENTED", DISABLED, client.register_cuda_shared_memory, "r", base64.b64encode(bytes(64)), 0, 64)
        assert not client.get_system_shared_memory_status().regions
        refused("NOT_FOUND", "Unable to find shared memory region: 'r'", client.infer, "fp32", fp32("r", 1))


def test_reserved_keys(client):
    key = "/triton_python_backend_shm_region_0"
    refused("INVALID_ARGUMENT", f"cannot register shared memory region 'r' with key '{key}' as the key contains the "
            "reserved prefix 'triton_python_backend_shm_region_'", client.register_system_shared_memory, "r", key, 1)


@pytest.mark.parametrize("key", ["/", "//", "..", "/../etc/passwd", "a/b", "/etc/passwd", "k" * 300])
def test_keys_that_name_no_object(client, key):
    with pytest.raises(InferenceServerException) as caught:
        client.register_system_shared_memory("r", key, 1)
    assert caught.value.status() == "StatusCode.INVALID_ARGUMENT"
    assert caught.value.message().startswith("cannot register shared memory region 'r' - invalid shm key '")


def test_objects_that_are_none(client):
    link = f"atoll-wire-test-link-{os.getpid()}"
    os.symlink("/etc/hostname", f"/dev/shm/{link}")
    try:
        for key in ("", "/atoll-no-such-object", f"/{link}"):
            refused("INTERNAL", f"Unable to open shared memory region: '{key}'", client.register_system_shared_memory,
                    "r", key, 1)
    finally:
        os.unlink(f"/dev/shm/{link}")


def test_a_name_is_taken_once(client):
    with region(64) as (_, key):
        client.register_system_shared_memory("r", key, 64)
        refused("ALREADY_EXISTS", "shared memory region 'r' already in manager", client.register_system_shared_memory,
                "r", key, 64)


@pytest.mark.parametrize("offset,byte_size", [(0, 65), (1, 64), (64, 1), (0, 0), (2**63, 1), (2**64 - 1, 1),
                                              (2**64 - 1, 2), (1, 2**64 - 1)])
def test_parts_that_are_not_in_the_object(server, client, offset, byte_size):
    with region(64) as (_, key):
        refused("INVALID_ARGUMENT", "failed to register shared memory region 'r': invalid args",
                client.register_system_shared_memory, "r", key, byte_size, offset)
        assert not mapped(server, key)


def test_parts_that_are_not_in_the_region(client):
    with region(64) as (_, key):
        client.register_system_shared_memory("r", key, 64)
        offset = "Invalid offset for shared memory region: 'r'"
        beyond = "Invalid offset + byte size for shared memory region: 'r'"
        for inputs, text in ((fp32("r", 1, 64), offset), (fp32("r", 1, 2**63 - 1), offset), (fp32("r", 17), beyond),
                             (fp32("r", 1, 61), beyond)):
            refused("INVALID_ARGUMENT", text, client.infer, "fp32", inputs)
        refused("INVALID_ARGUMENT", beyond, client.infer, "fp32", fp32("r", 1), outputs=shared_output("r", 65))
        refused("INVALID_ARGUMENT", "invalid value for 'shared_memory_offset' parameter for tensor 'INPUT0': -1, "
                "expected >= 0", client.infer, "fp32", fp32("r", 1, -1))
        refused("NOT_FOUND", "Unable to find shared memory region: 'x'", client.infer, "fp32", fp32("x", 1))


def test_an_output_region_that_is_too_small(client):
    with region(64) as (_, key):
        client.register_system_shared_memory("r", key, 64)
        refused("INTERNAL", "shared memory size specified with the request for output 'OUTPUT0' (3 bytes) should be at "
                "least 4 bytes to hold the results", client.infer, "fp32", fp32("r", 1), outputs=shared_output("r", 3))


def test_limits(repository):
    settings = ("plugin.shared.allow_client_shm=true", "plugin.shared.max_regions=3",
                f"plugin.shared.max_bytes={4 * PAGE}")
    with serve(repository, *settings) as server, server.client() as client, region(8 * PAGE) as (_, key):
        server.wait_ready()
        for i in range(3):
            client.register_system_shared_memory(f"r{i}", key, 1)
        for i in range(500):
            refused("RESOURCE_EXHAUSTED", None, client.register_system_shared_memory, f"more{i}", key, 1)
        client.unregister_system_shared_memory("r0")
        refused("RESOURCE_EXHAUSTED", None, client.register_system_shared_memory, "large", key, 2 * PAGE + 1)
        client.register_system_shared_memory("large", key, 2 * PAGE)


def test_owners(repository):
    with serve(repository, "plugin.shared.allow_client_shm=true",
               f'plugin.shared.allowed_owners=["{os.getuid() + 1}"]') as server:
        server.wait_ready()
        with server.client() as client, region(64) as (_, key):
            refused("PERMISSION_DENIED", f"cannot register shared memory region 'r': the object with key '{key}' "
                    f"belongs to user {os.getuid()}, expected a user of the server's allowed_owners",
                    client.register_system_shared_memory, "r", key, 64)
            assert not mapped(server, key)


@pytest.mark.parametrize("device", [-1, 0, 99])
def test_cuda_without_a_gpu(client, device):
    refused("INVALID_ARGUMENT", "failed to register CUDA shared memory region: 'c', GPUs not supported",
            client.register_cuda_shared_memory, "c", base64.b64encode(os.urandom(64)), device, 64)


# --- clients that misbehave, or change their mind ---


def test_unregistering_while_a_request_uses_the_region(server, client):
    array = models.sample(np.float32, (16,))
    with region(2 * array.nbytes) as (handle, key):
        shm.set_shared_memory_region(handle, [array])
        for _ in range(20):
            client.register_system_shared_memory("r", key, 2 * array.nbytes)
            done = threading.Event()
            answer = []
            client.async_infer("slow", fp32("r", 16), outputs=shared_output("r", array.nbytes, array.nbytes),
                               callback=lambda result, error: (answer.append(error), done.set()))
            client.unregister_system_shared_memory("r")
            assert done.wait(WAIT_S)
            if answer[0] is None:
                break
            # The request came after the unregistration: once more.
            assert answer[0].status() == "StatusCode.NOT_FOUND"
        assert answer[0] is None
        content = shm.get_contents_as_numpy(handle, np.float32, [16], array.nbytes)
        np.testing.assert_array_equal(content, array)
        eventually(lambda: not client.get_system_shared_memory_status().regions, timeout_s=WAIT_S)
        eventually(lambda: not mapped(server, key), timeout_s=WAIT_S)


@pytest.mark.parametrize("part", ["input", "output"])
def test_an_object_that_shrinks_fails_the_request_and_nothing_else(server, client, part):
    with region(4 * PAGE) as (_, bad), region(4 * PAGE) as (_, good):
        client.register_system_shared_memory("bad", bad, 4 * PAGE)
        client.register_system_shared_memory("good", good, 4 * PAGE)
        inputs, outputs = ("bad", "good") if part == "input" else ("good", "bad")
        resize(bad, PAGE)
        for _ in range(3):
            refused("INVALID_ARGUMENT", f"shared memory region 'bad' has lost memory since it was registered: its "
                    f"object is smaller than 0 + {4 * PAGE} bytes", client.infer, "fp32", fp32(inputs, PAGE),
                    outputs=shared_output(outputs, 4 * PAGE))
        client.infer("fp32", fp32("good", PAGE), outputs=shared_output("good", 4 * PAGE))
        assert server.process.poll() is None
        client.unregister_system_shared_memory("bad")
        client.register_system_shared_memory("bad", bad, PAGE)
        client.infer("fp32", fp32("bad", 8), outputs=shared_output("bad", 32))


def test_an_object_that_shrinks_while_requests_run(server, client):
    count = 64 * PAGE
    with region(4 * count) as (_, key):
        for _ in range(30):
            resize(key, 4 * count)
            client.register_system_shared_memory("r", key, 4 * count)
            shrink = threading.Thread(target=resize, args=(key, PAGE))
            shrink.start()
            for _ in range(3):
                try:
                    client.infer("fp32", fp32("r", count // 2), outputs=shared_output("r", 2 * count, 2 * count))
                except InferenceServerException as error:
                    assert error.status() == "StatusCode.INVALID_ARGUMENT"
            shrink.join()
            client.unregister_system_shared_memory("r")
        assert server.process.poll() is None
        assert client.is_server_live()


def test_bytes_that_change_while_they_are_read(server, client):
    """Lengths flip between right and absurd; every answer is one of the two, never a crash."""
    element = struct.pack("<I", 4) + b"abcd"
    good = element * 1000
    with region(len(good)) as (handle, key):
        address = shm.get_contents_as_numpy(handle, np.uint8, [len(good)])
        address[:] = np.frombuffer(good, np.uint8)
        client.register_system_shared_memory("r", key, len(good))
        end = threading.Event()

        def flip():
            while not end.is_set():
                for length in (2**32 - 1, 5, 4):
                    address[-8:-4] = np.frombuffer(struct.pack("<I", length), np.uint8)

        flipping = threading.Thread(target=flip)
        flipping.start()
        try:
            for _ in range(300):
                try:
                    result = client.infer("text", shared_input("r", (1000,), "BYTES", len(good))).as_numpy("OUTPUT0")
                    assert result.shape == (1000,)
                except InferenceServerException as error:
                    assert error.status() == "StatusCode.INVALID_ARGUMENT"
        finally:
            end.set()
            flipping.join()
        assert server.process.poll() is None


def test_idle_regions_go(repository):
    settings = ("plugin.shared.allow_client_shm=true", 'plugin.shared.idle_timeout="200ms"')
    with serve(repository, *settings) as server, server.client() as client, region(64) as (_, key):
        server.wait_ready()
        client.register_system_shared_memory("r", key, 64)
        eventually(lambda: not client.get_system_shared_memory_status().regions, timeout_s=WAIT_S)
        eventually(lambda: not mapped(server, key), timeout_s=WAIT_S)
        server.wait_for_line("shared memory region 'r' is unregistered: nobody used it for 200 ms")


def test_registering_leaves_nothing_behind(server, client):
    with region(PAGE) as (_, key):
        before = usage(server.pid)["descriptors"]
        for i in range(1000):
            client.register_system_shared_memory(f"r{i}", key, 8)
        client.unregister_system_shared_memory()
        assert not mapped(server, key)
        assert usage(server.pid)["descriptors"] <= before + 2
