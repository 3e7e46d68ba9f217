"""Parts of a run add up in a file, and a run goes on where the file ends."""

import collections
import dataclasses
import types

import chaos_command
import chaos_run
import pytest
from chaos_plan import KINDS
from chaos_quiet import slopes
from chaos_reduce import Case
from chaos_results import Result, Results, added

CASE = Case(4, 100.0, ("grpc",), KINDS)


def result(seconds, **more):
    return Result(4, seconds, right=10, injected=collections.Counter(kill=2), impossible={"clock": "no libfaketime"}, **more)


def test_what_is_written_is_read(tmp_path):
    results = Results(tmp_path / "results")
    assert results.parts(CASE) == []
    results.add(CASE, 40.0, result(60.0, too_few=["kill 0"]), points=[(0.0, {"memory": 1})])
    results.add(CASE, 0.0, result(40.0))
    results.add(dataclasses.replace(CASE, seed=5), 0.0, result(7.0))
    assert results.parts(dataclasses.replace(CASE, seconds=500.0)) == [(0.0, result(40.0)), (40.0, result(60.0, too_few=["kill 0"]))]


def test_parts_add_up():
    total = added([result(40.0, wrong=1), result(60.0, left=2, too_few=["kill 0"])])
    assert (total.seconds, total.right, total.wrong, total.left, total.injected["kill"]) == (100.0, 20, 1, 2, 4)
    assert not total.held and str(total).startswith("chaos: seed 4, 100 s: 20 right")


class Run:
    """In place of one against a server. fails_at: the second in which it fails; stops_at: in which it is stopped"""
    fails_at = stops_at = float("inf")
    asked = []

    def __init__(self, case, quiet_every_s, is_whole, from_s):
        Run.asked.append((from_s, case.seconds))
        self.case, self.from_s = case, from_s
        self.stopped = types.SimpleNamespace(is_set=lambda: self.end_s == Run.stops_at, set=None)
        self.ledger = types.SimpleNamespace(answers={}, failures=[])
        self.left, self.points, self.slopes = [], list, dict
        self.end_s = min(case.seconds, Run.stops_at)

    def go(self):
        self.result = result(self.end_s - self.from_s, wrong=int(self.from_s <= Run.fails_at < self.end_s))
        return self.result


@pytest.fixture
def parts(monkeypatch, tmp_path):
    """Runs them, with a file of results. Returns (Result, the parts that were run)."""
    def go(**attributes):
        with monkeypatch.context() as patched:
            patched.setattr(chaos_run, "Run", Run)
            patched.setattr(chaos_command.signal, "signal", lambda *_: None)
            for name, value in attributes.items():
                patched.setattr(Run, name, value)
            patched.setattr(Run, "asked", [])
            arguments = types.SimpleNamespace(results=tmp_path / "results", part=40.0, quiet_every=600, reduce_for=0)
            return chaos_command.run_parts("run", CASE, arguments, True), Run.asked
    return go


def test_a_run_has_parts_and_goes_on_where_it_was_stopped(parts):
    stopped, asked = parts(stops_at=55.0)
    assert stopped.seconds == 55.0 and asked == [(0.0, 40.0), (40.0, 80.0)]
    whole, asked = parts()
    assert asked == [(55.0, 95.0), (95.0, 100.0)] and (whole.seconds, whole.right, whole.held) == (100.0, 40, True)
    again, asked = parts()
    assert asked == [] and again == whole


def test_a_part_that_failed_is_the_last_one(parts):
    failed, asked = parts(fails_at=50.0)
    assert not failed.held and asked == [(0.0, 40.0), (40.0, 80.0)]
    assert parts()[1] == []


def test_slopes_are_those_of_the_last_hour():
    points = [(at, {"memory": (1 << 30) if at < 3600 else (100 << 20) + at * 1024, "threads": 5}) for at in range(0, 7201, 600)]
    (what, slope), = slopes(points).items()
    assert what == "memory" and slope.per_hour == pytest.approx(3600 * 1024) and (slope.over_s, slope.count) == (3600, 7)
    assert slopes(points[:1]) == {}
