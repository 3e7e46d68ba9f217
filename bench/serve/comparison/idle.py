"""What connections take that have been opened and say nothing."""

import contextlib
import resource
import socket

OPENING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"
SETTINGS_ACK = b"\0\0\0\x04\x01\0\0\0\0"
TIMEOUT_S = 60
# Opened before memory is looked at first: what the server makes once is made then.
FIRST = 10
# Of the server's descriptors, what connections of one protocol do not get.
SPARE = 2


def make_room(connections):
    """Descriptors for both ends; servers that are started later inherit the limit. RuntimeError: there are not as many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = SPARE * connections
    if connections == 0 or soft >= wanted:
        return
    if hard not in (resource.RLIM_INFINITY,) and hard < wanted:
        raise RuntimeError(f"{connections} idle connections need {wanted} open files, the hard limit is {hard} (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def bytes_each(server, connections):
    """Resident memory of the server's processes that each further connection adds; what the kernel has for them is not in it.
    Each has opened HTTP/2 and has the server's settings. OSError, RuntimeError: not all could be opened."""
    with contextlib.ExitStack() as held:
        for _ in range(FIRST):
            _open(server.grpc_port, held)
        before = server.process.resident_bytes()
        for _ in range(connections):
            _open(server.grpc_port, held)
        after = server.process.resident_bytes()
    server.process.check_alive()
    return (after - before) / connections


def _open(port, held):
    connection = held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S))
    connection.sendall(OPENING)
    if not connection.recv(4096):
        raise RuntimeError("the server closed a connection")
    connection.sendall(SETTINGS_ACK)
