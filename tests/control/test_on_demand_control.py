"""control/on_demand: the first request loads its model and waits for it, nobody's absence unloads it, and no request is
lost on the way."""

import concurrent.futures
import http.client
import json
import queue
import shutil
import signal
import time

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support import models
from support.control import PROTOCOLS, Control
from support.server import DEFAULT_MANIFEST, Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

ON_DEMAND = 'plugin.control.use="control/on_demand"'
AWAY = {"": ("UNAVAILABLE", "loaded on demand")}
WAIT_S = 60
MIB = 1 << 20


def option(name, value):
    return f"plugin.control.{name}={json.dumps(value)}"


def delayed(name, ms, load_ms=0):
    """Executes for so long; its warm-up may make loading last as well."""
    warmup = 'model_warmup [ { name: "w" batch_size: 1 inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: 4 zero_data: true } } } ]'
    return models.identity_config(
        name, dims=(4,), extra=f'parameters {{ key: "execute_delay_ms" value {{ string_value: "{max(ms, load_ms)}" }} }}\n'
        + (warmup if load_ms else ""))


def loads(server, model):
    """Of a model that was loaded at least once; its line may come after the answer."""
    server.wait_for_line(f"successfully loaded '{model}' version")
    return server.log.count(f"successfully loaded '{model}' version")


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "models"
    models.write_add(folder, "plus", 1)
    models.write_add(folder, "twice", 2)
    models.write_model(folder, "echo", models.identity_config("echo", dims=(4,)))
    models.write_model(folder, "slow", delayed("slow", 500, load_ms=500))
    models.write_model(folder, "broken", "max_batchsize: 8\n")
    models.write_model(folder, "text", models.identity_config("text", "TYPE_INT32", dims=(-1,)))
    return folder


@pytest.fixture
def server(repository):
    with Server(repository, ON_DEMAND) as running:
        yield running.wait_ready()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_first_request_loads_its_model(server, protocol):
    with Control(server, protocol) as control:
        assert set(control.index()) == {"plus", "twice", "echo", "slow", "broken", "text"}
        assert all(versions == AWAY for versions in control.index().values())
        assert control.infer("plus", 5) == ("1", 6)
        assert control.index()["plus"] == {"1": ("READY", "")}
        assert control.index()["twice"] == AWAY
        assert control.infer("plus", 7) == ("1", 8)
        assert control.refusal(control.infer, "nobody") == (
            "NOT_FOUND", "Request for unknown model: 'nobody' is not found")
        assert control.refusal(control.infer, "twice", version="3") == (
            "NOT_FOUND", "Request for unknown model: 'twice' version 3 is not found")
        assert control.infer("twice", 5, version="1") == ("1", 7)
        assert control.refusal(control.load, "plus")[0] == "UNAVAILABLE"
    assert (loads(server, "plus"), loads(server, "twice")) == (1, 1)


def test_requests_that_come_together_cause_one_load(server):
    def ask(i):
        with Control(server, PROTOCOLS[i % 2]) as control:
            assert control.client.is_server_ready()
            return control.infer("slow", i)

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        assert list(pool.map(ask, range(12))) == [("1", i) for i in range(12)]
    assert loads(server, "slow") == 1


def test_a_compressed_body_waits_with_its_head(server):
    with server.http_client() as client:
        tensor = httpclient.InferInput("INPUT0", [4], "FP32")
        tensor.set_data_from_numpy(np.full(4, 3, np.float32))
        answer = client.infer("plus", [tensor], request_compression_algorithm="gzip", response_compression_algorithm="gzip")
        assert answer.as_numpy("OUTPUT0").tolist() == [4.0] * 4


def test_generate_waits_too(server):
    for way in ("generate", "generate_stream"):
        connection = http.client.HTTPConnection(server.http_address, timeout=WAIT_S)
        connection.request("POST", f"/v2/models/{'text' if way == 'generate' else 'echo'}/{way}",
                           json.dumps({"INPUT0": [1, 2, 3, 4]}))
        answer = connection.getresponse()
        body = answer.read().decode()
        assert answer.status == 200, body
        assert [float(value) for value in json.loads(body.removeprefix("data: "))["OUTPUT0"]] == [1, 2, 3, 4]
        connection.close()


def test_a_stream_keeps_its_order_while_one_request_waits(server):
    answers = queue.Queue()
    with server.client() as client:
        client.start_stream(lambda result, error: answers.put((result, error)))
        for i in range(20):
            tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
            tensor.set_data_from_numpy(np.full(4, i, np.float32))
            client.async_stream_infer(("slow", "plus", "nobody", "twice")[i % 4] if i < 4 else "plus", [tensor], request_id=str(i))
        got = [answers.get(timeout=WAIT_S) for _ in range(20)]
        client.stop_stream()
    assert "'nobody' is not found" in str(got[2][1])
    ids = [result.get_response().id for result, error in got if error is None]
    assert ids == [str(i) for i in range(20) if i != 2]
    values = [result.as_numpy("OUTPUT0")[0] for result, error in got if error is None]
    assert values == [0, 2, 5, *range(5, 21)]


def test_who_does_not_wait_any_longer_is_forgotten(server):
    with server.client() as client:
        tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
        tensor.set_data_from_numpy(np.full(4, 1, np.float32))
        with pytest.raises(InferenceServerException) as refused:
            client.infer("slow", [tensor], client_timeout=0.2)
        assert "DEADLINE_EXCEEDED" in str(refused.value.status())
    connection = http.client.HTTPConnection(server.http_address, timeout=WAIT_S)
    connection.request("POST", "/v2/models/slow/infer",
                       json.dumps({"inputs": [{"name": "INPUT0", "shape": [4], "datatype": "FP32", "data": [1, 2, 3, 4]}]}))
    connection.close()
    with Control(server, "grpc") as control:
        assert control.infer("slow", 2) == ("1", 2)
    assert loads(server, "slow") == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_failed_load_is_told_and_not_repeated_in_a_storm(repository, protocol):
    with Server(repository, ON_DEMAND, option("retry_after", "1h")) as server, Control(server, protocol) as control:
        server.wait_ready()
        told = {control.refusal(control.infer, "broken") for _ in range(20)}
        assert len(told) == 1
        code, text = told.pop()
        assert code == "UNAVAILABLE"
        assert text.startswith("model 'broken' is loaded on demand and failed to load: ") and "max_batchsize" in text
        server.wait_for_line("failed to load 'broken'")  # it may come after the answer
        assert server.log.count("failed to load 'broken'") == 1
        ((state, reason),) = control.index()["broken"].values()
        assert state == "UNAVAILABLE" and reason.startswith("loaded on demand; the last load failed: ")
        assert control.client.is_server_ready()
        assert control.infer("plus", 1) == ("1", 2)


def test_how_many_wait_is_bounded(repository):
    models.write_model(repository, "slower", delayed("slower", 2000, load_ms=2000))
    with Server(repository, ON_DEMAND, option("max_waiting", 1)) as server, Control(server, "grpc") as control:
        server.wait_ready()
        with Control(server, "http") as other, concurrent.futures.ThreadPoolExecutor(1) as pool:
            first = pool.submit(other.infer, "slower", 3)
            eventually(lambda: control.index()["slower"] == {"1": ("LOADING", "")})
            code, text = control.refusal(control.infer, "plus")
            assert code == "UNAVAILABLE" and "1 requests wait for models already" in text
            assert first.result() == ("1", 3)
        assert control.infer("plus", 1) == ("1", 2)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_how_long_one_waits_is_bounded(repository, protocol):
    with Server(repository, ON_DEMAND, option("max_wait", "100ms")) as server, Control(server, protocol) as control:
        server.wait_ready()
        code, text = control.refusal(control.infer, "slow")
        assert code == "UNAVAILABLE" and text.startswith("model 'slow' is still being loaded after 1")
        eventually(lambda: control.index()["slow"] == {"1": ("READY", "")})
        assert control.infer("slow", 1) == ("1", 1)
        assert loads(server, "slow") == 1


def test_what_nobody_asks_for_is_unloaded_and_comes_back(repository):
    with Server(repository, ON_DEMAND, option("unload_after", "300ms"), option("pinned", ["twice"])) as server:
        with Control(server.wait_ready(), "grpc") as control:
            assert control.index()["twice"] == {"1": ("READY", "")}
            # It is being executed for longer than it may be idle, and still is answered.
            assert control.infer("slow", 3) == ("1", 3)
            assert control.infer("plus", 1) == ("1", 2)
            eventually(lambda: control.index()["plus"] == {"1": ("UNAVAILABLE", "loaded on demand")})
            assert control.client.is_server_ready()
            assert control.infer("plus", 2) == ("1", 3)
            assert control.index()["twice"] == {"1": ("READY", "")}
        server.wait_for_line(r"unloading 'plus': idle for \d+\.\d s, about \S+ \w+; unload_after is 0\.3 s;.* pinned: 'twice'")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_pinned_model_that_fails_keeps_the_server_from_being_ready(repository, protocol):
    settings = (ON_DEMAND, option("pinned", ["broken", "plus"]), option("retry_after", "10ms"))
    with Server(repository, *settings) as server, Control(server.wait_active(), protocol) as control:
        server.newest_line("start-up: 1 model loaded, 1 failed: broken")
        server.newest_line("the server is not ready because of model 'broken': .*max_batchsize")
        assert control.client.is_server_live() and not control.client.is_server_ready()
        assert control.infer("plus", 1) == ("1", 2)
        assert control.refusal(control.infer, "broken")[0] == "UNAVAILABLE"
        assert not control.client.is_server_ready()
        models.write_model(repository, "broken", models.identity_config("broken", dims=(4,)))
        eventually(lambda: served(control, "broken"))
        assert control.client.is_server_ready()


def served(control, model):
    try:
        return control.infer(model, 5) == ("1", 5)
    except InferenceServerException:
        return False


def test_the_least_recently_used_makes_room(repository):
    for name in ("a", "b", "c"):
        models.write_model(repository, name, models.identity_config(name, dims=(4,)), files={"weights": bytes(8 * MIB)})
    with Server(repository, ON_DEMAND, option("memory_budget", "20MiB")) as server, Control(server, "http") as control:
        server.wait_ready()
        for name in ("a", "b", "a", "c"):
            assert control.infer(name, 4) == ("1", 4)
            time.sleep(0.02)  # uses are told apart by the millisecond
        eventually(lambda: control.index()["b"] == {"1": ("UNAVAILABLE", "loaded on demand")})
        assert control.index()["a"] == control.index()["c"] == {"1": ("READY", "")}
        server.wait_for_line(r"unloading 'b': least recently used: idle for .*, about \d+\.\d MiB; 'c' and what is loaded take "
                             r"about \d+\.\d MiB, memory_budget is 20\.0 MiB; considered as well: 'a' \(idle for")


def test_a_stop_tells_those_who_wait(repository):
    models.write_model(repository, "slower", delayed("slower", 3000, load_ms=3000))
    with Server(repository, ON_DEMAND) as server, concurrent.futures.ThreadPoolExecutor(2) as pool:
        server.wait_ready().wait_active()
        controls = [Control(server, protocol) for protocol in PROTOCOLS]
        waiting = [pool.submit(control.infer, "slower", 1) for control in controls]
        with Control(server, "grpc") as control:
            eventually(lambda: control.index()["slower"] == {"1": ("LOADING", "")})
        server.process.send_signal(signal.SIGTERM)
        for one in waiting:
            error = one.exception(timeout=WAIT_S)
            assert error is None or "exiting" in str(error), error
        assert server.process.wait(timeout=WAIT_S) == 0


def is_answered(control):
    try:
        return control.infer("plus", 1) == ("1", 2)
    except InferenceServerException as error:
        assert "has no available versions" in error.message(), error
        return False


def test_an_edited_manifest_begins_and_ends_it(repository, tmp_path):
    """Requests never stop; what was loaded is taken over, and goes when it is idle."""
    shutil.rmtree(repository / "broken")
    manifest = tmp_path / "atoll.toml"
    text = DEFAULT_MANIFEST.read_text()
    manifest.write_text(text)
    with Server(repository, manifest=manifest) as server, Control(server, "http") as control:
        server.wait_ready()
        for use in ('"control/on_demand"\nunload_after = "100ms"', '"control/none"', '"control/on_demand"\nunload_after = "0s"'):
            manifest.write_text(text.replace('use = "control/none"', f"use = {use}"))
            server.process.send_signal(signal.SIGHUP)
            server.wait_for_line("reloaded: generation")
            if "100ms" in use:
                eventually(lambda: control.index()["plus"] == {"1": ("UNAVAILABLE", "loaded on demand")})
            if "none" in use:
                eventually(lambda: control.index()["plus"] == {"1": ("READY", "")})
            assert control.infer("plus", 1) == ("1", 2)


def test_a_model_that_is_made_after_its_first_request_is_found(repository):
    with Server(repository, ON_DEMAND, option("interval", "0s")) as server, Control(server, "grpc") as control:
        code, message = control.refusal(control.infer, "late")
        assert (code, message) == ("NOT_FOUND", "Request for unknown model: 'late' is not found")
        models.write_add(repository.parent, "late", 4)
        (repository.parent / "late").rename(repository / "late")
        eventually(lambda: not refused(control, "late"))
        assert control.infer("late") == ("1", 5.0)


def refused(control, model):
    try:
        control.infer(model)
    except InferenceServerException:
        return True
    return False
