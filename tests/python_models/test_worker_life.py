"""A Python worker from its start to its end: import, auto-complete, initialize, logs, probes, death of either side."""

import json
import os
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest

from fake_python_server import FOLDER, interpreters, layout
from test_worker_execute import ONE, async_model, model

IDLE = "class TritonPythonModel:\n    def execute(self, requests): return [None] * len(requests)\n"


@pytest.mark.parametrize("body, text", [
    ("raise ValueError('at import')", "ValueError: at import"),
    ("def f(:", "SyntaxError: "),
    ("import not_there", "ModuleNotFoundError: No module named 'not_there'"),
    ("x = 1", "AttributeError: module '1.model' has no attribute 'TritonPythonModel'"),
    ("class TritonPythonModel:\n    def __init__(self): raise OSError(2, 'no')", "FileNotFoundError: [Errno 2] no"),
    ("class TritonPythonModel:\n    def initialize(self, args): raise KeyError('k')", "KeyError: 'k'"),
    ("class TritonPythonModel:\n    def initialize(self, args): raise pb_utils.TritonModelException('m')",
     "TritonModelException: m"),
    ("import sys; sys.exit(0)", "SystemExit: 0"),
])
def test_a_model_that_does_not_start_says_why(serve, body, text):
    server = serve(body, initialize=False)
    assert server.initialize()["error"].startswith(text)
    assert "Traceback" in server.logs[0]["message"]
    assert server.finalize() == 0


def test_a_module_that_a_link_left_behind_is_told(serve, tmp_path):
    server = serve("", initialize=False)
    (tmp_path / "loose").mkdir()
    (tmp_path / "loose" / "helper.py").write_text("X = 5")
    (tmp_path / "loose" / "model.py").write_text("import helper")
    os.unlink(server.folder / "1/model.py")
    (server.folder / "1/model.py").symlink_to(tmp_path / "loose" / "model.py")
    assert server.initialize()["error"] == (
        "ModuleNotFoundError: No module named 'helper'; helper.py lies beside the file that model.py is a link to, and is not in the "
        "model's version folder: serve a repository whose folder MODEL/1 has both")
    assert [log["line"] for log in server.logs] == [0] and server.logs[0]["file"] == "", "the traceback says the place"


def test_a_missing_file_is_named(serve):
    server = serve("", initialize=False)
    os.unlink(server.folder / "1/model.py")
    assert server.initialize()["error"] == f"FileNotFoundError: Python model file not found in '{server.folder}/1/model.py'"


def test_a_model_imports_what_lies_beside_it(serve):
    server = serve("""
import helper
from . import helper as relative
from .folder.part import VALUE
import common
class TritonPythonModel:
    def initialize(self, args):
        pb_utils.Logger.log_info(repr([helper.X, relative.X, VALUE, common.Y, __name__, pb_utils.get_model_dir(), args]))
""", initialize=False)
    (server.folder / "1/helper.py").write_text("X = 5")
    (server.folder / "1/folder").mkdir()
    (server.folder / "1/folder/part.py").write_text("VALUE = 6")
    (server.folder / "common.py").write_text("Y = 7")
    # Of this name there may be anything; ours is what counts.
    (server.folder / "1/triton_python_backend_utils.py").write_text("raise RuntimeError('a copy')")
    assert server.initialize(model_instance_kind="CPU") == {"is_ready": False}
    args = {"model_name": "m", "model_version": "1", "model_config": "{}", "model_instance_kind": "CPU"}
    assert server.logs[0]["message"] == repr([5, 5, 6, 7, "1.model", f"{server.folder}/1", args])


def test_finalize_runs_and_its_errors_are_logged(serve):
    server = serve(IDLE + "    def finalize(self):\n        print('last words')\n        raise ValueError('late')\n")
    assert server.finalize() == 0
    assert "ValueError: late" in server.logs[-1]["message"]
    server._reader.join(5)
    assert server.output == [b"last words\n"]


def test_logs_have_the_callers_place(serve):
    server = serve("""
import logging
class TritonPythonModel:
    def initialize(self, args):
        pb_utils.Logger.log("plain")
        pb_utils.Logger.log("v", pb_utils.Logger.VERBOSE)
        pb_utils.Logger.log_info("i")
        pb_utils.Logger.log_warn("w")
        pb_utils.Logger.log_error("e \\udcff ü")
        pb_utils.Logger.log_verbose("v")
        logging.getLogger("mine").warning("from %s", "logging")
        logging.getLogger("mine").info("not shown")
        logging.getLogger("mine").error("bad")
""")
    assert [(entry["message"], entry["level"]) for entry in server.logs] == [
        ("plain", 0), ("v", 3), ("i", 0), ("w", 1), ("e ? ü", 2), ("v", 3), ("from logging", 1), ("bad", 2)]
    lines = (server.folder / "1/model.py").read_text().splitlines()
    first = next(number for number, line in enumerate(lines, 1) if '"plain"' in line)
    assert [entry["line"] for entry in server.logs[:6]] == list(range(first, first + 6))
    assert {entry["file"] for entry in server.logs} == {f"{server.folder}/1/model.py"}


COMPLETE = """
class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        {}
"""


def test_auto_complete_gives_the_configuration_back(serve):
    server = serve(COMPLETE.format("""
        config.add_input({"name": "IN", "data_type": "TYPE_FP32", "dims": [4]})
        config.add_output({"name": "OUT", "data_type": "TYPE_FP32", "dims": [4]})
        config.set_max_batch_size(8)
        config.set_dynamic_batching()
        return config"""), initialize=False)
    tensor = {"data_type": "TYPE_FP32", "dims": [4]}
    assert server.auto_complete({"name": "m", "max_batch_size": 0}) == {"config": {
        "name": "m", "max_batch_size": 8, "input": [{"name": "IN", **tensor}], "output": [{"name": "OUT", **tensor}],
        "dynamic_batching": {}}}
    assert server.finalize() == 0


@pytest.mark.parametrize("body, text", [
    ("return None", "auto_complete_config function in model 'm' must return a valid pb.ModelConfig object."),
    ("raise ValueError('x')", "ValueError: x"),
    ("config.set_max_batch_size(1)", "ValueError: configuration specified max_batch_size 4, but in auto-complete-config function "
                                     "for model 'm' specified max_batch_size 1"),
    ("import sys; sys.exit(1)", "SystemExit: 1"),
    ("config.as_dict()['input'] = [{'dims': [4, object()]}]\n        return config",
     "ValueError: the property 'input[0].dims[1]' is a object, which no configuration can have"),
])
def test_auto_complete_that_fails_says_why(serve, body, text):
    server = serve(COMPLETE.format(body), initialize=False)
    assert server.auto_complete({"name": "m", "max_batch_size": 4}) == {"error": text}


def test_a_completed_configuration_may_have_numpys_numbers(serve):
    server = serve(COMPLETE.format("""
        array = np.zeros((1, 4), np.float32)
        config.add_input({"name": "IN", "data_type": "TYPE_FP32", "dims": [np.int64(array.shape[1])]})
        config.as_dict()["output"] = ({"name": "OUT", "data_type": "TYPE_FP32", "dims": np.array(array.shape)},)
        config.as_dict()["parameters"] = {"SCALE": {"string_value": b"x"}, 5: np.float64(0.5), "ON": np.bool_(True)}
        return config"""), initialize=False)
    assert server.auto_complete({"name": "m"}) == {"config": {
        "name": "m", "input": [{"name": "IN", "data_type": "TYPE_FP32", "dims": [4]}],
        "output": [{"name": "OUT", "data_type": "TYPE_FP32", "dims": [1, 4]}],
        "parameters": {"SCALE": {"string_value": "x"}, "5": 0.5, "ON": True}}}
    assert server.finalize() == 0


def test_a_model_need_not_complete_anything(serve):
    assert serve(IDLE, initialize=False).auto_complete({"name": "m"}) == {"config": None}


@pytest.mark.parametrize("source, value, text", [
    ("def is_ready(self): return True", 1, None),
    ("def is_ready(self): return False", 0, None),
    ("async def is_ready(self):\n        import asyncio\n        await asyncio.sleep(0)\n        return True", 1, None),
    ("def is_ready(self): return 1", 0, "TypeError: is_ready() must return a boolean value"),
    ("def is_ready(self): raise ValueError('no')", 0, "ValueError: no"),
])
def test_probes_are_answered(serve, source, value, text):
    server = serve(IDLE + "    " + source + "\n", initialize=False)
    assert server.initialize() == {"is_ready": True}
    server.send(server.side, layout.PROBE, number=77)
    number, ready, error = server.wait_for_answer(layout.PROBED)
    assert (number, ready) == (77, value)
    assert error is None if text is None else error["error"] == text


def test_a_probe_is_answered_beside_execute(serve):
    server = serve(model("event.wait(10)\nreturn [ok()]", before="event = threading.Event()") +
                   "    def is_ready(self):\n        event.set()\n        return True\n")
    (handle,) = server.execute([ONE], wait=False)
    server.send(server.side, layout.PROBE, number=1)
    server.wait_for_answer(layout.PROBED)
    server.wait_for(lambda: server.responses[handle].is_final)


@pytest.mark.parametrize("body", ["", "while True: pass", "time.sleep(1000)"])
def test_the_worker_ends_with_the_servers_socket(serve, body):
    server = serve(model((body or "pass") + "\nreturn [ok()]"))
    server.execute([ONE], wait=not body)
    server.socket.close()
    assert server.process.wait(5) == 1


def test_the_worker_ends_with_the_servers_process(tmp_path):
    (tmp_path / "1").mkdir()
    script = f"""
import sys, time
sys.path.insert(0, {os.path.dirname(__file__)!r})
from fake_python_server import FakeServer
server = FakeServer({sys.executable!r}, {str(tmp_path)!r}, {IDLE!r}).started()
print(server.process.pid, flush=True)
time.sleep(1000)
"""
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    worker = int(parent.stdout.readline())
    descriptor = os.pidfd_open(worker)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    import select
    assert select.select([descriptor], [], [], 5)[0]
    os.close(descriptor)


def test_the_worker_does_not_end_with_the_terminals_signals(serve):
    server = serve(model("return [ok()]"))
    server.process.send_signal(signal.SIGINT)
    server.process.send_signal(signal.SIGTERM)
    (handle,) = server.execute([ONE])
    assert server.responses[handle][0].error is None


FORKING = """
import gc, os, signal, subprocess
held = requests[0].inputs()[0].as_numpy()
child = os.fork()
if child == 0:
    status = 7
    try:
        requests.clear()
        del held
        gc.collect()
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        try:
            pb_utils.Logger.log_info('from the child')
            pb_utils.load_model('x')
        except pb_utils.TritonModelException as error:
            status = 5 if 'forked' in str(error) else 6
    finally:
        os._exit(status)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
pb_utils.Logger.log_info('parent')
while not requests[0].is_cancelled():
    time.sleep(0.001)
started = subprocess.Popen(['sleep', '1000'])
started.terminate()
return [pb_utils.InferenceResponse([pb_utils.Tensor('OUT', np.array([status, started.wait(10), held[0]]))])]
"""


@pytest.mark.parametrize("environment", [{}, {"ATOLL_WORKER_PURE": "1"}], ids=["native", "pure"])
def test_a_process_that_the_model_forks_does_not_touch_what_is_the_servers(serve, environment):
    server = serve(model(FORKING), environment=environment)
    (handle,) = server.execute([ONE], wait=False, own_block=True)
    server.wait_for(lambda: server.logs)
    assert len(server.held_blocks()) == 2
    server.cancel(handle)
    server.wait_for(lambda: server.responses[handle].is_final)
    assert server.responses[handle][0].error is None, server.logs
    assert server.responses[handle][0].outputs["OUT"].tolist() == [5, -signal.SIGTERM, 1]
    assert [entry["message"] for entry in server.logs] == ["parent"]
    server.wait_for(lambda: b"from the child\n" in server.output)  # it has stderr


def test_descriptors_of_slabs_do_not_stay(serve):
    server = serve(model("""
import os
text = []
for name in os.listdir('/proc/self/fd'):
    if 'memfd' in os.path.realpath('/proc/self/fd/' + name):
        text.append(name)
return [pb_utils.InferenceResponse([pb_utils.Tensor('OUT', np.array(text or ['none'], np.object_))])]
"""))
    (handle,) = server.execute([ONE])
    # Regions are mapped and their descriptors closed: there is nothing to be shrunk, and nothing a child would inherit.
    assert server.responses[handle][0].outputs["OUT"].tolist() == [b"none"]


def test_memory_of_an_idle_worker_is_given_back(serve):
    server = serve(model("return [pb_utils.InferenceResponse([pb_utils.Tensor('OUT', np.ones(20 << 20, np.uint8))])]"))
    server.execute([ONE])

    def pages():
        return sum(os.fstat(slab.fd).st_blocks * 512 for slab in server.slabs.values() if slab.owner == 1)

    assert pages() >= 20 << 20
    server.wait_for(lambda: pages() <= 1 << 20)
    (handle,) = server.execute([ONE])
    assert server.responses[handle][0].outputs["OUT"].all()


@pytest.mark.parametrize("packet, text", [
    (layout.HELLO.pack(layout.MAGIC, 99, 40960), "the server speaks version 99 of the protocol, this worker 1"),
    (layout.HELLO.pack(layout.MAGIC, layout.VERSION, 40960), "the server's first packet had 0 descriptors, not 1"),
    (b"?", "a packet of 1 bytes is not Hello, which has 16"),
])
def test_another_protocol_is_refused(packet, text):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        ours.send(packet)
        done = subprocess.run([sys.executable, FOLDER / "atoll_worker", str(theirs.fileno())], pass_fds=[theirs.fileno()],
                              capture_output=True, text=True, timeout=20)
        theirs.close()
    assert done.returncode == 3 and done.stderr == f"the worker cannot start: {text}\n"


def test_it_is_not_started_by_hand():
    done = subprocess.run([sys.executable, FOLDER / "atoll_worker"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 2 and done.stderr == "usage: atoll_worker FD [--all-cpus-when-ready] [--name=NAME]; the server starts it\n"


TOUR = async_model("""
given = requests[0].inputs()[0]
shared = pb_utils.Tensor.from_dlpack("D", given.to_dlpack()).as_numpy()
other = await pb_utils.InferenceRequest(model_name="o", requested_output_names=["X"], inputs=[given]).async_exec()
words = np.array([b"a", "ü"], np.object_)
large = pb_utils.empty("L", (100000,), np.float64)
large.as_numpy()[:] = shared[0]
return [pb_utils.InferenceResponse([pb_utils.Tensor("D", shared + 1), other.output_tensors()[0], pb_utils.Tensor("W", words), large],
                                   parameters={"version": "%d.%d" % __import__("sys").version_info[:2]})]
""")


@pytest.mark.parametrize("native", [True, False], ids=["native", "pure"])
@pytest.mark.parametrize("version, interpreter", sorted(interpreters().items()))
def test_each_interpreter_that_is_there_does_everything(serve, version, interpreter, native):
    environment = {} if native else {"ATOLL_WORKER_PURE": "1"}
    server = serve(TOUR, interpreter=interpreter, environment=environment)
    server.on_infer = lambda call: server.answer(call["call"], {"X": call["inputs"]["IN"] * 3})
    for _ in range(3):
        (handle,) = server.execute([{"inputs": {"IN": np.array([4.0, 5.0])}, "outputs": list("DXWL")}])
        (response,) = server.responses[handle]
        assert response.error is None, (response.error, server.logs)
        assert json.loads(response.parameters) == {"version": version}
        assert response.outputs["D"].tolist() == [5, 6] and response.outputs["X"].tolist() == [12, 15]
        assert response.outputs["W"].tolist() == [b"a", "ü".encode()] and (response.outputs["L"] == 4).all()
    assert server.finalize() == 0
