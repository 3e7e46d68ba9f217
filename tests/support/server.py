"""Starts the built server on free ports and finds out which they are."""

import contextlib
import os
import pathlib
import queue
import re
import signal
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("ATOLL_BUILD_DIR", ROOT / "build" / "release"))
ATOLL = BUILD / "bin" / "atoll"
SANITIZED = re.search(r"^ATOLL_SANITIZE:\w+=.+$", (BUILD / "CMakeCache.txt").read_text(), re.M) is not None
# How much resident memory may grow where it should not. Sanitizers keep freed memory for a while and never unmap
# plugins, so their builds only have a wide bound.
MEMORY_SLACK_BYTES = (512 << 20) if SANITIZED else (8 << 20)
# The plugin behind plugin.grpc, in place of the manifest's, for a whole run of the tests: one of GRPC_FRONTENDS.
GRPC_FRONTEND = os.environ.get("ATOLL_GRPC_FRONTEND")
DEFAULT_MANIFEST = ROOT / "etc" / "atoll.toml"
# Sanitized builds are several times slower; this only bounds how long a failing test waits.
START_TIMEOUT_S = 60


class Server:
    """One process of the server. Use as a context manager; leaving it stops the process and checks its exit code."""

    def __init__(self, repository, *settings, manifest=DEFAULT_MANIFEST, environment=None, open_files=None,
                 grpc_frontend=GRPC_FRONTEND):
        """open_files: its hard limit of file descriptors; grpc_frontend: None: the manifest's"""
        if grpc_frontend:
            settings = (f'plugin.grpc.use="{grpc_frontend}"', *settings)
        paths = repository if isinstance(repository, (list, tuple)) else [repository]
        listed = ", ".join(f'"{path}"' for path in paths)
        limited = ["sh", "-c", f'ulimit -n {open_files}; exec "$@"', "sh"] if open_files else []
        command = [*limited, str(ATOLL), "--manifest", str(manifest)]
        addresses = ['plugin.grpc.address="127.0.0.1:0"']
        text = pathlib.Path(manifest).read_text()
        addresses += [f'plugin.{name}.address="127.0.0.1:0"' for name in ("http", "metrics") if f"[plugin.{name}]" in text]
        for setting in (f"plugin.repository.paths=[{listed}]", *addresses, *settings):
            command += ["--set", setting]
        self._start(command, environment)
        self.address = self.wait_for_line(r"Started GRPCInferenceService at (\S+)").group(1)

    def _start(self, command, environment=None):
        self.lines = []
        self._queue = queue.Queue()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, errors="replace",
                                        env={**os.environ, **(environment or {})})
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))
            self._queue.put(line)
        self._queue.put(None)

    @property
    def log(self):
        return "\n".join(self.lines)

    @property
    def http_address(self):
        """Where HTTP is served, as "host:port"; the manifest has that instance."""
        return self._started_at("HTTPService")

    @property
    def metrics_address(self):
        """Where metrics are served, as "host:port"; the manifest has that instance."""
        return self._started_at("Metrics Service")

    def _started_at(self, service):
        """The newest address of the service, which a reload may move. What pools and launchers write may quote other servers."""
        return self.newest_line(rf"^(?!.* \[(?:pools|launcher)\] ).*Started {service} at (\S+)").group(1)

    def wait_active(self):
        """Every plugin has started. Models may be ready earlier: gRPC answers while others begin to listen."""
        self.newest_line(r"\[kernel\] active: ")
        return self

    def wait_logged(self, text):
        """Until the log has it: a client may have its answer before the log's line is read here."""
        return self.newest_line(re.escape(text))

    def newest_line(self, pattern):
        """The match of the newest line that fits, whether it was looked at before or is still to come."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            for line in reversed(list(self.lines)):
                match = re.search(pattern, line)
                if match:
                    return match
            time.sleep(0.01)
        raise AssertionError(f"no log line like {pattern!r} in {START_TIMEOUT_S} s; the log:\n{self.log}")

    @property
    def pid(self):
        return self.process.pid

    def wait_for_line(self, pattern, timeout=START_TIMEOUT_S):
        """The match of the next log line, not looked at before, that fits the pattern."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                line = self._queue.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no log line like {pattern!r} in {timeout} s; the log:\n{self.log}") from None
            assert line is not None, f"the server ended before a log line like {pattern!r}; the log:\n{self.log}"
            match = re.search(pattern, line)
            if match:
                return match

    def client(self):
        import tritonclient.grpc
        return tritonclient.grpc.InferenceServerClient(self.address)

    def http_client(self, **options):
        import tritonclient.http
        return tritonclient.http.InferenceServerClient(self.http_address, **options)

    def wait_ready(self, model=None, timeout=START_TIMEOUT_S):
        deadline = time.monotonic() + timeout
        with self.client() as client:
            while time.monotonic() < deadline:
                assert self.process.poll() is None, self.log
                if (client.is_model_ready(model) if model else client.is_server_ready()):
                    return self
                time.sleep(0.02)
        raise AssertionError(f"not ready in {timeout} s: {model or 'server'}; the log:\n{self.log}")

    def stop(self, signal_number=signal.SIGTERM, timeout=START_TIMEOUT_S):
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        code = self.process.wait(timeout)
        self._reader.join(timeout)
        self.process.stderr.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            print(self.log)
            self.process.kill()
            self.process.wait()
            return
        code = self.stop()
        assert code == 0, f"exit code {code}; the log:\n{self.log}"


def thread_names(pid):
    names = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that ends meanwhile
            names.append((task / "comm").read_text().strip())
    return names


def usage(pid):
    """Threads, open descriptors and resident bytes of a process."""
    proc = pathlib.Path(f"/proc/{pid}")
    pages = int((proc / "statm").read_text().split()[1])
    return {"threads": len(list((proc / "task").iterdir())), "descriptors": len(list((proc / "fd").iterdir())),
            "resident_bytes": pages * os.sysconf("SC_PAGE_SIZE")}
