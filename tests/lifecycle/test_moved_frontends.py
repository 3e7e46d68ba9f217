"""Frontends that a reload moves: a port that somebody keeps is refused as at a start, one that is given up is taken over."""

import signal
import socket
import time
import urllib.error
import urllib.request

import pytest
from harness import WAIT_S, Server
from support.addresses import free_addresses

ASKED = 30
PATHS = {"http": "/v2/health/live", "metrics": "/metrics"}
PLUGINS = {"grpc": "frontends/grpc_nghttp2", "http": "frontends/http", "metrics": "frontends/metrics"}


class MovedServer(Server):
    def __init__(self, folder, places):
        (folder / "models").mkdir()
        self.kept = {"repository": f'use = "repositories/filesystem"\npaths = ["{folder}/models"]',
                     "configs": 'use = "configs/pbtxt"', "models": 'use = "models/catalog"'}
        self.places = places
        super().__init__(folder, self.at(places))
        self.expect("active: 6 plugin instances")

    def at(self, places):
        return self.kept | {name: f'use = "{PLUGINS[name]}"\naddress = "{place}"' for name, place in places.items()}

    def move(self, **moved):
        self.reload(self.at(self.places | moved))
        return self.expect("^reload(ed:| refused:)")


@pytest.fixture(name="server")
def started(tmp_path):
    with free_addresses(3) as (grpc, http, metrics):
        with MovedServer(tmp_path, {"grpc": grpc, "http": http, "metrics": metrics}) as server:
            yield server
            server.send(signal.SIGTERM)
            assert server.wait() == 0


def answers(address, path):
    """What who listens there says, over a new connection each time."""
    seen = set()
    for _ in range(ASKED):
        try:
            with urllib.request.urlopen(f"http://{address}{path}", timeout=WAIT_S) as answer:
                seen.add(answer.status)
        except urllib.error.HTTPError as error:
            seen.add(error.code)
        except OSError as error:
            seen.add(str(error))
    return seen


def nothing_changed(server):
    for name, path in PATHS.items():
        assert answers(server.places[name], path) == {200}


def settles(is_so):
    """Until the former ones have begun to drain, connections go to either; those without a request are closed then."""
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline


def refused(line, address):
    return line.startswith("reload refused: ") and address in line and line.endswith("; generation 1 goes on")


@pytest.mark.parametrize("who, whose", [("metrics", "http"), ("grpc", "http"), ("http", "metrics"), ("http", "grpc")])
def test_a_port_of_one_that_stays_is_refused(server, who, whose):
    assert refused(server.move(**{who: server.places[whose]}), server.places[whose])
    nothing_changed(server)


@pytest.mark.parametrize("first, second", [("http", "metrics"), ("grpc", "http"), ("grpc", "metrics")])
def test_two_that_move_to_one_port_are_refused(server, first, second):
    with free_addresses(1) as (address,):
        assert refused(server.move(**{first: address, second: address}), address)
    nothing_changed(server)


@pytest.mark.parametrize("shares", [False, True])
def test_a_port_of_another_process_is_refused(server, shares):
    with socket.socket() as other:
        if shares:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        line = server.move(http=address)
        assert refused(line, address) and f"(frontends/http): start failed: Socket '{address}' already in use" in line
    nothing_changed(server)


def test_two_swap_their_ports(server):
    http, metrics = server.places["http"], server.places["metrics"]
    assert server.move(http=metrics, metrics=http).startswith("reloaded: generation 2")
    settles(lambda: answers(metrics, PATHS["http"]) == answers(http, PATHS["metrics"]) == {200})
    assert server.move(http=metrics, metrics=http).startswith("reloaded: generation 3"), "nothing to move"
    assert answers(metrics, PATHS["http"]) == answers(http, PATHS["metrics"]) == {200}


def test_a_port_of_one_that_is_removed_goes_to_one_that_comes(server):
    address = server.places["metrics"]
    instances = server.at(server.places)
    instances["page"] = instances.pop("metrics")
    server.reload(instances)
    assert server.expect("^reload(ed:| refused:)").startswith("reloaded: generation 2")
    settles(lambda: answers(address, PATHS["metrics"]) == {200})
