"""Clients that ask without pause, each in its own way. Every answer is checked, every failure kept."""

import http.client
import json
import queue
import socket
import threading
import traceback

import numpy as np
import tritonclient.grpc as grpcclient

TIMEOUT_S = 60
PIPELINED = 8
STREAMED = 20


def _tensor(value):
    tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
    tensor.set_data_from_numpy(np.full((4,), value, np.float32))
    return tensor


def _body(value):
    return json.dumps({"inputs": [{"name": "INPUT0", "shape": [4], "datatype": "FP32", "data": [value] * 4}]})


def _check(answer, value):
    assert json.loads(answer)["outputs"][0]["data"] == [value] * 4, (answer, value)


def _grpc(address):
    return grpcclient.InferenceServerClient(address, channel_args=[("grpc.use_local_subchannel_pool", 1)])


class BusyClients:
    """Clients of a model of FP32 [4] that answers what it is asked, of four kinds in turn."""

    def __init__(self, server, clients, model="echo"):
        self.failures, self.answers = [], [0] * clients
        self._model, self._end = model, threading.Event()
        self._grpc_address, self._http_address = server.address, server.http_address
        kinds = [self._unary, self._streams, self._keep_alive, self._pipelined]
        self._threads = [threading.Thread(target=self._run, args=(kinds[i % len(kinds)], i)) for i in range(clients)]
        for thread in self._threads:
            thread.start()

    def _run(self, kind, index):
        while not self._end.is_set():
            try:
                kind(index)
            except Exception as error:
                self.failures.append(f"client {index} ({kind.__name__}): {type(error).__name__}: {error}\n"
                                     + traceback.format_exc(limit=-2))

    def _values(self, index):
        while not self._end.is_set():
            yield float(index * 100_000 + self.answers[index] % 50_000)
            self.answers[index] += 1

    def _unary(self, index):
        with _grpc(self._grpc_address) as client:
            for value in self._values(index):
                result = client.infer(self._model, [_tensor(value)], client_timeout=TIMEOUT_S)
                assert result.as_numpy("OUTPUT0").tolist() == [value] * 4

    def _streams(self, index):
        """A stream after the other on one channel; each has some requests under way all the time."""
        with _grpc(self._grpc_address) as client:
            while not self._end.is_set():
                answers = queue.Queue()
                client.start_stream(lambda result, error, answers=answers: answers.put((result, error)))
                for i in range(STREAMED + 2):
                    if i < STREAMED:
                        client.async_stream_infer(self._model, [_tensor(float(i))])
                    if i < 2:
                        continue
                    result, error = answers.get(timeout=TIMEOUT_S)
                    if error is not None:
                        raise error
                    assert result.as_numpy("OUTPUT0").tolist() == [float(i - 2)] * 4
                    self.answers[index] += 1
                client.stop_stream()

    def _keep_alive(self, index):
        """http.client goes on with a connection until an answer says that it is closed."""
        connection = http.client.HTTPConnection(self._http_address, timeout=TIMEOUT_S)
        try:
            for value in self._values(index):
                connection.request("POST", f"/v2/models/{self._model}/infer", _body(value))
                response = connection.getresponse()
                answer = response.read()
                assert response.status == 200, (response.status, answer)
                _check(answer, value)
        finally:
            connection.close()

    def _pipelined(self, index):
        host, port = self._http_address.rsplit(":", 1)
        while not self._end.is_set():
            with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as connection:
                self._pipeline(index, connection, connection.makefile("rb"))

    def _pipeline(self, index, connection, reader):
        """Until an answer says that the connection is closed: then it is the last one to what was sent."""
        while not self._end.is_set():
            values = [float(index * 100_000 + i) for i in range(PIPELINED)]
            bodies = [_body(value) for value in values]
            connection.sendall("".join(
                f"POST /v2/models/{self._model}/infer HTTP/1.1\r\nHost: test\r\nContent-Length: {len(body)}\r\n\r\n{body}"
                for body in bodies).encode())
            closes = False
            for i, value in enumerate(values):
                status = reader.readline()
                assert status.startswith(b"HTTP/1.1 200 "), (i, status)
                headers = http.client.parse_headers(reader)
                _check(reader.read(int(headers["Content-Length"])), value)
                closes = headers.get("Connection") == "close"
                assert not closes or i == PIPELINED - 1, i
                self.answers[index] += 1
            if closes:
                return

    def wait_for_answers(self, count=1, timeout=TIMEOUT_S):
        """Until each has been answered so often again."""
        import time
        wanted, deadline = [answers + count for answers in self.answers], time.monotonic() + timeout
        while any(now < then for now, then in zip(self.answers, wanted)):
            assert time.monotonic() < deadline, f"answers {self.answers}, wanted {wanted}; failures {self.failures[:5]}"
            time.sleep(0.005)

    def end(self):
        self._end.set()
        for thread in self._threads:
            thread.join(2 * TIMEOUT_S)
        assert not any(thread.is_alive() for thread in self._threads)
