"""Addresses for servers whose listeners are replaced."""

import contextlib
import socket


@contextlib.contextmanager
def free_addresses(count):
    """Ports that nobody else gets meanwhile: a replacement has to have the port of the one before it."""
    with contextlib.ExitStack() as stack:
        addresses = []
        for _ in range(count):
            keeper = stack.enter_context(socket.socket())
            keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            keeper.bind(("127.0.0.1", 0))
            addresses.append(f"127.0.0.1:{keeper.getsockname()[1]}")
        yield addresses
