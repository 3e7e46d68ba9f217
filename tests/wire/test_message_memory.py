"""What one message may take of the server's memory: a small multiple of its opened size, whatever is in it."""

import gzip
import http.client
import json
import pathlib
import re
import zlib

import grpc
import pytest
from support import models
from support.server import SANITIZED, Server

MIB = 1 << 20
MESSAGE_BYTES = 24 * MIB
# Beside the message itself: what else reading it may take at its peak, in messages; and a fixed part, which is what
# the threads keep for small ones.
MOST_GROWTH = 4
SLACK_BYTES = (1024 if SANITIZED else 96) * MIB
INFER = "/inference.GRPCInferenceService/ModelInfer"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("models")
    for name, kind in (("fp32", "TYPE_FP32"), ("int64", "TYPE_INT64"), ("texts", "TYPE_STRING")):
        models.write_model(repository, name, models.identity_config(name, kind))
    with Server(repository) as running:
        yield running.wait_ready()


def status_bytes(pid, name):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"^{name}:\s+(\d+) kB", text, re.M).group(1)) * 1024


def peak_growth(server, work):
    """The most by which resident memory grew while `work` ran, and what that returned."""
    pathlib.Path(f"/proc/{server.pid}/clear_refs").write_text("5")
    before = status_bytes(server.pid, "VmRSS")
    result = work()
    return status_bytes(server.pid, "VmHWM") - before, result


def expect_bounded(server, work, size, tensors=0):
    grown, result = peak_growth(server, work)
    assert grown <= (1 + MOST_GROWTH) * size + tensors + SLACK_BYTES, f"{grown >> 20} MiB for {size >> 20} MiB"
    with server.client() as client:
        assert client.is_server_ready()
    return result


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


def infer_grpc(server, message, method=INFER):
    """The status code; the message goes compressed."""
    options = [("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(server.address, options=options, compression=grpc.Compression.Gzip) as channel:
        try:
            channel.unary_unary(method)(message, timeout=120)
            return grpc.StatusCode.OK
        except grpc.RpcError as error:
            return error.code()


def infer_http(server, body, model="fp32", headers=()):
    connection = http.client.HTTPConnection(server.http_address, timeout=120)
    try:
        connection.request("POST", f"/v2/models/{model}/infer", gzip.compress(body, 1),
                           {"Content-Encoding": "gzip", **dict(headers)})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("unit", [field(5, b""), field(1, b"n"), field(4, b""), field(3, b""), field(5, b"\x1a\x00")],
                         ids=["contents", "name", "parameters", "shape", "lists"])
def test_fields_that_repeat_without_end(server, unit):
    given = field(1, b"INPUT0") + field(2, b"FP32") + b"\x1a\x01\x00"
    message = field(1, b"fp32") + field(5, given + unit * (MESSAGE_BYTES // len(unit)))
    code = expect_bounded(server, lambda: infer_grpc(server, message), len(message))
    assert code in (grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT)


def test_typed_contents_are_limited_once_they_are_converted(server):
    numbers = field(3, b"\x01" * MESSAGE_BYTES)
    message = field(1, b"int64") + field(5, field(1, b"INPUT0") + field(2, b"INT64") +
                                         field(3, varint(MESSAGE_BYTES)) + field(5, numbers))
    assert expect_bounded(server, lambda: infer_grpc(server, message), len(message)) == grpc.StatusCode.INVALID_ARGUMENT


def test_calls_that_bring_no_files_take_small_messages(server):
    message = field(1, b"") + field(1, field(1, b"trace_level") + field(2, field(1, b"") * (MESSAGE_BYTES // 2)))
    code = expect_bounded(server, lambda: infer_grpc(server, message, "/inference.GRPCInferenceService/TraceSetting"),
                          2 * MIB)
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.parametrize("element, datatype", [("NaN", "FP32"), ("99999999999999999999", "FP32"), ("0", "FP32"),
                                               ('""', "BYTES")])
def test_json_of_many_values(server, element, datatype):
    count = MESSAGE_BYTES // (len(element) + 1)
    size = 4 if datatype == "FP32" else 4
    body = json.dumps({"inputs": [{"name": "INPUT0", "shape": [count], "datatype": datatype, "data": []}],
                       "outputs": [{"name": "OUTPUT0", "parameters": {"binary_data": True}}]})
    body = body.replace("[]", "[" + ",".join([element] * count) + "]").encode()
    model = "fp32" if datatype == "FP32" else "texts"
    # The tensor, the model's copy of it and the answer's.
    status, _ = expect_bounded(server, lambda: infer_http(server, body, model), len(body), 3 * size * count)
    assert status == 200


@pytest.mark.parametrize("unit", ["{},", '{"a":0},', "[{}],"])
def test_json_of_many_values_that_nobody_wants(server, unit):
    body = ('{"x":[' + unit * (MESSAGE_BYTES // len(unit)) + '0],"inputs":[]}').encode()
    status, answer = expect_bounded(server, lambda: infer_http(server, body), len(body))
    assert status == 400 and b"values beside arrays of more than 1024 elements" in answer


def test_a_body_that_opens_without_end(server):
    stream = zlib.compressobj(9, wbits=31)
    bomb = b"".join(stream.compress(b"\0" * MIB) for _ in range(512)) + stream.flush()

    def send():
        connection = http.client.HTTPConnection(server.http_address, timeout=120)
        connection.request("POST", "/v2/models/fp32/infer", bomb, {"Content-Encoding": "gzip"})
        answer = connection.getresponse()
        return answer.status, answer.read()

    # No more than the limit, which is 64 MiB; nothing is held twice while it grows.
    grown, (status, answer) = peak_growth(server, send)
    assert status == 400 and b"Decompressed data size exceeds the maximum allowed value" in answer
    assert grown <= 64 * MIB + (SLACK_BYTES if SANITIZED else 16 * MIB), f"{grown >> 20} MiB"
