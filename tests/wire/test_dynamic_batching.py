"""Dynamic batching as a client sees it: right answers, batches as the statistics tell them, queue policies."""

import concurrent.futures
import queue
import signal
import urllib.request

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support import models
from support.server import Server
from tritonclient.utils import InferenceServerException

TIMEOUT_S = 60


def slow(milliseconds):
    return f'parameters {{ key: "execute_delay_ms" value {{ string_value: "{milliseconds}" }} }}\n'


def batching(text):
    return f"dynamic_batching {{ {text} }}\n"


REJECT_100_MS = "default_queue_policy { timeout_action: REJECT default_timeout_microseconds: 100000 }"

CONFIGS = {
    "plain": batching(""),
    "variable": batching("preferred_batch_size: 4 max_queue_delay_microseconds: 20000"),
    "impatient": batching(REJECT_100_MS) + slow(3000),
    "short_queue": batching("default_queue_policy { max_queue_size: 2 }") + slow(3_600_000),
    "levels": batching("priority_levels: 2 default_priority_level: 2 preferred_batch_size: 1") + slow(200),
    "patient": batching("preferred_batch_size: 8 max_queue_delay_microseconds: 600000000"),
    "on_target": batching("") + 'parameters { key: "latency_target_microseconds" value { string_value: "500000" } }\n',
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    for name, extra in CONFIGS.items():
        models.write_model(root, name, models.identity_config(name, max_batch_size=8, extra=extra))
    bad = 'parameters { key: "latency_target_microseconds" value { string_value: "soon" } }\n'
    models.write_model(root, "bad_target", models.identity_config("bad_target", max_batch_size=8, extra=batching("") + bad))
    models.write_model(root, "add_sub", files={"model.onnx": models.onnx_add_sub()})
    return root


@pytest.fixture(scope="module")
def server(repository):
    with Server(repository, "plugin.models.strict_readiness=false") as running:
        for name in (*CONFIGS, "add_sub"):
            running.wait_ready(name)
        yield running


def tensor(name, values):
    array = np.asarray(values, dtype=np.float32)
    made = grpcclient.InferInput(name, list(array.shape), "FP32")
    made.set_data_from_numpy(array)
    return made


class Calls:
    """Requests that are on their way at the same time; answers in the order they came."""

    def __init__(self, client):
        self.client = client
        self.answers = queue.Queue()

    def send(self, model, values, key, **options):
        return self.client.async_infer(model, [tensor("INPUT0", values)],
                                       lambda result, error, key=key: self.answers.put((key, result, error)), **options)

    def next(self):
        return self.answers.get(timeout=TIMEOUT_S)


def scrape(server):
    url = f"http://{server.metrics_address}/metrics"
    return urllib.request.urlopen(url, timeout=TIMEOUT_S).read().decode()


def statistics(client, model):
    return client.get_inference_statistics(model).model_stats[0]


def test_batches_are_what_was_sent(repository):
    """Held until twelve requests wait, four is preferred: three batches of four, to the statistics' last number."""
    with Server(repository, "plugin.models.strict_readiness=false",
                environment={"TRITONSERVER_DELAY_SCHEDULER": "12"}) as server:
        server.wait_ready("variable")
        with server.client() as client:
            calls = Calls(client)
            for i in range(12):
                calls.send("variable", [[i, i + 0.5]], i)
            for _ in range(12):
                key, result, error = calls.next()
                assert error is None, error
                assert result.as_numpy("OUTPUT0").tolist() == [[key, key + 0.5]]
            stats = statistics(client, "variable")
            assert (stats.inference_count, stats.execution_count) == (12, 3)
            assert [(batch.batch_size, batch.compute_infer.count) for batch in stats.batch_stats] == [(4, 3)]
            assert stats.inference_stats.success.count == 12
            assert stats.inference_stats.queue.count == 12


def test_requests_of_other_shapes_are_not_joined(repository):
    with Server(repository, "plugin.models.strict_readiness=false",
                environment={"TRITONSERVER_DELAY_SCHEDULER": "4"}) as server:
        server.wait_ready("variable")
        with server.client() as client:
            calls = Calls(client)
            for i in range(4):
                calls.send("variable", np.full((2, 1 + i // 2), i), i)
            for _ in range(4):
                key, result, error = calls.next()
                assert error is None, error
                assert result.as_numpy("OUTPUT0").tolist() == np.full((2, 1 + key // 2), key).tolist()
            assert [(batch.batch_size, batch.compute_infer.count)
                    for batch in statistics(client, "variable").batch_stats] == [(4, 2)]


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_onnx_answers_are_right_under_load(server, protocol):
    """Sixteen clients at once, each checks its own answers; auto-completion gave the model its batcher."""
    make_client, library = (server.client, grpcclient) if protocol == "grpc" else (server.http_client, httpclient)
    with server.client() as observer:
        config = observer.get_model_config("add_sub").config
        assert config.HasField("dynamic_batching") and config.max_batch_size == 4
        before = statistics(observer, "add_sub")

    def one(seed):
        random = np.random.default_rng(seed)
        with make_client() as client:
            for _ in range(25):
                arrays = [random.random((random.integers(1, 5), 16), dtype=np.float32)]
                arrays.append(random.random(arrays[0].shape, dtype=np.float32))
                tensors = []
                for i, array in enumerate(arrays):
                    tensors.append(library.InferInput(f"INPUT{i}", list(array.shape), "FP32"))
                    tensors[-1].set_data_from_numpy(array)
                result = client.infer("add_sub", tensors)
                assert np.array_equal(result.as_numpy("OUTPUT0"), arrays[0] + arrays[1])
                assert np.array_equal(result.as_numpy("OUTPUT1"), arrays[0] - arrays[1])

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(one, range(16)))
    with server.client() as observer:
        stats = statistics(observer, "add_sub")
        assert stats.inference_stats.success.count - before.inference_stats.success.count == 16 * 25
        assert sum(batch.batch_size * batch.compute_infer.count for batch in stats.batch_stats) == stats.inference_count
        assert sum(batch.compute_infer.count for batch in stats.batch_stats) == stats.execution_count
        assert max(batch.batch_size for batch in stats.batch_stats) <= 4


def test_a_timeout_does_not_wait_for_a_busy_instance(server):
    with server.client() as client:
        calls = Calls(client)
        calls.send("impatient", [[1]], "first")
        calls.send("impatient", [[2]], "second")
        calls.send("impatient", [[3]], "third")
        keys = []
        for _ in range(2):
            key, _, error = calls.next()
            assert error.status() == "StatusCode.UNAVAILABLE"
            assert error.message() == "Request timeout expired"
            keys.append(key)
        assert sorted(keys) == ["second", "third"]
        key, result, error = calls.next()  # it takes three seconds
        assert (key, error) == ("first", None)
        assert result.as_numpy("OUTPUT0").tolist() == [[1]]
    text = scrape(server)
    assert 'nv_inference_request_failure{model="impatient",reason="REJECTED",version="1"} 2' in text


def test_a_full_queue_refuses_and_a_cancelled_request_makes_room(server):
    with server.client() as client:
        calls = Calls(client)
        sent = [calls.send("short_queue", [[i]], i) for i in range(3)]  # one runs for an hour, two wait
        assert refusal(client, "short_queue") == "[request id: last] Exceeds maximum queue size"
        sent[1].cancel()
        assert calls.next()[0] == 1
        sent.append(calls.send("short_queue", [[3]], 3))
        assert refusal(client, "short_queue") == "[request id: last] Exceeds maximum queue size"
        assert calls.answers.empty(), "none of the others was refused"
        for i in (0, 2, 3):
            sent[i].cancel()
        assert sorted(calls.next()[0] for _ in range(3)) == [0, 2, 3]


def refusal(client, model):
    """The text that a request is refused with; the queue fills asynchronously, so it may take a moment."""
    for _ in range(TIMEOUT_S * 50):
        try:
            client.infer(model, [tensor("INPUT0", [[9]])], request_id="last", client_timeout=0.05)
        except InferenceServerException as error:
            if error.status() == "StatusCode.UNAVAILABLE":
                return error.message()
            assert error.status() == "StatusCode.DEADLINE_EXCEEDED"
    raise AssertionError("the queue is never full")


def test_a_higher_level_goes_first(server):
    with server.client() as client:
        calls = Calls(client)
        for i in range(4):
            calls.send("levels", [[i]], f"low {i}", priority=2)
        calls.send("levels", [[9]], "high", priority=1)
        order = [calls.next()[0] for _ in range(5)]
        lows = [key for key in order if key != "high"]
        assert lows == sorted(lows)
        assert order.index("high") <= 2, order  # behind what executes, and one that may have been taken before it came


def test_what_waits_is_answered_when_the_server_ends(repository):
    with Server(repository, "plugin.models.strict_readiness=false") as server:
        server.wait_ready("patient")
        with server.client() as client:
            calls = Calls(client)
            for i in range(3):
                calls.send("patient", [[i]], i)
            for _ in range(TIMEOUT_S * 50):
                if 'nv_inference_pending_request_count{model="patient",version="1"} 3' in scrape(server):
                    break
            server.process.send_signal(signal.SIGTERM)
            answers = [calls.next() for _ in range(3)]
            assert sorted(key for key, _, _ in answers) == [0, 1, 2]
            for key, result, error in answers:
                assert error is None, error
                assert result.as_numpy("OUTPUT0").tolist() == [[key]]


def test_a_latency_target_is_reported_and_checked(server):
    with server.client() as client:
        for i in range(20):
            assert client.infer("on_target", [tensor("INPUT0", [[i]])]).as_numpy("OUTPUT0").tolist() == [[i]]
        index = {entry.name: entry for entry in client.get_model_repository_index().models}
        assert index["bad_target"].state == "UNAVAILABLE"
        assert "parameter 'latency_target_microseconds' of model 'bad_target' must be a whole number" in \
            index["bad_target"].reason
    text = scrape(server)
    assert 'atoll_batch_latency_target_seconds{model="on_target",version="1"} 0.5' in text
    assert 'atoll_batch_shed_requests_total{model="on_target",version="1"} 0' in text
