"""Calls that need a key, on every frontend and through changes; test_http and test_grpc_security have more of each."""

import http.client
import signal
import time

import pytest
from support import models
from support.server import DEFAULT_MANIFEST, START_TIMEOUT_S, Server

TABLE = '\n[plugin.keys]\nuse = "security/keys"\nrestricted_apis = ["metadata,metrics:the-key={}"]\n'


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    models.write_model(root, "any", models.identity_config("any"))
    return root


def status(address, path, key=None):
    connection = http.client.HTTPConnection(address, timeout=START_TIMEOUT_S)
    try:
        connection.request("GET", path, headers={} if key is None else {"The-Key": key})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def wait_status(expected, *call):
    deadline = time.monotonic() + START_TIMEOUT_S
    while (found := status(*call)[0]) != expected:
        assert time.monotonic() < deadline, f"{call}: {found}, not {expected}"
        time.sleep(0.01)


def test_keys_come_change_and_go_while_serving(repository, tmp_path):
    manifest = tmp_path / "atoll.toml"
    manifest.write_text(DEFAULT_MANIFEST.read_text() + TABLE.format("first"))
    with Server(repository, manifest=manifest) as server:
        server.wait_ready("any")
        addresses = server.http_address, server.metrics_address
        for address, path in zip(addresses, ("/v2", "/metrics")):
            assert status(address, path)[0] == 403
            assert "This API is restricted, expecting header 'the-key'" in status(address, path, "second")[1]
            assert status(address, path, "first")[0] == 200
            assert status(address, "/v2/health/live" if path == "/v2" else "/other")[0] != 403
        manifest.write_text(DEFAULT_MANIFEST.read_text() + TABLE.format("second"))
        server.process.send_signal(signal.SIGHUP)
        for address, path in zip(addresses, ("/v2", "/metrics")):
            wait_status(200, address, path, "second")
            assert status(address, path, "first")[0] == 403
            assert status(address, path)[0] == 403
        manifest.write_text(DEFAULT_MANIFEST.read_text())
        server.process.send_signal(signal.SIGHUP)
        for address, path in zip(addresses, ("/v2", "/metrics")):
            wait_status(200, address, path)


@pytest.mark.parametrize("key, owner", [("plugin.http.restricted_apis", "security/keys"),
                                        ("plugin.grpc.restricted_protocols", "security/keys"),
                                        ("plugin.rate_limiter.tenants", "admission/quotas")])
def test_options_that_moved_are_refused_with_where_they_are(repository, key, owner):
    instance, option = key.split(".")[1:]
    settings = ['plugin.rate_limiter.use="admission/rate_limiter"'] if instance == "rate_limiter" else []
    with pytest.raises(AssertionError, match=f"unknown key '{option}' in .plugin.{instance}., it is an option of {owner} now"):
        Server(repository, *settings, f'{key}=["x"]')
