"""The rate limiter as a client sees it: executions that exclude each other, and what happens to requests meanwhile."""

import re
import signal
import time
import urllib.request

import pytest
from support import models
from support.calls import TIMEOUT_S, Calls, tensor
from support.control import EXPLICIT
from support.server import BUILD, DEFAULT_MANIFEST, Server
from tritonclient.utils import InferenceServerException

ENABLED = 'plugin.rate_limiter.use="admission/rate_limiter"'
HOUR_MS = 3_600_000


def group(*resources, priority=0, count=1):
    needs = " ".join(f'resources {{ name: "{name}" count: {copies} {extra} }}' for name, copies, extra in resources)
    return f"instance_group {{ count: {count} kind: KIND_CPU rate_limiter {{ {needs} priority: {priority} }} }}\n"


def slow(milliseconds):
    return f'parameters {{ key: "execute_delay_ms" value {{ string_value: "{milliseconds}" }} }}\n'


IMPATIENT = "dynamic_batching { default_queue_policy { timeout_action: REJECT default_timeout_microseconds: 100000 } }\n"
WARMUP = 'model_warmup { name: "w" batch_size: 1 inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: 1 zero_data: true } } }\n'
LOCK = ("LOCK", 1, "global: true")

CONFIGS = {
    "slow_a": group(LOCK) + slow(100),
    "slow_b": group(LOCK) + slow(100) + WARMUP,
    "holder": group(("R1", 2, "")) + slow(HOUR_MS),
    "waits": group(("R1", 1, "")),
    "impatient": group(("R1", 1, ""), priority=2) + IMPATIENT,
    "free": "",
    "other": group(("R2", 1, "")),
}


def write(root, configs):
    for name, extra in configs.items():
        models.write_model(root, name, models.identity_config(name, max_batch_size=8, extra=extra))
    return root


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = write(tmp_path_factory.mktemp("repository"), CONFIGS)
    with Server(repository, ENABLED) as running:
        running.wait_ready()
        yield running


def metrics(server):
    """Samples of the limiter's own metrics by name and labels."""
    text = urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=TIMEOUT_S).read().decode()
    samples = re.findall(r"^atoll_rate_limiter_(\w+)\{(.*)\} (\S+)$", text, re.M)
    return {(name, *re.findall(r'"([^"]*)"', labels)): float(value) for name, labels, value in samples}


def wait_for(server, sample, value):
    deadline = time.monotonic() + TIMEOUT_S
    while metrics(server).get(sample) != value:
        assert time.monotonic() < deadline, f"{sample} is not {value}: {metrics(server)}"


def check(result, error, value):
    assert error is None, error
    assert result.as_numpy("OUTPUT0").tolist() == [[value]]


def test_executions_that_share_a_resource_exclude_each_other(server):
    before = metrics(server)
    assert before["executions_total", "slow_b", "1"] == 1, "its warm-up"
    with server.client() as client:
        calls = Calls(client)
        begun = time.monotonic()
        for i in range(4):
            calls.send("slow_a", [[i]], i)
            calls.send("slow_b", [[i]], i)
        for _ in range(8):
            value, result, error = calls.next()
            check(result, error, value)
        took = time.monotonic() - begun
    assert took >= 0.8, "eight executions of a tenth of a second, one after the other"
    wait_for(server, ("executions_total", "slow_a", "1"), 4)
    wait_for(server, ("executions_total", "slow_b", "1"), 5)
    after = metrics(server)
    assert after["waits_total", "slow_a", "1"] + after["waits_total", "slow_b", "1"] >= 2
    assert sample(after, "resource_copies", "LOCK", "global") == 1


def sample(samples, name, resource, device):
    """Labels come in the order of the scrape."""
    return samples.get((name, resource, device), samples.get((name, device, resource)))


def wait_resource(server, name, resource, device, value):
    deadline = time.monotonic() + TIMEOUT_S
    while sample(metrics(server), name, resource, device) != value:
        assert time.monotonic() < deadline, f"{name} of {resource} is not {value}: {metrics(server)}"


def test_requests_that_wait_for_a_resource_can_still_end(server):
    with server.client() as client:
        calls = Calls(client)
        holder = calls.send("holder", [[1]], 1)
        wait_resource(server, "resource_copies_in_use", "R1", "0", 2)

        # Nobody is blocked by those that wait.
        for model in ("free", "other"):
            assert client.infer(model, [tensor([[7]])]).as_numpy("OUTPUT0").tolist() == [[7]]

        cancelled = calls.send("waits", [[2]], 2)
        wait_resource(server, "waiting_instances", "R1", "0", 1)
        cancelled.cancel()
        value, _, error = calls.next()
        assert value == 2 and error.status() == "StatusCode.CANCELLED"
        wait_resource(server, "waiting_instances", "R1", "0", 0)

        with pytest.raises(InferenceServerException) as refusal:
            client.infer("impatient", [tensor([[3]])])
        assert refusal.value.status() == "StatusCode.UNAVAILABLE"
        assert refusal.value.message() == "Request timeout expired"

        with pytest.raises(InferenceServerException) as late:
            client.infer("waits", [tensor([[4]])], client_timeout=0.2)
        assert late.value.status() == "StatusCode.DEADLINE_EXCEEDED"
        wait_resource(server, "waiting_instances", "R1", "0", 0)

        calls.send("waits", [[5]], 5)
        wait_resource(server, "waiting_instances", "R1", "0", 1)
        holder.cancel()
        answers = dict((value, (result, error)) for value, result, error in (calls.next(), calls.next()))
        check(*answers[5], 5)
        assert answers[1][1].status() == "StatusCode.CANCELLED"
    wait_resource(server, "resource_copies_in_use", "R1", "0", 0)


def test_models_come_and_go_while_others_wait(tmp_path):
    write(tmp_path, {**CONFIGS, "needs_three": group(("R1", 3, ""))})
    with Server(tmp_path, ENABLED, EXPLICIT, 'plugin.control.load_model=["holder", "waits"]') as server:
        server.wait_ready("waits")
        server.wait_ready("holder")
        with server.client() as client:
            calls = Calls(client)
            holder = calls.send("holder", [[1]], 1)
            wait_resource(server, "resource_copies_in_use", "R1", "0", 2)
            for value in (2, 3):
                calls.send("waits", [[value]], value)
            wait_resource(server, "waiting_instances", "R1", "0", 1)
            client.unload_model("waits")  # its requests go on to wait
            client.load_model("needs_three")  # as many copies as the neediest needs: there is one more now
            for _ in range(2):
                value, result, error = calls.next()
                check(result, error, value)
            assert sample(metrics(server), "resource_copies", "R1", "0") == 3
            client.unload_model("holder")
            holder.cancel()
            assert calls.next()[2].status() == "StatusCode.CANCELLED"
            wait_resource(server, "resource_copies_in_use", "R1", "0", 0)
            client.unload_model("needs_three")
            wait_resource(server, "resource_copies", "R1", "0", None)


def on_gpu(gpu, *resources):
    return group(*resources).replace("kind: KIND_CPU", f"kind: KIND_GPU gpus: [ {gpu} ]")


def write_on_gpus(root, configs):
    """Models of the backend of device_plugin.cc, and where plugins are found then."""
    for name, extra in configs.items():
        models.write_model(root, name, models.identity_config(name, max_batch_size=8, extra=extra)
                           .replace('"identity"', '"device"'))
    folders = ", ".join(f'"{folder}"' for folder in (BUILD / "lib/atoll/plugins", BUILD / "tests/wire/plugins"))
    return f"atoll.plugin_path=[{folders}]", 'plugin.device.use="fixtures/device"'


def test_each_gpu_has_a_pool_of_its_own(tmp_path):
    write(tmp_path, {"holder": group(("R1", 2, "")) + slow(HOUR_MS)})
    plugins = write_on_gpus(tmp_path, {"first": on_gpu(0, ("R1", 1, "")), "second": on_gpu(1, ("R1", 3, "")),
                                       "both": on_gpu("0, 1", ("R2", 1, ""), ("R3", 1, "global: true"))})
    with Server(tmp_path, ENABLED, *plugins) as server:
        server.wait_ready()
        copies = {(resource, device): sample(metrics(server), "resource_copies", resource, device)
                  for resource in ("R1", "R2", "R3") for device in ("0", "1", "global")}
        assert {key: value for key, value in copies.items() if value is not None} == {
            ("R1", "0"): 2, ("R1", "1"): 3, ("R2", "0"): 1, ("R2", "1"): 1, ("R3", "global"): 1}
        with server.client() as client:
            calls = Calls(client)
            holder = calls.send("holder", [[1]], 1)  # on the CPU, which is device 0
            wait_resource(server, "resource_copies_in_use", "R1", "0", 2)
            calls.send("first", [[2]], 2)
            wait_resource(server, "waiting_instances", "R1", "0", 1)
            assert client.infer("second", [tensor([[3]])]).as_numpy("OUTPUT0").tolist() == [[3]]
            holder.cancel()
            answers = dict((value, (result, error)) for value, result, error in (calls.next(), calls.next()))
            check(*answers[2], 2)
            assert answers[1][1].status() == "StatusCode.CANCELLED"


def test_counts_of_a_gpu(tmp_path):
    plugins = write_on_gpus(tmp_path, {"first": on_gpu(0, ("R1", 2, "")), "second": on_gpu(1, ("R1", 2, ""))})
    with Server(tmp_path, ENABLED, *plugins, 'plugin.rate_limiter.resources=["R1:2:0", "R1:1:1"]', EXPLICIT,
                'plugin.control.load_model=["first"]') as server:
        server.wait_ready("first")
        with server.client() as client, pytest.raises(InferenceServerException) as refusal:
            client.load_model("second")
        assert ('Resource count for "R1" is limited to 1 which will prevent scheduling of one or more model instances, '
                'the minimum required count is 2') in refusal.value.message()


def test_what_can_never_be_admitted_is_not_loaded(tmp_path):
    write(tmp_path, {
        "fits": group(("R1", 10, ""), ("R3", 2, "global: true")),
        "too_much": group(("R1", 11, "")),
        "unlisted": group(("R4", 1, "")),
        "other_scope": group(("R3", 1, "")),
    })
    resources = 'plugin.rate_limiter.resources=["R1:10", "R2:5:0", "R2:8:1", "R3:2"]'
    with Server(tmp_path, ENABLED, resources, "plugin.models.strict_readiness=false",
                EXPLICIT, 'plugin.control.load_model=["fits"]') as server:
        server.wait_ready("fits")
        limited = ('Resource count for "{}" is limited to {} which will prevent scheduling of one or more model instances, '
                   "the minimum required count is {}")
        with server.client() as client:
            for model, text in (("too_much", limited.format("R1", 10, 11)), ("unlisted", limited.format("R4", 0, 1)),
                                ("other_scope", 'Resource "R3" is present as both global and device-specific resource in '
                                                "the model configuration.")):
                with pytest.raises(InferenceServerException) as refusal:
                    client.load_model(model)
                assert text in refusal.value.message()
            assert client.infer("fits", [tensor([[1]])]).as_numpy("OUTPUT0").tolist() == [[1]]
        samples = metrics(server)
        assert sample(samples, "resource_copies", "R1", "0") == 10
        assert sample(samples, "resource_copies", "R3", "global") == 2


def test_without_the_plugin_nothing_waits(tmp_path):
    write(tmp_path, {"holder": CONFIGS["holder"], "waits": CONFIGS["waits"]})
    with Server(tmp_path) as server:
        server.wait_ready("holder")
        server.wait_ready("waits")
        with server.client() as client:
            calls = Calls(client)
            holder = calls.send("holder", [[1]], 1)
            assert client.infer("waits", [tensor([[2]])]).as_numpy("OUTPUT0").tolist() == [[2]]
            holder.cancel()
            assert calls.next()[2].status() == "StatusCode.CANCELLED"


def test_the_plugin_comes_and_goes_in_a_running_server(tmp_path):
    repository = write(tmp_path / "models", {"waits": CONFIGS["waits"]})
    manifest = tmp_path / "atoll.toml"
    table = '\n[plugin.rate_limiter]\nuse = "admission/rate_limiter"\nresources = ["R1:{}"]\n'
    manifest.write_text(DEFAULT_MANIFEST.read_text())
    with Server(repository, manifest=manifest) as server:
        server.wait_ready("waits")
        for more, copies in ((table.format(4), 4), (table.format(5), 5), ("", None), (table.format(6), 6)):
            manifest.write_text(DEFAULT_MANIFEST.read_text() + more)
            server.process.send_signal(signal.SIGHUP)
            wait_resource(server, "resource_copies", "R1", "0", copies)
            with server.client() as client:
                assert client.infer("waits", [tensor([[copies or 0]])]).as_numpy("OUTPUT0").tolist() == [[copies or 0]]


def test_a_bad_option_is_named(tmp_path):
    with pytest.raises(AssertionError, match="plugin.rate_limiter.resources: 'R1:x' has the count 'x', expected a whole number"):
        Server(tmp_path, ENABLED, 'plugin.rate_limiter.resources=["R1:x"]')
