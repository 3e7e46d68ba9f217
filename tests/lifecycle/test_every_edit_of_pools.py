"""The same as test_every_edit.py for the manifest of pools: whatever is edited, leases stay, and requests for leased models are
answered. Calls about pools and leases are answered with 503 for some 20 ms while the state goes from one instance of
pools/leases to the next; this test asks again then, as clients do."""

import copy
import http.client
import json
import threading

import pytest
from support import edits, models
from support.addresses import free_addresses
from support.edit_clients import WAIT_S, Client, OverGrpc, OverHttp
from support.pools import MANIFEST, Pools, Refused
from support.waiting import eventually
from test_every_edit import ALL, World, drawn

INSTANCES = list(edits.read(MANIFEST.read_text())["plugin"])
OWN = ["placement", "launcher", "pools"]  # the others are tried with the default manifest, and here when all are

TAKES_AWAY = {
    ("grpc", "address"): ({"grpc"}, "clients of the old address have to find the new one"),
    ("http", "address"): ({"*"}, "the same, and calls about pools are made there"),
    ("metrics", "address"): (set(), "the same"),
    ("pools", "state_directory"): ({"*"}, "the leases of another folder are others"),
    ("launcher", "state_directory"): ({"*"}, "the servers of another folder are others"),
}
UNTRIED = {
    ("launcher", "cgroup"): "needs a control group that the server may write to",
    ("launcher", "default_runtime"): "there is one runtime here",
    **{("grpc", option): "needs certificates; tried with the default manifest" for option in (
        "use_ssl", "use_ssl_mutual", "server_cert", "server_key", "root_cert")},
    **{("pools", option): "needs certificates, and instances that have some" for option in (
        "use_ssl", "root_cert", "client_cert", "client_key", "ssl_server_name")},
    ("repository", "namespacing"): "tried with the default manifest", ("models", "namespacing"): "the same",
}
GONE = {"pools": {"http", "grpc"}, "http": {"http"}, "grpc": {"grpc"}}
REFUSED = {"repository", "configs", "models", "placement", "launcher"}


class PoolWorld(World):
    """A server that keeps a pool, with a lease whose model clients use."""

    def __init__(self, folder, addresses):
        self.folder, self.repository = folder, folder / "models"
        self.grpc_address, self.http_address, self.metrics_address = addresses
        self.end = threading.Event()
        models.write_model(self.repository, "echo", models.identity_config("echo", dims=(4,)))
        self.manifest = edits.read(MANIFEST.read_text())
        plugins = self.manifest["plugin"]
        plugins["repository"]["paths"] = [str(folder / "none")]
        plugins["launcher"] |= {"state_directory": str(folder / "servers"), "stop_timeout": "5s"}
        plugins["pools"] |= {"state_directory": str(folder / "pools"), "sources": [str(self.repository)], "backoff": "50ms"}
        plugins["pools"].pop("pools", None)
        for name, address in (("grpc", self.grpc_address), ("http", self.http_address), ("metrics", self.metrics_address)):
            plugins[name]["address"] = address
        self.path = folder / "atoll.toml"
        self.path.write_text(edits.write(self.manifest))
        self.start_server()
        self.pools = Pools(folder, self.repository)
        self.pools.server = self.server
        self.pools.create("kept")
        self.lease = self.pools.acquire("echo", pool="kept")
        eventually(lambda: self.lease_now()["state"] == "ACTIVE", WAIT_S)
        self.clients = [Client(self, "echo", "http", lambda: OverHttp(self, "echo", 0)),
                        Client(self, "echo", "grpc", lambda: OverGrpc(self, "echo", 0))]
        self.answered()

    def asked(self, call):
        """The answer, as soon as the state is with one instance."""
        answers = []

        def answered():
            try:
                answers.append(call())
            except Refused as refused:
                assert refused.status == 503, refused
            except (http.client.HTTPException, ConnectionError, json.JSONDecodeError):
                pass  # the frontend that is replaced closes the connection
            return bool(answers)
        eventually(answered, WAIT_S)
        return answers[0]

    def lease_now(self):
        return self.asked(lambda: self.pools.lease(self.lease))

    def kept(self):
        lease, pool = self.lease_now(), self.asked(lambda: self.pools.pool("kept"))
        return {"lease": (lease["state"], lease["models"][0]["name"], lease["quota"]),
                "servers": sorted(self.pools.processes()), "quota": pool["quota"]}

    def close(self, good):
        self.end.set()
        for client in self.clients:
            client.join(2 * WAIT_S)
        if not good:
            print("\n".join(self.server.lines[-200:]))
        self.pools.close()


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """The world that the last test has left, or a new one where that was spoilt."""
    with free_addresses(3) as addresses:
        holder = {}

        def get():
            if "world" not in holder:
                holder["world"] = PoolWorld(tmp_path_factory.mktemp("pools"), addresses)
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
    folder = world.folder
    special = {
        ("repository", "paths"): [str(folder / "none"), str(folder)], ("repository", "linked_paths"): [str(folder)],
        ("repository", "config_name"): "other", ("repository", "files_directory"): str(folder),
        ("models", "host_policies"): {"model.cpu-cores": "0"}, ("models", "gpu_load_limit"): {"0": "0.9"},
        ("models", "backend_settings"): {"identity.unused": "1"}, ("control", "load_model"): ["nothing"],
        ("launcher", "state_directory"): str(folder / "other-servers"), ("launcher", "cpu_cores"): "0",
        ("launcher", "gpus"): ["0"],
        ("launcher", "runtimes"): {"other": "/bin/false --repository={repository} --http={http_port} --grpc={grpc_port}"},
        ("pools", "state_directory"): str(folder / "other-pools"),
        ("pools", "sources"): [str(world.repository), str(folder)],
        ("pools", "pools"): {"second": '{"quota": 4, "max_instances": 1}'},
        ("pools", "use_interval"): "2s", ("pools", "backoff"): "100ms", ("pools", "max_duration"): "2h",
        ("grpc", "address"): "127.0.0.1:0", ("http", "address"): "127.0.0.1:0", ("metrics", "address"): "127.0.0.1:0",
        ("grpc", "header_forward_pattern"): "x-.*", ("http", "header_forward_pattern"): "x-.*",
        ("grpc", "tenant_header"): "x-tenant", ("http", "tenant_header"): "x-tenant",
        ("grpc", "server_name"): "other", ("http", "server_name"): "other",
        ("http", "cors_allowed_origins"): ["https://example.org"], ("http", "only_routes"): ["/*"],
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


@pytest.mark.parametrize("instance", INSTANCES if ALL else OWN)
def test_options(world, instance):
    options = values(world, instance)
    for option in drawn(instance, options):
        print(f"{instance}.{option} = {options[option]!r}", flush=True)
        allowed, _ = TAKES_AWAY.get((instance, option), (set(), ""))
        changed = copy.deepcopy(world.manifest)
        changed["plugin"][instance][option] = options[option]
        before = world.kept()
        world.take_failures()
        for manifest in (changed, world.manifest):
            applied, line = world.reload(manifest)
            assert applied, line
            if manifest is changed and allowed:
                continue
            eventually(lambda: world.lease_now()["state"] == "ACTIVE", WAIT_S)
            world.answered()
            if not allowed:
                eventually(lambda before=before: world.kept() == before, WAIT_S)
        assert world.take_failures(but=allowed) == []


@pytest.mark.parametrize("instance", INSTANCES if ALL else OWN)
def test_removal(world, instance):
    gone = GONE.get(instance, set())
    without = copy.deepcopy(world.manifest)
    del without["plugin"][instance]
    before = world.kept()
    world.take_failures()
    applied, line = world.reload(without)
    assert applied == (instance not in REFUSED), line
    world.answered(but=gone)
    applied, line = world.reload(world.manifest)
    assert applied, line
    world.answered()
    eventually(lambda: world.kept() == before, WAIT_S)
    assert world.take_failures(but=gone) == []
