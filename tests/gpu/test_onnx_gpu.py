"""Models of ONNX Runtime on GPUs: with the doubles of the driver and of ONNX Runtime's CUDA provider, whose tensors a CPU cannot
touch, and without a provider that can be loaded."""

import json

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from onnx import TensorProto
from support import models
from support.cuda_double import DOUBLE, Allocation, Driver, Gpu
from support.server import BUILD, Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

ONNX_DOUBLE = BUILD / "tests" / "libonnxruntime_double.so"
SETTINGS = ['plugin.shared.use="memory/shared"', "plugin.shared.allow_client_shm=true", "plugin.models.strict_readiness=false",
            'plugin.gpus.use="memory/cuda"', f'plugin.gpus.library="{DOUBLE}"', 'plugin.pinned.use="memory/pinned"',
            'plugin.pinned.size="1MiB"']
ON_GPU = 'backend: "onnxruntime" instance_group [ { kind: KIND_GPU count: 1 gpus: [ 0 ] } ]\n'
RUNS = (12, 8, 7, 2)  # on the GPU; inputs and outputs of them that were there; replays of a graph
PAIR = """platform: "ensemble" max_batch_size: 0
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ] output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]
ensemble_scheduling { step [
  { model_name: "add1" model_version: -1 input_map { key: "INPUT0" value: "INPUT0" } output_map { key: "OUTPUT0" value: "middle" } },
  { model_name: "add10" model_version: -1 input_map { key: "INPUT0" value: "middle" } output_map { key: "OUTPUT0" value: "OUTPUT0" } } ] }
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    for constant in (1, 10):
        models.write_model(folder, f"add{constant}", ON_GPU, files={"model.onnx": models.onnx_add(constant)})
    models.write_model(folder, "pair", PAIR)
    models.write_model(folder, "anywhere", 'backend: "onnxruntime"', files={"model.onnx": models.onnx_add(2)})
    models.write_model(folder, "on_cpu", 'backend: "onnxruntime" instance_group [ { kind: KIND_CPU } ]',
                       files={"model.onnx": models.onnx_add(3)})
    identity = models.onnx_identity(TensorProto.FLOAT, ["batch", "width"])
    models.write_model(folder, "joined", ON_GPU + "max_batch_size: 2 dynamic_batching { preferred_batch_size: [ 2 ] "
                       "max_queue_delay_microseconds: 60000000 }", files={"model.onnx": identity})
    models.write_model(folder, "graphs", ON_GPU + "optimization { cuda { graphs: true } }",
                       files={"model.onnx": models.onnx_add(4)})
    models.write_model(folder, "unknown", ON_GPU + "optimization { execution_accelerators { gpu_execution_accelerator "
                       '[ { name: "auto" } ] } }', files={"model.onnx": models.onnx_add(1)})
    return folder


def serve(repository, **environment):
    return Server(repository, *SETTINGS, f'plugin.onnxruntime.library="{ONNX_DOUBLE}"', environment=environment)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return tmp_path_factory.mktemp("report") / "report"


@pytest.fixture(scope="module")
def server(repository, report):
    driver_report = report.with_name("driver")
    with serve(repository, ATOLL_CUDA_DOUBLE_REPORT=str(driver_report), ATOLL_CUDA_DOUBLE_SLOW_COPY_US="500",
               ATOLL_ONNXRUNTIME_DOUBLE_REPORT=str(report)) as running:
        for model in ("pair", "anywhere", "on_cpu", "joined", "graphs"):
            running.wait_ready(model)
        yield running
    assert driver_report.read_text() == "", "given back, and nothing used wrongly"
    *sessions, counts = report.read_text().splitlines()
    assert len(sessions) == 5 and all("device_id=0" in session for session in sessions)
    # Clients' tensors there, and what one member of the ensemble gives the other.
    assert tuple(int(count.split("=")[1]) for count in counts.split()) == RUNS, counts


@pytest.fixture(scope="module")
def gpu():
    return Gpu(Driver(), 0)


def tensor(values, name="INPUT0"):
    values = np.asarray(values, np.float32)
    made = grpcclient.InferInput(name, list(values.shape), "FP32")
    made.set_data_from_numpy(values)
    return made


@pytest.mark.parametrize("model, sum_", [("add1", 1), ("add10", 10), ("pair", 11), ("anywhere", 2), ("on_cpu", 3)])
def test_answers_are_those_of_the_cpu(server, model, sum_):
    with server.client() as client:
        result = client.infer(model, [tensor([1, 2, 3, 4])]).as_numpy("OUTPUT0")
    np.testing.assert_array_equal(result, np.array([1, 2, 3, 4], np.float32) + sum_)


def test_kinds_of_instances(server):
    with server.client() as client:
        kinds = {name: client.get_model_config(name, as_json=True)["config"]["instance_group"][0]["kind"]
                 for name in ("add1", "anywhere", "on_cpu")}
    assert kinds == {"add1": "KIND_GPU", "anywhere": "KIND_GPU", "on_cpu": "KIND_CPU"}


@pytest.mark.parametrize("model, sum_", [("add1", 1), ("pair", 11), ("on_cpu", 3)])
def test_memory_of_a_client_on_the_gpu(server, gpu, model, sum_):
    sent = np.array([5, 6, 7, 8], np.float32)
    with server.client() as client, Allocation(gpu, 4096) as allocation:
        client.register_cuda_shared_memory("c", allocation.handle, 0, 4096)
        allocation.write(sent.tobytes(), 64)
        given = grpcclient.InferInput("INPUT0", [4], "FP32")
        given.set_shared_memory("c", 16, 64)
        wanted = grpcclient.InferRequestedOutput("OUTPUT0")
        wanted.set_shared_memory("c", 16, 256)
        client.infer(model, [given], outputs=[wanted])
        np.testing.assert_array_equal(np.frombuffer(allocation.read(16, 256), np.float32), sent + sum_)
        client.unregister_cuda_shared_memory("c")


def test_requests_of_host_and_device_are_joined(server, gpu):
    with server.client() as client, Allocation(gpu, 4096) as allocation:
        client.register_cuda_shared_memory("j", allocation.handle, 0, 4096)
        values = np.array([[1, 2, 3]], np.float32)
        allocation.write(values.tobytes())
        shared = grpcclient.InferInput("INPUT0", [1, 3], "FP32")
        shared.set_shared_memory("j", 12)
        answers = []
        for given in (shared, tensor(values * 2)):
            client.async_infer("joined", [given], lambda result, error: answers.append(error or result.as_numpy("OUTPUT0")))
        eventually(lambda: len(answers) == 2)
        client.unregister_cuda_shared_memory("j")
    np.testing.assert_array_equal(sorted(answer.tolist() for answer in answers), [[[1, 2, 3]], [[2, 4, 6]]])


def test_graphs_answer_for_each_request(server):
    with server.client() as client:
        for value in (1, 2, 3):
            result = client.infer("graphs", [tensor([value, 2, 3, 4])]).as_numpy("OUTPUT0")
            np.testing.assert_array_equal(result, np.array([value, 2, 3, 4], np.float32) + 4)


def test_an_accelerator_that_nobody_knows_is_named(server):
    server.newest_line(r"unknown Execution Accelerator 'auto' is requested")


def test_a_provider_that_can_not_be_loaded_leaves_the_cpu(repository):
    reason = "Failed to load library libonnxruntime_providers_cuda.so with error: libcublasLt.so.13: cannot open"
    with serve(repository, ATOLL_ONNXRUNTIME_DOUBLE_FAILURE=f"Get() [ONNXRuntimeError] : 1 : FAIL : {reason}") as server:
        server.wait_ready("anywhere")
        server.newest_line(f"models run on the CPU, though there are GPUs: {reason}")
        with server.client() as client:
            result = client.infer("anywhere", [tensor([1, 2, 3, 4])]).as_numpy("OUTPUT0")
            np.testing.assert_array_equal(result, np.array([3, 4, 5, 6], np.float32))
            config = client.get_model_config("anywhere", as_json=True)["config"]
            assert config["instance_group"][0]["kind"] == "KIND_CPU"
            server.newest_line("failed to load 'add1'")
            index = {model["name"]: model for model in client.get_model_repository_index(as_json=True)["models"]}
            assert reason in index["add1"]["reason"] and "KIND_GPU" in index["add1"]["reason"], json.dumps(index)
            with pytest.raises(InferenceServerException):
                client.infer("add1", [tensor([1, 2, 3, 4])])
