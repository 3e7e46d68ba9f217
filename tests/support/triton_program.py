"""Triton's own server program, which bench/serve/peers/install brings, over this tree's libtritonserver.so."""

import pathlib
import signal
import socket
import subprocess
import sys
import tempfile

from support.foreign_programs import LIBRARIES, environment
from support.grpc_frontends import GRPC_FRONTENDS
from support.server import ROOT, Server
from support.waiting import eventually

WAIT_S = 120


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class TritonProgram:
    """One process of it; to its clients as a support.server.Server. Use as a context manager; leaving it stops the process and
    checks its exit code."""

    def __init__(self, repository, *flags):
        self._folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self._folder.name)
        (site, ) = (ROOT / "build/peers/triton").glob("lib/python3*/site-packages")
        # It is linked to the library by the name that its package gave it: one that is empty, and needs ours.
        (renamed, ) = (site / "nvidia_pytriton.libs").glob("libtritonserver-*.so")
        (folder / "empty.c").write_text("int empty;\n")
        subprocess.run(["cc", "-shared", "-fPIC", folder / "empty.c", "-o", folder / renamed.name, f"-Wl,-soname,{renamed.name}",
                        "-Wl,--no-as-needed", f"-L{LIBRARIES}", "-l:libtritonserver.so"], check=True)
        ports = {name: free_port() for name in ("http", "grpc", "metrics")}
        self.address, self.http_address, self.metrics_address = (f"127.0.0.1:{ports[name]}" for name in ("grpc", "http", "metrics"))
        listen = [f"--{name}-{key}={value}" for name, port in ports.items()
                  for key, value in (("address", "127.0.0.1"), ("port", port))]
        self._log = folder / "log"
        with open(self._log, "w") as log:
            self.process = subprocess.Popen(
                [site / "pytriton/tritonserver/bin/tritonserver", f"--model-repository={repository}", *listen, *flags],
                stdout=log, stderr=log,
                env=environment(preload=[folder / renamed.name],
                                LD_LIBRARY_PATH=f"{LIBRARIES}:{pathlib.Path(sys.base_prefix) / 'lib'}"))

    @property
    def pid(self):
        return self.process.pid

    @property
    def log(self):
        return self._log.read_text()

    def wait_ready(self):
        def started():
            assert self.process.poll() is None, self.log
            return "Started Metrics Service" in self.log
        eventually(started, WAIT_S)
        return self

    def client(self):
        import tritonclient.grpc
        return tritonclient.grpc.InferenceServerClient(self.address)

    def http_client(self, **options):
        import tritonclient.http
        return tritonclient.http.InferenceServerClient(self.http_address, **options)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        with self._folder:
            if kind is not None:
                print(self.log)
                self.process.kill()
                self.process.wait()
                return
            self.process.send_signal(signal.SIGTERM)
            code = self.process.wait(WAIT_S)
            assert code == 0, f"exit code {code}; the log:\n{self.log}"


# Our server with each of its gRPC frontends, and Triton's.
FRONTENDS = GRPC_FRONTENDS
SERVERS = (*FRONTENDS, "triton_program")


def start(kind, repository, *settings):
    """One of SERVERS. settings: of the frontends' server, to which Triton's has nothing alike."""
    return Server(repository, *settings, grpc_frontend=kind) if kind in FRONTENDS else TritonProgram(repository)
