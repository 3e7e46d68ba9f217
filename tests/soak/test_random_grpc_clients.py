"""Clients of every kind at random, while models are reloaded and the frontend is replaced: no answer is lost, wrong or doubled, and
threads, descriptors and memory stay where they were. ATOLL_SOAK_SECONDS makes it longer."""

import os
import random
import re
import signal
import time
import urllib.request

import pytest
from support import models
from support.addresses import free_addresses
from support.control import EXPLICIT
from support.random_clients import RandomClients, settled
from support.server import DEFAULT_MANIFEST, MEMORY_SLACK_BYTES, Server, usage
from support.waiting import eventually

SECONDS = float(os.environ.get("ATOLL_SOAK_SECONDS", 20))
CLIENTS = int(os.environ.get("ATOLL_TEST_CLIENTS", 8))
# The first part brings pools and heaps to their size.
WARM_UP = 0.4
INSTANCES = 2


def config(name, instances):
    slow = 'parameters { key: "execute_delay_ms" value { string_value: "5" } }\n' if name == "slow" else ""
    return models.identity_config(name, "TYPE_INT32", extra=f"{slow}instance_group [ {{ count: {instances} }} ]\n")


def pending(server):
    with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=60) as page:
        counts = re.findall(r"^nv_inference_pending_request_count\{.*\} (\S+)$", page.read().decode(), re.M)
    assert counts
    return sum(map(float, counts))


class Changes:
    """A model is loaded anew with another number of instances, or the frontend makes place for another."""

    def __init__(self, server, repository, manifest, rng):
        self._server, self._repository, self._manifest, self._rng = server, repository, manifest, rng
        self.loads, self.replacements = 0, 0

    def _load(self, name, instances):
        models.write_model(self._repository, name, config(name, instances))
        with self._server.client() as client:
            client.load_model(name)
        self.loads += 1

    def settle(self):
        """As it was at first. What was freed is given back to the system when a model goes."""
        for name in ("echo", "slow"):
            self._load(name, INSTANCES)
        with self._server.client() as client:
            client.unload_model("repeat")
            eventually(lambda: not client.is_model_ready("repeat"))
            client.load_model("repeat")

    def one(self):
        if self._rng.random() < 0.7:
            return self._load(self._rng.choice(["echo", "slow"]), self._rng.randint(1, 4))
        self.replacements += 1
        self._manifest.write_text(DEFAULT_MANIFEST.read_text().replace(
            "[plugin.grpc]\n", f'[plugin.grpc]\nserver_name = "n{self.replacements}"\n'))
        self._server.process.send_signal(signal.SIGHUP)
        self._server.wait_for_line(r"reloaded: generation")


def soak(server, changes, seconds, rng):
    """Usage when all clients have gone. They may not have failed."""
    clients = RandomClients(server, CLIENTS, rng.random())
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end and not clients.failures:
            changes.one()
            time.sleep(rng.uniform(0, 2))
    finally:
        clients.end()
    print(f"{seconds:.0f} s, {changes.loads} loads, {changes.replacements} replacements, {clients.outcomes}")
    assert clients.failures == []
    assert len(clients.outcomes) >= 8
    eventually(lambda: pending(server) == 0)
    changes.settle()
    return settled(lambda: usage(server.pid))


@pytest.mark.parametrize("frontend", ["frontends/grpc_nghttp2"])
def test_nothing_is_lost_and_nothing_grows(tmp_path, frontend):
    repository, manifest, rng = tmp_path / "models", tmp_path / "atoll.toml", random.Random()
    for name in ("echo", "slow"):
        models.write_model(repository, name, config(name, INSTANCES))
    models.write_model(repository, "repeat", models.REPEAT_CONFIG)
    manifest.write_text(DEFAULT_MANIFEST.read_text())
    with free_addresses(1) as (address, ):
        settings = (f'plugin.grpc.address="{address}"', EXPLICIT, 'plugin.repeat.use="backends/repeat"',
                    'plugin.control.load_model=["*"]')
        with Server(repository, *settings, manifest=manifest, grpc_frontend=frontend) as server:
            server.wait_ready()
            changes = Changes(server, repository, manifest, rng)
            before = soak(server, changes, SECONDS * WARM_UP, rng)
            after = soak(server, changes, SECONDS * (1 - WARM_UP), rng)
            print(before, after)
            assert after["descriptors"] <= before["descriptors"] + 4
            assert after["threads"] <= before["threads"] + 4
            assert after["resident_bytes"] <= before["resident_bytes"] + 2 * MEMORY_SLACK_BYTES
