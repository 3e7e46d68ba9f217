"""Clients that keep a gRPC server busy, or its memory full, for nothing: they are ended and counted, and others are served.

frontends/grpc has none of the limits and counters; there only the server's life is looked at."""

import contextlib
import http.client
import pathlib
import socket
import struct
import threading
import time

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from prometheus_client.parser import text_string_to_metric_families
from support import models
from support.grpc_frontends import GRPC_FRONTENDS
from support.http2 import (DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE, Raw,
                           call_headers, frame, literal, varint)
from support.server import MEMORY_SLACK_BYTES, SANITIZED, START_TIMEOUT_S, Server, usage
from support.waiting import eventually
from tritonclient.grpc import service_pb2
from tritonclient.utils import InferenceServerException

MANIFEST = pathlib.Path(__file__).with_name("grpc_only.toml")
MIB = 1 << 20
TIMEOUT_S = 60
PRIORITY, UNKNOWN = 2, 0x77
WINDOW_SETTING = b"\0\x04"
INFER = "/inference.GRPCInferenceService/ModelInfer"
STREAM = "/inference.GRPCInferenceService/ModelStreamInfer"
LIBRARY, OWN = GRPC_FRONTENDS


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    models.write_model(repository, "any", models.identity_config("any"))
    return repository


def start(repository, frontend, *settings):
    metrics = ('plugin.metrics.use="frontends/metrics"', 'plugin.metrics.address="127.0.0.1:0"')
    return Server(repository, *metrics, *settings, manifest=MANIFEST, grpc_frontend=frontend)


@pytest.fixture(scope="module")
def shared_server(repository, grpc_frontend):
    with start(repository, grpc_frontend) as running:
        yield running.wait_active().wait_ready()


@pytest.fixture
def server(shared_server):
    """After every case the same process serves another client right."""
    yield shared_server
    with shared_server.client() as client:
        infer(client)
    assert shared_server.process.poll() is None


@pytest.fixture(scope="module")
def impatient_server(repository):
    quick = [f'plugin.grpc.{name}_timeout="1s"' for name in ("header", "call_stall", "write_stall")]
    with start(repository, OWN, *quick) as running:
        yield running.wait_active().wait_ready()


def infer(client, count=4, **options):
    array = np.arange(count, dtype=np.float32)
    tensor = grpcclient.InferInput("INPUT0", [count], "FP32")
    tensor.set_data_from_numpy(array)
    result = client.infer("any", [tensor], client_timeout=TIMEOUT_S, **options)
    assert np.array_equal(result.as_numpy("OUTPUT0"), array)


def message(count=4):
    request = service_pb2.ModelInferRequest(model_name="any", raw_input_contents=[bytes(4 * count)])
    request.inputs.add(name="INPUT0", datatype="FP32", shape=[count])
    body = request.SerializeToString()
    return b"\0" + struct.pack(">I", len(body)) + body


def call(stream, body):
    """The frames of an inference, of the size that is always allowed."""
    parts = [body[at:at + 16384] for at in range(0, len(body), 16384)]
    return frame(HEADERS, END_HEADERS, stream, call_headers(INFER)) + b"".join(
        frame(DATA, END_STREAM if part is parts[-1] else 0, stream, part) for part in parts)


def counted(server, name, **labels):
    """The value of a counter or gauge of the frontend."""
    connection = http.client.HTTPConnection(server.metrics_address, timeout=START_TIMEOUT_S)
    with contextlib.closing(connection):
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    wanted = {"instance": "grpc", **labels}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == name and sample.labels == wanted:
                return sample.value
    raise AssertionError(f"no {name} {wanted} in:\n{text}")


def closed(server, reason):
    return counted(server, "atoll_grpc_closed_connections_total", reason=reason)


def refused(server, reason):
    return counted(server, "atoll_grpc_refused_calls_total", reason=reason)


@contextlib.contextmanager
def counting(server, frontend, count, reason):
    """What happens within is counted for the reason, where it is counted at all."""
    if frontend == LIBRARY:
        yield
        return
    before = count(server, reason)
    yield
    eventually(lambda: count(server, reason) > before)


@contextlib.contextmanager
def others_are_served(server):
    """Within, another client is, and does not wait for long."""
    stop = threading.Event()
    taken = []

    def ask():
        with server.client() as client:
            while not stop.is_set() or not taken:
                begin = time.monotonic()
                infer(client)
                taken.append(time.monotonic() - begin)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert taken and max(taken) < 5


def until_closed(raw):
    """What the server says before it closes: the text of its last GOAWAY, and how each stream was reset."""
    text, resets = None, {}
    for kind, _, stream, payload in raw.frames():
        if kind == GOAWAY:
            text = payload[8:].decode()
        elif kind == RST_STREAM:
            resets[stream] = int.from_bytes(payload, "big")
    return text, resets


def until_seen(reader, frontend):
    """A client that closes with answers unread resets the connection, and what the server has not read yet is lost to it."""
    if frontend == OWN:
        reader.join(TIMEOUT_S)


# --- frames that bring nothing ---

USELESS = {
    "window updates": frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\1"),
    "window updates of a call": frame(WINDOW_UPDATE, 0, 1, b"\0\0\0\1"),
    "priorities": frame(PRIORITY, 0, 3, b"\0\0\0\0\x10"),
    "settings": frame(SETTINGS, 0, 0),
    "answers to pings that nobody sent": frame(PING, 1, 0, b"12345678"),
    "unknown frames": frame(UNKNOWN, 0, 0, b"x"),
    "empty data": frame(DATA, 0, 1),
    "padding": frame(DATA, 8, 1, b"\x20" + bytes(32)),
    "data byte by byte": frame(DATA, 0, 1, b"\0"),
}


@pytest.mark.parametrize("what", USELESS)
def test_frames_that_bring_nothing(server, grpc_frontend, what):
    useless = USELESS[what] * 1000
    before = usage(server.pid)["resident_bytes"]
    # A thousand acknowledgements that wait come first.
    reason = "unsent_frames" if what == "settings" else "overhead_frames"
    with counting(server, grpc_frontend, closed, reason), others_are_served(server), Raw(server) as raw:
        # A message that is long in coming.
        raw.send(frame(HEADERS, END_HEADERS, 1, call_headers(STREAM)) + frame(DATA, 0, 1, b"\0\0\x10\0\0"))
        begin = time.monotonic()
        with contextlib.suppress(ConnectionError):
            if grpc_frontend == LIBRARY:
                raw.ignore_answers()
            for _ in range(30):
                raw.send(useless)
        if grpc_frontend == OWN:
            assert until_closed(raw)[0] in ("too_many_overhead_frames", None)
            assert time.monotonic() - begin < 20
    eventually(lambda: usage(server.pid)["resident_bytes"] - before < 16 * MIB + MEMORY_SLACK_BYTES)


def test_a_window_that_is_opened_byte_by_byte(server, grpc_frontend):
    with counting(server, grpc_frontend, closed, "overhead_frames"), others_are_served(server), Raw(server) as raw:
        raw.send(frame(SETTINGS, 0, 0, WINDOW_SETTING + bytes(4)))
        raw.send(call(1, message(count=10_000)))
        reader = raw.ignore_answers()
        with contextlib.suppress(ConnectionError):
            for _ in range(30):
                raw.send(frame(WINDOW_UPDATE, 0, 1, b"\0\0\0\1") * 1000)
        until_seen(reader, grpc_frontend)


def test_answers_that_are_never_read_do_not_pile_up(server, grpc_frontend):
    """Each ping costs an answer, which stays in the server once the socket is full."""
    before = usage(server.pid)["resident_bytes"]
    with others_are_served(server), Raw(server) as raw:
        raw.socket.settimeout(5)
        with contextlib.suppress(OSError):
            for _ in range(200):
                raw.send(frame(SETTINGS, 0, 0) * 1000)
    eventually(lambda: usage(server.pid)["resident_bytes"] - before < 16 * MIB + MEMORY_SLACK_BYTES)


# --- resets ---

def test_rapid_resets_are_counted(server, grpc_frontend):
    block = call_headers(STREAM)
    with counting(server, grpc_frontend, closed, "resets"), others_are_served(server), Raw(server) as raw:
        reader = raw.ignore_answers()
        with contextlib.suppress(ConnectionError):
            for first in range(1, 4_000 if SANITIZED else 10_000, 100):
                raw.send(b"".join(frame(HEADERS, END_HEADERS, i, block) + frame(RST_STREAM, 0, i, b"\0\0\0\x08")
                                  for i in range(first, first + 100, 2)))
        until_seen(reader, grpc_frontend)


PROVOCATIONS = {
    "window overflow": lambda stream: frame(WINDOW_UPDATE, 0, stream, b"\x7f\xff\xff\xff"),
    "more data than announced": lambda stream: frame(DATA, 0, stream, b"too much"),
    "headers in the middle": lambda stream: frame(HEADERS, END_HEADERS, stream, literal(b"a", b"b")),
}


@pytest.mark.parametrize("how", PROVOCATIONS)
def test_resets_that_are_provoked(server, grpc_frontend, how):
    """MadeYouReset: it is the server that resets the calls."""
    block = call_headers(STREAM, (b"content-length", b"5"))
    with counting(server, grpc_frontend, closed, "malformed_calls"), \
            counting(server, grpc_frontend, refused, "malformed"), others_are_served(server), Raw(server) as raw:
        with contextlib.suppress(ConnectionError):
            for stream in range(1, 2000, 2):
                raw.send(frame(HEADERS, END_HEADERS, stream, block) + PROVOCATIONS[how](stream))
        if grpc_frontend == OWN:
            text, resets = until_closed(raw)
            # Those that came at once with the last one allowed are reset, too.
            assert text in ("too_many_protocol_errors", None) and len(resets) < 800
    if grpc_frontend == OWN:
        eventually(lambda: counted(server, "atoll_grpc_open_calls") == 0)


# --- memory ---

def test_headers_that_calls_hold_are_memory_of_requests(repository):
    """One field in HPACK's table, named again and again: 60 KiB for each call, of some 60 bytes."""
    with start(repository, OWN, 'plugin.host.request_budget="32MiB"') as server:
        server.wait_active().wait_ready()
        before = usage(server.pid)["resident_bytes"]
        with contextlib.ExitStack() as stack:
            connections = [stack.enter_context(Raw(server)) for _ in range(20)]
            for raw in connections:
                block = call_headers(STREAM) + b"\x40\x01x\x7f" + varint(3000 - 127) + b"v" * 3000
                raw.send(frame(HEADERS, END_HEADERS, 1, block))
                raw.send(b"".join(frame(HEADERS, END_HEADERS, stream, call_headers(STREAM) + b"\xbe" * 20)
                                  for stream in range(3, 401, 2)))
                raw.ping()
            # 4,000 calls would be 240 MiB.
            grown = usage(server.pid)["resident_bytes"] - before
            assert grown < 2 * 32 * MIB + MEMORY_SLACK_BYTES
            assert refused(server, "memory") > 1000
            assert counted(server, "atoll_grpc_connections") >= 20
        eventually(lambda: counted(server, "atoll_grpc_open_calls") == 0)
        with server.client() as client:
            infer(client)


# --- time ---

def test_a_start_that_does_not_end(impatient_server):
    host, port = impatient_server.address.rsplit(":", 1)
    with counting(impatient_server, OWN, closed, "header_timeout"):
        with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as connection:
            connection.sendall(b"PRI * HTTP/2.0\r\n")
            received = b""
            while more := connection.recv(1000):  # until the server closes
                received += more
            assert received  # its settings


@pytest.mark.parametrize("part", [frame(HEADERS, 0, 1, call_headers(INFER)), frame(GOAWAY, 0, 0, bytes(100))[:50]])
def test_headers_and_frames_that_do_not_end(impatient_server, part):
    with counting(impatient_server, OWN, closed, "header_timeout"), Raw(impatient_server) as raw:
        raw.send(part)
        until_closed(raw)


def test_a_message_that_does_not_end(impatient_server):
    with counting(impatient_server, OWN, refused, "message_stall"), Raw(impatient_server) as raw:
        raw.send(frame(HEADERS, END_HEADERS, 1, call_headers(INFER)) + frame(DATA, 0, 1, message()[:20]))
        next(True for kind, flags, _, _ in raw.frames() if kind == HEADERS and flags & END_STREAM)
        raw.ping()  # the connection lives


def test_an_answer_that_is_not_taken(impatient_server):
    with counting(impatient_server, OWN, refused, "answer_stall"), Raw(impatient_server) as raw:
        raw.send(frame(SETTINGS, 0, 0, WINDOW_SETTING + bytes(4)))
        raw.send(call(1, message(count=1000)))
        code = next(payload for kind, _, _, payload in raw.frames() if kind == RST_STREAM)
        assert code == b"\0\0\0\x08"
        raw.ping()


def test_a_socket_that_is_not_read(impatient_server):
    before = usage(impatient_server.pid)["resident_bytes"]
    with counting(impatient_server, OWN, closed, "write_stall"), Raw(impatient_server) as raw:
        raw.send(frame(SETTINGS, 0, 0, WINDOW_SETTING + b"\x3f\xff\xff\xff") + frame(WINDOW_UPDATE, 0, 0, b"\x3f\xff\xff\xff"))
        body = message(count=10_000)
        raw.socket.settimeout(1)
        with contextlib.suppress(OSError):
            for stream in range(1, 801, 2):
                raw.send(call(stream, body))
        eventually(lambda: closed(impatient_server, "write_stall") > 0)
    eventually(lambda: usage(impatient_server.pid)["resident_bytes"] - before < 64 * MIB + MEMORY_SLACK_BYTES)


# --- connections ---

def test_more_connections_than_there_may_be(repository, grpc_frontend):
    with start(repository, grpc_frontend, "plugin.grpc.max_connections=20") as server:
        server.wait_active().wait_ready()
        with server.client() as client, contextlib.ExitStack() as stack:
            infer(client)
            host, port = server.address.rsplit(":", 1)
            crowd = [stack.enter_context(socket.create_connection((host, int(port)), timeout=TIMEOUT_S))
                     for _ in range(40)]
            if grpc_frontend == OWN:
                eventually(lambda: counted(server, "atoll_grpc_refused_connections_total") >= 20)
                assert counted(server, "atoll_grpc_connections") <= 20
            infer(client)
            for connection in crowd:
                connection.close()
        eventually(lambda: is_live(server))


def is_live(server):
    """To a client that has just come."""
    own = [("grpc.use_local_subchannel_pool", 1)]
    with grpcclient.InferenceServerClient(server.address, channel_args=own) as client:
        try:
            return client.is_server_live()
        except InferenceServerException:
            return False


def test_ordinary_clients_are_none_of_this(server, grpc_frontend):
    """Large tensors in small frames, many small calls, a stream: nothing of it is taken for an attack."""
    with server.client() as client:
        infer(client, count=2_000_000)
        for _ in range(300):
            infer(client)
        answers = []
        done = threading.Event()
        wanted = 300
        client.start_stream(lambda result, error: (answers.append(error), len(answers) == wanted and done.set()))
        tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
        tensor.set_data_from_numpy(np.zeros(4, np.float32))
        for _ in range(wanted):
            client.async_stream_infer("any", [tensor])
        assert done.wait(TIMEOUT_S)
        client.stop_stream()
        assert answers == [None] * wanted
    if grpc_frontend == OWN:
        assert counted(server, "atoll_grpc_calls_total") > 600
