"""The calls of pools over gRPC, by a client that is made of their .proto file."""

import importlib
import subprocess
import sys

import grpc
import pytest
from support.pools import WAIT_S, Pools
from support.server import ROOT

CONFIG = """
backend: "identity"
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("messages")
    subprocess.run(["protoc", f"--python_out={folder}", f"-I{ROOT}/plugins/pools/leases", "pools.proto"], check=True)
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("pools_pb2")
    finally:
        sys.path.remove(str(folder))


@pytest.fixture
def pools(tmp_path, grpc_frontend):
    (tmp_path / "models" / "a" / "1").mkdir(parents=True)
    (tmp_path / "models" / "a" / "config.pbtxt").write_text(CONFIG)
    pools = Pools(tmp_path, tmp_path / "models", f'plugin.grpc.use="{grpc_frontend}"').start()
    yield pools
    pools.close()


def test_a_lease_over_grpc(pools, messages):
    with grpc.insecure_channel(pools.server.address) as channel:
        def unary(method, request, answer):
            return channel.unary_unary(f"/pools.v1.{method}", type(request).SerializeToString,
                                       answer.FromString)(request, timeout=WAIT_S)
        pool = unary("PoolService/Create", messages.PoolDefinition(name="fraud", quota=8, max_instances=1), messages.Pool)
        assert (pool.definition.quota, pool.definition.enforce_backends, len(pool.instances)) == (8, True, 0)
        request = messages.LeaseDefinition(pool="fraud", quota=2, models=[{"name": "a", "source": str(pools.models)}])
        request.duration.seconds = 600
        stream = channel.unary_stream("/pools.v1.LeaseService/Acquire", messages.LeaseDefinition.SerializeToString,
                                      messages.Lease.FromString)(request, timeout=WAIT_S)
        changes = list(stream)
        assert changes[0].state == "PENDING" and changes[-1].state == "ACTIVE"
        lease = changes[-1]
        assert lease.grpc_address and lease.expires_at.seconds - lease.created_at.seconds == 600
        assert pools.lease({"id": lease.id})["address"] == lease.address
        request.quota = 7
        with pytest.raises(grpc.RpcError) as refused:
            list(channel.unary_stream("/pools.v1.LeaseService/Acquire", messages.LeaseDefinition.SerializeToString,
                                      messages.Lease.FromString)(request, timeout=WAIT_S))
        assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert refused.value.details().startswith("pool 'fraud' has no instance with 7 free: i0 free 6")
        released = unary("LeaseService/Release", messages.LeaseRequest(lease=lease.id), messages.Lease)
        assert released.state == "RELEASED"
