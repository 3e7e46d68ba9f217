"""A GPU that is lost while models run on it (the driver's test double says when): its models say so and are not ready,
everything else goes on."""

import contextlib

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.control import EXPLICIT
from support.cuda_double import DOUBLE
from support.server import BUILD, Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

LOST = "GPU 0 is lost: "
CODE = "CUDA_ERROR_ILLEGAL_ADDRESS (700)"
HELD_BYTES = 3 << 20
PLUGINS = ", ".join(f'"{folder}"' for folder in (BUILD / "lib/atoll/plugins", BUILD / "tests/wire/plugins"))
# Enough that the models are loaded and have answered, which is far from what STICKY counts.
HEALTHY_REQUESTS = 3


def on_gpus(name, gpus=""):
    group = f"instance_group [ {{ count: 1 kind: KIND_GPU gpus: [ {gpus} ] }} ]" if gpus else ""
    return models.identity_config(name).replace('"identity"', '"on_gpu"') + group


@pytest.fixture()
def repository(tmp_path):
    models.write_model(tmp_path, "first", on_gpus("first", "0"))
    models.write_model(tmp_path, "second", on_gpus("second", "1"))
    models.write_model(tmp_path, "both", on_gpus("both"))
    models.write_model(tmp_path, "cpu", models.identity_config("cpu"))
    return tmp_path


@contextlib.contextmanager
def serve(repository, loaded, *settings, **variables):
    """A server with two GPUs of the double. variables: of the double's environment"""
    listed = ", ".join(f'"{model}"' for model in loaded)
    with Server(repository, EXPLICIT, f"plugin.control.load_model=[{listed}]", f"atoll.plugin_path=[{PLUGINS}]",
                'plugin.gpus.use="memory/cuda"', f'plugin.gpus.library="{DOUBLE}"', 'plugin.on_gpu.use="fixtures/on_gpu"',
                f'plugin.on_gpu.held="{HELD_BYTES}B"', *settings,
                environment={"ATOLL_CUDA_DOUBLE_DEVICES": "2",
                             **{f"ATOLL_CUDA_DOUBLE_{name}": value for name, value in variables.items()}}) as server:
        yield server.wait_ready()


def infer(client, model):
    array = models.sample(np.float32, (100,))
    tensor = grpcclient.InferInput("INPUT0", [100], "FP32")
    tensor.set_data_from_numpy(array)
    np.testing.assert_array_equal(client.infer(model, [tensor]).as_numpy("OUTPUT0"), array)


def entry_of(client, model):
    return next(one for one in client.get_model_repository_index().models if one.name == model)


def lose_the_first_gpu(client):
    """Until it answers with the failure. \\returns the failure"""
    for _ in range(1000):
        try:
            infer(client, "first")
        except InferenceServerException as failure:
            return failure
    raise AssertionError("it is not lost")


def test_a_lost_gpu_takes_its_models_and_no_others(repository):
    with serve(repository, ("first", "second", "cpu"), STICKY="0:20:700") as server, server.client() as client:
        assert client.is_server_ready() and entry_of(client, "first").reason == ""
        failure = lose_the_first_gpu(client)
        assert failure.status() == "StatusCode.UNAVAILABLE"
        assert LOST in failure.message() and CODE in failure.message()
        for _ in range(HEALTHY_REQUESTS):
            infer(client, "second")
            infer(client, "cpu")
        assert [client.is_model_ready(model) for model in ("first", "second", "cpu")] == [False, True, True]
        entry = entry_of(client, "first")
        assert entry.state == "READY", "it is there, and cannot serve"
        assert entry.reason.startswith(f"an instance is not ready: {LOST}") and entry.reason.endswith(CODE)
        assert entry_of(client, "second").reason == ""
        assert client.is_server_live() and not client.is_server_ready(), "readiness is strict"

        with pytest.raises(InferenceServerException) as reload:
            (repository / "first" / "1" / "changed").write_text("so that it is loaded anew")
            client.load_model("first")
        assert f"an instance group of model 'first' wants GPU 0: {LOST}" in reload.value.message()
        infer(client, "second")

        client.unload_model("first")
        eventually(client.is_server_ready)
        models.write_model(repository, "first", on_gpus("first", "1"))
        client.load_model("first")  # where there is a GPU left
        infer(client, "first")


def test_a_model_on_all_gpus_is_loaded_on_those_that_are_left(repository):
    with serve(repository, ("first", "cpu"), STICKY="0:20:700") as server, server.client() as client:
        lose_the_first_gpu(client)
        client.load_model("both")
        group = client.get_model_config("both", as_json=True)["config"]["instance_group"][0]
        assert group["kind"] == "KIND_GPU" and group["gpus"] == [1]
        infer(client, "both")


def test_statistics_tell_the_memory_of_each_gpu(repository):
    with serve(repository, ("first", "both")) as server, server.client() as client, server.http_client() as http:
        usage = {model.name: [(one.type, one.id, one.byte_size) for one in model.memory_usage]
                 for model in client.get_inference_statistics().model_stats}
        assert usage == {"first": [("GPU", 0, HELD_BYTES)], "both": [("GPU", 0, HELD_BYTES), ("GPU", 1, HELD_BYTES)]}
        shown = http.get_inference_statistics("both")["model_stats"][0]["memory_usage"]
        assert shown == [{"type": "GPU", "id": gpu, "byte_size": HELD_BYTES} for gpu in (0, 1)]


def test_a_load_that_fills_a_gpu_too_far_is_undone(repository):
    models.write_model(repository, "many", on_gpus("many", "1").replace("count: 1", "count: 8"))
    # Each instance has 3 MiB of 64; the double gives out whole blocks of 2 MiB.
    with serve(repository, ("second", "cpu"), 'plugin.models.gpu_load_limit={"1"="0.25"}', 'plugin.gpus.kept="0B"',
               MEMORY="64MiB") as server, server.client() as client:
        with pytest.raises(InferenceServerException) as refusal:
            client.load_model("many")
        assert ("memory limit set for GPU 1 has exceeded, model loading is rejected." in refusal.value.message()
                and "can not create model 'many_0_" in refusal.value.message())
        server.newest_line(r"instance 'many_0_\d': \S+ MiB of the 64.0 MiB of GPU 1 are in use")
        for _ in range(HEALTHY_REQUESTS):
            infer(client, "second")
        models.write_model(repository, "many", on_gpus("many", "1").replace("count: 1", "count: 2"))
        client.load_model("many")  # there is room for what was given up
        infer(client, "many")
