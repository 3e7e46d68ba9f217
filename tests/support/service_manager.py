"""A double of systemd's end of the notify socket."""
import contextlib
import os
import socket


class ServiceManager:
    """Listens for what a service says. Use as a context manager."""

    WAIT_S = 60

    def __init__(self, address, watchdog_us=None):
        """address: a path, or "@" and an abstract name"""
        self.address = str(address)
        self.environment = {"NOTIFY_SOCKET": self.address}
        if watchdog_us:
            self.environment["WATCHDOG_USEC"] = str(watchdog_us)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.address.replace("@", "\0", 1) if self.address.startswith("@") else self.address)

    def message(self, wait_s=WAIT_S):
        """The next message as a dict. TimeoutError: there is none."""
        self._socket.settimeout(wait_s)
        return dict(line.split("=", 1) for line in self._socket.recv(4096).decode().splitlines())

    def expect(self, name):
        """The next message with this name. What comes before it is skipped, except that the service ends."""
        while True:
            message = self.message()
            if name in message:
                return message
            assert "STOPPING" not in message, f"the service ends before it says {name}"

    def empty(self):
        """Forgets what has come so far."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self.message(wait_s=0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()
        if not self.address.startswith("@"):
            os.unlink(self.address)
