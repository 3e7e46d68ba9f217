"""The real Prometheus scrapes a server with TLS and identities, by the configuration of docs/security.md."""

import re

import pytest
from support import models
from support.identities import MANIFEST, Keys
from support.pki import make_pki, tls_options
from support.prometheus import Prometheus
from support.server import ROOT, Server
from support.waiting import eventually

PAGE = re.search(r"^```yaml\n(.*?)^```$", (ROOT / "docs" / "security.md").read_text(), re.M | re.S).group(1)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return Keys(tmp_path_factory.mktemp("keys") / "keys")


@pytest.fixture(scope="module")
def world(keys, tmp_path_factory):
    """(server, pki, token)"""
    folder = tmp_path_factory.mktemp("repository")
    models.write_model(folder, "any", models.identity_config("any"))
    pki = make_pki(tmp_path_factory.mktemp("pki"))
    token = keys.add("scrape", "metrics")
    with Server(folder, f'plugin.keys.keys_file="{keys.path}"', *tls_options(pki, False, "metrics"), manifest=MANIFEST,
                grpc_frontend=None) as server:
        server.wait_active()
        yield server, pki, token


def config(folder, pki, token):
    """That of the page, with the lines for identities, but for paths, the address and how often it looks."""
    (folder / "token").write_text(token)
    text = re.sub(r"^    # (?=authorization:|  credentials_file:)", "    ", PAGE, flags=re.M)
    assert "\n    authorization:\n      credentials_file: " in text
    text = text.replace("/etc/prometheus/atoll-ca.crt", f"{pki}/ca.crt").replace("/etc/prometheus/atoll-token", f"{folder}/token")
    assert "localhost:8002" in text
    return "global:\n  scrape_interval: 1s\n" + text.replace("localhost:8002", "{address}")


def up(prometheus):
    return [value for _, value in prometheus.query("up")]


def test_the_configuration_of_the_page(world, tmp_path):
    server, pki, token = world
    address = server.metrics_address.replace("127.0.0.1", "localhost")
    with Prometheus(tmp_path / "good", address, native=False, config=config(tmp_path, pki, token)) as prometheus:
        assert eventually(lambda: up(prometheus)) == [1]
        assert eventually(lambda: prometheus.query("nv_inference_request_success"))


def test_a_wrong_token_scrapes_nothing(world, tmp_path):
    server, pki, token = world
    address = server.metrics_address.replace("127.0.0.1", "localhost")
    with Prometheus(tmp_path / "bad", address, native=False, config=config(tmp_path, pki, token + "x")) as prometheus:
        assert eventually(lambda: up(prometheus)) == [0]
        assert prometheus.query("nv_inference_request_success") == []
