"""Routes that another plugin brings to the HTTP frontend, with the real executable."""

import contextlib
import http.client
import json
import re
import signal
import socket
import threading

import pytest
from support.contributor import Contributor
from support.waiting import eventually

LIMIT = 1 << 20
RELOADS = 5
WAIT_S = 60
ROUTES = Contributor("tests/http_routes", "http", f"max_input_size = {LIMIT}\n")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with ROUTES.running(tmp_path_factory.mktemp("server"), {"routes": "first"}) as server:
        yield server


def ask(server, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection(server.http_address, timeout=WAIT_S)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


def says(server, name):
    """Whether an instance of this name answers. The frontend hears of a change a moment after the reload is logged."""
    return ask(server, "GET", "/fixture/hello")[2] == f"{name} ".encode()


def connect(server):
    host, port = server.http_address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=WAIT_S)


def test_get_and_post(server):
    status, headers, body = ask(server, "GET", "/fixture/hello?a=b")
    assert (status, headers["Content-Type"], body) == (200, "text/plain", b"first a=b")
    sent = b"x" * 100_000
    status, headers, body = ask(server, "POST", "/fixture/echo", sent, {"Content-Type": "image/x"})
    assert (status, headers["Content-Type"], headers["X-Size"], body) == (201, "image/x", "100000", sent)
    assert ask(server, "GET", "/fixture/files/a/b%20c?q")[2] == b"GET /fixture/files/a/b%20c"
    assert ask(server, "DELETE", "/fixture/files/a")[2] == b"DELETE /fixture/files/a"
    status, headers, body = ask(server, "HEAD", "/fixture/files/a")
    assert (status, headers["Content-Length"], body) == (200, "21", b"")


def test_an_answer_that_comes_later(server):
    for _ in range(20):
        assert ask(server, "GET", "/fixture/later")[::2] == (200, b"first later")


def test_an_answer_in_pieces(server):
    status, headers, body = ask(server, "GET", "/fixture/stream?1000")
    assert (status, headers["Transfer-Encoding"]) == (200, "chunked")
    assert body == b"".join(b"piece %d\n" % i for i in range(1000))
    assert ask(server, "GET", "/fixture/stream?0")[2] == b""
    with connect(server) as old:
        old.sendall(b"GET /fixture/stream?3 HTTP/1.0\r\n\r\n")
        received = b"".join(iter(lambda: old.recv(65536), b""))
    assert received.endswith(b"\r\n\r\npiece 0\npiece 1\npiece 2\n")


def test_requests_in_one_go_are_answered_in_order(server):
    with connect(server) as client:
        paths = ["later", "stream?2", "hello", "later"]
        client.sendall(b"".join(b"GET /fixture/%s HTTP/1.1\r\nHost: t\r\n\r\n" % path.encode() for path in paths[:-1])
                       + b"GET /fixture/later HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
        received = b"".join(iter(lambda: client.recv(65536), b"")).decode()
    assert re.findall(r"first later|first |piece \d", received) == ["first later", "piece 0", "piece 1", "first ", "first later"]


def test_what_is_no_route_is_as_ever(server):
    for path in ("/fixture", "/fixture/", "/fixture/hello/", "/fixture/files", "/v3"):
        status, headers, body = ask(server, "GET", path)
        assert (status, headers["Content-Type"], json.loads(body)) == (404, "application/json", {"error": "Not Found"})
    status, headers, body = ask(server, "PUT", "/fixture/hello")
    assert (status, headers["Allow"], json.loads(body)) == (405, "GET", {"error": "Method Not Allowed"})
    assert ask(server, "GET", "/v2/health/live")[0] == 200


def test_a_restricted_category(server):
    assert ask(server, "GET", "/fixture/closed")[0] == 403
    assert ask(server, "GET", "/fixture/closed", headers={"x-key": "wrong"})[0] == 403
    assert ask(server, "GET", "/fixture/closed", headers={"x-key": "secret"})[::2] == (200, b"first ")


def test_a_body_over_the_limit(server):
    assert ask(server, "POST", "/fixture/echo", b"x" * LIMIT)[0] == 201
    with connect(server) as client:
        client.sendall(b"POST /fixture/echo HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n" % (LIMIT + 1))
        assert client.recv(65536).startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert ask(server, "GET", "/fixture/hello")[0] == 200


def test_a_client_that_does_not_read_its_stream(server):
    with connect(server) as client:
        client.sendall(b"GET /fixture/flood HTTP/1.1\r\nHost: t\r\n\r\n")
        server.wait_for_line("the flood ended: the client takes its stream too slowly")
        with contextlib.suppress(ConnectionError):
            while client.recv(1 << 20):
                pass


def test_a_client_that_goes(server):
    with connect(server) as client:
        client.sendall(b"GET /fixture/held HTTP/1.1\r\nHost: t\r\n\r\n")
        server.wait_for_line("a request is held")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    server.wait_for_line("the client of a held request has gone")


def test_metrics_count_them(server):
    ask(server, "GET", "/fixture/files/x")
    connection = http.client.HTTPConnection(server.metrics_address, timeout=WAIT_S)
    connection.request("GET", "/metrics")
    page = connection.getresponse().read().decode()
    connection.close()
    pattern = r'^atoll_http_requests_total\{category="fixture.files",instance="http",status="2xx"\} [1-9]'
    assert re.search(pattern, page, re.M), page


def held(server, answers):
    """A request that the fixture keeps, in a thread."""
    thread = threading.Thread(target=lambda: answers.append(ask(server, "GET", "/fixture/held")[::2]))
    thread.start()
    server.wait_for_line("a request is held")
    return thread


def test_reloads_while_in_use(tmp_path):
    with ROUTES.running(tmp_path, {"routes": "n1"}) as server:
        ended, failures, seen = threading.Event(), [], set()

        def keep_asking(path):
            connection = http.client.HTTPConnection(server.http_address, timeout=WAIT_S)
            while not ended.is_set():
                connection.request("GET", path)
                response = connection.getresponse()
                body = response.read()
                seen.add(body.split()[0])
                if response.status != 200:
                    failures.append((path, response.status, body))
            connection.close()

        clients = [threading.Thread(target=keep_asking, args=[path]) for path in ("/fixture/hello", "/fixture/later")]
        for client in clients:
            client.start()
        try:
            for generation in range(2, 2 + RELOADS):
                answers = []
                waiting = held(server, answers)
                ROUTES.reload(server, {"routes": f"n{generation}"}, generation)
                waiting.join(WAIT_S)
                assert answers == [(200, b"n%d drained" % (generation - 1))], "the old one ended what it had"
                eventually(lambda: says(server, f"n{generation}"))  # noqa: B023
        finally:
            ended.set()
            for client in clients:
                client.join()
        assert failures == []
        assert len(seen) >= RELOADS


def test_it_comes_and_goes_and_two_have_the_same(tmp_path):
    with ROUTES.running(tmp_path, {}) as server:
        assert ask(server, "GET", "/fixture/hello")[0] == 404
        ROUTES.reload(server, {"a": "of-a"}, 2)
        eventually(lambda: says(server, "of-a"))
        ROUTES.reload(server, {"a": "of-a", "b": "of-b"}, 3)
        server.newest_line(r"the route '/fixture/hello' of 'b' is not served: 'a' has it already")
        assert says(server, "of-a")
        ROUTES.reload(server, {"b": "of-b"}, 4)
        eventually(lambda: says(server, "of-b"))
        ROUTES.reload(server, {}, 5)
        eventually(lambda: ask(server, "GET", "/fixture/hello")[::2] == (404, b'{"error":"Not Found"}'))


def test_the_servers_end_waits_for_them(tmp_path):
    with ROUTES.running(tmp_path, {"routes": "first"}) as server:
        answers = []
        slow = threading.Thread(target=lambda: answers.append(ask(server, "GET", "/fixture/slow")))
        slow.start()
        server.wait_for_line("a slow request has begun")
        server.process.send_signal(signal.SIGTERM)
        server.wait_for_line("draining for at most")
        reply = (200,)
        while reply[0] == 200:  # the frontend has not heard of it yet
            with contextlib.suppress(ConnectionError, http.client.BadStatusLine):  # idle connections are closed
                reply = ask(server, "GET", "/fixture/hello")
        assert (reply[0], json.loads(reply[2])) == (503, {"error": "Server exiting"})
        slow.join(WAIT_S)
        status, headers, body = answers[0]
        assert (status, headers["Connection"], body) == (200, "close", b"first slow")
        assert server.process.wait(WAIT_S) == 0
