"""control/explicit: what clients load is served, what fails harms nobody, and every call says what became of it."""

import concurrent.futures
import shutil
import signal
import subprocess
import time

import grpc
import pytest
from support import models
from support.control import EXPLICIT, POLL_FAILED, PROTOCOLS, Control, await_execution, waiting_requests
from support.server import ATOLL, DEFAULT_MANIFEST, Server
from tritonclient.grpc import service_pb2, service_pb2_grpc


def slow_config(name, delay_ms, extra=""):
    return models.identity_config(
        name, dims=(4,),
        extra=f'parameters {{ key: "execute_delay_ms" value {{ string_value: "{delay_ms}" }} }}\n{extra}')


def slow_to_load(name, seconds):
    """Its warm-up is an execution that takes that long."""
    return slow_config(name, int(seconds * 1000), """model_warmup [ { name: "w" batch_size: 1
        inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: 4 zero_data: true } } } ]""")


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    models.write_add(folder, "plus", 1)
    models.write_add(folder, "many", 10, version=1)
    models.write_add(folder, "many", 20, version=2)
    models.write_add(folder, "many", 30, version=3)
    models.write_model(folder, "echo", models.identity_config("echo", dims=(4,)))
    models.write_model(folder, "broken", "max_batchsize: 8\n")
    models.write_model(folder, "unbuildable", files={"model.onnx": b"no model"})
    models.write_model(folder, "other_name", 'name: "another" backend: "identity"\n')
    (folder / "no_version").mkdir()
    (folder / "no_version" / "config.pbtxt").write_text(models.identity_config("no_version", dims=(4,)))
    return folder


@pytest.fixture(scope="module")
def server(repository):
    with Server(repository, EXPLICIT) as running:
        yield running.wait_ready()


def settle(control, model):
    """The states of a model when nothing of it is on its way any more."""
    deadline = time.monotonic() + 30
    while True:
        states = control.index()[model]
        if all(state in ("READY", "UNAVAILABLE", "") for state, _ in states.values()):
            return states
        assert time.monotonic() < deadline, states
        time.sleep(0.005)


# --- start ---

def test_nothing_is_served_until_it_is_loaded(repository):
    with Server(repository, EXPLICIT) as server, Control(server, "grpc") as control:
        server.wait_ready()
        assert control.index()["plus"] == {"": ("", "")}
        assert control.refusal(control.infer, "plus") == (
            "NOT_FOUND", "Request for unknown model: 'plus' is not found")


@pytest.mark.parametrize("listed,served", [('["plus", "echo", "plus"]', {"plus", "echo"}), ('["many"]', {"many"})])
def test_named_models_are_loaded_at_start(repository, listed, served):
    with Server(repository, EXPLICIT, f"plugin.control.load_model={listed}") as server:
        server.wait_ready()
        with Control(server, "http") as control:
            assert {name for name, versions in control.index().items() if "" not in versions} == served
            for name in served:
                control.infer(name)


def test_a_star_loads_all_and_those_that_fail_are_named(repository):
    with Server(repository, EXPLICIT, 'plugin.control.load_model=["*"]') as server:
        server.newest_line(r"start-up: 3 models loaded, 4 failed: broken, no_version, other_name, unbuildable")
        with Control(server, "grpc") as control:
            assert control.infer("many", 1) == ("3", 31)
            for model in ("broken", "no_version", "other_name", "unbuildable"):
                assert not control.client.is_server_ready()
                control.unload(model)
            server.wait_ready()


def test_a_star_stands_alone(repository):
    command = [str(ATOLL), "--manifest", str(DEFAULT_MANIFEST), "--set", f'plugin.repository.paths=["{repository}"]',
               "--set", EXPLICIT, "--set", 'plugin.control.load_model=["*", "plus"]']
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 2
    assert "plugin.control.load_model: Wildcard model name '*' must be the ONLY startup model if specified at all." in result.stderr


# --- loads and unloads ---

def test_load_serve_unload_and_again(control):
    for _ in range(2):
        control.load("plus")
        assert control.infer("plus", 2) == ("1", 3)
        assert control.client.is_model_ready("plus") and control.client.is_model_ready("plus", "1")
        assert control.index()["plus"] == {"1": ("READY", "")}
        control.unload("plus")
        assert not control.client.is_model_ready("plus") and not control.client.is_model_ready("plus", "1")
        assert control.refusal(control.infer, "plus") == (
            "NOT_FOUND", "Request for unknown model: 'plus' has no available versions")
        assert control.refusal(control.infer, "plus", version="1") == (
            "UNAVAILABLE", "Request for unknown model: 'plus' version 1 is not at ready state")
        assert settle(control, "plus") == {"1": ("UNAVAILABLE", "unloaded")}
    assert control.client.is_server_ready()


def test_unloading_what_is_not_loaded_succeeds(control):
    for name in ("plus", "nobody", "broken"):
        control.unload(name)
        control.unload(name, dependents=True)


def test_an_unchanged_model_is_not_loaded_again(control):
    control.load("plus")
    control.infer("plus")
    before = statistics(control, "plus")
    assert before == 1
    control.load("plus")
    assert statistics(control, "plus") == before, "the same object serves, with its counters"


def statistics(control, model):
    answer = control.client.get_inference_statistics(model)
    entries = answer["model_stats"] if isinstance(answer, dict) else answer.model_stats
    return sum(int(entry["inference_count"] if isinstance(entry, dict) else entry.inference_count) for entry in entries)


def test_only_versions_that_changed_are_loaded_again(tmp_path):
    models.write_add(tmp_path, "m", 1, version=1)
    models.write_add(tmp_path, "m", 2, version=2)
    (tmp_path / "m" / "config.pbtxt").write_text('backend: "onnxruntime" version_policy { all {} }')
    with Server(tmp_path, EXPLICIT) as own, Control(own, "grpc") as control:
        own.wait_ready()
        models.let_settle()
        control.load("m")
        models.write_add(tmp_path, "m", 3, version=3)
        (tmp_path / "m" / "2" / "model.onnx").write_bytes(models.onnx_add(22))
        models.let_settle()
        control.load("m")
        assert [control.infer("m", 0, version=v)[1] for v in "123"] == [1, 22, 3]
        shutil.rmtree(tmp_path / "m" / "1")
        control.load("m")
        assert control.refusal(control.infer, "m", version="1")[0] == "UNAVAILABLE"
    # The log is whole when the server has ended.
    assert [len(times_loaded(own, v)) for v in "123"] == [1, 2, 1]


def times_loaded(server, version):
    return [line for line in server.lines if f"successfully loaded 'm' version {version}" in line]


def test_a_changed_model_is_loaded_again(tmp_path):
    models.write_add(tmp_path, "m", 1)
    with Server(tmp_path, EXPLICIT) as server, Control(server, "http") as control:
        server.wait_ready()
        for constant in (1, 2, 3):
            models.write_add(tmp_path, "m", constant)
            control.load("m")
            assert control.infer("m", 0) == ("1", constant)


@pytest.mark.parametrize("name,code,text", [
    ("nobody", "INTERNAL", POLL_FAILED.format("nobody") + "model 'nobody' is not found in any model repository"),
    ("broken", "INTERNAL", "field 'max_batchsize': unknown field 'max_batchsize' in ModelConfig, did you mean 'max_batch_size'?"),
    ("other_name", "INTERNAL", "unexpected directory name 'other_name' for model 'another', directory name must equal model name"),
    ("unbuildable", "INVALID_ARGUMENT", "load failed for model 'unbuildable': version 1 is at UNAVAILABLE state: "),
    ("no_version", "INVALID_ARGUMENT", "load failed for model 'no_version': at least one version must be available under "
                                       "the version policy of model 'no_version'\n"),
])
def test_failures_say_why(control, name, code, text):
    found, message = control.refusal(control.load, name)
    assert found == code
    assert text in message
    assert message.startswith(POLL_FAILED.format(name) if code == "INTERNAL" else f"load failed for model '{name}': ")
    assert control.refusal(control.infer, name)[0] in ("NOT_FOUND", "UNAVAILABLE")


@pytest.mark.parametrize("name", ["", " ", "..", "../etc", "a/../b", "/etc/passwd", "model/sub", "model/", " .."])
def test_names_that_leave_the_repository_are_refused(server, name):
    expected = ("Model name cannot be empty. Please enter a valid name to deploy." if not name.strip() else
                f"invalid model name '{name}', model name must not contain path traversal characters")
    with grpc.insecure_channel(server.address) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        with pytest.raises(grpc.RpcError) as caught:
            stub.RepositoryModelLoad(service_pb2.RepositoryModelLoadRequest(model_name=name))
        assert (caught.value.code().name, caught.value.details()) == ("INVALID_ARGUMENT", expected)
        stub.RepositoryModelUnload(service_pb2.RepositoryModelUnloadRequest(model_name=name))


def test_strange_names_are_escaped(server):
    name = 'a"b%\u00fc\u2028'
    with Control(server, "grpc") as control, Control(server, "http") as other:
        assert control.refusal(control.load, name)[0] == "INTERNAL"
        control.load(name, config='{"backend":"identity"}', files={"1/x": b""})
        assert name in control.index() and name in other.index()
        control.unload(name)


# --- what is under way ---

def test_requests_in_flight_end_on_the_version_they_began_with(tmp_path):
    one_instance = "instance_group [ { count: 1 kind: KIND_CPU } ]"
    models.write_model(tmp_path, "slow", slow_config("slow", 1500, one_instance), version=1)
    with Server(tmp_path, EXPLICIT) as server, Control(server, "grpc") as control, Control(server, "http") as second, \
            concurrent.futures.ThreadPoolExecutor(2) as pool:
        server.wait_ready()
        control.load("slow")
        running = [pool.submit(control.infer, "slow", 5)]
        await_execution(server, control.client, "slow")
        running.append(pool.submit(second.infer, "slow", 5))
        with Control(server, "grpc") as third:
            while waiting_requests(server, "slow") < 1:  # the other one is being executed
                time.sleep(0.005)
            models.write_model(tmp_path, "slow", slow_config("slow", 0), version=2)
            third.load("slow")
            assert third.infer("slow", 6) == ("2", 6)
            assert not any(run.done() for run in running), "they did not keep the load waiting"
            third.unload("slow")
            assert third.refusal(third.infer, "slow")[0] == "NOT_FOUND"
            assert third.index()["slow"]["1"][0] == "UNLOADING"
            assert [run.result() for run in running] == [("1", 5), ("1", 5)]
            assert settle(third, "slow")["1"] == ("UNAVAILABLE", "unloaded")


def test_others_are_served_while_models_load(tmp_path):
    for i in range(6):
        models.write_model(tmp_path, f"slow{i}", slow_to_load(f"slow{i}", 2))
    models.write_model(tmp_path, "echo", models.identity_config("echo", dims=(4,)))
    with Server(tmp_path, EXPLICIT) as server, concurrent.futures.ThreadPoolExecutor(6) as pool:
        server.wait_ready()
        with Control(server, "grpc") as one, Control(server, "http") as other:
            one.load("echo")
            def load(name, protocol):
                with Control(server, protocol) as control:
                    control.load(name)
            loads = [pool.submit(load, f"slow{i}", PROTOCOLS[i % 2]) for i in range(6)]
            while sum(states.get("1", ("",))[0] == "LOADING" for states in one.index().values()) < 4:
                time.sleep(0.005)
            for control in (one, other):
                for i in range(20):
                    assert control.infer("echo", i) == ("1", i)
                control.client.is_server_live()
                control.index()
                control.unload("nobody")
            assert not any(load.done() for load in loads), "all of that happened while they were loading"
            for load in loads:
                load.result()


def test_many_loads_and_unloads_of_one_model_at_once(server):
    def change(i):
        with Control(server, PROTOCOLS[i % 2]) as control:
            for round_ in range(6):
                if (i + round_) % 3 == 0:
                    control.unload("plus")
                else:
                    try:
                        control.load("plus")
                    except Exception as error:  # the one documented way to fail
                        assert "Newer operation has been applied to the model lifecycle" in str(error)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(change, range(8)))
    with Control(server, "grpc") as control:
        control.load("plus")
        assert control.infer("plus", 1) == ("1", 2)
        assert settle(control, "plus") == {"1": ("READY", "")}


# --- modes ---

def test_mode_none_refuses_and_an_edited_manifest_lets_clients_decide(repository, tmp_path):
    manifest = tmp_path / "atoll.toml"
    text = DEFAULT_MANIFEST.read_text()
    manifest.write_text(text)
    served = tmp_path / "models"
    shutil.copytree(repository / "plus", served / "plus")
    with Server(served, manifest=manifest) as server:
        server.wait_ready()
        for protocol in PROTOCOLS:
            with Control(server, protocol) as control:
                for call in (control.load, control.unload):
                    assert control.refusal(call, "plus") == (
                        "UNAVAILABLE", "explicit model load / unload is not allowed if polling is enabled")
        manifest.write_text(text.replace('use = "control/none"', 'use = "control/explicit"'))
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_line(r"reloaded: generation")
        for protocol in PROTOCOLS:
            with Control(server, protocol) as control:
                assert control.infer("plus", 1) == ("1", 2), "what was loaded before stays"
                control.unload("plus")
                assert control.refusal(control.infer, "plus")[0] == "NOT_FOUND"
                control.load("plus")


def test_a_server_that_ends_while_a_new_control_plugin_loads(repository, tmp_path):
    """What the old and the new one were waiting for ends after they are gone."""
    manifest = tmp_path / "atoll.toml"
    text = DEFAULT_MANIFEST.read_text()
    for _ in range(8):
        manifest.write_text(text.replace('use = "control/none"', 'use = "control/explicit"\nload_model = ["*"]'))
        with Server(repository, manifest=manifest) as server:
            manifest.write_text(text)
            server.process.send_signal(signal.SIGHUP)
            server.wait_for_line("reloaded: generation")


# --- several at once, and what others notice of it ---

def test_readiness_does_not_flicker_while_others_load(tmp_path):
    models.write_add(tmp_path, "plus", 1)
    models.write_model(tmp_path, "slow", slow_to_load("slow", 0.2))
    with Server(tmp_path, EXPLICIT, 'plugin.control.load_model=["plus"]') as server:
        server.wait_ready()
        done = []

        def change():
            with Control(server, "grpc") as control:
                for _ in range(5):
                    control.load("slow")
                    control.unload("slow")
            done.append(True)

        with concurrent.futures.ThreadPoolExecutor(1) as pool, Control(server, "grpc") as control, \
                Control(server, "http") as other:
            changing = pool.submit(change)
            loading = 0
            while not done:
                assert control.client.is_server_ready() and other.client.is_server_ready()
                assert control.client.is_model_ready("plus")
                loading += any(state == "LOADING" for state, _ in control.index()["slow"].values())
                assert control.infer("plus", 1) == ("1", 2)
                assert not changing.done() or changing.result() is None
        assert loading > 0


@pytest.mark.parametrize("threads", [1, 4])
def test_loads_are_made_on_as_many_threads_as_there_are(tmp_path, threads):
    names = [f"slow{i}" for i in range(4)]
    for name in names:
        models.write_model(tmp_path, name, slow_to_load(name, 0.5))
    with Server(tmp_path, EXPLICIT, f"atoll.worker_threads={threads}") as server:
        server.wait_ready()
        most = 0
        with concurrent.futures.ThreadPoolExecutor(4) as pool, Control(server, "grpc") as control:
            clients = [Control(server, "grpc") for _ in names]
            begin = time.monotonic()
            loads = [pool.submit(client.load, name) for client, name in zip(clients, names)]
            while not all(load.done() for load in loads):
                states = [state for versions in control.index().values() for state, _ in versions.values()]
                most = max(most, states.count("LOADING"))
            for load in loads:
                load.result()
        assert most == threads
        if threads == 1:
            assert time.monotonic() - begin >= 2
