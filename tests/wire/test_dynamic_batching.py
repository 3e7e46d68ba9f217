"""Dynamic batching as a client sees it: right answers, batches as the statistics tell them, queue policies."""

import concurrent.futures
import queue
import shutil
import signal
import time
import urllib.request

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support import models
from support.calls import TIMEOUT_S, Calls, tensor
from support.server import BUILD, Server
from tritonclient.utils import InferenceServerException


def slow(milliseconds):
    return f'parameters {{ key: "execute_delay_ms" value {{ string_value: "{milliseconds}" }} }}\n'


def batching(text):
    return f"dynamic_batching {{ {text} }}\n"


REJECT_100_MS = "default_queue_policy { timeout_action: REJECT default_timeout_microseconds: 100000 }"

CONFIGS = {
    "plain": batching(""),
    "fours": batching("preferred_batch_size: 4"),
    "impatient": batching(REJECT_100_MS) + slow(3000),
    "short_queue": batching("preferred_batch_size: 1 default_queue_policy { max_queue_size: 2 }") + slow(3_600_000),
    "levels": batching("priority_levels: 2 default_priority_level: 2 preferred_batch_size: 1") + slow(200),
    "many_levels": batching("priority_levels: 18446744073709551615 default_priority_level: 4294967296 "
                            "preferred_batch_size: 1 priority_queue_policy { key: 4294967297 value { "
                            "default_timeout_microseconds: 18446744073709551615 } }"),
    "patient": batching("preferred_batch_size: 8 max_queue_delay_microseconds: 600000000"),
    "on_target": batching("") + 'parameters { key: "latency_target_microseconds" value { string_value: "500000" } }\n',
}

# Ragged rows, one after the other, and where each ends: the model answers with the ends and the sum of all rows so far.
LENGTHS = """backend: "onnxruntime" max_batch_size: 16
input [ { name: "ROW" data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: true } ]
output [ { name: "END" data_type: TYPE_FP32 dims: [ 1 ] }, { name: "SUM" data_type: TYPE_FP32 dims: [ 1 ] } ]
batch_input [ { kind: BATCH_ACCUMULATED_ELEMENT_COUNT target_name: "ENDS" data_type: TYPE_FP32 source_input: "ROW" } ]
dynamic_batching { }
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    for name, extra in CONFIGS.items():
        models.write_model(root, name, models.identity_config(name, max_batch_size=8, extra=extra))
    bad = 'parameters { key: "latency_target_microseconds" value { string_value: "soon" } }\n'
    models.write_model(root, "bad_target", models.identity_config("bad_target", max_batch_size=8, extra=batching("") + bad))
    # Requests of 16 bytes, at most two of them together; and a strategy that is none.
    for name in ("by_volume", "broken_strategy"):
        limit = 'parameters { key: "MAX_BATCH_VOLUME_BYTES" value { string_value: "32" } }\n'
        models.write_model(root, name, models.identity_config(name, max_batch_size=8, extra=batching("") + limit))
    shutil.copy(BUILD / "lib/atoll/strategies/volume_batching.so", root / "by_volume" / "batchstrategy.so")
    (root / "broken_strategy" / "batchstrategy.so").write_text("not a shared object")
    models.write_model(root, "lengths", LENGTHS, files={"model.onnx": models.onnx_ragged_lengths()})
    models.write_model(root, "add_sub", files={"model.onnx": models.onnx_add_sub()})
    return root


@pytest.fixture(scope="module")
def server(repository):
    with Server(repository, "plugin.models.strict_readiness=false") as running:
        for name in (*CONFIGS, "add_sub"):
            running.wait_ready(name)
        yield running


def scrape(server):
    url = f"http://{server.metrics_address}/metrics"
    return urllib.request.urlopen(url, timeout=TIMEOUT_S).read().decode()


def statistics(client, model):
    return client.get_inference_statistics(model).model_stats[0]


def test_batches_are_what_was_sent(repository):
    """Held until twelve requests wait, four is preferred: three batches of four, to the statistics' last number."""
    with Server(repository, "plugin.models.strict_readiness=false",
                environment={"TRITONSERVER_DELAY_SCHEDULER": "12"}) as server:
        server.wait_ready("fours")
        with server.client() as client:
            calls = Calls(client)
            for i in range(12):
                calls.send("fours", [[i, i + 0.5]], i)
            for _ in range(12):
                key, result, error = calls.next()
                assert error is None, error
                assert result.as_numpy("OUTPUT0").tolist() == [[key, key + 0.5]]
            stats = statistics(client, "fours")
            assert (stats.inference_count, stats.execution_count) == (12, 3)
            assert [(batch.batch_size, batch.compute_infer.count) for batch in stats.batch_stats] == [(4, 3)]
            assert stats.inference_stats.success.count == 12
            assert stats.inference_stats.queue.count == 12


def test_requests_of_other_shapes_are_not_joined(repository):
    with Server(repository, "plugin.models.strict_readiness=false",
                environment={"TRITONSERVER_DELAY_SCHEDULER": "4"}) as server:
        server.wait_ready("plain")
        with server.client() as client:
            calls = Calls(client)
            for i in range(4):
                calls.send("plain", np.full((2, 1 + i // 2), i), i)
            for _ in range(4):
                key, result, error = calls.next()
                assert error is None, error
                assert result.as_numpy("OUTPUT0").tolist() == np.full((2, 1 + key // 2), key).tolist()
            stats = statistics(client, "plain")
            assert stats.inference_count == 8
            # All four would fit into one batch. In which order they came is not ours to say.
            assert [batch.batch_size for batch in stats.batch_stats] in ([4], [2, 4], [2])


def test_a_custom_strategy_limits_batches(repository):
    with Server(repository, "plugin.models.strict_readiness=false",
                environment={"TRITONSERVER_DELAY_SCHEDULER": "8"}) as server:
        server.wait_ready("by_volume")
        with server.client() as client:
            calls = Calls(client)
            for i in range(8):
                calls.send("by_volume", np.full((1, 4), i), i)
            for _ in range(8):
                key, result, error = calls.next()
                assert error is None, error
                assert result.as_numpy("OUTPUT0").tolist() == [[key] * 4]
            stats = statistics(client, "by_volume")
            assert [(batch.batch_size, batch.compute_infer.count) for batch in stats.batch_stats] == [(2, 4)]
            index = {entry.name: entry for entry in client.get_model_repository_index().models}
            assert index["broken_strategy"].state == "UNAVAILABLE"
            assert "batchstrategy.so" in index["broken_strategy"].reason


def test_ragged_rows_reach_the_model_as_one(repository):
    with Server(repository, "plugin.models.strict_readiness=false",
                environment={"TRITONSERVER_DELAY_SCHEDULER": "3"}) as server:
        server.wait_ready("lengths")
        rows = [np.arange(1, n + 1, dtype=np.float32).reshape(1, n) for n in (3, 1, 5)]
        with server.client() as client:
            answers = queue.Queue()
            for row in rows:
                client.async_infer("lengths", [tensor(row, "ROW")],
                                   lambda result, error, row=row: answers.put((row, result, error)))
            ends = []
            for _ in rows:
                row, result, error = answers.get(timeout=TIMEOUT_S)
                assert error is None, error
                ends.append((result.as_numpy("END").item(), row))
            ends.sort(key=lambda pair: pair[0])
            assert ends[-1][0] == sum(row.size for row in rows)
            lengths = np.diff([0, *(end for end, _ in ends)])
            assert lengths.tolist() == [row.size for _, row in ends], "in the order of the batch, whatever it was"
            stats = statistics(client, "lengths")
            assert (stats.inference_count, stats.execution_count) == (3, 1)


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
        for i in range(3):
            calls.send("impatient", [[i]], i)  # whichever comes first runs for three seconds
        refused = [calls.next(), calls.next()]
        for _, _, error in refused:
            assert error.status() == "StatusCode.UNAVAILABLE"
            assert error.message() == "Request timeout expired"
        key, result, error = calls.next()
        assert error is None, error
        assert result.as_numpy("OUTPUT0").tolist() == [[key]]
    assert 'nv_inference_request_failure{model="impatient",reason="REJECTED",version="1"} 2' in scrape(server)


def of_model(server, model):
    return "\n".join(line for line in scrape(server).splitlines() if f'model="{model}"' in line and "_bucket" not in line)


def wait_pending(server, model, count):
    """Until so many requests wait for the model."""
    line = f'nv_inference_pending_request_count{{model="{model}",version="1"}} {count}\n'
    deadline = time.monotonic() + TIMEOUT_S
    while line not in scrape(server):
        assert time.monotonic() < deadline, f"not {count} requests wait for {model}:\n{of_model(server, model)}"


def test_a_full_queue_refuses_and_a_cancelled_request_makes_room(server):
    with server.client() as client:
        calls = Calls(client)
        sent = [calls.send("short_queue", [[i]], i) for i in range(3)]  # one runs for an hour, two wait
        for room in (True, False):
            wait_pending(server, "short_queue", 2)
            with pytest.raises(InferenceServerException) as refusal:
                client.infer("short_queue", [tensor([[9]])], request_id="last")
            assert refusal.value.status() == "StatusCode.UNAVAILABLE"
            assert refusal.value.message() == "[request id: last] Exceeds maximum queue size"
            if room:
                sent[1].cancel()
                assert calls.next()[0] == 1
                wait_pending(server, "short_queue", 1)
                sent.append(calls.send("short_queue", [[3]], 3))
        for i in (0, 2, 3):
            sent[i].cancel()
        assert sorted(calls.next()[0] for _ in range(3)) == [0, 2, 3]


def test_a_higher_level_goes_first(server):
    with server.client() as client:
        calls = Calls(client)
        for i in range(4):
            calls.send("levels", [[i]], f"low {i}", priority=2)
        calls.send("levels", [[9]], "high", priority=1)
        order = [calls.next()[0] for _ in range(5)]
        assert order.index("high") <= 2, order  # behind what executes, and one that may have been taken before it came


def test_levels_are_64_bit_numbers(server):
    with server.client() as client:
        shown = client.get_model_config("many_levels").config.dynamic_batching
        assert (shown.priority_levels, shown.default_priority_level) == (2**64 - 1, 2**32)
        assert list(shown.priority_queue_policy) == [2**32 + 1]
        calls = Calls(client)
        levels = (2**64 - 1, 2**63, 2**32 + 1, 0, 7)
        for level in levels:
            calls.send("many_levels", [[1.5]], level, priority=level)
        for _ in levels:
            level, result, error = calls.next()
            assert error is None, (level, error)
            assert result.as_numpy("OUTPUT0").tolist() == [[1.5]]


def test_what_waits_is_answered_when_the_server_ends(repository):
    with Server(repository, "plugin.models.strict_readiness=false") as server:
        server.wait_ready("patient").wait_active()
        with server.client() as client:
            calls = Calls(client)
            for i in range(3):
                calls.send("patient", [[i]], i)
            wait_pending(server, "patient", 3)
            server.process.send_signal(signal.SIGTERM)
            answers = [calls.next() for _ in range(3)]
            assert sorted(key for key, _, _ in answers) == [0, 1, 2]
            for key, result, error in answers:
                assert error is None, error
                assert result.as_numpy("OUTPUT0").tolist() == [[key]]
        assert server.process.wait(TIMEOUT_S) == 0


def test_a_latency_target_is_reported_and_checked(server):
    with server.client() as client:
        for i in range(20):
            assert client.infer("on_target", [tensor([[i]])]).as_numpy("OUTPUT0").tolist() == [[i]]
        index = {entry.name: entry for entry in client.get_model_repository_index().models}
        assert index["bad_target"].state == "UNAVAILABLE"
        assert "parameter 'latency_target_microseconds' of model 'bad_target' must be a whole number" in \
            index["bad_target"].reason
    text = scrape(server)
    assert 'atoll_batch_latency_target_seconds{model="on_target",version="1"} 0.5' in text
    assert 'atoll_batch_shed_requests_total{model="on_target",version="1"} 0' in text
