"""admission/deadlines as a client sees it: who cannot be in time is refused at once, and everybody else is served."""

import json
import re
import urllib.error
import urllib.request

import pytest
from support import models
from support.calls import TIMEOUT_S, Calls, tensor
from support.server import Server
from tritonclient.utils import InferenceServerException

ENABLED = 'plugin.deadlines.use="admission/deadlines"'
LIMITER = 'plugin.rate_limiter.use="admission/rate_limiter"'
DELAY_MS = 50
HOUR_US = 3_600_000_000
LOCK = 'instance_group { kind: KIND_CPU rate_limiter { resources { name: "LOCK" count: 1 } } }\n'


def parameter(name, value):
    return f'parameters {{ key: "{name}" value {{ string_value: "{value}" }} }}\n'


CONFIGS = {
    # Never shorter than this, and as long as the machine likes, which its target allows for.
    "slow": "dynamic_batching {}\n" + parameter("execute_delay_ms", DELAY_MS) + parameter("latency_target_microseconds", HOUR_US) + LOCK,
    "other": LOCK,
}


@pytest.fixture(scope="module", params=[(ENABLED,), (ENABLED, LIMITER)], ids=["alone", "with the rate limiter"])
def server(request, tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    for name, extra in CONFIGS.items():
        models.write_model(repository, name, models.identity_config(name, max_batch_size=8, extra=extra))
    with Server(repository, *request.param) as running:
        running.wait_ready()
        yield running


def metrics(server, name):
    text = urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=TIMEOUT_S).read().decode()
    samples = re.findall(rf"^atoll_deadlines_{name}\{{(.*)\}} (\S+)$", text, re.M)
    return {re.search(r'model="([^"]*)"', labels).group(1): float(value) for labels, value in samples}


def ask_http(server, model, timeout_us):
    """(status, Retry-After or None, the answer)"""
    body = {"inputs": [{"name": "INPUT0", "datatype": "FP32", "shape": [1, 1], "data": [3]}], "parameters": {"timeout": timeout_us}}
    call = urllib.request.Request(f"http://{server.http_address}/v2/models/{model}/infer", json.dumps(body).encode())
    try:
        with urllib.request.urlopen(call, timeout=TIMEOUT_S) as answer:
            return answer.status, answer.headers["Retry-After"], json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Retry-After"], json.load(error)


def test_who_can_not_be_in_time_is_refused_at_once(server):
    with server.client() as client:
        calls = Calls(client)
        for i in range(6):  # one after the other, so that it is known what they take
            assert client.infer("slow", [tensor([[i]])]).as_numpy("OUTPUT0").tolist() == [[i]]
        assert metrics(server, "single_execution_seconds")["slow"] >= DELAY_MS / 1000

        status, retry_after, answer = ask_http(server, "slow", 1_000)
        assert status == 503 and int(retry_after) >= 1
        assert "could not be answered in time" in answer["error"]
        with pytest.raises(InferenceServerException) as refusal:
            client.infer("slow", [tensor([[1]])], timeout=1_000)
        assert refusal.value.status() == "StatusCode.UNAVAILABLE"
        assert metrics(server, "requests_refused_total")["slow"] == 2

        # Those that have the time, and those without deadline, are all served, together and in any order.
        for i in range(20):
            calls.send("slow" if i % 2 else "other", [[i]], i, timeout=HOUR_US if i % 3 else 0)
        for _ in range(20):
            value, result, error = calls.next()
            assert error is None, error
            assert result.as_numpy("OUTPUT0").tolist() == [[value]]
        assert metrics(server, "requests_refused_total")["slow"] == 2
        assert metrics(server, "waiting_requests") == {"slow": 0, "other": 0}
    assert ask_http(server, "slow", HOUR_US)[0] == 200
