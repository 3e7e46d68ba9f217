"""Reloads and shutdown while clients are being served."""

import concurrent.futures
import pathlib
import shutil
import signal
import threading
import time

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.control import await_execution, waiting_requests
from support.server import BUILD, DEFAULT_MANIFEST, SANITIZED, Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException


def manifest_with(path, *replacements):
    text = DEFAULT_MANIFEST.read_text()
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return path


def infer(client, model="echo", value=1.0, **more):
    array = np.full((4,), value, np.float32)
    tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
    tensor.set_data_from_numpy(array)
    np.testing.assert_array_equal(client.infer(model, [tensor], **more).as_numpy("OUTPUT0"), array)


class Load:
    """Clients that ask without pause; every answer is checked, every failure kept."""

    def __init__(self, server, clients=4):
        self.failures, self.answers, self._end = [], 0, threading.Event()
        self._pool = concurrent.futures.ThreadPoolExecutor(clients)
        self._runs = [self._pool.submit(self._run, server, i) for i in range(clients)]

    def _run(self, server, worker):
        with server.client() as client:
            count = 0
            while not self._end.is_set():
                try:
                    infer(client, value=worker * 1e4 + count)
                    self.answers += 1
                except InferenceServerException as error:
                    self.failures.append(str(error))
                    if len(self.failures) == 100:
                        return
                count += 1

    def end(self):
        self._end.set()
        for run in self._runs:
            run.result()
        self._pool.shutdown()


def mapped_files(pid, word):
    """Paths in a process's memory map that hold the word; a file that was replaced is called "... (deleted)"."""
    lines = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[5] for line in lines if word in line}


def test_a_manifest_edit_is_applied_without_losing_a_request(tmp_path):
    repository = tmp_path / "models"
    models.write_model(repository, "echo", models.identity_config("echo", dims=(4,)))
    manifest = manifest_with(tmp_path / "atoll.toml")
    with Server(repository, manifest=manifest) as server:
        server.wait_ready()
        load = Load(server)
        for level in ("debug", "warning", "info"):
            manifest_with(manifest, ('level = "info"', f'level = "{level}"'))
            answered = load.answers
            server.process.send_signal(signal.SIGHUP)
            while load.answers < answered + 200:
                time.sleep(0.01)
        # Another instance of a plugin comes and goes.
        text = DEFAULT_MANIFEST.read_text()
        manifest.write_text(text + '\n[plugin.identity2]\nuse = "backends/identity"\n')
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_line(r"generation \d+.*")
        manifest.write_text(text)
        server.process.send_signal(signal.SIGHUP)
        answered = load.answers
        while load.answers < answered + 200:
            time.sleep(0.01)
        load.end()
        assert load.failures == []


def test_a_refused_edit_changes_nothing_and_says_why(tmp_path):
    repository = tmp_path / "models"
    models.write_model(repository, "echo", models.identity_config("echo", dims=(4,)))
    manifest = manifest_with(tmp_path / "atoll.toml")
    with Server(repository, manifest=manifest) as server:
        server.wait_ready()
        with server.client() as client:
            for broken, words in (('[plugin.grpc', "atoll.toml:"), ('adress = "x"\n', "address"),
                                  ('[plugin.ghost]\nuse = "backends/ghost"\n', "ghost")):
                manifest.write_text(DEFAULT_MANIFEST.read_text() + "\n" + broken)
                server.process.send_signal(signal.SIGHUP)
                server.wait_for_line(f"(?i)refused.*{words}|{words}.*refused")
                infer(client)


def test_a_replaced_backend_takes_over_its_models(tmp_path):
    """A new file under the same name: models of that backend move to it, nobody's answer is lost."""
    plugins = tmp_path / "plugins"
    shutil.copytree(BUILD / "lib" / "atoll" / "plugins" / "backends", plugins / "backends", copy_function=shutil.copy2)
    repository = tmp_path / "models"
    models.write_model(repository, "echo", models.identity_config("echo", dims=(4,)))
    manifest = manifest_with(tmp_path / "atoll.toml", (
        'use = "backends/identity"', f'use = "backends/identity"\nfile = "{plugins}/backends/identity.so"'))
    with Server(repository, manifest=manifest) as server:
        server.wait_ready()
        load = Load(server)
        for _ in range(3):
            fresh = plugins / "backends" / "fresh.so"
            shutil.copy(BUILD / "lib" / "atoll" / "plugins" / "backends" / "identity.so", fresh)
            fresh.rename(plugins / "backends" / "identity.so")
            answered = load.answers
            server.process.send_signal(signal.SIGHUP)
            server.wait_for_line(r"reloaded: generation")
            while load.answers < answered + 200:
                time.sleep(0.01)
        load.end()
        assert load.failures == []
        # The last old one retires when its requests have ended; sanitized builds keep every plugin mapped.
        deadline = time.monotonic() + 30
        while not SANITIZED and mapped_files(server.pid, "identity") != {f"{plugins}/backends/identity.so"}:
            assert time.monotonic() < deadline, mapped_files(server.pid, "identity")


def test_a_removed_backend_takes_its_models_along_and_a_new_one_brings_them_back(tmp_path):
    repository = tmp_path / "models"
    models.write_model(repository, "echo", models.identity_config("echo", dims=(4,)))
    manifest = manifest_with(tmp_path / "atoll.toml")
    with Server(repository, manifest=manifest) as server, server.client() as client:
        server.wait_ready("echo")
        manifest_with(manifest, ('use = "backends/identity"', 'use = "backends/identity"\nenabled = false'))
        server.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 30
        while client.is_model_ready("echo"):
            assert time.monotonic() < deadline, server.log
        with pytest.raises(InferenceServerException):
            infer(client)
        # Taken out of service at once; unavailable when its last request is done.
        while (index := client.get_model_repository_index().models)[0].state == "UNLOADING":
            assert time.monotonic() < deadline, server.log
        assert index[0].state == "UNAVAILABLE" and "identity" in index[0].reason
        manifest_with(manifest)
        server.process.send_signal(signal.SIGHUP)
        server.wait_ready("echo")
        infer(client)


def server_of_slow(repository, delay_ms):
    """One request is executed at a time."""
    slow = models.identity_config(
        "slow", dims=(4,), extra=f'parameters {{ key: "execute_delay_ms" value {{ string_value: "{delay_ms}" }} }}\n'
                                 'instance_group [ { count: 1 kind: KIND_CPU } ]')
    models.write_model(repository, "slow", slow)
    return Server(repository).wait_ready()


def two_requests(pool, server, client):
    """One is executed and the other waits for it when this returns."""
    first = pool.submit(infer, client, "slow", 3.0)
    await_execution(server, client, "slow")
    second = pool.submit(infer, client, "slow", 4.0)
    eventually(lambda: waiting_requests(server, "slow") == 1)
    return [first, second]


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_what_runs_and_ends_with_zero(tmp_path, signal_number):
    server = server_of_slow(tmp_path, 2000)
    with server.client() as client, concurrent.futures.ThreadPoolExecutor(2) as pool:
        both = two_requests(pool, server, client)
        code = server.stop(signal_number)
        for one in both:
            one.result()
    assert code == 0, server.log


def test_a_second_signal_ends_at_once(tmp_path):
    server = server_of_slow(tmp_path, 20_000)
    with server.client() as client, concurrent.futures.ThreadPoolExecutor(2) as pool:
        both = two_requests(pool, server, client)
        begin = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        server.wait_for_line("(?i)drain|shutting down|stopping")
        code = server.stop(signal.SIGTERM)
        assert time.monotonic() - begin < 10
        assert code != 0
        for one in both:
            with pytest.raises(InferenceServerException):
                one.result()


def test_cancelled_requests_free_their_place(tmp_path):
    with server_of_slow(tmp_path, 300) as server, server.client() as client:
        for _ in range(20):
            with pytest.raises(InferenceServerException) as caught:
                infer(client, "slow", client_timeout=0.05)
            assert caught.value.status() == "StatusCode.DEADLINE_EXCEEDED"
        begin = time.monotonic()
        infer(client, "slow")
        # Had the cancelled ones kept their places, this would have waited for twenty executions.
        assert time.monotonic() - begin < 20 * 0.3
