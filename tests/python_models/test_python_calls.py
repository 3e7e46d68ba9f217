"""Requests of Python models to other models: what comes back, who ends them, and how they are traced."""

import collections
import http.server
import json
import queue
import threading

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support import models, python_models
from support.server import Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

EMPTY = """\
def execute(self, requests):
    return [pb_utils.InferenceResponse([pb_utils.Tensor("BOX", np.zeros((0, 4), np.float32)), pb_utils.Tensor("TXT", np.array([], np.object_)),
                                        pb_utils.Tensor("OUTPUT0", np.ones(1, np.float32))]) for request in requests]
"""
ASKS_EMPTY = """\
async def execute(self, requests):
    def call(names):
        return pb_utils.InferenceRequest(model_name="empty", requested_output_names=names, inputs=[pb_utils.Tensor("INPUT0", np.zeros(1, np.float32))])
    found = []
    for names in (["BOX"], ["TXT"], ["BOX", "OUTPUT0"], ["OUTPUT0"]):
        for response in (call(names).exec(), await call(names).async_exec()):
            assert not response.has_error(), response.error().message()
            found.append(float(sum(tensor.as_numpy().size for tensor in response.output_tensors())))
    return [answer(np.array(found, np.float32)) for request in requests]
"""
# Runs until it is cancelled.
PATIENT = """\
def execute(self, requests):
    print("patient begins")
    while not requests[0].is_cancelled():
        time.sleep(0.001)
    print("patient was cancelled")
    return [pb_utils.InferenceResponse(error=pb_utils.TritonError("so it is", pb_utils.TritonError.CANCELLED))]
"""
WAITS = """\
def execute(self, requests):
    calls = [pb_utils.InferenceRequest(model_name="patient", requested_output_names=["OUTPUT0"], inputs=request.inputs(){})
             for request in requests]
    response = calls[0].exec()
    print("caller goes on:", response.error().message() if response.has_error() else "nothing is wrong")
    after = pb_utils.InferenceRequest(model_name="echo", requested_output_names=["OUTPUT0"], inputs=requests[0].inputs()).exec()
    print("afterwards:", after.has_error())
    return [answer(np.zeros(1, np.float32)) for request in requests]
"""
TRACED = """\
def execute(self, requests):
    return [answer(pb_utils.InferenceRequest(model_name="outer", requested_output_names=["OUTPUT0"], inputs=request.inputs(),
                                             trace=request.trace()).exec().output_tensors()[0].as_numpy()) for request in requests]
"""
OUTER = """
platform: "ensemble" input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] } ] output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] } ]
ensemble_scheduling { step [ { model_name: "echo" model_version: -1 input_map { key: "INPUT0" value: "INPUT0" }
                               output_map { key: "OUTPUT0" value: "OUTPUT0" } } ] }
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calls")
    more = models.tensor_config("output", "BOX", "TYPE_FP32", (-1, 4)) + models.tensor_config("output", "TXT", "TYPE_STRING", (-1,))
    python_models.write(folder, "empty", EMPTY, extra=more)
    python_models.write(folder, "asks_empty", ASKS_EMPTY)
    python_models.write(folder, "patient", PATIENT)
    python_models.write(folder, "echo", python_models.IDENTITY)
    python_models.write(folder, "waits", WAITS.format(""))
    python_models.write(folder, "waits_async", WAITS.format("").replace("def execute", "async def execute").replace(
        "calls[0].exec()", "await calls[0].async_exec()"))
    python_models.write(folder, "waits_traced", WAITS.format(", trace=request.trace()"))
    python_models.write(folder, "traced", TRACED)
    models.write_model(folder, "outer", OUTER)
    return folder


class Collector:
    """Takes spans as a collector of OpenTelemetry does."""

    def __init__(self):
        self.spans = []
        spans = self.spans

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                for resource in content["resourceSpans"]:
                    for scope in resource["scopeSpans"]:
                        spans.extend(scope["spans"])
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/traces"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture(scope="module")
def collector():
    collector = Collector()
    yield collector
    collector.server.shutdown()
    collector.server.server_close()


@pytest.fixture(scope="module")
def server(repository, collector):
    with Server(repository, python_models.INTERPRETER, 'plugin.trace.mode="opentelemetry"', "plugin.trace.rate=1",
                f'plugin.trace.url="{collector.url}"', 'plugin.trace.bsp_schedule_delay="100ms"') as running:
        yield running.wait_ready()


def ask(client, model, module=grpcclient, **options):
    tensor = module.InferInput("INPUT0", [1], "FP32")
    tensor.set_data_from_numpy(np.ones(1, np.float32))
    return client.infer(model, [tensor], **options).as_numpy("OUTPUT0")


def test_empty_tensors_come_back(server):
    with server.client() as client:
        for _ in range(2):
            assert ask(client, "asks_empty").tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("model", ["waits", "waits_async", "waits_traced"])
def test_a_call_ends_with_the_client_that_it_is_made_for(server, model):
    with server.client() as client:
        begun, seen, ended = (server.log.count(text) for text in ("patient begins", "patient was cancelled", "afterwards: "))
        tensor = grpcclient.InferInput("INPUT0", [1], "FP32")
        tensor.set_data_from_numpy(np.ones(1, np.float32))
        answers = queue.Queue()
        call = client.async_infer(model, [tensor], lambda result, error: answers.put(error))
        eventually(lambda: server.log.count("patient begins") == begun + 1)
        call.cancel()
        assert isinstance(answers.get(timeout=60), InferenceServerException)
        eventually(lambda: server.log.count("patient was cancelled") == seen + 1)
        eventually(lambda: server.log.count("afterwards: ") == ended + 1)
        assert [line for line in server.lines if "caller goes on: " in line][-1].endswith("caller goes on: so it is")
        assert [line for line in server.lines if "afterwards: " in line][-1].endswith("afterwards: False")


@pytest.mark.parametrize("protocol", ["http", "grpc"])
@pytest.mark.parametrize("parent", ["", "b7ad6b7169242424"])
def test_spans_of_calls_have_their_parents(server, collector, protocol, parent):
    collector.spans.clear()
    headers = {"traceparent": f"00-0af7651916cd43dd8448eb211c12666c-{parent}-01"} if parent else None
    with (server.client() if protocol == "grpc" else server.http_client()) as client:
        client.update_trace_settings(settings={"trace_level": ["TIMESTAMPS"]})
        ask(client, "traced", grpcclient if protocol == "grpc" else httpclient, headers=headers)
        eventually(lambda: len(collector.spans) >= 6)
        client.update_trace_settings(settings={"trace_level": ["OFF"]})
    names = {span["spanId"]: span["name"] for span in collector.spans}
    children = collections.defaultdict(list)
    for span in collector.spans:
        children[names.get(span.get("parentSpanId"), span.get("parentSpanId") or "")].append(span["name"])
    assert {name: sorted(found) for name, found in children.items()} == {
        parent: ["InferRequest"], "InferRequest": ["traced"], "traced": ["compute", "outer"], "outer": ["echo"], "echo": ["compute"]}
    assert len({span["traceId"] for span in collector.spans}) == 1
