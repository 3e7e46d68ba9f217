"""One request of a case, looked at: nothing is measured that has not given a right answer."""

import http.client
import mmap
import os
import pathlib

import grpc

from . import cases, messages

TIMEOUT_S = 60
FRAME_BYTES = 5


class Regions:
    """The two shared-memory objects of the `shm` cases. A context manager."""

    def __init__(self, content):
        self._content = content

    def __enter__(self):
        self._path(messages.INPUT_REGION).write_bytes(self._content)
        self._path(messages.OUTPUT_REGION).write_bytes(bytes(len(self._content)))
        with open(self._path(messages.OUTPUT_REGION), "r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        return self

    def __exit__(self, *_):
        self._map.close()
        for name in (messages.INPUT_REGION, messages.OUTPUT_REGION):
            os.unlink(self._path(name))

    @staticmethod
    def _path(name):
        return pathlib.Path("/dev/shm") / messages.region_object(name)

    def clear_output(self):
        self._map[:] = bytes(len(self._content))

    @property
    def output(self):
        return bytes(self._map)


def answer_bytes(case, server, workload, echoes, regions):
    """Sends the case's request once and checks the answer; how many bytes of data it has on the wire. Raises
    WrongAnswer, or what the client library raises."""
    request = workload.request(case.protocol)
    if case.protocol in (cases.HTTP, cases.JSON):
        answer, headers = _send_http(server.http_port, request)
        size = len(answer)
    else:
        if case.protocol == cases.SHM:
            regions.clear_output()
        answer, headers = _send_grpc(server.grpc_port, request, case.protocol in (cases.STREAM, cases.ONE_STREAM)), {}
        size = len(answer) + FRAME_BYTES
    if echoes:
        if answer != request.body:
            raise messages.WrongAnswer("the echo is not what was sent")
    else:
        workload.check(case.protocol, answer, headers, regions.output if case.protocol == cases.SHM else None)
    return size


def _send_grpc(port, request, stream):
    options = [("grpc.max_receive_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        if stream:
            answers = list(channel.stream_stream(request.path)(iter([request.body]), timeout=TIMEOUT_S))
            if len(answers) != 1:
                raise messages.WrongAnswer(f"{len(answers)} answers to one request")
            return answers[0]
        return channel.unary_unary(request.path)(request.body, timeout=TIMEOUT_S)


def _send_http(port, request):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    try:
        connection.request("POST", request.path, request.body, dict(request.headers))
        reply = connection.getresponse()
        body = reply.read()
    finally:
        connection.close()
    if reply.status != 200:
        raise messages.WrongAnswer(f"HTTP status {reply.status}: {body[:500]!r}")
    return body, {name.lower(): value for name, value in reply.getheaders()}
