"""Thousands of sequences at the same time, while their model is reloaded, gets other instances and other schedulers, and
clients give up: every answer is that of the client's own sequence, and whatever ends early says so in known words."""

import functools
import itertools
import queue
import random
import re
import signal
import threading
import time

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.control import EXPLICIT
from support.server import DEFAULT_MANIFEST, SANITIZED, Server
from tritonclient.utils import InferenceServerException

CLIENTS = 8  # two sequences each
SEQUENCES = 40 if SANITIZED else 300  # of each client and round
ROUNDS = 2
STRATEGIES = {"sequence_direct": "direct { }", "sequence_oldest": "oldest { max_candidate_sequences: 16 }"}
IDLE = "max_sequence_idle_microseconds: 10000000"
# Of a request that is cancelled, of those behind it, and of those that come after that.
ENDED = re.compile(r"^$|cancel|must specify the START flag|the sequence has ended: the model version", re.I)


class Client(threading.Thread):
    """One sequence after the other, of two at a time; some are given up."""

    ids = itertools.count(1)

    def __init__(self, server, model, seed):
        super().__init__()
        self._server, self._model, self._random = server, model, random.Random(seed)
        self.wrong, self.right, self.ended = [], 0, 0

    def run(self):
        with self._server.client() as client:
            for _ in range(SEQUENCES // 2):
                self._two_at_once(client)

    def _two_at_once(self, client):
        open_ones = [[next(self.ids), 0, 0] for _ in range(2)]
        while open_ones:
            one = self._random.choice(open_ones)
            ends = one[2] == 5
            if not self._step(client, one, ends) or ends:
                open_ones.remove(one)

    def _give_up(self, client, *arguments, **options):
        """Half of them at once, the others while they are executed, or too late: then there is a result."""
        answers = queue.Queue()
        call = client.async_infer(*arguments, lambda result, error: answers.put((result, error)), **options)
        if self._random.random() < 0.5:
            time.sleep(self._random.uniform(0, 0.0005))
        call.cancel()
        result, error = answers.get(timeout=60)
        if error is not None:
            raise error
        return result

    def _step(self, client, one, ends):
        """Whether the sequence goes on."""
        sequence, total, steps = one
        value = self._random.randint(1, 9)
        tensor = grpcclient.InferInput("INPUT", [1, 1], "FP32")
        tensor.set_data_from_numpy(np.full((1, 1), value, np.float32))
        ask = functools.partial(self._give_up, client) if self._random.random() < 0.03 else client.infer
        try:
            result = ask(self._model, [tensor], sequence_id=sequence, sequence_start=steps == 0, sequence_end=ends)
        except InferenceServerException as error:
            self.ended += 1
            if not ENDED.search(error.message()):
                self.wrong.append(error.message())
            return False
        one[1:] = [total + value, steps + 1]
        got = float(result.as_numpy("OUTPUT")[0, 0])
        if got == total + value:
            self.right += 1
        else:
            self.wrong.append(f"step {steps} of {sequence}: found {got}, expected {total + value}")
        return True


def config(strategy, instances):
    # A slot for each sequence of every client: one that waited for a slot would keep its client from its other one.
    return models.accumulate_config(strategy, max_batch_size=2 * CLIENTS, extra=IDLE) + f"instance_group [ {{ kind: KIND_CPU count: {instances} }} ]\n"


@pytest.mark.parametrize("plugin", STRATEGIES)
def test_every_answer_is_that_of_its_own_sequence(tmp_path, plugin):
    strategy = STRATEGIES[plugin]
    repository = tmp_path / "models"
    models.write_model(repository, "m", config(strategy, 1), files={"model.onnx": models.onnx_accumulate()})
    manifest = tmp_path / "atoll.toml"
    text = DEFAULT_MANIFEST.read_text()
    manifest.write_text(text)
    own = f'use = "schedulers/{plugin}"'
    with Server(repository, EXPLICIT, "plugin.control.load_model=[\"m\"]", manifest=manifest) as server:
        server.wait_ready("m")
        control = server.client()
        clients = []
        for turn in range(ROUNDS):
            clients = [Client(server, "m", CLIENTS * turn + i) for i in range(CLIENTS)]
            for client in clients:
                client.start()
            while any(client.is_alive() for client in clients):
                models.let_settle()
                (repository / "m" / "1" / "model.onnx").write_bytes(models.onnx_accumulate())
                control.load_model("m")
                models.let_settle()
                (repository / "m" / "config.pbtxt").write_text(config(strategy, 1 + next(Client.ids) % 3))
                control.load_model("m")
                manifest.write_text(text.replace(own, f'{own}\nlight_execution = "{50 + next(Client.ids) % 900}us"'))
                server.process.send_signal(signal.SIGHUP)
            for client in clients:
                client.join()
                assert client.wrong == []
                assert client.right > SEQUENCES
            assert sum(client.ended for client in clients) > 0, "nobody gave up"
        server.wait_ready("m")
