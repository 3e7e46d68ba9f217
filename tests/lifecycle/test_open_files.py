"""Connections up to the process's limit of open files, and after it."""

import contextlib
import http.client
import resource
import socket
import subprocess

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.server import ATOLL, DEFAULT_MANIFEST, Server, usage
from support.waiting import eventually

TIMEOUT_S = 60
OPEN_FILES = 256


@pytest.fixture
def repository(tmp_path):
    models.write_model(tmp_path / "models", "echo", models.identity_config("echo", dims=(4,)))
    return tmp_path / "models"


@pytest.fixture(autouse=True)
def descriptors():
    """Enough for the other ends; the server is given limits of its own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def ask_grpc(address):
    """On a connection of its own."""
    with grpcclient.InferenceServerClient(address, channel_args=[("grpc.use_local_subchannel_pool", 1)]) as client:
        tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
        tensor.set_data_from_numpy(np.arange(4, dtype=np.float32))
        result = client.infer("echo", [tensor], client_timeout=TIMEOUT_S)
        assert result.as_numpy("OUTPUT0").tolist() == [0, 1, 2, 3]


def ask_http(address, path="/v2/health/live"):
    with contextlib.closing(http.client.HTTPConnection(address, timeout=TIMEOUT_S)) as connection:
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        assert response.status == 200


def crowd(stack, address, count):
    """Connections that say nothing; the server may have closed some of them."""
    host, port = address.rsplit(":", 1)
    for _ in range(count):
        stack.enter_context(socket.create_connection((host, int(port)), timeout=TIMEOUT_S))


def assert_serves(server):
    for _ in range(20):
        ask_grpc(server.address)
        ask_http(server.http_address)
        ask_http(server.metrics_address, "/metrics")


def test_no_frontend_takes_what_the_others_need(repository, grpc_frontend):
    with Server(repository, open_files=OPEN_FILES, grpc_frontend=grpc_frontend) as server:
        server.wait_active().wait_ready()
        before = usage(server.pid)["descriptors"]
        for address in (server.http_address, server.address, server.metrics_address):
            with contextlib.ExitStack() as stack:
                crowd(stack, address, 2 * OPEN_FILES)
                others = {server.http_address, server.address, server.metrics_address} - {address}
                for other in others:
                    if other == server.address:
                        ask_grpc(other)
                    else:
                        ask_http(other, "/metrics" if other == server.metrics_address else "/v2/health/live")
                # Where it can be seen which connections are idle, those make room.
                if address != server.address:
                    ask_http(address, "/metrics" if address == server.metrics_address else "/v2/health/live")
                assert usage(server.pid)["descriptors"] < OPEN_FILES
            eventually(lambda: usage(server.pid)["descriptors"] <= before + 8)
        with contextlib.ExitStack() as stack:
            for address in (server.http_address, server.address, server.metrics_address):
                crowd(stack, address, 2 * OPEN_FILES)
            assert usage(server.pid)["descriptors"] < OPEN_FILES
        eventually(lambda: usage(server.pid)["descriptors"] <= before + 8)
        assert_serves(server)
        server.wait_logged("max_connections is 10000, but the process's limit of open files allows")


def test_too_few_open_files_are_an_error_at_start(repository):
    """None would be left for connections."""
    for limit, starts in ((64, False), (127, False), (128, True)):
        command = ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", str(ATOLL), "--manifest", str(DEFAULT_MANIFEST),
                   "--set", f'plugin.repository.paths=["{repository}"]']
        for name in ("grpc", "http", "metrics"):
            command += ["--set", f'plugin.{name}.address="127.0.0.1:0"']
        if starts:
            with Server(repository, open_files=limit) as server:
                server.wait_active().wait_ready()
                assert_serves(server)
            continue
        ended = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert ended.returncode == 1
        assert f"the process may have {limit} files open, at least 128 are needed: raise the hard limit (ulimit -Hn)" in ended.stderr


def test_refused_connections_are_told(repository):
    with Server(repository, "plugin.http.max_connections=2", "plugin.grpc.max_connections=2") as server:
        server.wait_active().wait_ready()
        with contextlib.ExitStack() as stack:
            # Those that have begun a request are not idle, and make no room.
            host, port = server.http_address.rsplit(":", 1)
            for _ in range(3):
                begun = stack.enter_context(socket.create_connection((host, int(port)), timeout=TIMEOUT_S))
                begun.sendall(b"GET /v2/health/live HTTP/1.1\r\n")
            server.wait_for_line("HTTP has as many connections as it may have")
            crowd(stack, server.address, 8)
            server.wait_for_line("gRPC has as many connections as it may have")


def test_after_a_time_without_descriptors_everything_serves_again(repository, grpc_frontend):
    with Server(repository, grpc_frontend=grpc_frontend) as server:
        server.wait_active().wait_ready()
        assert_serves(server)
        eventually(lambda: usage(server.pid)["descriptors"] < 200)
        before = usage(server.pid)["descriptors"]
        _, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
        # Fewer than the connections that the server takes itself to be able to have.
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (before + 50, hard))
        with contextlib.ExitStack() as stack:
            crowd(stack, server.http_address, 60)
            crowd(stack, server.address, 60)
            server.wait_for_line("gRPC cannot take connections for now: Too many open files")
        eventually(lambda: usage(server.pid)["descriptors"] <= before + 8)
        assert_serves(server)
