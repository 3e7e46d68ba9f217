"""The models of etc/examples/python_models, whole in one server, asked by the real clients over HTTP and gRPC."""

import json
import queue
import re
import shutil
import subprocess
import sys
import urllib.request

import numpy as np
import pytest
import sklearn.datasets
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support import python_models
from support.server import ROOT, Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

MODELS = ROOT / "etc/examples/python_models/models"
WITH_PYTORCH = ROOT / "etc/examples/python_models/models_with_pytorch"
A, B = np.array([1, 2, 3, 4], np.float32), np.array([10, 20, 30, 40], np.float32)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    for models in (MODELS, WITH_PYTORCH):
        shutil.copytree(models, folder / "models", dirs_exist_ok=True)
    subprocess.run([sys.executable, ROOT / "etc/models/train_digits.py", "--output", folder / "models",
                    "--heldout", folder / "heldout.npz"], check=True)
    # Debian's PyTorch has Debian's Python.
    with open(folder / "models/pytorch_linear/config.pbtxt", "a") as config:
        config.write('parameters { key: "PYTHON_EXECUTABLE" value { string_value: "/usr/bin/python3" } }\n')
    with Server(folder / "models", python_models.INTERPRETER) as running:
        for model in sorted(path.name for models in (MODELS, WITH_PYTORCH) for path in models.iterdir()):
            running.wait_ready(model)
        yield running


@pytest.fixture(params=[grpcclient, httpclient], ids=["grpc", "http"])
def ask(server, request):
    """ask(model, {input: array}, ...) is the client's result."""
    module = request.param
    with (server.client() if module is grpcclient else server.http_client()) as client:
        yield lambda model, arrays, **more: client.infer(model, given(module, arrays), **more)


def given(module, arrays):
    inputs = []
    for name, array in arrays.items():
        inputs.append(module.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype)))
        inputs[-1].set_data_from_numpy(array)
    return inputs


class Stream:
    """One gRPC stream. Use as a context manager."""

    def __init__(self, server):
        self._client, self._answers = server.client(), queue.Queue()

    def __enter__(self):
        self._client.start_stream(lambda result, error: self._answers.put((result, error)))
        return self

    def __exit__(self, *_):
        self._client.stop_stream(cancel_requests=True)  # else it waits for the end of all that was sent
        self._client.close()

    def send(self, model, arrays, **more):
        self._client.async_stream_infer(model, given(grpcclient, arrays), enable_empty_final_response=True, **more)

    def next(self):
        """The next response."""
        result, error = self._answers.get(timeout=60)
        if error is not None:
            raise error
        return result

    def rest(self, output, streams=1):
        """What is still to come of so many requests: values by request id."""
        values = {}
        while streams > 0:
            result = self.next()
            message = result.get_response()
            found = values.setdefault(message.id, [])
            if (array := result.as_numpy(output)) is not None:
                found += array.ravel().tolist()
            streams -= message.parameters["triton_final_response"].bool_param
        return values


def numbers(*values):
    return np.array(values, np.int32)


@pytest.mark.parametrize("model, shape", [("add_sub", (4,)), ("auto_complete", (1, 4)), ("auto_complete_unbatched", (4,))])
def test_sum_and_difference(ask, model, shape):
    result = ask(model, {"INPUT0": A.reshape(shape), "INPUT1": B.reshape(shape)})
    np.testing.assert_array_equal(result.as_numpy("SUM"), (A + B).reshape(shape))
    np.testing.assert_array_equal(result.as_numpy("DIFFERENCE"), (A - B).reshape(shape))


def test_configurations_are_completed(server):
    with server.client() as client:
        completed = client.get_model_config("auto_complete", as_json=True)["config"]
        assert completed["max_batch_size"] == 8 and "dynamic_batching" in completed
        unbatched = client.get_model_config("auto_complete_unbatched", as_json=True)["config"]
        assert "max_batch_size" not in unbatched and "dynamic_batching" not in unbatched
        for config in (completed, unbatched):
            assert [(tensor["name"], tensor["data_type"], tensor["dims"]) for tensor in config["input"] + config["output"]] == [
                (name, "TYPE_FP32", ["4"]) for name in ("INPUT0", "INPUT1", "SUM", "DIFFERENCE")]


def test_a_model_asks_the_one_that_is_named(ask):
    for model in ("add_sub", "auto_complete_unbatched"):
        result = ask("bls_sync", {"INPUT0": A, "INPUT1": B, "MODEL": np.array([model.encode()], np.object_)})
        np.testing.assert_array_equal(result.as_numpy("SUM"), A + B)
        np.testing.assert_array_equal(result.as_numpy("DIFFERENCE"), A - B)
    with pytest.raises(InferenceServerException, match="Model 'nobody' is not ready"):
        ask("bls_sync", {"INPUT0": A, "INPUT1": B, "MODEL": np.array([b"nobody"], np.object_)})


def test_a_model_asks_two_at_a_time(ask):
    np.testing.assert_array_equal(ask("bls_async", {"INPUT0": A, "INPUT1": B}).as_numpy("PRODUCT"), (A + B) * (A - B))


@pytest.mark.parametrize("number", [0, 1, 20])
def test_a_model_reads_streams_of_another(ask, number):
    assert ask("bls_decoupled_sync", {"IN": numbers(number)}).as_numpy("OUT") == number ** 2
    assert ask("bls_decoupled_async", {"IN": numbers(number)}).as_numpy("OUT") == number ** 2 + (number + 1) ** 2


def test_streams_of_one_model_run_side_by_side(server):
    with Stream(server) as stream:
        for number in (7, 0, 1, 3):
            stream.send("square", {"IN": numbers(number)}, request_id=str(number))
        assert stream.rest("OUT", 4) == {str(number): [number] * number for number in (7, 0, 1, 3)}


def test_repeated_values_with_their_pauses(server):
    with Stream(server) as stream:
        stream.send("repeat", {"IN": numbers(4, 2, 0, 1), "DELAY_MS": np.array([1, 20, 0, 5], np.uint32)}, request_id="r")
        first = stream.next()
        assert (first.as_numpy("OUT"), first.as_numpy("INDEX")) == (4, 0)
        assert stream.rest("OUT") == {"r": [2, 0, 1]}
        stream.send("repeat", {"IN": numbers(), "DELAY_MS": np.array([], np.uint32)}, request_id="none")
        assert stream.rest("OUT") == {"none": []}
        stream.send("repeat", {"IN": numbers(1, 2), "DELAY_MS": np.array([0], np.uint32)})
        with pytest.raises(InferenceServerException, match="IN has 2 elements and DELAY_MS 1"):
            stream.next()


def test_a_stream_over_http(server):
    request = urllib.request.Request(f"http://{server.http_address}/v2/models/async_stream/generate_stream",
                                     b'{"TEXT": "one at a time"}')
    lines = urllib.request.urlopen(request, timeout=60).read().decode().splitlines()
    assert [line.split('"WORD":"')[1].split('"')[0] for line in lines if "WORD" in line] == ["one", "at", "a", "time"]


def test_coroutines_serve_many_streams(server):
    with Stream(server) as stream:
        texts = {str(i): [f"w{i}".encode()] * (5 + i) for i in range(20)}
        for key, words in texts.items():
            stream.send("async_stream", {"TEXT": np.array([b" ".join(words)], np.object_)}, request_id=key)
        assert stream.rest("WORD", 20) == texts


def test_metrics_of_the_model(server, ask):
    def metric(name):
        page = urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=60).read().decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in page.splitlines() if line.startswith(name) and "custom_metrics" in line)

    before = metric("example_requests_total"), metric("example_numbers_count"), metric("example_numbers_sum")
    ask("custom_metrics", {"IN": numbers(3, 50).reshape(2, 1)})
    after = metric("example_requests_total"), metric("example_numbers_count"), metric("example_numbers_sum")
    assert np.subtract(after, before).tolist() == [1, 2, 53]
    assert metric("example_last_number") == 50


def test_rescheduled_requests_take_turns(server):
    with Stream(server) as stream:
        counts = (5, 1, 3)
        for count in counts:
            stream.send("rescheduling", {"COUNT": numbers(count).reshape(1, 1)}, request_id=str(count))
        assert stream.rest("STEP", 3) == {str(count): list(range(count - 1, -1, -1)) for count in counts}


def test_instances_know_where_they_are(ask):
    seen = set()
    for _ in range(10):
        result = ask("instance_kind", {"ANY": numbers(0)})
        assert (result.as_numpy("KIND")[0], result.as_numpy("DEVICE")[0]) == (b"CPU", b"0")
        seen.add(result.as_numpy("INSTANCE")[0])
    assert seen <= {b"instance_kind_0_0", b"instance_kind_0_1"}, seen


def test_parameters_come_back(ask):
    result = ask("parameters", {"ANY": numbers(0)}, parameters={"a": 1, "b": "two", "c": True})
    assert result.as_numpy("COUNT") == 3
    returned = result.get_response()["parameters"] if isinstance(result, httpclient.InferResult) else {
        key: getattr(value, value.WhichOneof("parameter_choice")) for key, value in result.get_response().parameters.items()}
    assert {key: returned[key] for key in ("a", "b", "c", "greeting")} == {"a": 1, "b": "two", "c": True, "greeting": "hello"}


def test_a_stream_ends_with_its_client(server):
    seen = server.log.count("cancelled")
    with Stream(server) as stream:
        stream.send("cancellation", {"PAUSE_MS": numbers(1)})
        assert [stream.next().as_numpy("NUMBER")[0] for _ in range(3)] == [0, 1, 2]
    eventually(lambda: server.log.count("cancelled") > seen)
    with Stream(server) as stream:  # the instance is free again
        stream.send("cancellation", {"PAUSE_MS": numbers(1)})
        assert stream.next().as_numpy("NUMBER")[0] == 0


def test_sequences_have_their_own_sums(ask):
    def send(number, sequence, **more):
        return ask("running_sum", {"NUMBER": numbers(number)}, sequence_id=sequence, **more).as_numpy("SUM")[0]

    assert [send(1, 11, sequence_start=True), send(10, 12, sequence_start=True)] == [1, 10]
    assert [send(2, 11), send(20, 12)] == [3, 30]
    assert [send(3, 11, sequence_end=True), send(30, 12, sequence_end=True)] == [6, 60]
    with pytest.raises(InferenceServerException, match="must specify the START flag"):
        send(1, 11)


def pgm(image):
    """8 x 8 pixels up to 16 as a file of 24 x 24."""
    large = np.kron(np.round(image.reshape(8, 8) * 255 / 16), np.ones((3, 3))).astype(np.uint8)
    return b"P5 24 24 255\n" + large.tobytes()


def test_files_are_classified(ask):
    digits = sklearn.datasets.load_digits()
    files = np.array([[pgm(image)] for image in digits.data[:16]], np.object_)
    labels = ask("digits_of_files", {"FILE": files}).as_numpy("LABEL").ravel()
    assert (labels == digits.target[:16]).mean() >= 0.9
    pixels = ask("preprocessing", {"FILE": files}).as_numpy("IMAGE")
    np.testing.assert_allclose(pixels, digits.data[:16], atol=0.05)


@pytest.mark.parametrize("file, reason", [
    (b"GIF89a", "this is no PGM file"), (b"P5 8 8 255\nshort", "8 x 8 pixels up to 255 does not have 5 bytes of them"),
    (b"P5 9 9 255\n" + bytes(81), "does not consist of 8 x 8 equal parts")])
def test_what_is_no_image_is_told(ask, file, reason):
    with pytest.raises(InferenceServerException, match=reason):
        ask("digits_of_files", {"FILE": np.array([[file]], np.object_)})


def test_a_network_of_pytorch(ask):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected = np.stack([x @ [1, 2, 3, 4], x.sum(axis=1) / 2 + 1], axis=1).astype(np.float32)
    np.testing.assert_allclose(ask("pytorch_linear", {"X": x}).as_numpy("Y"), expected)


def test_the_command_of_the_page_becomes_ready(tmp_path):
    """With nothing but NumPy in its interpreter, as etc/dev/quickstart makes it."""
    page = (ROOT / "etc/examples/python_models/README.md").read_text()
    [repositories] = re.findall(r'plugin\.repository\.paths=(\[.*\])', page)
    subprocess.run([sys.executable, ROOT / "etc/models/train_digits.py", "--output", tmp_path / "models"], check=True)
    paths = [str(tmp_path / "models") if path == "build/models" else str(ROOT / path) for path in json.loads(repositories)]
    assert str(MODELS) in paths and str(WITH_PYTORCH) not in paths
    with Server(paths, python_models.INTERPRETER) as running:
        running.wait_ready()
