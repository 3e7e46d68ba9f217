"""Whoever declares an OPTIONAL need follows the service by itself: it comes, changes and goes by reloads, nothing but
its provider is replaced, and the old provider ends. One table; a need that is not in it fails a test."""

import concurrent.futures
import contextlib
import dataclasses
import itertools
import json
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from typing import Callable

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
import tritonclient.utils.shared_memory as shm
from harness import ATOLL, BUILD, WAIT_S, Server
from onnx import TensorProto
from support import models
from tritonclient.utils import InferenceServerException

PLUGINS = BUILD / "lib" / "atoll" / "plugins"
NUMBERS = itertools.count()
FRONTENDS = {
    "frontends/grpc": ("grpc", r"Started GRPCInferenceService at (\S+)", grpcclient),
    "frontends/grpc_nghttp2": ("grpc", r"Started GRPCInferenceService at (\S+)", grpcclient),
    "frontends/http": ("http", r"Started HTTPService at (\S+)", httpclient),
    "frontends/metrics": ("metrics", r"Started Metrics Service at (\S+)", None),
    "backends/onnxruntime": ("grpc", r"Started GRPCInferenceService at (\S+)", grpcclient),
    "models/catalog": ("grpc", r"Started GRPCInferenceService at (\S+)", grpcclient),
}


class World:
    """One server with one frontend, and what a test looks at."""

    def __init__(self, folder, plugin):
        self.folder, self.frontend = folder, plugin
        self.name, self.started, self.module = FRONTENDS[plugin]
        used = plugin if plugin.startswith("frontends/") else f"frontends/{self.name}"
        repository = folder / "models"
        models.write_add(repository, "m", 1, 1)
        models.write_add(repository, "m", 2, 2)
        models.write_model(repository, "m", 'backend: "onnxruntime"\nversion_policy { all { } }\n')
        models.write_model(repository, "pair", (
            'backend: "onnxruntime" max_batch_size: 2\n'
            "dynamic_batching { max_queue_delay_microseconds: 60000000 preferred_batch_size: [ 2 ] }"),
            files={"model.onnx": models.onnx_identity(TensorProto.FLOAT, ["batch", 4])})
        models.write_model(repository, "checked", models.identity_config("checked", dims=(4,)) +
                           'model_repository_agents { agents { name: "checksum" } }')
        for i in range(4):
            models.write_model(repository, f"wish{i}", models.identity_config(f"wish{i}", dims=(4,)))
        self.base = {
            "repository": f'use = "repositories/filesystem"\npaths = ["{repository}"]',
            "configs": 'use = "configs/pbtxt"', "models": 'use = "models/catalog"',
            "control": 'use = "control/none"', "default": 'use = "schedulers/default"',
            "dynamic": 'use = "schedulers/dynamic"', "onnxruntime": 'use = "backends/onnxruntime"',
            "identity": 'use = "backends/identity"', "placement": 'use = "placement/best_fit"',
            "launcher": f'use = "launchers/process"\nstate_directory = "{folder}/servers"', self.name: f'use = "{used}"\naddress = "127.0.0.1:0"'}
        self.wishes = 0  # models that requests have loaded

    def instances(self, provider, body):
        """The manifest with the provider, or without it, and without those who require it."""
        instances = dict(self.base)
        for name in (provider.name, *provider.without):
            instances.pop(name, None)
        if body is not None:
            instances |= {name: self.base[name] for name in provider.without} | {provider.name: body}
        return instances

    @contextlib.contextmanager
    def client(self):
        # As many calls at a time as a test makes.
        options = {"concurrency": 4} if self.module is httpclient else {}
        with self.module.InferenceServerClient(self.address, **options) as client:
            yield client

    def infer(self, client, model="m", version="", shape=(4,)):
        tensor = self.module.InferInput("INPUT0", list(shape), "FP32")
        tensor.set_data_from_numpy(np.zeros(shape, np.float32))
        return client.infer(model, [tensor], model_version=version).as_numpy("OUTPUT0").flat[0]


def regions(world):
    """How many of two regions clients may register. While events travel one of them may get through: a limit of three is
    one of two for who tries again."""
    count = 0
    with world.client() as client:
        for _ in range(2):
            number = next(NUMBERS)
            handle = shm.create_shared_memory_region(f"region{number}", f"/atoll-needs-{number}", 16)
            try:
                client.register_system_shared_memory(f"region{number}", f"/atoll-needs-{number}", 16)
                use_region(world, client, f"region{number}")
                count += 1
            except InferenceServerException as error:
                # The last one: it was registered with a provider that has gone since.
                assert any(text in error.message() for text in ("is disabled", "regions", "Unable to find")), error
            finally:
                shm.destroy_shared_memory_region(handle)
        # None of them is unregistered: the reload is not to wait for that.
    return count


def use_region(world, client, region):
    tensor = world.module.InferInput("INPUT0", [4], "FP32")
    tensor.set_shared_memory(region, 16)
    np.testing.assert_array_equal(client.infer("m", [tensor], model_version="1").as_numpy("OUTPUT0"), np.ones(4))


def trace_rate(world):
    """The trace rate that the settings call shows, once a request of this moment is in the trace file that goes with it."""
    with world.client() as client:
        world.infer(client)
        try:
            settings = client.get_trace_settings()
        except InferenceServerException as error:
            assert "no trace plugin" in error.message(), error
            return None
        rate = (settings.settings["trace_rate"].value if world.module is grpcclient else [settings["trace_rate"]])[0]
        path = world.folder / f"trace{rate}.json"
        for _ in until(lambda: path.exists() and json.loads(path.read_text() or "[]")):
            world.infer(client)
    return rate


def label(world):
    with world.client() as client:
        try:
            return world.infer(client, version="stable")
        except InferenceServerException as error:
            assert "version" in error.message(), error
            return None


def load_call(world):
    with world.client() as client:
        try:
            client.load_model("m")
            return "loaded"
        except InferenceServerException as error:
            assert "not allowed" in error.message(), error
            return "refused"


def wish(world):
    """Whether a model that nobody asked for before is loaded by a request."""
    with world.client() as client:
        try:
            world.infer(client, f"wish{world.wishes}")
            world.wishes += 1
            return True
        except InferenceServerException as error:
            assert "unknown model" in error.message() or "not found" in error.message(), error
            return False


def looks_for_lease(world):
    """Whether the lease that a client names matters."""
    with world.client() as client:
        tensor = world.module.InferInput("INPUT0", [4], "FP32")
        tensor.set_data_from_numpy(np.zeros(4, np.float32))
        try:
            client.infer("m", [tensor], headers={"atoll-lease": "gone"})
            return False
        except InferenceServerException as error:
            assert "lease 'gone' is not found" in error.message(), error
            return True


def checked_model(world):
    """Whether the model that names a repository agent is served."""
    with world.client() as client:
        try:
            return world.infer(client, "checked") == 0.0
        except InferenceServerException as error:
            assert "unknown model" in error.message(), error
            return False


def verbose_level(world):
    with world.client() as client:
        settings = client.get_log_settings()
        return settings.settings["log_verbose_level"].uint32_param if world.module is grpcclient else (
            settings["log_verbose_level"])


def models_on_page(world):
    with urllib.request.urlopen(f"http://{world.address}/metrics", timeout=WAIT_S) as answer:
        return 'nv_inference_request_success{model="m"' in answer.read().decode()


def accepts(world, key):
    """Whether metadata, or the page of metrics, is given to who presents the key."""
    if world.module is None:
        request = urllib.request.Request(f"http://{world.address}/metrics", headers={"the-key": key})
        try:
            with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
                return answer.status == 200
        except urllib.error.HTTPError as error:
            assert error.code == 403, error
            return False
    header = "triton-grpc-protocol-the-key" if world.module is grpcclient else "the-key"
    with world.client() as client:
        try:
            client.get_server_metadata(headers={header: key})
            return True
        except InferenceServerException as error:
            assert "restricted" in error.message(), error
            return False


def accepted_keys(world):
    return {key for key in ("first", "second") if accepts(world, key)}


def audit_logs(world):
    """The audit logs, by number, in which a call of this moment stands."""
    logs = {path: path.stat().st_size for path in world.folder.glob("audit*.log")}
    if world.module is None:
        models_on_page(world)
    else:
        with world.client() as client:
            client.is_server_live()
    deadline = time.monotonic() + 0.2  # a line comes soon after its call, and is looked for again
    while True:
        grown = {path.stem.removeprefix("audit") for path in world.folder.glob("audit*.log")
                 if path.stat().st_size > logs.get(path, 0)}
        if grown or time.monotonic() > deadline:
            return grown
        time.sleep(0.01)


def fits_budget(world):
    """Whether a request of a few bytes may have memory."""
    with world.client() as client:
        try:
            return world.infer(client, version="1") == 1.0
        except InferenceServerException as error:
            assert "request_budget" in error.message(), error
            return False


def gathered_batch(world):
    """Whether two requests can be put together in memory of the service."""
    with world.client() as client, concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(world.infer, client, "pair", shape=(1, 4)) for _ in range(2)]
        try:
            return [run.result() for run in runs] == [0.0, 0.0]
        except InferenceServerException as error:
            assert "CPU memory" in error.message(), error
            return False


@dataclasses.dataclass
class Provider:
    """What provides a service: an instance of the manifest, and those that go when it goes."""
    name: str
    without: tuple = ()


@dataclasses.dataclass
class Need:
    provider: Provider
    observe: Callable
    states: list  # (body of the provider's table, or None: it is not there; what is observed then)


def with_frontends(*rows):
    every = ("frontends/grpc", "frontends/grpc_nghttp2", "frontends/http")
    return {(plugin, interface): need for interface, need in rows for plugin in every}


TRACE = 'use = "telemetry/trace"\nlevel = ["TIMESTAMPS"]\nrate = {0}\ntrace_file = "{{folder}}/trace{0}.json"'
SHARED = 'use = "memory/shared"\nallow_client_shm = true\nmax_regions = '
ROUTING = 'use = "routing/weighted"\nlabels = {{ "m.stable" = "{}" }}'
BUDGET = 'use = "memory/host"\nrequest_budget = "{}"'
KEYS = 'use = "security/keys"\nrestricted_apis = ["metadata,metrics:the-key={0}"]\n' \
       'restricted_protocols = ["metadata:the-key={0}"]'
POOLS = 'use = "pools/leases"\nstate_directory = "{{folder}}/pools"\nsources = ["{{folder}}"]\nhistory = "{}m"'
AGENTS = f'use = "agents/triton"\ndirectories = ["{BUILD}/lib/atoll/triton_agents"]\nunload = '
ACCESS = Need(Provider("keys"), accepted_keys, [
    (None, {"first", "second"}), (KEYS.format("first"), {"first"}), (KEYS.format("second"), {"second"}),
    (None, {"first", "second"})])
AUDIT = 'use = "telemetry/audit"\nsample = 1\naudit_file = "{{folder}}/audit{0}.log"'
AUDITED = Need(Provider("audit"), audit_logs, [
    (None, set()), (AUDIT.format(1), {"1"}), (AUDIT.format(2), {"2"}), (None, set())])
NEEDS = with_frontends(
    ("atoll.access/1", ACCESS), ("atoll.audit/1", AUDITED),
    ("atoll.shared_memory/1", Need(Provider("shared"), regions, [
        (None, 0), (SHARED + "1", 1), (SHARED + "3", 2), ('use = "memory/shared"\nallow_client_shm = false', 0),
        (SHARED + "3", 2), (None, 0)])),
    ("atoll.tracing/1", Need(Provider("trace"), trace_rate, [
        (None, None), (TRACE.format(1), "1"), (TRACE.format(2), "2"), (None, None)])),
    ("atoll.remote_models/1", Need(Provider("pools", ("placement", "launcher")), looks_for_lease, [
        (None, False), (POOLS.format(60), True), (POOLS.format(30), True), (None, False)])),
    ("atoll.model_router/1", Need(Provider("routing"), label, [
        (None, None), (ROUTING.format(1), 1.0), (ROUTING.format(2), 2.0), (None, None)])),
    ("atoll.model_control/1", Need(Provider("control"), load_call, [
        (None, "refused"), ('use = "control/explicit"', "loaded"),
        ('use = "control/explicit"\nallow_file_override = false', "loaded"), ('use = "control/none"', "refused"),
        (None, "refused")])),
    ("atoll.model_demand/1", Need(Provider("control"), wish, [
        ('use = "control/explicit"', False), ('use = "control/on_demand"', True),
        ('use = "control/on_demand"\nmax_waiting = 5', True), ('use = "control/explicit"', False)])),
    ("atoll.request_memory/1", Need(Provider("host"), fits_budget, [
        (None, True), (BUDGET.format("1"), False), (BUDGET.format("10MiB"), True), (BUDGET.format("2"), False),
        (None, True)])),
    # The kernel's, which neither comes nor goes.
    ("atoll.log_control/1", Need(None, verbose_level, [('level = "debug"', 1), ('level = "trace"', 2),
                                                       ('level = "debug"', 1)])),
) | {
    ("frontends/metrics", "atoll.access/1"): ACCESS, ("frontends/metrics", "atoll.audit/1"): AUDITED,
    ("frontends/metrics", "atoll.model_catalog/1"): Need(Provider("models", ("control",)), models_on_page, [
        (None, False), ('use = "models/catalog"', True), ('use = "models/catalog"\nload_retry_count = 1', True),
        (None, False)]),
    ("models/catalog", "atoll.repository_agents/1"): Need(Provider("agents"), checked_model, [
        (None, False), (AGENTS + "true", True), (AGENTS + "false", True), (None, False)]),
    ("backends/onnxruntime", "atoll.memory/1"): Need(Provider("host"), gathered_batch, [
        (None, True), ('use = "memory/host"\nlimit = "8"', False), ('use = "memory/host"\nlimit = "1MiB"', True),
        ('use = "memory/host"\nlimit = "9"', False), (None, True)]),
}


# What they are for shows only where a process ends, in test_faults.py, with memory of GPUs, in
# gpu/test_device_memory.py, on GPUs, in gpu/test_onnx_gpu.py, with a cache, in
# extensions/test_extensions.py, and with encrypted models, in security/test_encrypted_models.py. frontends/c_api, backends/triton
# and backends/python have no address, frontends/openai, frontends/tfserving, frontends/sagemaker and frontends/console are behind the address of another plugin, supervision/systemd has none, and telemetry/nvml asks for GPUs:
# their unit tests follow what they need.
NOT_SEEN = {("models/catalog", "atoll.fault_notes/1"), ("models/catalog", "atoll.request_memory/1"),
            ("models/catalog", "atoll.response_cache/1"), ("backends/triton", "atoll.triton_server/1"),
            ("telemetry/nvml", "atoll.cuda/1"),
            ("backends/onnxruntime", "atoll.cuda/1"), ("backends/onnxruntime", "atoll.model_files/1"),
            *((plugin, "atoll.listeners/1") for plugin in FRONTENDS if plugin.startswith("frontends/")),
            # When a port opens shows only at a server's start: platforms/test_port_opening.py.
            *((plugin, "atoll.startup/1") for plugin in FRONTENDS if plugin.startswith("frontends/")),
            *(("frontends/sagemaker", f"atoll.{name}/1") for name in ("model_control", "repository_paths")),
            *(("frontends/console", f"atoll.{name}/1") for name in ("kernel_control", "listeners", "log_control", "model_control", "model_queues",
                                                                    "request_memory", "response_cache", "trace_log")),
            ("models/catalog", "atoll.repository_paths/1"),
            *(("frontends/openai", f"atoll.{name}/1") for name in ("model_control", "model_router", "tracing")),
            *(("frontends/tfserving", f"atoll.{name}/1") for name in ("model_router", "tracing")),
            ("supervision/systemd", "atoll.startup/1"),
            ("backends/python", "atoll.model_catalog/1"), ("backends/python", "atoll.model_control/1")} | {
                ("frontends/c_api", f"atoll.{name}/1")
                for name in ("model_control", "model_demand", "model_router", "metrics_page", "repository_paths",
                             "repository_poll")}


def until(condition):
    """Yields until the condition holds."""
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, condition
        yield time.sleep(0.01)


def optional_needs(tmp_path):
    """(plugin, interface) of every OPTIONAL need of the plugins that were built, as the server lists them."""
    path = tmp_path / "empty.toml"
    path.write_text(f'[atoll]\nplugin_path = ["{PLUGINS}"]\n')
    listed = subprocess.run([ATOLL, "--manifest", str(path), "--list"], capture_output=True, text=True, timeout=WAIT_S,
                            check=True).stdout
    found, plugin = set(), None
    for line in listed.splitlines():
        if re.fullmatch(r"\w+/\w+.*", line):
            plugin = line.split()[0]
        found |= {(plugin, need) for need in re.findall(r"(atoll\.\w+/\d+)\.\d+ \(optional\)", line)}
    return found


def test_every_optional_need_is_in_the_table(tmp_path):
    # Of any number of memories backends/onnxruntime follows each, so its need is not among the optional ones.
    assert optional_needs(tmp_path) == set(NEEDS) - {("backends/onnxruntime", "atoll.memory/1")} | NOT_SEEN


@pytest.mark.parametrize("plugin, interface", NEEDS)
def test_the_need_is_followed(tmp_path, plugin, interface):
    need = NEEDS[plugin, interface]
    world = World(tmp_path, plugin)

    def settings(body):
        body = body and body.replace("{folder}", str(tmp_path))
        if need.provider is None:
            return world.base, body
        return world.instances(need.provider, body), 'level = "debug"'

    first, *later = need.states
    instances, log = settings(first[0])
    with Server(tmp_path, instances, plugin_path=PLUGINS, log=log, atoll='drain_timeout = "1h"') as server:
        world.address = re.search(world.started, server.expect(world.started)).group(1)
        server.expect("active: ")
        wait_for_models(world, need)
        assert observed(world, need, first[1]) == first[1]
        for generation, ((before, _), (body, expected)) in enumerate(itertools.pairwise(need.states), 2):
            instances, server.settings["log"] = settings(body)
            server.reload(instances)
            line = server.expect(f"reloaded: generation {generation}, ")
            assert observed(world, need, expected) == expected
            stays = need.provider is not None and f"changed {need.provider.name}" in line
            if need.provider is not None and before is not None and not stays:
                # Nobody keeps the old one, whatever was done with it.
                server.expect(rf"plugin '{need.provider.name}' .*: (unloaded|destroyed), generation \d+")
        assert not [line for line in server.seen if re.search(rf"plugin '{world.name}' .*: draining", line)]
        server.send(signal.SIGTERM)
        assert server.wait() == 0


def wait_for_models(world, need):
    """Until what the control plugin loads at its start serves, where a test needs it."""
    if need.observe in (regions, trace_rate, label, fits_budget, gathered_batch, looks_for_lease):
        with world.client() as client:
            for _ in until(lambda: client.is_model_ready("pair") and client.is_model_ready("m")):
                pass


def observed(world, need, expected):
    """What is observed once it is what is expected, else at the end of the patience: events travel for a moment."""
    last = []
    deadline = time.monotonic() + 10
    while not last or (last[-1] != expected and time.monotonic() < deadline):
        last.append(need.observe(world))
    return last[-1]
