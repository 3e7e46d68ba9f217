"""The faults that clients are, and limits that are reached: none of them is anybody else's business."""

import contextlib
import pathlib
import resource
import socket

import numpy as np
from chaos_actors import grpc_tensor, refusal_of
from chaos_faults import RECOVERY_S, recovered
from chaos_oracle import DEADLINE_S, NO_ANSWER, expected, same
from support.server import usage

MIB = 1 << 20
LIMIT_S = 1.5
SIZES = (4, 1000, 60_000, 250_000, 700_000, 2_000_000, 4_000_000, 4, 4_000_000, 700_000, 4)  # values, of 4 bytes
# What comes to the ports of HTTP and gRPC; each line ends in an answer, or in a closed connection.
HOSTILE = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
    b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 5000 + b"\r\n",
    b"POST /v2/models/echo/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n{",
    b"POST /v2/models/echo/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /v2/models/echo/infer HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n",
    b"POST /v2/models/echo/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 250000\r\n\r\n" + b"[" * 250000,
    b"POST /v2/models/echo/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nInference-Header-Content-Length: -1\r\n\r\n{}",
    b"GET /v2/models/%2e%2e%2f%00/config HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9) * 100,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff\xff\xff\x01\x05\x7f\xff\xff\xff" + bytes(1000),
)
LIVE = b"GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n"


def connect(address):
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=RECOVERY_S)


def answer_of(connection):
    """All that comes until the other side closes, or says nothing more for now."""
    found = b""
    with contextlib.suppress(ConnectionError):
        while len(found) < MIB:
            more = connection.recv(65536)
            if not more:
                break
            found += more
    return found


def slow(site):
    """Requests in small pieces, with pauses; and some that never end."""
    count = site.rng.randint(4, 12)
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(connect(site.world.http_address)) for _ in range(count)]
        for start in range(0, len(LIVE), 8):
            for connection in connections[1:]:
                connection.sendall(LIVE[start:start + 8])
            site.end.wait(0.1)
        for connection in connections[1:]:
            found = connection.recv(65536)
            assert found.startswith(b"HTTP/1.1 200"), found
        connections[0].sendall(LIVE[:20])
    return f"{count} connections"


def half_closed(site):
    """They say that nothing more comes, and still get their answer; or go in the middle."""
    count = site.rng.randint(4, 12)
    for i in range(count):
        with connect(site.world.http_address) as connection:
            if i % 2:
                connection.sendall(LIVE[:site.rng.randint(1, len(LIVE) - 1)])
                continue
            connection.sendall(LIVE)
            connection.shutdown(socket.SHUT_WR)
            found = answer_of(connection)
            assert found.startswith(b"HTTP/1.1 200"), found
    return f"{count} connections"


def hostile(site):
    for address in (site.world.http_address, site.world.grpc_address):
        for data in site.rng.sample(HOSTILE, 4):
            with connect(address) as connection:
                with contextlib.suppress(ConnectionError):
                    connection.sendall(data)
                    connection.shutdown(socket.SHUT_WR)
                found = answer_of(connection)
                assert not found.startswith(b"HTTP/1.1 2") or b"health" in data, (data[:80], found[:200])
    return "4 inputs for each of HTTP and gRPC"


def descriptors(site):
    """As many as the server has, and a few; then more connections than that."""
    world = site.world
    with world.configuring, world.processing:
        before = usage(world.pid)["descriptors"]
        soft, hard = resource.prlimit(world.pid, resource.RLIMIT_NOFILE)
        more = site.rng.randint(2, 20)
        try:
            resource.prlimit(world.pid, resource.RLIMIT_NOFILE, (before + more, hard))
            with contextlib.ExitStack() as stack:
                for i in range(more + 10):
                    stack.enter_context(connect((world.http_address, world.grpc_address)[i % 2]))
                site.end.wait(LIMIT_S)
        finally:
            resource.prlimit(world.pid, resource.RLIMIT_NOFILE, (soft, hard))
        recovered(world, "echo", "py")
    return f"{more} more than {before}"


def ask_for_much(site):
    """Requests of more and more bytes: each is answered rightly, or refused. Returns how many are."""
    refused = 0
    for size in SIZES:
        values = np.arange(size, dtype=np.float32)
        try:
            with site.world.client() as client:
                result = client.infer("wide", [grpc_tensor(values)], client_timeout=DEADLINE_S)
        except Exception as error:
            assert refusal_of(error).code != NO_ANSWER, error
            refused += 1
        else:
            assert same(result.as_numpy("OUTPUT0"), expected("wide", values)), f"wide: a wrong answer of {size} values"
    return refused


def memory(site):
    """As much address space as the server has, and a little."""
    world = site.world
    with world.configuring, world.processing:
        status = pathlib.Path(f"/proc/{world.pid}/status").read_text()
        mapped = int(next(line for line in status.splitlines() if line.startswith("VmSize:")).split()[1]) * 1024
        soft, hard = resource.prlimit(world.pid, resource.RLIMIT_AS)
        more = site.rng.randint(1, 16)
        try:
            resource.prlimit(world.pid, resource.RLIMIT_AS, (mapped + more * MIB, hard))
            refused = ask_for_much(site)
        finally:
            resource.prlimit(world.pid, resource.RLIMIT_AS, (soft, hard))
        recovered(world, "echo", "py", "wide")
    return f"{more} MiB more than {mapped // MIB}; {refused} of {len(SIZES)} large requests were refused"


FAULTS = {"slow": slow, "half-closed": half_closed, "hostile": hostile, "descriptors": descriptors, "memory": memory}
