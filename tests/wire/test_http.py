"""The HTTP frontend with the real clients and with plain connections."""

import concurrent.futures
import gzip
import http.client
import json
import socket
import time
import zlib

import ml_dtypes
import numpy as np
import pytest
import tritonclient.http as httpclient
from support import models
from support.server import Server, usage
from tritonclient.utils import InferenceServerException

SHAPES = [(1,), (7,), (3, 5), (2, 3, 4), (1, 1, 1, 1, 2)]
RANKS = sorted({len(shape) for shape in SHAPES})
LIMIT = 4 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    for triton, config_type, _, _ in models.TYPES:
        for rank in RANKS:
            name = f"identity_{triton}_{rank}"
            models.write_model(repository, name, models.identity_config(name, config_type, [-1] * rank))
    models.write_model(repository, "pairs", models.identity_config("pairs", pairs=3, dims=(4,), max_batch_size=8))
    with Server(repository, f"plugin.http.max_input_size={LIMIT}",
                'plugin.keys.use="security/keys"',
                'plugin.keys.restricted_apis=["statistics:x-key=secret"]') as running:
        yield running.wait_ready()


@pytest.fixture(scope="module")
def client(server):
    with server.http_client(concurrency=4) as client:
        yield client


def sample(numpy_type, shape):
    if numpy_type is None:
        return models.sample(np.float32, shape).astype(ml_dtypes.bfloat16).astype(np.float32)
    return models.sample(numpy_type, shape)


def make_input(triton, array, binary=True, name="INPUT0"):
    tensor = httpclient.InferInput(name, list(array.shape), triton)
    tensor.set_data_from_numpy(array, binary_data=binary)
    return tensor


def ask(server, method, path, body=None, headers=None):
    """One request on a connection of its own: (status, headers, body)."""
    connection = http.client.HTTPConnection(server.http_address, timeout=30)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def infer_json(values, datatype="FP32", **more):
    return json.dumps({"inputs": [{"name": "INPUT0", "datatype": datatype, "shape": [len(values)], "data": values}],
                       **more})


@pytest.mark.parametrize("binary_out", [True, False], ids=["binary-out", "json-out"])
@pytest.mark.parametrize("binary_in", [True, False], ids=["binary-in", "json-in"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("triton,_config,_element,numpy_type", models.TYPES, ids=[t[0] for t in models.TYPES])
def test_every_datatype_and_shape(client, shape, triton, _config, _element, numpy_type, binary_in, binary_out):
    if triton in ("FP16", "BF16") and not (binary_in and binary_out):
        return  # the protocol has no JSON form for these, see below
    array = sample(numpy_type, shape)
    if triton == "BYTES" and not (binary_in and binary_out):
        array = np.array([value.hex().encode() for value in array.flat], np.object_).reshape(shape)  # JSON is text
    wanted = [httpclient.InferRequestedOutput("OUTPUT0", binary_data=binary_out)]
    result = client.infer(f"identity_{triton}_{len(shape)}", [make_input(triton, array, binary_in)], outputs=wanted)
    output = result.get_output("OUTPUT0")
    assert output["datatype"] == triton
    assert output["shape"] == list(shape)
    received = result.as_numpy("OUTPUT0")
    if triton == "BYTES" and not binary_out:
        received = np.array([value.encode() if isinstance(value, str) else value for value in received.flat],
                            np.object_).reshape(shape)
    np.testing.assert_array_equal(received, array)


@pytest.mark.parametrize("triton", ["FP16", "BF16"])
def test_half_floats_have_no_json_form(server, triton):
    status, _, body = ask(server, "POST", f"/v2/models/identity_{triton}_1/infer", infer_json([1.0], triton))
    assert status == 400 and triton in json.loads(body)["error"]


def test_empty_tensors(client):
    array = np.zeros((0,), np.float32)
    result = client.infer("identity_FP32_1", [make_input("FP32", array)])
    assert result.get_output("OUTPUT0")["shape"] == [0]


@pytest.mark.parametrize("request_algorithm", [None, "gzip", "deflate"])
@pytest.mark.parametrize("response_algorithm", [None, "gzip", "deflate"])
def test_compression(client, request_algorithm, response_algorithm):
    array = models.sample(np.float32, (50_000,), 7)
    result = client.infer("identity_FP32_1", [make_input("FP32", array)],
                          request_compression_algorithm=request_algorithm,
                          response_compression_algorithm=response_algorithm)
    np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), array)


def test_classification(client):
    array = np.array([[1, 4, 2, 3], [9, 6, 7, 8]], np.float32)
    inputs = [make_input("FP32", array, name=f"INPUT{i}") for i in range(3)]
    for binary in (True, False):
        wanted = [httpclient.InferRequestedOutput("OUTPUT1", binary_data=binary, class_count=2)]
        result = client.infer("pairs", inputs, outputs=wanted).as_numpy("OUTPUT1")
        texts = [value.decode() if isinstance(value, bytes) else value for value in result.flat]
        assert texts == ["4.000000:1", "3.000000:3", "9.000000:0", "8.000000:3"]


def test_only_the_outputs_asked_for_in_the_order_asked(client):
    inputs = [make_input("FP32", np.full((2, 4), i, np.float32), name=f"INPUT{i}") for i in range(3)]
    wanted = [httpclient.InferRequestedOutput("OUTPUT2", binary_data=True),
              httpclient.InferRequestedOutput("OUTPUT0", binary_data=False)]
    result = client.infer("pairs", inputs, outputs=wanted, request_id="ask", model_version="1")
    response = result.get_response()
    assert sorted(output["name"] for output in response["outputs"]) == ["OUTPUT0", "OUTPUT2"]
    assert (response["id"], response["model_name"], response["model_version"]) == ("ask", "pairs", "1")
    np.testing.assert_array_equal(result.as_numpy("OUTPUT2"), np.full((2, 4), 2, np.float32))
    np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), np.zeros((2, 4), np.float32))


def test_asynchronous_requests(client):
    arrays = [np.full((5,), i, np.int32) for i in range(20)]
    pending = [client.async_infer("identity_INT32_1", [make_input("INT32", array)]) for array in arrays]
    for array, request in zip(arrays, pending):
        np.testing.assert_array_equal(request.get_result().as_numpy("OUTPUT0"), array)


def test_asyncio_client(server):
    import asyncio

    import tritonclient.http.aio as aio

    async def run():
        async with aio.InferenceServerClient(server.http_address) as own:
            assert await own.is_server_live() and await own.is_server_ready()
            assert await own.is_model_ready("pairs")
            assert (await own.get_server_metadata())["name"] == "triton"
            array = np.arange(5, dtype=np.int64)
            results = await asyncio.gather(*[own.infer("identity_INT64_1", [make_input("INT64", array)])
                                             for _ in range(20)])
            for result in results:
                np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), array)
            with pytest.raises(InferenceServerException, match="unknown model: 'x'"):
                await own.infer("x", [make_input("INT64", array)])

    asyncio.run(run())


def test_management_calls(client):
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("pairs", "1")
    assert not client.is_model_ready("unknown")
    assert "binary_tensor_data" in client.get_server_metadata()["extensions"]
    metadata = client.get_model_metadata("pairs")
    assert metadata["name"] == "pairs" and metadata["versions"] == ["1"]
    assert metadata["inputs"][0] == {"name": "INPUT0", "datatype": "FP32", "shape": [-1, 4]}
    config = client.get_model_config("pairs")
    assert (config["name"], config["max_batch_size"], config["backend"]) == ("pairs", 8, "identity")
    index = {entry["name"]: entry for entry in client.get_model_repository_index()}
    assert index["pairs"] == {"name": "pairs", "version": "1", "state": "READY"}
    with pytest.raises(InferenceServerException, match="polling is enabled"):
        client.load_model("pairs")
    with pytest.raises(InferenceServerException, match="polling is enabled"):
        client.unload_model("pairs")
    statistics = client.get_inference_statistics("pairs", headers={"X-Key": "secret"})["model_stats"]
    assert [(entry["name"], entry["version"]) for entry in statistics] == [("pairs", "1")]
    assert client.get_system_shared_memory_status() == []


def test_log_settings(client):
    assert client.get_log_settings()["log_info"] is True


def test_restricted_calls(client):
    with pytest.raises(InferenceServerException, match="This API is restricted, expecting header 'x-key'"):
        client.get_inference_statistics()
    with pytest.raises(InferenceServerException, match="This API is restricted"):
        client.get_inference_statistics(headers={"X-Key": "wrong"})


def test_curl_like_requests(server):
    body = infer_json([1.0, 2.5], id="7")
    status, headers, reply = ask(server, "POST", "/v2/models/identity_FP32_1/infer", body)
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert json.loads(reply) == {"id": "7", "model_name": "identity_FP32_1", "model_version": "1",
                                 "outputs": [{"name": "OUTPUT0", "datatype": "FP32", "shape": [2],
                                              "data": [1.0, 2.5]}]}
    # A raw request: the body is the tensor and nothing else.
    raw = np.arange(3, dtype=np.int32).tobytes()
    status, headers, reply = ask(server, "POST", "/v2/models/identity_INT32_1/infer", raw,
                                 {"Inference-Header-Content-Length": "0"})
    assert status == 200, reply
    assert reply[int(headers["Inference-Header-Content-Length"]):] == raw
    for method, path, expected in [("GET", "/v2/", 404), ("PUT", "/v2", 405), ("POST", "/v2", 405),
                                   ("GET", "/metrics", 404), ("GET", "/v2/health/live", 200)]:
        status, headers, reply = ask(server, method, path)
        assert status == expected
        if expected != 200:
            assert headers["Content-Type"] == "application/json" and json.loads(reply).keys() == {"error"}


def test_generate(server):
    model = "/v2/models/identity_INT32_1"
    status, headers, body = ask(server, "POST", f"{model}/generate", json.dumps({"INPUT0": 5, "id": "a"}))
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert json.loads(body) == {"OUTPUT0": 5, "id": "a", "model_name": "identity_INT32_1", "model_version": "1"}
    status, headers, body = ask(server, "POST", f"{model}/generate_stream", json.dumps({"INPUT0": [5, 6]}))
    assert (status, headers["Content-Type"]) == (200, "text/event-stream; charset=utf-8")
    assert body.startswith(b"data: ") and body.endswith(b"\n\n") and body.count(b"\n\n") == 1
    assert json.loads(body[len(b"data: "):])["OUTPUT0"] == [5, 6]


def test_bodies_over_the_limit(server):
    path = "/v2/models/identity_FP32_1/infer"
    body = infer_json([1.0])
    exact = body + " " * (LIMIT - len(body))
    assert ask(server, "POST", path, exact)[0] == 200
    status, headers, reply = ask(server, "POST", path, exact + " ")
    assert (status, headers["Connection"]) == (400, "close")
    assert f"{LIMIT + 1} bytes exceeds the maximum allowed input size of {LIMIT}" in json.loads(reply)["error"]
    for pack, name in [(gzip.compress, "gzip"), (zlib.compress, "deflate")]:
        assert ask(server, "POST", path, pack(exact.encode()), {"Content-Encoding": name})[0] == 200
        before = usage(server.pid)["resident_bytes"]
        status, _, reply = ask(server, "POST", path, pack(b" " * (300 << 20)), {"Content-Encoding": name})
        assert status == 400 and "Decompressed data size exceeds" in json.loads(reply)["error"]
        assert usage(server.pid)["resident_bytes"] - before < 64 << 20


def test_bad_requests_leave_nothing_behind(server):
    host, port = server.http_address.rsplit(":", 1)
    bad = [b"\x16\x03\x01\x02\x00", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/1.1\nHost: x\n\n",
           b"POST /v2/models/pairs/infer HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
           b"POST /v2/models/pairs/infer HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n",
           b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n"]

    def send_all():
        for request in bad:
            with socket.create_connection((host, int(port)), timeout=30) as connection:
                connection.sendall(request)
                reply = b""
                while part := connection.recv(65536):
                    reply += part
                assert reply.startswith(b"HTTP/1.1 4") and b'{"error":' in reply, reply
            with socket.create_connection((host, int(port)), timeout=30) as connection:
                connection.sendall(request[:len(request) // 2])

    send_all()
    before = usage(server.pid)
    for _ in range(20):
        send_all()
    # The server may still be on its way to close the last ones.
    deadline = time.monotonic() + 60
    while usage(server.pid)["descriptors"] > before["descriptors"] + 8:
        assert time.monotonic() < deadline, (before, usage(server.pid))
    # Fewer are fine: threads that have nothing to do end after a while.
    assert usage(server.pid)["threads"] <= before["threads"]
    assert ask(server, "GET", "/v2/health/ready")[0] == 200


def test_many_clients_at_once_get_their_own_answers(server):
    def one(worker):
        with server.http_client() as own:
            for i in range(50):
                array = np.full((worker + 1,), worker * 1000 + i, np.int32)
                result = own.infer("identity_INT32_1", [make_input("INT32", array)])
                np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), array)
        return worker

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(one, range(8))) == list(range(8))


def test_an_idle_connection_does_not_hold_up_the_end(tmp_path):
    models.write_model(tmp_path, "m", models.identity_config("m"))
    with Server(tmp_path) as server:
        server.wait_ready()
        connection = http.client.HTTPConnection(server.http_address, timeout=30)
        connection.request("GET", "/v2/health/live")
        assert connection.getresponse().read() == b""
        assert server.stop(timeout=15) == 0
        connection.close()
