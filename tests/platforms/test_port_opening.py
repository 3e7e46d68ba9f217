"""When tritonserver opens its ports: platforms whose probe only tries a port send requests as soon as it is open."""

import contextlib
import signal
import socket
import sys
import threading

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http
from support import models, python_models
from support.addresses import free_addresses
from support.http_call import call
from support.launched import Launched
from support.waiting import eventually

INTERPRETER = {"ATOLL__PLUGIN__PYTHON__INTERPRETER": sys.executable}

# Its load says that it has begun, by a file beside the gate's, and takes until the test lets it end.
HELD = """\
def initialize(self, args):
    open({gate!r} + ".begun", "w").close()
    while not os.path.exists({gate!r}):
        time.sleep(0.005)

def execute(self, requests):
    return [answer(value(request)) for request in requests]
"""


def takes_connections(address):
    """What a TCP probe asks."""
    host, port = address.rsplit(":", 1)
    with contextlib.suppress(ConnectionRefusedError), socket.create_connection((host, int(port)), timeout=10):
        return True
    return False


@pytest.fixture
def held(tmp_path):
    """A repository whose one model is loaded when the file beside it is there: the repository and that file."""
    gate = tmp_path / "gate"
    python_models.write(tmp_path / "models", "held", HELD.format(gate=str(gate)))
    return tmp_path / "models", gate


def start(repository, addresses, *flags, environment=None):
    ports = [f"--{name}-port={address.rsplit(':', 1)[1]}" for name, address in zip(("http", "grpc", "metrics"), addresses)]
    return Launched(repository, *ports, *flags, grpc=False, environment=INTERPRETER | (environment or {}))


def infer(address):
    tensor = tritonclient.http.InferInput("INPUT0", [2], "FP32")
    tensor.set_data_from_numpy(np.array([1, 2], np.float32))
    with tritonclient.http.InferenceServerClient(address) as client:
        return client.infer("held", [tensor]).as_numpy("OUTPUT0").tolist()


def test_they_open_when_the_models_of_the_start_are_decided(held):
    repository, gate = held
    with free_addresses(3) as addresses, start(repository, addresses) as server:
        server.wait_active()
        assert not any(takes_connections(address) for address in addresses)
        assert "Started" not in server.log
        gate.touch()
        http, grpc, metrics = (eventually(lambda a=address: takes_connections(a) and a) for address in addresses)
        # Whoever gets through is answered; nobody has to ask for the health.
        assert infer(http) == [1, 2]
        with tritonclient.grpc.InferenceServerClient(grpc) as client:
            assert client.is_model_ready("held")
        assert "nv_inference_request_success" in call("GET", f"http://{metrics}/metrics").text
        assert server.http_address == http and server.metrics_address == metrics


def test_a_model_that_fails_is_decided_too(tmp_path):
    models.write_model(tmp_path / "models", "broken", "name: 'else'")
    with Launched(tmp_path / "models", grpc=False) as server:
        assert call("GET", f"http://{server.http_address}/v2/health/live").status == 200
        assert call("GET", f"http://{server.http_address}/v2/health/ready").status == 400


def test_open_early(held):
    """The load can be watched."""
    repository, gate = held
    with free_addresses(3) as addresses, start(repository, addresses, "--open-early") as server:
        server.wait_active()
        assert all(takes_connections(address) for address in addresses)
        assert call("GET", f"http://{addresses[0]}/v2/health/ready").status == 400
        gate.touch()
        eventually(lambda: call("GET", f"http://{addresses[0]}/v2/health/ready").status == 200)


def test_it_can_be_ended_before_they_open(held):
    repository, gate = held
    with start(repository, ["127.0.0.1:0"] * 3) as server:
        server.wait_active()
        gate.touch()
        assert server.stop() == 0


def test_one_that_is_told_to_end_while_models_load_opens_none(held, grpc_frontend):
    """A probe would take it for ready."""
    repository, gate = held
    with start(repository, ["127.0.0.1:0"] * 3, environment={"ATOLL__PLUGIN__GRPC__USE": grpc_frontend}) as server:
        server.wait_active()
        server.process.send_signal(signal.SIGTERM)
        server.wait_logged("draining for at most")
        gate.touch()
        assert server.process.wait(60) == 0
        server.wait_logged("start-up: 1 model loaded")
        assert "Started" not in server.log


def test_the_address_is_taken_from_the_beginning(held):
    """A second server is told at its start, not when it would open."""
    repository, gate = held
    with start(repository, ["127.0.0.1:0"] * 3) as first:
        gate.touch()
        taken = first.http_address
        gate.unlink()
        second = start(repository, [taken, "127.0.0.1:0", "127.0.0.1:0"])
        second.wait_logged(f"Socket '{taken}' already in use")
        gate.touch()  # its end would wait for the load
        assert second.stop(signal_number=0) != 0


def test_servers_replaced_one_by_one_lose_no_request(held):
    """As a platform does it: a new server gets requests when its port is open, then the old one is ended."""
    repository, gate = held
    current, failures, end = [None], [], threading.Event()
    answered_by = [None] * 4  # of each client, the server that answered it last

    def ask(client):
        while not end.is_set():
            address = current[0]
            try:
                assert infer(address) == [1, 2]
                answered_by[client] = address
            except Exception as error:  # any of them is a lost request
                failures.append((address, error))

    clients = []
    with contextlib.ExitStack() as stack:
        servers = []
        stack.callback(end.set)
        for turn in range(3):
            gate.unlink(missing_ok=True)
            http = stack.enter_context(free_addresses(1))[0]
            servers.append(stack.enter_context(start(repository, [http, "127.0.0.1:0", "127.0.0.1:0"])))
            servers[-1].wait_active()
            assert not takes_connections(http)
            gate.touch()
            eventually(lambda: takes_connections(http))
            current[0] = http
            if not clients:
                clients = [threading.Thread(target=ask, args=(client,)) for client in range(len(answered_by))]
                for client in clients:
                    client.start()
            eventually(lambda: answered_by == [http] * len(clients), say=lambda: str(failures[:3]))
            if turn:
                assert servers[turn - 1].stop() == 0
        end.set()
        for client in clients:
            client.join()
    assert not failures, failures[:3]
