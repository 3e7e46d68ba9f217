"""The instances of a served model become more and fewer: nothing is loaded, no request is lost, the statistics stay."""

import concurrent.futures
import itertools
import json
import threading
import time

import pytest
from support import models
from support.control import EXPLICIT, PROTOCOLS, Control
from support.server import SANITIZED, Server

CHANGES = 10 if SANITIZED else 30
CLIENTS = 8


def config(count, delay_ms, batching):
    return models.identity_config(
        "m", dims=(4,), extra=f'parameters {{ key: "execute_delay_ms" value {{ string_value: "{delay_ms}" }} }}\n'
        f"instance_group [ {{ kind: KIND_CPU count: {count} }} ]\n") + batching


def as_json(count, delay_ms):
    return json.dumps({
        "backend": "identity", "max_batch_size": 0, "name": "m",
        "input": [{"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [4]}],
        "output": [{"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [4]}],
        "parameters": {"execute_delay_ms": {"string_value": str(delay_ms)}},
        "instance_group": [{"kind": "KIND_CPU", "count": count}]})


def ask(server, i, end):
    """How many were answered; a wrong answer or a refusal fails."""
    answered = 0
    with Control(server, PROTOCOLS[i % 2]) as control:
        while not end.is_set():
            value = float(answered % 100)
            assert control.infer("m", value) == ("1", value)
            answered += 1
    return answered


def counted(control):
    (model,) = control.client.get_inference_statistics("m").model_stats
    assert model.inference_stats.fail.count == 0
    return model.inference_stats.success.count


def instance_count(control):
    return sum(group.count for group in control.client.get_model_config("m").config.instance_group)


@pytest.mark.parametrize("delay_ms", [0, 5])
def test_a_load_with_another_count_changes_the_instances_only(tmp_path, delay_ms):
    models.write_model(tmp_path, "m", config(1, delay_ms, ""))
    end = threading.Event()
    with Server(tmp_path, EXPLICIT, 'plugin.control.load_model=["m"]') as server, Control(server, "grpc") as control, \
            concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        server.wait_ready()
        clients = [pool.submit(ask, server, i, end) for i in range(CLIENTS)]
        try:
            for count in itertools.islice(itertools.cycle((3, 1, 4, 2)), CHANGES):
                before = counted(control)
                control.load("m", config=as_json(count, delay_ms))
                assert instance_count(control) == count
                assert counted(control) >= before
        finally:
            end.set()
        answered = sum(client.result() for client in clients)
        assert answered > 0 and counted(control) == answered
        assert server.log.count("successfully loaded 'm' version 1") == 1
        assert server.log.count("'m' version 1 changes its instances: ") == CHANGES
        assert "successfully unloaded" not in server.log


def test_polling_follows_a_count_in_place(tmp_path):
    repository = tmp_path / "models"
    folder = models.write_model(repository, "m", config(1, 0, ""))
    with Server(repository, 'plugin.control.use="control/poll"', 'plugin.control.interval="100ms"',
                'plugin.control.settle_time="100ms"') as server, Control(server, "grpc") as control:
        server.wait_ready()
        assert control.infer("m", 1) == ("1", 1)
        for count in (3, 2):
            (folder / "new").write_text(config(count, 0, ""))
            (folder / "new").rename(folder / "config.pbtxt")
            deadline = time.monotonic() + 60
            while instance_count(control) != count:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            assert control.infer("m", 1) == ("1", 1)
        assert counted(control) == 3
        assert server.log.count("successfully loaded 'm' version 1") == 1
