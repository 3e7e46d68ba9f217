"""Pools of which the instances are jobs of a real Slurm cluster."""

import numpy as np
import pytest
import tritonclient.http
from support.pools import WAIT_S, Pools, Refused
from support.slurm import Cluster
from support.waiting import eventually

IDENTITY = """
backend: "identity"
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as cluster:
        yield cluster


@pytest.fixture
def pools(tmp_path, cluster):
    for name in "abcd":
        (tmp_path / "models" / name / "1").mkdir(parents=True)
        (tmp_path / "models" / name / "config.pbtxt").write_text(IDENTITY)
    pools = Pools(tmp_path, tmp_path / "models", 'plugin.launcher.poll_interval="100ms"',
                  'plugin.launcher.queue_timeout="5s"', 'plugin.pools.idle_timeout="1s"', launcher="launchers/slurm",
                  environment=cluster.environment).start()
    yield pools
    for pool in pools.call("GET", "/v2/pools")["pools"]:
        pools.call("DELETE", f"/v2/pools/{pool['name']}?force=true")
    eventually(lambda: pools.call("GET", "/v2/pools")["pools"] == [] and cluster.jobs() == [], WAIT_S)
    pools.close()


def infer(lease, model):
    with tritonclient.http.InferenceServerClient(lease["address"]) as client:
        tensor = tritonclient.http.InferInput("INPUT0", [1, 2], "FP32")
        tensor.set_data_from_numpy(np.array([[1, 2]], np.float32))
        return client.infer(model, [tensor]).as_numpy("OUTPUT0").tolist()


def test_a_pool_goes_from_nothing_to_its_maximum_and_back(pools, cluster):
    pools.create(max_instances=3, instance={"cpus": 2, "memory": "1000MiB"})
    leases = {model: pools.acquire(model, quota=8) for model in "abc"}
    assert sorted(cluster.jobs()) == ["n0", "n1", "n2"]
    for model, lease in leases.items():
        assert infer(lease, model) == [[1, 2]]
    with pytest.raises(Refused) as refused:
        pools.acquire("d", quota=1)
    assert refused.value.status == 429
    # A node goes down: its instance is replaced as soon as there is room, which there is not yet.
    lost = next(lease for lease in leases.values() if lease["instance"] == "i0")
    (node,) = cluster.run("squeue", "-h", "-t", "RUNNING", "-o", "%N", "-n", "atoll-" + next(
        instance["id"] for instance in pools.pool()["instances"] if instance["name"] == "i0")).split()
    cluster.set_node(node, "down")
    eventually(lambda: f"Slurm has lost node {node}" in pools.server.log, WAIT_S)
    cluster.set_node(node, "resume")
    eventually(lambda: pools.lease(lost)["state"] in ("ACTIVE", "FAILED"), WAIT_S)
    if pools.lease(lost)["state"] == "FAILED":  # the node did not come back in time
        lost = pools.acquire(lost["models"][0]["name"], quota=8)
    again = pools.lease(lost)
    assert infer(again, again["models"][0]["name"]) == [[1, 2]]
    for lease in pools.call("GET", "/v2/leases")["leases"]:
        pools.release(lease)
    eventually(lambda: pools.pool()["instances"] == [] and cluster.jobs() == [], WAIT_S)


def test_what_no_node_has_and_what_none_has_free(pools):
    pools.create("large", instance={"cpus": 100})
    pools.create("three", max_instances=4, instance={"cpus": 2})
    with pytest.raises(Refused) as refused:
        pools.acquire("a", pool="large")
    assert refused.value.status == 503 and "Slurm refuses its job" in refused.value.text
    for model in "abc":
        pools.acquire(model, pool="three", quota=8)
    with pytest.raises(Refused) as refused:
        pools.acquire("d", pool="three", quota=8)
    assert refused.value.status == 503 and "in Slurm's queue: " in refused.value.text


def test_jobs_outlive_the_server_and_slurms_controller(pools, cluster):
    pools.create()
    lease = pools.acquire("a")
    pools.kill()
    assert infer(lease, "a") == [[1, 2]]
    cluster.stop_controller()
    pools.start()
    eventually(lambda: "Slurm does not answer" in pools.server.log, WAIT_S)
    assert infer(lease, "a") == [[1, 2]]
    assert pools.lease(lease)["state"] == "PENDING"
    cluster.start_controller()
    eventually(lambda: pools.lease(lease)["state"] == "ACTIVE", WAIT_S)
    assert pools.lease(lease)["address"] == lease["address"]
    assert infer(lease, "a") == [[1, 2]]
    assert len(cluster.jobs()) == 1
