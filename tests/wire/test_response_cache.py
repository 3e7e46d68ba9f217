"""Answers that were given before, as clients see them."""

import concurrent.futures
import re
import time
import urllib.request

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
import tritonclient.utils.shared_memory as shared_memory
from support import models
from support.control import EXPLICIT, Control
from support.server import Server

MODULES = {"grpc": grpcclient, "http": httpclient}
CACHED = "response_cache { enable: true }\n"
CACHE = ('plugin.cache.use="caches/local"', 'plugin.cache.size="4MiB"')
SLOW = 'parameters { key: "execute_delay_ms" value { string_value: "300" } }\n'


def parameter(key, value):
    return f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    for name, extra in {"kept": CACHED, "plain": "", "slow": CACHED + SLOW,
                        "picky": CACHED + parameter("response_cache_parameters", "temperature, seed"),
                        "ordered": CACHED + "dynamic_batching { preserve_ordering: true }"}.items():
        batch = 8 if name == "ordered" else 0
        models.write_model(root, name, models.identity_config(name, dims=(-1,), max_batch_size=batch, extra=extra))
    step = 'step {{ model_name: "{}" model_version: -1 input_map {{ key: "INPUT0" value: "{}" }} output_map {{ key: "OUTPUT0" value: "{}" }} }}'
    ends = models.tensor_config("input", "INPUT0", "TYPE_FP32", (-1,)) + models.tensor_config("output", "OUTPUT0", "TYPE_FP32", (-1,))
    steps = step.format("kept", "INPUT0", "t") + step.format("plain", "t", "OUTPUT0")
    for name, extra in {"top": "", "top_kept": CACHED}.items():
        models.write_model(root, name, f'platform: "ensemble"\n{ends}{extra}ensemble_scheduling {{ {steps} }}')
    with Server(root, *CACHE, "plugin.shared.allow_client_shm=true") as running:
        running.wait_ready()
        yield running


class Caller:
    def __init__(self, server, protocol):
        self.server, self.module = server, MODULES[protocol]
        self.client = server.client() if protocol == "grpc" else server.http_client(concurrency=8, network_timeout=60)

    def infer(self, model, values, **more):
        tensor = self.module.InferInput("INPUT0", list(np.shape(values)), "FP32")
        tensor.set_data_from_numpy(np.asarray(values, np.float32))
        return self.client.infer(model, [tensor], **more)

    def counts(self, model):
        with self.server.client() as client:
            statistics = client.get_inference_statistics(model, as_json=True)["model_stats"][0]
        counted = statistics["inference_stats"]
        return {"executed": int(statistics.get("execution_count", 0)),
                **{name: int(counted.get(name, {}).get("count", 0)) for name in ("success", "cache_hit", "cache_miss")}}

    def added(self, model, call):
        before = self.counts(model)
        call()
        return {name: count - before[name] for name, count in self.counts(model).items()}


@pytest.fixture(params=sorted(MODULES))
def caller(request, server):
    caller = Caller(server, request.param)
    yield caller
    caller.client.close()


VALUES = iter(range(1, 10000))


def test_the_second_answer_is_the_first_one_with_another_id(caller):
    value = next(VALUES)

    def twice():
        for identifier in ("first", "second"):
            result = caller.infer("kept", [value, 2, 3], request_id=identifier)
            assert result.as_numpy("OUTPUT0").tolist() == [value, 2, 3]
            response = result.get_response()
            assert (response["id"] if isinstance(response, dict) else response.id) == identifier

    assert caller.added("kept", twice) == {"executed": 1, "success": 2, "cache_hit": 1, "cache_miss": 1}


def test_models_without_it_are_asked_each_time(caller):
    added = caller.added("plain", lambda: [caller.infer("plain", [1.0]) for _ in range(2)])
    assert added == {"executed": 2, "success": 2, "cache_hit": 0, "cache_miss": 0}


def test_another_shape_is_another_request(server):
    caller = Caller(server, "grpc")
    value = next(VALUES)
    added = caller.added("ordered", lambda: [caller.infer("ordered", np.full(shape, value)) for shape in ((1, 4), (2, 2), (4, 1))])
    assert added["executed"] == 3


def test_parameters_that_matter(server):
    caller = Caller(server, "grpc")
    value = next(VALUES)

    def ask():
        for parameters in ({"temperature": 1}, {"temperature": 2}, {"temperature": 1, "user": "me"}, {"temperature": 2, "user": "you"}):
            caller.infer("picky", [value], parameters=parameters)

    assert caller.added("picky", ask) == {"executed": 2, "success": 4, "cache_hit": 2, "cache_miss": 2}


def test_equal_requests_that_come_together_are_computed_once(server):
    value = next(VALUES)
    callers = [Caller(server, "grpc") for _ in range(8)]

    def ask():
        begun = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for result in pool.map(lambda caller: caller.infer("slow", [value]), callers):
                assert result.as_numpy("OUTPUT0").tolist() == [value]
        assert time.monotonic() - begun < 60

    assert callers[0].added("slow", ask) == {"executed": 1, "success": 8, "cache_hit": 7, "cache_miss": 1}


def test_members_and_ensembles(server):
    caller = Caller(server, "grpc")
    value = next(VALUES)
    assert caller.added("kept", lambda: [caller.infer("top", [value]) for _ in range(2)])["cache_hit"] == 1
    value = next(VALUES)

    def ask():
        for _ in range(3):
            response = caller.infer("top_kept", [value]).get_response()
            assert response.parameters["sequence_id"].int64_param == 0, "a hit has the parameters, too"

    assert caller.added("top_kept", ask) == {"executed": 1, "success": 3, "cache_hit": 2, "cache_miss": 1}
    assert caller.counts("top")["cache_hit"] == 0


def test_a_hit_is_written_into_shared_memory(server):
    caller = Caller(server, "grpc")
    value = next(VALUES)
    caller.infer("kept", [value] * 4)
    handle = shared_memory.create_shared_memory_region("kept", "/atoll_test_cache", 32)
    try:
        caller.client.register_system_shared_memory("kept", "/atoll_test_cache", 32)
        output = grpcclient.InferRequestedOutput("OUTPUT0")
        output.set_shared_memory("kept", 16, offset=16)
        assert caller.added("kept", lambda: caller.infer("kept", [value] * 4, outputs=[output]))["cache_hit"] == 1
        assert shared_memory.get_contents_as_numpy(handle, np.float32, [4], offset=16).tolist() == [value] * 4
        # What is in the client's memory is neither looked up nor kept.
        tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
        tensor.set_shared_memory("kept", 16, offset=16)
        added = caller.added("kept", lambda: caller.client.infer("kept", [tensor]))
        assert added == {"executed": 1, "success": 1, "cache_hit": 0, "cache_miss": 0}
    finally:
        caller.client.unregister_system_shared_memory("kept")
        shared_memory.destroy_shared_memory_region(handle)


def test_metrics(server):
    caller = Caller(server, "grpc")
    for _ in range(2):
        caller.infer("kept", [next(VALUES), 0.5])
    with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=60) as answer:
        page = answer.read().decode()
    values = dict(re.findall(r"^(\S+) (\S+)$", page, re.M))
    assert float(values['nv_cache_num_hits_per_model{model="kept",version="1"}']) >= 1
    assert float(values["nv_cache_num_entries"]) >= 2
    assert 0 < float(values["nv_cache_util"]) < 1
    assert 'nv_cache_num_hits_per_model{model="plain",version="1"}' not in values


def test_a_model_that_is_loaded_anew_is_asked(tmp_path):
    models.write_add(tmp_path, "adds", 1)
    (tmp_path / "adds" / "config.pbtxt").write_text('backend: "onnxruntime"\n' + CACHED)
    with Server(tmp_path, EXPLICIT, *CACHE) as server, Control(server, "grpc") as control:
        for constant in (1, 2, 3):
            models.write_add(tmp_path, "adds", constant)
            control.load("adds")
            for _ in range(2):
                assert control.infer("adds", 1.0)[1] == 1.0 + constant
            models.let_settle()



def test_without_a_cache_in_the_manifest_nothing_is_looked_up(tmp_path):
    models.write_model(tmp_path, "kept", models.identity_config("kept", dims=(-1,), extra=CACHED))
    with Server(tmp_path) as server:
        server.wait_ready()
        caller = Caller(server, "http")
        added = caller.added("kept", lambda: [caller.infer("kept", [1.0]) for _ in range(2)])
        assert added == {"executed": 2, "success": 2, "cache_hit": 0, "cache_miss": 0}
