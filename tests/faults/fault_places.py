"""The parts of a server's life in which calls fail, each with what is asked meanwhile and what has to be right afterwards."""

import contextlib
import errno
import http.client
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import numpy as np
import tritonclient.grpc as grpcclient
from support import models
from support.server import ATOLL, DEFAULT_MANIFEST, Server
from tritonclient.utils import InferenceServerException

ANSWER_S = 15  # within which each request is answered or its connection ends
END_S = 30  # within which a server that drains or cannot start has ended
ADDED = {"m": 2, "other": 5}


class Wrong(Exception):
    """What must not be: the server has died, an answer is wrong, nothing is answered, something is left."""


def write_repository(folder):
    for name, constant in ADDED.items():
        models.write_add(folder, name, constant)
    return folder


def ask(address, method, path, body=None):
    """(status, JSON) or None where the connection ended."""
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=ANSWER_S)
    try:
        connection.request(method, path, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else {}
    except TimeoutError:
        raise Wrong(f"no answer to {method} {path} in {ANSWER_S} s") from None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def infer(address, model):
    """Whether it was answered; an answer is right."""
    values = [1.5, -2.0, 0.25, 8.0]
    body = {"inputs": [{"name": "INPUT0", "shape": [4], "datatype": "FP32", "data": values}]}
    answer = ask(address, "POST", f"/v2/models/{model}/infer", body)
    if answer is None or answer[0] != 200:
        return False
    if answer[1]["outputs"][0]["data"] != [value + ADDED[model] for value in values]:
        raise Wrong(f"a wrong answer of {model}: {answer[1]}")
    return True


def infer_by_grpc(address):
    tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
    values = np.array([1.5, -2.0, 0.25, 8.0], np.float32)
    tensor.set_data_from_numpy(values)
    with grpcclient.InferenceServerClient(address) as client:
        try:
            answer = client.infer("m", [tensor], client_timeout=ANSWER_S).as_numpy("OUTPUT0")
        except InferenceServerException as error:
            if "DEADLINE_EXCEEDED" in str(error.status()):
                raise Wrong(f"no answer by gRPC in {ANSWER_S} s") from None
            return
    if not (answer == values + ADDED["m"]).all():
        raise Wrong(f"a wrong answer by gRPC: {answer}")


class Strace:
    """strace on a process that runs, until detach()."""

    def __init__(self, pid, log, *options):
        self.log = log
        self.process = subprocess.Popen(["strace", "-f", "-o", log, *options, "-p", str(pid)], stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        if "attached" not in line:
            raise RuntimeError(f"strace: {line}{self.process.stderr.read()}")
        self._rest = threading.Thread(target=self.process.stderr.read, daemon=True)  # else it may wait for its reader
        self._rest.start()

    def detach(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(END_S)
        self._rest.join()
        self.process.stderr.close()


class Place:
    """A server that serves, in which calls fail while something is done."""
    name = None
    keeps_server = True  # for the next fault

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="atoll-faults-"))
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.repository = write_repository(self.folder / "models")
        self.manifest = self.folder / "atoll.toml"
        self.manifest.write_text(DEFAULT_MANIFEST.read_text())
        self.server = None
        self.log = self.folder / "strace.log"
        self.shared = set(os.listdir("/dev/shm"))

    def close(self):
        if self.server is not None and self.server.process.poll() is None:
            self.server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def started(self):
        if self.server is None or self.server.process.poll() is not None:
            self.server = Server(self.repository, 'plugin.control.use="control/explicit"', 'plugin.control.load_model=["m"]',
                                 manifest=self.manifest, environment={"TMPDIR": str(self.temporary)})
            self.server.wait_active()
            self.server.wait_ready("m")
        return self.server

    def files(self):
        """What the server reads and writes that lies in the file system, and its log."""
        log = [os.readlink(f"/proc/{self.server.pid}/fd/2")] if self.server is not None else []
        return [*log, self.manifest, *(path for path in self.repository.rglob("*") if path.is_file())]

    def run(self, options=lambda: []):
        """Does what this place does, under strace. Raises Wrong.
        options: gives strace's words, once the server is there whose files they name; without them all calls are traced"""
        server = self.started()
        self.log.unlink(missing_ok=True)
        strace = Strace(server.pid, self.log, *options())
        try:
            self.act(server)
        finally:
            strace.detach()
        self.check(server)
        if not self.keeps_server:
            self.server = None

    def act(self, server):
        raise NotImplementedError

    def check(self, server):
        """The next requests are right."""
        if server.process.poll() is not None:
            raise Wrong(f"the server has ended: {server.process.returncode}; {server.lines[-3:]}")
        if not infer(server.http_address, "m"):
            raise Wrong(f"the next request was not answered; {server.lines[-6:]}")


class Load(Place):
    name = "load"

    def act(self, server):
        for call in ("load", "unload"):
            ask(server.http_address, "POST", f"/v2/repository/models/other/{call}", {})

    def check(self, server):
        super().check(server)
        for call in ("unload", "load"):
            answer = ask(server.http_address, "POST", f"/v2/repository/models/other/{call}", {})
            if answer is None or answer[0] != 200:
                raise Wrong(f"the next {call} failed: {answer}")
        if not infer(server.http_address, "other"):
            raise Wrong("what was loaded next was not answered")
        ask(server.http_address, "POST", "/v2/repository/models/other/unload", {})


class Inference(Place):
    name = "inference"

    def act(self, server):
        for _ in range(3):
            infer(server.http_address, "m")
            infer_by_grpc(server.address)


class Reload(Place):
    name = "reload"
    rate = 1000  # of traces: no port moves, and every server of the default manifest says it

    def edit(self, server):
        """Has the next edit of the manifest taken. Whether it is in force"""
        Reload.rate += 1
        self.manifest.write_text(DEFAULT_MANIFEST.read_text().replace("[plugin.trace]\n", f"[plugin.trace]\nrate = {Reload.rate}\n"))
        said = len(server.lines)
        server.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 5
        while time.monotonic() < end and server.process.poll() is None:
            answer = ask(server.http_address, "GET", "/v2/trace/setting")
            if answer is not None and answer[1].get("trace_rate") == str(Reload.rate):
                return True
            if any("refused" in line for line in server.lines[said:]):
                return False
            time.sleep(0.01)
        return False

    def act(self, server):
        self.edit(server)

    def check(self, server):
        super().check(server)
        if not self.edit(server):
            raise Wrong(f"the next edit of the manifest was not taken: {server.lines[-3:]}")


class Drain(Place):
    name = "drain"
    keeps_server = False

    def act(self, server):
        server.process.send_signal(signal.SIGTERM)
        try:
            server.process.wait(END_S)
        except subprocess.TimeoutExpired:
            server.process.kill()
            raise Wrong(f"it has not ended in {END_S} s: {server.lines[-3:]}") from None

    def check(self, server):
        code = server.stop()
        if code < 0:
            raise Wrong(f"it ended by signal {-code}: {server.lines[-3:]}")
        check_nothing_left(self)


class Start(Place):
    name = "start"
    keeps_server = False

    def run(self, options=lambda: []):
        addresses = ("grpc", "http", "metrics")
        command = [ATOLL, "--manifest", self.manifest, "--set", f'plugin.repository.paths=["{self.repository}"]',
                   "--set", 'plugin.control.use="control/explicit"', "--set", 'plugin.control.load_model=["m"]']
        for name in addresses:
            command += ["--set", f'plugin.{name}.address="127.0.0.1:0"']
        self.log.unlink(missing_ok=True)
        wanted = options()
        failed = re.search(r"inject=(\w+):error=(\w+)", " ".join(wanted))
        traced = TracedStart(["strace", "-f", "-o", self.log, *wanted, *command], {"TMPDIR": str(self.temporary)})
        try:
            self.follow(traced, words_for(*failed.groups()) if failed else [])
        finally:
            traced.end()
        check_nothing_left(self)

    def follow(self, traced, causes):
        """causes: what a server that does not serve may say"""
        http_address = traced.wait_started()
        if http_address is not None:
            # A model that could not be loaded leaves the server not ready, which it says.
            infer(http_address, "m")
            traced.terminate()
        code = traced.wait(END_S)
        if code is None:
            raise Wrong(f"it neither starts nor ends in {END_S} s: {traced.lines[-3:]}")
        if code < 0 or code >= 128:
            raise Wrong(f"it ended by a signal ({code}): {traced.lines[-3:]}")
        if http_address is None and code == 0:
            raise Wrong("it did not serve, and its exit code is 0")
        if http_address is None and not any(cause in line for line in traced.lines for cause in causes):
            raise Wrong(f"it did not serve (exit code {code}), and says none of {causes}: {traced.lines[-3:]}")


def words_for(call, error):
    """The system's, or the loader's where the server has not begun."""
    words = [os.strerror(getattr(errno, error)), "error while loading shared libraries"]
    if error == "EADDRINUSE":
        words.append("already in use")
    if call in ("mmap", "clone", "clone3"):
        words.append(os.strerror(errno.EAGAIN))  # what glibc makes of it when a thread has no stack
    return words


class TracedStart:
    """A server under strace from its first instruction on."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                        errors="replace", env={**os.environ, **environment}, start_new_session=True)
        self.lines = []
        self._new = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))
            self._new.put(line)
        self._new.put(None)

    def wait_started(self):
        """Where HTTP is served once all of it is active. None: it has ended."""
        address = None
        end = time.monotonic() + END_S
        while time.monotonic() < end:
            with contextlib.suppress(queue.Empty):
                line = self._new.get(timeout=0.1)
                if line is None:
                    return None
                if found := re.search(r"Started HTTPService at (\S+)", line):
                    address = found.group(1)
                if "[kernel] active: " in line:
                    return address
        return None

    def terminate(self):
        """strace passes no signal on: its child is the server."""
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a process that ends meanwhile
                parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[1]
                if int(parent) == self.process.pid:
                    os.kill(int(folder.name), signal.SIGTERM)

    def wait(self, seconds):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join()
        self.process.stderr.close()


def check_nothing_left(place):
    left = [str(path) for path in place.temporary.iterdir()]
    for name in set(os.listdir("/dev/shm")) - place.shared:
        owner = re.fullmatch(r"atoll-.*?-?(\d+)-\d+", name)  # others may run servers meanwhile
        if owner and not pathlib.Path(f"/proc/{owner.group(1)}").exists():
            left.append(f"/dev/shm/{name}")
    for path in left:
        (shutil.rmtree if pathlib.Path(path).is_dir() else os.unlink)(path)
    if left:
        raise Wrong(f"left behind: {left}")


PLACES = {place.name: place for place in (Start, Load, Inference, Reload, Drain)}
