"""Ten thousand connections that say nothing, and a client that does not read: memory stays bounded, others are served."""

import resource
import socket

import numpy as np
import pytest
from support import models
from support.server import MEMORY_SLACK_BYTES, SANITIZED, Server, usage
from support.waiting import eventually

CONNECTIONS = 2_000 if SANITIZED else 10_000
# What a connection that has sent nothing but its protocol's opening may cost, client's and kernel's share excluded.
BYTES_EACH = {"http": 8 << 10, "frontends/grpc": 96 << 10, "frontends/grpc_nghttp2": 32 << 10}
HTTP2_OPENING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"


@pytest.fixture(autouse=True)
def descriptors():
    """Enough for both ends; the server inherits the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS + 1000
    # One frontend takes at most two thirds of the server's limit, roughly.
    assert hard == resource.RLIM_INFINITY or hard >= 2 * CONNECTIONS, f"the limit of descriptors is {hard}"
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def infers(server):
    import tritonclient.http
    with server.http_client() as client:
        tensor = tritonclient.http.InferInput("INPUT0", [4], "FP32")
        tensor.set_data_from_numpy(np.arange(4, dtype=np.float32))
        return client.infer("echo", [tensor]).as_numpy("OUTPUT0").tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("frontend", BYTES_EACH)
def test_idle_connections(tmp_path, frontend):
    models.write_model(tmp_path, "echo", models.identity_config("echo", dims=(4,)))
    room = [f"plugin.{name}.max_connections={CONNECTIONS + 100}" for name in ("http", "grpc")]
    protocol = "http" if frontend == "http" else "grpc"
    with Server(tmp_path, *room, grpc_frontend=None if protocol == "http" else frontend) as server:
        server.wait_active().wait_ready()
        assert infers(server)
        address = (server.http_address if protocol == "http" else server.address).rsplit(":", 1)
        before = usage(server.pid)
        held = []
        for _ in range(CONNECTIONS):
            connection = socket.create_connection((address[0], int(address[1])))
            if protocol == "grpc":
                connection.sendall(HTTP2_OPENING)
            held.append(connection)
        # The client that asked before has gone by now.
        eventually(lambda: usage(server.pid)["descriptors"] >= before["descriptors"] + CONNECTIONS - 4)
        assert infers(server)
        now = usage(server.pid)
        slack = MEMORY_SLACK_BYTES if SANITIZED else 0
        assert now["resident_bytes"] - before["resident_bytes"] < CONNECTIONS * BYTES_EACH[frontend] + slack
        assert now["threads"] <= before["threads"] + 4
        for connection in held:
            connection.close()
        eventually(lambda: usage(server.pid)["descriptors"] <= before["descriptors"] + 4)
        assert infers(server)
