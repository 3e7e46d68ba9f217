"""Schedulers that models name, and those that come and go while clients are being served."""

import signal
import threading
import time

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.server import DEFAULT_MANIFEST, Server
from tritonclient.utils import InferenceServerException

NAMES_SECOND = 'parameters { key: "scheduler" value { string_value: "second" } }\n'
SECOND = '\n[plugin.second]\nuse = "schedulers/default"\n'


def infer(client, model, value=1.0):
    array = np.full((1, 4), value, np.float32)
    tensor = grpcclient.InferInput("INPUT0", [1, 4], "FP32")
    tensor.set_data_from_numpy(array)
    np.testing.assert_array_equal(client.infer(model, [tensor]).as_numpy("OUTPUT0"), array)


def write_models(repository, **extras):
    for name, extra in extras.items():
        models.write_model(repository, name, models.identity_config(name, dims=(4,), max_batch_size=8, extra=extra))


class Load:
    """Clients that ask one model without pause; every answer is checked, every failure kept."""

    def __init__(self, server, model, clients=4):
        self.failures, self.answers, self._end = [], 0, threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(server, model, i)) for i in range(clients)]
        for thread in self._threads:
            thread.start()

    def _run(self, server, model, worker):
        with server.client() as client:
            while not self._end.is_set():
                try:
                    infer(client, model, worker * 1e4)
                    self.answers += 1
                except (InferenceServerException, AssertionError) as error:
                    self.failures.append(str(error))
                    return

    def goes_on(self, answers=200):
        until = self.answers + answers
        while self.answers < until and not self.failures:
            time.sleep(0.01)

    def end(self):
        self._end.set()
        for thread in self._threads:
            thread.join()


def reload(server, manifest, text):
    manifest.write_text(text)
    server.process.send_signal(signal.SIGHUP)


def state_of(client, model):
    entries = client.get_model_repository_index().models
    return next((entry.state, entry.reason) for entry in entries if entry.name == model)


def wait_for_state(server, client, model, state):
    deadline = time.monotonic() + 60
    while (found := state_of(client, model))[0] != state:
        assert time.monotonic() < deadline, (found, server.log)
        time.sleep(0.01)
    return found[1]


def test_a_model_moves_off_a_scheduler_that_goes_and_back_without_losing_a_request(tmp_path):
    write_models(tmp_path / "models", batched="dynamic_batching { }\n")
    manifest = tmp_path / "atoll.toml"
    text = DEFAULT_MANIFEST.read_text()
    manifest.write_text(text)
    without = text.replace('use = "schedulers/dynamic"', 'use = "schedulers/dynamic"\nenabled = false')
    assert without != text
    with Server(tmp_path / "models", manifest=manifest) as server:
        server.wait_ready("batched")
        load = Load(server, "batched")
        for _ in range(3):
            load.goes_on()
            reload(server, manifest, without)
            # Logged whenever the model is built for 'default', also where its move back to 'dynamic' had not ended yet.
            server.wait_for_line("model 'batched' version 1: .* executed one by one by the 'default' scheduler")
            load.goes_on()
            reload(server, manifest, text)
            server.wait_for_line("model 'batched': scheduler 'dynamic' takes over from 'default'")
        load.goes_on()
        load.end()
        server.wait_logged("model 'batched': scheduler 'default' takes over from 'dynamic'")
        assert load.failures == []
        assert load.answers > 0


def test_a_model_names_its_scheduler_and_follows_it(tmp_path):
    write_models(tmp_path / "models", named=NAMES_SECOND, plain="")
    manifest = tmp_path / "atoll.toml"
    text = DEFAULT_MANIFEST.read_text()
    manifest.write_text(text)
    with Server(tmp_path / "models", manifest=manifest) as server, server.client() as client:
        server.wait_ready("plain")
        assert "names scheduler 'second'" in wait_for_state(server, client, "named", "UNAVAILABLE")
        with pytest.raises(InferenceServerException, match="'named'"):
            infer(client, "named")
        for _ in range(2):
            reload(server, manifest, text + SECOND)
            wait_for_state(server, client, "named", "READY")
            infer(client, "named")
            load = Load(server, "plain")
            reload(server, manifest, text)
            assert wait_for_state(server, client, "named", "UNAVAILABLE") == "scheduler 'second' was removed"
            load.goes_on()
            load.end()
            assert load.failures == []
