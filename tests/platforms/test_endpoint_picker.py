"""What an endpoint picker of the Gateway API Inference Extension reads from a server, by its own rules: it asks the inference port for
the page, looks for a metric by name and labels, and of several series takes the newest, of equally old ones the first. So what it
finds must be of the whole server, with one model as with 10,000."""

import concurrent.futures
import contextlib
import gzip
import itertools
import json
import re

import numpy as np
import prometheus_client.parser
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.http_call import call
from support.server import ROOT, START_TIMEOUT_S, Server
from support.waiting import eventually

# A batch of so many is waited for, for an hour: fewer requests wait for certain, and one more has them all answered.
FULL = 4
QUEUE = f"dynamic_batching {{ preferred_batch_size: [ {FULL} ] max_queue_delay_microseconds: 3600000000 }}"


def extracted(page, name, labels=()):
    """The picker's rule; None: the page has no such metric."""
    found = None
    lines = "".join(line + "\n" for line in page.splitlines() if name in line)  # of 10,000 models the others take long
    for family in prometheus_client.parser.text_string_to_metric_families(lines):
        for sample in family.samples:
            if sample.name != name or any(sample.labels.get(key) != value for key, value in labels):
                continue
            if found is None or (sample.timestamp or 0) > (found.timestamp or 0):
                found = sample
    return None if found is None else found.value


def engine():
    """The metrics that docs/platforms.md tells the picker to look for."""
    text = (ROOT / "docs/platforms.md").read_text()
    return tuple(re.search(rf"{what}: (\w+)", text).group(1) for what in ("queuedRequestsSpec", "runningRequestsSpec"))


def infer(server, model):
    tensor = grpcclient.InferInput("INPUT0", [1, 2], "FP32")
    tensor.set_data_from_numpy(np.zeros((1, 2), np.float32))
    with server.client() as client:
        client.infer(model, [tensor])


@pytest.mark.parametrize("count", [1, 100, 10000])
def test_it_sees_what_waits_whatever_the_number_of_models(tmp_path, count):
    queued, running = engine()
    names = [f"m{number:05}" for number in range(count - 1)]
    for name in names:
        models.write_model(tmp_path, name, models.identity_config(name, max_batch_size=FULL))
    models.write_model(tmp_path, "queue", models.identity_config("queue", max_batch_size=FULL, extra=QUEUE))
    with Server(tmp_path, "plugin.metrics.inference_port=true") as server:
        server.wait_ready(timeout=START_TIMEOUT_S * max(1, count // 500))
        for name in names[:50]:  # their series are there, before those of the model that is asked, and say 0
            infer(server, name)

        def seen(path):
            page = call("GET", f"http://{server.http_address}{path}").text
            assert path == "/metrics" or len(page) <= 4096
            return extracted(page, queued), extracted(page, running)

        with concurrent.futures.ThreadPoolExecutor(FULL) as pool:
            sent = []
            for waiting in range(FULL):
                for path in ("/metrics/summary", "/metrics"):
                    eventually(lambda path=path, waiting=waiting: seen(path) == (waiting, 0))
                sent.append(pool.submit(infer, server, "queue"))
            for one in sent:
                one.result()
        for path in ("/metrics/summary", "/metrics"):
            eventually(lambda path=path: seen(path) == (0, 0))


def test_the_page_is_compressed_where_that_is_asked_for(tmp_path):
    models.write_model(tmp_path, "m", models.identity_config("m"))
    with Server(tmp_path, "plugin.metrics.inference_port=true") as server:
        server.wait_ready()
        for address, path in itertools.product((server.http_address, server.metrics_address), ("/metrics", "/metrics/summary")):
            page = call("GET", f"http://{address}{path}", headers={"Accept-Encoding": "gzip"})
            assert page.headers["Content-Encoding"] == "gzip", (address, path)
            assert b"\natoll_requests_waiting 0\n" in gzip.decompress(page.body)
            assert call("GET", f"http://{address}{path}").headers["Content-Encoding"] is None


@contextlib.contextmanager
def waiting_requests(server):
    """One fewer than a batch of the model `queue` has; they are answered at the end."""
    with concurrent.futures.ThreadPoolExecutor(FULL) as pool:
        sent = [pool.submit(infer, server, "queue") for _ in range(FULL - 1)]
        try:
            yield
        finally:
            infer(server, "queue")
            for one in sent:
                one.result()


def test_a_gateway_may_ask_for_the_load_with_each_request(tmp_path):
    """ORCA: the answer to a request that asks for it has the load in its head; no other has."""
    models.write_model(tmp_path, "m", models.identity_config("m", max_batch_size=FULL))
    models.write_model(tmp_path, "queue", models.identity_config("queue", max_batch_size=FULL, extra=QUEUE))
    body = json.dumps({"inputs": [{"name": "INPUT0", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]}]}).encode()
    with Server(tmp_path) as server, waiting_requests(server.wait_ready()):

        def told(asked, path="/v2/models/m/infer", content=body):
            answer = call("POST", f"http://{server.http_address}{path}", content, headers={"Endpoint-Load-Metrics-Format": asked})
            assert answer.status == 200, answer.text
            return answer.headers["endpoint-load-metrics"]

        eventually(lambda: json.loads(told("json").removeprefix("JSON ")) ==
                   {"named_metrics": {"requests_waiting": FULL - 1, "requests_running": 0}})
        # The request that is answered may still count as running.
        eventually(lambda: told("text") == f"TEXT named_metrics.requests_waiting={FULL - 1}, named_metrics.requests_running=0")
        for path in ("/v2/models/m/generate", "/v2/models/m/generate_stream"):
            assert told("text", path, b'{"INPUT0": [1, 2]}').startswith(f"TEXT named_metrics.requests_waiting={FULL - 1}, ")
        for other in ("", "JSON", "bin", "x" * 1000):
            assert told(other) is None
        assert call("GET", f"http://{server.http_address}/v2", headers={"endpoint-load-metrics-format": "json"}).headers.get(
            "endpoint-load-metrics") is None
