"""Caches made for Triton answer real clients: one to copy, one that misbehaves, and Triton's own, unmodified."""

import re
import signal
import subprocess
import urllib.request

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.busy import BusyClients
from support.control import EXPLICIT
from support.server import ATOLL, BUILD, DEFAULT_MANIFEST, ROOT, Server
from support.waiting import eventually

EXAMPLES = BUILD / "lib" / "atoll" / "triton_caches"
FIXTURES = BUILD / "tests" / "triton_caches"
CACHED = "response_cache { enable: true }\n"


def options(name, directory=EXAMPLES, **settings):
    listed = "".join(f"{key}={value!r}, " for key, value in settings.items()).rstrip(", ")
    return ('plugin.cache.use="caches/triton"', f'plugin.cache.name="{name}"', f'plugin.cache.directories=["{directory}"]',
            f"plugin.cache.settings={{{listed}}}", 'plugin.cache.timeout="20s"')


@pytest.fixture
def repository(tmp_path):
    models.write_model(tmp_path / "repository", "echo", models.identity_config("echo", extra=CACHED))
    return tmp_path / "repository"


def infer(server, value, model="echo"):
    tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
    tensor.set_data_from_numpy(np.full(4, value, np.float32))
    with server.client() as client:
        return client.infer(model, [tensor], client_timeout=60).as_numpy("OUTPUT0").tolist()


def counts(server, model="echo"):
    """How many were executed, and how many came from the cache."""
    with server.client() as client:
        counted = client.get_inference_statistics(model, as_json=True)["model_stats"][0]
    return int(counted.get("execution_count", 0)), int(counted["inference_stats"].get("cache_hit", {}).get("count", 0))


def metrics(server):
    with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=60) as answer:
        return {name: float(value) for name, value in re.findall(r"^(\S+) (\S+)$", answer.read().decode(), re.M)}


def failures(server, reason):
    return metrics(server)[f'atoll_cache_failures_total{{reason="{reason}"}}']


@pytest.mark.parametrize("threads", [4, 0])
def test_what_was_asked_before_is_answered_from_the_cache(repository, threads):
    with Server(repository, *options("memory"), f"plugin.cache.threads={threads}") as server:
        server.wait_ready()
        for value, expected in ((1, (1, 0)), (1, (1, 1)), (2, (2, 1)), (1, (2, 2)), (2, (2, 3))):
            assert infer(server, value) == [value] * 4
            eventually(lambda expected=expected: counts(server) == expected)
        counted = metrics(server)
        assert (counted["nv_cache_num_lookups"], counted["nv_cache_num_hits"], counted["nv_cache_num_misses"]) == (5, 3, 2)
        assert counted["nv_cache_lookup_duration"] > 0
        assert counted["atoll_cache_buffered_bytes"] == 0


def test_every_type_comes_back_as_it_was(tmp_path):
    for name, config_type, _, _ in models.TYPES:
        models.write_model(tmp_path, name.lower(), models.identity_config(name.lower(), config_type, extra=CACHED))
    with Server(tmp_path, *options("memory")) as server, server.client() as client:
        server.wait_ready()
        for name, _, _, numpy_type in models.TYPES:
            values = np.array([b"", b"one", b"x" * 5000], np.object_) if name == "BYTES" else np.arange(6).astype(numpy_type or np.float32)
            tensor = grpcclient.InferInput("INPUT0", list(values.shape), name)
            tensor.set_data_from_numpy(values)
            first, second = (client.infer(name.lower(), [tensor]).as_numpy("OUTPUT0") for _ in range(2))
            assert np.array_equal(first, second), name
            eventually(lambda name=name: counts(server, name.lower()) == (1, 1))


def test_a_model_that_is_loaded_anew_has_answers_if_it_is_the_same(tmp_path):
    repository = tmp_path / "repository"

    def write(constant):
        models.write_add(repository, "adds", constant)
        (repository / "adds" / "config.pbtxt").write_text('backend: "onnxruntime"\n' + CACHED)
        models.let_settle()

    write(1)
    with Server(repository, *options("memory"), EXPLICIT) as server, server.client() as client:
        client.load_model("adds")
        expected = infer(server, 5, "adds")
        client.unload_model("adds")
        eventually(lambda: not client.is_model_ready("adds"))
        client.load_model("adds")
        assert infer(server, 5, "adds") == expected
        eventually(lambda: metrics(server)["nv_cache_num_hits"] == 1)
        write(2)
        client.load_model("adds")
        assert infer(server, 5, "adds") == [value + 1 for value in expected]
        assert metrics(server)["nv_cache_num_hits"] == 1


def test_caches_are_exchanged_while_clients_are_served(repository, tmp_path):
    manifest = tmp_path / "atoll.toml"
    foreign = f'[plugin.cache]\nuse = "caches/triton"\nname = "memory"\ndirectories = ["{EXAMPLES}"]\n'
    manifest.write_text(DEFAULT_MANIFEST.read_text())
    with Server(repository, manifest=manifest) as server:
        server.wait_ready()
        clients = BusyClients(server, 8)
        for table in (foreign, '[plugin.cache]\nuse = "caches/local"\n', foreign, foreign + 'threads = 2\n', ""):
            manifest.write_text(DEFAULT_MANIFEST.read_text() + table)
            server.process.send_signal(signal.SIGHUP)
            server.wait_for_line("reloaded: generation")
            clients.wait_for_answers(50)
        clients.end()
        assert clients.failures == []


@pytest.mark.parametrize("how", ["error", "throw", "nothing"])
@pytest.mark.parametrize("call", ["lookup", "insert"])
def test_a_cache_that_fails_fails_no_request(repository, call, how):
    with Server(repository, *options("scripted", FIXTURES, **{call: how})) as server:
        server.wait_ready()
        for _ in range(3):
            assert infer(server, 7) == [7] * 4
        reason = {"lookup": "lookup", "insert": "insertion"}[call]
        eventually(lambda: failures(server, reason) == 3)
        eventually(lambda: counts(server) == (3, 0))
        server.wait_for_line(r"\[cache\] the cache failed (looking up|keeping) 'echo:1:")
        assert len(re.findall(r"the cache failed", server.log)) == 1, "they are not all logged"


@pytest.mark.parametrize("how", ["cut", "garbage"])
def test_what_a_cache_has_made_of_an_answer_is_not_served(repository, how):
    with Server(repository, *options("scripted", FIXTURES, lookup=how)) as server:
        server.wait_ready()
        for _ in range(3):
            assert infer(server, 7) == [7] * 4
        assert failures(server, "answer") == 2
        server.wait_for_line(r"what the cache has under 'echo:1:\w+' is not an answer: ")


def test_an_answer_of_another_key_is_not_served(repository):
    with Server(repository, *options("scripted", FIXTURES, keys="one")) as server:
        server.wait_ready()
        for value in (1, 2, 1, 3):
            assert infer(server, value) == [value] * 4
        assert failures(server, "answer") == 2
        eventually(lambda: counts(server) == (3, 1))


def test_a_slow_cache_is_waited_for_up_to_the_timeout(repository):
    with Server(repository, *options("scripted", FIXTURES, lookup="slow")[:-1], 'plugin.cache.timeout="5ms"') as server:
        server.wait_ready()
        assert infer(server, 1) == [1] * 4
        server.wait_for_line("the cache has not answered within 5 ms")
        assert failures(server, "timeout") == 1


def test_a_cache_is_told_its_settings_and_of_its_end(repository):
    with Server(repository, *options("scripted", FIXTURES, size="100", place="here")) as server:
        server.wait_active()  # a signal before that ends the server without a drain
        server.newest_line(r'config \{"place":"here","size":"100"\}')
        server.newest_line(r"the cache is \S+/scripted/libtritoncache_scripted.so")
    server.wait_logged("finalized")
    assert "stays mapped" not in server.log


@pytest.mark.parametrize("name, settings, why", [
    ("none", {}, f"unable to find 'libtritoncache_none.so' for cache. Searched: {FIXTURES}"),
    ("../triton_caches/scripted", {}, "unable to find 'libtritoncache_../triton_caches/scripted.so' for cache."),
    ("no_insert", {}, "unable to find required entrypoint 'TRITONCACHE_CacheInsert' in shared library: "),
    ("scripted", {"fail": "initialize"}, "cache 'scripted': the settings are wrong"),
    ("scripted", {"fail": "null"}, "TRITONCACHE_CacheInitialize succeeded and gave no cache")])
def test_a_cache_that_can_not_begin_ends_the_start(repository, name, settings, why):
    sets = [word for setting in (f'plugin.repository.paths=["{repository}"]', 'plugin.grpc.address="127.0.0.1:0"',
                                 'plugin.http.address="127.0.0.1:0"', 'plugin.metrics.address="127.0.0.1:0"',
                                 *options(name, FIXTURES, **settings)) for word in ("--set", setting)]
    ended = subprocess.run([ATOLL, "--manifest", DEFAULT_MANIFEST, *sets], capture_output=True, text=True, timeout=120)
    assert ended.returncode != 0
    assert why in ended.stderr


def test_tritons_own_local_cache(repository):
    """Unmodified, from the package that bench/serve/peers/install brings, linked with a renamed server."""
    (caches,) = (ROOT / "build/peers/triton").glob("lib/python3*/site-packages/pytriton/tritonserver/caches")
    with Server(repository, *options("local", caches, size=str(1 << 20))) as server:
        server.wait_ready()
        for value, expected in ((1, (1, 0)), (1, (1, 1)), (2, (2, 1)), (1, (2, 2))):
            assert infer(server, value) == [value] * 4
            eventually(lambda expected=expected: counts(server) == expected)
        # More than it has room for: the oldest make way.
        for value in range(3, 8):
            infer(server, value)
        tensor = grpcclient.InferInput("INPUT0", [100_000], "FP32")
        with server.client() as client:
            for value in range(8):
                tensor.set_data_from_numpy(np.full(100_000, value, np.float32))
                assert client.infer("echo", [tensor]).as_numpy("OUTPUT0")[0] == value
        counted = metrics(server)
        assert counted["nv_cache_num_hits"] == 2
        assert failures(server, "answer") == 0
    assert not [line for line in server.lines if re.match(r"\S+ E", line)], server.log


def test_tritons_own_local_cache_says_what_it_needs(repository):
    (caches,) = (ROOT / "build/peers/triton").glob("lib/python3*/site-packages/pytriton/tritonserver/caches")
    sets = [word for setting in (f'plugin.repository.paths=["{repository}"]', *options("local", caches)) for word in ("--set", setting)]
    ended = subprocess.run([ATOLL, "--manifest", DEFAULT_MANIFEST, *sets], capture_output=True, text=True, timeout=120)
    assert ended.returncode != 0
    assert "Failed to initialize LocalCache: " in ended.stderr
