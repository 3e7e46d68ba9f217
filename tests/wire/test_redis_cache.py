"""Answers that servers share in Redis, and what clients see when Redis is slow, ends or has other answers."""

import re
import shutil
import signal
import urllib.request

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.busy import BusyClients
from support.redis import Redis
from support.server import DEFAULT_MANIFEST, Server
from support.waiting import eventually

CACHED = "response_cache { enable: true }\n"


def settings(redis, *more):
    return ('plugin.cache.use="caches/redis"', f'plugin.cache.address="127.0.0.1:{redis.port}"', 'plugin.cache.timeout="20s"',
            'plugin.cache.retry_after="10ms"', *more)


@pytest.fixture
def repository(tmp_path):
    return write_repository(tmp_path / "repository")


def write_repository(root, constant=1):
    root.mkdir()
    models.write_add(root, "adds", constant)
    (root / "adds" / "config.pbtxt").write_text('backend: "onnxruntime"\n' + CACHED)
    return root


def infer(server, value):
    tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
    tensor.set_data_from_numpy(np.full(4, value, np.float32))
    with server.client() as client:
        return client.infer("adds", [tensor], client_timeout=60).as_numpy("OUTPUT0").tolist()


def hits(server):
    with server.client() as client:
        counted = client.get_inference_statistics("adds", as_json=True)["model_stats"][0]["inference_stats"]
    return int(counted.get("cache_hit", {}).get("count", 0))


def metric(server, name):
    with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=60) as answer:
        return float(dict(re.findall(r"^(\S+) (\S+)$", answer.read().decode(), re.M))[name])


def connected(server):
    return metric(server, "atoll_cache_connections") > 0


def test_servers_share_answers_of_the_same_model_only(repository, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy)
    other = write_repository(tmp_path / "other", constant=2)
    with Redis() as redis:
        servers = [Server(root, *settings(redis)) for root in (repository, copy, other)]
        with servers[0] as first, servers[1] as second, servers[2] as third:
            for server in (first, second, third):
                server.wait_ready()
                eventually(lambda server=server: connected(server))
            expected = infer(first, 5)
            eventually(lambda: redis.command("DBSIZE") == "1")
            assert redis.command("KEYS", "*").startswith("atoll:adds:1:")
            assert 0 < int(redis.command("TTL", redis.command("KEYS", "*"))) <= 3600
            assert infer(second, 5) == expected and hits(second) == 1, "another server, a copy of the files"
            assert infer(third, 5) != expected and hits(third) == 0, "other files"
            assert infer(first, 5) == expected and hits(first) == 1
        with Server(repository, *settings(redis)) as again:
            again.wait_ready()
            eventually(lambda: connected(again))
            assert infer(again, 5) == expected and hits(again) == 1, "after a restart"


def test_redis_may_stop_end_and_come_back(repository):
    with Redis() as redis, Server(repository, *settings(redis, 'plugin.cache.timeout="100ms"', "plugin.cache.failure_threshold=3")) as server:
        server.wait_ready()
        eventually(lambda: connected(server))
        expected = infer(server, 7)
        redis.process.send_signal(signal.SIGSTOP)
        eventually(lambda: infer(server, 7) == expected and metric(server, 'atoll_cache_circuit_breaker_state{state="closed"}') == 0)
        assert metric(server, 'atoll_cache_failures_total{reason="timeout"}') >= 3
        redis.process.send_signal(signal.SIGCONT)
        eventually(lambda: metric(server, 'atoll_cache_circuit_breaker_state{state="closed"}') == 1)
        before = hits(server)
        eventually(lambda: infer(server, 7) == expected and hits(server) > before)
        redis.kill()
        eventually(lambda: not connected(server))
        for _ in range(20):
            assert infer(server, 7) == expected
        redis.start()
        eventually(lambda: connected(server))
        before = hits(server)
        eventually(lambda: infer(server, 7) == expected and hits(server) > before)


def test_what_lies_in_redis_is_checked(repository):
    with Redis() as redis, Server(repository, *settings(redis)) as server:
        server.wait_ready()
        eventually(lambda: connected(server))
        expected = infer(server, 9)
        eventually(lambda: redis.command("DBSIZE") == "1")
        redis.command("SET", redis.command("KEYS", "*"), "garbage")
        assert infer(server, 9) == expected and hits(server) == 0
        eventually(lambda: redis.command("GET", redis.command("KEYS", "*")) != "garbage")
        assert infer(server, 9) == expected and hits(server) == 1
        assert metric(server, 'atoll_cache_failures_total{reason="protocol"}') == 1


def test_a_server_begins_and_ends_without_redis(repository):
    with Redis() as redis:
        pass
    with Server(repository, *settings(redis)) as server:
        server.wait_ready()
        assert infer(server, 1) == infer(server, 1)
        assert metric(server, 'atoll_cache_failures_total{reason="unavailable"}') == 2


def test_password_of_the_environment(repository):
    with Redis("--requirepass", "of the environment") as redis:
        with Server(repository, *settings(redis), environment={"TRITONCACHE_REDIS_PASSWORD": "of the environment"}) as server:
            server.wait_ready()
            eventually(lambda: connected(server))
            infer(server, 3)
            eventually(lambda: infer(server, 3) and hits(server) > 0)


def test_caches_are_exchanged_while_clients_are_served(tmp_path):
    repository = tmp_path / "repository"
    models.write_model(repository, "echo", models.identity_config("echo", dims=(4,), extra=CACHED))
    manifest = tmp_path / "atoll.toml"
    with Redis() as redis:
        local, shared, none = ("[plugin.cache]\nuse = \"caches/local\"\n",
                               f"[plugin.cache]\nuse = \"caches/redis\"\naddress = \"127.0.0.1:{redis.port}\"\n", "")
        manifest.write_text(DEFAULT_MANIFEST.read_text())
        with Server(repository, manifest=manifest) as server:
            server.wait_ready()
            clients = BusyClients(server, 8)
            for table in (local, shared, local, shared, none, shared):
                manifest.write_text(DEFAULT_MANIFEST.read_text() + table)
                server.process.send_signal(signal.SIGHUP)
                server.wait_for_line("reloaded: generation")
                clients.wait_for_answers(50)
            clients.end()
            assert clients.failures == []
