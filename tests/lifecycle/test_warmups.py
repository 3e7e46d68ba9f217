"""A warm-up that a backend never answers fails its load; the others are loaded, and the server's end names it."""
import signal

import pytest
from support import models
from support.python_models import INTERPRETER
from support.server import Server

KEEPS = b"""
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        self.kept = [request.get_response_sender() for request in requests]
"""
CONFIG = """
backend: "python" max_batch_size: 2 model_transaction_policy { decoupled: true }
input { name: "IN" data_type: TYPE_STRING dims: [ 1 ] }
output { name: "OUT" data_type: TYPE_FP32 dims: [ 1 ] }
model_warmup { name: "w" batch_size: 1 inputs { key: "IN" value { data_type: TYPE_STRING dims: [ 1 ] zero_data: true } } }
"""
LINE = "failed to run warmup sample 'w': the backend has not answered within 1 s"
THREADS = 2


def test_warmups_that_are_never_answered_stop_no_other_load_and_are_named_at_the_end(tmp_path):
    repository = tmp_path / "models"
    for i in range(THREADS + 1):
        models.write_model(repository, f"a{i}", CONFIG, files={"model.py": KEEPS})
    models.write_model(repository, "z", models.identity_config("z"))
    settings = ('plugin.models.warmup_timeout="1s"', f"atoll.worker_threads={THREADS}", 'atoll.drain_timeout="3s"')
    with pytest.raises(AssertionError, match="exit code 1;"), Server(repository, INTERPRETER, *settings) as server:
        server.wait_ready("z")
        server.wait_for_line("start-up: 1 model loaded, 3 failed: a0, a1, a2")
        for i in range(THREADS + 1):
            server.wait_logged(f"failed to load 'a{i}' version 1: Deadline exceeded: {LINE}")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=60) == 1
        server.wait_for_line("ended with plugins still draining")
        held = "plugin 'models' (models/catalog): still draining after "
        line = next(line for line in server.lines if held in line)
        for i in range(THREADS + 1):
            assert f"a warm-up request of model 'a{i}' version 1 that was not answered" in line
