"""Threads of the worker do not end silently: what they cannot do fails whoever waits for it, or the worker ends and says why."""

import numpy as np
import pytest

from fake_python_server import layout
from test_worker_calls import infer
from test_worker_execute import ONE, async_model, model

FAILED = "The answer cannot be read: OverflowError: no"

# The next answer cannot be read, as if it held what nobody has thought of.
BREAK = """
from atoll_worker import calls as module
read = module.read_response
def broken(*arguments):
    module.read_response = read
    raise OverflowError('no')
module.read_response = broken
"""


def outcome(server, handle):
    (response,) = server.responses[handle]
    assert response.error is None, response.error
    return [text.decode() for text in response.outputs["OUT"].ravel()]


def texts(body):
    return body + "\nreturn [pb_utils.InferenceResponse([pb_utils.Tensor('OUT', np.array(found, np.object_))])]"


def ended(server):
    """The exit status of a worker that ends by itself, and what it printed."""
    status = server.process.wait(20)
    server._reader.join(20)
    return status, b"".join(server.output).decode()


@pytest.mark.parametrize("pure", ["", "1"])
@pytest.mark.parametrize("how", ["{}.exec()", "await {}.async_exec()"])
def test_empty_tensors_are_answers(serve, how, pure):
    outputs = {"BOX": np.zeros((0, 4), np.float32), "TXT": np.array([], np.object_), "LAST": np.zeros((2, 0), np.int64)}
    make = async_model if "await" in how else model
    server = serve(make(texts(f"""
found = []
for i in range(2):
    response = {how.format(infer(names="['BOX']"))}
    for t in response.output_tensors():
        found.append(f"{{t.name()}} {{t.shape()}} {{t.as_numpy().shape}} {{t.as_numpy().dtype}}")
""")), environment={"ATOLL_WORKER_PURE": pure} if pure else None)
    server.on_infer = lambda call: server.answer(call["call"], outputs)
    (handle,) = server.execute([ONE])
    assert outcome(server, handle) == ["BOX [0, 4] (0, 4) float32", "TXT [0] (0,) object", "LAST [2, 0] (2, 0) int64"] * 2


def test_empty_tensors_of_an_answer_go_on_to_the_client(serve):
    server = serve(model(f"return [pb_utils.InferenceResponse({infer()}.exec().output_tensors())]"))
    server.on_infer = lambda call: server.answer(call["call"], {"A": np.zeros((0, 4), np.float32), "B": np.array([], np.object_)})
    (handle,) = server.execute([{**ONE, "outputs": ["A", "B"]}])
    (response,) = server.responses[handle]
    assert response.error is None, response.error
    assert {name: array.shape for name, array in response.outputs.items()} == {"A": (0, 4), "B": (0,)}


@pytest.mark.parametrize("how", ["{}.exec()", "await {}.async_exec()"])
def test_an_answer_that_can_not_be_read_fails_its_call_and_no_other(serve, how):
    call = how.format(infer())
    server = serve(async_model(texts(f"""{BREAK}
found = []
for i in range(3):
    response = {call}
    found.append(response.error().message() if response.has_error() else "ok")
""")))
    server.on_infer = lambda call: server.answer(call["call"], {"OUT": np.array([1.0])})
    (handle,) = server.execute([ONE])
    assert outcome(server, handle) == [FAILED, "ok", "ok"]
    assert [entry["message"].splitlines()[-1] for entry in server.logs] == ["OverflowError: no"]
    assert "Traceback" in server.logs[0]["message"] and server.logs[0]["level"] == 2


def test_a_stream_whose_answer_can_not_be_read_ends_there(serve):
    server = serve(model(texts(f"""{BREAK}
found = []
for response in {infer()}.exec(decoupled=True):
    found.append(response.error().message() if response.has_error() else "ok")
""")))
    server.on_infer = lambda call: server.answer(call["call"], {"OUT": np.array([1.0])}, final=False)
    (handle,) = server.execute([ONE])
    assert outcome(server, handle) == [FAILED]
    assert server.cancelled_calls == [server.infers[0]["call"]]


def test_an_answer_of_another_thread_that_can_not_be_read_is_not_the_readers_failure(serve):
    server = serve(model(texts(f"""{BREAK}
found = []
def one(name):
    response = {infer()}.exec()
    found.append(name + " " + (response.error().message() if response.has_error() else "ok"))
threads = [threading.Thread(target=one, args=(str(i),)) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
found = [text.split(" ", 1)[1] for text in found]
""")))
    waiting = []

    def answer(call):
        waiting.append(call)
        if len(waiting) == 4:
            for call in reversed(waiting):
                server.answer(call["call"], {"OUT": np.array([1.0])})

    server.on_infer = answer
    (handle,) = server.execute([ONE])
    assert sorted(outcome(server, handle)) == sorted([FAILED, "ok", "ok", "ok"])


def test_an_answer_to_a_question_that_can_not_be_read_is_its_failure(serve):
    server = serve(model(texts("""
from atoll_worker import session
calls = session.current.calls
calls._error_of = lambda message: 1 / 0
found = []
for i in range(2):
    try:
        pb_utils.is_model_ready("x")
    except pb_utils.TritonModelException as error:
        found.append(str(error))
    del calls._error_of
    calls._error_of = lambda message: "as it says"
""")))
    server.on_call = lambda kind, number, payload, value: server.reply(number, error="anything")
    (handle,) = server.execute([ONE])
    assert outcome(server, handle) == ["Failed to check model readiness: The answer cannot be read: ZeroDivisionError: division by zero",
                                       "Failed to check model readiness: as it says"]


def test_whoever_can_not_be_told_stops_nobody_else(serve):
    server = serve(async_model(texts(f"""
from atoll_worker import session
calls = session.current.calls
def listener(call):
    raise LookupError("gone")
calls.start_reader()
number = calls.open(listener).number
session.current.link.out.send(36 + 1, 0, number, 0, 0, 0, 0, 1)  # so that the test knows it
found = [str((await {infer()}.async_exec()).has_error())]
""")))

    def answer(call):
        server.answer(server.cancelled_calls[0], {"OUT": np.array([1.0])})
        server.answer(call["call"], {"OUT": np.array([1.0])})

    server.on_infer = answer
    (handle,) = server.execute([ONE])
    assert outcome(server, handle) == ["False"]
    assert "LookupError: gone" in server.logs[0]["message"]


# A handler of signals interrupts a thread that waits while another one reads, and the one that reads.
INTERRUPTED = """
import signal, os
class Alarm(Exception): pass
def ring(number, frame):
    raise Alarm()
signal.signal(signal.SIGUSR1, ring)
"""


@pytest.mark.parametrize("reads", [False, True])
def test_a_thread_that_is_interrupted_leaves_the_ring_to_the_others(serve, reads):
    server = serve(model(texts(f"""{INTERRUPTED}
from atoll_worker import session
calls = session.current.calls
found = []
def other():
    found.append(str({infer()}.exec().has_error()))
threads = [threading.Thread(target=other) for _ in range(2)]
def start():
    for t in threads: t.start()
if {not reads}:
    start()
    while calls._reader is None: time.sleep(0.001)
def interrupt():
    if {reads}:
        while calls._reader is None: time.sleep(0.001)
        start()
    while len(calls._waiting) < 2: time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGUSR1)
threading.Thread(target=interrupt, daemon=True).start()
try:
    {infer(request_id="'never'")}.exec()
except Alarm:
    found.append("interrupted")
pb_utils.Logger.log_info("answer")
for t in threads: t.join()
""")))
    handles = server.execute([ONE], wait=False)
    server.wait_for(lambda: [entry["message"] for entry in server.logs] == ["answer"] and len(server.infers) == 3)
    for call in server.infers:
        if call["id"] != "never":
            server.answer(call["call"], {"OUT": np.array([1.0])})
    server.wait_for(lambda: server.returned)
    assert sorted(outcome(server, handles[0])) == ["False", "False", "interrupted"]
    assert server.cancelled_calls == [call["call"] for call in server.infers if call["id"] == "never"]


def test_a_worker_that_can_not_read_any_more_ends_with_the_reason(serve):
    server = serve(async_model(f"""
from atoll_worker import session
session.current.link.side = None
await {infer()}.async_exec()
return [ok()]
"""))
    server.execute([ONE], wait=False)
    status, output = ended(server)
    assert status == 1
    assert "the worker ends because it cannot read what the server says:" in output
    assert output.rstrip().splitlines()[-1] == "AttributeError: 'NoneType' object has no attribute 'receive'"


def test_a_worker_whose_main_thread_fails_ends_though_other_threads_go_on(serve):
    server = serve(model("""
threading.Thread(target=lambda: time.sleep(600)).start()  # no daemon
return [ok()]
"""))
    server.execute([ONE])
    server.send(server.work, 4711)
    status, output = ended(server)
    assert status == 1
    assert output.rstrip().splitlines()[-1].endswith("ProtocolError: the server sent a message of type 4711 on the work ring")


def test_memory_that_can_not_be_taken_is_the_end_and_not_a_wait(serve):
    """A model that has used up its descriptors: the packet with the server's memory is gone."""
    server = serve(model("""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
return [pb_utils.InferenceResponse([pb_utils.Tensor('OUT', np.zeros(1 << 20))])]
"""))
    server.execute([ONE], wait=False)
    server.wait_for(lambda: server.process.poll() is not None)
    status, output = ended(server)
    assert status == 1
    assert "the worker ends because it cannot take the memory that the server shares with it:" in output
    assert "the server's memory needs a file descriptor, and too many open files" in output


@pytest.mark.parametrize("raised", ["SystemExit(3)", "KeyboardInterrupt()"])
def test_the_event_loop_survives_what_ends_programs(serve, raised):
    server = serve(async_model(f"""
if requests[0].request_id() == "bad":
    await asyncio.sleep(0)
    raise {raised}
return [ok()]
"""))
    (bad,) = server.execute([{**ONE, "id": "bad"}])
    assert raised.split("(")[0] in server.responses[bad][0].error
    (good,) = server.execute([ONE])
    assert server.responses[good][0].error is None
    assert any("its event loop goes on" in entry["message"] and "Traceback" in entry["message"] for entry in server.logs)


def test_the_event_loop_can_not_be_stopped_by_a_coroutine(serve):
    server = serve(async_model("""
asyncio.get_running_loop().stop()
await asyncio.sleep(0)
return [ok()]
"""))
    for _ in range(2):
        (handle,) = server.execute([ONE])
        assert server.responses[handle][0].error is None


def test_an_event_loop_that_fails_ends_the_worker(serve):
    server = serve(async_model("""
asyncio.get_running_loop()._selector.close()
await asyncio.sleep(0.01)
return [ok()]
"""))
    server.execute([ONE], wait=False)
    status, output = ended(server)
    assert status == 1 and "the worker ends because the event loop of its coroutines has failed" in output


def test_a_coroutine_whose_failure_can_not_be_told_ends_the_worker(serve):
    server = serve(async_model("""
from atoll_worker import session
def fail(*arguments):
    raise MemoryError()
session.current.outbox.fail_open = fail
await asyncio.sleep(0.01)
raise ValueError("no")
"""), decoupled=True)
    server.execute([ONE], wait=False)
    status, output = ended(server)
    assert status == 1 and "the worker ends because requests of a coroutine that failed cannot be answered" in output


def test_a_dropped_request_is_told_of_when_there_is_memory_again(serve):
    server = serve(model("""
from atoll_worker import session
if requests[0].request_id() == "dropped":
    kept.append(requests[0].get_response_sender())
    return [None]
arena = session.current.link.arena
if requests[0].request_id() == "full":
    def full(size):
        del arena.allocate
        raise pb_utils.TritonModelException("there is no memory")
    arena.allocate = full
    kept.clear()  # the destructor tells of it, and cannot
return [ok()]
""", before="kept = []"))
    (dropped,) = server.execute([{**ONE, "id": "dropped"}])
    server.execute([{**ONE, "id": "full"}])
    server.wait_for(lambda: server.responses[dropped].is_final)
    assert "has dropped the request without a final response" in server.responses[dropped][0].error


PROBED = """
import threading
class TritonPythonModel:
    def execute(self, requests): return [None] * len(requests)
    answers = {answers}
    def is_ready(self):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception): raise answer
        return answer
"""


def probes(server, count):
    found = []
    for number in range(1, count + 1):
        server.side.send(layout.PROBE, 0, number, 0, 0, 0, 0, 1)
        found.append(server.wait_for_answer(layout.PROBED)[1:])
    return found


def test_a_failure_of_is_ready_is_logged_once_until_it_changes(serve):
    server = serve(PROBED.format(answers="[ValueError('a'), ValueError('a'), ValueError('b'), True, ValueError('b')]"))
    probes(server, 5)
    assert [entry["message"].splitlines()[-1] for entry in server.logs] == ["ValueError: a", "ValueError: b", "ValueError: b"]
    assert all("Traceback" in entry["message"] for entry in server.logs)


def test_a_question_that_can_not_be_answered_with_a_text_is_answered_without(serve):
    server = serve(PROBED.format(answers="[ValueError('a'), True]") + """
    def initialize(self, args):
        from atoll_worker import session
        link = session.current.link
        def full(*arguments):
            del link.send_json
            raise pb_utils.TritonModelException("there is no memory")
        self.fill = lambda: setattr(link, "send_json", full)
        ready = self.is_ready
        def is_ready():
            self.fill()
            return ready()
        self.is_ready = is_ready
""")
    assert len(probes(server, 2)) == 2


def test_a_thread_that_can_not_be_started_answers_not_ready(serve):
    server = serve(PROBED.format(answers="[True, True]") + """
    def initialize(self, args):
        start = threading.Thread.start
        def refuse(thread):
            if thread.name == "atoll-is-ready":
                threading.Thread.start = start
                raise RuntimeError("can't start new thread")
            start(thread)
        threading.Thread.start = refuse
""")
    first, second = probes(server, 2)
    assert [first[:1] + (first[1]["error"],), second] == [(0, "RuntimeError: can't start new thread"), (1, None)]
