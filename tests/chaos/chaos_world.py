"""The server under test, with everything in it that clients use, and what faults do to it as a whole."""

import collections
import contextlib
import os
import pathlib
import shutil
import signal
import sys
import threading

import chaos_models
import tritonclient.grpc as grpcclient
from chaos_oracle import DEADLINE_S
from support import edits
from support.addresses import free_addresses
from support.server import ATOLL, BUILD, DEFAULT_MANIFEST, Server

LIBRARY = BUILD / "lib" / "atoll"
INSTALLED = LIBRARY / "plugins"
# Plugins whose files are replaced: the run has copies of its own, which are found before the installed ones.
REPLACED = ("backends/identity", "backends/onnxruntime", "backends/python", "schedulers/dynamic", "schedulers/ensemble",
            "frontends/http", "frontends/grpc_nghttp2", "schedulers/default")
START_S = 60
DRAIN_S = 15  # less than the default: with a request that is never answered an end takes all of it
# Where answers are lost on purpose, a plugin that is replaced must not close their connections before their clients give up:
# that a connection is closed may be another fault's doing.
DRAIN_OF_LOST_S = DEADLINE_S + 5
TRACES = "trace.json"
RELOAD_S = 90


def is_built(plugin):
    return (INSTALLED / f"{plugin}.so").exists()


class Turns:
    """A lock that is given in the order in which it was asked for: a lane that is late and asks again at once has to wait for the
    others. Use as a context manager."""

    def __init__(self):
        self._changed = threading.Condition()
        self._waiting = collections.deque()

    @property
    def asked(self):
        """By how many: who has it, and who waits for it."""
        with self._changed:
            return len(self._waiting)

    def __enter__(self):
        turn = object()
        with self._changed:
            self._waiting.append(turn)
            self._changed.wait_for(lambda: self._waiting[0] is turn)

    def __exit__(self, *_):
        with self._changed:
            self._waiting.popleft()
            self._changed.notify_all()


class World:
    """One server and its folder. Use as a context manager."""

    def __init__(self, folder, sabotage=None):
        self.folder, self.repository = pathlib.Path(folder), pathlib.Path(folder) / "models"
        self.plugins, self.temporary = self.folder / "lib" / "plugins", self.folder / "tmp"
        self.repository.mkdir()
        self.temporary.mkdir()
        chaos_models.write(self.repository, sabotage)
        self._drain_s = DRAIN_OF_LOST_S if sabotage == "lost" else DRAIN_S
        for plugin in REPLACED:
            (self.plugins / plugin).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(INSTALLED / f"{plugin}.so", self.plugins / f"{plugin}.so")
        # What plugins look for beside the folder of plugins.
        for neighbour in LIBRARY.iterdir():
            if neighbour.name != "plugins":
                (self.plugins.parent / neighbour.name).symlink_to(neighbour)
        # Held by faults that change what is configured, or which processes there are.
        self.configuring, self.processing = Turns(), Turns()
        self.places = None  # set before the server is started
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        addresses = self._stack.enter_context(free_addresses(3))
        self.grpc_address, self.http_address, self.metrics_address = addresses
        self.manifest = self._first_manifest()
        self.path = self.folder / "atoll.toml"
        self.write(edits.write(self.manifest))
        self.server = Server.__new__(Server)
        self.server._start([str(ATOLL), "--manifest", str(self.path)], {"TMPDIR": str(self.temporary)})
        self.server.address = self.grpc_address
        try:
            self.server.wait_active().wait_ready(timeout=START_S)
        except BaseException:
            self.server.process.kill()
            raise
        return self

    def __exit__(self, *_):
        if self.server.process.poll() is None:
            self.server.process.kill()
            self.server.process.wait()
        self._stack.close()

    def _first_manifest(self):
        manifest = edits.read(DEFAULT_MANIFEST.read_text())
        manifest["atoll"] |= {"plugin_path": [str(self.plugins)], "drain_timeout": f"{self._drain_s}s"}
        plugins = manifest["plugin"]
        plugins["repository"]["paths"] = [str(self.repository)]
        plugins["control"] = {"use": "control/explicit", "load_model": list(chaos_models.LOADED)}
        plugins["shared"]["allow_client_shm"] = True
        plugins["python"]["interpreter"] = sys.executable
        for name, address in (("grpc", self.grpc_address), ("http", self.http_address), ("metrics", self.metrics_address)):
            plugins[name]["address"] = address
        if is_built("frontends/openai"):
            plugins["openai"] = {"use": "frontends/openai"}
        if self.places.redis is not None:
            plugins["cache"] = {"use": "caches/redis", "address": f"127.0.0.1:{self.places.redis.port}"}
        elif is_built("caches/local"):
            plugins["cache"] = {"use": "caches/local", "size": "1MiB"}
        if self.places.pki is not None:
            plugins["metrics"] |= {"use_ssl": True, "server_cert": f"{self.places.pki}/server.crt",
                                   "server_key": f"{self.places.pki}/server.key"}
        plugins["trace"]["trace_file"] = str(self.temporary / TRACES)
        return manifest

    @property
    def tls_address(self):
        return self.metrics_address

    @property
    def pid(self):
        return self.server.pid

    def client(self):
        return grpcclient.InferenceServerClient(self.grpc_address, channel_args=[("grpc.use_local_subchannel_pool", 1)])

    # --- the manifest and the files of plugins ---

    def write(self, text):
        beside = self.path.with_suffix(".new")
        beside.write_text(text)
        beside.rename(self.path)

    def _reload(self, text, pattern):
        """The log line that says what became of it."""
        self.write(text)
        while not self.server._queue.empty():
            self.server._queue.get()
        self.server.process.send_signal(signal.SIGHUP)
        line = self.server.wait_for_line(r"(reloaded: |reload refused: ).*", RELOAD_S).group(0)
        if not line.startswith(pattern):
            raise AssertionError(f"a reload that should be {pattern!r} says: {line}")
        return line

    def reload(self):
        """Applies self.manifest."""
        return self._reload(edits.write(self.manifest), "reloaded: ")

    def reload_refused(self, text):
        """Tries a text that is wrong; then what was there before is there again."""
        try:
            return self._reload(text, "reload refused: ")
        finally:
            self.write(edits.write(self.manifest))

    def replace(self, plugin):
        """A new file with the same bytes in place of the plugin's, as an upgrade does it."""
        file = self.plugins / f"{plugin}.so"
        beside = file.with_suffix(".new")
        shutil.copyfile(file, beside)
        os.chmod(beside, 0o644)
        beside.rename(file)
        return self.reload()

    def stop(self, timeout_s=60):
        """The exit code of an orderly end."""
        return self.server.stop(timeout=timeout_s)
