"""A client that closes its connection while its request runs: the request is cancelled, whatever version of HTTP it spoke."""

import json
import socket

import pytest
from support import models
from support.admission import metric
from support.server import Server
from support.waiting import eventually

AN_HOUR_MS = 3_600_000
BODY = json.dumps({"inputs": [{"name": "INPUT0", "shape": [1], "datatype": "FP32", "data": [7]}]}).encode()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("models")
    for name, delay_ms in (("hour", AN_HOUR_MS), ("seconds", 3000)):
        extra = f'parameters {{ key: "execute_delay_ms" value {{ string_value: "{delay_ms}" }} }}\n'
        models.write_model(repository, name, models.identity_config(name, extra=extra))
    with Server(repository) as running:
        yield running.wait_active().wait_ready()


def connect(server):
    host, port = server.http_address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=60)


def request(model, version, body=BODY):
    return f"POST /v2/models/{model}/infer HTTP/{version}\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def cancelled(server):
    return metric(server, "nv_inference_request_failure", model="hour", reason="CANCELED", version="1") or 0


@pytest.mark.parametrize("version", ("1.0", "1.1"))
def test_a_client_that_closes_cancels_its_request(server, version):
    before = cancelled(server)
    with connect(server) as client:
        client.sendall(request("hour", version))
        eventually(lambda: server.process.poll() is None and metric(
            server, "nv_inference_pending_request_count", model="hour", version="1") is not None)
    eventually(lambda: cancelled(server) == before + 1)


@pytest.mark.parametrize("version", ("1.0", "1.1"))
def test_a_client_that_only_ends_its_side_is_answered(server, version):
    with connect(server) as client:
        client.sendall(request("seconds", version))
        client.shutdown(socket.SHUT_WR)
        answer = b""
        while more := client.recv(65536):
            answer += more
    answer = answer.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/{version} 200 OK\r\n".encode())
    assert json.loads(body)["outputs"][0]["data"] == [7.0]
