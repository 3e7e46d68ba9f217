"""gRPC clients that do at random what clients do: ask, stream, wait, give up, stall, break off. Each request that nobody gave up
is answered once, and right; whatever else happens is a failure."""

import itertools
import queue
import random
import threading
import time
import traceback

import grpc
from tritonclient.grpc import service_pb2, service_pb2_grpc

from .http2 import (DATA, END_HEADERS, END_STREAM, HEADERS, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE, Raw, call_headers,
                    frame)

PATIENCE_S = 60
INFER = "/inference.GRPCInferenceService/ModelInfer"
OK, CANCELLED, DEADLINE, UNAVAILABLE = (grpc.StatusCode.OK, grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED,
                                        grpc.StatusCode.UNAVAILABLE)


def echo_request(model, number, values):
    """Of a model that copies INT32."""
    raw = number.to_bytes(4, "little") * values
    request = service_pb2.ModelInferRequest(model_name=model, id=str(number), raw_input_contents=[raw])
    request.inputs.add(name="INPUT0", datatype="INT32", shape=[values])
    return request


def repeat_request(values, delay_ms):
    count = len(values)
    raw = [b"".join(value.to_bytes(4, "little") for value in part) for part in (values, [delay_ms] * count, [0])]
    request = service_pb2.ModelInferRequest(model_name="repeat", raw_input_contents=raw)
    for name, datatype, size in (("IN", "INT32", count), ("DELAY", "UINT32", count), ("WAIT", "UINT32", 1)):
        request.inputs.add(name=name, datatype=datatype, shape=[size])
    return request


def check_echo(request, answer):
    assert answer.id == request.id, (request.id, answer.id)
    (sent, ), came = request.raw_input_contents, list(answer.raw_output_contents)
    if came != [sent]:
        at = next((i for i, (one, other) in enumerate(zip(sent, b"".join(came))) if one != other), None)
        raise AssertionError(f"request {request.id} of {request.model_name}: {len(sent)} bytes, of {sent[:4]}, came back as "
                             f"{[len(part) for part in came]} bytes, {came[0][at:at + 64] if at is not None else ''} at {at}; {answer.parameters}")


class RandomClients:
    """Threads, each one client after the other, of a server with the models echo, slow (both copy INT32; slow takes some
    milliseconds) and repeat."""

    def __init__(self, server, count, seed):
        self.failures, self.outcomes = [], {}
        self._server, self._end, self._lock = server, threading.Event(), threading.Lock()
        self._numbers = itertools.count(1)
        self._kinds = [self._calls, self._calls, self._whole_stream, self._given_up_stream, self._decoupled_stream,
                       self._pipelined, self._half_closed, self._broken_off, self._stalled]
        self._threads = [threading.Thread(target=self._run, args=(random.Random(f"{seed}/{i}"),)) for i in range(count)]
        for thread in self._threads:
            thread.start()

    def end(self):
        self._end.set()
        for thread in self._threads:
            thread.join(4 * PATIENCE_S)
        assert not any(thread.is_alive() for thread in self._threads)

    def _run(self, rng):
        while not self._end.is_set():
            kind = rng.choice(self._kinds)
            try:
                kind(rng)
            except Exception as error:
                with self._lock:
                    self.failures.append(f"{kind.__name__}: {type(error).__name__}: {error}\n" + traceback.format_exc(limit=-2))

    def _count(self, outcome, more=1):
        with self._lock:
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + more

    def _stub(self, rng):
        compression = rng.choice([grpc.Compression.NoCompression] * 3 + [grpc.Compression.Gzip])
        channel = grpc.insecure_channel(self._server.address, compression=compression,
                                        options=[("grpc.use_local_subchannel_pool", 1)])
        return channel, service_pb2_grpc.GRPCInferenceServiceStub(channel)

    def _request(self, rng, model=None):
        model = model or rng.choice(["echo"] * 3 + ["slow"])
        return echo_request(model, next(self._numbers), int(2 ** rng.uniform(0, 16)))

    # --- by the gRPC library ---

    def _calls(self, rng):
        """Unary calls, several at a time; some have hardly time, some are cancelled, and perhaps all are broken off."""
        channel, stub = self._stub(rng)
        breaks_off = rng.random() < 0.1
        with channel:
            for _ in range(rng.randint(1, 8)):
                calls = []
                for _ in range(rng.randint(1, 16)):
                    request = self._request(rng)
                    time_s = rng.uniform(0.0005, 0.02) if rng.random() < 0.15 else PATIENCE_S
                    calls.append((request, time_s, rng.random() < 0.15, stub.ModelInfer.future(request, timeout=time_s)))
                for _, _, cancels, call in calls:
                    if cancels:
                        call.cancel()
                if breaks_off:
                    return self._count("calls broken off", len(calls))
                for request, time_s, cancels, call in calls:
                    self._end_call(request, time_s, cancels, call)

    def _end_call(self, request, time_s, cancels, call):
        code = CANCELLED if call.cancelled() else call.code()
        if code == OK:
            check_echo(request, call.result())
        else:
            assert (code == DEADLINE and time_s < PATIENCE_S) or (code == CANCELLED and cancels), \
                (code, call.details(), time_s, cancels, request.model_name)
        self._count(f"calls {code.name}")

    def _stream(self, stub, rng, requests, time_s=PATIENCE_S):
        """The call, what to put requests into, and None as their end."""
        to_send = queue.Queue()
        call = stub.ModelStreamInfer(iter(to_send.get, None), timeout=time_s)
        for request in requests:
            to_send.put(request)
        return call, to_send

    def _whole_stream(self, rng):
        """Every request is answered, in order; the client may read nothing for a while."""
        channel, stub = self._stub(rng)
        with channel:
            requests = [self._request(rng, "echo") for _ in range(rng.randint(0, 60))]
            call, to_send = self._stream(stub, rng, requests)
            to_send.put(None)
            if rng.random() < 0.2:
                self._end.wait(rng.uniform(0, 1))
            answered = 0
            try:
                for answer in call:
                    assert not answer.error_message, answer.error_message
                    check_echo(requests[answered], answer.infer_response)
                    answered += 1
                assert answered == len(requests), (answered, len(requests))
            except grpc.RpcError as error:
                # The frontend was replaced, and had not taken the others.
                if error.code() != UNAVAILABLE:
                    raise
                self._count("streams sent away")
            self._count("streamed", answered)

    def _given_up_stream(self, rng):
        channel, stub = self._stub(rng)
        with channel:
            time_s = rng.uniform(0.001, 0.1) if rng.random() < 0.5 else PATIENCE_S
            requests = [self._request(rng) for _ in range(rng.randint(1, 40))]
            call, to_send = self._stream(stub, rng, requests, time_s)
            reads = rng.randint(0, len(requests) - 1)
            ids = {request.id: request for request in requests}
            try:
                for _ in range(reads):
                    answer = next(call)
                    request = ids.pop(answer.infer_response.id)
                    if answer.error_message:
                        assert answer.error_message == "Deadline Exceeded" and time_s < PATIENCE_S, answer.error_message
                    else:
                        check_echo(request, answer.infer_response)
            except grpc.RpcError as error:
                if error.code() not in (DEADLINE, UNAVAILABLE) or (error.code() == DEADLINE and time_s == PATIENCE_S):
                    raise
            call.cancel()
            to_send.put(None)
            self._count("streams given up")

    def _decoupled_stream(self, rng):
        channel, stub = self._stub(rng)
        with channel:
            values = [rng.randint(0, 1 << 30) for _ in range(rng.randint(1, 60))]
            call, to_send = self._stream(stub, rng, [repeat_request(values, rng.choice([0, 0, 1]))])
            if rng.random() < 0.3:
                next(call, None)
                call.cancel()
                to_send.put(None)
                return self._count("decoupled given up")
            to_send.put(None)
            found = [int.from_bytes(answer.infer_response.raw_output_contents[0], "little") for answer in call]
            assert found == values, (found, values)
            self._count("decoupled")

    # --- by frames ---

    def _frames(self, rng, stream):
        """A whole call, of small messages: none waits for a window."""
        message = echo_request("echo", next(self._numbers), rng.randint(1, 20)).SerializeToString()
        body = b"\0" + len(message).to_bytes(4, "big") + message
        cut = rng.randint(0, len(body))
        return (frame(HEADERS, END_HEADERS, stream, call_headers(INFER)) + frame(DATA, 0, stream, body[:cut])
                + frame(DATA, END_STREAM, stream, body[cut:]))

    def _send_in_pieces(self, rng, raw, data):
        while data:
            size = rng.randint(1, 2000)
            raw.send(data[:size])
            data = data[size:]

    def _pipelined(self, rng):
        """Many calls, some of which are reset; each other one has one answer, those at most one."""
        with Raw(self._server) as raw:
            streams = range(1, 2 * rng.randint(1, 60), 2)
            reset = {stream for stream in streams if rng.random() < 0.2}
            data = b""
            for stream in streams:
                data += self._frames(rng, stream)
                if stream in reset:
                    data += frame(RST_STREAM, 0, stream, (8).to_bytes(4, "big"))
            self._send_in_pieces(rng, raw, data + frame(PING, 0, 0, b"marker!!"))
            endings = dict.fromkeys(streams, 0)
            for kind, flags, stream, _ in raw.frames():
                if kind == HEADERS and flags & END_STREAM:
                    endings[stream] += 1
                if all(endings[stream] or stream in reset for stream in streams):
                    break
            assert all(count == 1 or (count == 0 and stream in reset) for stream, count in endings.items()), endings
            self._count("pipelined", len(streams) - len(reset))

    def _half_closed(self, rng):
        """The server is done with a client that says nothing more, and closes."""
        with Raw(self._server) as raw:
            for stream in range(1, 2 * rng.randint(1, 20), 2):
                raw.send(self._frames(rng, stream))
            raw.end_sending()
            for _ in raw.frames():
                pass
            self._count("half-closed")

    def _broken_off(self, rng):
        """Anywhere within calls."""
        with Raw(self._server) as raw:
            data = b"".join(self._frames(rng, stream) for stream in range(1, 2 * rng.randint(1, 20), 2))
            raw.send(data[:rng.randint(0, len(data))])
            if rng.random() < 0.5:
                raw.hang_up()
            self._count("broken off")

    def _stalled(self, rng):
        """Windows that are too small for the answers, which are not read; in the end they are, or nobody wants them."""
        with Raw(self._server) as raw:
            raw.send(frame(SETTINGS, 0, 0, b"\0\x04" + rng.randint(0, 8).to_bytes(4, "big")))
            streams = range(1, 2 * rng.randint(1, 20), 2)
            for stream in streams:
                raw.send(self._frames(rng, stream))
            self._end.wait(rng.uniform(0, 2))
            if rng.random() < 0.5:
                return self._count("stalled for ever")
            for stream in streams:
                raw.send(frame(WINDOW_UPDATE, 0, stream, (1 << 16).to_bytes(4, "big")))
            open_streams = set(streams)
            for kind, flags, stream, _ in raw.frames():
                if kind == HEADERS and flags & END_STREAM:
                    open_streams.remove(stream)
                if not open_streams:
                    break
            assert not open_streams, open_streams
            self._count("stalled")


def settled(measure, still_s=1.0):
    """What the function returns when it has returned the same for a while, or after enough time."""
    last, since, end = measure(), time.monotonic(), time.monotonic() + PATIENCE_S
    while time.monotonic() - since < still_s and time.monotonic() < end:
        time.sleep(0.02)
        now = measure()
        if now != last:
            last, since = now, time.monotonic()
    return last
