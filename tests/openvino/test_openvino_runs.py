"""backends/openvino with OpenVINO itself: runs that fail, memory, and loads without end."""

import concurrent.futures
import pathlib

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import openvino_models as models
from support.reloads import check_reloads_are_flat
from support.server import Server
from support.tensorflow_models import TEXT, identity_model
from tritonclient.utils import InferenceServerException

CONFIG = 'backend: "openvino"\n'


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return tmp_path_factory.mktemp("repository")


@pytest.fixture(scope="module")
def server(repository):
    with Server(repository, *models.OPENVINO, 'plugin.control.use="control/explicit"', "plugin.models.strict_readiness=false",
                "plugin.openvino.threads=2", "plugin.openvino.shapes_kept=100") as running:
        yield running.wait_active()


@pytest.fixture
def client(server):
    with server.client() as client:
        yield client


def given(name, array, datatype="FP32"):
    tensor = grpcclient.InferInput(name, array.shape, datatype)
    tensor.set_data_from_numpy(array)
    return tensor


def resident_mib(server):
    text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith("VmRSS:")).split()[1]) / 1024


@pytest.mark.parametrize("threads, streams", [("1", None), ("1", "0"), ("1", "1"), ("2", "0"), ("2", "1"), ("2", "2"), ("0", "AUTO")])
def test_errors_of_failed_runs_are_never_lost(repository, client, threads, streams):
    """OpenVINO's synchronous call answers OK, with what was there before, if the model has one thread of its own."""
    name = f"fails_{threads}_{streams}"
    parameters = {"INFERENCE_NUM_THREADS": threads} | ({"NUM_STREAMS": streams} if streams else {})
    models.add_model(repository, name, "model.onnx", models.onnx_add_sub(("rows", "columns")), parameters=parameters,
                     config=CONFIG + 'max_batch_size: 0\n' + "".join(
                         f'{kind} {{ name: "{tensor}" data_type: TYPE_FP32 dims: [ -1, -1 ] }}\n'
                         for kind, tensor in [("input", "INPUT0"), ("input", "INPUT1"), ("output", "OUTPUT0"), ("output", "OUTPUT1")]))
    client.load_model(name)
    good = [given("INPUT0", np.ones((2, 3), np.float32)), given("INPUT1", np.ones((2, 3), np.float32))]
    bad = [given("INPUT0", np.ones((2, 3), np.float32)), given("INPUT1", np.ones((4, 5), np.float32))]
    for _ in range(3):
        np.testing.assert_array_equal(client.infer(name, good).as_numpy("OUTPUT0"), np.full((2, 3), 2, np.float32))
        with pytest.raises(InferenceServerException, match="mismatch|shape"):
            client.infer(name, bad)


def test_instances_run_side_by_side_with_right_answers(repository, client, server):
    models.add_model(repository, "pair", "model.onnx", models.onnx_add_sub(("batch", 100)),
                     config=CONFIG + "instance_group { count: 2 kind: KIND_CPU }\n")
    client.load_model("pair")

    def ask(number):
        with server.client() as own:
            for i in range(30):
                a = np.full((1 + i % 4, 100), number, np.float32)
                found = own.infer("pair", [given("INPUT0", a), given("INPUT1", a)]).as_numpy("OUTPUT0")
                np.testing.assert_array_equal(found, a * 2)

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(ask, range(6)))


def test_large_tensors(repository, client):
    models.add_model(repository, "large", "model.onnx", models.onnx_add_sub(("batch", "n")), config=CONFIG)
    client.load_model("large")
    for width in (3, 300_000, 5, 200_000, 3):
        a, b = np.random.rand(2, 2, width).astype(np.float32)
        answer = client.infer("large", [given("INPUT0", a), given("INPUT1", b)])
        np.testing.assert_array_equal(answer.as_numpy("OUTPUT0"), a + b)


def test_padded_batches(repository, client):
    models.add_model(repository, "padded", "model.onnx", models.onnx_add_sub(("batch", 3)), config=CONFIG,
                     parameters={"ENABLE_BATCH_PADDING": "YES"})
    client.load_model("padded")
    for rows in (1, 4, 3):
        a, b = np.random.rand(2, rows, 3).astype(np.float32)
        np.testing.assert_array_equal(client.infer("padded", [given("INPUT0", a), given("INPUT1", b)]).as_numpy("OUTPUT1"), a - b)


def test_a_model_of_one_batch_size_takes_smaller_batches(repository, client):
    tensors = "".join(f'{kind} {{ name: "{name}" data_type: TYPE_FP32 dims: 3 }}\n' for kind, name in [
        ("input", "INPUT0"), ("input", "INPUT1"), ("output", "OUTPUT0"), ("output", "OUTPUT1")])
    models.add_model(repository, "four", "model.onnx", models.onnx_add_sub((4, 3)), config=CONFIG + "max_batch_size: 4\n" + tensors)
    client.load_model("four")
    a, b = np.random.rand(2, 2, 3).astype(np.float32)
    np.testing.assert_array_equal(client.infer("four", [given("INPUT0", a), given("INPUT1", b)]).as_numpy("OUTPUT0"), a + b)


def test_memory_after_many_shapes(repository, client, server):
    weights = np.random.default_rng(1).standard_normal((64, 10)).astype(np.float32)
    models.add_model(repository, "shapes", "model.onnx", models.onnx_dense(weights), config=CONFIG + "max_batch_size: 100000\n")
    client.load_model("shapes")
    x = np.random.default_rng(2).standard_normal((2300, 64)).astype(np.float32)

    def ask(sizes):
        for rows in sizes:
            found = client.infer("shapes", [given("INPUT0", x[:rows])]).as_numpy("OUTPUT0")
            assert found.shape == (rows, 10)
        np.testing.assert_allclose(found, np.maximum(x[:rows] @ weights, 0), rtol=1e-4, atol=1e-4)

    ask(range(1, 250))
    before = resident_mib(server)
    ask(range(250, 2250))
    assert resident_mib(server) - before < 60


def test_loads_and_unloads_without_end(repository, client, server):
    models.add_model(repository, "again", "model.onnx", models.onnx_add_sub(), config=CONFIG)
    a = np.ones((1, 3), np.float32)

    def load_run_unload():
        client.load_model("again")
        client.infer("again", [given("INPUT0", a), given("INPUT1", a)])
        client.unload_model("again")

    check_reloads_are_flat(server, load_run_unload)


def test_texts_keep_zero_bytes_in_batches_of_any_size(repository, client):
    models.add_model(repository, "texts", "model.saved_model", {"saved_model.pb": identity_model(TEXT, [-1, 2])}, config=CONFIG)
    client.load_model("texts")
    config = client.get_model_config("texts", as_json=True)["config"]
    [tensor], [output] = [one["name"] for one in config["input"]], [one["name"] for one in config["output"]]
    for rows in (1, 4, 2) * 5:
        array = np.array([[f"row {i}".encode() + b"\0\0", b"\0" * 1000] for i in range(rows)], dtype=np.object_)
        found = client.infer("texts", [given(tensor, array, "BYTES")],
                             outputs=[grpcclient.InferRequestedOutput(output)]).as_numpy(output)
        assert found.tolist() == array.tolist()


def test_a_cache_of_compiled_models(repository, tmp_path):
    models.add_model(tmp_path / "models", "cached", "model.onnx", models.onnx_add_sub(), config=CONFIG)
    for _ in range(2):
        with Server(tmp_path / "models", *models.OPENVINO, f'plugin.openvino.cache_dir="{tmp_path}/cache"') as running:
            running.wait_ready("cached")
            with running.client() as client:
                a = np.ones((2, 3), np.float32)
                client.infer("cached", [given("INPUT0", a), given("INPUT1", a)])
    assert list((tmp_path / "cache").glob("*.blob"))


def test_a_library_that_is_none(tmp_path):
    models.add_model(tmp_path / "models", "m", "model.onnx", models.onnx_add_sub(), config=CONFIG)
    with Server(tmp_path / "models", *models.OPENVINO, 'plugin.openvino.library="/nowhere/libopenvino_c.so"',
                'plugin.control.use="control/explicit"', "plugin.models.strict_readiness=false") as running:
        with running.wait_active().client() as client, pytest.raises(InferenceServerException, match="OpenVINO cannot be used") as error:
            client.load_model("m")
    assert "/nowhere/libopenvino_c.so" in str(error.value)
