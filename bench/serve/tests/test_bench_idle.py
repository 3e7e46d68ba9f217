import contextlib
import resource
import socket
import threading

import pytest

from comparison import idle


class FakeServer:
    """Answers each opening, and grows by so much each time it is looked at."""

    def __init__(self, growth):
        self._sizes = iter((1000, 1000 + growth))
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.grpc_port = self._socket.getsockname()[1]
        self.process = self
        self.accepted = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self.accepted.append(connection)
                connection.sendall(b"settings")

    def resident_bytes(self):
        return next(self._sizes)

    def check_alive(self):
        pass


def test_growth_through_connections():
    server = FakeServer(growth=500)
    assert idle.bytes_each(server, 20) == 25
    assert len(server.accepted) == 20 + idle.FIRST


def test_too_few_descriptors(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100, 1000))
    idle.make_room(0)
    with pytest.raises(RuntimeError, match="hard limit is 1000"):
        idle.make_room(10_000)
