"""Clients that reset many calls for good reasons, of short deadlines or of hedging, keep their connection."""

import os
import random
import threading
import time

import grpc
import pytest
from support import models
from support.admission import metric
from support.grpc_frontends import GRPC_FRONTENDS
from support.server import Server
from tritonclient.grpc import service_pb2, service_pb2_grpc

# Long enough for more resets than one connection could make of requests that were not sent whole.
SECONDS = float(os.environ.get("ATOLL_TEST_RESET_SECONDS", 8))
OWN = GRPC_FRONTENDS[1]
EXECUTION_MS = 30


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("models")
    models.write_model(repository, "quick", models.identity_config("quick"))
    slow = models.identity_config("slow") + f'parameters {{ key: "execute_delay_ms" value {{ string_value: "{EXECUTION_MS}" }} }}\n'
    models.write_model(repository, "slow", slow)
    with Server(repository, grpc_frontend=OWN) as running:
        yield running.wait_active().wait_ready()


def request(model):
    made = service_pb2.ModelInferRequest(model_name=model, raw_input_contents=[bytes(4)])
    made.inputs.add(name="INPUT0", datatype="FP32", shape=[1])
    return made


class Counts:
    """How calls of one channel ended, by the names of their codes."""

    def __init__(self):
        self._lock = threading.Lock()
        self.seen = {}

    def add(self, code):
        with self._lock:
            self.seen[code.name] = self.seen.get(code.name, 0) + 1


def until_ended(stub, counts, model, timeout, end):
    while time.monotonic() < end:
        try:
            stub.ModelInfer(request(model), timeout=timeout())
            counts.add(grpc.StatusCode.OK)
        except grpc.RpcError as error:
            counts.add(error.code())


def run(*threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def check_kept(server, innocent):
    """The calls beside those that were reset were all answered, and no connection was ended."""
    assert set(innocent.seen) == {"OK"}, innocent.seen
    assert metric(server, "atoll_grpc_closed_connections_total", instance="grpc", reason="resets") == 0


def test_short_deadlines(server):
    hurried, innocent = Counts(), Counts()
    with grpc.insecure_channel(server.address) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        end = time.monotonic() + SECONDS
        threads = [threading.Thread(target=until_ended, args=(stub, innocent, "quick", lambda: 60, end)) for _ in range(4)]
        threads += [threading.Thread(target=until_ended, args=(stub, hurried, "slow", lambda: random.uniform(0.002, 0.006), end))
                    for _ in range(32)]
        run(*threads)
    print(hurried.seen, innocent.seen)
    check_kept(server, innocent)
    assert set(hurried.seen) <= {"OK", "DEADLINE_EXCEEDED"}, hurried.seen


@pytest.mark.parametrize("rate", (300, 600))
def test_hedging(server, rate):
    """Calls whose slower twin is cancelled, so many a second."""
    cancelled, innocent = Counts(), Counts()
    with grpc.insecure_channel(server.address) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        began = time.monotonic()
        end = began + SECONDS

        def hedge():
            open_calls = []
            while time.monotonic() < end:
                due = int((time.monotonic() - began) * rate)
                while len(open_calls) < due:
                    call = stub.ModelInfer.future(request("slow"), timeout=60)
                    call.add_done_callback(lambda done: cancelled.add(done.code()))
                    open_calls.append(call)
                    if len(open_calls) > 10:
                        open_calls[len(open_calls) - 10].cancel()
                time.sleep(0.005)  # the pace of the client
            for call in open_calls:
                call.cancel()

        threads = [threading.Thread(target=until_ended, args=(stub, innocent, "quick", lambda: 60, end)) for _ in range(4)]
        run(*threads, threading.Thread(target=hedge))
    print(cancelled.seen, innocent.seen)
    check_kept(server, innocent)
    assert set(cancelled.seen) <= {"OK", "CANCELLED"}, cancelled.seen
