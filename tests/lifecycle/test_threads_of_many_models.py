"""A server has as many threads as work, and a few that wait for it, however many models its clients use."""

import os

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.server import Server, usage

MODELS = 300
# What may wait for work in a process: two threads a CPU, and at least so many (sdk/runtime, IdleThreads).
WAITING_AT_LEAST = 32


@pytest.fixture
def server(tmp_path):
    for number in range(MODELS):
        # A queue of its own: executions are not left to the threads that bring the requests.
        models.write_model(tmp_path / "models", f"m{number}", models.identity_config(
            f"m{number}", dims=(4,), extra="dynamic_batching { max_queue_delay_microseconds: 1 }", max_batch_size=4))
    with Server(tmp_path / "models") as running:
        yield running.wait_ready()


def test_used_models_keep_no_threads(server):
    before = usage(server.pid)["threads"]
    tensor = grpcclient.InferInput("INPUT0", [1, 4], "FP32")
    tensor.set_data_from_numpy(np.zeros((1, 4), np.float32))
    most = 0
    with server.client() as client:
        for _ in range(2):
            for number in range(MODELS):
                client.infer(f"m{number}", [tensor])
                most = max(most, usage(server.pid)["threads"])
    assert most <= before + max(WAITING_AT_LEAST, 2 * len(os.sched_getaffinity(0))) + 8, "of one request at a time"
