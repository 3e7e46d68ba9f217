"""memory/cuda in a server: without a driver, and with the driver's test double, whose memory a client shares."""

import base64
import re
import subprocess
import urllib.request

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support import models
from support.cuda_double import DOUBLE, IS_REAL, NO_DRIVER, Allocation, Driver, Gpu
from support.server import BUILD, Server
from tritonclient.utils import InferenceServerException

SETTINGS = ['plugin.shared.allow_client_shm=true', 'plugin.models.strict_readiness=false',
            'plugin.gpus.use="memory/cuda"', 'plugin.pinned.use="memory/pinned"', 'plugin.pinned.size="1MiB"']
SHAPE = (1000,)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    models.write_model(folder, "fp32", models.identity_config("fp32"))
    models.write_model(folder, "on_gpu", models.identity_config("on_gpu") + "instance_group [ { kind: KIND_GPU } ]")
    models.write_model(folder, "anywhere", models.identity_config("anywhere") + "instance_group [ { kind: KIND_AUTO } ]")
    return folder


def serve(repository, library, *settings, **variables):
    environment = {f"ATOLL_CUDA_DOUBLE_{name}": value for name, value in variables.items()}
    return Server(repository, *SETTINGS, f'plugin.gpus.library="{library}"', *settings, environment=environment)


@pytest.fixture(params=[grpcclient, httpclient], ids=["grpc", "http"])
def protocol(request):
    return request.param


def connect(server, protocol):
    return server.client() if protocol is grpcclient else server.http_client()


def shared_input(protocol, byte_size, offset=0):
    tensor = protocol.InferInput("INPUT0", list(SHAPE), "FP32")
    tensor.set_shared_memory("c", byte_size, offset)
    return [tensor]


def sent_input(protocol, array):
    tensor = protocol.InferInput("INPUT0", list(array.shape), "FP32")
    tensor.set_data_from_numpy(array)
    return [tensor]


def shared_output(protocol, byte_size, offset=0):
    tensor = protocol.InferRequestedOutput("OUTPUT0")
    tensor.set_shared_memory("c", byte_size, offset)
    return [tensor]


def reason_of(client, name):
    found = [model for model in client.get_model_repository_index().models if model.name == name]
    return found[0].reason


def lines_with(server, text):
    return [line for line in server.lines if text in line]


@pytest.fixture(scope="module")
def without_driver(repository):
    with serve(repository, NO_DRIVER) as running:
        yield running.wait_ready()


def test_without_a_driver_the_rest_serves(without_driver, protocol):
    with connect(without_driver, protocol) as client:
        array = models.sample(np.float32, SHAPE)
        for model in ("fp32", "anywhere"):
            result = client.infer(model, sent_input(protocol, array))
            np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), array)


def test_without_a_driver_that_is_one_line(without_driver):
    without_driver.newest_line(r"no GPU is used")
    lines = lines_with(without_driver, "no GPU is used")
    assert len(lines) == 1
    assert lines[0].endswith(f"no GPU is used: there is no CUDA driver: {NO_DRIVER}: cannot open shared object file: "
                             "No such file or directory")


def test_without_a_driver_a_model_for_gpus_says_so(without_driver):
    with without_driver.client() as client:
        assert reason_of(client, "on_gpu").endswith(
            "instance group on_gpu_0 of model on_gpu has kind KIND_GPU but no GPUs are available")
        assert not client.is_model_ready("on_gpu")


def test_without_a_driver_no_memory_is_registered(without_driver, protocol):
    with connect(without_driver, protocol) as client, pytest.raises(InferenceServerException) as caught:
        client.register_cuda_shared_memory("c", base64.b64encode(bytes(64)), 0, 64)
    assert caught.value.message() == "failed to register CUDA shared memory region: 'c', GPUs not supported"


@pytest.fixture(scope="module")
def gpu():
    return Gpu(Driver(), 0)


@pytest.fixture(scope="module")
def with_double(repository, tmp_path_factory):
    report = tmp_path_factory.mktemp("double") / "report"
    with serve(repository, DOUBLE, DEVICES="2", REPORT=str(report)) as running:
        yield running.wait_ready()
    assert IS_REAL or report.read_text() == "", "something was not given back to the driver"


@pytest.fixture()
def client(with_double, protocol):
    with connect(with_double, protocol) as client:
        yield client
        client.unregister_cuda_shared_memory()


def test_gpus_are_in_the_log(with_double):
    with_double.newest_line(r"GPU 1: ")
    assert len(lines_with(with_double, "GPU 0: Atoll Test GPU, compute capability 9.0")) == 1
    assert len(lines_with(with_double, "GPU 1: Atoll Test GPU, compute capability 9.0")) == 1


@pytest.mark.parametrize("offset", [0, 4, 1])
def test_tensors_in_and_out(client, protocol, gpu, offset):
    array = models.sample(np.float32, SHAPE)
    size = array.nbytes
    with Allocation(gpu, 2 * size + offset) as memory:
        memory.write(array.tobytes(), offset)
        client.register_cuda_shared_memory("c", memory.handle, 0, 2 * size + offset)
        client.infer("fp32", shared_input(protocol, size, offset), outputs=shared_output(protocol, size, offset + size))
        assert memory.read(size, offset + size) == array.tobytes()
        sent = client.infer("fp32", shared_input(protocol, size, offset)).as_numpy("OUTPUT0")
        np.testing.assert_array_equal(sent, array)
        memory.write(bytes(2 * size + offset))
        client.infer("fp32", sent_input(protocol, array), outputs=shared_output(protocol, size, offset))
        assert memory.read(size, offset) == array.tobytes()
        client.unregister_cuda_shared_memory("c")


def test_a_region_may_be_registered_twice_by_two_names(client, protocol, gpu):
    array = models.sample(np.float32, SHAPE)
    with Allocation(gpu, array.nbytes) as memory:
        memory.write(array.tobytes())
        client.register_cuda_shared_memory("d", memory.handle, 0, array.nbytes)
        client.register_cuda_shared_memory("c", memory.handle, 0, array.nbytes)
        client.unregister_cuda_shared_memory("d")
        result = client.infer("fp32", shared_input(protocol, array.nbytes))
        np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), array)
        client.unregister_cuda_shared_memory("c")


def refusal(call, *arguments):
    with pytest.raises(InferenceServerException) as caught:
        call(*arguments)
    return caught.value.message()


def test_the_pool_of_pinned_memory_is_on_the_page_of_metrics(with_double):
    with urllib.request.urlopen(f"http://{with_double.metrics_address}/metrics") as page:
        lines = page.read().decode().splitlines()
    assert "nv_pinned_memory_pool_total_bytes 1048576" in lines
    assert "nv_pinned_memory_pool_used_bytes 0" in lines


def test_handles_that_are_none(client, protocol, gpu):
    invalid = "failed to register shared memory region: invalid args"
    with Allocation(gpu, 100) as memory:
        assert refusal(client.register_cuda_shared_memory, "c", base64.b64encode(bytes(64)), 0, 1) == invalid
        length = (invalid if protocol is grpcclient else
                  "'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t")
        for raw in (memory.raw[:63], memory.raw + b"\0", b"\0"):
            assert refusal(client.register_cuda_shared_memory, "c", base64.b64encode(raw), 0, 1) == length
        assert refusal(client.register_cuda_shared_memory, "c", memory.handle, 7, 1) == invalid
        too_large = refusal(client.register_cuda_shared_memory, "c", memory.handle, 0, 101)
        assert too_large == "failed to register shared memory region 'c': invalid args"


def test_a_lost_gpu_fails_its_requests_and_no_others(repository, protocol, gpu):
    array = models.sample(np.float32, SHAPE)
    with serve(repository, DOUBLE, STICKY="0:3:700") as server, connect(server.wait_ready(), protocol) as client, \
            Allocation(gpu, array.nbytes) as memory:
        client.register_cuda_shared_memory("c", memory.handle, 0, array.nbytes)
        messages = []
        for _ in range(5):
            try:
                client.infer("fp32", shared_input(protocol, array.nbytes))
            except InferenceServerException as error:
                messages.append(error.message())
        assert len(messages) >= 2
        assert all("GPU 0 is lost: " in message and "CUDA_ERROR_ILLEGAL_ADDRESS (700)" in message
                   for message in messages), messages
        np.testing.assert_array_equal(client.infer("fp32", sent_input(protocol, array)).as_numpy("OUTPUT0"), array)
        server.newest_line(r"ERROR \[gpus\] GPU 0 is lost: \w+ gave CUDA_ERROR_ILLEGAL_ADDRESS \(700\)")
        assert len(lines_with(server, "GPU 0 is lost")) == 1
        lost = "GPU 0 is lost: "
        assert "shared memory region 'c': " + lost in refusal(client.infer, "fp32", shared_input(protocol, array.nbytes))
        client.unregister_cuda_shared_memory("c")
        assert "Unable to find shared memory region: 'c'" in refusal(client.infer, "fp32", shared_input(protocol, array.nbytes))
        again = refusal(client.register_cuda_shared_memory, "c", memory.handle, 0, array.nbytes)
        assert "failed to register CUDA shared memory region 'c': " + lost in again


def test_no_plugin_is_linked_with_libraries_of_gpus():
    plugins = sorted((BUILD / "lib/atoll/plugins").rglob("*.so"))
    assert len(plugins) > 30
    for plugin in plugins:
        needed = subprocess.run(["readelf", "-d", plugin], capture_output=True, text=True, check=True).stdout
        libraries = re.findall(r"\(NEEDED\).*\[(.*)\]", needed)
        assert libraries, plugin
        assert not [name for name in libraries if re.match(r"lib(cuda|cudart|nvidia-ml|nvrtc|cublas)\b", name)], plugin
