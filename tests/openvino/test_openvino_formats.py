"""backends/openvino with OpenVINO itself: formats, configurations that are completed, datatypes, and files that are none."""

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from onnx import TensorProto
from support import openvino_models as models
from support.server import Server
from support.tensorflow_models import TEXT, identity_model
from tritonclient.utils import InferenceServerException

TYPES = {  # of ONNX: numpy, Triton, values that come back as they are
    TensorProto.BOOL: (np.bool_, "BOOL", [True, False, True]),
    TensorProto.UINT8: (np.uint8, "UINT8", [0, 1, 255]),
    TensorProto.UINT16: (np.uint16, "UINT16", [0, 1, 65535]),
    TensorProto.UINT32: (np.uint32, "UINT32", [0, 1, 2**31 - 1]),
    TensorProto.UINT64: (np.uint64, "UINT64", [0, 1, 2**31 - 1]),
    TensorProto.INT8: (np.int8, "INT8", [-128, 0, 127]),
    TensorProto.INT16: (np.int16, "INT16", [-32768, 0, 32767]),
    TensorProto.INT32: (np.int32, "INT32", [-2**31, 0, 2**31 - 1]),
    TensorProto.INT64: (np.int64, "INT64", [-2**31, 0, 2**31 - 1]),
    TensorProto.FLOAT16: (np.float16, "FP16", [-1.5, 0, 65504]),
    TensorProto.FLOAT: (np.float32, "FP32", [-1.5, 0, 3e38]),
    TensorProto.DOUBLE: (np.float64, "FP64", [-1.5, 0, 2.0**100]),
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return tmp_path_factory.mktemp("repository")


@pytest.fixture(scope="module")
def server(repository):
    with Server(repository, *models.OPENVINO, 'plugin.control.use="control/explicit"',
                "plugin.models.strict_readiness=false", "plugin.openvino.tensorflow_models=true") as running:
        yield running.wait_active()


@pytest.fixture
def client(server):
    with server.client() as client:
        yield client


def given(name, array, datatype=None):
    tensor = grpcclient.InferInput(name, array.shape, datatype or "FP32")
    tensor.set_data_from_numpy(array)
    return tensor


def reason_of(client, name):
    with pytest.raises(InferenceServerException) as error:
        client.load_model(name)
    return str(error.value)


def config_of(client, name):
    return client.get_model_config(name, as_json=True)["config"]


def test_onnx_without_a_configuration_gets_one_that_batches(repository, client):
    models.add_model(repository, "add", "model.onnx", models.onnx_add_sub(("batch", 3)), config='backend: "openvino"\n')
    client.load_model("add")
    config = config_of(client, "add")
    assert config["max_batch_size"] == 4 and "dynamic_batching" in config
    assert [(one["name"], one["data_type"], one["dims"]) for one in config["input"]] == [
        ("INPUT0", "TYPE_FP32", ["3"]), ("INPUT1", "TYPE_FP32", ["3"])]
    for rows in (1, 3, 4, 2):  # any size, not the largest alone
        a, b = np.random.rand(2, rows, 3).astype(np.float32)
        answer = client.infer("add", [given("INPUT0", a), given("INPUT1", b)])
        np.testing.assert_array_equal(answer.as_numpy("OUTPUT0"), a + b)
        np.testing.assert_array_equal(answer.as_numpy("OUTPUT1"), a - b)


def test_a_fixed_dimension_stays_fixed(repository, client):
    models.add_model(repository, "fixed", "model.onnx", models.onnx_add_sub((2, "n", 5)), config='backend: "openvino"\n')
    client.load_model("fixed")
    config = config_of(client, "fixed")
    assert "max_batch_size" not in config or config["max_batch_size"] == 0
    assert [one["dims"] for one in config["input"]] == [["2", "-1", "5"]] * 2
    with pytest.raises(InferenceServerException, match="shape"):
        wrong = np.zeros((3, 1, 5), np.float32)
        client.infer("fixed", [given("INPUT0", wrong), given("INPUT1", wrong)])


@pytest.mark.parametrize("kind", TYPES)
def test_identity_of_each_datatype(repository, client, kind):
    numpy_type, datatype, values = TYPES[kind]
    name = f"identity_{datatype}"
    models.add_model(repository, name, "model.onnx", models.onnx_identity(kind, ["batch", 3]), config='backend: "openvino"\n')
    client.load_model(name)
    array = np.array([values, values[::-1]], dtype=numpy_type)
    # A folded Identity gives its output the input's name.
    output = config_of(client, name)["output"][0]["name"]
    found = client.infer(name, [given("INPUT0", array, datatype)],
                         outputs=[grpcclient.InferRequestedOutput(output)]).as_numpy(output)
    assert found.shape == (2, 3) and found.tolist() == array.tolist()


def test_texts(repository, client):
    models.add_model(repository, "texts", "model.saved_model", {"saved_model.pb": identity_model(TEXT, [-1, 3])},
                     config='backend: "openvino"\n')
    client.load_model("texts")
    config = config_of(client, "texts")
    array = np.array([[b"", b"a\0b", b"\0\xff" * 100], [b"x" * 15, b"x" * 16, b"x" * 10_000]], dtype=np.object_)
    output = config["output"][0]["name"]
    found = client.infer("texts", [given(config["input"][0]["name"], array, "BYTES")],
                         outputs=[grpcclient.InferRequestedOutput(output)]).as_numpy(output)
    assert found.tolist() == array.tolist()
    client.unload_model("texts")


def test_texts_of_onnx_are_refused(repository, client):
    """OpenVINO frees the memory of texts twice in such models, which ends the process."""
    models.add_model(repository, "onnx_texts", "model.onnx", models.onnx_identity(TensorProto.STRING, ["batch", 3]),
                     config='backend: "openvino"\n')
    assert "input 'INPUT0' is BYTES" in reason_of(client, "onnx_texts")


def test_64_bits_are_warned_of(repository, client, server):
    models.add_model(repository, "wide", "model.onnx", models.onnx_identity(TensorProto.INT64, ["batch", 3]),
                     config='backend: "openvino"\n')
    client.load_model("wide")
    server.newest_line(r"model 'wide': OpenVINO computes INT64 and UINT64 in 32 bits")


def test_saved_model_of_tensorflows_platform(repository, client):
    models.add_model(repository, "saved", "model.savedmodel", models.tf_saved_model(3.0),
                     config='platform: "tensorflow_savedmodel"\n')
    client.load_model("saved")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(client.infer("saved", [given("features", x)]).as_numpy("scores"), 3 * x)


def test_saved_model_under_tritons_name(repository, client):
    models.add_model(repository, "saved_ov", "model.saved_model", models.tf_saved_model(4.0),
                     config='backend: "openvino" default_model_filename: "model.saved_model"\n')
    client.load_model("saved_ov")
    x = np.arange(3, dtype=np.float32).reshape(1, 3)
    np.testing.assert_array_equal(client.infer("saved_ov", [given("features", x)]).as_numpy("scores"), 4 * x)


def test_graphdef(repository, client):
    models.add_model(repository, "graph", "model.graphdef", models.tf_graph(5.0), config='platform: "tensorflow_graphdef"\n')
    client.load_model("graph")
    config = config_of(client, "graph")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    answer = client.infer("graph", [given(config["input"][0]["name"], x)])
    np.testing.assert_array_equal(answer.as_numpy(config["output"][0]["name"]), 5 * x)


def test_graphdef_with_the_names_that_tensorflows_users_write(repository, client):
    models.add_model(repository, "graph_x", "model.graphdef", models.tf_graph(6.0), config=(
        'platform: "tensorflow_graphdef" max_batch_size: 4 input { name: "x" data_type: TYPE_FP32 dims: 3 }\n'
        'output { name: "y" data_type: TYPE_FP32 dims: 3 }\n'))
    client.load_model("graph_x")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(client.infer("graph_x", [given("x", x)]).as_numpy("y"), 6 * x)


@pytest.mark.parametrize("name, content, expected", [
    ("model.onnx", b"not a model", "first bytes are not those of an ONNX file"),
    ("model.onnx", b"\x08\x07 but no model", "cannot be read as ONNX"),
    ("model.xml", b"<?xml version='1.0'?><html/>", "first bytes are not those of an OpenVINO IR"),
    ("model.xml", b"<?xml version='1.0'?><net name='x'", "cannot be read as OpenVINO IR"),
    ("model.xml", b"<?xml version='1.0'?><net name='x' version='11'><layers></layers></net>", "a model file without outputs"),
    ("model.tflite", b"\0\0\0\0TFL2", "first bytes are not those of a TensorFlow Lite"),
    ("model.tflite", b"\0\0\0\0TFL3 and nothing", "cannot be read as TensorFlow Lite"),
    ("model.gguf", b"GGUF", "expected the suffix .xml"),
    ("model.xml", b"", "empty file"),
])
def test_what_is_no_model(repository, client, server, name, content, expected):
    model = f"none_{abs(hash((name, content)))}"
    models.add_model(repository, model, name, content, config=f'backend: "openvino" default_model_filename: "{name}"\n')
    assert expected in reason_of(client, model)
    assert client.is_server_live()


def test_gpu_instances_are_refused(repository, client):
    models.add_model(repository, "gpu", "model.onnx", models.onnx_add_sub(),
                     config='backend: "openvino" instance_group { kind: KIND_MODEL }\n')
    assert "expected KIND_CPU" in reason_of(client, "gpu")


@pytest.mark.parametrize("key, value", [("NUM_STREAMS", "many"), ("INFERENCE_NUM_THREADS", "-1"), ("PERFORMANCE_HINT", "FAST"),
                                        ("ENABLE_BATCH_PADDING", "perhaps"), ("TARGET_DEVICE", "GPU"),
                                        ("CPU_EXTENSION_PATH", "model.onnx")])
def test_bad_parameters_fail_the_load(repository, client, key, value):
    name = f"bad_{key}"
    models.add_model(repository, name, "model.onnx", models.onnx_add_sub(), config='backend: "openvino"\n', parameters={key: value})
    assert f"parameter '{key}': found '{value}'" in reason_of(client, name)
