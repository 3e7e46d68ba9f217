"""Certificates that are exchanged while the server serves."""

import contextlib
import os
import shutil
import signal
import subprocess
import threading

import pytest
from support.server import thread_names
from support.tls import FRONTENDS, Endpoint, is_live, wait_ready
from support.waiting import eventually


pytestmark = pytest.mark.usefixtures("descriptors")
CONNECTIONS = 1000
CALLERS = 4
POLL = tuple(f'plugin.{plugin}.ssl_poll_interval="100ms"' for plugin in FRONTENDS)


class Volume:
    """Files as Kubernetes mounts them: links into a folder that is a link, which is exchanged as a whole."""

    def __init__(self, folder, pki):
        self.folder = folder
        self._pki = pki
        self._count = 0
        for kind in ("crt", "key"):
            (folder / f"server.{kind}").symlink_to(f"..data/server.{kind}")

    def install(self, certificate, key=None):
        self._count += 1
        fresh = self.folder / f"..{self._count}"
        fresh.mkdir()
        shutil.copy(self._pki / f"{certificate}.crt", fresh / "server.crt")
        shutil.copy(self._pki / f"{key or certificate}.key", fresh / "server.key")
        link = self.folder / "..data"
        old = link.resolve() if link.exists() else None
        (self.folder / "..data_tmp").symlink_to(fresh.name)
        os.replace(self.folder / "..data_tmp", link)
        if old:
            shutil.rmtree(old)


@pytest.fixture
def volume(tmp_path, pki):
    volume = Volume(tmp_path, pki)
    volume.install("server")
    return volume


def subject(endpoint, own=None, protocols=("http/1.1",)):
    """Who the certificate of a new connection is for."""
    with endpoint.connect(own, protocols) as connection:
        return dict(pair for part in connection.getpeercert()["subject"] for pair in part)["commonName"]


class Callers:
    """Threads that never stop asking over connections which they keep."""

    def __init__(self, connections):
        self.answers = 0
        self.failures = []
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(connections[i::CALLERS],)) for i in range(CALLERS)]
        for thread in self._threads:
            thread.start()

    def _run(self, connections):
        try:
            while not self._ended.is_set():
                for connection in connections:
                    assert is_live(connection)
                self.answers += 1
        except Exception as failure:
            self.failures.append(failure)

    def more(self):
        wanted = self.answers + 2 * CALLERS
        eventually(lambda: self.answers >= wanted or self.failures)
        assert not self.failures

    def end(self):
        self._ended.set()
        for thread in self._threads:
            thread.join()


def test_a_thousand_connections_lose_nothing(serve, volume, pki):
    with serve(*POLL, files=volume.folder) as server, contextlib.ExitStack() as stack:
        http = wait_ready(server, pki)
        metrics, grpc = Endpoint(server.metrics_address, pki), Endpoint(server.address, pki)
        callers = Callers([stack.enter_context(http.connect()) for _ in range(CONNECTIONS)])
        try:
            for name in ("client", "server", "client"):
                callers.more()
                volume.install(name)
                eventually(lambda name=name: subject(http) == name)
                eventually(lambda name=name: subject(metrics) == name)
                eventually(lambda name=name: subject(grpc, protocols=("h2",)) == name)
            callers.more()
        finally:
            callers.end()
        assert callers.failures == []
        taken = [line for line in server.lines if "TLS files were read again: connections from now on get" in line]
        assert len(taken) == 3 * len(FRONTENDS)


def test_files_that_are_no_use_are_said_once(serve, volume, pki):
    with serve(*POLL, files=volume.folder) as server, contextlib.ExitStack() as stack:
        http = wait_ready(server, pki)
        connection = stack.enter_context(http.connect())
        for broken in ({"certificate": "server", "key": "client"}, {"certificate": "expired"}):
            volume.install(**broken)
            for _ in FRONTENDS:
                server.wait_for_line(r"the TLS files are not taken, those read before go on serving: ")
            assert subject(http) == "server" and is_live(connection)
        volume.install("client")
        eventually(lambda: subject(http) == "client")
        assert is_live(connection)
        said = [line for line in server.lines if "the TLS files are not taken" in line]
        assert len(said) == 2 * len(FRONTENDS)


def test_a_signal_renews_without_a_poll(serve, volume, pki):
    with serve(*(f'plugin.{plugin}.ssl_poll_interval="0s"' for plugin in FRONTENDS), files=volume.folder) as server:
        http = wait_ready(server, pki)
        assert not [name for name in thread_names(server.pid) if name.startswith("tls-files")], "nobody looks at the files"
        # The end of the start has them read once more, too; the second time there is only the signal.
        for name in ("client", "server"):
            volume.install(name)
            server.process.send_signal(signal.SIGHUP)
            for _ in FRONTENDS:
                server.wait_for_line(fr"TLS files were read again: connections from now on get the certificate of 'CN={name}'")
            assert subject(http) == name


def test_an_expired_certificate_is_replaced(serve, volume, pki):
    volume.install("expired")
    with serve(*POLL, files=volume.folder) as server:
        server.wait_for_line(r"clients will refuse the certificate of '.*server.crt': it was valid until 20")
        url = f"https://{server.http_address}/v2/health/live"
        command = ["curl", "-sS", "--cacert", str(pki / "ca.crt"), url]
        refused = subprocess.run(command, capture_output=True, text=True)
        assert refused.returncode == 60 and "certificate has expired" in refused.stderr
        volume.install("server")
        eventually(lambda: subprocess.run(command, capture_output=True).returncode == 0)
