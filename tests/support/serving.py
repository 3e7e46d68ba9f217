"""`atoll serve` as a process of its own, for the tests of it."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

import numpy as np
from support.server import ATOLL, START_TIMEOUT_S
from support.waiting import eventually

PORTS = ["--http-port=0", "--grpc-port", "0", "--metrics-port=0"]


class Serving:
    """`atoll WORD ...`, its lines and the server that it has started."""

    def __init__(self, *arguments, word="serve", ports=PORTS, temporary=None):
        environment = {**os.environ, "ATOLL__PLUGIN__PYTHON__INTERPRETER": sys.executable}
        if temporary is not None:
            environment["TMPDIR"] = str(temporary)
        self.process = subprocess.Popen([ATOLL, word, *map(str, arguments), *ports], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                        env=environment, start_new_session=True)
        self.out, self.err = [], []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        """One pipe for both, so that what was said before the addresses is there when they are."""
        for line in self.process.stdout:
            is_error = re.match(r"atoll[ :]|\d{4}-\d\d-\d\dT", line)
            (self.err if is_error else self.out).append(line.rstrip("\n"))

    @property
    def log(self):
        return "\n".join(self.out + self.err)

    def wait_serving(self):
        """The addresses by their names."""
        def line():
            return next((one for one in self.out if one.startswith("serving at ")), None)
        eventually(lambda: line() or self.process.poll() is not None, say=lambda: self.log)
        assert line(), self.log
        self.line = line()
        self.http = re.search(r"https?://([^/,;]+)[,;]", self.line).group(1)
        self.grpc = re.search(r"gRPC ([^,;]+)", self.line).group(1)
        self.metrics = re.search(r"metrics (https?://[^;,]+)", self.line).group(1)
        return self

    @property
    def server_pid(self):
        return int(pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0])

    def end(self, number=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(START_TIMEOUT_S)
        self._reader.join(START_TIMEOUT_S)
        self.process.stdout.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            print(self.log)
            self.process.kill()
            self.process.wait()
            return
        assert self.end() == 0, self.log


def run(*arguments, word="serve", **environment):
    return subprocess.run([ATOLL, word, *map(str, arguments)], capture_output=True, text=True, errors="replace",
                          timeout=START_TIMEOUT_S, env={**os.environ, **environment})


def shell(command):
    answer = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=START_TIMEOUT_S)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def infer(client, library, model, name="INPUT0", size=4):
    tensor = library.InferInput(name, [size], "FP32")
    tensor.set_data_from_numpy(np.arange(size, dtype=np.float32))
    return client.infer(model, [tensor]).as_numpy("OUTPUT0").tolist()
