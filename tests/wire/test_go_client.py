"""gRPC for Go against every gRPC frontend: each case of tests/clients/go, on a connection of its own."""

import subprocess

import pytest
from support import models
from support.go_programs import go_program
from support.server import DEFAULT_MANIFEST, Server

TIMEOUT_S = 120
KEYS = '\n[plugin.keys]\nuse = "security/keys"\nrestricted_protocols = ["logging:admin-key=secret"]\n'
# Ten seconds each, which is how often this client pings.
IN_THE_BACKGROUND = ("keepalive_idle", "keepalive_in_a_call")


@pytest.fixture(scope="module")
def cases():
    listed = subprocess.run([go_program("go_client"), "--list"], stdout=subprocess.PIPE, text=True, check=True)
    return listed.stdout.split()


@pytest.fixture(scope="module")
def server(tmp_path_factory, grpc_frontend):
    folder = tmp_path_factory.mktemp("go_client")
    repository = folder / "models"
    stuck = """parameters { key: "execute_delay_ms" value { string_value: "3600000" } } instance_group [ { count: 4 } ]"""
    models.write_model(repository, "echo", models.identity_config("echo", "TYPE_INT32"))
    models.write_model(repository, "stuck", models.identity_config("stuck", "TYPE_INT32", extra=stuck))
    models.write_model(repository, "repeat", models.REPEAT_CONFIG)
    manifest = folder / "atoll.toml"
    manifest.write_text(DEFAULT_MANIFEST.read_text() + KEYS)
    settings = ('plugin.repeat.use="backends/repeat"', 'plugin.grpc.response_compression="low"', 'plugin.grpc.max_message_bytes="16MiB"',
                'plugin.grpc.http2_min_recv_ping_interval_without_data="5s"',
                "plugin.grpc.keepalive_permit_without_calls=true", "plugin.grpc.http2_max_ping_strikes=1")
    with Server(repository, *settings, manifest=manifest, grpc_frontend=grpc_frontend) as running:
        yield running.wait_ready()


def start(server, case):
    return subprocess.Popen([go_program("go_client"), server.address, case], stderr=subprocess.PIPE, text=True)


def test_every_case(server, cases):
    assert set(IN_THE_BACKGROUND) < set(cases) and len(cases) >= 15
    background = {case: start(server, case) for case in IN_THE_BACKGROUND}
    failures = {}
    for case in sorted(cases, key=lambda case: case in IN_THE_BACKGROUND):
        client = background.get(case) or start(server, case)
        _, error = client.communicate(timeout=TIMEOUT_S)
        if client.returncode != 0:
            failures[case] = error
    assert failures == {}
