"""The servers that are compared: how each is started and what it can do."""

import importlib.metadata
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import sysconfig

import grpc
from tritonclient.grpc import service_pb2, service_pb2_grpc

from . import alone, cases, messages, repositories, verify
from .options import ROOT
from .process import Process, free_port, wait_until

START_TIMEOUT_S = 120
WORK = ROOT / "build" / "bench"
PEER_ENVIRONMENTS = ROOT / "build" / "peers"
# As many gRPC calls as the real Triton keeps for reuse. With more calls in flight than that it deletes some whose
# requests the backend still has, and 2.51 crashes: with its default of 8 at 64 streams within a second.
STATE_POOL = 1024
REGION_BYTES = messages.LARGE_ELEMENTS * 4


class Server:
    """A running server and where it listens."""

    def __init__(self, label, command, core, grpc_port, http_port, environment=None):
        self.label = label
        self.grpc_port = grpc_port
        self.http_port = http_port
        self.process = Process(command, core, WORK / "logs" / f"{label}.log", environment)

    def port(self, case):
        return self.http_port if case.protocol in (cases.HTTP, cases.JSON) else self.grpc_port

    def wait_listening(self):
        def connects():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.grpc_port or self.http_port)) == 0
        wait_until(connects, self.process, START_TIMEOUT_S, self.label)

    def wait_ready(self, models):
        def ready():
            try:
                return all(stub.ModelReady(service_pb2.ModelReadyRequest(name=model), timeout=1).ready
                           for model in models)
            except grpc.RpcError:
                return False
        self.wait_listening()
        with grpc.insecure_channel(f"127.0.0.1:{self.grpc_port}") as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            wait_until(ready, self.process, START_TIMEOUT_S, self.label)

    def register_regions(self):
        """Shared memory for the `shm` cases, made by the verifier."""
        with grpc.insecure_channel(f"127.0.0.1:{self.grpc_port}") as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            for region in (messages.INPUT_REGION, messages.OUTPUT_REGION):
                stub.SystemSharedMemoryRegister(service_pb2.SystemSharedMemoryRegisterRequest(
                    name=region, key=f"/{messages.region_object(region)}", byte_size=REGION_BYTES), timeout=10)


class Peer:
    """`echoes`: answers are the requests' bytes, not inference responses."""
    name = ""
    protocols = ()
    echoes = False

    def __init__(self, options):
        self.options = options
        self.servers = []

    def prepare(self):
        """Once, before the first start."""

    def start(self, models):
        """All servers of the peer, ready and paused."""
        raise NotImplementedError

    def supports(self, case):
        return case.protocol in self.protocols and case.model not in (*cases.OWN_MODELS, *cases.PYTHON_MODELS, cases.ENSEMBLE)

    def answer_bytes(self, case, server, workload, regions):
        """As verify.answer_bytes()."""
        return verify.answer_bytes(case, server, workload, self.echoes, regions)

    def servers_for(self, case):
        """One, or several between which the measurement chooses."""
        return self.servers

    def measure(self, case):
        """A Sample, of a peer that needs no load generator; else None."""
        return None

    def versions(self):
        return {}

    def pause(self):
        for server in self.servers:
            server.process.pause()

    def stop(self):
        for server in self.servers:
            server.process.stop()
        self.servers = []


class Atoll(Peer):
    """With the default manifest; clients may register shared memory. Models with a response cache have a server each, and
    `identity_missed` one whose answers are too old at once."""
    name = "atoll"
    protocols = (cases.GRPC, cases.STREAM, cases.ONE_STREAM, cases.HTTP, cases.JSON, cases.SHM)
    caches = {"identity_missed": {"cache.use": '"caches/local"', "cache.ttl": '"1ns"'},
              "identity_1ms_cached": {"cache.use": '"caches/local"'}}
    settings = {}  # beside those of every Atoll

    def prepare(self):
        self._binary = self.options.atoll_build / "bin" / "atoll"
        if not self._binary.exists():
            raise RuntimeError(f"{self._binary} is not built")
        self._manifest = ROOT / "etc" / "atoll.toml"
        plugins = self.options.atoll_build / "lib" / "atoll" / "plugins"
        self._batcher = (plugins / "schedulers" / "dynamic.so").exists()
        self._repository = repositories.write_triton(WORK / "models" / "atoll", "onnxruntime", own_models=True,
                                                     python_models=_wants_python(self.options))

    def supports(self, case):
        return case.protocol in self.protocols and (self._batcher or case.model != "digits_dynamic")

    def start(self, models):
        self._start_server(self.name, [model for model in models if model not in self.caches], {})
        for model in set(models).intersection(self.caches):
            self._start_server(f"{self.name}-{model}", [model], self.caches[model])

    def servers_for(self, case):
        label = f"{self.name}-{case.model}" if case.model in self.caches else self.name
        return [server for server in self.servers if server.label == label]

    def _start_server(self, label, models, more):
        grpc_port, http_port = free_port(), free_port()
        settings = {"repository.paths": f'["{self._repository}"]', "grpc.address": f'"127.0.0.1:{grpc_port}"',
                    "http.address": f'"127.0.0.1:{http_port}"', "metrics.address": '"127.0.0.1:0"',
                    "shared.allow_client_shm": "true", "python.interpreter": f'"{sys.executable}"', **self.settings, **more}
        if self.options.idle_connections:
            settings["grpc.max_connections"] = self.options.idle_connections + 1000
        if self._batcher and "schedulers/dynamic" not in self._manifest.read_text():
            settings["dynamic.use"] = '"schedulers/dynamic"'
        command = [self._binary, "--manifest", self._manifest]
        for key, value in settings.items():
            command += ["--set", f"plugin.{key}={value}"]
        server = Server(label, command, self.options.server_core, grpc_port, http_port)
        self.servers.append(server)
        server.wait_ready(models)

    def versions(self):
        commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
        version = subprocess.run([self._binary, "--version"], capture_output=True, text=True).stdout.split()
        return {"atoll": " ".join([*version[1:2], commit.stdout.strip()])}


class AtollNghttp2(Atoll):
    """With gRPC by nghttp2."""
    name = "atoll_nghttp2"
    protocols = (cases.GRPC, cases.STREAM, cases.ONE_STREAM, cases.SHM)
    settings = {"grpc.use": '"frontends/grpc_nghttp2"'}

    def versions(self):
        return {self.name: super().versions()["atoll"]}


class AtollGrpc(AtollNghttp2):
    """With gRPC by its library."""
    name = "atoll_grpc"
    settings = {"grpc.use": '"frontends/grpc"'}


def _wants_python(options):
    return any(case.model in cases.PYTHON_MODELS for case in options.cases)


class Triton(Peer):
    """As it comes, with the backends of peers/triton, and its own for Python models."""
    name = "triton"
    protocols = (cases.GRPC, cases.STREAM, cases.ONE_STREAM, cases.HTTP, cases.JSON, cases.SHM)

    def prepare(self):
        programs = list(PEER_ENVIRONMENTS.glob("triton/lib/python3*/site-packages/pytriton/tritonserver/bin/tritonserver"))
        if len(programs) != 1:
            raise RuntimeError("the real Triton is not installed; run bench/serve/peers/install")
        self._program = programs[0]
        wants_python = _wants_python(self.options)
        self._repository = repositories.write_triton(WORK / "models" / "triton", "digits", python_models=wants_python)
        self._backends = self.options.bench_build / "bench" / "backends"
        self._environment = {}
        if wants_python:
            self._add_python()

    def _add_python(self):
        """Its Python backend, with the stub for this interpreter, whose packages that has."""
        package = self._program.parents[1]
        folder = WORK / "triton-backends"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._backends, folder)
        shutil.copytree(package / "backends" / "python", folder / "python")
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        stub = pathlib.Path(shutil.copy(package / "python_backend_stubs" / version / "triton_python_backend_stub", folder / "python"))
        stub.chmod(0o755)
        libraries = package.parents[1] / "nvidia_pytriton.libs"
        self._backends = folder
        # The stub's interpreter takes its packages from where the first python3 of the PATH has them.
        self._environment = {"LD_LIBRARY_PATH": f"{libraries}:{sysconfig.get_config_var('LIBDIR')}",
                             "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}

    def supports(self, case):
        return super().supports(case) or case.model in (cases.ENSEMBLE, *cases.PYTHON_MODELS)

    def start(self, models):
        grpc_port, http_port, metrics_port = free_port(), free_port(), free_port()
        command = [self._program, f"--model-repository={self._repository}",
                   f"--backend-directory={self._backends}",
                   "--http-address=127.0.0.1", "--grpc-address=127.0.0.1", "--metrics-address=127.0.0.1",
                   f"--http-port={http_port}", f"--grpc-port={grpc_port}", f"--metrics-port={metrics_port}",
                   f"--grpc-infer-allocation-pool-size={STATE_POOL}"]
        server = Server(self.name, command, self.options.server_core, grpc_port, http_port, self._environment)
        self.servers = [server]
        server.wait_ready(models)

    def versions(self):
        log = (WORK / "logs" / f"{self.name}.log").read_text(errors="replace")
        version = re.search(r"server_version\s*\|\s*(\S+)", log)
        return {"triton": version.group(1) if version else "unknown"}


class MLServer(Peer):
    """In one process, without logs of each request. Its HTTP has no binary tensors, its streams are others."""
    name = "mlserver"
    protocols = (cases.GRPC, cases.JSON)

    def prepare(self):
        self._program = PEER_ENVIRONMENTS / "mlserver" / "bin" / "mlserver"
        if not self._program.exists():
            raise RuntimeError("MLServer is not installed; run bench/serve/peers/install")
        self._repository = repositories.write_mlserver(WORK / "models" / "mlserver")

    def start(self, models):
        grpc_port, http_port, metrics_port = free_port(), free_port(), free_port()
        environment = {"MLSERVER_HOST": "127.0.0.1", "MLSERVER_GRPC_PORT": str(grpc_port),
                       "MLSERVER_HTTP_PORT": str(http_port), "MLSERVER_METRICS_PORT": str(metrics_port),
                       "MLSERVER_PARALLEL_WORKERS": "0", "MLSERVER_DEBUG": "false", "MLSERVER_GZIP_ENABLED": "false",
                       "MLSERVER_METRICS_DIR": str(WORK), "MLSERVER_GRPC_MAX_MESSAGE_LENGTH": str(64 << 20),
                       "PYTHONPATH": str(ROOT / "bench/serve/peers/mlserver"), "PYTHONDONTWRITEBYTECODE": "1"}
        server = Server(self.name, [self._program, "start", self._repository], self.options.server_core, grpc_port,
                        http_port, environment)
        self.servers = [server]
        server.wait_ready(models)

    def versions(self):
        site = next((PEER_ENVIRONMENTS / "mlserver" / "lib").glob("python3*/site-packages"))
        found = {d.metadata["Name"].lower(): d.version for d in importlib.metadata.distributions(path=[str(site)])}
        return {name if name == "mlserver" else f"mlserver's {name}": found[name]
                for name in ("mlserver", "grpcio", "uvicorn", "fastapi", "onnxruntime")}


class Echo(Peer):
    """The libraries alone: gRPC, and Boost.Beast on Asio, each in two shapes of which the faster one counts."""
    name = "echo"
    protocols = (cases.GRPC, cases.STREAM, cases.HTTP, cases.JSON)
    echoes = True
    shapes = {"grpc_echo": ("raw", "generic"), "http_echo": ("direct", "beast")}

    def supports(self, case):
        return super().supports(case) and not case.model.startswith("digits")

    def start(self, models):
        for program, shapes in self.shapes.items():
            for shape in shapes:
                port = free_port()
                is_grpc = program == "grpc_echo"
                command = [self.options.bench_build / "bench" / program, "--port", port, "--shape", shape]
                self.servers.append(Server(f"{program}-{shape}", command, self.options.server_core,
                                           port if is_grpc else None, None if is_grpc else port))
        for server in self.servers:
            server.wait_listening()

    def servers_for(self, case):
        return [server for server in self.servers if server.port(case) is not None]

    def versions(self):
        found = {}
        for label, package in (("gRPC", "libgrpc++1.51"), ("Boost", "libboost1.74-dev")):
            if shutil.which("dpkg-query"):
                shown = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
                found[label] = shown.stdout.strip()
        return found


class Floor(Peer):
    """The least that a megabyte in and out can cost: `recv` into memory that is kept, `writev` from there."""
    name = "floor"
    protocols = (cases.GRPC, cases.HTTP)
    echoes = True
    shape = "{}"

    def supports(self, case):
        return super().supports(case) and case.model == "identity_1mb"

    def start(self, models):
        for protocol in self.protocols:
            port = free_port()
            shape = self.shape.format(protocol)
            command = [self.options.bench_build / "bench" / "floor_echo", "--port", port, "--shape", shape]
            self.servers.append(Server(f"floor-{shape}", command, self.options.server_core,
                                       *((port, None) if protocol == cases.GRPC else (None, port))))
        for server in self.servers:
            server.wait_listening()

    def servers_for(self, case):
        return [server for server in self.servers if server.port(case) is not None]


class FloorCopied(Floor):
    """With one copy of each message, as the identity model makes it: what is above `floor` is the model's."""
    name = "floor_copied"
    shape = "{}_copied"


class Nghttpd(Peer):
    """nghttp2's own server, with the answer to the small identity model in a file: HTTP/2 alone, without trailers."""
    name = "nghttpd"
    protocols = (cases.GRPC,)

    def prepare(self):
        self._program = shutil.which("nghttpd")
        if self._program is None:
            raise RuntimeError("nghttpd is not installed; run etc/dev/install-packages bench")
        self._folder = WORK / "nghttpd"

    def supports(self, case):
        return super().supports(case) and case.model == "identity"

    def start(self, models):
        port = free_port()
        server = Server(self.name, [self._program, "--no-tls", "-a", "127.0.0.1", "-d", self._folder, port],
                        self.options.server_core, port, None)
        self.servers = [server]
        server.wait_listening()

    def answer_bytes(self, case, server, workload, regions):
        # The generator checks status and size of each answer.
        file = self._folder / messages.INFER.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(workload.grpc_answer())
        return file.stat().st_size

    def versions(self):
        shown = subprocess.run([self._program, "--version"], capture_output=True, text=True).stdout
        return {"nghttpd": shown.strip()}


class PythonAlone(Peer):
    """What the model that computes does without a server, in one process."""
    name = "python"

    def supports(self, case):
        return case.model == cases.PYTHON_BUSY

    def start(self, models):
        """There is nothing to start."""

    def measure(self, case):
        return alone.measure(self.options, self.name, self.options.warm_up, self.options.seconds)


KINDS = {kind.name: kind for kind in (Atoll, AtollNghttp2, AtollGrpc, Triton, MLServer, Echo, Floor, FloorCopied, Nghttpd, PythonAlone)}
