"""The metrics endpoint, read by Prometheus' own parser, against what the real clients sent."""

import concurrent.futures
import http.client
import re
import signal
import threading
import time

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from prometheus_client.parser import text_string_to_metric_families
from support import models
from support.server import DEFAULT_MANIFEST, START_TIMEOUT_S, Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

# These tests need no ONNX model.
SETTINGS = ["plugin.onnxruntime.enabled=false"]
REASONS = ["REJECTED", "CANCELED", "BACKEND", "OTHER"]
DURATIONS = {"request": "success", "queue": "queue", "compute_input": "compute_input",
             "compute_infer": "compute_infer", "compute_output": "compute_output"}


def ask(address, path="/metrics", method="GET"):
    connection = http.client.HTTPConnection(address, timeout=START_TIMEOUT_S)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.getheader("Content-Type"), response.read().decode()
    finally:
        connection.close()


class Page:
    """One scrape: families by name, and values by sample name and labels."""

    def __init__(self, address):
        status, content_type, self.text = ask(address)
        assert (status, content_type) == (200, "text/plain; charset=utf-8")
        self.families, self.values = {}, {}
        for family in text_string_to_metric_families(self.text):
            assert family.name not in self.families
            announced = family.type in ("histogram", "summary")  # of models that nobody has used yet
            assert family.samples or announced, f"{family.name} has no samples"
            self.families[family.name] = family
            for sample in family.samples:
                key = (sample.name, frozenset(sample.labels.items()))
                assert key not in self.values, f"{key} is there twice"
                self.values[key] = sample.value

    def value(self, name, **labels):
        # The parser gives counters without it the ending "_total"; Triton's have none.
        counter = (f"{name}_total", frozenset(labels.items()))
        return self.values[counter] if counter in self.values else self.values[(name, frozenset(labels.items()))]

    def of_model(self, name, model, **labels):
        return self.value(name, model=model, version="1", **labels)


def page_where(server, condition):
    """The first page that is as wanted; what the page shows of events comes a moment after them."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while not condition(page := Page(server.metrics_address)):
        assert time.monotonic() < deadline, page.text
        time.sleep(0.02)
    return page


def infer(client, model, rows=1, module=grpcclient, **more):
    array = np.full((rows, 4), 1.5, np.float32)
    tensor = module.InferInput("INPUT0", [rows, 4], "FP32")
    tensor.set_data_from_numpy(array)
    np.testing.assert_array_equal(client.infer(model, [tensor], **more).as_numpy("OUTPUT0"), array)


def write(repository, name, extra=""):
    models.write_model(repository, name, models.identity_config(name, dims=(4,), max_batch_size=8, extra=extra))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    write(repository, "counted")
    write(repository, "idle")
    write(repository, "tagged", 'metric_tags [ { key: "team" value: "blue \\"1\\"" }, { key: "Zone" value: "z" } ]')
    write(repository, "slow", 'instance_group [ { kind: KIND_CPU count: 1 } ]'
                              'parameters [ { key: "execute_delay_ms" value: { string_value: "1500" } } ]')
    with Server(repository, *SETTINGS, 'plugin.metrics.phase_histograms=["all"]') as running:
        yield running.wait_ready()


def test_counters_are_what_was_sent(server):
    with server.client() as client:
        for rows in (1, 1, 1, 4, 4):
            infer(client, "counted", rows)
        with httpclient.InferenceServerClient(server.http_address) as over_http:
            infer(over_http, "counted", 3, module=httpclient)
        statistics = client.get_inference_statistics("counted", as_json=True)["model_stats"][0]["inference_stats"]
    page = Page(server.metrics_address)
    assert page.of_model("nv_inference_request_success", "counted") == 6
    assert page.of_model("nv_inference_count", "counted") == 14
    assert page.of_model("nv_inference_exec_count", "counted") == 6
    assert page.of_model("nv_inference_pending_request_count", "counted") == 0
    for name, field in DURATIONS.items():
        expected = int(statistics[field].get("ns", 0)) // 1000
        assert page.of_model(f"nv_inference_{name}_duration_us", "counted") == expected
    for phase in [*DURATIONS, "first_response"]:
        name = f"atoll_inference_{phase}_duration_seconds"
        assert page.of_model(f"{name}_count", "counted") == 6
        buckets = [sample.value for sample in page.families[name].samples
                   if sample.name.endswith("_bucket") and sample.labels["model"] == "counted"]
        assert buckets == sorted(buckets) and buckets[-1] == 6 and len(buckets) == 19
    total = page.of_model("atoll_inference_request_duration_seconds_sum", "counted")
    assert total == pytest.approx(int(statistics["success"]["ns"]) / 1e9)


def test_every_reason_of_failure_is_there_from_the_start(server):
    page = Page(server.metrics_address)
    for model in ("idle", "counted"):
        for reason in REASONS:
            assert page.of_model("nv_inference_request_failure", model, reason=reason) == 0
    assert page.of_model("nv_inference_request_success", "idle") == 0


def test_label_order_and_number_format(server):
    lines = Page(server.metrics_address).text.splitlines()
    tags = r'_Zone="z",_team="blue \"1\"",'
    assert f'nv_inference_count{{{tags}model="tagged",version="1"}} 0' in lines
    assert f'nv_inference_request_failure{{{tags}model="tagged",reason="OTHER",version="1"}} 0' in lines
    assert "# TYPE atoll_inference_queue_duration_seconds histogram" in lines
    assert not any(line.startswith("atoll_inference_queue") and 'model="idle"' in line for line in lines)
    assert "# TYPE nv_inference_pending_request_count gauge" in lines
    assert "# HELP nv_inference_request_success Number of successful inference requests, all batch sizes" in lines


def test_what_is_off_or_not_there_has_no_family(server):
    text = Page(server.metrics_address).text
    for name in ("summary", "nv_inference_first_response_histogram_ms", "nv_gpu", "nv_energy", "nv_cache", "nv_pinned"):
        assert name not in text


def test_a_request_cancelled_in_the_queue_is_a_failure(server):
    def wait_for(condition):
        page_where(server, condition)

    with server.client() as client, concurrent.futures.ThreadPoolExecutor(2) as pool:
        # One of these executes, the other waits, and what comes after them waits for both.
        running = [pool.submit(infer, client, "slow") for _ in range(2)]
        wait_for(lambda page: page.of_model("nv_inference_pending_request_count", "slow") == 1)
        tensor = grpcclient.InferInput("INPUT0", [1, 4], "FP32")
        tensor.set_data_from_numpy(np.zeros((1, 4), np.float32))
        third = client.async_infer("slow", [tensor], callback=lambda result, error: None)
        wait_for(lambda page: page.of_model("nv_inference_pending_request_count", "slow") == 2)
        third.cancel()
        wait_for(lambda page: page.of_model("nv_inference_request_failure", "slow", reason="CANCELED") == 1)
        for one in running:
            one.result()
    wait_for(lambda page: page.of_model("nv_inference_pending_request_count", "slow") == 0)
    page = Page(server.metrics_address)
    assert page.of_model("nv_inference_request_success", "slow") == 2
    for reason in ("REJECTED", "BACKEND", "OTHER"):
        assert page.of_model("nv_inference_request_failure", "slow", reason=reason) == 0


def test_names_that_do_not_exist_make_no_series(server):
    before = {key for key in Page(server.metrics_address).values}
    with server.client() as client:
        for i in range(200):
            with pytest.raises(InferenceServerException):
                infer(client, f"unknown{i}", request_id=f"id{i}")
    new = {key[0] for key in set(Page(server.metrics_address).values) - before}
    assert all(name.startswith(("atoll_http", "atoll_grpc")) for name in new), new


def test_the_server_and_its_process(server):
    page = page_where(server, lambda page: "nv_cpu_utilization" in page.families and generation(page))
    assert 0 <= page.value("nv_cpu_utilization") <= 1
    assert 0 < page.value("nv_cpu_memory_used_bytes") < page.value("nv_cpu_memory_total_bytes")
    assert page.value("process_resident_memory_bytes") > 1 << 20
    assert page.value("process_virtual_memory_bytes") > page.value("process_resident_memory_bytes")
    assert page.value("process_threads") > 2
    assert 2 < page.value("process_open_fds") < page.value("process_max_fds")
    assert 0 < time.time() - page.value("process_start_time_seconds") < 3600
    assert page.value("process_cpu_seconds_total") > 0
    assert page.value("atoll_manifest_generation") == 1
    assert page.value("atoll_server_state", state="active") == 1
    assert page.value("atoll_plugin_state", instance="http", plugin="frontends/http", state="active") == 1
    assert page.value("atoll_event_bus_dropped_total") == 0
    assert page.value("atoll_metrics_left_out_samples") == 0
    assert page.value("atoll_http_connections", instance="http") >= 0, "what other plugins count"


def test_other_paths_and_methods(server):
    assert ask(server.metrics_address, "/metrics/")[0] == 200
    assert ask(server.metrics_address, "/v2/health/live")[0] == 404
    assert ask(server.metrics_address, method="POST")[0] == 405
    assert ask(server.http_address)[0] == 404, "not served on the HTTP port unless inference_port asks for it"


def test_pages_on_the_inference_port_and_the_summary(tmp_path):
    write(tmp_path, "m")
    write(tmp_path, "slow", 'instance_group [ { kind: KIND_CPU count: 1 } ]'
                            'parameters [ { key: "execute_delay_ms" value: { string_value: "1500" } } ]')
    with Server(tmp_path, *SETTINGS, "plugin.metrics.inference_port=true") as server:
        server.wait_ready()
        with server.client() as client:
            infer(client, "m")
        for address in (server.metrics_address, server.http_address):
            assert Page(address).of_model("nv_inference_count", "m") == 1
            assert len(ask(address, "/metrics/summary")[2]) < 4096
            assert ask(address, "/metrics/summary", method="POST")[0] == 405

        def sums(address):
            text = ask(address, "/metrics/summary")[2]
            return tuple(float(re.search(rf"^atoll_requests_{what} (\S+)$", text, re.M).group(1)) for what in ("waiting", "running"))
        assert sums(server.http_address) == (0, 0)
        with concurrent.futures.ThreadPoolExecutor(3) as pool, server.client() as client:
            sent = [pool.submit(infer, client, "slow") for _ in range(3)]
            for address in (server.metrics_address, server.http_address):
                eventually(lambda address=address: sums(address) == (2, 1))
            page = Page(server.http_address)
            assert (page.value("atoll_requests_waiting"), page.value("atoll_requests_running")) == (2, 1)
            for one in sent:
                one.result()
        eventually(lambda: sums(server.http_address) == (0, 0))
        # Of several series of a metric an endpoint picker takes one, whichever it is.
        for path in ("/metrics", "/metrics/summary"):
            text = ask(server.http_address, path)[2]
            for name in ("atoll_requests_waiting", "atoll_requests_running"):
                assert len(re.findall(rf"^{name}\b", text, re.M)) == 1 and f"# TYPE {name} gauge\n" in text


def test_a_hundred_scrapes_a_second_while_requests_run(server):
    end = threading.Event()

    def load():
        count = 0
        with server.client() as client:
            while not end.is_set():
                infer(client, "idle")
                count += 1
        return count

    def scrape():
        connection = http.client.HTTPConnection(server.metrics_address, timeout=START_TIMEOUT_S)
        last, begun = 0, time.monotonic()
        for i in range(100):
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
            now = float(re.search(r'^nv_inference_count{model="idle",version="1"} (\S+)$', text, re.M).group(1))
            assert now >= last
            last = now
            time.sleep(max(0.0, begun + i * 0.01 - time.monotonic()))
        connection.close()

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        loads = [pool.submit(load) for _ in range(2)]
        try:
            pool.submit(scrape).result()
        finally:
            end.set()
        sent = sum(one.result() for one in loads)
    assert Page(server.metrics_address).of_model("nv_inference_count", "idle") == sent > 0


def test_phases_have_buckets_for_the_models_that_are_named(tmp_path):
    write(tmp_path, "with")
    write(tmp_path, "without")
    with Server(tmp_path, *SETTINGS, 'plugin.metrics.phase_histograms=["with", "nobody"]') as server:
        server.wait_ready()
        with server.client() as client:
            infer(client, "with")
            infer(client, "without")
        page = Page(server.metrics_address)
    assert page.of_model("atoll_inference_queue_duration_seconds_bucket", "with", le="+Inf") == 1
    assert not re.search('atoll_inference_.*"without"', page.text)
    assert page.of_model("nv_inference_count", "without") == 1


def test_summaries_and_histograms_when_asked_for(tmp_path):
    control = ('{ metric_identifier { family: "nv_inference_first_response_histogram_ms" }'
               '  histogram_options { buckets: [ 60000, 90000 ] } }')
    write(tmp_path, "m", f"model_metrics {{ metric_control [ {control} ] }}")
    settings = ["plugin.metrics.summary_latencies=true", "plugin.metrics.histogram_latencies=true",
                "plugin.metrics.counter_latencies=false", 'plugin.metrics.summary_quantiles=["0.5:0.05"]',
                "plugin.metrics.duration_buckets=[]", "plugin.metrics.cpu_metrics=false"]
    with Server(tmp_path, *SETTINGS, *settings) as server:
        server.wait_ready()
        page = Page(server.metrics_address)
        assert "# TYPE nv_inference_request_summary_us summary\n" in page.text
        assert page.of_model("nv_inference_request_summary_us_count", "m") == 0, "nobody has used the model yet"
        with server.client() as client:
            for _ in range(10):
                infer(client, "m")
        page = Page(server.metrics_address)
    for phase in DURATIONS:
        name = f"nv_inference_{phase}_summary_us"
        assert page.of_model(f"{name}_count", "m") == 10
        assert page.of_model(name, "m", quantile="0.5") >= 0
    assert page.of_model("nv_inference_request_summary_us_sum", "m") > 0
    name = "nv_inference_first_response_histogram_ms"
    assert f"{name}_count" not in page.text, "of decoupled models only"
    assert page.of_model("nv_inference_count", "m") == 10
    assert "duration_us" not in page.text and "atoll_inference" not in page.text and "nv_cpu" not in page.text


def generation(page):
    """None: this endpoint has not heard of it yet."""
    return page.values.get(("atoll_manifest_generation", frozenset()))


def test_without_models_and_through_reloads(tmp_path):
    manifest = tmp_path / "atoll.toml"
    repository = tmp_path / "models"
    repository.mkdir()
    manifest.write_text(DEFAULT_MANIFEST.read_text())
    with Server(repository, *SETTINGS, manifest=manifest) as server:
        server.wait_ready()
        page = Page(server.metrics_address)
        assert not re.search("nv_inference|nv_model|atoll_inference", page.text)
        # Another plugin comes: the endpoint stays where it is.
        address = server.metrics_address
        manifest.write_text(DEFAULT_MANIFEST.read_text() + '\n[plugin.identity2]\nuse = "backends/identity"\n')
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_line("reloaded: generation 2")
        # News of the server and of plugins come apart from each other.
        page_where(server, lambda page: generation(page) == 2)
        state = ("atoll_plugin_state", frozenset({("instance", "identity2"), ("plugin", "backends/identity"), ("state", "active")}))
        page_where(server, lambda page: page.values.get(state) == 1)
        assert server.metrics_address == address
        # It goes, and the endpoint itself is replaced.
        use = 'use = "frontends/metrics"\n'
        assert use in DEFAULT_MANIFEST.read_text()
        manifest.write_text(DEFAULT_MANIFEST.read_text().replace(use, use + "cpu_metrics = false\n"))
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_line("reloaded: generation 3")
        page = page_where(server, lambda page: generation(page) == 3 and "identity2" not in page.text)
        assert server.metrics_address != address
        assert "nv_cpu" not in page.text
        # An instance that cannot take another's place leaves it as it is, and is counted.
        manifest.write_text(DEFAULT_MANIFEST.read_text().replace(use, use + 'summary_latencies = true\nsummary_quantiles = ["x"]\n'))
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_line("reload refused: ")
        page = page_where(server, lambda page: page.value("atoll_reloads_total", result="refused") == 1)
        assert page.value("atoll_reloads_total", result="applied") == 2
        assert page.value("atoll_plugin_state", instance="metrics", plugin="frontends/metrics", state="active") == 1
        assert 'state="failed"' not in page.text
