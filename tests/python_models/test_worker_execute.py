"""What execute() may return, how it may fail, senders, coroutines, rescheduling and cancellation."""

import json

import numpy as np
import pytest

ONE = {"inputs": {"IN": np.array([1], np.int32)}, "outputs": ["OUT"], "id": "r1"}


def model(body, before=""):
    lines = "\n".join("        " + line for line in body.strip().splitlines())
    return f"import threading, time, asyncio\n{before}\ndef ok(v=1, **k):\n    return pb_utils.InferenceResponse([pb_utils.Tensor('OUT', np.array([v]))], **k)\n" \
           f"class TritonPythonModel:\n    def execute(self, requests):\n{lines}\n"


def async_model(body):
    return model(body).replace("    def execute", "    async def execute")


def errors(server, requests):
    handles = server.execute(requests)
    texts = []
    for handle in handles:
        (response,) = server.responses[handle]
        assert server.responses[handle].is_final and response.code == 1
        texts.append(response.error)
    return texts


PREFIX = "Failed to process the request(s) for model 'm_0_0', message: "


@pytest.mark.parametrize("body, text", [
    ("return 5", "Expected a list in the execute return, found type '<class 'int'>'."),
    ("return (ok(), ok())", "Expected a list in the execute return, found type '<class 'tuple'>'."),
    ("yield ok()", "Expected a list in the execute return, found type '<class 'generator'>'."),
    ("return [ok()]", "Number of InferenceResponse objects do not match the number of InferenceRequest objects. "
                      "InferenceRequest(s) size is:2, and InferenceResponse(s) size is:1\n"),
    ("return [ok(), 'x']", "Expected an 'InferenceResponse' object in the execute function return list, found type "
                           "'<class 'str'>'."),
    ("requests[1].set_release_flags(2)\nreturn [ok(), ok()]",
     "Expected a None object in the execute function return list for reschduled request, found type "),
    ("raise ValueError('bad ünicode')", "ValueError: bad ünicode"),
    ("raise pb_utils.TritonModelException('own')", "TritonModelException: own"),
    ("import sys; sys.exit(3)", "SystemExit: 3"),
    ("raise KeyboardInterrupt()", "KeyboardInterrupt"),
    ("return [ok(), pb_utils.InferenceResponse([None])]",
     "TritonModelException: Output tensor for inference response should not be empty."),
    ("return [ok(), pb_utils.InferenceResponse([pb_utils.Tensor('', np.zeros(1))])]",
     "TritonModelException: Tensor name cannot be an empty string."),
    ("return [ok(), pb_utils.InferenceResponse([pb_utils.Tensor('O', np.zeros(1, 'U4'))])]",
     "TritonModelException: NumPy dtype is not supported."),
    ("return [ok(), pb_utils.InferenceResponse([pb_utils.Tensor('O', np.zeros(1, np.complex64))])]",
     "TritonModelException: NumPy dtype is not supported."),
    ("return [ok(), pb_utils.InferenceResponse([pb_utils.Tensor('O', None)])]",
     "TypeError: Tensor() expects a numpy.ndarray, not NoneType"),
    ("return [ok(), ok(parameters={'a': 1.5})]",
     "TritonModelException: Expect parameters values to have type bool/int/str, found type <class 'float'>"),
    ("return [ok(), ok(parameters={1: 1})]",
     "TritonModelException: Expect parameters keys to have type str, found type <class 'int'>"),
    ("class Bad:\n    def __str__(self): raise RuntimeError('no text')\n"
     "return [ok(), pb_utils.InferenceResponse([pb_utils.Tensor('OUT', np.array([Bad()], np.object_))])]",
     "RuntimeError: no text"),
    ("raise ValueError('x' * 10000)", "ValueError: " + "x" * 4096 + " ..."),
])
def test_a_batch_that_fails_is_answered_whole_and_the_next_one_runs(serve, body, text):
    server = serve(model("if requests[0].request_id() == 'fine':\n    return [ok()]\nelse:\n" +
                         "\n".join("    " + line for line in body.splitlines())
                         if not body.startswith("yield") else body))
    for failure in errors(server, [ONE, ONE]):
        assert failure.startswith(PREFIX + text), failure
    assert server.logs
    if not body.startswith("yield"):
        (handle,) = server.execute([{**ONE, "id": "fine"}])
        assert server.responses[handle][0].error is None
        assert server.responses[handle].is_final


def test_the_traceback_is_in_the_log_whole_and_not_in_the_answer(serve):
    server = serve(model("deeper()", before="def deeper():\n    raise ValueError('secret ' + 'y' * 100000)"))
    (text,) = errors(server, [ONE])
    assert "Traceback" not in text and "model.py" not in text
    (entry,) = [entry for entry in server.logs if entry["level"] == 2]
    assert "Traceback" in entry["message"] and "in deeper" in entry["message"] and "y" * 100000 in entry["message"]


def test_without_execute_each_batch_fails(serve):
    server = serve("class TritonPythonModel:\n    pass\n")
    (text,) = errors(server, [ONE])
    assert text == PREFIX + f"Python model {server.folder}/1/model.py does not implement `execute` method."


def test_one_request_may_fail_alone(serve):
    server = serve(model("""
return [ok(), pb_utils.InferenceResponse(error=pb_utils.TritonError('mine', pb_utils.TritonError.NOT_FOUND)),
        pb_utils.InferenceResponse([pb_utils.Tensor('OUT', np.zeros(1))], error=pb_utils.TritonError('plain'))]
"""))
    handles = server.execute([ONE, ONE, ONE])
    answers = [server.responses[handle][0] for handle in handles]
    assert [(a.error, a.code) for a in answers] == [(None, 0), ("mine", 2), ("plain", 1)]
    assert answers[2].outputs == {}


def test_what_a_request_says_is_what_the_server_sent(serve):
    server = serve(model("""
r = requests[0]
about = [r.request_id(), r.correlation_id(), r.flags(), r.timeout(), r.parameters(), r.trace().get_context(),
         sorted(r.requested_output_names()), [t.name() for t in r.inputs()], r.is_cancelled(), r.model_name()]
missing = pb_utils.get_input_tensor_by_name(r, 'NOT')
import json
return [pb_utils.InferenceResponse([pb_utils.Tensor('OUT', np.array([json.dumps(about), str(missing)], np.object_))],
                                   parameters={'k': 'ü', 'n': 5, 'b': True})]
"""))
    full = {"inputs": {"A": np.zeros(1, np.int8), "B": np.zeros(2, np.int8)}, "outputs": ["OUT", "X"], "id": "ü-1",
            "correlation_id": "sequence", "flags": 3, "timeout": 7000000, "parameters": '{"p": 1.5}', "trace": '{"t": "x"}'}
    handles = server.execute([full])
    (response,) = server.responses[handles[0]]
    assert response.error is None, response.error
    about, missing = response.outputs["OUT"]
    assert json.loads(about) == ["ü-1", "sequence", 3, 7000000, '{"p": 1.5}', '{"t": "x"}', ["OUT", "X"], ["A", "B"], False, "m"]
    assert missing == b"None"
    assert json.loads(response.parameters) == {"k": "ü", "n": 5, "b": True}
    (handle,) = server.execute([{"inputs": {}, "outputs": ["OUT"], "correlation_id": 2**64 - 1}])
    assert json.loads(server.responses[handle][0].outputs["OUT"][0]) == [
        "", 2**64 - 1, 0, 0, "{}", None, ["OUT"], [], False, "m"]


BATCHED = """
batch = pb_utils.batched(requests)
total = batch['A'] + batch['B']
if total[0, 0] < 0:
    total = total[1:]
return batch.responses(SUM=total, ROWS=np.full((len(batch), 1), len(batch)))
"""


def rows(*values):
    return {"inputs": {name: np.array(values, np.float32).reshape(len(values), 1) for name in "AB"}, "outputs": ["SUM", "ROWS"]}


def test_requests_are_joined_and_responses_cut(serve):
    server = serve(model(BATCHED))
    handles = server.execute([rows(1, 2), rows(3), rows(4, 5, 6)])
    answers = [server.responses[handle][0] for handle in handles]
    assert [a.outputs["SUM"].ravel().tolist() for a in answers] == [[2, 4], [6], [8, 10, 12]]
    assert [a.outputs["ROWS"].ravel().tolist() for a in answers] == [[6, 6], [6], [6, 6, 6]]
    (handle,) = server.execute([rows(7)])
    assert server.responses[handle][0].outputs["SUM"].tolist() == [[14]]


def test_requests_that_can_not_be_joined_say_why(serve):
    server = serve(model(BATCHED))
    odd = rows(1)
    odd["inputs"]["B"] = np.zeros((2, 1), np.float32)
    wide = rows(1)
    wide["inputs"]["A"] = np.zeros((1, 5), np.float32)
    lacking = rows(1)
    del lacking["inputs"]["B"]
    for requests, text in [([odd], "Inputs of request '' differ in their first dimension: [1, 2]."),
                           ([rows(1), wide], "Input 'A' of these requests cannot be joined: "),
                           ([lacking], "Request '' has no input 'B'."),
                           ([rows(-1, 1)], "Output 'SUM' has the shape [1, 1]; its first dimension must be 2, as the requests")]:
        assert errors(server, requests)[0].startswith(PREFIX + "TritonModelException: " + text)


def test_a_decoupled_model_answers_when_it_likes(serve):
    server = serve(model("""
def later(sender, n):
    for i in range(n):
        sender.send(ok(i))
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
for r in requests:
    n = int(r.inputs()[0].as_numpy()[0])
    threading.Thread(target=later, args=(r.get_response_sender(), n)).start()
"""), decoupled=True)
    handles = server.execute([{"inputs": {"IN": np.array([n])}, "outputs": ["OUT"]} for n in (0, 3, 1000)])
    server.wait_for(lambda: all(server.responses[h].is_final for h in handles))
    for handle, n in zip(handles, (0, 3, 1000)):
        assert [int(r.outputs["OUT"][0]) for r in server.responses[handle]] == list(range(n))


def test_a_decoupled_model_must_return_none(serve):
    server = serve(model("requests[0].get_response_sender().send(ok(), 1)\nreturn [ok()]"), decoupled=True)
    first, second = server.execute([ONE, ONE])
    assert server.responses[first][0].error is None and len(server.responses[first]) == 1
    assert server.responses[second][0].error == PREFIX + ("Python model 'm_0_0' is using the decoupled mode and the execute "
                                                          "function must return None.")


def test_a_large_response_of_a_sender_may_be_overwritten_once_it_is_sent(serve):
    server = serve(model("""
sender = requests[0].get_response_sender()
out = pb_utils.empty('OUT', (100000,), np.int32)
for i in range(5):
    out.as_numpy()[:] = i
    sender.send(pb_utils.InferenceResponse([out]))
sender.send(flags=1)
"""), decoupled=True)
    (handle,) = server.execute([ONE])
    assert [r.outputs["OUT"].tolist() for r in server.responses[handle]] == [[i] * 100000 for i in range(5)]


@pytest.mark.parametrize("decoupled, body, text", [
    (True, "s.send(ok(), 5)", "Unable to send response. Unsupported flag provided."),
    (True, "s.send()", "Inference Response object must be provided when the response flags is set to zero."),
    (True, "s.send(flags=1); s.send(ok())", "Unable to send response. Response sender has been closed."),
    (False, "s.send(ok()); s.send(ok())", "Unable to send response. Non-decoupled model cannot send more than one response."),
    (False, "s.send(flags=1)",
     "Unable to send response. Non-decoupled model cannot send complete final before sending a response."),
    (True, "pb_utils.InferenceRequest('', 0, [], [], 'x').get_response_sender().send(ok())",
     "Unable to send response. Response sender has no reference to the decoupled state of the model."),
    (True, "s.send(5, 1)", "send() expects an InferenceResponse, not int"),
])
def test_a_sender_refuses_what_makes_no_sense(serve, decoupled, body, text):
    server = serve(model(f"""
s = requests[0].get_response_sender()
try:
    {body}
    raise AssertionError('nothing raised')
except (pb_utils.TritonModelException, TypeError) as error:
    pb_utils.Logger.log_info(str(error))
if not {decoupled}:
    return [ok()] if 'more than' not in {text!r} else None
"""), decoupled=decoupled)
    server.execute([ONE])
    assert server.logs[0]["message"] == text


def test_a_plain_model_may_answer_through_a_sender(serve):
    server = serve(model("""
kept = requests[1].get_response_sender()
requests[0].get_response_sender().send(ok(7), flags=1)
def later():
    time.sleep(0.01)
    kept.send(ok(8))
    kept.send(flags=1)
threading.Thread(target=later).start()
return None
"""))
    first, second = server.execute([ONE, ONE])
    server.wait_for(lambda: server.responses[second].is_final)
    assert [int(r.outputs["OUT"][0]) for h in (first, second) for r in server.responses[h]] == [7, 8]
    assert server.responses[first].is_final


def test_a_dropped_sender_is_an_error(serve):
    server = serve(model("""
requests[0].get_response_sender().send(ok())
keep.append(requests[1].get_response_sender())
threading.Timer(0.01, keep.clear).start()
""", before="keep = []"), decoupled=True)
    handles = server.execute([ONE, ONE])
    server.wait_for(lambda: all(server.responses[h].is_final for h in handles))
    for handle, count in zip(handles, (2, 1)):
        assert len(server.responses[handle]) == count
        assert server.responses[handle][-1].error == "Model 'm_0_0' has dropped the request without a final response."


def test_an_exception_closes_senders(serve):
    server = serve(model("""
keep.append(requests[0].get_response_sender())
if len(keep) == 1:
    raise ValueError('x')
try:
    keep[0].send(ok())
except pb_utils.TritonModelException as error:
    keep[1].send(ok(parameters={'text': str(error)}), 1)
""", before="keep = []"), decoupled=True)
    assert errors(server, [ONE]) == [PREFIX + "ValueError: x"]
    (handle,) = server.execute([ONE])
    assert "Response sender has been closed." in server.responses[handle][0].parameters


def test_a_coroutine_is_awaited(serve):
    server = serve(async_model("""
await asyncio.sleep(0.001)
running = asyncio.get_running_loop()
assert threading.current_thread() is not threading.main_thread()
return [ok(i) for i, _ in enumerate(requests)]
"""))
    for _ in range(3):
        handles = server.execute([ONE, ONE])
        assert [int(server.responses[h][0].outputs["OUT"][0]) for h in handles] == [0, 1]


def test_a_coroutine_that_raises_fails_its_batch(serve):
    server = serve(async_model("await asyncio.sleep(0)\nraise ValueError('async')"))
    assert errors(server, [ONE, ONE]) == [PREFIX + "ValueError: async"] * 2


def test_decoupled_coroutines_run_beside_each_other(serve):
    server = serve(async_model("""
key = requests[0].request_id()
sender = requests[0].get_response_sender()
event = events.setdefault(key, asyncio.Event())
if key == 'second':
    events['first'].set()
elif key == 'first':
    await event.wait()
if key == 'bad':
    raise ValueError('late')
sender.send(ok(), 1)
""").replace("import threading", "events = {}\nimport threading"), decoupled=True)
    (first,) = server.execute([{**ONE, "id": "first"}])
    assert not server.responses[first].is_final
    (second,) = server.execute([{**ONE, "id": "second"}])
    (bad,) = server.execute([{**ONE, "id": "bad"}])
    server.wait_for(lambda: all(server.responses[h].is_final for h in (first, second, bad)))
    assert server.responses[first][0].error is None and server.responses[second][0].error is None
    assert server.responses[bad][0].error == PREFIX + "ValueError: late"


def test_a_rescheduled_request_comes_again_with_what_the_server_sends(serve):
    server = serve(model("""
a = requests[0].inputs()[0].as_numpy()
if a[0] < 3:
    a += 100
    requests[0].set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
    return [None]
return [ok()]
"""))
    for value, again in ((1, True), (2, True), (3, False)):
        (handle,) = server.execute([{**ONE, "inputs": {"IN": np.array([value])}}])
        assert server.responses[handle].is_rescheduled == again and server.responses[handle].is_final != again


def test_cancellation_is_seen_without_a_call(serve):
    server = serve(model("""
r = requests[0]
sender = r.get_response_sender()
sender.send(ok(int(r.is_cancelled())))
def later():
    end = time.monotonic() + 10
    while not sender.is_cancelled() and time.monotonic() < end:
        time.sleep(0.001)
    sender.send(ok(int(sender.is_cancelled() and r.is_cancelled())), 1)
threading.Thread(target=later).start()
"""), decoupled=True)
    (handle,) = server.execute([ONE])
    server.cancel(handle)
    server.wait_for(lambda: server.responses[handle].is_final)
    assert [int(r.outputs["OUT"][0]) for r in server.responses[handle]] == [0, 1]


def test_outputs_that_nobody_asked_for_stay_but_the_server_hears_of_unknown_ones(serve):
    server = serve(model("return [pb_utils.InferenceResponse([pb_utils.Tensor(n, np.zeros(1)) for n in ('KNOWN', 'NEW', 'OUT')])]"),
                   initialize=False)
    config = {"output": [{"name": "OUT"}, {"name": "KNOWN"}]}
    assert "error" not in server.initialize(model_config=json.dumps(config))
    for expected in (["NEW", "OUT"], ["OUT"]):
        (handle,) = server.execute([ONE])
        (response,) = server.responses[handle]
        assert list(response.outputs) == expected


ITERATIVE = '{"sequence_batching": {"iterative_sequence": true}}'


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("steps", ["await asyncio.sleep(0.01)", "pass"])
def test_a_coroutine_of_an_iterative_sequence_is_waited_for(serve, decoupled, steps):
    """Whether the request comes again is told with the batch's end, and the coroutine says so when it has run."""
    server = serve(async_model(f"""
{steps}
for request in requests:
    if {decoupled}:
        request.get_response_sender().send(ok())
    request.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
{steps}
return None if {decoupled} else [None] * len(requests)
"""), decoupled=decoupled, initialize=False)
    assert "error" not in server.initialize(model_config=ITERATIVE)
    handles = server.execute([ONE, ONE])
    assert [server.responses[handle].is_rescheduled for handle in handles] == [True, True]
    assert [len(server.responses[handle]) for handle in handles] == [decoupled, decoupled]


def test_a_coroutine_of_a_decoupled_iterative_sequence_that_fails_is_answered(serve):
    server = serve(async_model("await asyncio.sleep(0.01)\nraise ValueError('third')"), decoupled=True, initialize=False)
    assert "error" not in server.initialize(model_config=ITERATIVE)
    assert errors(server, [ONE]) == [PREFIX + "ValueError: third"]
