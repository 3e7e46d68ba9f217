"""backends/tensorflow with the real library, on models that the test writes; over HTTP and gRPC. Left out where
etc/dev/fetch-tensorflow has not been run."""

import json
import shutil
import urllib.request

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import tensorflow_models as tf
from support.reloads import check_reloads_are_flat
from support.server import Server
from tritonclient.utils import InferenceServerException

TENSORFLOW = ('plugin.tensorflow.use="backends/tensorflow"',)  # finds its library by itself
CONTROL = ('plugin.control.use="control/explicit"', "plugin.models.strict_readiness=false")
TYPES = {"BOOL": tf.BOOL, "UINT8": tf.UINT8, "UINT16": tf.UINT16, "UINT32": tf.UINT32, "UINT64": tf.UINT64, "INT8": tf.INT8,
         "INT16": tf.INT16, "INT32": tf.INT32, "INT64": tf.INT64, "FP16": tf.FP16, "FP32": tf.FLOAT, "FP64": tf.DOUBLE}
NUMPY = {"BOOL": np.bool_, "UINT8": np.uint8, "UINT16": np.uint16, "UINT32": np.uint32, "UINT64": np.uint64, "INT8": np.int8,
         "INT16": np.int16, "INT32": np.int32, "INT64": np.int64, "FP16": np.float16, "FP32": np.float32, "FP64": np.float64}


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return tmp_path_factory.mktemp("repository")


@pytest.fixture(scope="module")
def server(repository):
    with Server(repository, *TENSORFLOW, *CONTROL) as running:
        yield running.wait_active()


@pytest.fixture
def client(server):
    with server.client() as client:
        yield client


def ask(client, model, datatype="FP32", outputs=("OUTPUT",), **inputs):
    tensors = []
    for name, values in inputs.items():
        tensor = grpcclient.InferInput(name, list(values.shape), datatype)
        tensor.set_data_from_numpy(values)
        tensors.append(tensor)
    answer = client.infer(model, tensors, outputs=[grpcclient.InferRequestedOutput(name) for name in outputs])
    found = [answer.as_numpy(name) for name in outputs]
    return found[0] if len(found) == 1 else found


def config_of(server, model):
    with urllib.request.urlopen(f"http://{server.http_address}/v2/models/{model}/config", timeout=30) as answer:
        return json.load(answer)


def reason_of(client, name):
    with pytest.raises(InferenceServerException) as error:
        client.load_model(name)
    return str(error.value)


def sum_model(name="serving_default"):
    return tf.saved_model(tf.meta_graph(
        [tf.placeholder("a", tf.FLOAT, [-1, 2]), tf.placeholder("b", tf.FLOAT, [-1, 2]), tf.binary("c", "AddV2", "a", "b")],
        [tf.signature(name, [tf.tensor("A", "a:0", tf.FLOAT, [-1, 2]), tf.tensor("B", "b:0", tf.FLOAT, [-1, 2])],
                      [tf.tensor("OUTPUT", "c:0", tf.FLOAT, [-1, 2])])]))


def test_a_model_needs_no_configuration(server, client, repository):
    tf.add_saved_model(repository, "sums", sum_model(), config=None)
    client.load_model("sums")
    config = config_of(server, "sums")
    assert (config["platform"], config["max_batch_size"]) == ("tensorflow_savedmodel", 4)
    assert "dynamic_batching" in config and config["instance_group"][0]["count"] == 2
    assert [(one["name"], one["data_type"], [int(dim) for dim in one["dims"]]) for one in config["input"]] == [
        ("A", "TYPE_FP32", [2]), ("B", "TYPE_FP32", [2])]
    a, b = np.array([[1, 2], [3, 4]], np.float32), np.full((2, 2), 10, np.float32)
    np.testing.assert_array_equal(ask(client, "sums", A=a, B=b), a + b)
    np.testing.assert_array_equal(a, [[1, 2], [3, 4]])


@pytest.mark.parametrize("datatype", TYPES)
def test_every_datatype_comes_back_as_it_went(client, repository, datatype):
    name = f"identity_{datatype}"
    tf.add_saved_model(repository, name, tf.identity_model(TYPES[datatype], [-1, 3]))
    client.load_model(name)
    kind = np.iinfo(NUMPY[datatype]) if "INT" in datatype else None
    values = np.array([[0, 1, 1]] if kind is None else [[kind.min, 0, kind.max]], NUMPY[datatype])
    np.testing.assert_array_equal(ask(client, name, datatype, INPUT=values), values)
    client.unload_model(name)


def test_texts_keep_bytes_that_are_zero(client, repository):
    tf.add_saved_model(repository, "texts", tf.identity_model(tf.TEXT, [-1]), "max_batch_size: 0 input { name: 'INPUT' dims: -1 }")
    client.load_model("texts")
    texts = np.array([b"a\0b", b"", b"x" * 1000, bytes(range(256)), b"exactly 22 bytes long!"], np.object_)
    for _ in range(3):
        assert list(ask(client, "texts", "BYTES", INPUT=texts)) == list(texts)


def test_a_text_operation(client, repository):
    nodes = [tf.placeholder("x", tf.TEXT, [-1]), tf.node("y", "StringLength", ["x"], unit=tf.message(2, "BYTE"))]
    tf.add_saved_model(repository, "length", tf.saved_model(tf.meta_graph(nodes, [tf.signature(
        "serving_default", [tf.tensor("INPUT", "x:0", tf.TEXT, [-1])], [tf.tensor("OUTPUT", "y:0", tf.INT32, [-1])])])),
        "input { name: 'INPUT' dims: -1 } output { name: 'OUTPUT' dims: -1 }")
    client.load_model("length")
    texts = np.array([b"a\0b", b"", b"x" * 1000], np.object_)
    assert list(ask(client, "length", "BYTES", INPUT=texts)) == [3, 0, 1000]


def test_scalars_and_unknown_ranks(client, repository):
    tf.add_saved_model(repository, "scalar", tf.identity_model(tf.INT32, []))
    client.load_model("scalar")
    assert list(ask(client, "scalar", "INT32", INPUT=np.array([7], np.int32))) == [7]
    tensor_config = "{ name: '%s' data_type: TYPE_FP32 dims: [ -1, 2 ] }"
    tf.add_saved_model(repository, "any_rank", tf.identity_model(tf.FLOAT, None),
                       f"max_batch_size: 2 input {tensor_config % 'INPUT'} output {tensor_config % 'OUTPUT'}")
    client.load_model("any_rank")
    values = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    np.testing.assert_array_equal(ask(client, "any_rank", INPUT=values), values)


@pytest.mark.parametrize("parameters, expected", [
    ({}, [2, 3]), ({"TF_SIGNATURE_DEF": "other"}, [2, 4]), ({"TF_GRAPH_TAG": "train"}, [1, 4]),
    ({"TF_NUM_INTRA_THREADS": "1", "TF_NUM_INTER_THREADS": "2", "TF_USE_PER_SESSION_THREADS": "true"}, [2, 3])])
def test_tags_signatures_and_threads(client, repository, parameters, expected):
    name = "chosen_" + "_".join(parameters)
    nodes = [tf.placeholder("x", tf.FLOAT, [2]), tf.constant("one", [], [1.0]), tf.binary("y", "AddV2", "x", "one"),
             tf.binary("z", "AddV2", "x", "x"), tf.binary("s", "Mul", "x", "x")]
    to = {place: [[tf.tensor("INPUT", "x:0", tf.FLOAT, [2])], [tf.tensor("OUTPUT", place, tf.FLOAT, [2])]] for place in ("y:0", "z:0", "s:0")}
    text = "".join(f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n' for key, value in parameters.items())
    tf.add_saved_model(repository, name, tf.saved_model(
        tf.meta_graph(nodes, [tf.signature("serving_default", *to["y:0"]), tf.signature("other", *to["z:0"])]),
        tf.meta_graph(nodes, [tf.signature("serving_default", *to["s:0"])], tags=("train", "more"))), text)
    client.load_model(name)
    assert list(ask(client, name, INPUT=np.array([1, 2], np.float32))) == expected


def test_init_operations_give_variables_their_values(client, repository):
    nodes = [tf.placeholder("x", tf.FLOAT, [2]), tf.variable("v", [2]), tf.constant("start", [2], [40.0, 50.0]),
             tf.assign("set", "v", "start"), tf.binary("y", "AddV2", "x", "v")]
    content = tf.saved_model(tf.meta_graph(nodes, [tf.signature(
        "serving_default", [tf.tensor("INPUT", "x:0", tf.FLOAT, [2])], [tf.tensor("OUTPUT", "y:0", tf.FLOAT, [2])])]))
    parameter = 'parameters { key: "TF_INIT_OPS_FILE" value { string_value: "init.json" } }'
    version = tf.add_saved_model(repository, "initialised", content, parameter)
    (version / "init.json").write_text('{"init_ops": ["set"]}')
    client.load_model("initialised")
    assert list(ask(client, "initialised", INPUT=np.array([2, 3], np.float32))) == [42, 53]
    tf.add_saved_model(repository, "uninitialised", content)
    client.load_model("uninitialised")
    with pytest.raises(InferenceServerException, match="ninitialized value v"):
        ask(client, "uninitialised", INPUT=np.array([2, 3], np.float32))


def test_a_variable_keeps_no_memory_of_a_request(client, repository):
    """An operation may keep its argument beyond the run; the next request reads what the one before has assigned."""
    nodes = [tf.placeholder("x", tf.FLOAT, [64]), tf.variable("v", [64]), tf.assign("set", "v", "x"), tf.identity("old", "v", tf.FLOAT),
             tf.constant("zero", [], [0.0]), tf.placeholder("any", tf.FLOAT, [1])]
    inputs = [tf.tensor("INPUT", "x:0", tf.FLOAT, [64])]
    tf.add_saved_model(repository, "keeps", tf.saved_model(tf.meta_graph(nodes, [tf.signature(
        "serving_default", inputs, [tf.tensor("OLD", "old:0", tf.FLOAT, [64]), tf.tensor("OUTPUT", "set:0", tf.FLOAT, [64])])])),
        "instance_group { count: 1 kind: KIND_CPU }")
    client.load_model("keeps")
    for n in range(20):
        values = np.full(64, n, np.float32)
        np.testing.assert_array_equal(ask(client, "keeps", INPUT=values), values)
        other = np.full(64, -1, np.float32)
        np.testing.assert_array_equal(ask(client, "keeps", outputs=("OLD",), INPUT=other), values)


def test_a_graph_def(client, repository):
    nodes = [tf.placeholder("a", tf.FLOAT, [-1, 2]), tf.placeholder("b", tf.FLOAT, [-1, 2]), tf.binary("c", "Sub", "a", "b")]
    one = "{ name: '%s' data_type: TYPE_FP32 dims: 2 }"
    tf.add_graph_def(repository, "graph", nodes, f"max_batch_size: 8 input [ {one % 'a'}, {one % 'b'} ] output {one % 'c'}")
    client.load_model("graph")
    a, b = np.array([[5, 6]], np.float32), np.array([[1, 1]], np.float32)
    np.testing.assert_array_equal(ask(client, "graph", outputs=("c",), a=a, b=b), a - b)


@pytest.mark.parametrize("config, text", [
    ("instance_group { kind: KIND_GPU gpus: 0 }", "GPU"),
    ("input { name: 'A' data_type: TYPE_INT32 dims: 2 }", "unexpected datatype INT32 for input 'A', expecting FP32"),
    ("input { name: 'C' data_type: TYPE_FP32 dims: 2 }", "unexpected inference input 'C', allowed inputs are: A, B"),
    ("parameters { key: 'TF_SIGNATURE_DEF' value { string_value: 'no' } }", "found 'no', expected a signature of the model: 'serving_default'"),
    ("model_operations { op_library_filename: '/lib/x86_64-linux-gnu/libm.so.6' }", "expected a file inside the model's folder")])
def test_what_does_not_fit_is_told(client, repository, config, text):
    name = f"wrong_{abs(hash(config))}"
    tf.add_saved_model(repository, name, sum_model(), config)
    assert text in reason_of(client, name)


@pytest.mark.parametrize("content, text", [
    (b"", "found an empty file"), (b"no such thing", "expected a SavedModel"),
    (tf.saved_model(tf.meta_graph([b"\x0a\x03abc"], [])), "expected a signature of the model: none"),
    (tf.saved_model(tf.meta_graph([tf.placeholder("x", tf.FLOAT, [1]), tf.node("y", "NoSuchOperation")], [tf.signature(
        "serving_default", [tf.tensor("INPUT", "x:0", tf.FLOAT, [1])], [tf.tensor("OUTPUT", "y:0", tf.FLOAT, [1])])])), "NoSuchOperation")])
def test_what_is_no_model_is_told(server, client, repository, content, text):
    name = f"none_{abs(hash(content))}"
    tf.add_saved_model(repository, name, content)
    assert text in reason_of(client, name)
    assert server.process.poll() is None


def test_a_net_with_variables_answers_as_its_twin_in_onnx(client, repository):
    folder = tf.basic_pitch_folder()
    (repository / "pitch" / "1").mkdir(parents=True)
    shutil.copytree(folder / "nmp", repository / "pitch" / "1" / "model.savedmodel")
    (repository / "twin" / "1").mkdir(parents=True)
    shutil.copy(folder / "nmp.onnx", repository / "twin" / "1" / "model.onnx")
    for name in ("pitch", "twin"):
        client.load_model(name)
    outputs = [one.name for one in client.get_model_metadata("twin").outputs]
    [input_name] = [one.name for one in client.get_model_metadata("twin").inputs]
    # Noise, which leaves no band silent: the net takes logarithms, and that of a silent one is that of rounding errors.
    samples = np.random.default_rng(1).uniform(-1, 1, (2, 43844, 1)).astype(np.float32)
    found = ask(client, "pitch", outputs=("contour", "note", "onset"), input_2=samples)
    by_shape = [ask(client, "twin", outputs=(name,), **{input_name: samples}) for name in outputs]
    assert found[1].max() > 0.1
    for values in found:
        nearest = min(np.abs(values - other).max() for other in by_shape if other.shape == values.shape)
        assert nearest < 1e-3


def test_loading_again_and_again_takes_no_memory(server, client, repository):
    weights = tf.constant("w", [250_000], [1.0] * 250_000)
    nodes = [tf.placeholder("x", tf.FLOAT, [250_000]), weights, tf.binary("y", "AddV2", "x", "w")]
    tf.add_saved_model(repository, "heavy", tf.saved_model(tf.meta_graph(nodes, [tf.signature(
        "serving_default", [tf.tensor("INPUT", "x:0", tf.FLOAT, [250_000])], [tf.tensor("OUTPUT", "y:0", tf.FLOAT, [250_000])])])))

    def load_run_unload():
        client.load_model("heavy")
        ask(client, "heavy", INPUT=np.ones(250_000, np.float32))
        client.unload_model("heavy")

    check_reloads_are_flat(server, load_run_unload)  # a fiftieth of the weights kept each time would be more


def test_tensorflow_writes_nothing_to_the_log(server):
    lines = [line for line in server.lines if "tensorflow/" in line]
    assert lines == [], lines
