"""When perf_analyzer is started again, and when not: programs that behave as it does."""

import subprocess
import sys

import pytest
from support import perf_analyzer

# Sends what it is to, on a thread, and waits when that has ended.
TOOL = """
import pathlib, sys, threading, time
runs = pathlib.Path(sys.argv[1])
runs.write_text(runs.read_text() + "x" if runs.exists() else "x")
def wait():
    while True:
        time.sleep(0.1)
print("Request concurrency: 1", flush=True)
worker = threading.Thread(target=time.sleep, args=(1,))
worker.start()
worker.join()
{}
print("Client: \\n  Request count: 7", flush=True)
{}
"""
IN_VAIN = "wait()"
FIRST_IN_VAIN = "runs.read_text() == 'x' and wait()"
NEVER_ANSWERED = "threading.Thread(target=time.sleep, args=(1000,)).start(); wait()"
NEVER_RETURNS = "time.sleep(1000)"


@pytest.fixture
def tool(tmp_path, monkeypatch):
    monkeypatch.setattr(perf_analyzer, "IDLE_S", 2)

    def run(before="", after="", timeout_s=60):
        return perf_analyzer.run([sys.executable, "-c", TOOL.format(before, after), str(tmp_path / "runs")], timeout_s)
    run.count = lambda: len((tmp_path / "runs").read_text())
    return run


def test_what_it_reports_is_given(tool):
    done = tool(after="print('bad', file=sys.stderr); sys.exit(3)")
    assert (done.returncode, done.stdout, done.stderr) == (3, "Request concurrency: 1\nClient: \n  Request count: 7\n", "bad\n")
    assert tool.count() == 1


def test_one_that_waits_for_its_own_threads_is_started_again(tool, capsys):
    assert tool(before=FIRST_IN_VAIN).returncode == 0
    assert tool.count() == 2
    assert capsys.readouterr().out == "perf_analyzer waits for its own threads, which have ended: 1 of 5 times\n"


def test_but_not_for_ever(tool):
    with pytest.raises(AssertionError, match="perf_analyzer has waited for its own threads, which had ended, 5 times"):
        tool(before=IN_VAIN)
    assert tool.count() == perf_analyzer.TRIES


@pytest.mark.parametrize("before, after", [
    pytest.param(NEVER_ANSWERED, "", id="no_answer"),
    pytest.param(NEVER_RETURNS, "", id="a_call_does_not_return"),
    pytest.param("", IN_VAIN, id="no_end")])
def test_one_whom_the_server_keeps_waiting_is_not(tool, before, after):
    """A request that is not answered keeps its thread; the end of the server comes after the report."""
    with pytest.raises(subprocess.TimeoutExpired):
        tool(before, after, timeout_s=8)
    assert tool.count() == 1
