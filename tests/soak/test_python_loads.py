"""Python models load, answer and unload: memory, processes, threads and descriptors of the server stay as they are.
ATOLL_PYTHON_LOADS=1000: more often than in every run, with a line for each hundred in ATOLL_PYTHON_LOADS_LOG."""

import os
import pathlib

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import python_models
from support.control import EXPLICIT, Control
from support.python_models import children
from support.server import MEMORY_SLACK_BYTES, SANITIZED, Server, usage
from support.waiting import eventually

CYCLES = int(os.environ.get("ATOLL_PYTHON_LOADS", 20 if SANITIZED else 60))
LOG = os.environ.get("ATOLL_PYTHON_LOADS_LOG", os.devnull)
WORKERS = 4  # the pool for loads starts a thread when there is work for one more

BUSY = """\
@staticmethod
def auto_complete_config(config):
    config.add_input({"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [-1]})
    config.add_output({"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [-1]})
    return config
def initialize(self, args):
    self.family = pb_utils.MetricFamily("loads_total", "Loads.", pb_utils.MetricFamily.COUNTER)
    self.metric = self.family.Metric(labels={"model": args["model_name"]})
def execute(self, requests):
    self.metric.increment(len(requests))
    return [answer(value(request)) for request in requests]
"""


def held_by(pid, folder):
    """Files of the folder that the process has mapped or open."""
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
    descriptors = [os.readlink(path) for path in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
    return [line for line in [*maps.splitlines(), *descriptors] if folder in line]


@pytest.fixture
def served(tmp_path):
    """A server without models loaded, a client, and where the server puts files."""
    repository, temporary = tmp_path / "models", tmp_path / "temporary"
    temporary.mkdir()
    python_models.write(repository, "m", BUSY, config='name: "m" backend: "python"')
    with Server(repository, python_models.INTERPRETER, EXPLICIT, environment={"TMPDIR": str(temporary)}) as server:
        server.wait_ready()
        with Control(server, "grpc") as control:
            yield server, control, temporary


def test_loads_and_unloads_of_a_python_model_are_flat(served):
    server, control, temporary = served
    given = grpcclient.InferInput("INPUT0", [20000], "FP32")  # has a block of its own in shared memory
    array = np.arange(20000, dtype=np.float32)
    given.set_data_from_numpy(array)

    def used():
        eventually(lambda: children(server.pid) == [])
        return {**usage(server.pid), "files": sorted(os.listdir(temporary))}

    def cycle(count):
        with open(LOG, "a") as log:
            for i in range(1, count + 1):
                control.load("m")
                assert (control.client.infer("m", [given]).as_numpy("OUTPUT0") == array).all()
                assert len(children(server.pid)) == 1
                control.unload("m")
                if i % 100 == 0:
                    print(i, {key: value for key, value in used().items() if isinstance(value, int)}, file=log, flush=True)
        return used()

    before = cycle(max(CYCLES // 10, 10))
    after = cycle(CYCLES)
    # Those of the last worker are closed when it is gone, not before.
    eventually(lambda: usage(server.pid)["descriptors"] <= before["descriptors"])
    assert after["threads"] <= before["threads"] + WORKERS
    assert after["resident_bytes"] <= before["resident_bytes"] + MEMORY_SLACK_BYTES, [before, after]
    assert after["files"] == before["files"]
    assert not held_by(server.pid, "/dev/shm/")
