"""A server that the program tritonserver has started."""

import time

from support.server import BUILD, START_TIMEOUT_S, Server

TRITONSERVER = BUILD / "bin" / "tritonserver"
HOSTS = ["--http-address=127.0.0.1", "--grpc-address", "127.0.0.1"]
PORTS = ["--http-port=0", "--grpc-port", "0", "--metrics-port=0"]


class Launched(Server):
    """A server started with Triton's flags, on free ports."""

    def __init__(self, repository, *flags, grpc=True, environment=None):
        """repository: None: no flag names one"""
        named = [] if repository is None else [f"--model-repository={repository}"]
        self._start([str(TRITONSERVER), *named, *HOSTS, *PORTS, *flags], environment)
        if grpc:
            self.address = self.wait_for_line(r"Started GRPCInferenceService at (\S+)").group(1)

    def wait_for_startup(self):
        """Until every plugin has started and the models are decided, in any order; the ports open after it."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while not ("[kernel] active: " in self.log and "[control] start-up: " in self.log):
            assert self.process.poll() is None and time.monotonic() < deadline, self.log
            time.sleep(0.01)
