"""backends/cuda in a server: models of kernels, on the driver's test double, for clients with memory of all kinds."""

import concurrent.futures
import pathlib

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support import models
from support.cuda_double import DOUBLE, NO_DRIVER, Allocation, Driver, Gpu
from support.server import BUILD, ROOT, Server
from tritonclient.utils import InferenceServerException

SETTINGS = ['plugin.shared.allow_client_shm=true', 'plugin.models.strict_readiness=false',
            'plugin.gpus.use="memory/cuda"', 'plugin.pinned.use="memory/pinned"', 'plugin.pinned.size="1MiB"',
            'plugin.cuda.use="backends/cuda"']
KERNELS = BUILD / "tests" / "cuda_double_kernels.so"
PTX = (ROOT / "plugins" / "backends" / "cuda" / "testing" / "kernels" / "kernels.ptx").read_bytes()
COLUMNS = 64
ROW_BYTES = 4 * COLUMNS

TWICE = '''
pad_batch = true
[[step]]
kernel = "scale"
grid = ["ceil_div(X.count, 256)"]
block = [256]
args = ["in:X", "out:Y", "f32:2.0", "i64:X.count"]
'''
SOFTMAX = '''
[[step]]
kernel = "softmax"
grid = ["B"]
block = [64]
shared = 256
args = ["in:X", "out:Y", "i32:X.shape[1]"]
'''
# A matrix that is the model's own, and a sum behind it.
LINEAR = '''
[constant.weight]
file = "weight.bin"
[scratch.product]
bytes = "Y.bytes"
[[step]]
kernel = "matmul"
grid = ["ceil_div(Y.shape[1], 16)", "ceil_div(B, 16)"]
block = [16, 16]
args = ["in:X", "constant:weight", "scratch:product", "i32:B", "i32:Y.shape[1]", "i32:X.shape[1]"]
[[step]]
kernel = "add"
grid = ["ceil_div(Y.count, 256)"]
block = [256]
args = ["scratch:product", "in:X", "out:Y", "i64:Y.count"]
'''
BROKEN = SOFTMAX.replace('"softmax"', '"softmin"')
WEIGHT = np.random.default_rng(1).standard_normal((COLUMNS, COLUMNS)).astype(np.float32)


def write(repository, name, pipeline, extra=""):
    config = (f'name: "{name}" backend: "cuda" max_batch_size: 8\n'
              + models.tensor_config("input", "X", "TYPE_FP32", (COLUMNS,))
              + models.tensor_config("output", "Y", "TYPE_FP32", (COLUMNS,)) + extra)
    models.write_model(repository, name, config, files={"kernels.ptx": PTX, "pipeline.toml": pipeline.encode(),
                                                        "weight.bin": WEIGHT.tobytes()})


def ensemble(*members):
    """Each member's Y is the next one's X."""
    steps = []
    for i, member in enumerate(members):
        source = "X" if i == 0 else f"between{i}"
        target = "Y" if i + 1 == len(members) else f"between{i + 1}"
        steps.append(f'{{ model_name: "{member}" model_version: -1 input_map {{ key: "X" value: "{source}" }} '
                     f'output_map {{ key: "Y" value: "{target}" }} }}')
    return ('platform: "ensemble" max_batch_size: 8\n' + models.tensor_config("input", "X", "TYPE_FP32", (COLUMNS,))
            + models.tensor_config("output", "Y", "TYPE_FP32", (COLUMNS,))
            + f'ensemble_scheduling {{ step [ {", ".join(steps)} ] }}')


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    write(folder, "twice", TWICE, "dynamic_batching { max_queue_delay_microseconds: 20000 }")
    write(folder, "graphs", TWICE, "optimization { cuda { graphs: true } }")
    write(folder, "streams", TWICE, "optimization { eager_batching: true cuda { output_copy_stream: true } }")
    write(folder, "softmax", SOFTMAX, "instance_group [ { kind: KIND_GPU } ]")
    write(folder, "linear", LINEAR)
    write(folder, "broken", BROKEN)
    write(folder, "on_cpu", TWICE, "instance_group [ { kind: KIND_CPU } ]")
    models.write_model(folder, "chain", ensemble("linear", "twice", "softmax"))
    models.write_model(folder, "fp32", models.identity_config("fp32"))
    return folder


def serve(repository, library, *settings, **variables):
    environment = {f"ATOLL_CUDA_DOUBLE_{name}": value for name, value in variables.items()}
    environment["ATOLL_CUDA_DOUBLE_KERNELS"] = str(KERNELS)
    return Server(repository, *SETTINGS, f'plugin.gpus.library="{library}"', *settings, environment=environment)


@pytest.fixture(scope="module")
def server(repository, tmp_path_factory):
    report = pathlib.Path(tmp_path_factory.mktemp("double") / "report")
    with serve(repository, DOUBLE, REPORT=str(report)) as running:
        yield running.wait_ready()
    assert report.read_text() == "", "something was not given back to the driver"


@pytest.fixture(scope="module")
def without_driver(repository):
    with serve(repository, NO_DRIVER) as running:
        yield running.wait_ready("fp32")


@pytest.fixture(scope="module")
def gpu():
    return Gpu(Driver(), 0)


@pytest.fixture(params=[grpcclient, httpclient], ids=["grpc", "http"])
def protocol(request):
    return request.param


def connect(server, protocol):
    return server.client() if protocol is grpcclient else server.http_client(concurrency=16)


@pytest.fixture()
def client(server, protocol):
    with connect(server, protocol) as client:
        yield client
        client.unregister_cuda_shared_memory()


def sent(protocol, array, datatype="FP32"):
    tensor = protocol.InferInput("X", list(array.shape), datatype)
    tensor.set_data_from_numpy(array)
    return [tensor]


def shared_input(protocol, rows, offset=0):
    tensor = protocol.InferInput("X", [rows, COLUMNS], "FP32")
    tensor.set_shared_memory("c", rows * ROW_BYTES, offset)
    return [tensor]


def shared_output(protocol, rows, offset=0):
    tensor = protocol.InferRequestedOutput("Y")
    tensor.set_shared_memory("c", rows * ROW_BYTES, offset)
    return [tensor]


def rows_of(count, seed=0):
    return np.random.default_rng(seed).standard_normal((count, COLUMNS)).astype(np.float32)


def softmax(x):
    exponentials = np.exp(x - x.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def linear(x):
    return x @ WEIGHT + x


EXPECTED = {"twice": lambda x: 2 * x, "graphs": lambda x: 2 * x, "streams": lambda x: 2 * x, "softmax": softmax,
            "linear": linear, "chain": lambda x: softmax(2 * linear(x))}


def reason_of(client, name):
    return next(model for model in client.get_model_repository_index().models if model.name == name).reason


@pytest.mark.parametrize("model", EXPECTED)
@pytest.mark.parametrize("rows", [1, 3, 8])
def test_tensors_of_the_host(client, protocol, model, rows):
    x = rows_of(rows)
    y = client.infer(model, sent(protocol, x)).as_numpy("Y")
    np.testing.assert_allclose(y, EXPECTED[model](x), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("model", EXPECTED)
@pytest.mark.parametrize("offset", [0, 256, 4])
def test_cuda_shared_memory_in_and_out(client, protocol, gpu, model, offset):
    x = rows_of(2)
    size = x.nbytes
    expected = EXPECTED[model](x)
    with Allocation(gpu, 2 * size + offset) as memory:
        memory.write(x.tobytes(), offset)
        client.register_cuda_shared_memory("c", memory.handle, 0, 2 * size + offset)
        client.infer(model, shared_input(protocol, 2, offset), outputs=shared_output(protocol, 2, offset + size))
        y = np.frombuffer(memory.read(size, offset + size), np.float32).reshape(x.shape)
        np.testing.assert_allclose(y, expected, rtol=1e-3, atol=1e-5)
        assert memory.read(size, offset) == x.tobytes(), "the input is as it was"
        y = client.infer(model, shared_input(protocol, 2, offset)).as_numpy("Y")
        np.testing.assert_allclose(y, expected, rtol=1e-3, atol=1e-5)
        client.infer(model, sent(protocol, x), outputs=shared_output(protocol, 2, offset))
        y = np.frombuffer(memory.read(size, offset), np.float32).reshape(x.shape)
        np.testing.assert_allclose(y, expected, rtol=1e-3, atol=1e-5)
        client.unregister_cuda_shared_memory("c")


def test_an_output_over_its_input(client, protocol, gpu):
    x = rows_of(2)
    with Allocation(gpu, x.nbytes) as memory:
        memory.write(x.tobytes())
        client.register_cuda_shared_memory("c", memory.handle, 0, x.nbytes)
        client.infer("softmax", shared_input(protocol, 2), outputs=shared_output(protocol, 2))
        y = np.frombuffer(memory.read(x.nbytes), np.float32).reshape(x.shape)
        np.testing.assert_allclose(y, softmax(x), rtol=1e-3, atol=1e-5)
        client.unregister_cuda_shared_memory("c")


def batches_of(server, model):
    with server.client() as client:
        statistics = client.get_inference_statistics(model).model_stats[0]
    return statistics.inference_count, statistics.execution_count


@pytest.mark.parametrize("model", ["twice", "chain"])
def test_requests_of_many_clients_are_joined(server, model):
    inferences, executions = batches_of(server, "twice")
    arrays = [rows_of(1, seed) for seed in range(64)]
    with server.client() as client, concurrent.futures.ThreadPoolExecutor(16) as clients:
        answers = clients.map(lambda x: client.infer(model, sent(grpcclient, x)).as_numpy("Y"), arrays)
        for x, y in zip(arrays, answers):
            np.testing.assert_allclose(y, EXPECTED[model](x), rtol=1e-3, atol=1e-5)
    after_inferences, after_executions = batches_of(server, "twice")
    assert after_inferences - inferences == 64
    assert after_executions - executions < 64


def test_a_graph_gives_the_same_bytes(server):
    with server.client() as client:
        for rows in range(1, 9):
            x = rows_of(rows, rows)
            by_graph = client.infer("graphs", sent(grpcclient, x)).as_numpy("Y")
            by_launches = client.infer("softmax", sent(grpcclient, x)).as_numpy("Y")
            assert by_graph.tobytes() == (2 * x).tobytes()
            np.testing.assert_allclose(by_launches, softmax(x), rtol=1e-3, atol=1e-5)
    assert "unable to record CUDA graph" not in server.log


@pytest.mark.parametrize("array, datatype, text", [
    (np.zeros((1, COLUMNS - 1), np.float32), "FP32", "X"),
    (np.zeros((1, COLUMNS), np.int32), "INT32", "X"),
    (np.zeros((9, COLUMNS), np.float32), "FP32", "batch")])
def test_inputs_that_do_not_fit_are_refused(client, protocol, array, datatype, text):
    with pytest.raises(InferenceServerException) as caught:
        client.infer("twice", sent(protocol, array, datatype))
    assert text in caught.value.message()
    x = rows_of(1)
    np.testing.assert_array_equal(client.infer("twice", sent(protocol, x)).as_numpy("Y"), 2 * x)


def test_models_that_can_not_run_say_why(server):
    with server.client() as client:
        assert "softmin" in reason_of(client, "broken")
        assert reason_of(client, "on_cpu").endswith(
            "found KIND_CPU, expected KIND_GPU: this backend runs kernels on GPUs")


def test_what_a_model_takes_and_how_long_it_takes_is_told(server):
    with server.client() as client:
        client.infer("linear", sent(grpcclient, rows_of(4)))
        statistics = client.get_inference_statistics("linear").model_stats[0]
    taken = [usage for usage in statistics.memory_usage if usage.type == "GPU"]
    assert [usage.id for usage in taken] == [0]
    assert taken[0].byte_size >= WEIGHT.nbytes
    assert statistics.inference_stats.success.count > 0
    assert statistics.inference_stats.compute_infer.ns > 0


@pytest.mark.parametrize("model, reason", [
    ("twice", "this backend runs kernels on GPUs; there is none: there is no CUDA driver: "),
    ("softmax", "instance group softmax_0 of model softmax has kind KIND_GPU but no GPUs are available"),
    ("on_cpu", "found KIND_CPU, expected KIND_GPU")])
def test_without_a_driver_models_of_kernels_do_not_load(without_driver, model, reason):
    without_driver.newest_line(f"failed to load '{model}' version 1")
    with without_driver.client() as client:
        assert not client.is_model_ready(model)
        assert reason in reason_of(client, model)


def test_a_step_is_in_its_stream_before_the_one_before_is_done(repository):
    """The copy of the client's input is slow. What waits for it on the device is queue time of the last step."""
    with serve(repository, DOUBLE, SLOW_COPY_US="200000") as server, server.wait_ready("chain").client() as client:
        x = rows_of(2)
        y = client.infer("chain", sent(grpcclient, x)).as_numpy("Y")
        np.testing.assert_allclose(y, EXPECTED["chain"](x), rtol=1e-3, atol=1e-5)
        first, last = (client.get_inference_statistics(name).model_stats[0].inference_stats
                       for name in ("linear", "softmax"))
        assert first.compute_input.ns >= 200_000_000
        assert last.queue.ns >= 100_000_000
        assert last.compute_input.ns < first.compute_input.ns


def test_a_lost_gpu_makes_its_models_unready(repository):
    with serve(repository, DOUBLE, STICKY="0:500:700") as server, server.wait_ready("twice").client() as client:
        server.wait_ready("fp32").wait_active()
        messages = []
        for seed in range(200):
            try:
                x = rows_of(1, seed)
                y = client.infer("twice", sent(grpcclient, x)).as_numpy("Y")
                np.testing.assert_array_equal(y, 2 * x)
            except InferenceServerException as error:
                messages.append(error.message())
        assert messages, "the GPU was not lost"
        assert all("GPU 0 is lost" in message or "not ready" in message for message in messages), set(messages)
        assert not client.is_model_ready("twice")
        tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
        tensor.set_data_from_numpy(np.arange(4, dtype=np.float32))
        np.testing.assert_array_equal(client.infer("fp32", [tensor]).as_numpy("OUTPUT0"), np.arange(4))
