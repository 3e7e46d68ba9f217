"""What an operator sees of workers of Python models: why a model is not ready, and metrics."""

import contextlib
import os
import pathlib
import re
import signal
import urllib.request

import pytest
from support import python_models
from support.control import PROTOCOLS, Control
from support.python_models import children
from support.server import Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

# Says its process, and does not come up again while the file is there.
TOUCHY = """\
def initialize(self, args):
    if os.path.exists(os.path.join(args["model_repository"], "broken")):
        raise RuntimeError("now it is broken")
def execute(self, requests):
    if value(requests[0])[0] < 0:
        os.kill(os.getpid(), signal.SIGSEGV)
    return [answer(np.full(4, os.getpid(), dtype=np.float32)) for request in requests]
"""


@pytest.fixture
def repository(tmp_path):
    python_models.write(tmp_path, "touchy", TOUCHY, dims=(4,))
    return tmp_path


@pytest.fixture
def server(repository):
    with Server(repository, python_models.INTERPRETER) as running:
        yield running.wait_ready()


def die(control):
    with pytest.raises(InferenceServerException):
        control.infer("touchy", -1)


def reason(control):
    state, text = control.index()["touchy"]["1"]
    assert state == "READY"
    return text


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_worker_that_can_not_be_initialised_again_is_the_reason(server, repository, protocol):
    with Control(server, protocol) as control:
        (repository / "touchy" / "broken").touch()
        die(control)
        eventually(lambda: "now it is broken" in reason(control))
        assert reason(control).startswith(
            "an instance is not ready: worker 'touchy_0' cannot be initialised: RuntimeError: now it is broken; the next one is ")
        assert not control.client.is_model_ready("touchy") and not control.client.is_server_ready()
        with pytest.raises(InferenceServerException, match="cannot be initialised: RuntimeError: now it is broken"):
            control.infer("touchy")
        (repository / "touchy" / "broken").unlink()
        eventually(lambda: reason(control) == "")
        assert control.client.is_model_ready("touchy") and control.client.is_server_ready()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_workers_that_die_one_after_the_other_are_the_reason(server, protocol):
    with Control(server, protocol) as control:
        # One that has done something is followed at once; those that die without are followed after a pause.
        worker = int(control.infer("touchy")[1])
        words = pathlib.Path(f"/proc/{worker}/cmdline").read_text().split("\0")
        assert "--name=touchy_0" in words, "ps tells the workers of models apart"
        os.kill(worker, signal.SIGKILL)
        eventually(lambda: control.client.is_model_ready("touchy") and children(server.pid) not in ([], [worker]))
        text = ""
        while not re.search("the next one is started in [1-9]", text):
            for child in children(server.pid):
                with contextlib.suppress(ProcessLookupError):  # it is dead and was reaped meanwhile
                    os.kill(child, signal.SIGKILL)
            text = reason(control)
        assert re.fullmatch(r"an instance is not ready: worker 'touchy_0' \(process \d+\) was killed by signal 9 \(Killed\); "
                            r"the next one is started in [1-9]\d* s", text)
        eventually(lambda: control.client.is_model_ready("touchy"))


def metric(server, name, model="touchy"):
    """None: it is not there."""
    text = urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=60).read().decode()
    found = [line for line in text.splitlines() if line.startswith(f'{name}{{model="{model}",version="1"}}')]
    return float(found[0].rsplit(" ", 1)[1]) if found else None


def test_workers_are_counted(server):
    with Control(server, "grpc") as control:
        control.infer("touchy")
        assert metric(server, "atoll_python_workers") == 1
        assert metric(server, "atoll_python_worker_deaths_total") == 0
        assert metric(server, "atoll_python_worker_restarts_total") == 0
        for deaths in (1, 2):
            die(control)
            eventually(lambda: metric(server, "atoll_python_workers") == 1 and control.client.is_model_ready("touchy"))
            assert metric(server, "atoll_python_worker_deaths_total") == deaths
            assert metric(server, "atoll_python_worker_restarts_total") == deaths
            control.infer("touchy")


def test_their_memory_is_told(tmp_path):
    python_models.write(tmp_path, "large", """\
        def execute(self, requests):
            self.all = b"x" * (int(value(requests[0])[0]) << 20)
            return [answer(value(request)) for request in requests]
        """, dims=(4,))
    with Server(tmp_path, python_models.INTERPRETER) as server, Control(server.wait_ready(), "grpc") as control:
        control.infer("large", 0)
        before = metric(server, "atoll_python_worker_memory_bytes", "large")
        assert before > 8 << 20
        control.infer("large", 300)
        assert metric(server, "atoll_python_worker_memory_bytes", "large") > before + (290 << 20)


def test_without_python_models_there_are_no_such_metrics(tmp_path):
    with Server(tmp_path) as server:
        server.wait_ready()
        text = urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=60).read().decode()
        assert "atoll_python_" not in text
