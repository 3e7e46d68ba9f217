"""Models of Python for frontends/openai that answer as their request says."""

import contextlib
import json

import openai

from support.models import write_model
from support.python_models import INTERPRETER
from support.server import Server

OPENAI = 'plugin.openai.use="frontends/openai"'

TEXTS = ("messages", "chat_options", "sampling_parameters")
FLAGS = ("stream", "return_logprobs", "return_num_input_tokens")


def tensor(name, kind="TYPE_STRING", dims="1", optional=False):
    return f'{{ name: "{name}" data_type: {kind} dims: [ {dims} ]{" optional: true" if optional else ""} }}'


# A language model with all optional tensors.
SCRIPTED_CONFIG = f"""
backend: "python"
model_transaction_policy {{ decoupled: true }}
input [ {tensor("text_input")}, {", ".join(tensor(name, optional=True) for name in TEXTS)},
        {", ".join(tensor(name, "TYPE_BOOL", optional=True) for name in FLAGS)}, {tensor("token_ids", "TYPE_INT32", "-1", True)} ]
output [ {tensor("text_output")}, {tensor("finish_reason")}, {tensor("logprobs")}, {tensor("num_input_tokens", "TYPE_UINT32")},
         {tensor("num_output_tokens", "TYPE_UINT32")}, {tensor("prompt_token_ids", "TYPE_INT32", "-1")}, {tensor("prompt_text")} ]
"""
# The last message, or the prompt, is a JSON object: "pieces" of the answer, each one token; "bytes": lists of bytes in place of
# pieces; "reason" of the end; "waits": behind the last piece, until the request is cancelled; "inputs": the answer is what the model was given, as JSON; "fails": after so many pieces.
# Characters are the tokens of prompts: their numbers are the ids.
SCRIPTED = '''
import json
import threading
import time
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def value(self, request, name):
        tensor = pb_utils.get_input_tensor_by_name(request, name)
        return None if tensor is None else tensor.as_numpy().reshape(-1)

    def text(self, request, name):
        value = self.value(request, name)
        return "" if value is None else value[0].decode()

    def prompt(self, request):
        ids = self.value(request, "token_ids")
        if ids is not None:
            return "".join(chr(number) for number in ids)
        messages = self.text(request, "messages")
        if messages:
            return json.loads(messages)[-1]["content"]
        return self.text(request, "text_input")

    def inputs(self, request):
        given = {name: self.text(request, name) for name in ("text_input", "messages", "chat_options", "sampling_parameters")}
        given = {name: json.loads(value) if value[:1] in ("{", "[") else value for name, value in given.items()}
        ids = self.value(request, "token_ids")
        return json.dumps({**given, "token_ids": None if ids is None else ids.tolist()})

    def answer(self, request):
        sender = request.get_response_sender()
        wanted = list(request.requested_output_names())
        prompt = self.prompt(request)
        done = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
        if wanted == ["prompt_token_ids"]:
            ids = np.array([ord(c) for c in prompt], dtype=np.int32)
            return sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("prompt_token_ids", ids)]), done)
        if wanted == ["prompt_text"]:
            text = np.array([prompt.encode()], dtype=object)
            return sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("prompt_text", text)]), done)
        try:
            script = json.loads(prompt)
        except ValueError:
            script = {"pieces": [prompt]}
        if script.get("inputs"):
            script = {"pieces": [self.inputs(request)]}
        pieces = [bytes(piece) for piece in script["bytes"]] if "bytes" in script else [piece.encode() for piece in script["pieces"]]
        sampling = json.loads(self.text(request, "sampling_parameters") or "{}")
        most = sampling.get("max_tokens", len(pieces))
        for number, piece in enumerate(pieces[:most]):
            if number == script.get("fails"):
                return sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError("it broke")), done)
            if sender.is_cancelled():
                break
            values = {"text_output": np.array([piece], dtype=object), "num_input_tokens": np.array([len(prompt)], dtype=np.uint32),
                      "num_output_tokens": np.array([1], dtype=np.uint32)}
            if number + 1 == len(pieces[:most]) and script.get("reason"):
                values["finish_reason"] = np.array([script["reason"]], dtype=object)
            if "logprobs" in sampling:
                other = {"token": "other", "logprob": -9.5, "bytes": None}
                values["logprobs"] = np.array([json.dumps([{
                    "token": piece.decode(errors="replace"), "id": number, "logprob": -number / 8, "bytes": list(piece),
                    "top": [other] * sampling["logprobs"]}])], dtype=object)
            sender.send(pb_utils.InferenceResponse(
                [pb_utils.Tensor(name, value) for name, value in values.items() if name in wanted]))
        while script.get("waits") and not sender.is_cancelled():
            time.sleep(0.01)
        sender.send(flags=done)

    def execute(self, requests):
        for request in requests:
            threading.Thread(target=self.answer, args=(request,)).start()
'''


# Three numbers of each text.
EMBEDS = """
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            texts = pb_utils.get_input_tensor_by_name(request, "text_input").as_numpy().reshape(-1)
            values = np.array([[len(text), text.count(b"a"), 0.1] for text in texts], dtype=np.float32)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("embedding", values)]))
        return responses
"""
EMBEDS_CONFIG = """
backend: "python"
max_batch_size: 8
dynamic_batching { }
input [ { name: "text_input" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "embedding" data_type: TYPE_FP32 dims: [ 3 ] } ]
"""


def write_scripted(repository, name, extra="", config=SCRIPTED_CONFIG):
    write_model(repository, name, config + extra, files={"model.py": SCRIPTED.encode()})


def script(*pieces, **more):
    """Messages whose answer is these pieces."""
    return [{"role": "user", "content": json.dumps({"pieces": pieces, **more})}]


@contextlib.contextmanager
def serve(repository, *settings):
    with Server(repository, 'plugin.python.use="backends/python"', INTERPRETER, OPENAI, *settings) as server:
        server.wait_ready()
        yield server.wait_active()


@contextlib.contextmanager
def client_of(server):
    with openai.OpenAI(base_url=f"http://{server.http_address}/v1", api_key="none", max_retries=0, timeout=60) as client:
        yield client
