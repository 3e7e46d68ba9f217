"""The loop that a server runs for the generator, in Python: the reference for it.

Requests join a batch and leave it at any step, as they do with continuous batching.
"""

import dataclasses
import os

import numpy as np

# Before the import: official builds report usage to their maker otherwise.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
import onnxruntime  # noqa: E402

import generator_graph  # noqa: E402

DATATYPES = {"tensor(int32)": np.int32, "tensor(int64)": np.int64, "tensor(float)": np.float32}


@dataclasses.dataclass
class Request:
    """What a client asks for, and what it has got so far."""
    prompt: str = "\n"
    max_tokens: int = 16
    temperature: float = 0.0
    seed: int = 0
    prompt_length: int | None = None  # None: that of the prompt
    tokens: list = dataclasses.field(default_factory=list)
    text: str = ""
    ended: bool = False
    state: dict = dataclasses.field(default_factory=dict)

    def inputs(self):
        """Each input as a row."""
        codes = self.prompt.encode("latin-1", "replace")[:generator_graph.PROMPT_SIZE]
        prompt = np.zeros(generator_graph.PROMPT_SIZE, np.int32)
        prompt[:len(codes)] = list(codes)
        length = len(codes) if self.prompt_length is None else self.prompt_length
        return {"PROMPT": prompt, "PROMPT_LENGTH": [length], "MAX_TOKENS": [self.max_tokens],
                "TEMPERATURE": [self.temperature], "SEED": [self.seed], "START": [not self.state], **self.state}


class Session:
    """A graph, which is executed with a dictionary for each row."""

    def __init__(self, model):
        """:param model: a path, or the bytes of the file"""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.enable_mem_pattern = False
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.inputs = {tensor.name: tensor for tensor in self._session.get_inputs()}
        self._outputs = [tensor.name for tensor in self._session.get_outputs()]

    def execute(self, rows):
        batch = {name: np.array([row[name] for row in rows], DATATYPES[tensor.type])
                 for name, tensor in self.inputs.items()}
        return dict(zip(self._outputs, self._session.run(None, batch)))


def generate_static(session, requests):
    """One execution of the graph of generator_static_graph.py: the tokens of each request, with padding."""
    return session.execute([request.inputs() for request in requests])["TOKENS"].tolist()


class StepLoop:
    def __init__(self, model):
        """:param model: a path, or the bytes of the file"""
        self._session = Session(model)
        self._first_state = {name: np.zeros(tensor.shape[1]) for name, tensor in self._session.inputs.items()
                             if name.endswith("_IN")}
        # The state that clients get, too, has the name of that output.
        self._states = {name: "TOKENS" if name == "TOKENS_IN" else name.replace("_IN", "_OUT") for name in self._first_state}

    def step(self, requests):
        """One execution: every request gets a token; of a graph that answers at once it has all so far, and zeros."""
        results = self._session.execute([{**self._first_state, **request.inputs()} for request in requests])
        for i, request in enumerate(requests):
            if "TOKENS" in results:
                request.tokens = results["TOKENS"][i].tolist()
            else:
                request.tokens.append(int(results["TOKEN"][i, 0]))
                request.text += results["TEXT"][i, 0]
            request.ended = bool(results["END"][i, 0])
            request.state = {state: results[output][i] for state, output in self._states.items()}

    def run(self, requests, batch_size=generator_graph.MAX_BATCH_SIZE):
        """All requests; whoever has ended makes room for the next one."""
        waiting, active = list(requests), []
        while waiting or active:
            while waiting and len(active) < batch_size:
                active.append(waiting.pop(0))
            self.step(active)
            active = [request for request in active if not request.ended]
        return requests
