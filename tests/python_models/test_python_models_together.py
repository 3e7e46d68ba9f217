"""Python models with the rest of the server: ensembles, sequences, ragged batches, optional inputs, other models, model control by a
model, and loads under clients that never stop asking."""

import concurrent.futures
import json
import threading

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models, python_models
from support.control import EXPLICIT
from support.server import Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

CODES = {"UNKNOWN": "UNKNOWN", "INTERNAL": "INTERNAL", "NOT_FOUND": "NOT_FOUND", "INVALID_ARG": "INVALID_ARGUMENT",
         "UNAVAILABLE": "UNAVAILABLE", "UNSUPPORTED": "UNIMPLEMENTED", "ALREADY_EXISTS": "ALREADY_EXISTS", "CANCELLED": "CANCELLED"}

WORDS = """\
def execute(self, requests):
    responses = []
    for request in requests:
        texts = value(request)
        lengths = np.array([[len(text) for text in row] for row in texts], np.float32)
        responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("LENGTHS", lengths), pb_utils.Tensor("TEXTS", texts)]))
    return responses
"""
LONGEST = """\
def execute(self, requests):
    responses = []
    for request in requests:
        best = value(request, "LENGTHS").argmax(axis=1)
        responses.append(answer(np.array([[row[i]] for row, i in zip(value(request, "TEXTS"), best)], np.object_)))
    return responses
"""
ENSEMBLE = """
platform: "ensemble" max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_STRING dims: [ 3 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_STRING dims: [ 1 ] } ]
ensemble_scheduling { step [
  { model_name: "words" model_version: -1 input_map { key: "INPUT0" value: "INPUT0" }
    output_map { key: "LENGTHS" value: "lengths" } output_map { key: "TEXTS" value: "texts" } },
  { model_name: "longest" model_version: -1 input_map { key: "LENGTHS" value: "lengths" } input_map { key: "TEXTS" value: "texts" }
    output_map { key: "OUTPUT0" value: "OUTPUT0" } } ] }
"""
CONTROLS = """\
def execute(self, requests):
    text = []
    for step in json.loads(value(requests[0])[0]):
        try:
            if step == "load":
                config = {"backend": "python", "input": [{"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [-1]}],
                          "output": [{"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [-1]}]}
                pb_utils.load_model("made", json.dumps(config), {"file:1/model.py": MODULE})
            elif step == "load nobody":
                pb_utils.load_model("nobody")
            elif step == "unload":
                pb_utils.unload_model("made")
            text.append(str(pb_utils.is_model_ready("made")))
        except pb_utils.TritonModelException as error:
            text.append(str(error))
    return [answer(np.array(text, np.object_))]
"""
MODULE = python_models.HEAD + "class TritonPythonModel:\n    def execute(self, requests): return [answer(value(r) * 3) for r in requests]\n"


def tensors(kind, **named):
    return "".join(models.tensor_config(kind, name, *about) for name, about in named.items())


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return tmp_path_factory.mktemp("repository")


@pytest.fixture(scope="module")
def server(repository):
    python_models.write(repository, "words", WORDS, config='backend: "python" max_batch_size: 8\n' + tensors(
        "input", INPUT0=("TYPE_STRING", (3,))) + tensors("output", LENGTHS=("TYPE_FP32", (3,)), TEXTS=("TYPE_STRING", (3,))))
    python_models.write(repository, "longest", LONGEST, config='backend: "python" max_batch_size: 8\n' + tensors(
        "input", LENGTHS=("TYPE_FP32", (3,)), TEXTS=("TYPE_STRING", (3,))) + tensors("output", OUTPUT0=("TYPE_STRING", (1,))))
    models.write_model(repository, "ensemble", ENSEMBLE)
    python_models.write(repository, "optional", """\
        def execute(self, requests):
            names = [sorted(tensor.name() for tensor in request.inputs()) for request in requests]
            assert all(pb_utils.get_input_tensor_by_name(request, "NEVER") is None for request in requests)
            return [answer(np.array([" ".join(one)], np.object_)) for one in names]
        """, config='backend: "python"\n' + tensors("input", INPUT0=("TYPE_FP32", (1,), "optional: true"), INPUT1=(
            "TYPE_FP32", (1,), "optional: true")) + tensors("output", OUTPUT0=("TYPE_STRING", (1,))))
    python_models.write(repository, "ragged", """\
        def execute(self, requests):
            return [answer(np.array([[value(request).sum(), len(requests)]], np.float32)) for request in requests]
        """, config='backend: "python" max_batch_size: 8\n' + tensors("input", INPUT0=(
            "TYPE_FP32", (-1,), "allow_ragged_batch: true")) + tensors("output", OUTPUT0=("TYPE_FP32", (2,))) +
        "dynamic_batching { preferred_batch_size: [ 4 ] max_queue_delay_microseconds: 5000000 }")
    python_models.write(repository, "codes", """\
        def execute(self, requests):
            name = value(requests[0])[0].decode()
            return [pb_utils.InferenceResponse(error=pb_utils.TritonError("as " + name, getattr(pb_utils.TritonError, name)))]
        """, "TYPE_STRING")
    python_models.write(repository, "sums", """\
        sums = {}
        def execute(self, requests):
            responses = []
            for request in requests:
                key = request.correlation_id()
                if request.flags() & pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START:
                    self.sums[key] = 0
                self.sums[key] += value(request)
                responses.append(answer(self.sums[key]))
            return responses
        """, dims=(1,), extra="sequence_batching { oldest { max_candidate_sequences: 8 } }")
    python_models.write(repository, "asks_sums", """\
        def execute(self, requests):
            START, END = pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START, pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_END
            for flags, key in ((START, 5), (START, "text"), (0, 5), (0, "text"), (END, 5), (END, "text")):
                last = pb_utils.InferenceRequest(model_name="sums", requested_output_names=["OUTPUT0"], inputs=requests[0].inputs(),
                                                 correlation_id=key, flags=flags).exec()
                if last.has_error():
                    return [pb_utils.InferenceResponse(error=last.error())]
            return [answer(last.output_tensors()[0].as_numpy())]
        """, dims=(1,))
    python_models.write(repository, "asks_many", """\
        async def execute(self, requests):
            given = requests[0].inputs()
            asked = [pb_utils.InferenceRequest(model_name="slow", requested_output_names=["OUTPUT0"], inputs=given).async_exec()
                     for _ in range(64)]
            found = await asyncio.gather(*asked)
            return [answer(sum(one.output_tensors()[0].as_numpy() for one in found))]
        """, dims=(1,))
    python_models.write(repository, "slow", """\
        def execute(self, requests):
            time.sleep(0.002)
            return [answer(value(request)) for request in requests]
        """, dims=(1,))
    python_models.write(repository, "controls", CONTROLS.replace("MODULE", repr(MODULE.encode())), "TYPE_STRING")
    write_changing(repository, 0)
    with Server(repository, python_models.INTERPRETER, EXPLICIT, 'plugin.control.load_model=["*"]') as running:
        yield running.wait_ready()


def write_changing(repository, constant):
    """What it adds is in a file beside it."""
    folder = python_models.write(repository, "changing", """\
        from .constant import VALUE
        def execute(self, requests):
            return [answer(value(request) + self.VALUE) for request in requests]
        """, dims=(1,)) / "1"
    (folder / "new").write_text(f"VALUE = {constant}\n")
    (folder / "new").rename(folder / "constant.py")


@pytest.fixture(scope="module")
def client(server):
    with server.client() as client:
        yield client


def ask(client, model, output="OUTPUT0", options=None, **arrays):
    inputs = []
    for name, array in arrays.items():
        inputs.append(grpcclient.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype)))
        inputs[-1].set_data_from_numpy(array)
    return client.infer(model, inputs, **(options or {})).as_numpy(output)


def numbers(*values):
    return np.array(values, np.float32)


def texts(*values):
    return np.array([value.encode() for value in values], np.object_)


def test_an_ensemble_of_python_models(client):
    given = np.array([[b"a", b"ccc", b"bb"], [b"", b"x", "ÄÖ".encode()]], np.object_)
    assert ask(client, "ensemble", INPUT0=given).tolist() == [[b"ccc"], ["ÄÖ".encode()]]


def test_optional_inputs_may_be_absent(client):
    assert ask(client, "optional", INPUT1=numbers(1)) == b"INPUT1"
    assert ask(client, "optional", INPUT0=numbers(1), INPUT1=numbers(1)) == b"INPUT0 INPUT1"


def test_ragged_requests_are_one_list(server):
    with server.client() as client, concurrent.futures.ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(ask, client, "ragged", INPUT0=np.ones((1, 1 + i), np.float32)) for i in range(4)]
        assert [one.result().tolist() for one in asked] == [[[1 + i, 4]] for i in range(4)]


@pytest.mark.parametrize("name", CODES)
def test_codes_of_errors_are_the_clients(client, name):
    with pytest.raises(InferenceServerException) as raised:
        ask(client, "codes", INPUT0=texts(name))
    assert (raised.value.status(), raised.value.message()) == (f"StatusCode.{CODES[name]}", f"as {name}")


def test_sequences_are_begun_and_ended_by_a_model(client):
    assert ask(client, "asks_sums", INPUT0=numbers(7)) == 21


def test_64_calls_of_one_model_are_all_answered(client):
    for _ in range(3):
        assert ask(client, "asks_many", INPUT0=numbers(2)) == 128


def test_a_model_loads_and_unloads_others(client):
    def steps(*names):
        return [text.decode() for text in ask(client, "controls", INPUT0=texts(json.dumps(names)))]

    assert steps("look") == ["False"]
    assert steps("load") == ["True"]
    assert ask(client, "made", INPUT0=numbers(1, 2)).tolist() == [3, 6]
    (refusal,) = steps("load nobody")
    assert refusal.startswith("Failed to load model: ") and "nobody" in refusal
    steps("unload")
    eventually(lambda: steps("look") == ["False"])
    with pytest.raises(InferenceServerException, match="made"):
        ask(client, "made", INPUT0=numbers(1, 2))


def test_loads_under_clients_fail_no_request_and_the_newest_answers(repository, server, client):
    end, failures, seen = threading.Event(), [], set()

    def run():
        with server.client() as own:
            while not end.is_set():
                try:
                    seen.add(float(ask(own, "changing", INPUT0=numbers(0))[0]))
                except InferenceServerException as error:
                    failures.append(error)

    clients = [threading.Thread(target=run) for _ in range(8)]
    for one in clients:
        one.start()
    try:
        for constant in range(1, 6):
            write_changing(repository, constant)
            client.load_model("changing")
            assert ask(client, "changing", INPUT0=numbers(10)) == 10 + constant
    finally:
        end.set()
        for one in clients:
            one.join()
    assert failures == [] and {0} < seen <= {0, 1, 2, 3, 4, 5}
