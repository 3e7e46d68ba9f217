"""Right answers to the real client: every datatype, many shapes, both ways of sending data."""

import ml_dtypes
import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.server import SANITIZED
from support.triton_program import SERVERS, start
from tritonclient.grpc import service_pb2

SHAPES = [(1,), (7,), (0,), (3, 5), (2, 3, 4), (1, 1, 1, 1, 2)]
RANKS = sorted({len(shape) for shape in SHAPES})


@pytest.fixture(scope="module", params=SERVERS)
def server(request, tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    for triton, config_type, element_type, _ in models.TYPES:
        for rank in RANKS:
            name = f"identity_{triton}_{rank}"
            models.write_model(repository, name, models.identity_config(name, config_type, [-1] * rank))
            name = f"onnx_{triton}_{rank}"
            graph = models.onnx_identity(element_type, [f"d{i}" for i in range(rank)])
            # Without a configuration the backend would take the first dimension for the batch.
            config = (f'name: "{name}" backend: "onnxruntime"\n' +
                      models.tensor_config("input", "INPUT0", config_type, [-1] * rank) +
                      models.tensor_config("output", "OUTPUT0", config_type, [-1] * rank))
            models.write_model(repository, name, config, files={"model.onnx": graph})
    models.write_model(repository, "add_sub", files={"model.onnx": models.onnx_add_sub()})
    models.write_model(repository, "pairs", models.identity_config("pairs", pairs=3, dims=(4,), max_batch_size=8))
    with start(request.param, repository) as running:
        yield running.wait_ready()


@pytest.fixture(scope="module")
def client(server):
    with server.client() as client:
        yield client


def make_input(name, triton, array, shape):
    tensor = grpcclient.InferInput(name, list(shape), triton)
    if triton == "BF16":
        # The client takes float32 for BF16 and cuts it; these values survive that unchanged.
        tensor.set_data_from_numpy(array.astype(np.float32))
    else:
        tensor.set_data_from_numpy(array)
    return tensor


@pytest.mark.parametrize("family", ["identity", "onnx"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("triton,_config,_element,numpy_type", models.TYPES, ids=[t[0] for t in models.TYPES])
def test_every_datatype_and_shape(client, family, triton, _config, _element, numpy_type, shape):
    if numpy_type is None:
        array = models.sample(np.float32, shape).astype(ml_dtypes.bfloat16).astype(np.float32)
    else:
        array = models.sample(numpy_type, shape)
    result = client.infer(f"{family}_{triton}_{len(shape)}", [make_input("INPUT0", triton, array, shape)])
    output = result.get_output("OUTPUT0")
    assert output.datatype == triton
    assert list(output.shape) == list(shape)
    np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), array)


def test_onnx_computes(client):
    a, b = models.sample(np.float32, (4, 16), 2), models.sample(np.float32, (4, 16), 3)
    result = client.infer("add_sub", [make_input("INPUT0", "FP32", a, a.shape), make_input("INPUT1", "FP32", b, b.shape)])
    np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), a + b)
    np.testing.assert_array_equal(result.as_numpy("OUTPUT1"), a - b)


def test_only_the_outputs_asked_for_in_the_order_asked(client):
    arrays = [np.full((2, 4), i, np.float32) for i in range(3)]
    inputs = [make_input(f"INPUT{i}", "FP32", array, array.shape) for i, array in enumerate(arrays)]
    wanted = [grpcclient.InferRequestedOutput(name) for name in ("OUTPUT2", "OUTPUT0")]
    response = client.infer("pairs", inputs, outputs=wanted, request_id="ask").get_response()
    assert sorted(output.name for output in response.outputs) == ["OUTPUT0", "OUTPUT2"]
    assert response.id == "ask"
    assert (response.model_name, response.model_version) == ("pairs", "1")
    result = client.infer("pairs", inputs, outputs=wanted)
    np.testing.assert_array_equal(result.as_numpy("OUTPUT2"), arrays[2])
    np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), arrays[0])


def test_version_may_be_named(client):
    array = np.ones((2, 4), np.float32)
    inputs = [make_input(f"INPUT{i}", "FP32", array, array.shape) for i in range(3)]
    assert client.infer("pairs", inputs, model_version="1").get_response().model_version == "1"


@pytest.mark.parametrize("field,values,triton,numpy_type", [
    ("bool_contents", [True, False], "BOOL", np.bool_),
    ("int_contents", [-5, 127], "INT8", np.int8),
    ("int_contents", [-5, 32767], "INT16", np.int16),
    ("int_contents", [-5, 2**31 - 1], "INT32", np.int32),
    ("int64_contents", [-5, 2**63 - 1], "INT64", np.int64),
    ("uint_contents", [5, 255], "UINT8", np.uint8),
    ("uint_contents", [5, 65535], "UINT16", np.uint16),
    ("uint_contents", [5, 2**32 - 1], "UINT32", np.uint32),
    ("uint64_contents", [5, 2**64 - 1], "UINT64", np.uint64),
    ("fp32_contents", [1.5, -2.25], "FP32", np.float32),
    ("fp64_contents", [1.5, 1e300], "FP64", np.float64),
    ("bytes_contents", [b"", b"two words"], "BYTES", np.object_),
])
def test_typed_contents(server, client, field, values, triton, numpy_type):
    request = service_pb2.ModelInferRequest(model_name=f"identity_{triton}_1")
    tensor = request.inputs.add(name="INPUT0", datatype=triton, shape=[2])
    getattr(tensor.contents, field).extend(values)
    response = client._client_stub.ModelInfer(request)
    assert not response.outputs[0].HasField("contents")
    result = grpcclient.InferResult(response).as_numpy("OUTPUT0")
    np.testing.assert_array_equal(result, np.array(values, dtype=numpy_type))


def test_a_large_tensor(client):
    # The thread sanitizer takes minutes over each megabyte that gRPC, which it does not know, sends.
    array = models.sample(np.float32, (1 << 16 if SANITIZED else 12 << 20,), 5)
    result = client.infer("identity_FP32_1", [make_input("INPUT0", "FP32", array, array.shape)])
    np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), array)


def test_many_clients_at_once_get_their_own_answers(server):
    import concurrent.futures

    def one(worker):
        with server.client() as own:
            for i in range(50):
                array = np.full((worker + 1,), worker * 1000 + i, np.int32)
                result = own.infer("onnx_INT32_1", [make_input("INPUT0", "INT32", array, array.shape)])
                np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), array)
        return worker

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(one, range(8))) == list(range(8))


def test_asyncio_client(server):
    import asyncio

    import tritonclient.grpc.aio as aio

    async def run():
        async with aio.InferenceServerClient(server.address) as own:
            assert await own.is_server_ready()
            array = np.arange(5, dtype=np.int64)
            tensors = [make_input("INPUT0", "INT64", array, array.shape)]
            results = await asyncio.gather(*[own.infer("identity_INT64_1", tensors) for _ in range(20)])
            for result in results:
                np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), array)

    asyncio.run(run())
