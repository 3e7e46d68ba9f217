import asyncio
import math
import pathlib
import statistics
import subprocess
import sys

import generate_load as load
import pytest


class FakeServer:
    """A step at a time for all who are there; the event loop's turns are its clock. Notes who is in each step."""

    def __init__(self):
        self.now = 0
        self.steps = []
        self._here = {}

    async def __call__(self, client, request):
        arrivals = []
        for _ in range(request.tokens):
            waiting = asyncio.get_running_loop().create_future()
            self._here[request.number] = waiting
            if len(self._here) == 1:
                asyncio.get_running_loop().call_soon(asyncio.ensure_future, self._step())
            arrivals.append(await waiting)
        return arrivals

    async def _step(self):
        for _ in range(20):  # others who want to join do it in some turns of the loop
            await asyncio.sleep(0)
        here, self._here = self._here, {}
        self.now += 1
        self.steps.append(sorted(here))
        for waiting in here.values():
            waiting.set_result(self.now)


def requests(*lengths):
    return [load.Request(number, tokens) for number, tokens in enumerate(lengths)]


@pytest.fixture
def server(monkeypatch):
    server = FakeServer()
    monkeypatch.setattr(load.time, "perf_counter", lambda: server.now)
    return server


def test_continuous_batching_fills_the_place_of_who_has_ended(server):
    run = asyncio.run(load.run("continuous", 2, requests(1, 4, 1, 2), server))
    assert server.steps == [[0, 1], [1, 2], [1, 3], [1, 3]]
    assert (run.tokens, run.seconds) == (8, 4)
    assert run.first == (1000, None)


def test_static_batching_waits_for_the_longest(server):
    run = asyncio.run(load.run("static", 2, requests(1, 4, 1, 2), server))
    assert server.steps == [[0, 1], [1], [1], [1], [2, 3], [3]]
    assert (run.tokens, run.seconds) == (8, 6)


def test_who_has_ended_early_waits_for_the_first_token_of_the_next(server):
    found = asyncio.run(load.static(2, requests(1, 4, 1, 2), server))
    assert [times[0] - since for since, times in found] == [1, 1, 4, 1]


@pytest.mark.parametrize("mode", load.MODES)
def test_fewer_requests_than_clients(server, mode):
    run = asyncio.run(load.run(mode, 8, requests(3, 2), server))
    assert (run.tokens, run.seconds) == (5, 3)


def test_one_client_is_served_alike(server):
    found = [asyncio.run(load.run(mode, 1, requests(3, 1, 2), server)) for mode in load.MODES]
    assert found[0].tokens == found[1].tokens
    assert server.steps == [[0], [0], [0], [1], [2], [2]] * 2


def test_a_failure_ends_the_run():
    async def fails(client, request):
        raise RuntimeError("refused")

    for mode in load.MODES:
        with pytest.raises(RuntimeError, match="refused"):
            asyncio.run(load.run(mode, 2, requests(1, 2), fails))


def test_lengths_vary_and_are_the_same_each_time():
    lengths = [request.tokens for request in load.requests(2000, 4, 256, 7)]
    assert lengths == [request.tokens for request in load.requests(2000, 4, 256, 7)]
    assert lengths != [request.tokens for request in load.requests(2000, 4, 256, 8)]
    assert min(lengths) == 4 and 250 <= max(lengths) <= 256
    assert statistics.median(lengths) == pytest.approx(math.sqrt(4 * 256), rel=0.15)
    assert {request.tokens for request in load.requests(50, 16, 16, 1)} == {16}


def test_figures_and_table():
    run = load.figures([(0.0, [0.5, 0.6, 0.8]), (1.0, [1.1])], 0.0)
    assert (run.tokens, run.seconds) == (4, 1.1)
    assert run.first == (pytest.approx(100), None)
    assert run.between == (pytest.approx(100), None)
    slow, fast = load.Run(100, 2.0, (1.0, 2.0), (0.5, None)), load.Run(100, 1.0, (1.0, 4.0), (0.5, None))
    lines = load.table({(8, "continuous"): [fast, fast, slow], (8, "static"): [slow, slow, slow]})
    assert lines[2] == "| 8 | continuous | 100 (50..100) | 1.00 (1.00..1.00) | 4.00 (2.00..4.00) | 0.50 (0.50..0.50) | - |"
    assert lines[-1] == "8 clients: continuous through static batching 2.00x tokens/s (min 1.00, max 2.00)"


@pytest.mark.parametrize("arguments, said", [
    (["--help"], "--repetitions"), (["--clients", "0"], "expected numbers from 1 to 32"),
    (["--clients", "33"], "expected numbers from 1 to 32"), (["--lengths", "8"], "expected two numbers"),
    (["--lengths", "9,8"], "expected two numbers"), (["--lengths", "1,5000"], "expected two numbers"),
    (["--repetitions", "0"], "expected a number from 1 on"),
    (["--model", "/nowhere"], "found no model in '/nowhere'")])
def test_arguments(arguments, said):
    script = pathlib.Path(load.__file__).with_name("measure.py")
    run = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, timeout=60)
    assert said in run.stdout + run.stderr
    assert run.returncode == (0 if arguments == ["--help"] else 2)
