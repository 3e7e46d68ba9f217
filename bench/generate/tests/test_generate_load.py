import asyncio
import math
import pathlib
import statistics
import subprocess
import sys

import generate_load as load
import pytest


class FakeServer:
    """A step at a time for all who are there; the event loop's turns are its clock. Notes who is in each step.

    As the server with continuous batching does, it lets a request leave when it has ended.
    """

    def __init__(self):
        self.now = 0
        self.steps = []
        self._here = {}
        self._group = {}

    def of(self, mode):
        return {load.STATIC: self.whole, load.AT_ONCE: self.at_once}.get(mode, self)

    async def __call__(self, client, request):
        arrivals = []
        for _ in range(request.tokens):
            waiting = asyncio.get_running_loop().create_future()
            self._here[request.number] = waiting
            if len(self._here) == 1:
                asyncio.get_running_loop().call_soon(asyncio.ensure_future, self._step())
            arrivals.append(await waiting)
        return arrivals

    async def at_once(self, client, request):
        return (await self(client, request))[-1:]

    async def whole(self, client, request):
        """As static batching does: all who come together are there until the last of them has ended."""
        self._group[request.number] = request.tokens, asyncio.get_running_loop().create_future()
        if len(self._group) == 1:
            asyncio.get_running_loop().call_soon(asyncio.ensure_future, self._generation())
        return [await self._group[request.number][1]]

    async def _generation(self):
        for _ in range(20):
            await asyncio.sleep(0)
        group, self._group = self._group, {}
        longest = max(tokens for tokens, _ in group.values())
        self.now += longest
        self.steps += [sorted(group)] * longest
        for _, waiting in group.values():
            waiting.set_result(self.now)

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
    assert run.steps == (1, 100)


def test_all_tokens_at_once_come_with_the_last_step(server):
    run = asyncio.run(load.run("continuous at once", 2, requests(1, 4, 1, 2), server.at_once))
    assert server.steps == [[0, 1], [1, 2], [1, 3], [1, 3]]
    assert (run.tokens, run.seconds) == (8, 4)
    assert (run.between, run.steps) == ((None, None), (None, None))
    assert run.first == run.last


def test_static_batching_computes_every_row_until_the_longest_has_ended(server):
    run = asyncio.run(load.run("static", 2, requests(1, 4, 1, 2), server.whole))
    assert server.steps == [[0, 1]] * 4 + [[2, 3]] * 2
    assert (run.tokens, run.seconds) == (8, 6)


def test_the_first_token_of_a_static_batch_comes_with_the_last(server):
    run = asyncio.run(load.run("static", 2, requests(3, 4), server.whole))
    assert run.first == run.last == (4000, None)
    assert run.between == (None, None)
    assert run.steps == (None, None)


def test_without_padding_rows_leave_and_nobody_joins(server):
    run = asyncio.run(load.run("static without padding", 2, requests(1, 4, 1, 2), server))
    assert server.steps == [[0, 1], [1], [1], [1], [2, 3], [3]]
    assert (run.tokens, run.seconds) == (8, 6)


def test_who_has_ended_early_waits_for_the_first_token_of_the_next(server):
    found = asyncio.run(load.together(2, requests(1, 4, 1, 2), server))
    assert [times[0] - since for since, _, times in found] == [1, 1, 4, 1]


@pytest.mark.parametrize("mode", load.MODES)
def test_fewer_requests_than_clients(server, mode):
    run = asyncio.run(load.run(mode, 8, requests(3, 2), server.of(mode)))
    assert (run.tokens, run.seconds) == (5, 3)


def test_one_client_is_served_alike(server):
    found = [asyncio.run(load.run(mode, 1, requests(3, 1, 2), server.of(mode))) for mode in load.MODES]
    assert {(run.tokens, run.seconds) for run in found} == {(6, 6)}
    assert server.steps == [[0], [0], [0], [1], [2], [2]] * 4


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


def test_cpu_is_that_of_the_run(server):
    used = iter([(None, 5.0), (None, 6.0)])
    run = asyncio.run(load.run("continuous", 1, requests(4), server, lambda: next(used)))
    assert run.busy == (None, pytest.approx(25))


def test_figures():
    short, long = requests(1, 3)
    run = load.figures([(0.0, long, [0.5, 0.6, 0.8]), (1.0, short, [1.1])], 0.0)
    assert (run.tokens, run.seconds) == (4, 1.1)
    assert run.first == (pytest.approx(100), None)
    assert run.between == (pytest.approx(100), None)
    assert run.last == (pytest.approx(100), None)


def test_steps_are_those_of_who_was_there_all_the_time():
    long, short, late = requests(6, 2, 1)
    found = [(0.0, long, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), (1.5, short, [3.0, 4.0]), (2.0, late, [6.0])]
    assert load.steps_until_first(found) == [2, 4]
    assert load.steps_until_first(found[:1]) == []
    run = load.figures(found, 0.0, has_steps=True)
    assert run.steps == (2, 50)


def run_of(seconds, steps=(None, None)):
    return load.Run(100, seconds, (1.0, 2.0), (0.5, None), (8.0, 9.0), steps, (99.6, None))


def test_table():
    first, *_, last = load.table({(8, "continuous"): [run_of(1.0), run_of(1.0), run_of(2.0)], (8, "static"): [run_of(2.0)]})
    assert last == ("| 8 | static | 50 (50..50) | 1.00 (1.00..1.00) | 2.00 (2.00..2.00) | 0.50 (0.50..0.50) | - "
                    "| 8.00 (8.00..8.00) | 9.00 (9.00..9.00) | - | - | 100 (100..100) | - |")
    assert first.count("|") == last.count("|")


@pytest.mark.parametrize("clients, static, verdict, met", [
    (32, 2.0, ", budget 2x: met", True), (32, 1.9, ", budget 2x: MISSED", False), (8, 1.0, "", True)])
def test_the_budget_is_of_the_median_at_many_clients(clients, static, verdict, met):
    runs = {(clients, mode): [run_of(1.0)] * 3 for mode in load.MODES}
    runs[clients, "static"] = [run_of(1.0), run_of(static), run_of(4.0)]
    lines, found = load.verdicts(runs)
    assert lines == [
        f"{clients} clients: continuous at once through static {static:.2f}x tokens/s (min 1.00, max 4.00){verdict}",
        f"{clients} clients: continuous through static {static:.2f}x tokens/s (min 1.00, max 4.00)",
        f"{clients} clients: continuous through static without padding 1.00x tokens/s (min 1.00, max 1.00)"]
    assert found is met


@pytest.mark.parametrize("clients, steps, verdict, met", [
    (32, 2.0, ", budget 2: met", True), (32, 3.0, ", budget 2: MISSED", False), (8, 3.0, "", True)])
def test_the_budget_of_steps(clients, steps, verdict, met):
    runs = {(clients, mode): [run_of(1.0, (steps, 75.0))] for mode in load.MODES}
    runs[clients, load.STATIC] = [run_of(2.0)]
    lines, found = load.verdicts(runs)
    assert lines[-1] == (f"{clients} clients: first token with step {steps:.0f} (min {steps:.0f}, max {steps:.0f}), with one "
                         f"of the first two for 75 % of the requests{verdict}")
    assert found is met


@pytest.mark.parametrize("arguments, said", [
    (["--help"], "--repetitions"), (["--clients", "0"], "expected numbers from 1 to 32"),
    (["--clients", "33"], "expected numbers from 1 to 32"), (["--lengths", "8"], "expected two numbers"),
    (["--lengths", "9,8"], "expected two numbers"), (["--lengths", "1,5000"], "expected two numbers"),
    (["--repetitions", "0"], "expected a number from 1 on"),
    (["--hidden", "512,0"], "expected a number from 1 on"), (["--write", "/nowhere"], "expected one"),
    (["--model", "/nowhere"], "found no model in '/nowhere'")])
def test_arguments(arguments, said):
    script = pathlib.Path(load.__file__).with_name("measure.py")
    run = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, timeout=60)
    assert said in run.stdout + run.stderr
    assert run.returncode == (0 if arguments == ["--help"] else 2)
