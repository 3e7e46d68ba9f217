"""A server with more to do than it can: what is refused, what is not, and what clients are told."""

import concurrent.futures
import time

import pytest
from support import admission
from support.admission import Calls, ask_http, metric, refused_grpc, serving, wait_running, wait_waiting


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return admission.write_models(tmp_path_factory.mktemp("repository"))


def test_over_the_limit_in_flight_only_inference_is_refused(repository):
    with serving(repository, "overload_in_flight=2") as server, server.client() as client:
        calls = Calls(client)
        running = [calls.send("hour", value) for value in (1, 2)]
        wait_running(server, 2, "default")

        code, text, trailers = refused_grpc(server, "fast")
        assert code == "UNAVAILABLE"
        assert text.startswith("[request id: <id_unknown>] the server is overloaded: it has 2 requests in flight, or nearly, "
                               "and others come first; try again in ")
        assert trailers["retry-after"] == "1"
        assert int(trailers["grpc-retry-pushback-ms"]) >= 1
        status, retry_after, answer = ask_http(server, "fast")
        assert (status, retry_after) == (503, "1")
        assert "the server is overloaded" in answer["error"]

        assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("fast")
        assert client.get_server_metadata().name
        assert client.get_model_metadata("fast").name == "fast"
        assert client.get_inference_statistics("fast").model_stats[0].inference_stats.fail.count == 2
        assert {entry.name for entry in client.get_model_repository_index().models} == {"fast", "hour", "tens"}
        with server.http_client() as over_http:
            assert over_http.is_server_ready() and over_http.is_model_ready("fast")
        assert metric(server, "atoll_admission_refused_total", tenant="default", reason="in_flight") == 2

        running[0].cancel()
        assert calls.answer()[0] == 1
        wait_running(server, 1, "default")
        assert ask_http(server, "fast")[0] == 200
        running[1].cancel()
        assert calls.answer()[0] == 2


def test_a_lower_priority_makes_room(repository):
    with serving(repository, "request_concurrency=1", "overload_in_flight=4") as server, server.client() as client:
        calls = Calls(client)
        running = calls.send("hour", 1)
        wait_running(server, 1, "default")
        calls.send("fast", 2, priority=2)
        wait_waiting(server, 1, "default")
        for count, value in ((2, 3), (3, 4)):
            calls.send("fast", value, priority=1)
            wait_waiting(server, count, "default")
        calls.send("fast", 5, priority=1)
        value, _, error = calls.answer()
        assert value == 2
        assert error.status() == "StatusCode.UNAVAILABLE"
        assert "and others come first" in error.message()
        code, _, _ = refused_grpc(server, "fast")
        assert code == "UNAVAILABLE", "none that waits is below this one"
        running.cancel()
        ended = {value: (answer, error) for value, answer, error in (calls.answer() for _ in range(4))}
        assert {value: ended[value] for value in (3, 4, 5)} == {3: (3, None), 4: (4, None), 5: (5, None)}


def test_a_queue_that_stays_too_slow_is_cut(repository):
    options = ("request_concurrency=1", 'overload_queue_delay="20ms"', 'overload_interval="50ms"')
    with serving(repository, *options) as server:
        end = time.monotonic() + 1.5

        def ask_until_end(_):
            answers = []
            while time.monotonic() < end:
                answers.append(ask_http(server, "tens"))
            return answers

        with concurrent.futures.ThreadPoolExecutor(16) as pool:  # 160 ms of waiting if nobody were refused
            answers = [answer for each in pool.map(ask_until_end, range(16)) for answer in each]
        assert {status for status, _, _ in answers} == {200, 503}
        for status, retry_after, answer in answers:
            if status == 200:
                assert answer["outputs"][0]["data"] == [1.5]
            else:
                assert int(retry_after) >= 1
                assert "requests wait longer than 20 ms for their turn" in answer["error"]
        refused = sum(status == 503 for status, _, _ in answers)
        assert metric(server, "atoll_admission_refused_total", tenant="default", reason="queue_delay") == refused
        assert ask_http(server, "tens")[0] == 200, "when the others have gone there is room"


def test_the_longest_wait_ends_in_a_refusal(repository):
    with serving(repository, "request_concurrency=1", 'max_request_wait="50ms"') as server, server.client() as client:
        calls = Calls(client)
        running = calls.send("hour", 1)
        wait_running(server, 1, "default")
        status, retry_after, answer = ask_http(server, "fast")
        assert (status, retry_after) == (503, "1")
        assert "no turn came for tenant 'default' in 50 ms" in answer["error"]
        running.cancel()
        assert calls.answer()[0] == 1


def test_waiting_requests_are_answered_when_the_server_ends(repository):
    with serving(repository, "request_concurrency=1") as server, server.client() as client:
        calls = Calls(client)
        calls.send("tens", 0)
        for value in range(1, 20):
            calls.send("tens", value)
        wait_for_first = calls.answer()
        assert wait_for_first[2] is None
        server.process.terminate()
        for _ in range(19):
            value, answer, error = calls.answer()
            assert (answer == value) if error is None else error.status() == "StatusCode.UNAVAILABLE"
        assert server.process.wait(admission.START_TIMEOUT_S) == 0
