"""Within a minute after hostile traffic the server has about the memory that it had before."""

import contextlib
import json
import socket
import struct
import threading

import grpc
import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.grpc_frontends import GRPC_FRONTENDS
from support.http2 import END_HEADERS, HEADERS, Raw, call_headers, frame, varint
from support.server import SANITIZED, Server, usage
from support.waiting import eventually
from tritonclient.grpc import service_pb2, service_pb2_grpc


MIB = 1 << 20
# Above what it was before, at most. Sanitizers keep what was freed.
GIVEN_BACK_MIB = 4096 if SANITIZED else 64
MINUTE_S = 60
STREAM = "/inference.GRPCInferenceService/ModelStreamInfer"
OWN = GRPC_FRONTENDS[1]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("models")
    models.write_model(repository, "any", models.identity_config("any"))
    slow = 'parameters { key: "execute_delay_ms" value { string_value: "30" } }\n'
    models.write_model(repository, "slow", models.identity_config("slow", extra=slow))
    with Server(repository, grpc_frontend=OWN) as running:
        yield running.wait_active().wait_ready()


def resident_mib(server):
    return usage(server.pid)["resident_bytes"] / MIB


@contextlib.contextmanager
def given_back(server):
    """Within is hostile traffic."""
    with server.client() as client:
        tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
        tensor.set_data_from_numpy(np.zeros(4, np.float32))
        client.infer("any", [tensor])
    before = resident_mib(server)
    yield before
    print(f"before {before:.0f} MiB, at the end of the traffic {resident_mib(server):.0f} MiB")
    eventually(lambda: resident_mib(server) < before + GIVEN_BACK_MIB, MINUTE_S, lambda: f"{resident_mib(server):.0f} MiB")


def test_metadata_that_hpack_makes_large(server):
    """A byte of each list stands for 4,000 of the table."""
    connections, calls, repeats, value = 10, 1000, 15, b"v" * 4000
    plain = call_headers(STREAM)
    first = plain + b"\x40\x01x\x7f" + varint(len(value) - 127) + value
    with given_back(server) as before, contextlib.ExitStack() as stack:
        for _ in range(connections):
            raw = stack.enter_context(Raw(server))
            stack.callback(raw.hang_up)  # a socket that a thread reads from is not closed by close()
            raw.ignore_answers()
            raw.send(frame(HEADERS, END_HEADERS, 1, first))
            with contextlib.suppress(ConnectionError):
                for stream in range(3, 2 * calls, 2):
                    raw.send(frame(HEADERS, END_HEADERS, stream, plain + b"\xbe" * repeats))
        with server.client() as client:
            assert client.is_server_live()
        # 8 MiB of metadata each, and what calls take beside it.
        assert resident_mib(server) < before + (GIVEN_BACK_MIB if SANITIZED else connections * 16)


def test_slow_readers(server):
    """Many clients that do not read their answers."""
    clients, count = 300, (2 * MIB) // 4
    body = np.zeros(count, np.float32).tobytes()
    head = json.dumps({"inputs": [{"name": "INPUT0", "shape": [count], "datatype": "FP32",
                                   "parameters": {"binary_data_size": len(body)}}],
                       "parameters": {"binary_data_output": True}}).encode()
    request = (f"POST /v2/models/any/infer HTTP/1.1\r\nHost: x\r\nContent-Length: {len(head) + len(body)}\r\n"
               f"Inference-Header-Content-Length: {len(head)}\r\n\r\n").encode() + head + body
    host, port = server.http_address.rsplit(":", 1)
    with given_back(server), contextlib.ExitStack() as stack:
        for _ in range(clients):
            client = stack.enter_context(socket.create_connection((host, int(port)), timeout=MINUTE_S))
            client.sendall(request)


def test_cancelled_calls(server):
    """Three hundred a second of one channel, whose requests are large enough to be noticed."""
    count = 1 << 14
    request = service_pb2.ModelInferRequest(model_name="slow", raw_input_contents=[bytes(4 * count)])
    request.inputs.add(name="INPUT0", datatype="FP32", shape=[count])
    ended = threading.Semaphore(0)
    with given_back(server), grpc.insecure_channel(server.address) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        for _ in range(1500):
            call = stub.ModelInfer.future(request, timeout=MINUTE_S)
            call.add_done_callback(lambda _: ended.release())
            call.cancel()
        for _ in range(1500):
            assert ended.acquire(timeout=MINUTE_S)


def test_messages_that_are_never_ended(server):
    """Much of many messages has come, and the client goes."""
    with given_back(server), contextlib.ExitStack() as stack:
        for _ in range(20):
            raw = stack.enter_context(Raw(server))
            raw.ignore_answers()
            for stream in range(1, 41, 2):
                part = b"\0" + struct.pack(">I", 1 << 20) + bytes(16379)
                raw.send(frame(HEADERS, END_HEADERS, stream, call_headers("/inference.GRPCInferenceService/ModelInfer"))
                         + frame(0, 0, stream, part) + frame(0, 0, stream, bytes(16384)) * 8)
