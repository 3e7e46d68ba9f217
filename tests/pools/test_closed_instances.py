"""Instances of pools are closed: their addresses are told to every client, and only the server that keeps the pools has their keys."""

import base64
import http.client
import json
import pathlib
import sqlite3

import grpc
import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http
from support.pools import WAIT_S, Pools
from support.waiting import eventually
from tritonclient.grpc import service_pb2, service_pb2_grpc

IDENTITY = """
backend: "identity"
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""
REGION = {"key": "/atoll_closed", "offset": 0, "byte_size": 64}
HTTP_CONTROL = [
    ("POST", "/v2/repository/index", {}),
    ("POST", "/v2/repository/models/a/load", {}),
    ("POST", "/v2/repository/models/a/unload", {}),
    ("GET", "/v2/trace/setting", None),
    ("POST", "/v2/trace/setting", {"trace_rate": "7"}),
    ("GET", "/v2/models/a/trace/setting", None),
    ("POST", "/v2/models/a/trace/setting", {"trace_rate": "7"}),
    ("GET", "/v2/logging", None),
    ("POST", "/v2/logging", {"log_verbose_level": 1}),
]
HTTP_REGIONS = [
    ("GET", "/v2/systemsharedmemory/status", None),
    ("POST", "/v2/systemsharedmemory/region/r/register", REGION),
    ("POST", "/v2/systemsharedmemory/unregister", {}),
    ("GET", "/v2/cudasharedmemory/status", None),
    ("POST", "/v2/cudasharedmemory/unregister", {}),
]
HTTP_OPEN = ["/v2", "/v2/health/live", "/v2/health/ready", "/v2/models/a", "/v2/models/a/ready", "/v2/models/a/config",
             "/v2/models/a/stats", "/v2/models/stats"]
GRPC_CONTROL = [
    ("RepositoryIndex", service_pb2.RepositoryIndexRequest()),
    ("RepositoryModelLoad", service_pb2.RepositoryModelLoadRequest(model_name="a")),
    ("RepositoryModelUnload", service_pb2.RepositoryModelUnloadRequest(model_name="a")),
    ("TraceSetting", service_pb2.TraceSettingRequest()),
    ("LogSettings", service_pb2.LogSettingsRequest()),
]
GRPC_REGIONS = [
    ("SystemSharedMemoryStatus", service_pb2.SystemSharedMemoryStatusRequest()),
    ("SystemSharedMemoryRegister", service_pb2.SystemSharedMemoryRegisterRequest(name="r", **REGION)),
    ("SystemSharedMemoryUnregister", service_pb2.SystemSharedMemoryUnregisterRequest()),
    ("CudaSharedMemoryStatus", service_pb2.CudaSharedMemoryStatusRequest()),
    ("CudaSharedMemoryUnregister", service_pb2.CudaSharedMemoryUnregisterRequest()),
]
GRPC_OPEN = [
    ("ServerLive", service_pb2.ServerLiveRequest()),
    ("ServerReady", service_pb2.ServerReadyRequest()),
    ("ServerMetadata", service_pb2.ServerMetadataRequest()),
    ("ModelReady", service_pb2.ModelReadyRequest(name="a")),
    ("ModelMetadata", service_pb2.ModelMetadataRequest(name="a")),
    ("ModelConfig", service_pb2.ModelConfigRequest(name="a")),
    ("ModelStatistics", service_pb2.ModelStatisticsRequest(name="a")),
]


def start(tmp_path, *settings):
    (tmp_path / "models/a/1").mkdir(parents=True)
    (tmp_path / "models/a/config.pbtxt").write_text(IDENTITY)
    return Pools(tmp_path, tmp_path / "models", 'plugin.pools.health_interval="100ms"', *settings).start()


@pytest.fixture
def pools(tmp_path):
    pools = start(tmp_path)
    yield pools
    pools.close()


def ask(address, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection(address, timeout=WAIT_S)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers or {})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def code(address, method, message, metadata=()):
    with grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        try:
            getattr(stub, method)(message, timeout=WAIT_S, metadata=metadata)
            return grpc.StatusCode.OK, ""
        except grpc.RpcError as error:
            return error.code(), error.details()


def key_of(pools, instance="i0"):
    """As only the user of the server can read it."""
    (process,) = pools.processes()
    variables = dict(variable.split("=", 1) for variable in
                     pathlib.Path(f"/proc/{process}/environ").read_text().split("\0") if "=" in variable)
    (entry,) = json.loads(variables["ATOLL__PLUGIN__KEYS__RESTRICTED_APIS"])
    return entry.split("atoll-key=")[1]


def infer(module, address, model="a"):
    with module.InferenceServerClient(address) as client:
        tensor = module.InferInput("INPUT0", [1, 2], "FP32")
        tensor.set_data_from_numpy(np.array([[1, 2]], np.float32))
        return client.infer(model, [tensor]).as_numpy("OUTPUT0").tolist()


def test_control_needs_the_key_and_everything_else_does_not(pools):
    pools.create()
    lease = pools.acquire("a")
    for wrong in ({}, {"atoll-key": ""}, {"atoll-key": "0" * 64}):
        for call in HTTP_CONTROL + HTTP_REGIONS:
            status, text = ask(lease["address"], *call, headers=wrong)
            assert status == 403 and "This API is restricted" in text, call
        for method, message in GRPC_CONTROL + GRPC_REGIONS:
            metadata = [(f"triton-grpc-protocol-{name}", value) for name, value in wrong.items()]
            status, text = code(lease["grpc_address"], method, message, metadata)
            assert status == grpc.StatusCode.UNAVAILABLE and "This protocol is restricted" in text, method
    for path in HTTP_OPEN:
        assert ask(lease["address"], "GET", path)[0] == 200, path
    for method, message in GRPC_OPEN:
        assert code(lease["grpc_address"], method, message)[0] == grpc.StatusCode.OK, method
    assert infer(tritonclient.http, lease["address"]) == [[1, 2]]
    assert infer(tritonclient.grpc, lease["grpc_address"]) == [[1, 2]]
    key = key_of(pools)
    assert len(key) == 64
    for method, path, body in HTTP_CONTROL:
        if not path.endswith("/unload"):
            assert ask(lease["address"], method, path, body, {"atoll-key": key})[0] == 200, path
    for method, message in GRPC_CONTROL:
        if not method.endswith("Unload"):
            status, text = code(lease["grpc_address"], method, message, [("triton-grpc-protocol-atoll-key", key)])
            assert status == grpc.StatusCode.OK, (method, text)
    assert pools.release(lease)["state"] == "RELEASED"


def test_each_instance_has_a_key_of_its_own_that_outlives_the_server(pools):
    pools.create(min_instances=2)
    pools.wait_instances(2)
    eventually(lambda: all(i["state"] == "READY" for i in pools.pool()["instances"]), WAIT_S)
    file = pools.folder / "pools/pools.sqlite"
    assert file.stat().st_mode & 0o077 == 0
    pools.kill()
    with sqlite3.connect(file) as database:
        keys = [key for (key,) in database.execute("SELECT key FROM instances")]
    database.close()
    assert len(set(keys)) == 2 and all(len(key) == 64 for key in keys)
    for path in pools.folder.glob("servers/*/*"):
        assert not any(key in path.read_text(errors="replace") for key in keys), path
    for process in pools.processes():
        assert not any(key in pathlib.Path(f"/proc/{process}/cmdline").read_text() for key in keys)
    assert not any(key in pools.server.log for key in keys)
    pools.start()
    assert pools.acquire("a")["state"] == "ACTIVE"
    assert "takes model control of anybody" not in pools.server.log


def test_nobody_brings_files(pools):
    pools.create()
    lease = pools.acquire("a")
    code_file = {"parameters": {"config": '{"backend":"identity","max_batch_size":0}',
                                "file:1/model.py": base64.b64encode(b"raise SystemExit").decode()}}
    status, text = ask(lease["address"], "POST", "/v2/repository/models/evil/load", code_file, {"atoll-key": key_of(pools)})
    assert status == 501 and "files that come with the call is switched off" in text, text


def test_a_model_that_is_lost_comes_back(pools):
    pools.create()
    lease = pools.acquire("a")
    key = key_of(pools)
    assert ask(lease["address"], "POST", "/v2/repository/models/a/unload", {}, {"atoll-key": key})[0] == 200
    eventually(lambda: "its instance has lost it" in pools.server.log, WAIT_S)
    eventually(lambda: pools.lease(lease)["state"] == "ACTIVE", WAIT_S)
    assert infer(tritonclient.http, lease["address"]) == [[1, 2]]
    assert infer(tritonclient.http, pools.server.http_address) == [[1, 2]]


def test_shared_memory_where_it_is_switched_on(tmp_path):
    pools = start(tmp_path, "plugin.launcher.shared_memory=true")
    try:
        pools.create()
        lease = pools.acquire("a")
        for method, path, body in HTTP_REGIONS:
            assert ask(lease["address"], method, path, body)[0] != 403, path
        for method, message in GRPC_REGIONS:
            assert code(lease["grpc_address"], method, message)[0] != grpc.StatusCode.UNAVAILABLE, method
        assert ask(lease["address"], *HTTP_CONTROL[0])[0] == 403
    finally:
        pools.close()


def test_a_runtime_that_is_open_is_told(tmp_path):
    # With {key} on its command line a runtime closes its server itself; this one does not.
    runtime = ("{bin}/tritonserver --model-repository={repository} --model-control-mode=explicit --http-address=127.0.0.1 "
               "--http-port=0 --grpc-address=127.0.0.1 --grpc-port=0 --allow-metrics=false --id={key}")
    closed = runtime.replace("--id={key}", "--http-restricted-api=model-repository,trace,logging:atoll-key={key} "
                             "--grpc-restricted-protocol=model-repository,trace,logging:atoll-key={key}")
    pools = start(tmp_path, "plugin.launcher.runtimes={open = '%s', closed = '%s'}" % (runtime, closed))
    try:
        pools.create("closed", instance={"runtime": "closed"})
        lease = pools.acquire("a", pool="closed")
        assert ask(lease["address"], *HTTP_CONTROL[0])[0] == 403
        assert code(lease["grpc_address"], *GRPC_CONTROL[0])[0] == grpc.StatusCode.UNAVAILABLE
        assert "takes model control of anybody" not in pools.server.log
        pools.create("open", instance={"runtime": "open"})
        lease = pools.acquire("a", pool="open")
        eventually(lambda: "pool 'open': instance i0 takes model control of anybody who reaches "
                   f"{lease['address']}: its runtime does not use its key" in pools.server.log, WAIT_S)
    finally:
        pools.close()
