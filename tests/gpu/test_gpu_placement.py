"""Where instances go when the server has GPUs (of the driver's test double): backends that do not run there serve as
without any, KIND_GPU is for those that do, and is refused in so many words elsewhere."""

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.cuda_double import DOUBLE, NO_DRIVER
from support.server import Server
from support.triton_backends import put_backend, write_manifest

AUTO = "instance_group [ { kind: KIND_AUTO } ]"
# What loads with and without GPUs, the same way.
ANYWHERE = ("plain", "auto", "two_groups", "batched", "onnx", "onnx_auto", "repeat_auto")
REPEAT_AUTO = ('name: "repeat_auto" backend: "repeat" model_transaction_policy { decoupled: true }\n' +
               "".join(models.tensor_config("input", name, kind, dims) for name, kind, dims in (
                   ("IN", "TYPE_INT32", [-1]), ("DELAY", "TYPE_UINT32", [-1]), ("WAIT", "TYPE_UINT32", [1]))) +
               "".join(models.tensor_config("output", name, kind, [1]) for name, kind in (
                   ("OUT", "TYPE_INT32"), ("IDX", "TYPE_UINT32"))) + AUTO)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")

    def identity(name, extra="", **rest):
        models.write_model(folder, name, models.identity_config(name, **rest) + extra)
    identity("plain")
    identity("auto", AUTO)
    identity("two_groups", 'instance_group [ { count: 2 }, { name: "g" kind: KIND_MODEL } ]')
    identity("batched", "dynamic_batching { }" + AUTO, max_batch_size=8)
    identity("auto_of_a_gpu", "instance_group [ { kind: KIND_AUTO gpus: [ 0 ] } ]")
    identity("on_gpu", "instance_group [ { kind: KIND_GPU } ]")
    identity("on_gpu_7", "instance_group [ { kind: KIND_GPU gpus: [ 0, 7 ] } ]")
    models.write_model(folder, "onnx", files={"model.onnx": models.onnx_add(1)})
    models.write_model(folder, "onnx_auto", 'backend: "onnxruntime"' + AUTO, files={"model.onnx": models.onnx_add(1)})
    models.write_model(folder, "onnx_on_gpu", 'backend: "onnxruntime" instance_group [ { kind: KIND_GPU } ]',
                       files={"model.onnx": models.onnx_add(1)})
    models.write_model(folder, "repeat_auto", REPEAT_AUTO)
    models.write_model(folder, "foreign", foreign_config("foreign"))
    models.write_model(folder, "foreign_auto", foreign_config("foreign_auto") + AUTO)
    models.write_model(folder, "foreign_on_cpu", foreign_config("foreign_on_cpu") + "instance_group [ { kind: KIND_CPU } ]")
    return folder


def foreign_config(name):
    return models.identity_config(name).replace('"identity"', '"echo"')


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    backends = tmp_path_factory.mktemp("backends")
    put_backend(backends, "identity", "echo")
    return write_manifest(tmp_path_factory.mktemp("manifest"), backends)


def serve(repository, manifest, library, *settings):
    return Server(repository, 'plugin.gpus.use="memory/cuda"', f'plugin.gpus.library="{library}"',
                  'plugin.repeat.use="backends/repeat"', "plugin.models.strict_readiness=false", *settings,
                  manifest=manifest, environment={"ATOLL_CUDA_DOUBLE_DEVICES": "2"})


@pytest.fixture(scope="module")
def with_gpus(repository, manifest):
    with serve(repository, manifest, DOUBLE) as running:
        running.newest_line(r"GPU 1: Atoll Test GPU")
        yield running.wait_ready()


@pytest.fixture(scope="module")
def without_gpus(repository, manifest):
    with serve(repository, manifest, NO_DRIVER) as running:
        yield running.wait_ready()


def config_of(server, model):
    with server.client() as client:
        return client.get_model_config(model, as_json=True)["config"]


def groups_of(server, model):
    return [(group["name"], group["kind"], group["count"], group.get("gpus", []))
            for group in config_of(server, model)["instance_group"]]


def reason_of(server, model):
    with server.client() as client:
        assert not client.is_model_ready(model)
        return next(one.reason for one in client.get_model_repository_index().models if one.name == model)


@pytest.mark.parametrize("model", ANYWHERE)
def test_models_of_the_cpu_load_as_without_gpus(with_gpus, without_gpus, model):
    config = config_of(with_gpus, model)
    assert config == config_of(without_gpus, model)
    assert all(group["kind"] != "KIND_GPU" and not group.get("gpus") for group in config["instance_group"])


@pytest.mark.parametrize("model", ["plain", "auto", "two_groups", "onnx", "onnx_auto"])
def test_models_of_the_cpu_answer(with_gpus, model):
    array = models.sample(np.float32, (4,))
    tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
    tensor.set_data_from_numpy(array)
    with with_gpus.client() as client:
        result = client.infer(model, [tensor]).as_numpy("OUTPUT0")
    np.testing.assert_array_equal(result, array + 1 if model.startswith("onnx") else array)


def test_kind_gpu_of_a_backend_of_the_cpu_is_refused(with_gpus):
    assert reason_of(with_gpus, "on_gpu").endswith(
        "instance 'on_gpu_0_0' is of kind GPU; the identity backend serves KIND_CPU and KIND_MODEL")
    assert reason_of(with_gpus, "onnx_on_gpu").endswith(
        "which has instances of KIND_GPU: CUDA execution provider is not enabled in this build.")


def test_a_gpu_that_is_not_there(with_gpus):
    assert reason_of(with_gpus, "on_gpu_7").endswith(
        "instance group on_gpu_7_0 of model on_gpu_7 specifies invalid or unsupported gpu id 7. GPUs with at least the "
        "minimum required CUDA compute compatibility of 6.000000 are: 0, 1")


def test_kind_gpu_without_gpus_is_refused(without_gpus):
    for model in ("on_gpu", "onnx_on_gpu"):
        assert reason_of(without_gpus, model).endswith(
            f"instance group {model}_0 of model {model} has kind KIND_GPU but no GPUs are available")


def test_gpus_of_a_group_on_the_cpu_are_refused_with_and_without(with_gpus, without_gpus):
    for server in (with_gpus, without_gpus):
        assert reason_of(server, "auto_of_a_gpu").endswith(
            "instance group auto_of_a_gpu_0 of model auto_of_a_gpu has kind KIND_CPU but specifies one or more GPUs")


def test_backends_made_for_triton_run_on_the_gpus(with_gpus, without_gpus):
    assert groups_of(with_gpus, "foreign") == [("foreign", "KIND_GPU", 1, [0, 1])]
    assert groups_of(with_gpus, "foreign_auto") == [("foreign_auto_0", "KIND_GPU", 1, [0, 1])]
    assert groups_of(without_gpus, "foreign") == [("foreign", "KIND_CPU", 1, [])]
    assert groups_of(without_gpus, "foreign_auto") == [("foreign_auto_0", "KIND_CPU", 1, [])]
    for server in (with_gpus, without_gpus):
        assert groups_of(server, "foreign_on_cpu") == [("foreign_on_cpu_0", "KIND_CPU", 1, [])]


def test_gpus_that_are_too_old_are_none(repository, manifest):
    with serve(repository, manifest, DOUBLE, "plugin.gpus.min_compute_capability=9.5",
               "plugin.configs.min_compute_capability=9.5") as server:
        server.wait_ready()
        assert reason_of(server, "on_gpu_7").endswith("specifies invalid or unsupported gpu id 0. GPUs with at least the "
                                                      "minimum required CUDA compute compatibility of 9.500000 are: ")
        assert reason_of(server, "on_gpu").endswith("has kind KIND_GPU but no GPUs are available")
        assert groups_of(server, "foreign") == [("foreign", "KIND_CPU", 1, [])]
        server.newest_line(r"GPU 0 is not used: gpu 0 has compute capability '9.0' which is less than the minimum supported "
                           r"of '9.5'")
