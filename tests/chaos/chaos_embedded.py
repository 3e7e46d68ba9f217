"""The program with a server inside, as the run sees it: a process that is asked by lines."""

import json
import pathlib
import subprocess
import sys
import threading

import chaos_models
from chaos_oracle import CONNECTION, Refusal
from support.foreign_programs import LIBRARIES, environment

LIBRARY = LIBRARIES / "libtritonserver.so"
PROGRAM = pathlib.Path(__file__).with_name("chaos_program.py")
NEEDED = ("libtritonserver.so", "libatoll_server.so", "plugins/frontends/c_api.so")
END_S = 60


def missing():
    """The file that this build lacks, or None."""
    return next((name for name in NEEDED if not (LIBRARIES / name).exists()), None)


class Program:
    """Use as a context manager. Leaving it ends the program, and `code` is what it ended with."""

    def __init__(self, folder):
        folder.mkdir()
        names = chaos_models.write_in_program(folder / "models")
        self._log = folder / "log"
        with open(self._log, "w") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(PROGRAM), str(LIBRARY), str(folder / "models"), *names], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=log, text=True,
                env=environment(ATOLL__PLUGIN__PYTHON__INTERPRETER=sys.executable))
        self.code = None
        self._lock = threading.Lock()

    @property
    def pid(self):
        return self.process.pid

    @property
    def log(self):
        return self._log.read_text() if self._log.exists() else ""

    def __enter__(self):
        assert self.process.stdout.readline() == "ready\n", f"the program did not start; its log:\n{self.log}"
        return self

    def ask(self, requests):
        """The answers of requests that are under way together."""
        try:
            with self._lock:
                self.process.stdin.write(json.dumps(requests) + "\n")
                self.process.stdin.flush()
                line = self.process.stdout.readline()
            return json.loads(line)
        except (OSError, ValueError) as error:
            raise Refusal(CONNECTION, f"the program has ended; its log: {self.log[-1000:]}") from error

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.code = self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            self.code = f"nothing in {END_S} s"
