"""The server is killed at any moment, and instances under load: nothing is lost, nothing is left over."""

import http.client
import os
import signal
import threading

import numpy as np
import pytest
import tritonclient.http
from support.pools import WAIT_S, Pools, Refused
from support.waiting import eventually

IDENTITY = """
backend: "identity"
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""
KILLS = 24
STEP_S = 0.006  # between the moments of two rounds; an acquisition with a new instance takes some 0.1 s


@pytest.fixture
def pools(tmp_path):
    for number in range(KILLS):
        (tmp_path / "models" / f"m{number}" / "1").mkdir(parents=True)
        (tmp_path / "models" / f"m{number}" / "config.pbtxt").write_text(IDENTITY)
    pools = Pools(tmp_path, tmp_path / "models", 'plugin.pools.idle_timeout="100ms"').start()
    yield pools
    pools.close()


def killed_meanwhile(pools, delay_s, call):
    """The call's answer, or None if it had none before the server was killed, so long after the call."""
    answers = []

    def run():
        try:
            answers.append(call())
        except (OSError, http.client.HTTPException, Refused, ValueError):
            pass
    thread = threading.Thread(target=run)
    thread.start()
    thread.join(delay_s)
    pools.kill()
    thread.join()
    pools.start()
    return answers[0] if answers else None


def is_settled(pools):
    """No instance without a process, and no process without an instance."""
    instances = pools.pool()["instances"]
    return (all(instance["state"] == "READY" for instance in instances) and len(instances) == len(pools.processes()))


def test_the_server_is_killed_while_leases_are_acquired_and_released(pools):
    pools.create(max_instances=6, enforce_backends=False)
    held, cut_off = {}, 0
    for number in range(KILLS):
        model, key = f"m{number}", f"key-{number}"

        def acquire():
            return pools.acquire(model, quota=2, idempotency_key=key)
        answered = killed_meanwhile(pools, number * STEP_S, acquire)
        cut_off += answered is None
        lease = acquire()
        assert lease["state"] == "ACTIVE"
        assert answered is None or answered["id"] == lease["id"]
        held[lease["id"]] = model
        for known in held:
            eventually(lambda lease_id=known: pools.lease({"id": lease_id})["state"] == "ACTIVE", WAIT_S)
        if number % 2:
            released = next(iter(held))
            killed_meanwhile(pools, number * STEP_S / 4, lambda: pools.release({"id": released}))
            assert pools.release({"id": released})["state"] == "RELEASED"
            del held[released]
    assert cut_off > 0

    def active():
        return {lease["id"] for lease in pools.call("GET", "/v2/leases")["leases"] if lease["state"] == "ACTIVE"}
    # The last kill was a moment ago: leases that were found again are being looked at.
    eventually(lambda: active() == set(held), WAIT_S)
    assert sum(instance["used"] for instance in pools.pool()["instances"]) == 2 * len(held)
    eventually(lambda: is_settled(pools), WAIT_S)
    for lease in list(held):
        pools.release({"id": lease})
    eventually(lambda: pools.pool()["instances"] == [] and pools.processes() == [], WAIT_S)
    assert list((pools.folder / "pools" / "repositories").iterdir()) == []


def test_instances_are_killed_under_load(pools):
    pools.create(max_instances=3, enforce_backends=False, min_instances=2)
    leases = [pools.acquire(f"m{number}", quota=4) for number in range(4)]
    ends, counts = threading.Event(), [0] * len(leases)

    def load(index):
        tensor = tritonclient.http.InferInput("INPUT0", [1, 2], "FP32")
        tensor.set_data_from_numpy(np.array([[1, 2]], np.float32))
        while not ends.is_set():
            address = pools.lease(leases[index])["address"]
            if not address:
                continue
            try:
                with tritonclient.http.InferenceServerClient(address) as client:
                    while not ends.is_set():
                        assert client.infer(f"m{index}", [tensor]).as_numpy("OUTPUT0").tolist() == [[1, 2]]
                        counts[index] += 1
            except (OSError, http.client.HTTPException, tritonclient.utils.InferenceServerException):
                continue  # its instance is gone; the lease says where it is now
    threads = [threading.Thread(target=load, args=(index,)) for index in range(len(leases))]
    for thread in threads:
        thread.start()
    try:
        eventually(lambda: min(counts) > 10, WAIT_S)
        for _ in range(3):
            process = pools.processes()[0]
            os.kill(process, signal.SIGKILL)
            eventually(lambda gone=process: gone not in pools.processes(), WAIT_S)
            eventually(lambda: all(pools.lease(lease)["state"] in ("ACTIVE", "FAILED") for lease in leases), WAIT_S)
            # A lease moves once; one that has lost two instances is failed, and another one takes its place.
            for index, lease in enumerate(leases):
                if pools.lease(lease)["state"] == "FAILED":
                    leases[index] = pools.acquire(f"m{index}", quota=4)
            before = list(counts)
            eventually(lambda: all(now > then for now, then in zip(counts, before)), WAIT_S)
    finally:
        ends.set()
        for thread in threads:
            thread.join()
    assert all(instance["used"] <= 8 for instance in pools.pool()["instances"])
    eventually(lambda: is_settled(pools), WAIT_S)
