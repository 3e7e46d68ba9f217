"""gRPC for Go against every gRPC frontend: each case of tests/clients/go, on a connection of its own."""

import subprocess

import pytest
from support.client_cases import serve_cases
from support.go_programs import go_program

TIMEOUT_S = 120
# Ten seconds each, which is how often this client pings.
IN_THE_BACKGROUND = ("keepalive_idle", "keepalive_in_a_call")


@pytest.fixture(scope="module")
def cases():
    listed = subprocess.run([go_program("go_client"), "--list"], stdout=subprocess.PIPE, text=True, check=True)
    return listed.stdout.split()


@pytest.fixture(scope="module")
def server(tmp_path_factory, grpc_frontend):
    with serve_cases(tmp_path_factory.mktemp("go_client"), grpc_frontend) as running:
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
