"""Frontends that are replaced under clients that never stop asking: nobody loses anything."""

import os
import signal

from support import models
from support.addresses import free_addresses
from support.busy import BusyClients
from support.server import DEFAULT_MANIFEST, SANITIZED, Server

RELOADS = int(os.environ.get("ATOLL_TEST_RELOADS", 5 if SANITIZED else 20))
CLIENTS = int(os.environ.get("ATOLL_TEST_CLIENTS", 8))


def manifest_text(names):
    """The default manifest, with an option of these instances changed."""
    text = DEFAULT_MANIFEST.read_text()
    for instance, name in names.items():
        assert f"[plugin.{instance}]\n" in text
        text = text.replace(f"[plugin.{instance}]\n", f'[plugin.{instance}]\nserver_name = "{name}"\n')
    return text


def test_reloads_under_load(tmp_path):
    repository = tmp_path / "models"
    models.write_model(repository, "echo", models.identity_config("echo", dims=(4,)))
    manifest = tmp_path / "atoll.toml"
    names = {"grpc": "first", "http": "first"}
    manifest.write_text(manifest_text(names))
    with free_addresses(2) as (grpc_address, http_address):
        settings = (f'plugin.grpc.address="{grpc_address}"', f'plugin.http.address="{http_address}"')
        with Server(repository, *settings, manifest=manifest) as server:
            server.wait_ready()
            clients = BusyClients(server, CLIENTS)
            try:
                for i in range(RELOADS):
                    clients.wait_for_answers(20)
                    for instance in (("grpc",), ("http",), ("grpc", "http"))[i % 3]:
                        names[instance] = f"n{i}"
                    manifest.write_text(manifest_text(names))
                    server.process.send_signal(signal.SIGHUP)
                    server.wait_for_line(r"reloaded: generation")
                clients.wait_for_answers(20)
            finally:
                clients.end()
            print(f"{RELOADS} reloads, {CLIENTS} clients, {sum(clients.answers)} answers, {len(clients.failures)} failures")
            assert clients.failures == []
            with server.client() as client:
                assert client.get_server_metadata().name == names["grpc"]
            with server.http_client() as client:
                assert client.get_server_metadata()["name"] == names["http"]
