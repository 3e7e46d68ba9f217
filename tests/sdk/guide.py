"""A page of the guide, done as it says: its files written, its commands run, its server started, its output compared.

A fenced block after a line that is a path in backquotes is that file. A block of `sh` is run, in one folder after the
other. A block of `text` is what the commands before it have to print."""

import os
import pathlib
import re
import subprocess
import sys

from installed import cache_value
from support.server import Server

FENCE = re.compile(r"^(?:`(?P<path>[\w./-]+)`:\n\n)?```(?P<kind>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
START = re.compile(r"^atoll --manifest (\S+) &$", re.MULTILINE)
PORTS = {"8001": "address", "8000": "http_address", "8002": "metrics_address"}


class GuideServer(Server):
    """The installed server with a page's manifest, on ports of its own."""

    def __init__(self, atoll, folder, manifest):
        text = (folder / manifest).read_text()
        self.frontends = re.findall(r"^\[plugin\.(grpc|http|metrics)\]", text, re.MULTILINE)
        command = [str(atoll), "--manifest", manifest]
        for name in self.frontends:
            command += ["--set", f'plugin.{name}.address="127.0.0.1:0"']
        self.folder = folder
        self._start(command)
        self.wait_for_line(r"active: ")

    def _start(self, command, environment=None):
        here = os.getcwd()
        os.chdir(self.folder)
        try:
            super()._start(command, environment)
        finally:
            os.chdir(here)

    @property
    def address(self):
        return self._started_at("GRPCInferenceService")

    def local(self, text):
        """The text with this server's addresses in place of those that a page shows."""
        for port, attribute in PORTS.items():
            if f"localhost:{port}" in text:
                text = text.replace(f"localhost:{port}", getattr(self, attribute))
        return text


class Page:
    """`home` has the SDK and the server in its folder atoll; everything is done in `folder`."""

    def __init__(self, text, home, folder):
        self.blocks = [match.groupdict() for match in FENCE.finditer(text)]
        self.home, self.folder, self.cwd = home, folder, folder
        self.server = None
        self.printed = ""

    def run(self):
        try:
            for block in self.blocks:
                self._do(block["path"], block["kind"], block["body"])
        except BaseException:
            self._stop(check=False)
            raise
        self._stop(check=True)

    def _do(self, path, kind, body):
        if path:
            file = self.cwd / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(body)
        elif kind == "sh":
            before, *rest = START.split(body)
            self.printed = self._shell(before)
            if rest:
                self.server = GuideServer(self.home / "atoll" / "bin" / "atoll", self.cwd, rest[0])
                self._localize()
                self.printed += self._shell(self.server.local(rest[1]))
        elif kind == "text":
            assert body in self.printed, f"expected\n{body}\nin\n{self.printed}"

    def _localize(self):
        for file in self.cwd.glob("*.py"):
            file.write_text(self.server.local(file.read_text()))

    def _shell(self, commands):
        if not commands.strip():
            return ""
        python = pathlib.Path(sys.executable).parent
        sanitize = cache_value("ATOLL_SANITIZE")
        environment = {**os.environ, "HOME": str(self.home), "PATH": f"{python}:{os.environ['PATH']}",
                       "CXXFLAGS": "-O0 -Wall -Wextra -Werror" + (f" -fsanitize={sanitize}" if sanitize else ""),
                       "CMAKE_CXX_COMPILER_LAUNCHER": cache_value("ATOLL_CCACHE").replace("ATOLL_CCACHE-NOTFOUND", "")}
        environment.pop("DESTDIR", None)
        # The folder that the commands end in is where the next ones begin.
        script = f"set -euo pipefail\n{commands}\npwd >{self.folder}/.cwd\n"
        done = subprocess.run(["bash", "-c", script], cwd=self.cwd, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=600)
        log = f"\n{self.server.log}" if self.server else ""
        assert done.returncode == 0, f"{commands}\nended with {done.returncode}\n{done.stdout}{log}"
        self.cwd = pathlib.Path((self.folder / ".cwd").read_text().strip())
        return done.stdout

    def _stop(self, check):
        if self.server is None:
            return
        code = self.server.stop()
        if check:
            assert code == 0, f"exit code {code}; the log:\n{self.server.log}"
        else:
            print(self.server.log)
