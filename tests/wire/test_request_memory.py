"""All requests together keep to their budget of memory: what does not fit is refused, what does is answered, health is
answered all the time, and everything is given back."""

import concurrent.futures
import contextlib
import gzip
import json
import re
import socket
import struct
import urllib.request
import zlib

import grpc
import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.http2 import (DATA, END_HEADERS, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE, Raw,
                           call_headers, frame)
from support.server import START_TIMEOUT_S, Server
from support.waiting import eventually

MIB = 1 << 20
BUDGET = 16 * MIB
BODY = 6 * MIB


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("models")
    models.write_model(repository, "m", models.identity_config("m", "TYPE_UINT8"))
    with Server(repository, f'plugin.host.request_budget="{BUDGET}"') as running:
        yield running.wait_ready()


def metric(server, name):
    with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=START_TIMEOUT_S) as page:
        found = re.search(rf'^atoll_request_memory_{name}{{instance="host"}} (\S+)$', page.read().decode(), re.M)
    return float(found.group(1))


@pytest.fixture(autouse=True)
def everything_is_given_back(server):
    yield
    eventually(lambda: metric(server, "used_bytes") == 0)
    assert metric(server, "limit_bytes") == BUDGET
    client = HttpClient(server)
    client.begin(BODY)
    client.send(b"x" * BODY)
    assert client.answer()[0] == 200
    assert infer_grpc(server, BODY) == grpc.StatusCode.OK


def expect_health(server):
    with server.client() as client:
        assert client.is_server_live() and client.is_server_ready() and client.get_server_metadata().name
    with server.http_client() as client:
        assert client.is_server_live() and client.is_server_ready() and client.get_model_metadata("m")


class HttpClient:
    """One connection that sends a body in its own time."""

    def __init__(self, server):
        host, port = server.http_address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=START_TIMEOUT_S)

    def begin(self, size, *headers):
        lines = ["POST /v2/models/m/infer HTTP/1.1", "Host: test", "Inference-Header-Content-Length: 0",
                 f"Content-Length: {size}", *headers, "", ""]
        self.socket.sendall("\r\n".join(lines).encode())

    def send(self, data):
        self.socket.sendall(data)

    def answer(self):
        """Status, headers and body; the connection is closed then."""
        reader = self.socket.makefile("rb")
        status = int(reader.readline().split()[1])
        headers = dict(line.decode().strip().lower().split(": ", 1) for line in iter(reader.readline, b"\r\n"))
        body = reader.read(int(headers["content-length"]))
        self.close()
        return status, headers, body

    def close(self):
        self.socket.close()


def infer_grpc(server, size, compression=None, connection=None):
    """The status code."""
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
    tensor = grpcclient.InferInput("INPUT0", [size], "UINT8")
    tensor.set_data_from_numpy(np.zeros(size, np.uint8))
    with grpcclient.InferenceServerClient(server.address, channel_args=options) as client:
        try:
            client.infer("m", [tensor], compression_algorithm=compression, client_timeout=START_TIMEOUT_S)
            return grpc.StatusCode.OK
        except grpcclient.InferenceServerException as error:
            if error.status() == "StatusCode.RESOURCE_EXHAUSTED":
                assert "option request_budget of memory/host" in error.message(), error
            return next(code for code in grpc.StatusCode if str(code) == error.status())


def expect_refused(answer):
    status, headers, body = answer
    assert status == 503 and headers["retry-after"] == "1"
    assert "that all requests together may take are in use (option request_budget of memory/host)" in (
        json.loads(body)["error"])


@contextlib.contextmanager
def slow_bodies(server, count):
    """So many clients that have sent all of a large body but a byte."""
    clients = [HttpClient(server) for _ in range(count)]
    try:
        for client in clients:
            client.begin(BODY)
            client.send(b"x" * (BODY - 1))
        eventually(lambda: metric(server, "used_bytes") >= count * (BODY - 65536))
        yield clients
    finally:
        for client in clients:
            client.close()


def test_slow_bodies_keep_others_out_until_they_are_done(server):
    with slow_bodies(server, 2) as clients:
        refused = metric(server, "refused_total")
        late = HttpClient(server)
        late.begin(BODY)
        late.send(b"x" * BODY)
        expect_refused(late.answer())
        assert infer_grpc(server, BODY) == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert metric(server, "refused_total") == refused + 2
        expect_health(server)
        small = HttpClient(server)
        small.begin(1000)
        small.send(b"x" * 1000)
        assert small.answer()[0] == 200
        # One leaves, and the other one has room for its answer.
        clients[1].close()
        eventually(lambda: metric(server, "used_bytes") < BODY + MIB)
        clients[0].send(b"x")
        assert clients[0].answer()[0] == 200


def test_clients_that_leave_give_their_bytes_back(server):
    with slow_bodies(server, 2):
        pass
    eventually(lambda: metric(server, "used_bytes") == 0)


def test_a_promise_takes_nothing(server):
    idle = [HttpClient(server) for _ in range(20)]
    for client in idle:
        client.begin(BODY)
        client.send(b"x" * 1000)
    status = HttpClient(server)
    status.begin(BODY)
    status.send(b"x" * BODY)
    assert status.answer()[0] == 200
    for client in idle:
        client.close()


def test_bodies_that_open_to_more_than_there_is(server):
    packed = gzip.compress(b"\0" * (40 * MIB))
    for _ in range(4):
        client = HttpClient(server)
        client.begin(len(packed), "Content-Encoding: gzip")
        client.send(packed)
        expect_refused(client.answer())
        assert infer_grpc(server, 40 * MIB, "gzip") == grpc.StatusCode.RESOURCE_EXHAUSTED
        expect_health(server)


def test_compressed_bodies_that_fit_are_answered(server):
    packed = zlib.compress(b"\0" * (4 * MIB))
    client = HttpClient(server)
    client.begin(len(packed), "Content-Encoding: deflate")
    client.send(packed)
    assert client.answer()[0] == 200
    assert infer_grpc(server, 4 * MIB, "deflate") == grpc.StatusCode.OK


def send_part(raw, size, part):
    """Sends so much of one ModelInfer message as the server lets it. Whether the call still holds its bytes then."""
    raw.send(frame(HEADERS, END_HEADERS, 1, call_headers("/inference.GRPCInferenceService/ModelInfer")))
    body = b"\0" + struct.pack(">I", size) + bytes(part)
    windows = {0: 65535, 1: 65535}
    sent = 0
    for kind, flags, stream, payload in raw.frames():
        if kind == SETTINGS and not flags & 1:
            for at in range(0, len(payload), 6):
                key, value = struct.unpack(">HI", payload[at:at + 6])
                windows[1] += value - 65535 if key == 4 else 0
            raw.send(frame(SETTINGS, 1, 0))
        elif kind == WINDOW_UPDATE:
            windows[stream] += struct.unpack(">I", payload)[0]
        elif ends_call(kind, stream):
            return False
        while sent < len(body) and (count := min(windows[0], windows[1], 16384, len(body) - sent)) > 0:
            raw.send(frame(DATA, 0, 1, body[sent:sent + count]))
            sent, windows = sent + count, {key: window - count for key, window in windows.items()}
        if sent == len(body):
            return True
    return False


def ends_call(kind, stream):
    return kind in (RST_STREAM, GOAWAY) or (kind == HEADERS and stream == 1)


def has_ended(raw):
    """Whether the call has ended by now."""
    raw.send(frame(PING, 0, 0, b"marker!!"))
    return next((ends_call(kind, stream) for kind, flags, stream, payload in raw.frames()
                 if ends_call(kind, stream) or payload == b"marker!!"), True)


def ended(work, raw):
    try:
        return work(raw)
    except ConnectionError:
        return True


def test_messages_that_grpc_has_not_shown_yet_are_bounded(server):
    """Its quota is one and a half times the budget and 32 MiB: calls that would take more are ended."""
    quota = BUDGET * 3 // 2 + 32 * MIB
    part = BODY - MIB
    count = 2 * quota // BODY
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Raw(server)) for _ in range(count)]
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            were_ended = list(pool.map(lambda raw: ended(lambda one: not send_part(one, BODY, part), raw), clients))
        left = [raw for raw, is_ended in zip(clients, were_ended) if not is_ended]

        def fits():
            left[:] = [raw for raw in left if not ended(has_ended, raw)]
            return len(left) * part <= quota
        eventually(fits)
        assert left, "what fits may stay"
    expect_health(server)


def test_a_size_that_is_none_is_refused_at_start(tmp_path):
    models.write_model(tmp_path / "models", "m", models.identity_config("m"))
    with pytest.raises(AssertionError, match="plugin.host.request_budget: is 'much', expected a size such as \"4GiB\""):
        Server(tmp_path / "models", 'plugin.host.request_budget="much"')
