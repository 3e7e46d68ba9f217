"""Instances run where the host policy of their group says."""

import os
import pathlib
import re

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support.control import EXPLICIT
from support.models import identity_config, write_model
from support.server import BUILD, Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

CORE = min(os.sched_getaffinity(0))


def cores_of(server, thread):
    """What the kernel allows the threads of a name, each once."""
    found = set()
    for task in pathlib.Path(f"/proc/{server.pid}/task").iterdir():
        if (task / "comm").read_text().strip() == thread:
            found.add(re.search(r"^Cpus_allowed_list:\s+(\S+)$", (task / "status").read_text(), re.M).group(1))
    return found


def test_instances_run_on_the_cores_of_their_policy(tmp_path):
    group = ' instance_group [ {{ name: "{}" count: 1 kind: KIND_CPU {} }} ]'
    write_model(tmp_path, "bound", identity_config("bound") + group.format("bound", 'host_policy: "one"'))
    write_model(tmp_path, "free", identity_config("free") + group.format("free", ""))
    with Server(tmp_path, f'plugin.models.host_policies={{"one.cpu-cores"="{CORE}"}}') as server:
        server.wait_ready()
        tensor = grpcclient.InferInput("INPUT0", [3], "FP32")
        tensor.set_data_from_numpy(np.array([1, 2, 3], np.float32))
        cores = {}
        with server.client() as client:
            for model in ("bound", "free"):
                for _ in range(4):  # more, and "free" is known to be light and leaves its thread
                    assert client.infer(model, [tensor]).as_numpy("OUTPUT0").tolist() == [1, 2, 3]
                cores[model] = cores_of(server, f"{model}_0")
                for _ in range(16):
                    assert client.infer(model, [tensor]).as_numpy("OUTPUT0").tolist() == [1, 2, 3]
        assert cores["bound"] == {str(CORE)}
        everywhere = cores["free"]
        assert len(everywhere) == 1 and (everywhere != {str(CORE)} or len(os.sched_getaffinity(0)) == 1)


def test_instances_on_gpus_have_the_policy_of_their_gpu(tmp_path):
    group = ' instance_group [ { name: "g" count: 1 kind: KIND_GPU } ]'
    write_model(tmp_path, "m", identity_config("m").replace('"identity"', '"device"') + group)
    plugins = ", ".join(f'"{path}"' for path in (BUILD / "lib/atoll/plugins", BUILD / "tests/wire/plugins"))
    with Server(tmp_path, f"atoll.plugin_path=[{plugins}]", 'plugin.device.use="fixtures/device"',
                f'plugin.models.host_policies={{"gpu_1.cpu-cores"="{CORE}"}}') as server:
        server.wait_ready()
        tensor = grpcclient.InferInput("INPUT0", [3], "FP32")
        tensor.set_data_from_numpy(np.array([1, 2, 3], np.float32))
        with server.client() as client:
            assert client.infer("m", [tensor]).as_numpy("OUTPUT0").tolist() == [1, 2, 3]
        eventually(lambda: cores_of(server, "g_1") == {str(CORE)})
        assert cores_of(server, "g_0") != {str(CORE)} or len(os.sched_getaffinity(0)) == 1


def test_a_core_that_is_not_there_fails_the_load(tmp_path):
    write_model(tmp_path, "m", identity_config("m"))
    with Server(tmp_path, EXPLICIT, 'plugin.models.host_policies={"cpu.cpu-cores"="8000"}') as server:
        with server.client() as client, pytest.raises(InferenceServerException) as failure:
            client.load_model("m")
        assert "8000" in str(failure.value) and "host policy 'cpu' of instance 'm_0'" in str(failure.value)
