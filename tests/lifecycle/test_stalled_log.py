"""A log that nobody reads: the server ends all the same, and errors of a start are not lost."""
import os
import signal
import subprocess

import pytest
from harness import ATOLL, WAIT_S, manifest

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
    assert process.wait(WAIT_S) == 1
    assert "no file fixtures/nobody.so in the plugin path" in text, text
