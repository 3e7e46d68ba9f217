"""Connections with TLS to the port of HTTP, byte by byte."""

import contextlib
import socket
import ssl

import pytest
from support.pki import tls_options
from support.server import Server
from support.tls import LIVE, MANIFEST, Endpoint, answer, is_live, wait_ready
from support.waiting import eventually


def test_one_connection_has_many_requests(http):
    with http.connect() as connection:
        assert connection.selected_alpn_protocol() == "http/1.1"
        for _ in range(5):
            assert is_live(connection)
        connection.sendall(LIVE * 300)  # more than is read ahead
        for _ in range(300):
            assert answer(connection)[0].startswith("http/1.1 200")


def test_bytes_may_come_in_any_pieces(http):
    with http.connect() as connection:
        for byte in LIVE:
            connection.sendall(bytes([byte]))  # a record each
        assert answer(connection)[0].startswith("http/1.1 200")


def test_a_body_behind_100_continue(http):
    body = b'{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1],"data":[7]}]}'
    head = b"POST /v2/models/any/infer HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
    with http.connect() as connection:
        connection.sendall(head % len(body))
        interim = b""
        while not interim.endswith(b"\r\n\r\n"):
            interim += connection.recv(1)
        assert interim == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert b'"data":[7.0]' in answer(connection)[1]


def test_the_end_is_announced(http):
    """Without suppress_ragged_eofs an end that nobody announced is an error."""
    with http.connect() as connection:
        connection.sendall(LIVE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert answer(connection)[0].startswith("http/1.1 200")
        assert connection.recv(1) == b""


def test_a_client_that_says_no_more_gets_its_answers(http):
    with http.connect() as connection:
        connection.sendall(LIVE * 2)
        socket.socket.shutdown(connection, socket.SHUT_WR)  # without a word of TLS, as programs do that end at once
        assert answer(connection)[0].startswith("http/1.1 200")
        assert answer(connection)[0].startswith("http/1.1 200")
        assert connection.recv(1) == b""


def test_protocols(http):
    with http.connect(protocols=()) as connection:
        assert connection.selected_alpn_protocol() is None
        assert is_live(connection)
    with http.connect(protocols=("h2", "http/1.1")) as connection:
        assert connection.selected_alpn_protocol() == "http/1.1"
    with pytest.raises(ssl.SSLError, match="no application protocol"):
        http.connect(protocols=("h2",))


def test_a_client_without_tls_is_told(server, http):
    with http.plain() as connection:
        connection.sendall(LIVE)
        head, body = answer(connection)
        assert head.startswith("http/1.1 400 ") and body == b"this port speaks TLS: use https:// as scheme\n"
        assert connection.recv(1) == b""
    with http.plain() as connection:
        connection.sendall(b"\x00" * 600)
        while got := connection.recv(100):
            assert got[0] == 21, "an alert, if anything"
    server.newest_line(r"\[http\] TLS with ipv4:127.0.0.1:\d+ failed: ")


def test_tls_on_a_port_without(repository, pki):
    with Server(repository, manifest=MANIFEST, grpc_frontend="frontends/grpc_nghttp2") as server:
        with pytest.raises(OSError):
            Endpoint(server.http_address, pki).connect()
        with server.http_client() as client:
            eventually(client.is_server_live)


@pytest.mark.parametrize("plugin", ["http", "metrics", "grpc"])
def test_versions_and_ciphers(serve, pki, plugin):
    with serve(f'plugin.{plugin}.ssl_min_version="1.3"',
               f'plugin.{plugin}.ssl_ciphers="TLS_CHACHA20_POLY1305_SHA256"') as server:
        addresses = {"http": server.http_address, "metrics": server.metrics_address, "grpc": server.address}
        port = Endpoint(addresses[plugin], pki)
        protocols = ("h2",) if plugin == "grpc" else ("http/1.1",)
        with port.connect(protocols=protocols) as connection:
            assert connection.version() == "TLSv1.3"
            assert connection.cipher()[0] == "TLS_CHACHA20_POLY1305_SHA256"

        def only_12(context):
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises(OSError):
            port.connect(protocols=protocols, change=only_12)


def test_ciphers_of_tls_12(serve, pki):
    with serve('plugin.http.ssl_ciphers="ECDHE-RSA-AES256-GCM-SHA384"') as server:
        def use(ciphers):
            def change(context):
                context.maximum_version = ssl.TLSVersion.TLSv1_2
                context.set_ciphers(ciphers)
            return change
        http = Endpoint(server.http_address, pki)
        with http.connect(change=use("ECDHE")) as connection:
            assert connection.cipher()[0] == "ECDHE-RSA-AES256-GCM-SHA384"
        with pytest.raises(OSError):
            http.connect(change=use("ECDHE-RSA-AES128-GCM-SHA256"))


def test_options_that_cannot_be(serve, pki):
    for options, text in (
            (["plugin.http.server_cert=\"\""], "plugin.http.server_cert: is empty"),
            (['plugin.metrics.server_key="/no/such/file"'],
             "plugin.metrics.server_key: names '/no/such/file', expected a readable PEM file: No such file or directory"),
            ([f'plugin.http.server_key="{pki}/client.key"'], "expected a key and certificates that belong together"),
            (['plugin.grpc.ssl_ciphers="NONE-SUCH"'],
             "plugin.grpc.ssl_ciphers: is 'NONE-SUCH', expected ciphers that OpenSSL knows: no cipher match")):
        with pytest.raises(AssertionError) as caught:
            serve(*options)
        assert text in str(caught.value)


def test_connections_that_are_too_many_hear_nothing_in_plain(serve, pki):
    with serve("plugin.http.max_connections=1") as server, contextlib.ExitStack() as stack:
        http = wait_ready(server, pki)
        eventually(lambda: keep_busy(http, stack))
        eventually(lambda: refused(http))


def keep_busy(http, stack):
    """A connection with a long answer; False: the one before it is not gone yet, and this is one too many."""
    body = b'{"IN":[1],"DELAY":[100000],"WAIT":[1]}'
    head = b"POST /v2/models/repeat/generate_stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
    try:
        connection = http.connect()
    except OSError:
        return False
    stack.enter_context(connection)
    connection.sendall(head % len(body) + body)
    return True


def refused(http):
    """Whether a new connection is closed without a byte."""
    with http.plain() as connection:
        connection.settimeout(1)
        try:
            connection.sendall(b"\x16\x03\x01")
            return connection.recv(1) == b""
        except TimeoutError:
            return False
        except (ConnectionResetError, BrokenPipeError):
            return True
