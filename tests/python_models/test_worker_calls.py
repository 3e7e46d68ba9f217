"""What a Python model asks of the server: other models, model control, metrics."""

import json

import numpy as np
import pytest

from fake_python_server import layout
from test_worker_execute import ONE, async_model, model


def infer(names="['OUT']", inputs="[pb_utils.Tensor('A', np.array([1], np.float32))]", **more):
    extra = "".join(f", {key}={value}" for key, value in more.items())
    return f"pb_utils.InferenceRequest(model_name='other', requested_output_names={names}, inputs={inputs}{extra})"


def asked(server, number=1):
    server.wait_for(lambda: len(server.infers) >= number)
    return server.infers[number - 1]


def test_exec_returns_the_other_models_response(serve):
    server = serve(model(f"""
request = {infer(request_id="'id'", correlation_id="'corr'", model_version=3, flags=1, timeout=5, parameters="{'p': 1}",
                 preferred_memory="pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU, 0)", trace="requests[0].trace()")}
response = request.exec()
assert not response.has_error() and response.parameters() == '{{"x": 1}}'
return [pb_utils.InferenceResponse(response.output_tensors())]
"""))
    server.on_infer = lambda call: server.answer(call["call"], {"OUT": np.array([[2.5]])}, parameters='{"x": 1}')
    (handle,) = server.execute([{**ONE, "trace": '{"traceparent": "00"}'}])
    (response,) = server.responses[handle]
    assert response.error is None, response.error
    assert response.outputs["OUT"].tolist() == [[2.5]]
    (call,) = server.infers
    assert call.pop("inputs")["A"].tolist() == [1.0]
    del call["call"]
    assert call == {"request": handle, "model": "other", "version": 3, "flags": layout.PREFER_MEMORY, "preferred": (0, 0), "correlation_id": "corr",
                    "timeout": 5, "id": "id", "parameters": '{"p": 1}', "trace": '{"traceparent": "00"}', "sequence_flags": 1,
                    "outputs": ["OUT"]}


def test_a_call_is_part_of_a_request_only_by_its_trace(serve):
    server = serve(model(f"""
for request in requests:
    for trace in (request.trace(), {infer(trace="request.trace()")}.trace(), {infer()}.trace()):
        pb_utils.InferenceRequest(model_name='other', requested_output_names=['OUT'], inputs=request.inputs(), trace=trace).exec()
return [ok(0) for request in requests]
"""))
    server.on_infer = lambda call: server.answer(call["call"], {"OUT": np.array([1.0])})
    one, two = server.execute([ONE, ONE])
    assert server.responses[one][0].error is None, server.responses[one][0].error
    assert [call["request"] for call in server.infers] == [one, one, 0, two, two, 0]


def test_a_failure_of_the_other_model_is_a_response_with_its_code(serve):
    server = serve(model(f"""
response = {infer()}.exec()
return [pb_utils.InferenceResponse(error=response.error())]
"""))
    server.on_infer = lambda call: server.answer(call["call"], error="not there", code=2)
    (handle,) = server.execute([ONE])
    assert (server.responses[handle][0].error, server.responses[handle][0].code) == ("not there", 2)


def test_a_large_input_of_another_model_is_not_copied(serve):
    server = serve(model("""
given = requests[0].inputs()[0]
response = pb_utils.InferenceRequest(model_name='o', requested_output_names=[], inputs=[given]).exec()
return [ok(int(response.output_tensors()[0].as_numpy()[0]))]
"""), slab_size=16 << 20)
    server.on_infer = lambda call: server.answer(call["call"], {"OUT": call["inputs"]["IN"][-1:]})
    (handle,) = server.execute([{"inputs": {"IN": np.arange(1000000)}, "outputs": ["OUT"]}], own_block=True)
    assert server.responses[handle][0].outputs["OUT"].tolist() == [999999]
    assert sum(slab.size for slab in server.slabs.values() if slab.owner == 1) <= 1 << 20


def test_responses_of_a_decoupled_model_are_iterated_and_again(serve):
    server = serve(model(f"""
responses = {infer()}.exec(decoupled=True)
first = [len(r.output_tensors()) and int(r.output_tensors()[0].as_numpy()[0]) for r in responses]
again = [len(r.output_tensors()) and int(r.output_tensors()[0].as_numpy()[0]) for r in responses]
return [pb_utils.InferenceResponse([pb_utils.Tensor('OUT', np.array(first)), pb_utils.Tensor('AGAIN', np.array(again))])]
"""))

    def answer(call):
        assert call["flags"] == layout.DECOUPLED
        for i in range(1, 4):
            server.answer(call["call"], {"OUT": np.array([i])}, final=False)
        server.answer(call["call"])

    server.on_infer = answer
    (handle,) = server.execute([{**ONE, "outputs": ["OUT", "AGAIN"]}])
    outputs = server.responses[handle][0].outputs
    assert outputs["OUT"].tolist() == outputs["AGAIN"].tolist() == [1, 2, 3, 0]  # the end has no outputs


def test_an_iterator_that_is_dropped_or_cancelled_ends_its_call(serve):
    server = serve(model(f"""
responses = {infer()}.exec(decoupled=True)
next(iter(responses))
responses.cancel()
other = {infer()}.exec(decoupled=True)
next(other)
del other
return [ok()]
"""))
    server.on_infer = lambda call: server.answer(call["call"], {"OUT": np.array([0])}, final=False)
    server.execute([ONE])
    assert sorted(set(server.cancelled_calls)) == [call["call"] for call in server.infers]


def test_many_async_calls_are_open_at_once(serve):
    server = serve(async_model(f"""
calls = [{infer(inputs="[pb_utils.Tensor('A', np.array([i]))]")}.async_exec() for i in range(300)]
responses = await asyncio.gather(*calls)
return [ok([int(r.output_tensors()[0].as_numpy()[0]) for r in responses])]
"""))
    calls = []

    def answer(call):
        calls.append(call)
        if len(calls) == 300:
            for call in reversed(calls):  # more than the ring holds
                server.wait_for_room_on_side()
                server.answer(call["call"], {"OUT": call["inputs"]["A"] * 2})

    server.on_infer = answer
    (handle,) = server.execute([ONE])
    assert server.responses[handle][0].outputs["OUT"].ravel().tolist() == [2 * i for i in range(300)]


def test_async_exec_of_a_decoupled_model(serve):
    server = serve(async_model(f"""
responses = await {infer()}.async_exec(decoupled=True)
values = [int(r.output_tensors()[0].as_numpy()[0]) async for r in responses if r.output_tensors()]
return [ok(values)]
"""))

    def answer(call):
        server.answer(call["call"], {"OUT": np.array([1])}, final=False)
        server.answer(call["call"], {"OUT": np.array([2])}, final=True)

    server.on_infer = answer
    (handle,) = server.execute([ONE])
    assert server.responses[handle][0].error is None, server.responses[handle][0].error
    assert server.responses[handle][0].outputs["OUT"].ravel().tolist() == [1, 2]


def test_blocking_calls_from_many_threads_share_one_reader(serve):
    server = serve(model(f"""
found = []
def one(i):
    response = {infer(inputs="[pb_utils.Tensor('A', np.array([i]))]")}.exec()
    found.append((i, int(response.output_tensors()[0].as_numpy()[0])))
threads = [threading.Thread(target=one, args=(i,)) for i in range(20)]
for t in threads: t.start()
for t in threads: t.join()
assert sorted(found) == [(i, i) for i in range(20)], found
return [ok()]
"""))
    waiting = []

    def answer(call):
        waiting.append(call)
        if len(waiting) == 20:
            for call in waiting[::2] + waiting[1::2]:
                server.answer(call["call"], {"OUT": call["inputs"]["A"]})

    server.on_infer = answer
    for _ in range(5):
        waiting.clear()
        (handle,) = server.execute([ONE])
        assert server.responses[handle][0].error is None, server.responses[handle][0].error


DESTRUCTOR = """
class Last:
    def __del__(self):
        found.append(pb_utils.is_model_ready('x'))
        pb_utils.Logger.log_info('gone')
found = []
"""


def test_a_destructor_may_call_the_server_even_in_the_thread_that_reads(serve):
    server = serve(model(f"""
from atoll_worker import session
calls = session.current.calls
take = calls._take
def take_once(message):
    calls._take = take
    Last()  # as a collection might do
    take(message)
calls._take = take_once
response = {infer()}.exec()
return [ok(int(response.output_tensors()[0].as_numpy()[0]) + len(found))]
""", before=DESTRUCTOR))
    server.on_call = lambda kind, number, payload, value: server.reply(number, 1)
    server.on_infer = lambda call: server.answer(call["call"], {"OUT": np.array([4])})
    (handle,) = server.execute([ONE])
    assert server.responses[handle][0].outputs["OUT"].tolist() == [5]
    assert [entry["message"] for entry in server.logs] == ["gone"]


def test_the_worker_says_when_a_full_ring_has_room_again(serve):
    server = serve(model(f"""
return [ok(int({infer()}.exec().output_tensors()[0].as_numpy()[0]))]
"""))
    for _ in range(layout.SIDE_ENTRIES):
        server.reply(123456)  # nobody waits for it
    server.control.region.store(layout.SIDE_RING + 4, 1)  # the server waits for room
    server.on_infer = lambda call: (server.wait_for_room_on_side(), server.answer(call["call"], {"OUT": np.array([1])}))
    (handle,) = server.execute([ONE])
    assert server.responses[handle][0].outputs["OUT"].tolist() == [1]
    assert server.nudges >= 1


@pytest.mark.parametrize("what, text", [
    (infer(inputs="[None]"), "Input tensor for request with id '' and model name 'other' should not be empty."),
    (infer(names="['']"), "Requested output name for request with id '' and model name 'other' should not be empty."),
    (infer(correlation_id=1.5), "Correlation ID must be integer or string"),
    (infer(correlation_id=-1), "correlation_id must be from 0 to 2^64 - 1, not -1"),
    (infer(parameters="{'a': 1.5}"), "Expect parameters values to have type bool/int/str, found type <class 'float'>"),
    (infer(parameters="{1: 1}"), "Expect parameters keys to have type str, found type <class 'int'>"),
    ("pb_utils.InferenceRequest(model_name='x', inputs=[])", "InferenceRequest() needs the argument 'requested_output_names'"),
    ("requests[0].exec()", "A request that execute() was given cannot be sent again: make an InferenceRequest."),
    (infer() + ".async_exec()", "no running event loop"),
])
def test_a_bad_request_is_refused_before_it_is_sent(serve, what, text):
    server = serve(model(f"""
try:
    {what}
except (pb_utils.TritonModelException, TypeError, RuntimeError) as error:
    pb_utils.Logger.log_warn(str(error))
return [ok()]
"""))
    server.execute([ONE])
    assert (server.logs[0]["message"], server.logs[0]["level"]) == (text, 1)
    assert server.infers == []


def test_other_models_are_called_between_initialize_and_finalize_only(serve):
    server = serve(f"""
    class TritonPythonModel:
        def attempt(self):
            try:
                {infer()}.exec()
            except pb_utils.TritonModelException as error:
                pb_utils.Logger.log_info(str(error))
        def initialize(self, args): self.attempt()
        def execute(self, requests): return [None]
        def finalize(self): self.attempt()
    """)
    assert server.finalize() == 0
    assert [entry["message"] for entry in server.logs] == ["BLS is only supported during the 'execute' function."] * 2


CONTROL = """
    class TritonPythonModel:
        def initialize(self, args):
            self.attempt(pb_utils.load_model, "a")
            self.attempt(pb_utils.load_model, "b", config='{"x": 1}', files={"file:1/model.onnx": b"12345", "file:2/ü": b"\\0"})
            self.attempt(pb_utils.load_model, "c", files={"x": 5})
            self.attempt(pb_utils.unload_model, "a", unload_dependents=True)
            self.attempt(pb_utils.is_model_ready, "a", "7")
        def attempt(self, function, *args, **kw):
            try:
                pb_utils.Logger.log_info(repr(function(*args, **kw)))
            except pb_utils.TritonModelException as error:
                pb_utils.Logger.log_error(str(error))
        def execute(self, requests): return [None]
"""


def test_models_are_controlled(serve):
    server = serve(CONTROL, initialize=False)
    calls = []

    def on_call(kind, number, payload, value):
        calls.append((kind, payload, value))
        server.reply(number, 1 if kind == layout.MODEL_READY else 0)

    server.on_call = on_call
    server.started()
    assert [entry["message"] for entry in server.logs] == [
        "None", "None", "Failed to load model: failed to load model 'c', files should be a dictionary of file paths and file contents"
        .replace("Failed to load model: ", ""), "None", "True"]
    about = json.loads(calls[0][1][:calls[0][2]])
    assert calls[0][0] == layout.LOAD_MODEL and about == {"name": "a", "config": "", "files": []}
    about = json.loads(calls[1][1][:calls[1][2]])
    assert about["config"] == '{"x": 1}'
    assert [(path, calls[1][1][at:at + size]) for path, at, size in about["files"]] == [("file:1/model.onnx", b"12345"),
                                                                                       ("file:2/ü", b"\0")]
    assert (calls[2][0], json.loads(calls[2][1])) == (layout.UNLOAD_MODEL, {"name": "a", "unload_dependents": True})
    assert (calls[3][0], json.loads(calls[3][1])) == (layout.MODEL_READY, {"name": "a", "version": "7"})


def test_what_the_server_refuses_is_raised_with_its_reason(serve):
    server = serve(CONTROL, initialize=False)
    server.on_call = lambda kind, number, payload, value: server.reply(number, error="no such model")
    server.started()
    assert [entry["message"] for entry in server.logs if "contents" not in entry["message"]] == [
        "Failed to load model: no such model", "Failed to load model: no such model", "Failed to unload model: no such model",
        "Failed to check model readiness: no such model"]


METRICS = """
class TritonPythonModel:
    def initialize(self, args):
        F = pb_utils.MetricFamily
        self.families = [F(name="f%d" % kind, description="d", kind=kind) for kind in (F.COUNTER, F.GAUGE, F.HISTOGRAM)]
        self.counter = self.families[0].Metric(labels={"a": "b"})
        self.gauge = self.families[1].Metric()
        self.histogram = self.families[2].Metric(labels={}, buckets=[0.1, 1, 10])
    def execute(self, requests):
        self.counter.increment(2)
        self.gauge.set(3.5)
        self.gauge.increment(-1)
        self.histogram.observe(0.5)
        assert self.gauge.value() == 2.5
        for function, args in [(self.counter.increment, (-1,)), (self.counter.set, (1,)), (self.counter.observe, (1,)),
                               (self.gauge.observe, (1,)), (self.histogram.increment, (1,)), (self.histogram.set, (1,)),
                               (self.histogram.value, ()), (self.families[0].Metric, ([],)), (self.families[2].Metric, ({},)),
                               (self.families[2].Metric, ({}, 5)), (self.families[0].Metric, ({}, [1.0])),
                               (pb_utils.MetricFamily, ("x", "y", 9))]:
            try:
                function(*args)
            except pb_utils.TritonModelException as error:
                pb_utils.Logger.log_info(str(error))
        gone = self.families.pop(0)
        del gone
        try:
            self.counter.increment(1)
        except pb_utils.TritonModelException as error:
            pb_utils.Logger.log_info(str(error))
        self.gauge = None
        return [pb_utils.InferenceResponse([])]
"""


def test_metrics(serve):
    server = serve(METRICS, initialize=False)
    made = []

    def on_call(kind, number, payload, value):
        if kind == layout.METRIC_VALUE:
            assert payload == 21  # the gauge's number
            server.side.send(layout.REPLY, 0, number, 0, 0, 0, 2.5, 1)
            return
        made.append((kind, json.loads(payload)))
        server.reply(number, (10 if kind == layout.METRIC_FAMILY else 20 - 3) + len(made) - 1)

    server.on_call = on_call
    server.started()
    assert made[0] == (layout.METRIC_FAMILY, {"name": "f0", "description": "d", "kind": 0})
    assert made[3] == (layout.METRIC, {"family": 10, "labels": {"a": "b"}, "buckets": None})
    assert made[5] == (layout.METRIC, {"family": 12, "labels": {}, "buckets": [0.1, 1.0, 10.0]})
    server.execute([ONE])
    assert server.metric_updates == [
        (layout.METRIC_UPDATE, 20, layout.METRIC_INCREMENT, 2.0), (layout.METRIC_UPDATE, 21, layout.METRIC_SET, 3.5),
        (layout.METRIC_UPDATE, 21, layout.METRIC_INCREMENT, -1.0), (layout.METRIC_UPDATE, 22, layout.METRIC_OBSERVE, 0.5),
        (layout.FAMILY_GONE, 10, 0, 0.0), (layout.METRIC_GONE, 21, 0, 0.0)]
    kind = "TRITONSERVER_METRIC_KIND_"
    assert [entry["message"] for entry in server.logs][:-1] == [
        f"Failed to increment metric value: {kind}COUNTER can only be incremented monotonically by non-negative values.",
        f"Failed to set metric value: {kind}COUNTER does not support Set",
        f"Failed to observe metric value: {kind}COUNTER does not support Observe",
        f"Failed to observe metric value: {kind}GAUGE does not support Observe",
        f"Failed to increment metric value: {kind}HISTOGRAM does not support Increment",
        f"Failed to set metric value: {kind}HISTOGRAM does not support Set",
        f"Failed to get metric value: {kind}HISTOGRAM does not support Value",
        "Failed to create metric. Labels must be a dictionary.", "Failed to create metric. Missing required buckets.",
        "Failed to create metric. Buckets must be a list.", "Failed to create metric. Unexpected buckets found.",
        "Failed to create metric family. Unknown kind 9."]
    assert server.logs[-1]["message"].startswith("Failed to increment metric value: Invalid metric operation as the corresponding 'MetricFamily' has been deleted.")


def test_a_metric_that_the_server_refuses_fails_the_model(serve):
    server = serve(METRICS, initialize=False)
    server.on_call = lambda kind, number, payload, value: server.reply(number, error="Invalid metric name")
    assert server.initialize() == {"error": "TritonModelException: Error when creating MetricFamily: Invalid metric name"}


def test_a_call_names_the_batch_that_it_is_made_for(serve):
    """That of execute() in its thread and its coroutines; a thread of the model's own works for nobody in particular."""
    server = serve(async_model(f"""
async def later():
    {infer()}.exec()
{infer()}.exec()
await {infer()}.async_exec()
await asyncio.create_task(later())
await asyncio.to_thread({infer()}.exec)
thread = threading.Thread(target={infer()}.exec)
thread.start()
thread.join()
return [ok()]
"""))
    server.on_infer = lambda call: server.answer(call["call"], {"OUT": np.array([1.0])})
    for batch in (1, 2):
        (handle,) = server.execute([ONE])
        assert server.responses[handle][0].error is None, server.responses[handle][0].error
        assert server.callers == [batch] * 4 + [0]
        server.callers.clear()
