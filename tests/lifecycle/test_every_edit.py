"""No edit of the manifest takes away what serves: every option of every plugin of the default manifest is changed and
changed back under load, every instance is removed and put back. Nobody's request fails, and what clients have loaded,
registered, set and begun is still there. What takes something away on purpose is in the list TAKES_AWAY.

ATOLL_TEST_EDITS=all tries all options; else a few of each instance are drawn (by ATOLL_TEST_SEED)."""

import contextlib
import copy
import getpass
import os
import random
import signal
import sys
import threading

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.utils.shared_memory as shm
from support import edits, models, pki
from support.addresses import free_addresses
from support.edit_clients import WAIT_S, Client, OverGrpc, OverHttp, Scrape, Sequences
from support.server import DEFAULT_MANIFEST, SANITIZED, Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

ALL = os.environ.get("ATOLL_TEST_EDITS") == "all"
SEED = int(os.environ.get("ATOLL_TEST_SEED", 1))
DRAWN = 1 if SANITIZED else 3  # options of an instance
INSTANCES = list(edits.read(DEFAULT_MANIFEST.read_text())["plugin"])

HTTP, GRPC = "http", "grpc"
ONNX = {"add", "dyn", "pipe", "brought", "direct", "oldest"}
MODELS = ONNX | {"echo", "py"}

# (instance, option): whose requests may fail meanwhile ("*": everybody's), and why.
TAKES_AWAY = {
    ("grpc", "address"): ({GRPC}, "clients of the old address have to find the new one"),
    ("http", "address"): ({HTTP}, "the same"),
    ("metrics", "address"): ({"metrics"}, "the same"),
    ("metrics", "listen"): ({"metrics"}, "that is what switching it off means"),
    ("grpc", "use_ssl"): ({GRPC}, "who speaks without TLS is not heard any more"),
    ("grpc", "use_ssl_mutual"): ({GRPC}, "the same"),
    ("http", "use_ssl"): ({HTTP}, "the same"), ("http", "use_ssl_mutual"): ({HTTP}, "the same"),
    ("metrics", "use_ssl"): ({"metrics"}, "the same"), ("metrics", "use_ssl_mutual"): ({"metrics"}, "the same"),
    ("repository", "namespacing"): ({"*"}, "models have other names with it"),
    ("models", "namespacing"): ({"*"}, "the same"),
    ("shared", "allow_client_shm"): ({"region"}, "what is switched off, for safety, must not go on"),
    ("python", "interpreter"): (set(), "none of what clients see; the processes are other ones"),
}
# Likewise, by any change of the instance's options.
TAKES_AWAY_ALWAYS = {
    "metrics": ({"metrics"}, "a scrape that meets the change may find its connection closed; collectors ask again"),
}
# Not tried: what a test cannot have, or has no second valid value here.
UNTRIED = {
    ("python", "cgroup"): "needs a control group that the server may write to",
    ("python", "run_as_user"): "needs root",
    ("onnxruntime", "library"): "there is one library",
    **{(instance, option): "goes with use_ssl" for instance in ("grpc", "http", "metrics")
       for option in ("server_cert", "server_key", "root_cert")},
}
# While an instance is not there: whose requests may fail, of models, or all of a transport's.
GONE = {
    "onnxruntime": ONNX, "identity": {"echo", "region"}, "python": {"py"},
    "default": MODELS | {"region"},  # whatever has no other scheduler; an ensemble goes with its members
    "sequence_direct": {"direct"}, "sequence_oldest": {"oldest"}, "ensemble": {"pipe"}, "shared": {"region"},
    "grpc": {GRPC}, "http": {HTTP}, "metrics": {"metrics"},
}
# What is another one after its instance was away: what it had of clients has gone with it.
FORGETS = {"shared": "regions", "trace": "trace settings"}
REFUSED = {"repository", "configs", "models"}  # others require them


class World:
    """A server with everything in it that clients can have, and clients that use it."""

    def __init__(self, folder, addresses):
        self.folder, self.repository = folder, folder / "models"
        self.grpc_address, self.http_address, self.metrics_address = addresses
        self.end = threading.Event()
        self.write_models()
        self.manifest = edits.read(DEFAULT_MANIFEST.read_text())
        plugins = self.manifest["plugin"]
        plugins["repository"]["paths"] = [str(self.repository)]
        plugins["control"] = {"use": "control/explicit"}
        plugins["shared"]["allow_client_shm"] = True
        plugins["trace"]["trace_file"] = str(folder / "trace.json")
        plugins["python"]["interpreter"] = sys.executable
        for name, address in (("grpc", self.grpc_address), ("http", self.http_address), ("metrics", self.metrics_address)):
            plugins[name]["address"] = address
        self.path = folder / "atoll.toml"
        self.path.write_text(edits.write(self.manifest))
        self.start_server()
        self.admin = grpcclient.InferenceServerClient(self.grpc_address)
        self.region = shm.create_shared_memory_region("kept", f"/atoll-edits-{os.getpid()}", 16)
        shm.set_shared_memory_region(self.region, [np.full(4, 2, np.float32)])
        self.prepare()
        self.clients = self.start_clients()

    def start_server(self):
        self.server = Server.__new__(Server)
        self.server._start([str(edits.ATOLL), "--manifest", str(self.path)])
        self.server.wait_active()

    def write_models(self):
        models.write_model(self.repository, "echo", models.identity_config("echo", dims=(4,)))
        models.write_add(self.repository, "add", 1)
        models.write_model(self.repository, "dyn", 'backend: "onnxruntime" dynamic_batching { }\nmax_batch_size: 0',
                           files={"model.onnx": models.onnx_add(2)})
        tensors = models.tensor_config("input", "INPUT0", "TYPE_FP32", [4]) + models.tensor_config(
            "output", "OUTPUT0", "TYPE_FP32", [4])
        steps = ", ".join(f'{{ model_name: "{model}" model_version: -1 input_map {{ key: "INPUT0" value: "{a}" }} '
                          f'output_map {{ key: "OUTPUT0" value: "{b}" }} }}'
                          for model, a, b in (("add", "INPUT0", "between"), ("dyn", "between", "OUTPUT0")))
        models.write_model(self.repository, "pipe",
                           f'platform: "ensemble" {tensors} ensemble_scheduling {{ step [ {steps} ] }}')
        models.write_model(self.repository, "py", f'backend: "python" {tensors}', files={"model.py": b"""
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", pb_utils.get_input_tensor_by_name(
            request, "INPUT0").as_numpy() + 5)]) for request in requests]
"""})
        for name in ("direct", "oldest"):
            models.write_model(self.repository, name, models.accumulate_config(
                f"{name} {{ }} max_sequence_idle_microseconds: 600000000"), files={"model.onnx": models.onnx_accumulate()})

    def input_of(self, model):
        return "INPUT" if model in ("direct", "oldest") else "INPUT0"

    def prepare(self):
        """All that clients give the server, as far as it is not there."""
        loaded = {model for model, _ in self.ready()}
        for model in sorted(MODELS - loaded - {"brought"}, key=lambda model: model == "pipe"):
            self.admin.load_model(model)
        if "brought" not in loaded:
            self.admin.load_model("brought", config='{"backend":"onnxruntime"}',
                                  files={"file:1/model.onnx": models.onnx_add(7)})
        if "kept" not in self.regions():
            eventually(self.is_region_registered, WAIT_S)
        self.admin.update_trace_settings(None, {"trace_rate": "77"})
        self.admin.update_trace_settings("echo", {"trace_rate": "78"})
        self.admin.update_log_settings({"log_warning": False})

    def is_region_registered(self):
        """Frontends hear of a provider of shared memory that has come back by an event, a moment after the reload."""
        try:
            self.admin.register_system_shared_memory("kept", f"/atoll-edits-{os.getpid()}", 16)
        except InferenceServerException as error:
            assert "Client shared memory is disabled" in str(error), error
            return False
        return True

    def recover(self):
        """After something was taken away: everybody has it again. A connection may lead to what is on its way out."""
        before = [client.answers for client in self.clients]

        def recovered():
            with contextlib.suppress(InferenceServerException):
                self.prepare()
            return all(client.answers > then + 1 for client, then in zip(self.clients, before))
        eventually(recovered, WAIT_S)
        self.take_failures()

    def ready(self):
        index = self.admin.get_model_repository_index().models
        return {(model.name, model.version) for model in index if model.state == "READY"}

    def regions(self):
        return set(self.admin.get_system_shared_memory_status().regions)

    def counts(self):
        found = self.admin.get_inference_statistics().model_stats
        return {(model.name, model.version): model.inference_count for model in found}

    def trace_rates(self):
        return [self.admin.get_trace_settings(model).settings["trace_rate"].value[0] for model in (None, "echo")]

    def kept(self):
        """What clients gave the server, but for the statistics."""
        return {"models": self.ready(), "regions": self.regions(), "trace settings": self.trace_rates(),
                "log settings": self.admin.get_log_settings().settings["log_warning"].bool_param}

    def start_clients(self):
        adds = {"echo": 0, "add": 1, "dyn": 2, "pipe": 3, "py": 5, "brought": 7}
        clients = [Client(self, model, HTTP, lambda model=model, value=value: OverHttp(self, model, value))
                   for model, value in adds.items()]
        clients += [Client(self, model, GRPC, lambda model=model, value=value: OverGrpc(self, model, value))
                    for model, value in adds.items()]
        clients += [Client(self, model, GRPC, lambda model=model: Sequences(self, model, 0)) for model in ("direct", "oldest")]
        clients.append(Client(self, "region", GRPC, lambda: OverGrpc(self, "echo", 0, "kept")))
        clients.append(Client(self, "metrics", "metrics", lambda: Scrape(self)))
        return clients

    def reload(self, manifest):
        """\returns whether it was applied, and the line that says so"""
        seen = len(self.server.lines)
        self.path.write_text(edits.write(manifest))
        self.server.process.send_signal(signal.SIGHUP)
        found = []

        def ended():
            assert self.server.process.poll() is None, self.server.log
            found[:] = [line for line in self.server.lines[seen:] if "reloaded: generation" in line or "reload refused" in line]
            return bool(found)
        eventually(ended, WAIT_S)
        return "reloaded: generation" in found[0], found[0]

    def answered(self, but=frozenset()):
        """Everybody has been answered again."""
        waited = [client for client in self.clients if not is_among(client, but)]
        before = [client.answers for client in waited]
        eventually(lambda: all(client.answers > then + 1 for client, then in zip(waited, before)), WAIT_S)

    def take_failures(self, but=frozenset()):
        failures = []
        for client in self.clients:
            own, client.failures = client.failures, []
            if not is_among(client, but):
                failures += own
        return failures

    def close(self, good):
        self.end.set()
        for client in self.clients:
            client.join(2 * WAIT_S)
        self.admin.close()
        shm.destroy_shared_memory_region(self.region)
        if not good:
            print("\n".join(self.server.lines[-200:]))
            self.server.process.kill()
        code = self.server.stop()
        assert not good or code == 0, self.server.log


def is_among(client, names):
    return "*" in names or client.label in names or client.transport in names


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """The world that the last test has left, or a new one where that was spoilt."""
    with free_addresses(3) as addresses:
        holder = {}

        def get():
            if "world" not in holder:
                holder["world"] = World(tmp_path_factory.mktemp("world"), addresses)
            return holder["world"]

        def spoilt():
            if "world" in holder:
                holder.pop("world").close(good=False)
        yield get, spoilt
        if "world" in holder:
            holder["world"].close(good=True)


@pytest.fixture
def world(worlds, request):
    get, spoilt = worlds
    failed_before = request.session.testsfailed
    yield get()
    if request.session.testsfailed != failed_before:
        spoilt()


def values(world, instance):
    """Of every option of the instance, another valid value."""
    folder = world.folder
    special = {
        ("repository", "paths"): [str(world.repository), str(folder)], ("repository", "linked_paths"): [str(folder)],
        ("repository", "config_name"): "other", ("repository", "files_directory"): str(folder),
        ("models", "host_policies"): {"model.cpu-cores": "0"}, ("models", "gpu_load_limit"): {"0": "0.9"},
        ("models", "backend_settings"): {"identity.unused": "1"},
        ("control", "load_model"): ["echo"], ("dynamic", "backend_directory"): str(folder),
        ("host", "request_budget"): "40%", ("shared", "allowed_owners"): [getpass.getuser()],
        ("shared", "allow_client_shm"): False,
        ("trace", "level"): ["TIMESTAMPS"], ("trace", "trace_file"): str(folder / "other.json"),
        ("trace", "url"): "http://127.0.0.1:9/v1/traces", ("trace", "resource"): ["service.name=other"],
        ("nvml", "library"): "libnvidia-ml.so", ("onnxruntime", "cuda_libraries"): [str(folder)],
        ("python", "interpreter"): other_python(folder), ("python", "cpu_cores"): "0", ("python", "open_files"): 512,
        ("python", "processes"): 4096, ("python", "directories"): [str(folder)], ("python", "environment"): ["OTHER=1"],
        ("grpc", "address"): "127.0.0.1:0", ("http", "address"): "127.0.0.1:0", ("metrics", "address"): "127.0.0.1:0",
        ("grpc", "header_forward_pattern"): "x-.*", ("http", "header_forward_pattern"): "x-.*",
        ("grpc", "tenant_header"): "x-tenant", ("http", "tenant_header"): "x-tenant",
        ("grpc", "server_name"): "other", ("http", "server_name"): "other",
        ("http", "cors_allowed_origins"): ["https://example.org"], ("http", "only_routes"): ["/*"],
        ("console", "allowed_hosts"): ["localhost", "atoll.example"], ("console", "ignored_listeners"): ["grpc"],
        **{(instance, "ssl_ciphers"): "ECDHE-RSA-AES256-GCM-SHA384" for instance in ("grpc", "http", "metrics")},
        ("metrics", "summary_quantiles"): ["0.5:0.05"], ("metrics", "duration_buckets"): ["0.1", "1"], ("metrics", "phase_histograms"): ["all"],
    }
    found = {}
    for option, described in edits.options()[world.manifest["plugin"][instance]["use"]].items():
        if (instance, option) in UNTRIED:
            continue
        value = special.get((instance, option))
        if value is None:
            value = edits.other_value(*described)
        assert value is not None, f"this test knows no other value of '{option}' of '{instance}': add one"
        found[option] = value
    return found


def companions(world, instance, option):
    """Options that another one is valid with."""
    if instance not in ("grpc", "http", "metrics") or option not in ("use_ssl", "use_ssl_mutual"):
        return {}
    if not (world.folder / "server.crt").exists():
        pki.make_pki(world.folder)
    own = {"server_cert": str(world.folder / "server.crt"), "server_key": str(world.folder / "server.key")}
    return own if option == "use_ssl" else {**own, "use_ssl": True, "root_cert": str(world.folder / "ca.crt")}


def other_python(folder):
    link = folder / "python"
    if not link.exists():
        link.symlink_to(sys.executable)
    return str(link)


def drawn(instance, options):
    if ALL or len(options) <= DRAWN:
        return list(options)
    return random.Random(f"{SEED} {instance}").sample(sorted(options), DRAWN)


def assert_kept(world, before, counts, forgets=None, reset=frozenset()):
    """Also what the server does when the reload itself is over, such as building models on another backend."""
    eventually(lambda: world.ready() >= before["models"], WAIT_S)
    now = world.kept()
    for what in before.keys() - {forgets}:
        assert now[what] == before[what], f"{what}: {now[what]}, before: {before[what]}"
    after = world.counts()
    fewer = {key: (after.get(key), count) for key, count in counts.items()
             if key[0] not in reset and after.get(key, -1) < count}
    assert not fewer, f"statistics have gone back: (now, before) {fewer}"


@pytest.mark.parametrize("instance", INSTANCES)
def test_options(world, instance):
    options = values(world, instance)
    for option in drawn(instance, options):
        print(f"{instance}.{option} = {options[option]!r}", flush=True)
        edit(world, instance, option, options[option])


def edit(world, instance, option, value):
    allowed, _ = TAKES_AWAY.get((instance, option), (set(), ""))
    may_fail = allowed | TAKES_AWAY_ALWAYS.get(instance, (set(), ""))[0]
    changed = copy.deepcopy(world.manifest)
    changed["plugin"][instance] |= {option: value, **companions(world, instance, option)}
    before, counts = world.kept(), world.counts()
    sequences = [] if allowed else [Sequences(world, model, 0).begin() for model in ("direct", "oldest")]
    world.take_failures()
    for manifest in (changed, world.manifest):
        applied, line = world.reload(manifest)
        assert applied, line
        world.answered(but=allowed)
        if allowed:
            continue
        for sequence in sequences:
            sequence.step()
        assert_kept(world, before, counts)
    for sequence in sequences:
        with sequence:
            sequence.step(end=True)
    assert world.take_failures(but=may_fail) == []
    if allowed:
        world.recover()


@pytest.mark.parametrize("instance", INSTANCES)
def test_removal(world, instance):
    gone = GONE.get(instance, set())
    without = copy.deepcopy(world.manifest)
    del without["plugin"][instance]
    before, counts = world.kept(), world.counts()
    world.take_failures()
    applied, line = world.reload(without)
    assert applied == (instance not in REFUSED), line
    if not applied:
        assert "no enabled plugin provides it" in line, line
    world.answered(but=gone)
    assert world.take_failures(but=gone) == []
    applied, line = world.reload(world.manifest)
    assert applied, line
    if instance in FORGETS:
        world.prepare()
    eventually(lambda: world.ready() >= before["models"], WAIT_S)
    world.answered()
    assert world.take_failures(but=gone) == []
    # Models that were away begin anew.
    assert_kept(world, before, counts, forgets=FORGETS.get(instance), reset=gone)


def test_removed_path(world, tmp_path):
    """Models of a repository that is taken out of the manifest go, and no others."""
    models.write_add(tmp_path / "more", "further", 9)
    two = copy.deepcopy(world.manifest)
    two["plugin"]["repository"]["paths"].append(str(tmp_path / "more"))
    before, counts = world.kept(), world.counts()
    world.take_failures()
    assert world.reload(two)[0]
    world.admin.load_model("further")
    assert world.reload(world.manifest)[0]
    eventually(lambda: ("further", "1") not in world.ready(), WAIT_S)
    world.answered()
    assert world.take_failures() == []
    assert_kept(world, before, counts)


def test_list_of_exceptions():
    assert len(TAKES_AWAY) + len(TAKES_AWAY_ALWAYS) <= 15
