"""Pools of real servers on this machine, leased out over HTTP."""

import http.client
import json
import os
import pathlib
import shutil
import signal
import threading

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http
from support.pools import WAIT_S, Pools, Refused
from support.waiting import eventually


IDENTITY = """
backend: "identity"
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""


def add_model(models, name, text=IDENTITY):
    folder = pathlib.Path(models) / name
    (folder / "1").mkdir(parents=True)
    (folder / "config.pbtxt").write_text(text)


@pytest.fixture
def models(tmp_path):
    for name in ("a", "b", "c"):
        add_model(tmp_path / "models", name)
    add_model(tmp_path / "models", "broken", 'backend: "nothing_like_it"')
    return tmp_path / "models"


@pytest.fixture
def pools(tmp_path, models):
    pools = Pools(tmp_path, models).start()
    yield pools
    pools.close()


def infer(client, module, model):
    """Of 1 and 2, by a client of either protocol."""
    tensor = module.InferInput("INPUT0", [1, 2], "FP32")
    tensor.set_data_from_numpy(np.array([[1, 2]], np.float32))
    return client.infer(model, [tensor]).as_numpy("OUTPUT0").tolist()


def test_from_a_definition_to_an_inference(pools):
    created = pools.create(instance={"cpus": 1, "memory": "256MiB"})
    assert (created["quota"], created["instance"]["memory"], created["instances"]) == (8, 256 << 20, [])
    lease = pools.acquire("a", "b")
    assert (lease["state"], lease["instance"], lease["quota"]) == ("ACTIVE", "i0", 2)
    assert [(model["name"], model["state"]) for model in lease["models"]] == [("a", "READY"), ("b", "READY")]
    with tritonclient.http.InferenceServerClient(lease["address"]) as client:
        assert infer(client, tritonclient.http, "a") == [[1, 2]]
        assert infer(client, tritonclient.http, "b") == [[1, 2]]
    (instance,) = pools.pool()["instances"]
    assert (instance["state"], instance["used"], instance["free"]) == ("READY", 2, 6)
    assert (instance["backends"], instance["leases"]) == (["identity"], [lease["id"]])
    assert len(os.sched_getaffinity(pools.processes()[0])) == 1
    assert pools.release(lease)["state"] == "RELEASED"
    with tritonclient.http.InferenceServerClient(lease["address"]) as client:
        assert not client.is_model_ready("a")
    assert pools.pool()["instances"][0]["used"] == 0


def test_the_progress_of_a_lease(pools):
    pools.create()
    connection = http.client.HTTPConnection(pools.server.http_address, timeout=WAIT_S)
    connection.request("POST", "/v2/leases", json.dumps(
        {"pool": "fraud", "quota": 1, "models": [{"name": "a", "source": str(pools.models)}]}),
        {"Accept": "text/event-stream"})
    response = connection.getresponse()
    assert response.getheader("Content-Type") == "text/event-stream"
    events = [json.loads(event.removeprefix(b"data: ")) for event in response.read().split(b"\n\n") if event]
    states = [event["state"] for event in events]
    assert states[0] == "PENDING" and states[-1] == "ACTIVE" and "DEPLOYING" in states
    assert events[-1]["address"] and events[-1]["models"][0]["state"] == "READY"
    connection.close()


def test_a_second_instance_and_then_no_room(pools):
    pools.create()
    first, second = pools.acquire("a", quota=6), pools.acquire("b", quota=3)
    assert (first["instance"], second["instance"]) == ("i0", "i1")
    with pytest.raises(Refused) as refused:
        pools.acquire("c", quota=6)
    assert refused.value.status == 429
    assert refused.value.text == (
        "pool 'fraud' has no instance with 6 free: i0 free 2, i1 free 5; at maximum 2")
    plan = pools.call("POST", "/v2/leases?dry_run=true",
                      {"pool": "fraud", "quota": 5, "models": [{"name": "a", "source": str(pools.models)}]})
    assert plan["instance"] == "i1" and not plan["starts_instance"]


def test_models_that_can_not_be_leased(pools, tmp_path):
    pools.create(max_instances=16)  # an instance whose first lease fails goes, and counts until it is gone
    cases = [(("broken",), {}, 422, "model 'broken' failed to load: "),
             (("a", "broken"), {}, 422, "model 'broken' failed to load: "),
             (("none",), {}, 422, f"source '{pools.models}' has no model 'none'"),
             (("a", "none"), {}, 422, f"source '{pools.models}' has no model 'none'"),
             (("a",), {"pool": "none"}, 404, "pool 'none' is not found"),
             (("a", "a"), {}, 400, "models[1].name is 'a', which is in the lease already"),
             (("../a",), {}, 400, "models[0].name is '../a', expected a name without '/'")]
    for names, definition, status, text in cases:
        with pytest.raises(Refused) as refused:
            pools.acquire(*names, **definition)
        assert refused.value.status == status and refused.value.text.startswith(text), refused.value
    shutil.copytree(pools.models / "a", tmp_path / "secret" / "a")
    (pools.models / "link").symlink_to(tmp_path / "secret" / "a")
    for name, source, status in (("a", tmp_path / "secret", 400), ("link", pools.models, 422)):
        with pytest.raises(Refused) as refused:
            pools.acquire(models=[{"name": name, "source": str(source)}])
        assert refused.value.status == status and "'sources'" in refused.value.text
    assert pools.acquire("a")["state"] == "ACTIVE"


def test_an_instance_that_is_killed_is_replaced_with_its_leases(pools):
    pools.create()
    lease = pools.acquire("a")
    before = pools.processes()
    os.kill(before[0], signal.SIGKILL)
    eventually(lambda: pools.processes() not in ([], before) and pools.lease(lease)["state"] == "ACTIVE", WAIT_S)
    again = pools.lease(lease)
    assert again["id"] == lease["id"]
    with tritonclient.http.InferenceServerClient(again["address"]) as client:
        assert infer(client, tritonclient.http, "a") == [[1, 2]]


def test_instances_outlive_the_server_and_are_found_again(pools):
    pools.create(instance={"cpus": 1})
    lease, name = pools.acquire("a"), "production"
    pools.call("PUT", f"/v2/lease_names/{name}", {"lease": lease["id"]})
    processes = pools.processes()
    with tritonclient.http.InferenceServerClient(lease["address"]) as client:
        for end in (pools.kill, lambda: pools.server.stop()):
            end()
            assert infer(client, tritonclient.http, "a") == [[1, 2]]
            pools.start()
            eventually(lambda: pools.lease(lease)["state"] == "ACTIVE", WAIT_S)
            again = pools.lease(lease)
            assert (again["address"], again["name"], again["expires_at"]) == (
                lease["address"], name, lease["expires_at"])
            assert pools.processes() == processes
            assert infer(client, tritonclient.http, "a") == [[1, 2]]


def test_instances_that_went_meanwhile_are_started_anew(pools):
    pools.create()
    lease = pools.acquire("a")
    pools.kill()
    os.kill(pools.processes()[0], signal.SIGKILL)
    pools.start()
    eventually(lambda: pools.lease(lease)["state"] == "ACTIVE", WAIT_S)
    again = pools.lease(lease)
    with tritonclient.http.InferenceServerClient(again["address"]) as client:
        assert infer(client, tritonclient.http, "a") == [[1, 2]]


def test_instances_end_with_the_server_where_they_are_meant_to(tmp_path, models):
    pools = Pools(tmp_path, models, "plugin.launcher.end_with_server=true").start()
    try:
        pools.create(min_instances=1)
        lease = pools.acquire("a")
        process = pools.processes()[0]
        pools.reload('use = "launchers/process"', 'max_log_size = "1MiB"')
        eventually(lambda: state_of(pools, lease) == "ACTIVE", WAIT_S)
        assert pools.processes() == [process], "it is not the server that ends"
        assert pools.server.stop() == 0
        assert pools.processes() == []
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
        pools.start()
        eventually(lambda: pools.lease(lease)["state"] == "ACTIVE", WAIT_S)
    finally:
        pools.close()


def state_of(pools, lease):
    """Of a lease; none while the pools are being taken over."""
    try:
        return pools.lease(lease)["state"]
    except Refused as refused:
        assert refused.status == 503, refused
        return None


@pytest.mark.parametrize("plugin, setting", [("pools/leases", 'history = "30m"'), ("placement/best_fit", ""),
                                             ("launchers/process", 'max_log_size = "1MiB"')])
def test_a_reload_takes_the_pools_over(pools, plugin, setting):
    pools.create()
    lease = pools.acquire("a")
    processes = pools.processes()
    if plugin == "placement/best_fit":
        pools.manifest.write_text(pools.manifest.read_text().replace(plugin, "placement/spread"))
        pools.reload('use = "placement/spread"', "")
    else:
        pools.reload(f'use = "{plugin}"', setting)
    pools.server.newest_line("pools are taken over")
    eventually(lambda: state_of(pools, lease) == "ACTIVE", WAIT_S)
    assert pools.processes() == processes
    assert pools.lease(lease)["address"] == lease["address"]
    with tritonclient.http.InferenceServerClient(lease["address"]) as client:
        assert infer(client, tritonclient.http, "a") == [[1, 2]]
    assert pools.acquire("b")["state"] == "ACTIVE"
    assert pools.release(lease)["state"] == "RELEASED"


def test_a_reload_with_pools_that_are_declared_otherwise_harms_nothing(pools):
    pools.create()
    lease = pools.acquire("a")
    pools.reload("[plugin.pools.pools]", """fraud = '{"quota": 9, "max_instances": 1}'
late = '{"quota": 9, "max_instances": 1}'""")
    pools.server.newest_line("'fraud' is there with another quota, enforce_backends or instance")
    eventually(lambda: state_of(pools, lease) == "ACTIVE", WAIT_S)
    assert (pools.pool()["quota"], pools.pool()["max_instances"], pools.pool("late")["quota"]) == (8, 2, 9)


def test_an_instance_that_can_not_be_started_says_why(tmp_path, models):
    pools = Pools(tmp_path, models,
                  """plugin.launcher.runtimes={broken = 'sh -c "echo no licence; exit 3"'}""").start()
    try:
        pools.create("broken", instance={"runtime": "broken"})
        pools.create("large", instance={"cpus": 10_000})
        pools.create("unknown", instance={"runtime": "none"})
        for pool, text in (("broken", "it exited with status 3; its log ends: no licence"),
                           ("large", "it asks for 10000 CPU cores, and all servers together may have "),
                           ("unknown", "runtime 'none' is none of the launcher's option 'runtimes'")):
            with pytest.raises(Refused) as refused:
                pools.acquire("a", pool=pool)
            assert refused.value.status == 503 and text in refused.value.text, refused.value
    finally:
        pools.close()


def test_a_hundred_clients_race_for_sixteen_places(pools):
    pools.create()
    pools.acquire("a", quota=8)
    pools.release({"id": pools.call("GET", "/v2/leases")["leases"][0]["id"]})
    for number in range(100):
        add_model(pools.models, f"m{number}")
    results = []

    def race(number):
        try:
            results.append(pools.acquire(f"m{number}", quota=1)["state"])
        except Refused as refused:
            results.append(refused.status)
    threads = [threading.Thread(target=race, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    placed = results.count("ACTIVE")
    assert placed + results.count(429) == 100
    assert placed <= 16 and all(instance["used"] <= 8 for instance in pools.pool()["instances"])
    assert sum(instance["used"] for instance in pools.pool()["instances"]) == placed


def test_pools_of_the_manifest(tmp_path, models):
    declared = """plugin.pools.pools={fraud = '{"quota": 4, "min_instances": 1, "max_instances": 1}'}"""
    pools = Pools(tmp_path, models, declared).start()
    try:
        pools.wait_instances(1)
        assert pools.acquire("a", quota=4)["state"] == "ACTIVE"
        pools.server.stop()
        pools.settings = (*pools.settings[:-1], declared.replace('"max_instances": 1', '"max_instances": 3'))
        pools.start()
        assert pools.pool()["max_instances"] == 3
        assert pools.server.stop() == 0
        pools.settings = (*pools.settings[:-1], declared.replace('"quota": 4', '"quota": 5'))
        with pytest.raises(AssertionError, match="'fraud' is there with another quota"):
            pools.start()
    finally:
        pools.server = None
        pools.close()


def test_a_pool_is_deleted_and_made_again(pools):
    pools.create(min_instances=1)
    pools.wait_instances(1)
    with pytest.raises(Refused) as refused:
        pools.create()
    assert (refused.value.status, refused.value.text) == (409, "pool 'fraud' already exists")
    lease = pools.acquire("a")
    with pytest.raises(Refused) as refused:
        pools.call("DELETE", "/v2/pools/fraud")
    assert refused.value.status == 409 and "has 1 lease" in refused.value.text
    pools.call("DELETE", "/v2/pools/fraud?force=true")
    eventually(lambda: pools.call("GET", "/v2/pools")["pools"] == [], WAIT_S)
    assert pools.lease(lease)["state"] == "RELEASED"
    assert pools.processes() == []
    pools.create(quota=2)
    assert pools.acquire("a")["state"] == "ACTIVE"


def acquire_short(pools, model, **definition):
    """Of the shortest duration, from 3 s on, in which this machine loads the model."""
    for seconds in (3, 12, 48):
        lease = pools.acquire(model, duration=f"{seconds}s", **definition)
        if lease["state"] == "ACTIVE":
            return lease
    raise AssertionError(f"not loaded in time: {lease}")


def test_a_lease_that_is_used_renews_itself(pools):
    pools.create()
    lease = acquire_short(pools, "a", auto_renew=True)
    with tritonclient.http.InferenceServerClient(lease["address"]) as client:
        def is_renewed():
            infer(client, tritonclient.http, "a")
            return pools.lease(lease)["expires_at"] > lease["expires_at"]
        eventually(is_renewed, WAIT_S)
    assert pools.lease(lease)["use"]["requests"] > 0
    eventually(lambda: pools.lease(lease)["state"] == "EXPIRED", WAIT_S)
    eventually(lambda: b'atoll_lease_renewed_total{by="use"}' in scrape(pools), WAIT_S)


def scrape(pools):
    connection = http.client.HTTPConnection(pools.server.metrics_address, timeout=WAIT_S)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read()
    connection.close()
    return text


def test_grpc_clients_reach_an_instance(pools):
    pools.create()
    pools.acquire("a")
    (record,) = (pools.folder / "servers").glob("*/process")
    with tritonclient.grpc.InferenceServerClient(json.loads(record.read_text())["grpc"]) as client:
        assert infer(client, tritonclient.grpc, "a") == [[1, 2]]
