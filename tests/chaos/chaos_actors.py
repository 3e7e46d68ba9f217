"""Clients of every kind, each a thread that asks one thing after the other and has each answer judged."""

import contextlib
import http.client
import json
import queue
import random
import socket
import threading
import time

import grpc
import numpy as np
import tritonclient.grpc as grpcclient
import tritonclient.utils.shared_memory as shm
from chaos_models import ELEMENTS, SHARED
from chaos_oracle import CONNECTION, DEADLINE_S, IN_PROGRAM, NO_ANSWER, Refusal, expected, expected_text
from chaos_wishes import Wish
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException

MODELS = ("echo", "add", "dyn", "pipe", "py", "cached")
STREAMED = 24  # requests of a stream
UNDER_WAY = 4  # of a stream, at a time
# The names of gRPC's codes for HTTP's.
CODES = {400: "INVALID_ARGUMENT", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 501: "UNIMPLEMENTED",
         503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}
PAUSE_S = 0.02  # after a refusal, and of who has enough while others have too little


def refusal_of(error):
    """What an exception of a client's library is: an error of the server's, a lost connection, no answer."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, InferenceServerException):
        code = str(error.status() or "").removeprefix("StatusCode.")
        return Refusal(NO_ANSWER if code == "DEADLINE_EXCEEDED" else code or "UNKNOWN", error.message())
    if isinstance(error, (TimeoutError, socket.timeout, queue.Empty)):
        return Refusal(NO_ANSWER, f"none in {DEADLINE_S} s")
    if isinstance(error, (OSError, http.client.HTTPException)):
        return Refusal(CONNECTION, f"{type(error).__name__}: {error}")
    raise error


def grpc_tensor(values, name="INPUT0"):
    tensor = grpcclient.InferInput(name, list(values.shape), "FP32")
    tensor.set_data_from_numpy(values)
    return tensor


class Actor(threading.Thread):
    """One kind of client. A subclass has what it asks in turn(), within a connection that session() keeps."""
    kind = None
    wishes = ()  # kinds of chaos_wishes that it has, each of which has to be the end of some request

    def __init__(self, world, ledger, seed):
        super().__init__(daemon=True, name=self.kind)
        self.world, self.ledger = world, ledger
        self.rng = random.Random(f"{seed}/{self.kind}")
        self.end = threading.Event()
        self.model, self.began = "", 0.0

    def run(self):
        try:
            while not self.end.is_set():
                self._one_session()
        except Exception as error:
            self.ledger.fail(f"{self.kind}: its client ended by {type(error).__name__}: {error}")

    def _one_session(self):
        self.begin("")
        try:
            with self.session() as session:
                while not self.end.is_set():
                    self.turn(session)
                    if self.ledger.behind and self.kind not in self.ledger.behind:
                        self.end.wait(PAUSE_S)  # leaves the processors to those
        except Exception as error:
            self.ledger.refused(self.kind, self.model, self.began, refusal_of(error))
            self.end.wait(PAUSE_S)

    def begin(self, model):
        self.model, self.began = model, time.monotonic()

    def values(self):
        """Whole numbers, which the models add to without rounding."""
        return np.array([self.rng.randrange(1 << 20) for _ in range(ELEMENTS)], np.float32)

    def judge(self, found, wanted):
        self.ledger.answered(self.kind, self.model, self.began, found, wanted)


class Grpc(Actor):
    kind = "grpc"

    def session(self):
        return self.world.client()

    def turn(self, client):
        values = self.values()
        self.begin(self.rng.choice(MODELS))
        if self.model == "cached":
            values = np.floor(values / (1 << 15))  # few enough that some come again
        result = client.infer(self.model, [grpc_tensor(values)], client_timeout=DEADLINE_S)
        self.judge(result.as_numpy("OUTPUT0"), expected(self.model, values))


class Stream(Actor):
    """A stream after the other; answers of a model come in the order of its requests."""
    kind = "stream"

    def session(self):
        return self.world.client()

    def turn(self, client):
        answers = queue.Queue()
        self.begin(self.rng.choice(("echo", "add", "py")))
        # With this an error ends the stream with its code; else a stream goes on, and says only the error's text.
        client.start_stream(lambda result, error: answers.put((result, error)), headers={"triton_grpc_error": "true"})
        asked = []
        try:
            for i in range(STREAMED + UNDER_WAY):
                if i < STREAMED:
                    asked.append((str(i), self.values(), time.monotonic()))
                    self._ask(client, answers, asked)
                if i >= UNDER_WAY:
                    self._answer(answers, asked)
        finally:
            client.stop_stream(cancel_requests=bool(asked))

    def _ask(self, client, answers, asked):
        """The last request of `asked`. A stream that an error has ended takes no more, and does not say which: that is in `answers`."""
        number, values, _ = asked[-1]
        try:
            client.async_stream_infer(self.model, [grpc_tensor(values)], request_id=number)
        except InferenceServerException:
            while True:
                self._answer(answers, asked)  # raises the error

    def _answer(self, answers, asked):
        """Of a model with several instances a later request may be answered first: the id tells which it is."""
        self.began = asked[0][2]
        result, error = answers.get(timeout=DEADLINE_S)
        if error is not None:
            raise error
        by_id = {one[0]: one for one in asked}
        one = by_id.get(result.get_response().id)
        if one is None:
            return self.ledger.fail(f"stream: {self.model}: an answer to {result.get_response().id!r}, which is not asked any more")
        asked.remove(one)
        self.began = one[2]
        self.judge(result.as_numpy("OUTPUT0"), expected(self.model, one[1]))


class Sequences(Actor):
    """A sequence after the other: the model answers with the sum of what it was given."""
    kind = "sequence"
    steps = 5

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.number = 0

    def session(self):
        return self.world.client()

    def turn(self, client):
        self.number += 1
        self.begin(self.rng.choice(("direct", "oldest")))
        total = np.zeros((1, 1), np.float32)
        for i in range(self.steps):
            self.began = time.monotonic()
            value = np.full((1, 1), self.rng.randrange(1000), np.float32)
            total = total + value
            result = client.infer(self.model, [grpc_tensor(value, "INPUT")], client_timeout=DEADLINE_S, sequence_id=self.number,
                                  sequence_start=i == 0, sequence_end=i == self.steps - 1)
            self.judge(result.as_numpy("OUTPUT"), total)


class SharedMemory(Actor):
    """Inputs and outputs in a region of its own."""
    kind = "shm"
    size = 4 * ELEMENTS

    @contextlib.contextmanager
    def session(self):
        name = f"atoll-chaos-{self.world.pid}"
        region = shm.create_shared_memory_region(name, f"/{name}", 2 * self.size)
        try:
            with self.world.client() as client:
                client.unregister_system_shared_memory(name)
                client.register_system_shared_memory(name, f"/{name}", 2 * self.size)
                yield client, region, name
                client.unregister_system_shared_memory(name)
        finally:
            shm.destroy_shared_memory_region(region)

    def turn(self, session):
        client, region, name = session
        values = self.values()
        self.begin(self.rng.choice(("echo", "add", "py")))
        shm.set_shared_memory_region(region, [values, np.full(ELEMENTS, -1, np.float32)])
        given, wanted = grpcclient.InferInput("INPUT0", [ELEMENTS], "FP32"), grpcclient.InferRequestedOutput("OUTPUT0")
        given.set_shared_memory(name, self.size)
        wanted.set_shared_memory(name, self.size, offset=self.size)
        client.infer(self.model, [given], outputs=[wanted], client_timeout=DEADLINE_S)
        found = shm.get_contents_as_numpy(region, np.float32, [ELEMENTS], offset=self.size)
        self.judge(found.copy(), expected(self.model, values))


class Http(Actor):
    """JSON over a connection that is kept as long as the server says."""
    kind = "http"

    def session(self):
        return contextlib.closing(http.client.HTTPConnection(self.world.http_address, timeout=DEADLINE_S))

    def post(self, connection, path, body):
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise Refusal(CODES.get(response.status, str(response.status)), answer[:300].decode(errors="replace"))
        return answer

    def models(self):
        return MODELS

    def turn(self, connection):
        values = self.values()
        self.begin(self.rng.choice(self.models()))
        tensor = {"name": "INPUT0", "shape": [ELEMENTS], "datatype": "FP32", "data": values.tolist()}
        answer = json.loads(self.post(connection, f"/v2/models/{self.model}/infer", {"inputs": [tensor]}))
        (output,) = answer["outputs"]
        self.judge(np.array(output["data"], np.float32).reshape(output["shape"]), expected(self.model, values))


class Generate(Http):
    """Texts by generate_stream: an event for each piece."""
    kind = "generate"

    def text(self):
        return "".join(chr(self.rng.randrange(97, 123)) for _ in range(self.rng.randint(1, 3)))

    def turn(self, connection):
        text = self.text()
        self.begin("gen")
        answer = self.post(connection, "/v2/models/gen/generate_stream", {"text_input": text}).decode()
        events = [json.loads(line.removeprefix("data:")) for line in answer.splitlines() if line.startswith("data:")]
        errors = [event["error"] for event in events if "error" in event]
        if errors:
            # An error behind the head of the answer has no status of its own.
            raise Refusal("UNAVAILABLE" if "worker 'gen_" in errors[0] else "INTERNAL", errors[0])
        self.judge("".join(event["text_output"] for event in events), expected_text(text))


class OpenAi(Generate):
    """Completions of OpenAI's API."""
    kind = "openai"

    def turn(self, connection):
        text = self.text()
        self.begin("gen")
        answer = json.loads(self.post(connection, "/v1/completions", {"model": "gen", "prompt": text}))
        self.judge(answer["choices"][0]["text"], expected_text(text))


class Leased(Http):
    """Requests for a leased model, by the server that keeps the pool."""
    kind = "leased"

    def session(self):
        return contextlib.closing(http.client.HTTPConnection(self.world.places.pool.http_address, timeout=DEADLINE_S))

    def models(self):
        return ("leased",)


class Hurried(Actor):
    """Unary calls of gRPC, some under way at a time, of which some have hardly time and some are cancelled."""
    kind = "hurried"
    wishes = ("deadline", "timeout", "cancel")
    under_way = 6

    def session(self):
        return grpc.insecure_channel(self.world.grpc_address, options=[("grpc.use_local_subchannel_pool", 1)])

    def request(self, values, wish):
        asked = service_pb2.ModelInferRequest(model_name=self.model, raw_input_contents=[values.tobytes()])
        asked.inputs.add(name="INPUT0", datatype="FP32", shape=values.shape)
        if wish.kind == "timeout":
            asked.parameters["timeout"].int64_param = round(wish.after_s * 1e6)
        return asked

    def turn(self, channel):
        infer = service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer
        self.begin("slow")
        calls = []
        for _ in range(self.rng.randint(1, self.under_way)):
            values, wish = self.values(), Wish.draw(self.rng, ("", *self.wishes))
            limit_s = wish.after_s if wish.kind == "deadline" else DEADLINE_S
            calls.append((values, wish, infer.future(self.request(values, wish), timeout=limit_s)))
        for _, wish, call in sorted(calls, key=lambda one: one[1].after_s):
            if wish.kind == "cancel":
                self.end.wait(max(0.0, self.began + wish.after_s - time.monotonic()))
                call.cancel()
        for values, wish, call in calls:
            self._end(values, wish, call)

    def _end(self, values, wish, call):
        """A call's own deadline is the client's library's too: what counts is that it comes to an end, and what that is."""
        code = "CANCELLED" if call.cancelled() else call.code().name
        if code == "OK":
            (output,), (raw,) = call.result().outputs, call.result().raw_output_contents
            found = np.frombuffer(raw, np.float32).reshape(output.shape)
            return self.ledger.answered(self.kind, self.model, self.began, found, expected(self.model, values), limit_s=wish.limit_s)
        if code == "DEADLINE_EXCEEDED" and wish.kind != "deadline":
            code = NO_ANSWER
        text = "" if call.cancelled() else call.details()
        self.ledger.refused(self.kind, self.model, self.began, Refusal(code, text), wish.codes, wish.limit_s)


class InProgram(Actor):
    """Requests of the C API, some under way at a time, in a program that has a server inside."""
    kind = "c_api"
    wishes = ("timeout", "cancel")
    under_way = 4

    def session(self):
        return contextlib.nullcontext(self.world.places.program)

    def request(self):
        """One of several, and what its client wishes."""
        wish = Wish.draw(self.rng, ("", "", "", *self.wishes))
        model = IN_PROGRAM + self.rng.choice(SHARED if not wish.kind else ("slow",))
        return {"model": model, "values": self.values().tolist(), **wish.in_program}, wish

    def turn(self, program):
        asked = [self.request() for _ in range(self.rng.randint(1, self.under_way))]
        self.begin(asked[0][0]["model"])
        found = program.ask([request for request, _ in asked])
        for (request, wish), answer in zip(asked, found, strict=True):
            self.model = request["model"]
            if "code" in answer:
                self.ledger.refused(self.kind, self.model, self.began, Refusal(answer["code"], answer["text"]), wish.codes,
                                    wish.limit_s)
            else:
                self.judge(np.array(answer["values"], np.float32), expected(self.model, request["values"]))
        self.end.wait(PAUSE_S / 2)  # without the way through sockets it would take the processors from all others


KINDS = (Grpc, Hurried, Stream, Sequences, SharedMemory, Http, Generate, OpenAi, Leased, InProgram)
