"""The real executable under test: writes manifests, starts it, reads its log, sends signals. Nothing sleeps."""
import os
import pathlib
import queue
import re
import signal
import subprocess
import threading

from support.server import ATOLL, BUILD, SANITIZED

PLUGINS = BUILD / "tests" / "lifecycle" / "plugins"
FIXTURES = PLUGINS / "fixtures"
WAIT_S = 60


def manifest(instances, atoll="", log="", plugin_path=PLUGINS):
    """instances: {name: body of its table}."""
    text = f'[atoll]\nplugin_path = ["{plugin_path}"]\n{atoll}\n[log]\n{log}\n'
    return text + "".join(f"[plugin.{name}]\n{body}\n" for name, body in instances.items())


def run(path, *arguments, program=ATOLL):
    """Runs to the end. Returns the exit code and the lines of its output, without the log's time and level."""
    done = subprocess.run([program, "--manifest", str(path), *arguments], capture_output=True, text=True,
                          timeout=WAIT_S, stdin=subprocess.DEVNULL)
    return done.returncode, [plain(line) for line in done.stderr.splitlines()]


def plain(line):
    """A log record's or an error line's message."""
    line = re.sub(r"^\S+Z \w+ +\[\w+\] ", "", line)
    return re.sub(r"^atoll: ", "", line)


class Server:
    """A running server. Use as a context manager: it is gone afterwards."""

    def __init__(self, folder, instances, environment=None, **settings):
        self.path = folder / "atoll.toml"
        self.settings = settings
        self.write(instances)
        self.process = subprocess.Popen([ATOLL, "--manifest", str(self.path)], stderr=subprocess.PIPE,
                                        stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True,
                                        env={**os.environ, **(environment or {})})
        self.lines = queue.Queue()
        self.seen = []
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def write(self, instances, **settings):
        temporary = self.path.with_suffix(".new")
        temporary.write_text(manifest(instances, **{**self.settings, **settings}))
        temporary.rename(self.path)

    def _read(self):
        for line in self.process.stderr:
            self.lines.put(plain(line.rstrip("\n")))
        self.lines.put(None)

    def expect(self, pattern):
        """The next log line that matches; everything before it is skipped."""
        while True:
            line = self.lines.get(timeout=WAIT_S)
            assert line is not None, f"ended before {pattern!r} was logged:\n" + "\n".join(self.seen)
            self.seen.append(line)
            if re.search(pattern, line):
                return line

    def send(self, number):
        self.process.send_signal(number)

    def reload(self, instances=None, **settings):
        if instances is not None:
            self.write(instances, **settings)
        self.send(signal.SIGHUP)

    def wait(self):
        return self.process.wait(timeout=WAIT_S)

    def mapped(self, file):
        """Whether this very file, not its successor under the same name, is mapped."""
        maps = pathlib.Path(f"/proc/{self.process.pid}/maps").read_text()
        return any(line.endswith(str(file)) for line in maps.splitlines())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
