"""Quotas of tenants, as clients meet them."""

import queue
import signal
import time

import pytest
from support.admission import (Calls, ask_http, metric, refused_grpc, serving, wait_metric, wait_running, wait_waiting,
                               write_models)
from support.calls import tensor
from support.server import DEFAULT_MANIFEST, START_TIMEOUT_S, Server

TENANTS = 'tenants=["team-a:concurrency=1,queue=1", "team-r:rate=1/h,burst=2", "team-b:weight=2"]'


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return write_models(tmp_path_factory.mktemp("repository"))


@pytest.fixture()
def server(repository):
    with serving(repository, TENANTS, 'default_tenant="concurrency=1,queue=0"') as running:
        yield running


def test_a_tenant_over_its_concurrency_waits_and_is_then_refused(server):
    with server.client() as client:
        calls = Calls(client)
        first = calls.send("hour", 1, "team-a")
        wait_running(server, 1, "team-a")
        calls.send("fast", 2, "team-a")
        wait_waiting(server, 1, "team-a")

        code, text, trailers = refused_grpc(server, "fast", "team-a")
        assert code == "RESOURCE_EXHAUSTED"
        assert text.startswith("[request id: <id_unknown>] tenant 'team-a' has 1 requests waiting and 1 running, as many as "
                               "it may; try again in ")
        assert int(trailers["retry-after"]) >= 1
        assert int(trailers["grpc-retry-pushback-ms"]) >= 1
        status, retry_after, answer = ask_http(server, "fast", "team-a")
        assert (status, int(retry_after) >= 1) == (429, True)
        assert answer["error"].startswith("[request id: <id_unknown>] tenant 'team-a' has 1 requests waiting and 1 running")

        assert ask_http(server, "fast", "team-b")[0] == 200, "others are not concerned"
        assert metric(server, "atoll_admission_refused_total", tenant="team-a", reason="concurrency") == 2
        assert metric(server, "atoll_admission_requests_total", tenant="team-b") == 1

        first.cancel()
        ended = sorted((calls.answer() for _ in range(2)), key=lambda answer: answer[0])
        assert ended[0][2] is not None
        assert ended[1] == (2, 2.0, None)
        wait_running(server, 0, "team-a")
        assert metric(server, "atoll_admission_waited_total", tenant="team-a") == 1
        assert metric(server, "atoll_admission_wait_seconds_total", tenant="team-a") > 0


def test_cancelling_ends_the_wait(server):
    with server.client() as client:
        calls = Calls(client)
        first = calls.send("hour", 1, "team-a")
        wait_running(server, 1, "team-a")
        for _ in range(3):
            waiting = calls.send("fast", 2, "team-a")
            wait_waiting(server, 1, "team-a")
            waiting.cancel()
            assert calls.answer()[2] is not None
            wait_waiting(server, 0, "team-a")
        assert metric(server, "atoll_admission_refused_total", tenant="team-a", reason="cancelled") == 3
        assert metric(server, "nv_inference_request_failure", model="fast", reason="CANCELED", version="1") == 3
        first.cancel()
        assert calls.answer()[0] == 1
        assert ask_http(server, "fast", "team-a")[0] == 200


def test_a_deadline_ends_the_wait(server):
    with server.client() as client:
        calls = Calls(client)
        first = calls.send("hour", 1, "team-a")
        wait_running(server, 1, "team-a")
        status, retry_after, answer = ask_http(server, "fast", "team-a", parameters={"timeout": 50_000})
        assert (status, retry_after) == (504, None)
        assert answer["error"] == "[request id: <id_unknown>] its deadline came before its turn"
        calls.send("fast", 2, "team-a", client_timeout=0.05)
        _, _, error = calls.answer()
        assert error.status() == "StatusCode.DEADLINE_EXCEEDED"
        wait_waiting(server, 0, "team-a")
        first.cancel()
        assert calls.answer()[0] == 1


def test_a_tenant_has_its_rate(server):
    for _ in range(2):
        assert ask_http(server, "fast", "team-r")[0] == 200
    status, retry_after, answer = ask_http(server, "fast", "team-r")
    assert status == 429
    assert 3500 <= int(retry_after) <= 3600
    assert "tenant 'team-r' is over its rate of 0.0002777" in answer["error"]
    code, _, trailers = refused_grpc(server, "fast", "team-r")
    assert code == "RESOURCE_EXHAUSTED"
    assert 3500 <= int(trailers["retry-after"]) <= 3600
    assert ask_http(server, "fast", "team-r", path="/v2/models/fast/generate")[0] == 400, "not valid, so not asked for"
    assert metric(server, "atoll_admission_refused_total", tenant="team-r", reason="rate") == 2


def test_unknown_tenants_share_the_default_one(server):
    with server.client() as client:
        calls = Calls(client)
        running = calls.send("hour", 1, "somebody")
        wait_running(server, 1, "default")
        for other in ("", "somebody-else", "x" * 5000, '<script>"'):
            status, _, answer = ask_http(server, "fast", other)
            assert status == 429
            assert "tenant 'default' has 0 requests waiting and 1 running" in answer["error"]
        running.cancel()
        assert calls.answer()[0] == 1


def test_two_tenants_in_one_request_are_refused(server):
    status, _, answer = ask_http(server, "fast", "team-a", extra_headers=[("X-Tenant", "team-b")])
    assert (status, answer["error"]) == (400, "Header 'x-tenant' is given more than once, expected one tenant.")


def test_quotas_hold_for_streams(server):
    with server.client() as client:
        calls = Calls(client)
        first = calls.send("hour", 1, "team-a")
        wait_running(server, 1, "team-a")
        before = metric(server, "atoll_admission_refused_total", tenant="team-a", reason="concurrency")
        answers = queue.Queue()
        client.start_stream(lambda result, error: answers.put((result, error)), headers={"x-tenant": "team-a"})
        client.async_stream_infer("fast", [tensor([2])])
        wait_waiting(server, 1, "team-a")
        client.async_stream_infer("fast", [tensor([3])])
        wait_metric(server, before + 1, "atoll_admission_refused_total", tenant="team-a", reason="concurrency")
        first.cancel()
        assert answers.get(timeout=START_TIMEOUT_S)[0].as_numpy("OUTPUT0").item() == 2, "answers keep their order"
        assert "tenant 'team-a' has 1 requests waiting" in answers.get(timeout=START_TIMEOUT_S)[1].message()
        client.stop_stream()
        assert calls.answer()[0] == 1


def test_quotas_change_while_serving(repository, tmp_path):
    """What runs still counts; what waits, and what comes, finds the new quotas."""
    manifest = tmp_path / "atoll.toml"
    text = DEFAULT_MANIFEST.read_text() + '[plugin.quotas]\nuse = "admission/quotas"\ntenants = ["team-a:QUOTA"]\n'
    manifest.write_text(text.replace("QUOTA", "concurrency=1"))
    with Server(repository, 'plugin.grpc.tenant_header="x-tenant"', 'plugin.http.tenant_header="x-tenant"',
                manifest=manifest) as server, server.wait_ready().client() as client:
        calls = Calls(client)
        sent = [calls.send("hour", 0, "team-a")]
        wait_running(server, 1, "team-a")
        calls.send("fast", 1, "team-a")
        wait_waiting(server, 1, "team-a")
        manifest.write_text(text.replace("QUOTA", 'concurrency=2,queue=0", "probe:rate=1/h,burst=1'))
        server.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + START_TIMEOUT_S
        while ask_http(server, "fast", "probe")[0] != 429:  # until the catalog asks the new one
            assert time.monotonic() < deadline
        sent.append(calls.send("hour", 2, "team-a"))
        wait_running(server, 2, "team-a")
        assert ask_http(server, "fast", "team-a")[0] == 429
        for one in sent:
            one.cancel()
        ended = dict((value, (answer, error)) for value, answer, error in (calls.answer() for _ in range(3)))
        assert ended[1] == (1, None)
        wait_running(server, 0, "team-a")
        assert ask_http(server, "fast", "team-a")[0] == 200


def test_nothing_is_limited_by_default(repository):
    with serving(repository) as server:
        assert ask_http(server, "fast", "team-a")[0] == 200
        assert metric(server, "atoll_admission_overloaded") is None
