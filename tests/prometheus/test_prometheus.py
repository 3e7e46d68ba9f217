"""The real Prometheus scrapes the page in both formats, and the dashboard's questions have answers."""

import json
import threading

import numpy as np
import pytest
import tritonclient.http as httpclient
from support import models
from support.prometheus import Prometheus
from support.server import ROOT, Server
from support.waiting import eventually

REQUESTS = 200
DASHBOARD = json.loads((ROOT / "etc/dashboards/grafana.json").read_text())
LATENCY = "atoll_inference_request_duration_seconds"


def infer(client, count):
    tensor = httpclient.InferInput("INPUT0", [16], "FP32")
    tensor.set_data_from_numpy(np.zeros(16, dtype=np.float32))
    for _ in range(count):
        client.infer("m", [tensor])


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    models.write_model(folder, "m", models.identity_config("m", dims=(16,)))
    return folder


def one_value(prometheus, expression):
    """None: there is no sample yet."""
    samples = prometheus.query(expression)
    assert len(samples) <= 1, samples
    return samples[0][1] if samples else None


def test_native_histograms_by_the_default_manifest(repository, tmp_path):
    with Server(repository, "plugin.onnxruntime.enabled=false") as server, httpclient.InferenceServerClient(server.http_address) as client:
        server.wait_ready()
        infer(client, REQUESTS)
        with Prometheus(tmp_path / "prometheus", server.metrics_address, native=True) as prometheus:
            assert eventually(lambda: one_value(prometheus, f"histogram_count({LATENCY})")) == REQUESTS
            assert one_value(prometheus, "nv_inference_request_success") == REQUESTS
            assert one_value(prometheus, "up") == 1
            assert prometheus.query(f"{LATENCY}_bucket") == []
            total_s = one_value(prometheus, f"histogram_sum({LATENCY})")
            assert total_s == pytest.approx(one_value(prometheus, "nv_inference_request_duration_us") / 1e6, rel=0.01)
            middle_s = one_value(prometheus, f"histogram_quantile(0.5, {LATENCY})")
            assert 0 < middle_s <= total_s
            # Buckets grow by 9 % and a duration may be one bucket away; half of the requests took at most twice the mean.
            assert middle_s <= 2 * 1.19 * total_s / REQUESTS


def test_text_without_histograms_by_the_default_manifest(repository, tmp_path):
    with Server(repository, "plugin.onnxruntime.enabled=false") as server, httpclient.InferenceServerClient(server.http_address) as client:
        server.wait_ready()
        infer(client, REQUESTS)
        with Prometheus(tmp_path / "prometheus", server.metrics_address, native=False) as prometheus:
            assert eventually(lambda: one_value(prometheus, "nv_inference_request_success")) == REQUESTS
            assert prometheus.query(LATENCY) == prometheus.query(f"{LATENCY}_count") == []


@pytest.mark.parametrize("native", [True, False], ids=["native", "text"])
def test_the_dashboard(repository, tmp_path, native):
    settings = [] if native else ['plugin.metrics.phase_histograms=["m"]']
    with Server(repository, "plugin.onnxruntime.enabled=false", *settings) as server:
        server.wait_ready()
        ended = threading.Event()

        def load():
            with httpclient.InferenceServerClient(server.http_address) as client:
                while not ended.is_set():
                    infer(client, 1)
        loading = threading.Thread(target=load)
        loading.start()
        try:
            with Prometheus(tmp_path / "prometheus", server.metrics_address, native) as prometheus:
                for panel in DASHBOARD["panels"]:
                    for target in panel["targets"]:
                        expression = target["expr"].replace("$model", ".*").replace("$__rate_interval", "10s")
                        # A rate needs two scrapes.
                        samples = eventually(lambda expression=expression: prometheus.query(expression))
                        assert all(value >= 0 for _, value in samples), (panel["title"], samples)
        finally:
            ended.set()
            loading.join()
