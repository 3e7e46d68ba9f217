"""Inputs in memory of a GPU for Python models, on the driver's double."""

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models, python_models
from support.cuda_double import DOUBLE, IS_REAL, Allocation, Driver, Gpu
from support.server import Server

SETTINGS = ["plugin.shared.allow_client_shm=true", 'plugin.gpus.use="memory/cuda"', f'plugin.gpus.library="{DOUBLE}"']
WHERE = """\
def execute(self, requests):
    responses = []
    for request in requests:
        given = pb_utils.get_input_tensor_by_name(request, "INPUT0")
        assert given.is_cpu()
        given.as_numpy()[...] += 1  # its own: neither the client's memory nor another run's
        responses.append(answer(given.as_numpy()))
    return responses
"""
KINDS = {"cpu": "KIND_CPU", "gpu": "KIND_GPU", "auto": "KIND_AUTO"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    for name, kind in KINDS.items():
        for force in ("yes", "no"):
            python_models.write(folder, f"{name}_{force}", WHERE, extra=f"""instance_group [ {{ kind: {kind} }} ]
                parameters {{ key: "FORCE_CPU_ONLY_INPUT_TENSORS" value {{ string_value: "{force}" }} }}""")
    report = tmp_path_factory.mktemp("double") / "report"
    environment = {"ATOLL_CUDA_DOUBLE_DEVICES": "1", "ATOLL_CUDA_DOUBLE_REPORT": str(report)}
    with Server(folder, python_models.INTERPRETER, *SETTINGS, environment=environment) as running:
        yield running.wait_ready()
    assert IS_REAL or report.read_text() == "", "something was not given back to the driver"


@pytest.fixture(scope="module")
def gpu():
    return Gpu(Driver(), 0)


@pytest.mark.parametrize("force", ["yes", "no"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 16, 100_000])
def test_they_reach_the_model_in_memory_of_the_cpu(server, gpu, kind, force, count):
    array = models.sample(np.float32, (count,))
    size = array.nbytes
    with server.client() as client, Allocation(gpu, 2 * size) as memory:
        memory.write(array.tobytes())
        client.register_cuda_shared_memory("c", memory.handle, 0, 2 * size)
        given = grpcclient.InferInput("INPUT0", [count], "FP32")
        given.set_shared_memory("c", size)
        wanted = grpcclient.InferRequestedOutput("OUTPUT0")
        found = client.infer(f"{kind}_{force}", [given]).as_numpy("OUTPUT0")
        np.testing.assert_array_equal(found, array + 1)
        wanted.set_shared_memory("c", size, size)
        client.infer(f"{kind}_{force}", [given], outputs=[wanted])
        client.unregister_cuda_shared_memory("c")
        np.testing.assert_array_equal(np.frombuffer(memory.read(size, size), np.float32), array + 1)
        assert memory.read(size) == array.tobytes()
