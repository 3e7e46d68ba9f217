"""Clients that do not finish their handshakes harm nobody."""

import contextlib
import re
import ssl
import urllib.request

import pytest
from support.server import MEMORY_SLACK_BYTES
from support.tls import Endpoint, is_live, wait_ready
from support.waiting import eventually


# The head of a ClientHello of 508 bytes, none of which follow.
HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
FLOOD = 2000
pytestmark = pytest.mark.usefixtures("descriptors")


def resident_bytes(server):
    with open(f"/proc/{server.pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) << 10


def begin(endpoint, said):
    connection = endpoint.plain()
    with contextlib.suppress(OSError):
        connection.sendall(said)
    return connection


def was_closed(connection):
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except (BlockingIOError, ssl.SSLWantReadError):
        return False
    except ConnectionResetError:
        return True


def metric(server, pki, name):
    context = ssl.create_default_context(cafile=pki / "ca.crt")
    with urllib.request.urlopen(f"https://{server.metrics_address}/metrics", context=context) as page:
        return sum(float(value) for value in re.findall(rf"^{name}{{.*}} (\S+)$", page.read().decode(), re.M))


@pytest.mark.parametrize("plugin", ["http", "metrics", "grpc"])
def test_a_flood(serve, pki, plugin):
    """The number of handshakes that are under way is bounded, and so is what they take; the oldest goes first, so whoever means
    it is served."""
    more = "plugin.metrics.max_connections=10000" if plugin == "metrics" else f"plugin.{plugin}.threads=1"
    with serve(f"plugin.{plugin}.ssl_max_handshakes=50", more) as server, contextlib.ExitStack() as stack:
        wait_ready(server, pki)
        addresses = {"http": server.http_address, "metrics": server.metrics_address, "grpc": server.address}
        endpoint = Endpoint(addresses[plugin], pki)
        protocols = ("h2",) if plugin == "grpc" else ("http/1.1",)

        def is_served():
            with endpoint.connect(protocols=protocols) as connection:
                return plugin != "http" or is_live(connection)
        kept = stack.enter_context(endpoint.connect(protocols=protocols))
        connections = [stack.enter_context(begin(endpoint, (b"", HELLO)[i % 2])) for i in range(100)]
        before = resident_bytes(server)
        for _ in range(FLOOD // 100):
            connections += [stack.enter_context(begin(endpoint, (b"", HELLO)[i % 2])) for i in range(100)]
            assert is_served()
        assert resident_bytes(server) - before < MEMORY_SLACK_BYTES
        eventually(lambda: all(was_closed(connection) for connection in connections[:-100]))
        assert not was_closed(kept), "its handshake is over"
        server.wait_logged("there were too many handshakes at a time")
        if plugin != "metrics":
            assert metric(server, pki, f"atoll_{plugin}_tls_failures_total") >= FLOOD - 100


def test_slow_handshakes_end(serve, pki):
    """The time is that of a head, from the connection's begin on, however much comes."""
    with serve('plugin.http.header_timeout="500ms"', 'plugin.metrics.idle_timeout="500ms"',
               'plugin.grpc.header_timeout="500ms"') as server, contextlib.ExitStack() as stack:
        for address in (server.http_address, server.metrics_address, server.address):
            endpoint = Endpoint(address, pki)
            silent = stack.enter_context(begin(endpoint, b""))
            partial = stack.enter_context(begin(endpoint, HELLO))
            slow = stack.enter_context(begin(endpoint, HELLO))

            def slow_is_closed(slow=slow):
                with contextlib.suppress(OSError):
                    slow.send(b"\x00")
                return was_closed(slow)
            eventually(lambda silent=silent: was_closed(silent))
            eventually(lambda partial=partial: was_closed(partial))
            eventually(slow_is_closed)


def test_a_connection_may_wait_after_its_handshake(serve, pki):
    """The time of handshakes is over with them."""
    with serve('plugin.http.header_timeout="200ms"') as server:
        http = Endpoint(server.http_address, pki)
        with http.connect() as connection:
            # Others come and go meanwhile: several times the time of a handshake.
            for _ in range(3):
                with begin(http, HELLO) as slow:
                    eventually(lambda slow=slow: was_closed(slow))
            assert is_live(connection)
