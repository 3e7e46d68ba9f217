"""Leased models by the address of the server that keeps the pools, with the real clients."""

import asyncio
import json
import queue
import shutil
import subprocess
import threading
import time

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.grpc.aio
import tritonclient.http
from support.grpc_frontends import GRPC_FRONTENDS
from support.pools import WAIT_S, Pools
from support.server import BUILD, ROOT
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

IDENTITY = """
backend: "identity"
max_batch_size: 0
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] } ]
"""
SLOW = 'parameters { key: "execute_delay_ms" value { string_value: "3600000" } }'
CLIENTS = [tritonclient.grpc, tritonclient.http]


OVER_BOTH = pytest.mark.parametrize("pools", GRPC_FRONTENDS, indirect=True)


@pytest.fixture
def pools(tmp_path, request):
    """With the parameter as the plugin that serves gRPC, if there is one."""
    for name in ("a", "b", "slow", "own"):
        folder = tmp_path / "models" / name
        (folder / "1").mkdir(parents=True)
        (folder / "config.pbtxt").write_text(IDENTITY + (SLOW if name == "slow" else ""))
    shutil.copytree(tmp_path / "models" / "own", tmp_path / "own" / "own")
    pools = Pools(tmp_path, tmp_path / "models", f'plugin.repository.paths=["{tmp_path}/own"]',
                  'plugin.identity.use="backends/identity"', 'plugin.default.use="schedulers/default"',
                  *([f'plugin.grpc.use="{request.param}"'] if hasattr(request, "param") else [])).start()
    yield pools
    pools.close()


def open_client(pools, module):
    address = pools.server.address if module is tritonclient.grpc else pools.server.http_address
    return module.InferenceServerClient(address)


def inputs(module, values):
    tensor = module.InferInput("INPUT0", [len(values)], "FP32")
    tensor.set_data_from_numpy(np.array(values, np.float32))
    return [tensor]


def infer(client, module, model, values=(1, 2), **options):
    return client.infer(model, inputs(module, values), **options).as_numpy("OUTPUT0").tolist()


@OVER_BOTH
@pytest.mark.parametrize("module", CLIENTS)
def test_a_client_needs_one_address(pools, module):
    with open_client(pools, module) as client:
        assert not client.is_model_ready("a")
        pools.create()
        lease = pools.acquire("a", "b")
        large = np.arange(300_000).tolist()
        assert infer(client, module, "a") == [1, 2]
        assert infer(client, module, "b", large, request_id="7") == large
        assert client.is_model_ready("a")
        assert client.get_model_metadata("a", **({"as_json": True} if module is tritonclient.grpc else {}))["name"] == "a"
        options = {"as_json": True} if module is tritonclient.grpc else {}
        assert client.get_model_config("a", **options)
        statistics = client.get_inference_statistics("a", **options)["model_stats"][0]["inference_stats"]
        assert int(statistics["success"]["count"]) == 1
        index = client.get_model_repository_index(**options)
        index = index["models"] if module is tritonclient.grpc else index
        assert {model["name"]: model.get("state") for model in index if model["name"] in "ab"} == {"a": "READY", "b": "READY"}
        with pytest.raises(InferenceServerException, match="unknown model: 'c'"):
            infer(client, module, "c")
        pools.release(lease)
        with pytest.raises(InferenceServerException, match="unknown model: 'a'"):
            infer(client, module, "a")


@pytest.mark.parametrize("module", CLIENTS)
def test_a_lease_is_chosen_by_its_id_or_name(pools, module):
    pools.create(enforce_backends=False)
    first, second = pools.acquire("a"), pools.acquire("a")
    assert first["instance"] != second["instance"]
    pools.call("PUT", "/v2/lease_names/live", {"lease": second["id"]})

    def uses():
        """By the instances' own statistics: what was asked of the first and of the second."""
        counts = []
        for lease in (first, second):
            with tritonclient.http.InferenceServerClient(lease["address"]) as client:
                counts.append(client.get_inference_statistics("a")["model_stats"][0]["inference_stats"]["success"]["count"])
        return counts
    with open_client(pools, module) as client:
        infer(client, module, "a")
        assert uses() == [1, 0], "the oldest one"
        infer(client, module, "a", headers={"atoll-lease": second["id"]})
        infer(client, module, "a", headers={"atoll-lease": "live"})
        assert uses() == [1, 2]
        pools.call("PUT", "/v2/lease_names/live", {"lease": first["id"]})
        infer(client, module, "a", headers={"atoll-lease": "live"})
        assert uses() == [2, 2]
        with pytest.raises(InferenceServerException, match="lease 'gone' is not found, or has ended"):
            infer(client, module, "a", headers={"atoll-lease": "gone"})
        with pytest.raises(InferenceServerException, match="lease 'live' has no model 'b'"):
            infer(client, module, "b", headers={"atoll-lease": "live"})


@pytest.mark.parametrize("module", CLIENTS)
def test_the_server_s_own_models_are_served_beside_them(pools, module):
    pools.create()
    pools.acquire("a", "own")
    with open_client(pools, module) as client:
        client.load_model("own")
        assert infer(client, module, "own") == [1, 2]
        assert infer(client, module, "a") == [1, 2]
        options = {"as_json": True} if module is tritonclient.grpc else {}
        statistics = client.get_inference_statistics("own", **options)["model_stats"][0]["inference_stats"]
        assert int(statistics["success"]["count"]) == 1, "this server's model is the one that is asked"


@pytest.mark.parametrize("module", CLIENTS)
def test_shared_memory_is_refused(pools, module):
    pools.create()
    pools.acquire("a")
    tensor = module.InferInput("INPUT0", [2], "FP32")
    tensor.set_shared_memory("region", 8)
    with open_client(pools, module) as client:
        with pytest.raises(InferenceServerException, match="does not see shared memory"):
            client.infer("a", [tensor])
        output = module.InferRequestedOutput("OUTPUT0")
        output.set_shared_memory("region", 8)
        with pytest.raises(InferenceServerException, match="does not see shared memory"):
            client.infer("a", inputs(module, [1]), outputs=[output])
        assert infer(client, module, "a") == [1, 2]


@OVER_BOTH
def test_a_stream_has_leased_models_and_others(pools):
    pools.create()
    pools.acquire("a")
    answers = queue.Queue()
    with open_client(pools, tritonclient.grpc) as client:
        client.load_model("own")
        client.start_stream(lambda result, error: answers.put((result, error)))
        for number in range(60):
            client.async_stream_infer(("a", "own", "nobody")[number % 3], inputs(tritonclient.grpc, [number]),
                                      request_id=str(number))
        got = [answers.get(timeout=WAIT_S) for _ in range(60)]
        client.stop_stream()
    values = sorted(result.as_numpy("OUTPUT0")[0] for result, _ in got if result is not None)
    assert values == [number for number in range(60) if number % 3 != 2]
    assert sum("unknown model: 'nobody'" in str(error) for _, error in got if error is not None) == 20


@OVER_BOTH
def test_a_cancelled_request_is_cancelled_on_its_instance(pools):
    pools.create()
    lease = pools.acquire("slow")

    async def cancel():
        async with tritonclient.grpc.aio.InferenceServerClient(pools.server.address) as client:
            call = asyncio.ensure_future(client.infer("slow", inputs(tritonclient.grpc, [1])))
            await asyncio.sleep(0.3)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
    asyncio.run(cancel())
    # Or else its execution, an hour long, would keep the model from being unloaded.
    assert pools.release(lease)["state"] == "RELEASED"
    assert pools.server.process.poll() is None


@OVER_BOTH
def test_a_deadline_is_the_instance_s_too(pools):
    pools.create()
    lease = pools.acquire("slow")
    with open_client(pools, tritonclient.grpc) as client:
        with pytest.raises(InferenceServerException, match="(?i)deadline exceeded"):
            infer(client, tritonclient.grpc, "slow", client_timeout=0.3)
    assert pools.release(lease)["state"] == "RELEASED"


class Traffic:
    """Requests one after the other on both protocols, until it is left."""

    def __init__(self, pools, model="a"):
        self.pools, self.model = pools, model
        self.failures, self.answered = [], 0
        self.stop = threading.Event()

    def run(self, module):
        with open_client(self.pools, module) as client:
            while not self.stop.is_set():
                try:
                    assert infer(client, module, self.model) == [1, 2]
                    self.answered += 1
                except Exception as error:  # every failure counts, whatever its type
                    self.failures.append(f"{module.__name__}: {error}")
                    time.sleep(0.01)

    def __enter__(self):
        self.threads = [threading.Thread(target=self.run, args=(module,)) for module in CLIENTS]
        for thread in self.threads:
            thread.start()
        eventually(lambda: self.answered > 10, WAIT_S)
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def test_reloads_of_pools_lose_no_request(pools):
    pools.create()
    pools.acquire("a")
    with Traffic(pools) as traffic:
        for minutes in (30, 31, 32):
            pools.reload('use = "pools/leases"', f'history = "{minutes}m"')
            pools.server.newest_line("pools are taken over")
            pools.manifest.write_text(pools.manifest.read_text().replace(f'history = "{minutes}m"\n', ""))
            before = traffic.answered
            eventually(lambda: traffic.answered > before + 50, WAIT_S)
    assert traffic.failures == []


def test_an_instance_that_is_killed_is_replaced_behind_the_same_address(pools):
    pools.create()
    lease = pools.acquire("a")
    with Traffic(pools) as traffic:
        subprocess.run(["kill", "-9", str(pools.processes()[0])], check=True)
        eventually(lambda: traffic.failures, WAIT_S)
        eventually(lambda: pools.lease(lease)["state"] == "ACTIVE" and pools.lease(lease)["address"] != lease["address"], WAIT_S)
        before = traffic.answered
        eventually(lambda: traffic.answered > before + 50, WAIT_S)
    assert all("not ready" in text or "not answered" in text or "StatusCode.UNAVAILABLE" in text
               for text in traffic.failures), traffic.failures


def test_a_name_moves_to_another_lease_without_a_lost_request(pools):
    pools.create(enforce_backends=False)
    first, second = pools.acquire("a"), pools.acquire("a")
    with Traffic(pools) as traffic:
        for lease in (second, first, second):
            pools.call("PUT", "/v2/lease_names/live", {"lease": lease["id"]})
            before = traffic.answered
            eventually(lambda: traffic.answered > before + 20, WAIT_S)
        pools.release(first)
        before = traffic.answered
        eventually(lambda: traffic.answered > before + 20, WAIT_S)
    # A request that was on its way when its lease ended may be refused; later ones go to the other lease.
    assert len(traffic.failures) <= 2, traffic.failures


def test_the_real_triton_s_models_too(tmp_path):
    (program,) = (ROOT / "build/peers/triton").glob("lib/python3*/site-packages/pytriton/tritonserver/bin/tritonserver")
    (tmp_path / "models" / "a" / "1").mkdir(parents=True)
    (tmp_path / "models" / "a" / "config.pbtxt").write_text(IDENTITY)
    runtime = (f"{program} --model-repository={{repository}} --model-control-mode=explicit "
               f"--backend-directory={BUILD / 'tests/pools/triton_backends'} "
               "--http-address=127.0.0.1 --http-port={http_port} --grpc-address=127.0.0.1 --grpc-port={grpc_port} "
               "--allow-metrics=false")
    pools = Pools(tmp_path, tmp_path / "models", f"plugin.launcher.runtimes={{triton = '{runtime}'}}").start()
    try:
        pools.create(instance={"runtime": "triton"})
        pools.acquire("a")
        large = np.arange(300_000).tolist()
        for module in CLIENTS:
            with open_client(pools, module) as client:
                assert infer(client, module, "a") == [1, 2]
                assert infer(client, module, "a", large) == large
                with pytest.raises(InferenceServerException, match="unexpected inference input 'OTHER'|expected 1 inputs"):
                    client.infer("a", [module.InferInput("OTHER", [1], "FP32").set_data_from_numpy(np.ones(1, np.float32))])
        status, metadata = pools.raw("GET", "/v2/models/a")
        assert (status, json.loads(metadata)["versions"]) == (200, ["1"])
    finally:
        pools.close()
