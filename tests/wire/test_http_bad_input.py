"""Bad input over HTTP, a test a case. After each: the same process, ready, a right answer on another connection, a JSON
error of the right type; and a hundred repetitions leave descriptors, threads and memory where they were."""

import gzip
import json
import re
import socket
import struct

import numpy as np
import pytest
from support import models
from support.server import MEMORY_SLACK_BYTES, Server, usage

LIMIT = 1 << 20
REPETITIONS = 100
TIMEOUT_S = 20
INFER = "/v2/models/echo/infer"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("models")
    models.write_model(repository, "echo", models.identity_config("echo"))
    models.write_model(repository, "texts", models.identity_config("texts", "TYPE_STRING"))
    models.write_model(repository, "small", models.identity_config("small", "TYPE_UINT8"))
    models.write_model(repository, "whole", models.identity_config("whole", "TYPE_INT32"))
    models.write_model(repository, "batches", models.identity_config("batches", dims=(4,), max_batch_size=8))
    settings = (f"plugin.http.max_input_size={LIMIT}", 'plugin.keys.use="security/keys"',
                'plugin.keys.restricted_apis=["statistics:x-key=secret"]')
    with Server(repository, *settings) as running:
        probe(running.wait_ready())  # every descriptor that it needs is open now
        yield running


def exchange(server, data):
    """Sends bytes as they are and reads to the end of the answer, or of the connection."""
    host, port = server.http_address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as connection:
        try:
            connection.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before all of it was sent
        received = b""
        while True:
            try:
                piece = connection.recv(65536)
            except ConnectionResetError:
                break
            if not piece:
                break
            received += piece
    return received


def request(path=INFER, body=b"", headers=(), method="POST", length=True):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def chunked(body, size=None):
    pieces = [body] if size is None else [body[i:i + size] for i in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def parse(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
    return int(lines[0].split(" ")[1]), headers, body


def tensor(data="[1]", shape="[1]", datatype="FP32", name="INPUT0", extra=""):
    return f'{{"name":"{name}","shape":{shape},"datatype":"{datatype}"{extra},"data":{data}}}'


def body_of(*inputs, extra=""):
    return f'{{{extra}"inputs":[{",".join(inputs or [tensor()])}]}}'.encode()


def probe(server):
    status, _, body = parse(exchange(server, request(body=body_of(tensor("[1.5,-2]", "[2]")))))
    assert status == 200 and json.loads(body)["outputs"][0]["data"] == [1.5, -2.0]
    for path in ("/v2/health/live", "/v2/health/ready"):
        assert parse(exchange(server, request(path, method="GET")))[0] == 200
    assert server.process.poll() is None


def json_case(body, text, path=INFER, status=400):
    return request(path, body if isinstance(body, bytes) else body.encode()), status, text


def header_case(value, body, text):
    return request(body=body, headers=[f"Inference-Header-Content-Length: {value}"]), 400, text


GOOD = body_of()
OPEN = b"[" * 300_000
CHUNKS = ["Transfer-Encoding: chunked"]
GZIP = ["Content-Encoding: gzip"]
PACKED = gzip.compress(GOOD)


def binary(parameters, blob, model="echo", datatype="FP32", shape="[1]"):
    head = (f'{{"inputs":[{{"name":"INPUT0","shape":{shape},"datatype":"{datatype}",'
            f'"parameters":{{{parameters}}}}}]}}').encode()
    return request(f"/v2/models/{model}/infer", head + blob, [f"Inference-Header-Content-Length: {len(head)}"])


# Name: bytes to send, status (or several), part of the error text.
CASES = {
    "H1": header_case("abc", GOOD, "Unable to parse Inference-Header-Content-Length, got: abc"),
    "H2": header_case("99999999999", GOOD, "inference header size should be in range|out of range"),
    "H3_negative": header_case("-1", GOOD, r"inference header size should be in range \(0, \d+\), got: -1"),
    "H3_beyond": header_case(len(GOOD) + 1, GOOD, "inference header size should be in range"),
    "H4": header_case(len(GOOD) // 2, GOOD, "failed to parse the request JSON buffer"),
    "H5": (request(headers=CHUNKS, body=chunked(b" " * 65_537, 1), length=False), 400,
           "Chunked request body exceeds maximum of 65536 non-empty chunks"),
    "H6_huge": (request(headers=CHUNKS, body=b"FFFFFFFFFFFFFFFF\r\n", length=False), 400, ""),
    "H6_negative": (request(headers=CHUNKS, body=b"-1\r\n", length=False), 400, "bad chunk"),
    "H6_hex": (request(headers=CHUNKS, body=b"0x10\r\n" + b"a" * 16, length=False), 400, ""),
    "H6_extension": (request(headers=CHUNKS, body=b"1;" + b"e" * (1 << 20) + b"\r\n{\r\n", length=False), 400, ""),
    "H7_both": (request(headers=CHUNKS, body=chunked(GOOD)), 400, ""),
    "H7_two": (request(headers=["Content-Length: 3"], body=GOOD), 400, ""),
    "H8": (request(headers=[f"Content-Length: {LIMIT + 1}"], length=False), 400, ""),
    "H9": (request(headers=CHUNKS, body=chunked(b" " * (LIMIT + 1), 8192), length=False), 400, ""),
    "H10": (request(headers=GZIP, body=gzip.compress(b" " * (64 << 20))), 400,
            f"Decompressed data size exceeds the maximum allowed value of {LIMIT} bytes"),
    "H11_cut": (request(headers=GZIP, body=PACKED[:-9]), 400, ""),
    "H11_checksum": (request(headers=GZIP, body=PACKED[:-8] + b"\0" * 8), 400, ""),
    "H11_garbage": (request(headers=GZIP, body=PACKED + b"garbage"), 400, ""),
    "H12": (request(headers=["Content-Encoding: br"], body=GOOD), 501, "Unsupported compression type"),
    "H16_nul": (request("/v2/models/e\0cho/infer", GOOD), 400, ""),
    "H16_percent": (request("/v2/models/%2e%2e%2fecho/infer", GOOD), 400, ""),
    "H16_header": (request(headers=["X-A: a\0b"], body=GOOD), 400, ""),
    "H17_path": (request("/" + "a" * (1 << 20)), (400, 414), ""),
    "H17_headers": (request(headers=[f"X-{i}: 1" for i in range(10_000)]), (400, 431), ""),
    "H18_get": (request(method="GET"), 405, "Method Not Allowed"),
    "H18_post": (request("/v2/models/echo"), 405, "Method Not Allowed"),
    "H18_trace": (request(method="TRACE"), 405, "Method Not Allowed"),
    "H18_connect": (request(method="CONNECT"), 405, "Method Not Allowed"),
    "H18_long": (request(method="M" * 10_240), (400, 405, 414), ""),
    "H21_negative": (request("/v2/models/echo/versions/-1/infer", GOOD), 400, ""),
    "H21_large": (request("/v2/models/echo/versions/99999999999999999999/infer", GOOD), 400, ""),
    "H21_exponent": (request("/v2/models/echo/versions/1e3/infer", GOOD), 400, ""),
    "H21_missing": (request("/v2/models/echo/versions/7/infer", GOOD), 404,
                    "Request for unknown model: 'echo' version 7 is not found"),
    "H22_without": (request("/v2/models/stats", method="GET"), 403,
                    "This API is restricted, expecting header 'x-key'"),
    "H22_wrong": (request("/v2/models/stats", method="GET", headers=["x-key: no"]), 403, ""),
    "H23": (request("/v2/models/stats", method="GET", headers=["x-key: secret", "x-key: no"]), 403, ""),
    **{f"J1_{i}": json_case(text, "") for i, text in
       enumerate(["", "null", "[]", "1", '"x"', '{"inputs":[', '{"inputs":[]} x'])},
    "J2": json_case(body_of(tensor("[" * 101 + "1" + "]" * 101)),
                    r"JSON nesting depth exceeds maximum allowed limit \(100\)"),
    "J3_body": json_case(OPEN, ""),
    "J3_parameters": json_case(b'{"parameters":' + OPEN, ""),
    "J3_index": json_case(OPEN, "", "/v2/repository/index"),
    "J3_load": json_case(b'{"parameters":' + OPEN, "", "/v2/repository/models/echo/load"),
    "J4": json_case(body_of()[:-1] + b',"inputs":[]}', ""),
    "J5_large": json_case(body_of(tensor("[1e400]")), ""),
    "J5_fraction": json_case(body_of(tensor("[1.5]", datatype="INT32")), "INPUT0", "/v2/models/whole/infer"),
    "J5_range": json_case(body_of(tensor("[300]", datatype="UINT8")), "INPUT0", "/v2/models/small/infer"),
    "J5_sign": json_case(body_of(tensor("[-1]", datatype="UINT8")), "INPUT0", "/v2/models/small/infer"),
    "J6_bytes": json_case(b'{"id":"\xff","inputs":[]}', ""),
    "J6_surrogate": json_case('{"id":"\\ud800","inputs":[]}', ""),
    "J6_name": json_case(body_of(tensor(name="INPUT0\\u0000")), ""),
    **{f"J7_{i}": json_case(body_of(tensor(shape=shape)), "") for i, shape in
       enumerate(['["1"]', "[1.5]", "[-1]", "[9223372036854775808]", '"1"'])},
    "J8": json_case(body_of(tensor(shape="[16,1152921504606846978]")),
                    "causes total element count to exceed maximum size of 9223372036854775807"),
    "J9": json_case(body_of(tensor(shape="[4,1152921504606846978]")), "byte size overflow for input|INPUT0"),
    "J10": json_case(body_of(tensor(shape="[1000000000]")), "has a byte_size"),
    "J11_many": json_case(body_of(tensor("[1,2]")), ""),
    "J11_mixed": json_case(body_of(tensor('[1,"a"]', "[2]")), ""),
    "J12": json_case(body_of(tensor(datatype="FP16")), "receiving FP16 data via JSON is not supported"),
    "J13": json_case(body_of(tensor(extra=',"parameters":{"binary_data_size":4}')),
                     "Input must set only one of the following fields"),
    "J13_none": json_case('{"inputs":[{"name":"INPUT0","shape":[1],"datatype":"FP32"}]}', "But no field is set"),
    "J14_negative": (binary('"binary_data_size":-1', b"\0" * 4), 400, ""),
    "J14_more": (binary('"binary_data_size":8', b"\0" * 4, shape="[2]"), 400, "unexpected size for input 'INPUT0'"),
    "J14_less": (binary('"binary_data_size":4', b"\0" * 8), 400, "unexpected additional input data"),
    "J15": json_case(body_of(*[tensor(name=f"I{i}") for i in range(2000)]), ""),
    "J16_output": json_case(body_of()[:-1] + b',"outputs":[{"name":"OUTPUT0"},{"name":"OUTPUT0"}]}',
                            "output 'OUTPUT0' already exists in request"),
    "J16_input": json_case(body_of(tensor(), tensor()), "input 'INPUT0' already exists in request"),
    "J17": json_case(body_of()[:-1] + b',"outputs":[{"name":"OUTPUT0","parameters":{"classification":-1}}]}', ""),
    "J18_object": json_case(body_of(extra='"parameters":{"sequence_id":{}},'), "sequence_id"),
    "J18_text": json_case(body_of(extra='"parameters":{"priority":"high"},'), "priority"),
    "J18_reserved": json_case(body_of(extra='"parameters":{"triton_x":1},'), "reserved for Triton usage"),
    "J19_blank": json_case(b" " * (LIMIT - 1), ""),
    "J19_id": json_case(body_of(extra=f'"id":"{"i" * 65_537}",'), ""),
    "J20": json_case('{"INPUT0":[1],"deep":{"a":[[1]]}}', "", "/v2/models/echo/generate"),
    "T1_cut": (binary('"binary_data_size":3', b"\1\0\0", "texts", "BYTES"), 400,
               "incomplete string length indicator"),
    "T1_long": (binary('"binary_data_size":5', struct.pack("<I", 0xFFFFFFFF) + b"a", "texts", "BYTES"), 400, ""),
    "T1_few": (binary('"binary_data_size":5', struct.pack("<I", 1) + b"a", "texts", "BYTES", "[2]"), 400,
               "expected 2 string elements"),
    "T2": json_case(body_of(tensor("[]", "[0,4]")), "", "/v2/models/batches/infer"),
    "T3": json_case(body_of(tensor(str([1] * 36), "[9,4]")), "batch-size must be <= 8", "/v2/models/batches/infer"),
    "T4_type": json_case(body_of(tensor(datatype="INT32")), "data-type is 'INT32', but model 'echo' expects 'FP32'"),
    "T4_rank": json_case(body_of(tensor(shape="[1,1]")), "unexpected shape for input 'INPUT0'"),
    "T4_dims": json_case(body_of(tensor("[1,2,3]", "[1,3]")), "unexpected shape", "/v2/models/batches/infer"),
    "T5_input": json_case(body_of(tensor(name="OTHER")), "unexpected inference input 'OTHER'"),
    "T5_missing": json_case('{"inputs":[]}', ""),
    "T5_output": json_case(body_of()[:-1] + b',"outputs":[{"name":"NO"}]}', "unexpected inference output 'NO'"),
}


@pytest.mark.parametrize("name", CASES)
def test_is_refused(server, name):
    data, status, text = CASES[name]
    before = usage(server.pid)
    got, headers, body = parse(exchange(server, data))
    assert got in (status if isinstance(status, tuple) else (status,)), body
    assert headers["content-type"].startswith("application/json")
    error = json.loads(body)["error"]
    assert re.search(text, error), error
    assert "/tmp/" not in error and not re.search(r"0x[0-9a-f]{8,}", error)
    probe(server)
    repetitions = REPETITIONS if len(data) < 20_000 else 5
    for _ in range(repetitions):
        assert parse(exchange(server, data))[0] == got
    probe(server)
    after = usage(server.pid)
    assert after["descriptors"] <= before["descriptors"] + 4
    assert after["threads"] <= before["threads"] + 2
    assert after["resident_bytes"] <= before["resident_bytes"] + MEMORY_SLACK_BYTES + 2 * LIMIT


@pytest.mark.parametrize("data", [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                                  b"\r\n\r\n\r\n", b"GET\r\n\r\n", b"\0" * 100], ids=range(5))
def test_other_protocols_are_turned_away(server, data):
    answer = exchange(server, data + b"\r\n\r\n")
    assert answer == b"" or parse(answer)[0] == 400
    probe(server)


def test_special_numbers_pass_through(server):
    status, _, body = parse(exchange(server, request(body=body_of(tensor("[NaN,Infinity,-Infinity,-0.0,1e-45]", "[5]")))))
    assert status == 200
    data = json.loads(body)["outputs"][0]["data"]
    expected = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45], np.float32)
    np.testing.assert_array_equal(np.array(data, np.float32), expected)


def test_a_thousand_pipelined_requests(server):
    one = request(body=body_of(tensor("[7]"))).replace(b"Connection: close\r\n", b"")
    answer = exchange(server, one * 999 + request(body=body_of(tensor("[8]"))))
    values = [float(value) for value in re.findall(rb'"data":\[([0-9.]+)\]', answer)]
    assert values == [7.0] * 999 + [8.0]


@pytest.mark.parametrize("part", ["half", "whole"])
def test_clients_that_leave(server, part):
    host, port = server.http_address.rsplit(":", 1)
    data = request(body=GOOD)
    before = usage(server.pid)
    for _ in range(300):
        with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as connection:
            connection.sendall(data[:-10] if part == "half" else data)
    probe(server)
    assert usage(server.pid)["threads"] <= before["threads"] + 2


def test_expect_100_continue(server):
    answer = exchange(server, request(headers=["Expect: 100-continue"], body=GOOD))
    assert answer.startswith((b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200", b"HTTP/1.1 200"))
