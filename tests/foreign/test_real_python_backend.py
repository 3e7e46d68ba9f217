"""The unmodified Python backend of Triton, which bench/serve/peers/install brings, serves models written in Python."""

import pathlib
import queue
import shutil
import sys

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support.models import write_model
from support.server import DEFAULT_MANIFEST, ROOT, Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

# The stub has an interpreter of its own, which does not know where this one finds numpy.
HEAD = f"""
import sys
sys.path += {[path for path in sys.path if path.endswith("site-packages")]!r}
import numpy as np
import triton_python_backend_utils as pb_utils
"""

ADD = HEAD + """
class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "IN", "data_type": "TYPE_FP32", "dims": [-1]})
        config.add_output({"name": "OUT", "data_type": "TYPE_FP32", "dims": [-1]})
        config.set_max_batch_size(8)
        return config

    def initialize(self, args):
        self.step = float(pb_utils.get_model_dir() is not None)

    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor(
            "OUT", pb_utils.get_input_tensor_by_name(request, "IN").as_numpy() + np.float32(self.step))]) for request in requests]
"""

UPPER = HEAD + """
class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            texts = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
            if b"no" in texts:
                answers.append(pb_utils.InferenceResponse([], pb_utils.TritonError("this text is refused")))
            elif b"throw" in texts:
                raise ValueError("thrown on purpose")
            else:
                answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.char.upper(texts.astype(bytes)).astype(object))]))
        return answers
"""

COUNT = HEAD + """
class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            (upto,) = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
            for number in range(upto):
                sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([number], np.int32))]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""

ASKS = HEAD + """
class TritonPythonModel:
    async def execute(self, requests):
        answers = []
        for request in requests:
            value = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy().reshape(1, -1)
            def ask(model, value):
                return pb_utils.InferenceRequest(model_name=model, requested_output_names=["OUT"], inputs=[pb_utils.Tensor("IN", value)])
            first = ask("add", value).exec()
            if first.has_error():
                answers.append(pb_utils.InferenceResponse([], first.error()))
                continue
            between = pb_utils.get_output_tensor_by_name(first, "OUT").as_numpy()
            second = await ask("add", between).async_exec()
            missing = ask("nobody", value).exec()
            assert missing.has_error() and "nobody" in missing.error().message(), missing
            counted = ask("count", np.array([3], np.int32)).exec(decoupled=True)
            extra = sum(1 for response in counted if response.output_tensors())
            total = pb_utils.get_output_tensor_by_name(second, "OUT").as_numpy() + np.float32(extra)
            answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", total.reshape(-1))]))
        return answers
"""

TENSORS = """
backend: "python"
{more}
input [ {{ name: "IN" data_type: {type} dims: [ -1 ] }} ]
output [ {{ name: "OUT" data_type: {type} dims: [ -1 ] }} ]
"""


def tensors(kind, more=""):
    return TENSORS.format(type=kind, more=more)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("python")
    (triton,) = (ROOT / "build/peers/triton").glob("lib/python3*/site-packages/pytriton/tritonserver")
    # A copy, because the stub has to be beside it; what it needs lies where it finds it from there.
    backends = folder / "site" / "pytriton" / "tritonserver" / "backends"
    shutil.copytree(triton / "backends" / "python", backends / "python")
    stub = f"{sys.version_info.major}.{sys.version_info.minor}/triton_python_backend_stub"
    shutil.copy(triton / "python_backend_stubs" / stub, backends / "python")
    (backends / "python" / "triton_python_backend_stub").chmod(0o755)
    (folder / "site" / "nvidia_pytriton.libs").symlink_to(triton.parents[1] / "nvidia_pytriton.libs")
    models = folder / "models"
    for name, config, text in (("add", 'backend: "python"', ADD), ("upper", tensors("TYPE_STRING"), UPPER),
                               ("count", tensors("TYPE_INT32", "model_transaction_policy { decoupled: true }"), COUNT),
                               ("asks", tensors("TYPE_FP32"), ASKS)):
        write_model(models, name, config, files={"model.py": text.encode()})
    manifest = folder / "atoll.toml"
    manifest.write_text(DEFAULT_MANIFEST.read_text() + f"""
[plugin.triton]
use = "backends/triton"
directories = ["{backends}"]

[plugin.c_api]
use = "frontends/c_api"
""")
    # That backend loses the error of a request that failed.
    suppressions = folder / "lsan.supp"
    suppressions.write_text((ROOT / "etc/dev/lsan.supp").read_text() + "leak:TRITONSERVER_ErrorNew\n")
    environment = {"LD_LIBRARY_PATH": str(pathlib.Path(sys.base_prefix) / "lib"), "LSAN_OPTIONS": f"suppressions={suppressions}"}
    # Whose models are those of backend "python" otherwise.
    with Server(models, "plugin.python.enabled=false", manifest=manifest, environment=environment) as running:
        for model in ("add", "upper", "count", "asks"):
            running.wait_ready(model)
        yield running


@pytest.fixture
def client(server):
    with server.client() as connected:
        yield connected


def ask(client, model, values, datatype):
    tensor = grpcclient.InferInput("IN", list(values.shape), datatype)
    tensor.set_data_from_numpy(values)
    return client.infer(model, [tensor]).as_numpy("OUT")


def test_a_configuration_is_completed_and_numbers_are_computed(client):
    config = client.get_model_config("add", as_json=True)["config"]
    assert (config["max_batch_size"], config["input"][0]["name"], config["output"][0]["data_type"]) == (8, "IN", "TYPE_FP32")
    for count in (1, 1000):
        values = np.arange(2 * count, dtype=np.float32).reshape(2, count)
        np.testing.assert_array_equal(ask(client, "add", values, "FP32"), values + 1)


def test_texts(client):
    values = np.array([b"abc", b"", "ü".encode()], dtype=object)
    assert ask(client, "upper", values, "BYTES").tolist() == [b"ABC", b"", "ü".encode()]


@pytest.mark.parametrize("text, reason", [(b"no", "this text is refused"), (b"throw", "thrown on purpose")])
def test_failures_say_why_and_the_model_goes_on(client, text, reason):
    with pytest.raises(InferenceServerException, match=reason):
        ask(client, "upper", np.array([text], dtype=object), "BYTES")
    assert ask(client, "upper", np.array([b"on"], dtype=object), "BYTES").tolist() == [b"ON"]


def test_decoupled(client):
    answers = queue.Queue()
    client.start_stream(lambda result, error: answers.put((result, error)))
    tensor = grpcclient.InferInput("IN", [1], "INT32")
    tensor.set_data_from_numpy(np.array([4], np.int32))
    client.async_stream_infer("count", [tensor], enable_empty_final_response=True)
    seen = []
    while True:
        result, error = answers.get(timeout=60)
        assert error is None
        if result.get_response().parameters["triton_final_response"].bool_param:
            break
        seen += result.as_numpy("OUT").tolist()
    client.stop_stream()
    assert seen == [0, 1, 2, 3]


def test_a_model_asks_others(client):
    np.testing.assert_array_equal(ask(client, "asks", np.array([1, 2], np.float32), "FP32"), [1 + 1 + 1 + 3, 2 + 1 + 1 + 3])


def test_statistics_count(client):
    def counted():
        statistics = client.get_inference_statistics("add").model_stats[0]
        return np.array([statistics.inference_count, statistics.execution_count])

    before = counted()
    ask(client, "add", np.zeros((3, 1), np.float32), "FP32")
    # The backend reports a moment after it has answered.
    eventually(lambda: (counted() - before).tolist() == [3, 1])
