"""What hostile or careless gRPC clients send: it is refused as documented, and nobody else is harmed."""

import contextlib
import pathlib
import random
import socket
import struct
import subprocess
import threading
import time
import zlib

import grpc
import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.server import ATOLL, DEFAULT_MANIFEST, MEMORY_SLACK_BYTES, Server, usage
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException

MIB = 1 << 20
TIMEOUT_S = 60
MANIFEST = pathlib.Path(__file__).with_name("grpc_only.toml")
INFER = "/inference.GRPCInferenceService/ModelInfer"
STREAM = "/inference.GRPCInferenceService/ModelStreamInfer"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    models.write_model(repository, "any", models.identity_config("any"))
    for name, ms in (("slow", 3000), ("stuck", 3_600_000)):
        extra = f'parameters {{ key: "execute_delay_ms" value {{ string_value: "{ms}" }} }}'
        models.write_model(repository, name, models.identity_config(name, extra=extra))
    return repository


def serve(repository, *settings):
    return Server(repository, *settings, manifest=MANIFEST)


@pytest.fixture(scope="module")
def shared_server(repository):
    with serve(repository, 'plugin.grpc.max_message_bytes="1MiB"',
                'plugin.grpc.header_forward_pattern="x-|priority"') as running:
        yield running.wait_ready()


@pytest.fixture
def server(shared_server):
    """After every case the same process serves another client right."""
    yield shared_server
    with shared_server.client() as client:
        assert infer(client).tolist() == [0, 1, 2, 3]
        assert client.is_server_ready()
    assert shared_server.process.poll() is None


def inputs():
    array = np.arange(4, dtype=np.float32)
    tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
    tensor.set_data_from_numpy(array)
    return [tensor]


def infer(client, model="any", **options):
    return client.infer(model, inputs(), **options).as_numpy("OUTPUT0")


def message(model="any", data=np.arange(4, dtype=np.float32).tobytes()):
    request = service_pb2.ModelInferRequest(model_name=model, raw_input_contents=[data])
    request.inputs.add(name="INPUT0", datatype="FP32", shape=[len(data) // 4])
    return request


def code_of(call):
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value.code().name, caught.value.details()


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


# --- frames of HTTP/2, by hand ---

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9
END_STREAM, END_HEADERS = 1, 4


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """A header without indexing and without Huffman coding."""
    def text(data):
        if len(data) < 127:
            return bytes([len(data)]) + data
        return b"\x7f" + varint(len(data) - 127) + data
    return b"\x00" + text(name) + text(value)


def call_headers(path, *extra):
    block = b"\x83\x86"  # POST, http
    for name, value in ((b":path", path.encode()), (b":authority", b"test"), (b"te", b"trailers"),
                        (b"content-type", b"application/grpc"), *extra):
        block += literal(name, value)
    return block


class Raw:
    """A connection on which any frames are sent."""

    def __init__(self, server):
        host, port = server.address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=TIMEOUT_S)
        self.buffer = b""
        self.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0))

    def send(self, data):
        self.socket.sendall(data)

    def frames(self):
        """What comes until the server closes."""
        while True:
            while len(self.buffer) < 9 or len(self.buffer) < 9 + int.from_bytes(self.buffer[:3], "big"):
                try:
                    more = self.socket.recv(65536)
                except ConnectionError:
                    return
                if not more:
                    return
                self.buffer += more
            end = 9 + int.from_bytes(self.buffer[:3], "big")
            one, self.buffer = self.buffer[:end], self.buffer[end:]
            yield one[3], one[4], int.from_bytes(one[5:9], "big"), one[9:]

    def ignore_answers(self):
        def read():
            with contextlib.suppress(OSError):
                for _ in self.frames():
                    pass
        threading.Thread(target=read, daemon=True).start()

    def ping(self):
        """Waits until the server has seen all that was sent."""
        self.send(frame(PING, 0, 0, b"marker!!"))
        for kind, flags, _, payload in self.frames():
            if kind == PING and flags & 1 and payload == b"marker!!":
                return
        raise ConnectionError("closed")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


# --- messages ---

def test_random_bytes_as_messages(server):
    generator = random.Random(4)
    nested = b""
    for _ in range(100):
        nested = b"\x7a" + varint(len(nested)) + nested
    bodies = [generator.randbytes(generator.randrange(1, 2000)) for _ in range(300)] + [nested, b"\xff" * 11]
    with grpc.insecure_channel(server.address) as channel:
        unary = channel.unary_unary(INFER)
        stream = channel.stream_stream(STREAM)
        for body in bodies:
            code, _ = code_of(lambda: unary(body, timeout=TIMEOUT_S))
            assert code in ("INVALID_ARGUMENT", "NOT_FOUND")
        answers = list(stream(iter(bodies), timeout=TIMEOUT_S))
        assert len(answers) == len(bodies)
        assert all(service_pb2.ModelStreamInferResponse.FromString(answer).error_message for answer in answers)
        for method in ("ModelReady", "RepositoryIndex", "TraceSetting", "SystemSharedMemoryRegister"):
            call = channel.unary_unary(f"/inference.GRPCInferenceService/{method}")
            code, _ = code_of(lambda: call(b"\xff\xff\xff", timeout=TIMEOUT_S))
            assert code == "INTERNAL"


def test_a_broken_grpc_frame(server):
    """A flag that does not exist; a length beyond what comes; an end in the middle."""
    for body in (b"\x07\0\0\0\x01x", b"\0\0\0\0\x09short", b"\0\0"):
        with Raw(server) as raw:
            raw.send(frame(HEADERS, END_HEADERS, 1, call_headers(INFER)))
            raw.send(frame(DATA, END_STREAM, 1, body))
            for kind, flags, _, _ in raw.frames():
                if kind == RST_STREAM or (kind == HEADERS and flags & END_STREAM):
                    break


@pytest.mark.parametrize("size,fits", [(MIB - 1, True), (MIB, True), (MIB + 1, False), (8 * MIB, False)])
def test_messages_over_the_limit(server, size, fits):
    request = message(data=bytes(size))
    while request.ByteSize() > size:
        request.raw_input_contents[0] = request.raw_input_contents[0][:size - request.ByteSize()]
    assert request.ByteSize() == size
    with grpc.insecure_channel(server.address) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        code, _ = code_of(lambda: stub.ModelInfer(request))  # its shape does not fit, if it is read at all
        assert code == ("INVALID_ARGUMENT" if fits else "RESOURCE_EXHAUSTED")
        if fits:
            assert len(list(stub.ModelStreamInfer(iter([request])))) == 1
        else:
            assert code_of(lambda: list(stub.ModelStreamInfer(iter([request]))))[0] == "RESOURCE_EXHAUSTED"


def bomb(opened_bytes):
    """Zeros in gzip, about a thousandth of what they open to, in a gRPC frame that says so."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 15 + 16)
    packed = b"".join(packer.compress(bytes(MIB)) for _ in range(opened_bytes // MIB)) + packer.flush()
    return b"\x01" + struct.pack(">I", len(packed)) + packed


@pytest.mark.parametrize("path", [INFER, STREAM, "/inference.GRPCInferenceService/ModelReady"])
def test_a_compressed_bomb(server, path):
    body = bomb(1000 * MIB)
    assert len(body) < 1.1 * MIB
    before = usage(server.pid)["resident_bytes"]
    for _ in range(5):
        with Raw(server) as raw:
            raw.send(frame(HEADERS, END_HEADERS, 1, call_headers(path, (b"grpc-encoding", b"gzip"))))
            window = 65535  # of the connection; enough comes while it is sent
            sent = 0
            answers = raw.frames()
            while sent < len(body):
                part = body[sent:sent + min(16384, window)]
                if part:
                    raw.send(frame(DATA, END_STREAM if sent + len(part) == len(body) else 0, 1, part))
                    sent, window = sent + len(part), window - len(part)
                    continue
                kind, flags, stream, payload = next(answers)
                if kind == 8 and stream == 0:  # WINDOW_UPDATE
                    window += int.from_bytes(payload, "big")
                if kind == RST_STREAM or (kind == HEADERS and flags & END_STREAM):
                    break
    assert usage(server.pid)["resident_bytes"] - before < 16 * MIB + MEMORY_SLACK_BYTES


def test_compressed_messages_within_and_beyond_the_limit(server):
    with grpc.insecure_channel(server.address, compression=grpc.Compression.Gzip) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        data = np.arange(100_000, dtype=np.float32).tobytes()
        assert stub.ModelInfer(message(data=data)).raw_output_contents[0] == data
        too_much = message(data=bytes(64 * MIB))
        assert code_of(lambda: stub.ModelInfer(too_much))[0] == "RESOURCE_EXHAUSTED"
        assert code_of(lambda: list(stub.ModelStreamInfer(iter([too_much]))))[0] == "RESOURCE_EXHAUSTED"


# --- deadlines and cancels ---

def ended_requests(client, model):
    stats = client.get_inference_statistics(model).model_stats[0].inference_stats
    return stats.success.count + stats.fail.count


def eventually(condition):
    deadline = time.monotonic() + TIMEOUT_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert condition()


@pytest.mark.parametrize("how", ["deadline", "cancel"])
def test_requests_that_nobody_waits_for_any_more(server, how):
    """One runs, for an hour; three wait in the queue. Each ends once."""
    with server.client() as observer, grpc.insecure_channel(server.address) as channel:
        before = ended_requests(observer, "stuck")
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        timeout = 1 if how == "deadline" else None
        calls = [stub.ModelInfer.future(message("stuck"), timeout=timeout) for _ in range(4)]
        if how == "cancel":
            time.sleep(0.2)  # whichever have arrived: the others are refused by the client itself
            for call in calls:
                call.cancel()
        for call in calls:
            with pytest.raises((grpc.RpcError, grpc.FutureCancelledError)):
                call.result()
            assert call.code().name == ("DEADLINE_EXCEEDED" if how == "deadline" else "CANCELLED")
        eventually(lambda: ended_requests(observer, "stuck") == before + 4)


# --- connections, streams, frames ---

def test_streams_that_are_reset_at_once(server):
    """50,000 streams on 10 connections; another client is served meanwhile."""
    headers = call_headers(INFER)
    stop = threading.Event()
    slowest = [0.0]

    def other():
        with server.client() as client:
            while not stop.is_set():
                start = time.monotonic()
                infer(client, client_timeout=TIMEOUT_S)
                slowest[0] = max(slowest[0], time.monotonic() - start)

    def flood():
        for _ in range(5):
            with Raw(server) as raw:
                for first in range(1, 10_000, 1000):
                    raw.send(b"".join(frame(HEADERS, END_HEADERS, i, headers) + frame(RST_STREAM, 0, i, b"\0\0\0\x08")
                                      for i in range(first, first + 1000, 2)))
                    # The server's answers to 1,000 calls come back before the next ones go out.
                    raw.ping()
                    infer_raw(server)

    thread = threading.Thread(target=other)
    thread.start()
    try:
        flood()
        before = usage(server.pid)["resident_bytes"]
        flood()
    finally:
        stop.set()
        thread.join()
    assert slowest[0] < 5
    assert usage(server.pid)["resident_bytes"] - before < 32 * MIB + MEMORY_SLACK_BYTES


def infer_raw(server):
    with grpc.insecure_channel(server.address) as channel:
        service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer(message(), timeout=TIMEOUT_S)


def test_more_streams_than_a_connection_may_have(repository):
    with serve(repository, "plugin.grpc.max_streams_per_connection=10") as server:
        server.wait_ready()
        with Raw(server) as raw:
            block = call_headers(STREAM)
            for i in range(1, 41, 2):
                raw.send(frame(HEADERS, END_HEADERS, i, block))
            refused = [s for kind, _, s, _ in until_ping(raw) if kind == RST_STREAM]
        assert len(refused) in (0, 10)  # refused, or the connection was given up
        with server.client() as client:
            infer(client)


def until_ping(raw):
    raw.send(frame(PING, 0, 0, b"the end."))
    for one in raw.frames():
        if one[0] == PING and one[1] & 1:
            return
        yield one


def test_a_ping_flood_closes_the_connection(server):
    with Raw(server) as raw:
        with contextlib.suppress(ConnectionError):
            for _ in range(50):
                raw.send(frame(PING, 0, 0, b"01234567"))
        goaway = [payload for kind, _, _, payload in raw.frames() if kind == GOAWAY]
    assert goaway and goaway[0][4:8] == b"\0\0\0\x0b"  # ENHANCE_YOUR_CALM
    assert goaway[0][8:] == b"too_many_pings"


def test_a_settings_flood(server):
    before = usage(server.pid)["resident_bytes"]
    with Raw(server) as raw, contextlib.suppress(ConnectionError):
        raw.ignore_answers()
        for _ in range(1000):
            raw.send(frame(SETTINGS, 0, 0, b"\0\x04\0\0\xff\xff") * 50)
        raw.socket.shutdown(socket.SHUT_RDWR)
    eventually(lambda: usage(server.pid)["resident_bytes"] - before < 16 * MIB + MEMORY_SLACK_BYTES)


@pytest.mark.parametrize("how", ["one header of a MiB", "many headers", "continuation without end"])
def test_header_lists_without_end(server, how):
    before = usage(server.pid)["resident_bytes"]
    peak = 0
    if how == "one header of a MiB":
        block = call_headers(INFER, (b"x", b"v" * MIB))
    else:
        block = call_headers(INFER, *((b"x-%d" % i, b"v" * 100) for i in range(10_000)))
    with Raw(server) as raw, contextlib.suppress(ConnectionError):
        raw.ignore_answers()
        raw.send(frame(HEADERS, 0, 1, block[:16384]))
        rounds = 30 if how == "continuation without end" else 1
        for _ in range(rounds):
            for at in range(16384, len(block), 16384):
                raw.send(frame(CONTINUATION, 0, 1, block[at:at + 16384]))
            peak = max(peak, usage(server.pid)["resident_bytes"] - before)
        raw.send(frame(CONTINUATION, END_HEADERS, 1))
        raw.send(frame(DATA, END_STREAM, 1, b"\0\0\0\0\0"))
        raw.socket.shutdown(socket.SHUT_WR)
        peak = max(peak, usage(server.pid)["resident_bytes"] - before)
    assert peak < 16 * MIB + MEMORY_SLACK_BYTES


def test_metadata_over_the_limit(server):
    with server.client() as client:
        infer(client, headers={"x": "v" * 60_000})
        with pytest.raises(InferenceServerException) as caught:
            infer(client, headers={"x": "v" * 70_000})
        assert caught.value.status() == "StatusCode.RESOURCE_EXHAUSTED"


def test_forwarded_metadata(server):
    with server.client() as client:
        infer(client, headers={"x-tenant": "a", "other": "b"})
        with pytest.raises(InferenceServerException) as caught:
            infer(client, headers={"priority": "1"})
        assert caught.value.status() == "StatusCode.INVALID_ARGUMENT"
        assert caught.value.message() == "Header 'priority' is reserved for Triton usage and cannot be forwarded."


def test_metadata_that_is_not_ascii(server):
    body = message().SerializeToString()
    with Raw(server) as raw:
        raw.send(frame(HEADERS, END_HEADERS, 1, call_headers(INFER, (b"x-value", b"\xff\xfe\x80"))))
        raw.send(frame(DATA, END_STREAM, 1, b"\0" + struct.pack(">I", len(body)) + body))
        for kind, flags, _, payload in raw.frames():
            if kind == HEADERS and flags & END_STREAM:
                assert b"is not UTF-8 and cannot be forwarded" in payload or b"3" in payload
                break
            if kind == RST_STREAM:
                break


def test_unknown_methods_and_services(server):
    with grpc.insecure_channel(server.address) as channel:
        for path in ("/inference.GRPCInferenceService/NoSuchMethod", "/no.such.Service/Method",
                     "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"):
            assert code_of(lambda: channel.unary_unary(path)(b"", timeout=TIMEOUT_S)) == ("UNIMPLEMENTED", "")


def test_many_connections(server):
    before = usage(server.pid)
    connections = []
    try:
        for _ in range(400):
            connections.append(Raw(server))
        for raw in connections:
            raw.ping()
        with server.client() as client:
            infer(client)
        assert usage(server.pid)["threads"] <= before["threads"] + 8  # gRPC's own pool
    finally:
        for raw in connections:
            raw.socket.close()
    eventually(lambda: usage(server.pid)["descriptors"] <= before["descriptors"] + 8)


# --- access ---

def test_restricted_protocols(repository):
    with serve(repository,
                'plugin.grpc.restricted_protocols=["inference,statistics:key=secret", "model-repository:admin=root"]'
                ) as server:
        server.wait_ready("any")
        expected = "This protocol is restricted, expecting header 'triton-grpc-protocol-key'"
        right = {"triton-grpc-protocol-key": "secret"}
        with server.client() as client:
            assert infer(client, headers=right).tolist() == [0, 1, 2, 3]
            client.get_inference_statistics(headers=right)
            client.get_model_metadata("any")  # free
            for headers in (None, {"triton-grpc-protocol-key": "wrong"}, {"triton-grpc-protocol-admin": "root"}):
                for call in (lambda: infer(client, headers=headers),
                             lambda: client.get_inference_statistics(headers=headers)):
                    with pytest.raises(InferenceServerException) as caught:
                        call()
                    assert caught.value.status() == "StatusCode.UNAVAILABLE"
                    assert caught.value.message() == expected
            with pytest.raises(InferenceServerException) as caught:
                client.get_model_repository_index()
            assert caught.value.message() == "This protocol is restricted, expecting header 'triton-grpc-protocol-admin'"
            answers = []
            done = threading.Event()
            client.start_stream(lambda result, error: (answers.append((result, error)), done.set()))
            with contextlib.suppress(InferenceServerException):  # it may have ended already
                client.async_stream_infer("any", inputs())
            assert done.wait(TIMEOUT_S)
            client.stop_stream()
            assert expected in str(answers[0][1])
        assert "secret" not in server.log


# --- the end of the server ---

def test_shutdown_with_streams_open(repository):
    with serve(repository) as server:
        server.wait_ready("any")
        go_on = threading.Event()
        more = threading.Event()

        def requests():
            yield message("slow")
            yield message("any")
            go_on.wait(TIMEOUT_S)
            yield message("any")
            more.wait(TIMEOUT_S)

        with grpc.insecure_channel(server.address) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            idle = stub.ModelStreamInfer(iter_until(more))
            call = stub.ModelStreamInfer(requests())
            warm = stub.ModelStreamInfer(iter([message("any")]))  # what came before it has arrived
            assert not next(warm).error_message
            time.sleep(0.2)
            server.process.terminate()
            eventually(lambda: not is_live(stub))
            text = "GRPC server is shutting down and has stopped accepting new requests."
            assert code_of(lambda: stub.ModelInfer(message())) == ("UNAVAILABLE", text)
            go_on.set()
            first, second, third = next(call), next(call), next(call)
            assert not first.error_message and not second.error_message
            assert third.error_message == text
            for stream in (call, idle):
                code, details = code_of(lambda: next(stream))
                assert (code, details) == ("UNAVAILABLE", text)
            more.set()
        assert server.process.wait(TIMEOUT_S) == 0


def iter_until(event):
    event.wait(TIMEOUT_S)
    yield from ()


def is_live(stub):
    try:
        return stub.ServerLive(service_pb2.ServerLiveRequest()).live
    except grpc.RpcError as error:
        assert error.code().name == "UNAVAILABLE"
        return False


# --- TLS ---

def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    """Two authorities; a server's and a client's certificate of the first, a client's of the second."""
    folder = tmp_path_factory.mktemp("pki")
    for authority in ("ca", "other_ca"):
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 2, "-subj", f"/CN={authority}",
                "-keyout", folder / f"{authority}.key", "-out", folder / f"{authority}.crt")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1")
    for name, authority in (("server", "ca"), ("client", "ca"), ("stranger", "other_ca")):
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", folder / f"{name}.key",
                "-out", folder / f"{name}.csr")
        openssl("x509", "-req", "-days", 2, "-in", folder / f"{name}.csr", "-CA", folder / f"{authority}.crt",
                "-CAkey", folder / f"{authority}.key", "-CAcreateserial", "-extfile", folder / "names",
                "-out", folder / f"{name}.crt")
    return folder


def tls_options(pki, mutual):
    options = [f'plugin.grpc.server_cert="{pki}/server.crt"', f'plugin.grpc.server_key="{pki}/server.key"']
    if mutual:
        return [*options, "plugin.grpc.use_ssl_mutual=true", f'plugin.grpc.root_cert="{pki}/ca.crt"']
    return [*options, "plugin.grpc.use_ssl=true"]


def tls_client(server, pki, root="ca", own=None):
    files = {"root_certificates": str(pki / f"{root}.crt")}
    if own:
        files |= {"private_key": str(pki / f"{own}.key"), "certificate_chain": str(pki / f"{own}.crt")}
    return grpcclient.InferenceServerClient(server.address, ssl=True, **files)


def refused(client):
    with client, pytest.raises(InferenceServerException) as caught:
        client.is_server_live(client_timeout=10)
    return caught.value.status() in ("StatusCode.UNAVAILABLE", "StatusCode.DEADLINE_EXCEEDED")


def test_tls(repository, pki):
    with serve(repository, *tls_options(pki, mutual=False)) as server:
        with tls_client(server, pki) as client:
            eventually(lambda: client.is_server_ready())
            assert infer(client).tolist() == [0, 1, 2, 3]
        assert refused(tls_client(server, pki, root="other_ca"))
        assert refused(server.client())  # without TLS


def test_mutual_tls(repository, pki):
    with serve(repository, *tls_options(pki, mutual=True)) as server:
        with tls_client(server, pki, own="client") as client:
            eventually(lambda: client.is_server_ready())
            assert infer(client).tolist() == [0, 1, 2, 3]
        assert refused(tls_client(server, pki))
        assert refused(tls_client(server, pki, own="stranger"))


def test_tls_files_that_can_not_be_used(repository, pki):
    for options, text in (
            (['plugin.grpc.use_ssl=true'], "option 'server_cert' is empty"),
            ([*tls_options(pki, False), 'plugin.grpc.server_key="/no/such/file"'],
             "option 'server_key' names '/no/such/file', expected a readable PEM file: No such file or directory"),
            ([*tls_options(pki, False), f'plugin.grpc.server_key="{pki}/client.key"'],
             "expected a key and certificates that belong together")):
        with pytest.raises(AssertionError) as caught:
            serve(repository, *options)
        assert text in str(caught.value)


def test_the_default_address_is_the_loopback():
    """Without being told otherwise nothing listens to other machines."""
    listed = subprocess.run([ATOLL, "--list"], check=True, capture_output=True, text=True).stdout
    assert "127.0.0.1:8001" in listed
    assert 'address = "127.0.0.1:8001"' in DEFAULT_MANIFEST.read_text()
