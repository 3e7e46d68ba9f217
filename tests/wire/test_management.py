"""Health, metadata, configuration, statistics and the repository index; and models that cannot be served."""

import grpc
import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from grpc_health.v1 import health_pb2, health_pb2_grpc
from support import models
from support.server import Server
from support.triton_program import SERVERS, start
from tritonclient.utils import InferenceServerException


@pytest.fixture(scope="module", params=SERVERS)
def server(request, tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    models.write_model(repository, "good", models.identity_config("good", dims=(-1, 4), max_batch_size=8))
    models.write_model(repository, "good", version=3)
    models.write_model(repository, "auto", files={"model.onnx": models.onnx_add_sub()})
    with start(request.param, repository) as running:
        yield running.wait_ready()


@pytest.fixture(scope="module")
def client(server):
    with server.client() as client:
        yield client


def infer(client, model="good", rows=2, **more):
    tensor = grpcclient.InferInput("INPUT0", [rows, 1, 4], "FP32")
    tensor.set_data_from_numpy(np.ones((rows, 1, 4), np.float32))
    return client.infer(model, [tensor], **more)


def test_health(server, client):
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("good")
    assert client.is_model_ready("good", "3")
    for name, version in (("good", "2"), ("unknown", ""), ("unknown", "1")):
        assert client.is_model_ready(name, version) is False
    with grpc.insecure_channel(server.address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        assert stub.Check(health_pb2.HealthCheckRequest(service="any")).status == 1
        with pytest.raises(grpc.RpcError) as caught:
            next(stub.Watch(health_pb2.HealthCheckRequest()))
        assert caught.value.code().name == "UNIMPLEMENTED"


def test_server_metadata(client):
    metadata = client.get_server_metadata()
    assert metadata.name and metadata.version
    assert "statistics" in metadata.extensions and "binary_tensor_data" in metadata.extensions


def test_model_metadata(client):
    metadata = client.get_model_metadata("good")
    # The version policy's default is the latest one.
    assert (metadata.name, list(metadata.versions), metadata.platform) == ("good", ["3"], "identity")
    assert [(t.name, t.datatype, list(t.shape)) for t in metadata.inputs] == [("INPUT0", "FP32", [-1, -1, 4])]
    assert [(t.name, t.datatype, list(t.shape)) for t in metadata.outputs] == [("OUTPUT0", "FP32", [-1, -1, 4])]
    metadata = client.get_model_metadata("auto", "1")
    assert metadata.platform == "onnxruntime_onnx" and list(metadata.versions) == ["1"]
    assert [(t.name, list(t.shape)) for t in metadata.inputs] == [("INPUT0", [-1, 16]), ("INPUT1", [-1, 16])]


def test_model_config_is_completed(client):
    config = client.get_model_config("auto").config
    assert (config.name, config.platform, config.backend) == ("auto", "onnxruntime_onnx", "onnxruntime")
    assert (config.max_batch_size, config.default_model_filename) == (4, "model.onnx")
    assert [list(tensor.dims) for tensor in config.input] == [[16], [16]]
    assert config.version_policy.latest.num_versions == 1
    assert len(config.instance_group) == 1
    assert config.dynamic_batching.preferred_batch_size == [4]


@pytest.mark.parametrize("call", ["get_model_metadata", "get_model_config"])
def test_unknown_models(client, call):
    with pytest.raises(InferenceServerException) as caught:
        getattr(client, call)("nope")
    assert caught.value.status() == "StatusCode.NOT_FOUND"
    assert caught.value.message() == "Request for unknown model: 'nope' is not found"


def test_statistics_count_what_was_sent(client):
    def snapshot():
        return client.get_inference_statistics("good").model_stats[0]

    before = snapshot()
    for rows in (1, 2, 2, 5):
        infer(client, rows=rows)
    after = snapshot()
    assert (after.name, after.version) == ("good", "3")
    assert after.inference_count - before.inference_count == 10
    assert after.execution_count - before.execution_count == 4
    stats = after.inference_stats
    assert stats.success.count - before.inference_stats.success.count == 4
    assert stats.fail.count == before.inference_stats.fail.count
    parts = stats.queue.ns + stats.compute_input.ns + stats.compute_infer.ns + stats.compute_output.ns
    assert stats.success.ns >= parts > 0
    sizes = {entry.batch_size: entry.compute_infer.count for entry in after.batch_stats}
    earlier = {entry.batch_size: entry.compute_infer.count for entry in before.batch_stats}
    assert {size: count - earlier.get(size, 0) for size, count in sizes.items() if count != earlier.get(size, 0)} == {
        1: 1, 2: 2, 5: 1}
    assert after.last_inference > 1_600_000_000_000


def test_statistics_of_all_models_and_of_none(client):
    assert [stats.name for stats in client.get_inference_statistics().model_stats] == ["auto", "good"]
    with pytest.raises(InferenceServerException) as caught:
        client.get_inference_statistics("nope")
    assert caught.value.status() == "StatusCode.INVALID_ARGUMENT"
    assert caught.value.message() == "requested model 'nope' is not available"


def test_index(client):
    index = client.get_model_repository_index().models
    assert [(m.name, m.version, m.state) for m in index] == [("auto", "1", "READY"), ("good", "3", "READY")]


def test_models_are_not_loaded_on_demand_in_mode_none(client):
    with pytest.raises(InferenceServerException) as caught:
        client.load_model("good")
    assert caught.value.status() == "StatusCode.UNAVAILABLE"
    assert caught.value.message() == "explicit model load / unload is not allowed if polling is enabled"


BROKEN = {
    "corrupt_onnx": (None, {"model.onnx": b"this is no graph"}, ["model.onnx"]),
    "empty_onnx": (None, {"model.onnx": b""}, ["model.onnx"]),
    "bad_config": ('name: "bad_config"\nbackend: "identity"\nmax_batchsize: 4\n', {}, ["config.pbtxt:3:", "max_batchsize"]),
    "bad_value": ('backend: "identity"\nmax_batch_size: -1\n', {}, ["max_batch_size", "config.pbtxt"]),
    "no_backend": ('backend: "nowhere"\n', {}, ["unable to find backend library for backend 'nowhere'"]),
    "wrong_name": ('name: "other" backend: "identity"\n', {}, ["unexpected directory name 'wrong_name'"]),
}


def test_broken_models_are_named_and_the_others_serve(tmp_path):
    for name, (config, files, _) in BROKEN.items():
        models.write_model(tmp_path, name, config, files=files)
    (tmp_path / "no_version").mkdir()
    (tmp_path / "no_version" / "config.pbtxt").write_text(models.identity_config("no_version"))
    models.write_model(tmp_path, "empty_version", 'backend: "onnxruntime"\n')
    models.write_model(tmp_path, "good", models.identity_config("good", dims=(-1, 4), max_batch_size=8))
    with Server(tmp_path) as server, server.client() as client:
        server.wait_ready("good")
        infer(client)
        expected = {name: words for name, (_, _, words) in BROKEN.items()}
        expected["no_version"] = ["at least one version must be available"]
        expected["empty_version"] = ["model.onnx"]
        index = {}
        for _ in range(2000):
            index = {model.name: model for model in client.get_model_repository_index().models}
            if all(index[name].state == "UNAVAILABLE" for name in expected):
                break
        for name, words in expected.items():
            assert index[name].state == "UNAVAILABLE", name
            for word in words:
                assert word in index[name].reason, f"{name}: {index[name].reason}"
            assert not client.is_model_ready(name)
            with pytest.raises(InferenceServerException) as caught:
                infer(client, name)
            assert caught.value.status() in ("StatusCode.NOT_FOUND", "StatusCode.UNAVAILABLE")
        assert index["good"].state == "READY"
        assert client.is_server_live()
        # Strict readiness: a failed model keeps the server as a whole from being ready.
        assert not client.is_server_ready()
