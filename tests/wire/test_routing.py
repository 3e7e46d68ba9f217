"""Labels, weights and shadow traffic (routing/weighted), over both protocols and changed while serving."""

import json
import re
import signal
import time
import urllib.error
import urllib.request

import pytest
from support.control import PROTOCOLS, Control
from support.models import write_add, write_model
from support.server import DEFAULT_MANIFEST, Server

ALL_VERSIONS = "version_policy { all { } }\n"
# Where a label is not known: what a client that misspelt a number is told.
NO_VERSION = "failed to get model version from specified version string '{}'"


class RoutedServer(Server):
    """A server whose routes can be rewritten while it serves."""

    def __init__(self, folder, repository, routes, *settings):
        self.path = folder / "atoll.toml"
        self._write(routes)
        super().__init__(repository, *settings, manifest=self.path)
        self.wait_ready()

    def _write(self, routes):
        text = DEFAULT_MANIFEST.read_text()
        if routes is not None:
            text += f'\n[plugin.routing]\nuse = "routing/weighted"\nseed = 7\n{routes}\n'
        self.path.write_text(text)

    def reroute(self, routes):
        """The log line of the reload, or of its refusal."""
        self._write(routes)
        self.process.send_signal(signal.SIGHUP)
        return self.wait_for_line(r"reloaded: generation .*|reload refused: .*").group(0)


@pytest.fixture
def repository(tmp_path):
    """The model "m", whose versions 1 to 3 add their number."""
    folder = tmp_path / "models"
    for version in (1, 2, 3):
        write_add(folder, "m", version, version)
    write_model(folder, "m", 'backend: "onnxruntime"\n' + ALL_VERSIONS)
    return folder


def get(server, path):
    try:
        with urllib.request.urlopen(f"http://{server.http_address}/{path}", timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def metric(server, name, version):
    with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    found = re.search(rf'^{name}{{model="m",version="{version}"}} (\S+)$', text, re.M)
    return float(found.group(1)) if found else None


def wait_for_metric(server, name, version, value):
    deadline = time.monotonic() + 60
    while (found := metric(server, name, version)) != value:
        assert time.monotonic() < deadline, f"{name} of version {version} is {found}, not {value}"
        time.sleep(0.02)


def versions_of(control, requests):
    """{version: answers} of requests that name none."""
    counts = {}
    for _ in range(requests):
        version, value = control.infer("m", 10.0)
        assert value == 10.0 + int(version)
        counts[version] = counts.get(version, 0) + 1
    return counts


def wait_for_answers_of(control, version):
    """A frontend moves to new routes a moment after the reload is logged; from then on only this version answers."""
    deadline = time.monotonic() + 60
    while versions_of(control, 1) != {version: 1}:
        assert time.monotonic() < deadline
    assert versions_of(control, 30) == {version: 30}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_label_is_used_where_a_version_is(tmp_path, repository, protocol):
    routes = 'labels = { "m.stable" = "1", "m.canary" = "2", "m.gone" = "9" }'
    with RoutedServer(tmp_path, repository, routes) as server, Control(server, protocol) as control:
        assert control.infer("m", version="stable") == ("1", 2.0)
        assert control.infer("m", version="canary") == ("2", 3.0)
        assert control.infer("m") == ("3", 4.0)
        assert control.infer("m", version="2") == ("2", 3.0)
        assert control.client.is_model_ready("m", "canary")
        metadata = control.client.get_model_metadata("m", "canary")
        assert list(metadata.versions if protocol == "grpc" else metadata["versions"]) == ["2"]
        control.client.get_model_config("m", "stable")
        statistics = control.client.get_inference_statistics("m", "stable")
        named = statistics.model_stats[0].version if protocol == "grpc" else statistics["model_stats"][0]["version"]
        assert named == "1"
        code, message = control.refusal(control.infer, "m", version="nightly")
        assert code == "INVALID_ARGUMENT" and NO_VERSION.format("nightly") in message
        code, message = control.refusal(control.infer, "m", version="gone")
        assert code == "NOT_FOUND" and message.endswith("'m' version 9 is not found")


def test_the_text_for_what_is_no_version_is_the_same_without_routes(tmp_path, repository):
    answers = []
    for routes in (None, 'labels = { "m.stable" = "1" }'):
        with RoutedServer(tmp_path, repository, routes) as server, Control(server, "grpc") as control:
            answers.append([get(server, f"v2/models/m/versions/{text}/config") for text in ("nightly", "1x", "", "-1")])
            answers[-1].append(control.refusal(control.infer, "m", version="nightly"))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_weights_share_out_requests_and_change_while_serving(tmp_path, repository, protocol):
    routes = 'labels = { "m.stable" = "1", "m.canary" = "2" }\nweights = { "m.stable" = "3", "m.canary" = "1" }'
    with RoutedServer(tmp_path, repository, routes) as server, Control(server, protocol) as control:
        counts = versions_of(control, 400)
        assert set(counts) == {"1", "2"}
        assert 240 <= counts["1"] <= 360, counts  # 300 expected, 5 standard deviations are 43 and more than enough
        assert server.reroute(routes.replace('"m.stable" = "3"', '"m.stable" = "0"')).startswith("reloaded")
        deadline = time.monotonic() + 60
        while versions_of(control, 30) != {"2": 30}:
            assert time.monotonic() < deadline
        assert control.infer("m", version="stable") == ("1", 2.0)
        # A manifest with a mistake changes nothing.
        assert "'canary' is neither a version nor a label of model 'm'" in server.reroute('weights = { "m.canary" = "1" }')
        assert versions_of(control, 30) == {"2": 30}


def test_routes_come_and_go_while_clients_are_connected(tmp_path, repository):
    with RoutedServer(tmp_path, repository, None) as server, Control(server, "grpc") as control:
        assert versions_of(control, 5) == {"3": 5}
        server.reroute('labels = { "m.stable" = "1" }\nweights = { "m.stable" = "1" }')
        wait_for_answers_of(control, "1")
        server.reroute(None)
        wait_for_answers_of(control, "3")
        assert "still draining" not in server.log


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_shadow_gets_copies_that_nobody_counts(tmp_path, repository, protocol):
    routes = 'shadows = { "m.2" = "1", "m.9" = "1" }\nmax_shadow_requests = 64'
    with RoutedServer(tmp_path, repository, routes) as server, Control(server, protocol) as control:
        for _ in range(20):
            assert control.infer("m", version="1") == ("1", 2.0)
        wait_for_metric(server, "atoll_shadow_requests_total", 2, 20)
        wait_for_metric(server, "atoll_shadow_requests_in_flight", 2, 0)
        assert metric(server, "atoll_shadow_failures_total", 2) == 0
        assert metric(server, "atoll_shadow_dropped_total", 2) == 0
        wait_for_metric(server, "atoll_shadow_failures_total", 9, 20)
        # Asked itself, the version has no shadow of its own.
        assert control.infer("m", version="2") == ("2", 3.0)
        statistics = json.loads(get(server, "v2/models/m/versions/2/stats")[1])["model_stats"][0]
        assert statistics["inference_stats"]["success"]["count"] == 1
        assert statistics["inference_stats"]["fail"]["count"] == 0
        assert statistics["execution_count"] == 21
        assert metric(server, "atoll_shadow_requests_total", 2) == 20


def test_a_shadow_that_can_not_follow_is_dropped(tmp_path, repository):
    routes = 'shadows = { "m.2" = "1" }\nmax_shadow_bytes = "1KiB"\nmax_shadow_requests = 1'
    with RoutedServer(tmp_path, repository, routes) as server, Control(server, "grpc") as control:
        for _ in range(200):
            assert control.infer("m", version="1") == ("1", 2.0)
        wait_for_metric(server, "atoll_shadow_requests_in_flight", 2, 0)
        requests = metric(server, "atoll_shadow_requests_total", 2)
        assert requests + metric(server, "atoll_shadow_dropped_total", 2) == 200
        assert requests >= 1
