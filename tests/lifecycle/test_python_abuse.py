"""Python models that fail in every hook, misuse what they are given, or take too much: the exact text that a client gets, the reason in
the index of either protocol, and neighbours that notice nothing."""

import itertools
import os
import queue
import re
import signal
import threading

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models, python_models
from support.control import EXPLICIT, PROTOCOLS, Control
from support.server import Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

GIVEN = np.array([1, 2], np.float32)
WORKS = "class TritonPythonModel:\n    def execute(self, requests): return [answer(value(r)) for r in requests]\n"


def parameter(key, value):
    return f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'


def config(name, extra=""):
    return (f'name: "{name}" backend: "python"\n' + models.tensor_config("input", "INPUT0", "TYPE_FP32", (-1,)) +
            models.tensor_config("output", "OUTPUT0", "TYPE_FP32", (-1,)) + extra)


def hook(name, body, of_class=False):
    arguments = {"__init__": "self", "initialize": "self, args", "auto_complete_config": "config"}[name]
    return WORKS + ("    @staticmethod\n" if of_class else "") + f"    def {name}({arguments}): {body}\n"


# Name: the module, and the reason why it is not loaded, as a regular expression.
NO_MODELS = {
    "import_raises": ("raise ValueError('at import')", "Internal: ValueError: at import"),
    "import_syntax": ("def f(:", r"Internal: SyntaxError: invalid syntax \(model.py, line \d+\)"),
    "import_missing": ("import not_there", r"Internal: ModuleNotFoundError: No module named 'not_there'; the model runs in /\S+: "
                       "the model's parameter PYTHON_EXECUTABLE .*, or the option 'interpreter' of "
                       "backends/python, chooses another Python"),
    "import_no_class": ("x = 1", "Internal: AttributeError: module '1.model' has no attribute 'TritonPythonModel'"),
    "import_exit": ("sys.exit(3)", "Internal: SystemExit: 3"),
    "import_interrupt": ("raise KeyboardInterrupt", "Internal: KeyboardInterrupt"),
    "import_gone": ("os._exit(5)", r"Unavailable: worker 'import_gone' \(process \d+\) exited with status 5"),
    "import_crash": ("os.kill(os.getpid(), signal.SIGSEGV)",
                     r"Unavailable: worker 'import_crash' \(process \d+\) was killed by signal 11 \(Segmentation fault\)"),
    "import_recursion": ("def f(): f()\nf()", "Internal: RecursionError: maximum recursion depth exceeded.*"),
    "import_closes": ("os.closerange(3, 1000)\n" + WORKS,
                      r"Unavailable: worker 'import_closes' \(process \d+\) exited with status 1: "
                      r"OSError: \[Errno 9\] Bad file descriptor"),
    "text_of_error_raises": ("class E(Exception):\n    def __str__(self): raise RuntimeError('in str')\nraise E()",
                             "Internal: E: <its text cannot be had>"),
    "text_of_error_is_no_text": (r"raise ValueError('\udcff ü')", r"Internal: ValueError: \? ü"),
    "init_raises": (hook("__init__", "raise OSError(2, 'no')"), r"Internal: FileNotFoundError: \[Errno 2\] no"),
    "initialize_raises": (hook("initialize", "raise KeyError('k')"), "Internal: KeyError: 'k'"),
    "initialize_refuses": (hook("initialize", "raise pb_utils.TritonModelException('no weights')"),
                           "Internal: TritonModelException: no weights"),
    "initialize_gone": (hook("initialize", "print('last words', file=sys.stderr); os._exit(7)"),
                        r"Unavailable: worker 'initialize_gone_0' \(process \d+\) exited with status 7: last words"),
    "initialize_killed": (hook("initialize", "os.kill(os.getpid(), signal.SIGKILL)"),
                          r"Unavailable: worker 'initialize_killed_0' \(process \d+\) was killed by signal 9 \(Killed\)"),
    "initialize_hangs": (hook("initialize", "time.sleep(10000)"),
                         r"Unavailable: worker 'initialize_hangs_0' \(process \d+\) is killed because it was not ready within 3 s"),
    "complete_raises": (hook("auto_complete_config", "raise ValueError('c')", True), "Internal: ValueError: c"),
    "complete_returns_none": (hook("auto_complete_config", "return None", True),
                              "Internal: auto_complete_config function in model 'complete_returns_none' must return a valid "
                              "pb.ModelConfig object."),
    "complete_gone": (hook("auto_complete_config", "os._exit(4)", True),
                      r"Unavailable: worker 'complete_gone' \(process \d+\) exited with status 4"),
    "complete_hangs": (hook("auto_complete_config", "time.sleep(10000)", True),
                       r"Unavailable: worker 'complete_hangs' \(process \d+\) is killed because auto_complete_config\(\) has not "
                       "returned in time"),
    "complete_no_type": (hook("auto_complete_config", "config.add_input({'name': 'X', 'data_type': 'TYPE_X', 'dims': [1]}); return config",
                              True), r'Invalid argument: \(input\[1\].data_type\): invalid value "TYPE_X" for type .*'),
}


@pytest.fixture(scope="module")
def loading(tmp_path_factory):
    """A server whose models are loaded by hand, and whose neighbour is asked all the time."""
    repository = tmp_path_factory.mktemp("repository")
    python_models.write(repository, "good", python_models.IDENTITY)
    for name, (module, _) in NO_MODELS.items():
        limit = parameter("start_timeout", "3s") if "hangs" in name else ""
        models.write_model(repository, name, config(name, limit), files={"model.py": (python_models.HEAD + module + "\n").encode()})
    models.write_model(repository, "no_file", config("no_file"))
    for name, program in (("no_program", "/no/python"), ("no_python", "/bin/false")):
        models.write_model(repository, name, config(name, parameter("PYTHON_EXECUTABLE", program)), files={"model.py": WORKS.encode()})
    with Server(repository, python_models.INTERPRETER, EXPLICIT, 'plugin.control.load_model=["good"]') as server:
        server.wait_ready("good")
        with Neighbour(server) as neighbour:
            yield server
            assert neighbour.answers > 0


class Neighbour:
    """Asks `good` until it is left; every answer has to be right."""

    def __init__(self, server):
        self._server, self._end, self.answers, self.failures = server, threading.Event(), 0, []

    def _run(self):
        with self._server.client() as client:
            for value in itertools.count():
                if self._end.wait(0.01):
                    return
                try:
                    given = np.array([value, -value], np.float32)
                    assert (ask(client, "good", given) == given).all()
                    self.answers += 1
                except Exception as error:  # told by the main thread
                    self.failures.append(error)

    def __enter__(self):
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()
        assert self.failures == []


def ask(client, model, array=GIVEN, **options):
    tensor = grpcclient.InferInput("INPUT0", list(array.shape), "FP32")
    tensor.set_data_from_numpy(array)
    return client.infer(model, [tensor], **options).as_numpy("OUTPUT0")


def workers(server):
    return python_models.children(server.pid)


def check_refused(server, loads_over, model, reason):
    """Loaded over one protocol, and looked at over both."""
    with Control(server, loads_over) as control:
        code, message = control.refusal(control.load, model)
        assert code == "INVALID_ARGUMENT"
        text = f"load failed for model '{model}': version 1 is at UNAVAILABLE state: {reason};\n"
        assert re.fullmatch(text, message, re.DOTALL), message
    for protocol in PROTOCOLS:
        with Control(server, protocol) as control:
            ((state, why),) = control.index()[model].values()
            assert state == "UNAVAILABLE" and re.fullmatch(reason, why, re.DOTALL), why


@pytest.mark.parametrize("number, model", enumerate(NO_MODELS))
def test_a_model_that_can_not_be_loaded_says_why(loading, number, model):
    check_refused(loading, PROTOCOLS[number % 2], model, NO_MODELS[model][1])
    eventually(lambda: len(workers(loading)) == 1)


@pytest.mark.parametrize("model, reason", [
    ("no_file", "Not found: Python model file not found in '.*/no_file/1/model.py'"),
    ("no_program", "Not found: model 'no_program': '/no/python' is no program"),
    ("no_python", r"Unavailable: worker 'no_python' \(process \d+\) exited with status 1")])
def test_what_is_no_model_or_no_interpreter_says_so(loading, model, reason):
    check_refused(loading, "http", model, reason)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_long_text_of_an_error_is_cut(loading, protocol):
    override = {"config": '{"backend": "python"}', "files": {"1/model.py": b"raise ValueError('x' * 1000000)"}}
    with Control(loading, protocol) as control:
        code, message = control.refusal(control.load, "long", **override)
        assert code == "INVALID_ARGUMENT" and "Internal: ValueError: xxx" in message and 1000 < len(message) < 5000


def test_a_model_that_was_broken_loads_once_it_is_mended(loading, tmp_path):
    with Control(loading, "grpc") as control:
        override = {"config": '{"backend": "python"}', "files": {"1/model.py": python_models.HEAD.encode() + b"oh no"}}
        assert "SyntaxError" in control.refusal(control.load, "fresh", **override)[1]
        override["files"]["1/model.py"] = (python_models.HEAD + hook("auto_complete_config", """
        config.add_input({"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [-1]})
        config.add_output({"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [-1]})
        return config""", True)).encode()
        control.load("fresh", **override)
        assert control.index()["fresh"]["1"] == ("READY", "")
        assert control.infer("fresh", 5) == ("1", 5)
        control.unload("fresh")


FAILED = "Failed to process the request(s) for model '{}_0', message: "
# Name: what execute() does, and the whole text that its client gets.
FAILURES = {
    "raises": ("raise ValueError('what a day')", FAILED + "ValueError: what a day"),
    "raises_nothing": ("raise ValueError", FAILED + "ValueError"),
    "chained": ("\n    try: 1 / 0\n    except ZeroDivisionError as e: raise RuntimeError('second') from e",
                FAILED + "RuntimeError: second"),
    "exits": ("sys.exit(3)", FAILED + "SystemExit: 3"),
    "interrupted": ("raise KeyboardInterrupt", FAILED + "KeyboardInterrupt"),
    "cancelled": ("raise asyncio.CancelledError", FAILED + "CancelledError"),
    "stops": ("raise StopIteration(5)", FAILED + "StopIteration: 5"),
    "recurses": ("return self.recurses(requests)", FAILED + "RecursionError: maximum recursion depth exceeded"),
    "generator_expression": ("return (answer(value(r)) for r in requests)",
                             FAILED + "Expected a list in the execute return, found type '<class 'generator'>'."),
    "generator": ("yield answer(value(requests[0]))",
                  FAILED + "Expected a list in the execute return, found type '<class 'generator'>'."),
    "tuple": ("return (answer(value(requests[0])),)", FAILED + "Expected a list in the execute return, found type '<class 'tuple'>'."),
    "too_few": ("return []", FAILED + "Number of InferenceResponse objects do not match the number of InferenceRequest objects. "
                "InferenceRequest(s) size is:1, and InferenceResponse(s) size is:0\n"),
    "no_response": ("return [1]", FAILED + "Expected an 'InferenceResponse' object in the execute function return list, found type "
                    "'<class 'int'>'."),
    "nothing": ("return None", "Model '{}_0' has dropped the request without a final response."),
    "no_tensor": ("return [pb_utils.InferenceResponse([None])]",
                  FAILED + "TritonModelException: Output tensor for inference response should not be empty."),
    "complex": ("return [answer(value(requests[0]).astype(np.complex64))]",
                FAILED + "TritonModelException: NumPy dtype is not supported."),
    "dates": ("return [answer(np.array(['2020-01-01'], 'M8[D]'))]", FAILED + "TritonModelException: NumPy dtype is not supported."),
    "str_array": ("return [answer(np.array(['x']))]", FAILED + "TritonModelException: NumPy dtype is not supported."),
    "twice": ("return [pb_utils.InferenceResponse([pb_utils.Tensor('OUTPUT0', value(requests[0]))] * 2)]",
              "output 'OUTPUT0' is there twice"),
    "huge": ("return [answer(np.zeros(1 << 28, np.float32))]", FAILED + "TritonModelException: The server has no shared memory left for "
             "1073741952 bytes of this model's process."),
}
STREAMED = {
    "stream_generator": ("yield answer(value(requests[0]))", FAILED + "Python model '{}_0' is using the decoupled mode and the execute "
                         "function must return None."),
    "stream_after_end": ("s = requests[0].get_response_sender(); s.send(answer(GIVEN), 1); s.send(answer(GIVEN))", None),
    "stream_forgotten": ("pass", "Model '{}_0' has dropped the request without a final response."),
}


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    repository = tmp_path_factory.mktemp("failing")
    python_models.write(repository, "good", python_models.IDENTITY)
    # One model for all, which does what a request names: each failure is followed by an answer.
    methods = ["GIVEN = np.array([1, 2], np.float32)"]
    for name, (body, _) in {**FAILURES, **STREAMED}.items():
        methods.append(f"def {name}(self, requests, GIVEN=GIVEN):\n    {body}\n")
    methods.append("def works(self, requests):\n    return [answer(value(requests[0]))]\n")
    methods.append("def execute(self, requests):\n    return getattr(self, json.loads(requests[0].parameters())['kind'])(requests)\n")
    python_models.write(repository, "fails", "\n".join(methods), extra=parameter("shared_memory", "256MiB"))
    python_models.write(repository, "streams", "\n".join(methods), extra="model_transaction_policy { decoupled: true }")
    with Server(repository, python_models.INTERPRETER) as server:
        server.wait_ready("good").wait_ready("fails").wait_ready("streams")
        with Neighbour(server):
            yield server


def test_a_failed_execute_fails_its_requests_alone(failing):
    before = workers(failing)
    with failing.client() as client:
        for name, (_, text) in FAILURES.items():
            with pytest.raises(InferenceServerException) as raised:
                ask(client, "fails", parameters={"kind": name}, client_timeout=60)
            expected = text.replace("{}", "fails")
            assert raised.value.message().strip() == expected.strip() and "INTERNAL" in raised.value.status(), name
            assert (ask(client, "fails", parameters={"kind": "works"}) == GIVEN).all(), name
    assert workers(failing) == before  # nothing of it was a death


def test_a_failed_execute_fails_over_http_too(failing):
    import tritonclient.http as httpclient
    with failing.http_client() as client:
        tensor = httpclient.InferInput("INPUT0", [2], "FP32")
        tensor.set_data_from_numpy(GIVEN)
        for name in ("raises", "too_few", "twice"):
            with pytest.raises(InferenceServerException) as raised:
                client.infer("fails", [tensor], parameters={"kind": name})
            assert raised.value.message().strip() == FAILURES[name][1].replace("{}", "fails").strip()
            assert raised.value.status() == "500"


def test_failed_streams_end(failing):
    got = queue.Queue()
    with failing.client() as client:
        client.start_stream(lambda result, error: got.put((result, error)))
        for name, (_, text) in STREAMED.items():
            tensor = grpcclient.InferInput("INPUT0", [2], "FP32")
            tensor.set_data_from_numpy(GIVEN)
            client.async_stream_infer("streams", [tensor], parameters={"kind": name}, enable_empty_final_response=True)
            result, error = got.get(timeout=60)
            if text is None:  # what came before the mistake is whole
                assert error is None and result.get_response().parameters["triton_final_response"].bool_param
            else:
                assert error.message() == text.replace("{}", "streams"), name
        client.stop_stream()


def test_killed_and_stopped_workers_touch_nobody_else(tmp_path):
    python_models.write(tmp_path, "good", python_models.IDENTITY)
    python_models.write(tmp_path, "victim", python_models.IDENTITY, extra=parameter("execute_timeout", "500ms"))
    with Server(tmp_path, python_models.INTERPRETER, EXPLICIT, 'plugin.control.load_model=["good"]') as server:
        server.wait_ready("good")
        (good,) = workers(server)
        with Neighbour(server) as neighbour, server.client() as client:
            client.load_model("victim")
            for signal_number, text in [(signal.SIGKILL, ""), (signal.SIGSTOP, "is killed because execute() has not returned"),
                                        (signal.SIGSEGV, ""), (signal.SIGSTOP, "is killed because execute() has not returned")]:
                eventually(lambda: answers(client, "victim"))
                (victim,) = [worker for worker in workers(server) if worker != good]
                os.kill(victim, signal_number)
                if text:
                    with pytest.raises(InferenceServerException, match=re.escape(text)):
                        ask(client, "victim")
                eventually(lambda victim=victim: victim not in workers(server))
            eventually(lambda: answers(client, "victim"))
            assert good in workers(server) and neighbour.answers > 0


def answers(client, model):
    try:
        return (ask(client, model) == GIVEN).all()
    except InferenceServerException:
        return False


def test_inputs_that_are_kept_use_up_the_models_own_memory_alone(tmp_path):
    python_models.write(tmp_path, "good", python_models.IDENTITY)
    python_models.write(tmp_path, "keeps", """\
        kept = []
        def execute(self, requests):
            self.kept.append(value(requests[0]))
            return [answer(value(requests[0])[:1].copy())]
        """, extra=parameter("shared_memory", "64MiB"))
    with Server(tmp_path, python_models.INTERPRETER) as server, server.client() as client:
        server.wait_ready()
        with Neighbour(server):
            large = np.zeros(1 << 20, np.float32)
            with pytest.raises(InferenceServerException, match="worker 'keeps_0' shares [0-9]+ of at most 67108864 bytes"):
                for _ in range(30):
                    ask(client, "keeps", large)
            assert ask(client, "keeps", GIVEN) == [1]  # what is small still fits


@pytest.mark.parametrize("left", ["threading.Thread(target=time.sleep, args=(10000,)).start()",
                                  "import atexit; atexit.register(time.sleep, 10000)"])
def test_what_a_model_leaves_running_does_not_keep_its_process(tmp_path, left):
    python_models.write(tmp_path, "good", python_models.IDENTITY)
    python_models.write(tmp_path, "leaves", f"""\
        def execute(self, requests):
            {left}
            return [answer(value(r)) for r in requests]
        def finalize(self):
            print("finalize of leaves")
            raise ValueError("at the end")
        """, extra=parameter("stop_timeout", "600s"))
    with Server(tmp_path, python_models.INTERPRETER, EXPLICIT, 'plugin.control.load_model=["*"]') as server, server.client() as client:
        server.wait_ready()
        assert (ask(client, "leaves") == GIVEN).all()
        client.unload_model("leaves")
        eventually(lambda: len(workers(server)) == 1)
        assert "finalize of leaves" in server.log and "ValueError: at the end" in server.log
        assert (ask(client, "good") == GIVEN).all()
