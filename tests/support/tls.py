"""Ports with TLS, as clients see them that know nothing of the protocol behind it."""

import pathlib
import socket
import ssl

from .waiting import eventually

MANIFEST = pathlib.Path(__file__).resolve().parents[1] / "tls" / "tls.toml"
FRONTENDS = ("grpc", "http", "metrics")


class Endpoint:
    """A port with TLS, as a client sees it."""

    def __init__(self, address, pki):
        self.host, port = address.rsplit(":", 1)
        self.port = int(port)
        self.pki = pki

    def plain(self):
        return socket.create_connection((self.host, self.port), timeout=60)

    def context(self, own=None, trusted="ca"):
        context = ssl.create_default_context(cafile=self.pki / f"{trusted}.crt")
        if own:
            context.load_cert_chain(self.pki / f"{own}.crt", self.pki / f"{own}.key")
        return context

    def connect(self, own=None, protocols=("http/1.1",), change=lambda context: None):
        """A connection whose end counts only if the server has announced it."""
        context = self.context(own)
        if protocols:
            context.set_alpn_protocols(protocols)
        change(context)
        return context.wrap_socket(self.plain(), server_hostname="localhost", suppress_ragged_eofs=False)


def answer(connection):
    """The next answer of a connection: its head and its body, which has a length."""
    text = b""
    while b"\r\n\r\n" not in text:
        got = connection.recv(1)
        assert got, text
        text += got
    head = text.decode().lower()
    length = int(head.split("content-length: ")[1].split("\r\n")[0])
    body = b""
    while len(body) < length:
        got = connection.recv(length - len(body))
        assert got
        body += got
    return head, body


LIVE = b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"


def is_live(connection):
    connection.sendall(LIVE)
    return answer(connection)[0].startswith("http/1.1 200")


def wait_ready(server, pki, own=None):
    """Models are loaded when health says so."""
    http = Endpoint(server.http_address, pki)

    def ready():
        with http.connect(own) as connection:
            connection.sendall(b"GET /v2/health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return answer(connection)[0].startswith("http/1.1 200")
    eventually(ready)
    return http
