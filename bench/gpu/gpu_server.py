"""A server with GPUs and HTTP alone, so that a machine without gRPC's library can have it."""

import ctypes
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
START_TIMEOUT_S = 120
MANIFEST = """
[log]
level = "info"
format = "text"
[plugin.repository]
use = "repositories/filesystem"
paths = ["{repository}"]
[plugin.configs]
use = "configs/pbtxt"
[plugin.models]
use = "models/catalog"
[plugin.control]
use = "control/none"
[plugin.default]
use = "schedulers/default"
[plugin.ensemble]
use = "schedulers/ensemble"
[plugin.host]
use = "memory/host"
[plugin.shared]
use = "memory/shared"
allow_client_shm = true
[plugin.gpus]
use = "memory/cuda"
library = "{driver}"
[plugin.cuda]
use = "backends/cuda"
[plugin.nvml]
use = "telemetry/nvml"
library = "{nvml}"
[plugin.http]
use = "frontends/http"
address = "127.0.0.1:0"
[plugin.metrics]
use = "frontends/metrics"
address = "127.0.0.1:0"
"""
PINNED = """
[plugin.pinned]
use = "memory/pinned"
size = "256MiB"
"""
# What the manifest names, beside the program.
PLUGINS = sorted(set(re.findall(r'use = "(\S+)"', MANIFEST + PINNED)))


def missing_parts(build):
    """Files of a build that a server needs and that are not there."""
    parts = [build / "bin" / "atoll"] + [build / "lib/atoll/plugins" / f"{name}.so" for name in PLUGINS]
    return [str(part.relative_to(build)) for part in parts if not part.exists()]


def answers(url):
    """Whether it is found, and all is well there."""
    try:
        with urllib.request.urlopen(url, timeout=10):
            return True
    except OSError:
        return False


_libc = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def _end_with(parent):
    """In the process that becomes the server: it ends with the one that began it, also if that is killed."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


class GpuServer:
    """Use as a context manager, on the thread that lives longest."""

    def __init__(self, build, repository, pinned=True, driver="libcuda.so.1", nvml="libnvidia-ml.so.1", environment=None):
        self._folder = tempfile.TemporaryDirectory()
        manifest = pathlib.Path(self._folder.name) / "gpu.toml"
        manifest.write_text(MANIFEST.format(repository=repository, driver=driver, nvml=nvml) + (PINNED if pinned else ""))
        self.lines = []
        parent = os.getpid()
        self.process = subprocess.Popen([str(build / "bin" / "atoll"), "--manifest", str(manifest)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                                        env={**os.environ, **(environment or {})}, preexec_fn=lambda: _end_with(parent))
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    @property
    def log(self):
        return "\n".join(self.lines)

    def line(self, pattern):
        """The match of a line that is there, or is still to come."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            for line in list(self.lines):
                if match := re.search(pattern, line):
                    return match
            if self.process.poll() is not None:
                raise RuntimeError(f"the server has ended with {self.process.returncode}:\n{self.log}")
            time.sleep(0.01)
        raise RuntimeError(f"no line like {pattern!r} in {START_TIMEOUT_S} s:\n{self.log}")

    @property
    def address(self):
        return self.line(r"Started HTTPService at (\S+)").group(1)

    @property
    def metrics_address(self):
        return self.line(r"Started Metrics Service at (\S+)").group(1)

    def __enter__(self):
        """Models are loaded when this returns."""
        ready = f"http://{self.address}/v2/health/ready"
        deadline = time.monotonic() + START_TIMEOUT_S
        while not answers(ready):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server is not ready:\n{self.log}")
            time.sleep(0.02)
        return self

    def __exit__(self, *exception):
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(60)
        self.process.stderr.close()
        self._folder.cleanup()
