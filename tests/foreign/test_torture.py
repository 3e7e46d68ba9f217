"""Ten models of foreign backends and ten of the server's own are loaded, changed, replaced and unloaded under clients of both
protocols. Every answer is right, or says that the model is away; in the end threads, descriptors and memory are where they
were."""

import concurrent.futures
import os
import queue
import random
import threading

import numpy as np
import tritonclient.grpc as grpcclient
from support import models
from support.control import EXPLICIT, PROTOCOLS, Control, code_of
from support.server import MEMORY_SLACK_BYTES, SANITIZED, Server, usage
from support.triton_backends import put_backend, write_manifest
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

CHANGES = 10 if SANITIZED else 40  # of each changer in each phase
WORKERS = 4
FOUR = "".join(models.tensor_config(kind, name, "TYPE_FP32", [4]) for kind, name in (("input", "INPUT0"), ("output", "OUTPUT0")))
REPEAT = ("model_transaction_policy { decoupled: true }\n" +
          "".join(models.tensor_config("input", name, "TYPE_INT32", dims) for name, dims in (("IN", [-1]), ("DELAY_MS", [1]))) +
          "".join(models.tensor_config("output", name, "TYPE_INT32", [1]) for name in ("OUT", "IDX")))


class Model:
    """One that is changed by one thread. constants: what it may add to what it is given."""

    def __init__(self, repository, directory, name, example=None, own=None):
        """example: of the foreign backend of its own; own: the server's backend"""
        self.name, self.constants, self._example, self._own = name, {0.0}, example, own
        self._directory, self._repository = directory, repository
        self._loads = 0
        self.replace_backend()
        self.change(random.Random(0))

    def replace_backend(self):
        if self._example:
            put_backend(self._directory, self._example, f"of_{self.name}")

    def change(self, chance):
        """Another configuration, and for onnxruntime another file. Takes effect with the next load."""
        backend = f"of_{self.name}" if self._example else self._own
        tensors = REPEAT if self._example == "repeat" else FOUR
        files = {}
        if self._own == "onnxruntime":
            constant = float(chance.randrange(1, 1000))
            self.constants.add(constant)
            files = {"model.onnx": models.onnx_add(constant)}
        models.write_model(self._repository, self.name, f'backend: "{backend}"\n{tensors}'
                           f"instance_group [ {{ count: {chance.randrange(1, 4)} kind: KIND_CPU }} ]\n"
                           f'parameters {{ key: "change" value {{ string_value: "{chance.random()}" }} }}\n', files=files)

    def run(self, control, chance):
        action = chance.choice(["load", "change", "change", "replace", "unload"])
        if action == "unload":
            control.unload(self.name)
            return
        if action == "replace":
            self.replace_backend()
        if action != "load":
            self.change(chance)
        control.load(self.name)


def is_away(error):
    return code_of(error) in ("NOT_FOUND", "UNAVAILABLE") and "Request for unknown model" in error.message()


def ask(server, protocol, asked, seed, end):
    """Asks until the end. Returns how many were answered and refused, and what was wrong."""
    chance = random.Random(seed)
    answered, refused, wrong = 0, 0, []
    with Control(server, protocol) as control:
        while not end.is_set():
            model, value = chance.choice(asked), float(chance.randrange(1000))
            try:
                _, answer = control.infer(model.name, value)
            except InferenceServerException as error:
                refused += 1
                if not is_away(error):
                    wrong.append(f"{model.name}: {error}")
            else:
                answered += 1
                if answer - value not in model.constants:
                    wrong.append(f"{model.name} answered {answer} for {value}")
    return answered, refused, wrong


def stream(server, streamed, seed, end):
    """The same with decoupled models."""
    chance = random.Random(seed)
    answered, refused, wrong = 0, 0, []
    answers = queue.Queue()
    delay = grpcclient.InferInput("DELAY_MS", [1], "INT32")
    delay.set_data_from_numpy(np.array([1], np.int32))
    with server.client() as client:
        client.start_stream(lambda result, error: answers.put((result, error)))
        while not end.is_set():
            model, values = chance.choice(streamed), [chance.randrange(1000) for _ in range(5)]
            given = grpcclient.InferInput("IN", [5], "INT32")
            given.set_data_from_numpy(np.array(values, np.int32))
            client.async_stream_infer(model.name, [given, delay], enable_empty_final_response=True)
            got, error = [], None
            while error is None:
                result, error = answers.get(timeout=120)
                if error is not None or result.get_response().parameters["triton_final_response"].bool_param:
                    break
                got.append(int(result.as_numpy("OUT")[0]))
            answered, refused = answered + (error is None), refused + (error is not None)
            if error is None and got != values:
                wrong.append(f"{model.name} answered {got} for {values}")
            elif error is not None and "Request for unknown model" not in error.message():
                wrong.append(f"{model.name}: {error}")
        client.stop_stream()
    return answered, refused, wrong


def phase(server, everything, streamed, seed):
    """One round of load on the server, which ends with every model unloaded. Returns what it uses then."""
    end = threading.Event()
    asked = [model for model in everything if model not in streamed]

    def change(part):
        chance = random.Random(seed + part)
        with Control(server, PROTOCOLS[part % 2]) as control:
            mine = everything[part::3]
            for model in mine:
                control.load(model.name)
            for _ in range(CHANGES):
                chance.choice(mine).run(control, chance)

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        clients = [pool.submit(ask, server, PROTOCOLS[i % 2], asked, seed + i, end) for i in range(4)]
        clients.append(pool.submit(stream, server, streamed, seed, end))
        try:
            for run in [pool.submit(change, part) for part in range(3)]:
                run.result()
        finally:
            end.set()
        results = [client.result() for client in clients]
    wrong = [text for _, _, texts in results for text in texts]
    assert wrong == [], f"{len(wrong)} of {sum(result[0] + result[1] for result in results)}: {wrong[:5]}"
    assert all(answered > 0 for answered, _, _ in results) and sum(refused for _, refused, _ in results) > 0
    with Control(server, "grpc") as control:
        for model in everything:
            control.unload(model.name)
        eventually(lambda: all(state in ("UNAVAILABLE", "") for versions in control.index().values()
                               for state, _ in versions.values()))
    return usage(server.pid)


def test_answers_are_right_while_everything_changes(tmp_path):
    repository, directory = tmp_path / "models", tmp_path / "backends"
    foreign = [Model(repository, directory, f"echo{i}", example="identity") for i in range(6)]
    streamed = [Model(repository, directory, f"repeat{i}", example="repeat") for i in range(2)]
    own = [Model(repository, directory, f"identity{i}", own="identity") for i in range(5)] + \
          [Model(repository, directory, f"add{i}", own="onnxruntime") for i in range(5)]
    asking = [Model(repository, directory, f"asks_{model.name}", example="bls") for model in (foreign[0], own[-1])]
    asking[1].constants = own[-1].constants
    everything = foreign + streamed + asking + own
    assert len(everything) == 20
    with Server(repository, EXPLICIT, manifest=write_manifest(tmp_path, directory)) as server:
        server.wait_ready()
        before = phase(server, everything, streamed, 1)
        after = phase(server, everything, streamed, 1000)
        # Connections that clients closed are gone a moment later on the server's side.
        eventually(lambda: usage(server.pid)["descriptors"] <= before["descriptors"])
        # gRPC's own pools, which depend on the number of CPUs, breathe by a few threads.
        assert after["threads"] <= before["threads"] + WORKERS + 2 * os.cpu_count() + 2, [before, after]
        assert after["resident_bytes"] <= before["resident_bytes"] + MEMORY_SLACK_BYTES, [before, after]
