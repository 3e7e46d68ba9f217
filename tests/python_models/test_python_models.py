"""Python models in the whole server: answers to the real clients."""

import json
import queue
import urllib.request

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models, python_models
from support.server import Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

DECOUPLED = "model_transaction_policy { decoupled: true }"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    for triton, config_type, _, numpy_type in models.TYPES:
        if numpy_type is not None:
            python_models.write(repository, f"identity_{triton}", python_models.IDENTITY, config_type, [-1, -1])
    python_models.write(repository, "batched", python_models.IDENTITY, dims=(4,), max_batch_size=8,
                        extra="dynamic_batching { max_queue_delay_microseconds: 1000 }")
    write_completed(repository)
    write_decoupled(repository)
    write_callers(repository)
    write_errors(repository)
    python_models.write(repository, "about", """\
        def initialize(self, args):
            self.args = args
        def execute(self, requests):
            request = requests[0]
            about = {"args": sorted(self.args), "name": self.args["model_name"], "id": request.request_id(),
                     "correlation": request.correlation_id(), "flags": request.flags(), "timeout": request.timeout(),
                     "outputs": sorted(request.requested_output_names()), "parameters": json.loads(request.parameters() or "{}")}
            return [answer(np.array([json.dumps(about)], dtype=object), parameters={"n": 3, "yes": True, "text": "t"})]
        """, "TYPE_STRING")
    write_metrics(repository)
    write_self_callers(repository)
    python_models.write(repository, "again", """\
        def initialize(self, args):
            self.runs = {}
        def execute(self, requests):
            responses = []
            for request in requests:
                key = request.correlation_id()
                self.runs[key] = self.runs.get(key, 0) + 1
                given = value(request)
                given_before = given.copy()
                given += 100
                if self.runs[key] < given_before.flat[0]:
                    request.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
                    responses.append(None)
                else:
                    responses.append(answer(np.full_like(given, self.runs.pop(key)) + given_before))
            return responses
        """, max_batch_size=4, dims=(1,), extra="sequence_batching { iterative_sequence: true }")
    python_models.write(repository, "patient", """\
        def execute(self, requests):
            sender = requests[0].get_response_sender()
            while not requests[0].is_cancelled():
                time.sleep(0.001)
            print("it was cancelled")
            return [answer(value(requests[0]))]
        """)
    with Server(repository, python_models.INTERPRETER) as running:
        yield running.wait_ready()


@pytest.fixture(scope="module")
def client(server):
    with server.client() as client:
        yield client


def write_completed(repository):
    models.write_model(repository, "completed", 'name: "completed" backend: "python"', files={"model.py": (python_models.HEAD + """
class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "INPUT0", "data_type": "TYPE_INT32", "dims": [3]})
        config.add_output({"name": "OUTPUT0", "data_type": "TYPE_INT32", "dims": [3]})
        config.set_max_batch_size(4)
        config.set_dynamic_batching()
        return config
    def execute(self, requests):
        return [answer(value(request) + 1) for request in requests]
""").encode()})


def write_decoupled(repository):
    # As many responses as the input says, from a thread of its own if the first is negative.
    python_models.write(repository, "repeat", """\
        def execute(self, requests):
            for request in requests:
                sender, count = request.get_response_sender(), int(value(request)[0])
                if count < 0:
                    threading.Thread(target=self.send, args=(sender, -count)).start()
                else:
                    self.send(sender, count)
        def send(self, sender, count):
            for i in range(count):
                sender.send(answer(np.array([i], dtype=np.float32)))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        """, extra=DECOUPLED)


def write_callers(repository):
    python_models.write(repository, "caller", """\
        def call(self, model, decoupled=False):
            return pb_utils.InferenceRequest(model_name=model, requested_output_names=["OUTPUT0"],
                                             inputs=[pb_utils.Tensor("INPUT0", self.given)]).exec(decoupled=decoupled)
        def execute(self, requests):
            responses = []
            for request in requests:
                self.given = value(request)
                target = json.loads(request.parameters())["target"]
                if target == "repeat":
                    found = [pb_utils.get_output_tensor_by_name(item, "OUTPUT0").as_numpy()
                             for item in self.call(target, True) if item.output_tensors()]
                    responses.append(answer(np.concatenate(found)))
                    continue
                response = self.call(target)
                if response.has_error():
                    responses.append(pb_utils.InferenceResponse(error=response.error()))
                else:
                    responses.append(answer(pb_utils.get_output_tensor_by_name(response, "OUTPUT0").as_numpy() * 2))
            return responses
        """)
    python_models.write(repository, "async_caller", """\
        async def execute(self, requests):
            given = value(requests[0])
            calls = [pb_utils.InferenceRequest(model_name="identity_FP32", requested_output_names=["OUTPUT0"],
                                               inputs=[pb_utils.Tensor("INPUT0", (given + i).reshape(1, -1))]).async_exec()
                     for i in range(8)]
            found = await asyncio.gather(*calls)
            return [answer(sum(pb_utils.get_output_tensor_by_name(one, "OUTPUT0").as_numpy() for one in found).reshape(-1))]
        """)


def write_errors(repository):
    python_models.write(repository, "errors", """\
        def execute(self, requests):
            kind = json.loads(requests[0].parameters())["kind"]
            if kind == "raise":
                raise ValueError("what a day")
            if kind == "text":
                return "text"
            if kind == "count":
                return []
            if kind == "none":
                return [None]
            if kind == "error":
                error = pb_utils.TritonError("not here", pb_utils.TritonError.NOT_FOUND)
                return [pb_utils.InferenceResponse(error=error)]
        """)


def write_self_callers(repository):
    body = """\
        def execute(self, requests):
            responses = []
            for request in requests:
                given = value(request)
                if given[0] > 0:
                    response = pb_utils.InferenceRequest(model_name="{}", requested_output_names=["OUTPUT0"],
                                                         inputs=[pb_utils.Tensor("INPUT0", given - 1)]).exec()
                    if response.has_error():
                        responses.append(pb_utils.InferenceResponse(error=response.error()))
                        continue
                    given = pb_utils.get_output_tensor_by_name(response, "OUTPUT0").as_numpy()
                responses.append(answer(given + 1))
            return responses
        """
    python_models.write(repository, "recursive", body.format("recursive"), extra="instance_group [ { count: 2 kind: KIND_CPU } ]")
    python_models.write(repository, "ping", body.format("pong"))
    python_models.write(repository, "pong", body.format("ping"))


def write_metrics(repository):
    python_models.write(repository, "counting", """\
        def initialize(self, args):
            self.family = pb_utils.MetricFamily("greetings_total", "How often.", pb_utils.MetricFamily.COUNTER)
            self.metric = self.family.Metric(labels={"model": args["model_name"]})
            self.times = pb_utils.MetricFamily("greeting_seconds", "How long.", pb_utils.MetricFamily.HISTOGRAM)
            self.time = self.times.Metric(labels={}, buckets=[0.5, 1.0])
        def execute(self, requests):
            self.metric.increment(len(requests))
            self.time.observe(0.75)
            return [answer(np.array([self.metric.value()], dtype=np.float32)) for request in requests]
        """)


def ask(client, model, array, triton="FP32", **options):
    tensor = grpcclient.InferInput("INPUT0", list(array.shape), triton)
    tensor.set_data_from_numpy(array)
    return client.infer(model, [tensor], **options).as_numpy("OUTPUT0")


def error_of(call):
    with pytest.raises(InferenceServerException) as raised:
        call()
    return raised.value


def stream(client, model, array, triton="FP32"):
    """Every response of one request to a decoupled model, until its end."""
    got = queue.Queue()
    client.start_stream(lambda result, error: got.put((result, error)))
    try:
        tensor = grpcclient.InferInput("INPUT0", list(array.shape), triton)
        tensor.set_data_from_numpy(array)
        client.async_stream_infer(model, [tensor], enable_empty_final_response=True)
        responses = []
        while True:
            result, error = got.get(timeout=30)
            if error is not None:
                raise error
            if result.as_numpy("OUTPUT0") is not None:
                responses.append(result.as_numpy("OUTPUT0"))
            if result.get_response().parameters["triton_final_response"].bool_param:
                return responses
    finally:
        client.stop_stream()


@pytest.mark.parametrize("triton, numpy_type", [(entry[0], entry[3]) for entry in models.TYPES if entry[3] is not None])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (0, 4), (300, 70)])
def test_every_type_comes_back(client, triton, numpy_type, shape):
    count = int(np.prod(shape))
    if triton == "BYTES":
        array = np.array([bytes([i % 256]) * (i % 50) for i in range(count)], dtype=object).reshape(shape)
    else:
        array = (np.arange(count) % 100).astype(numpy_type).reshape(shape)
    found = ask(client, f"identity_{triton}", array, triton)
    assert found.shape == shape
    assert (found == array).all()


def test_large_tensors_come_back(client):
    array = np.random.default_rng(1).random((3000, 1000), dtype=np.float32)
    for _ in range(3):
        assert (ask(client, "identity_FP32", array) == array).all()


def test_a_batch_is_a_list_of_requests(client):
    results = queue.Queue()
    for i in range(40):
        tensor = grpcclient.InferInput("INPUT0", [1 + i % 3, 4], "FP32")
        tensor.set_data_from_numpy(np.full((1 + i % 3, 4), i, dtype=np.float32))
        client.async_infer("batched", [tensor], lambda result, error, i=i: results.put((i, result, error)))
    for _ in range(40):
        i, result, error = results.get(timeout=30)
        assert error is None
        assert (result.as_numpy("OUTPUT0") == np.full((1 + i % 3, 4), i, dtype=np.float32)).all()


def test_a_configuration_is_completed_by_the_model(client):
    config = client.get_model_config("completed", as_json=True)["config"]
    assert config["max_batch_size"] == 4 and "dynamic_batching" in config
    assert config["input"][0]["dims"] == ["3"]
    assert (ask(client, "completed", np.array([[1, 2, 3]], dtype=np.int32), "INT32") == [[2, 3, 4]]).all()


def test_a_request_is_told_whole(client):
    tensor = grpcclient.InferInput("INPUT0", [1], "BYTES")
    tensor.set_data_from_numpy(np.array([b"x"], dtype=object))
    result = client.infer("about", [tensor], request_id="r1", sequence_id=0, timeout=7, parameters={"a": 1, "b": "two", "c": True})
    about = json.loads(result.as_numpy("OUTPUT0")[0])
    assert about.pop("args") == ["model_config", "model_instance_device_id", "model_instance_kind", "model_instance_name",
                                 "model_name", "model_repository", "model_version"]
    assert about == {"name": "about", "id": "r1", "correlation": 0, "flags": 0, "timeout": 7, "outputs": ["OUTPUT0"],
                     "parameters": {"a": 1, "b": "two", "c": True}}
    parameters = result.get_response().parameters
    assert parameters["n"].int64_param == 3 and parameters["yes"].bool_param and parameters["text"].string_param == "t"


@pytest.mark.parametrize("count", [0, 1, 5, -5, 300, -300])
def test_decoupled_models_send_any_number_of_responses(client, count):
    found = stream(client, "repeat", np.array([count], dtype=np.float32))
    assert [int(one[0]) for one in found] == list(range(abs(count)))


def test_models_ask_models(client):
    given = np.array([3], dtype=np.float32)
    assert ask(client, "caller", given, parameters={"target": "counting"}).shape == (1,)
    assert (ask(client, "caller", given, parameters={"target": "repeat"}) == [0, 1, 2]).all()


def test_what_other_models_refuse_reaches_the_caller(client):
    given = np.array([3], dtype=np.float32)
    missing = error_of(lambda: ask(client, "caller", given, parameters={"target": "nowhere"}))
    assert missing.message() == ("Model nowhere - Error when running inference: Failed for execute the inference request. "
                                 "Model 'nowhere' is not ready.")
    wrong = error_of(lambda: ask(client, "caller", given, parameters={"target": "batched"}))
    assert wrong.message().startswith("Model batched - Error when running inference: ")
    failed = error_of(lambda: ask(client, "caller", given, parameters={"target": "errors"}))
    assert "KeyError" in failed.message()


def test_many_calls_may_be_open_at_once(client):
    given = np.array([1, 2], dtype=np.float32)
    for _ in range(20):
        assert (ask(client, "async_caller", given) == given * 8 + 28).all()


def test_a_circle_of_calls_is_refused(client):
    assert ask(client, "recursive", np.array([1], dtype=np.float32)) == [2]
    deep = error_of(lambda: ask(client, "recursive", np.array([2], dtype=np.float32)))
    assert "UNAVAILABLE" in deep.status()
    assert "model 'recursive' waits for model 'recursive', every instance of which waits for others" in deep.message()
    assert ask(client, "ping", np.array([1], dtype=np.float32)) == [2]
    circle = error_of(lambda: ask(client, "ping", np.array([5], dtype=np.float32)))
    assert "model 'pong' waits for model 'ping'" in circle.message()
    assert ask(client, "ping", np.array([0], dtype=np.float32)) == [1]


def test_a_request_learns_that_its_client_has_gone(server, client):
    for _ in range(3):
        seen = server.log.count("it was cancelled")
        with pytest.raises(InferenceServerException):
            ask(client, "patient", np.array([1], dtype=np.float32), client_timeout=0.3)
        eventually(lambda seen=seen: server.log.count("it was cancelled") == seen + 1, timeout_s=10)


def test_a_request_may_be_executed_again_and_again(client):
    for times in (1, 2, 7):
        found = ask(client, "again", np.array([[times]], dtype=np.float32), sequence_id=times, sequence_start=True, sequence_end=True)
        assert found == [[2 * times]]


def test_errors_have_their_texts(client):
    given = np.array([3], dtype=np.float32)

    def text(kind):
        return error_of(lambda: ask(client, "errors", given, parameters={"kind": kind}))

    raised = text("raise").message()
    assert raised == "Failed to process the request(s) for model 'errors_0', message: ValueError: what a day"
    assert "Expected a list in the execute return, found type '<class 'str'>'." in text("text").message()
    assert "Number of InferenceResponse objects do not match the number of InferenceRequest objects." in text("count").message()
    assert text("error").message() == "not here" and "NOT_FOUND" in text("error").status()
    assert text("none").message() != ""


def test_metrics_of_models_are_shown(server, client):
    before = ask(client, "counting", np.array([1], dtype=np.float32))[0]
    assert ask(client, "counting", np.array([1], dtype=np.float32))[0] == before + 1
    page = urllib.request.urlopen(f"http://{server.metrics_address}/metrics").read().decode()
    assert f'greetings_total{{model="counting"}} {int(before) + 1}\n' in page
    assert 'greeting_seconds_bucket{le="0.5"} 0\n' in page
    assert f'greeting_seconds_count {int(before) + 1}\n' in page


def test_statistics_are_those_of_executions(client):
    before = client.get_inference_statistics("identity_INT8", as_json=True)["model_stats"][0]
    ask(client, "identity_INT8", np.ones((2, 2), dtype=np.int8), "INT8")
    after = client.get_inference_statistics("identity_INT8", as_json=True)["model_stats"][0]
    assert int(after["inference_count"]) == int(before.get("inference_count", 0)) + 1
    assert int(after["inference_stats"]["compute_infer"]["ns"]) > 0
