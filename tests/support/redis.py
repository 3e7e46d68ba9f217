"""A Redis server of the tests."""

import socket
import subprocess


class Redis:
    """A redis-server on the loopback that keeps nothing on disk."""

    def __init__(self, *arguments):
        self.arguments = arguments
        self.port = 0
        self.start()

    def start(self):
        for _ in range(20):
            port = self.port or free_port()
            self.process = subprocess.Popen(
                ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--daemonize", "no", *self.arguments],
                stdout=subprocess.PIPE, text=True)
            if any("Ready to accept connections" in line for line in iter(self.process.stdout.readline, "")):
                self.port = port
                return
            self.process.wait()
        raise AssertionError("redis-server does not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def command(self, *words):
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True, check=True).stdout.strip()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
