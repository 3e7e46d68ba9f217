"""A log that nobody reads: the server goes on, counts what it drops, says so when it is read again, and ends."""
import json
import os
import re
import resource
import signal
import subprocess
import time
import urllib.request

import pytest
from harness import ATOLL, BUILD, PLUGINS, WAIT_S, Server, manifest

PROVIDER = {"p": 'use = "fixtures/provider"'}


@pytest.fixture
def stalled(tmp_path):
    """A function that starts a server whose standard error is a full pipe; what it takes is the reading end."""
    processes = []

    def start(instances, **settings):
        path = tmp_path / "atoll.toml"
        path.write_text(manifest(instances, **settings))
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        try:
            while True:
                os.write(writing, b"." * 4096)
        except BlockingIOError:
            os.set_blocking(writing, True)
        processes.append(subprocess.Popen([ATOLL, "--manifest", str(path)], stderr=writing, stdout=subprocess.DEVNULL,
                                          stdin=subprocess.DEVNULL))
        os.close(writing)
        return processes[-1], reading, path

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()


def test_it_ends_in_a_bounded_time(stalled):
    process, reading, _ = stalled(PROVIDER, log='level = "trace"', atoll='drain_timeout = "1s"')
    process.send_signal(signal.SIGTERM)
    assert process.wait(WAIT_S) in (0, -signal.SIGTERM)  # the signal may come before its handler
    os.close(reading)


def test_errors_of_a_start_are_there_when_the_pipe_is_read(stalled):
    process, reading, _ = stalled({"x": 'use = "fixtures/nobody"'})
    with open(reading, errors="replace") as pipe:
        text = pipe.read()
    assert process.wait(WAIT_S) == 2
    assert "no file fixtures/nobody.so in the plugin path" in text, text


def test_the_servers_calls_go_on(stalled, tmp_path):
    """Loads, log settings, health and the end, with a queue that is too full for anything more."""
    from support import models
    repository = tmp_path / "models"
    models.write_model(repository, "m", models.identity_config("m"))
    plugins = BUILD / "lib" / "atoll" / "plugins"
    port = tmp_path / "port"
    process, reading, path = stalled({
        "repository": f'use = "repositories/filesystem"\npaths = ["{repository}"]',
        "configs": 'use = "configs/pbtxt"', "models": 'use = "models/catalog"', "default": 'use = "schedulers/default"',
        "identity": 'use = "backends/identity"', "control": 'use = "control/explicit"\nload_model = ["m"]',
        "http": 'use = "frontends/http"\naddress = "127.0.0.1:0"',
        "metrics": 'use = "frontends/metrics"\naddress = "127.0.0.1:0"'}, plugin_path=plugins,
        log='level = "trace"', atoll='drain_timeout = "10s"')
    http, metrics = listening(process, 2)
    if not answers(http, "/v2/health/live"):
        http, metrics = metrics, http

    def post(path, body=b"{}"):
        request = urllib.request.Request(f"http://127.0.0.1:{http}{path}", body, method="POST")
        with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
            return answer.status

    def dropped():
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics", timeout=WAIT_S) as answer:
            return float(re.search(r"^atoll_log_dropped_total (\S+)$", answer.read().decode(), re.M).group(1))

    # A load whose failure is told with as much text as a record may have: the queue fills with few of them.
    platform = "x" * 60_000
    long = json.dumps({"parameters": {"config": json.dumps({"platform": platform})}}).encode()
    while dropped() == 0:
        with pytest.raises(urllib.error.HTTPError) as failure:
            post("/v2/repository/models/m/load", long)
        assert platform in failure.value.read().decode()
        post("/v2/repository/models/m/unload")
        assert post("/v2/repository/models/m/load") == 200
    assert post("/v2/logging", b'{"log_verbose_level": 2}') == 200
    assert answers(http, "/v2/health/live") and answers(http, "/v2/models/m/ready")
    process.send_signal(signal.SIGTERM)
    assert process.wait(WAIT_S) == 0
    os.close(reading)


def answers(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=WAIT_S) as answer:
            return answer.status == 200
    except urllib.error.HTTPError:
        return False


def listening(process, count):
    """The loopback ports that a process listens on, once there are as many; its log cannot be read."""
    while process.poll() is None:
        inodes = set()
        for entry in os.scandir(f"/proc/{process.pid}/fd"):
            try:
                inodes.add(os.readlink(entry.path))
            except FileNotFoundError:
                continue
        ports = set()
        with open(f"/proc/{process.pid}/net/tcp") as table:
            for line in table.readlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                    ports.add(int(fields[1].split(":")[1], 16))
        if len(ports) == count:
            return sorted(ports)
    raise AssertionError("it ended")


def await_file(path, reached):
    """Until its contents are as wanted."""
    until = time.monotonic() + WAIT_S
    while not (path.exists() and reached(path.read_text())):
        assert time.monotonic() < until, path.read_text()
        time.sleep(0.01)


def test_a_log_at_the_largest_size_that_files_may_have_ends_nothing(tmp_path):
    """What SIGXFSZ would end. What does not fit is dropped, as on a full disk."""
    log = tmp_path / "log"
    with Server(tmp_path, PROVIDER, log=f'level = "debug"\nfile = "{log}"') as server:
        await_file(log, lambda text: "active: " in text)
        most = log.stat().st_size + 100
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, most))
        for generation in range(3):
            server.reload(PROVIDER | {"q": f'use = "fixtures/provider"\nsize = {generation + 1}'})
            await_file(log, lambda text: len(text) == most)
        server.send(signal.SIGTERM)
        assert server.wait() == 0
    assert log.stat().st_size <= most
