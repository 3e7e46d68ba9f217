"""A server that keeps pools, and what is asked of it."""

import contextlib
import http.client
import json
import os
import pathlib
import signal

from .server import ROOT, Server
from .waiting import eventually

MANIFEST = ROOT / "etc" / "pools.toml"
WAIT_S = 60


class Refused(Exception):
    def __init__(self, status, text):
        super().__init__(f"{status}: {text}")
        self.status, self.text = status, text


class Pools:
    """The pools of a folder, kept by one server after the other."""

    def __init__(self, folder, models, *settings, launcher="launchers/process", environment=None):
        self.folder = pathlib.Path(folder)
        self.models = pathlib.Path(models)
        self.settings = (f'plugin.launcher.state_directory="{self.folder}/servers"',
                         f'plugin.pools.state_directory="{self.folder}/pools"',
                         f'plugin.pools.sources=["{self.models}"]',
                         'plugin.pools.backoff="50ms"', *settings)
        if launcher == "launchers/process":
            self.settings = ('plugin.launcher.stop_timeout="5s"', *self.settings)
        else:
            self.settings = (f'plugin.launcher.use="{launcher}"', *self.settings)
        self.environment = environment
        self.server = None
        self.manifest = self.folder / "pools.toml"
        self.manifest.write_text(MANIFEST.read_text())

    def reload(self, line, further):
        """With a further line in the manifest behind that one."""
        text = self.manifest.read_text()
        assert f"{line}\n" in text
        self.manifest.write_text(text.replace(f"{line}\n", f"{line}\n{further}\n"))
        self.server.process.send_signal(signal.SIGHUP)
        self.server.wait_for_line(r"reloaded: generation \d+")

    def start(self):
        self.server = Server(self.folder / "none", *self.settings, manifest=self.manifest,
                             environment=self.environment).wait_active()
        return self

    def kill(self):
        self.server.process.kill()
        self.server.process.wait()

    def close(self):
        """Ends the instances too, and the server if it still runs."""
        if self.server is not None and self.server.process.poll() is None:
            self.server.stop()
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def processes(self):
        """Of the instances, by the launcher's records; a record may go while they are read."""
        found = []
        for record in self.folder.glob("servers/*/process"):
            with contextlib.suppress(FileNotFoundError):
                found.append(json.loads(record.read_text())["pid"])
        return found

    # --- calls ---

    def raw(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(self.server.http_address, timeout=WAIT_S)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers or {})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def call(self, method, path, body=None):
        status, text = self.raw(method, path, body)
        answer = json.loads(text)
        if status != 200:
            raise Refused(status, answer.get("error") or answer.get("reason"))
        return answer

    def create(self, name="fraud", **definition):
        return self.call("POST", "/v2/pools", {"name": name, "quota": 8, "max_instances": 2, **definition})

    def pool(self, name="fraud"):
        return self.call("GET", f"/v2/pools/{name}")

    def acquire(self, *models, quota=2, pool="fraud", **definition):
        return self.call("POST", "/v2/leases",
                         {"pool": pool, "quota": quota, "duration": "1h",
                          "models": [{"name": model, "source": str(self.models)} for model in models], **definition})

    def lease(self, lease):
        return self.call("GET", f"/v2/leases/{lease['id']}")

    def release(self, lease):
        return self.call("DELETE", f"/v2/leases/{lease['id']}")

    def wait_instances(self, count, name="fraud"):
        eventually(lambda: len(self.pool(name)["instances"]) == count, WAIT_S)
