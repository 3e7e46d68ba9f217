"""A run that failed is made smaller, and what is printed repeats it."""

import dataclasses
import shlex

import pytest
from chaos_command import case_of, parser
from chaos_plan import KINDS
from chaos_reduce import Case, failures_of, fewer, reduced

CLIENTS = ("grpc", "stream", "http", "shm", "c_api")
WHOLE = Case(7, 60.0, CLIENTS, KINDS)


class Needs:
    """Fails where a run has so many seconds and all of these; remembers what it was asked."""

    def __init__(self, seconds, clients, faults):
        self.seconds, self.clients, self.faults, self.asked = seconds, set(clients), set(faults), []

    def __call__(self, case):
        self.asked.append(case)
        return case.seconds >= self.seconds and self.clients <= set(case.clients) and self.faults <= set(case.faults)


@pytest.mark.parametrize("clients, faults", [((), ()), (("http",), ()), (("grpc", "c_api"), ("kill",)), (CLIENTS, ("reload", "slow disk")),
                                             ((), KINDS)])
def test_what_is_not_needed_is_left_out(clients, faults):
    needs = Needs(9, clients, faults)
    smallest = reduced(WHOLE, needs)
    assert smallest == Case(7, 15.0, tuple(clients), tuple(faults)) and needs(smallest)


def test_what_failures_say_is_tried_first():
    needs = Needs(9, ("http",), ("kill",))
    assert reduced(WHOLE, needs, failed_at_s=8.5, hints={"http", "kill", "grpc: no kind"}) == Case(7, 11.5, ("http",), ("kill",))
    assert len(needs.asked) < 10 and needs.asked[0] == dataclasses.replace(WHOLE, seconds=11.5)


def test_hints_that_lead_nowhere_are_dropped():
    assert reduced(WHOLE, Needs(30, ("shm",), ("stop",)), failed_at_s=8.5, hints={"http", "kill"}) == Case(7, 30.0, ("shm",), ("stop",))


def test_what_never_fails_again_stays_as_it_is():
    assert reduced(WHOLE, lambda case: False, 3.0, {"http"}) == WHOLE


def test_fewer_asks_seldom():
    asked = []
    assert fewer(tuple(range(64)), lambda items: asked.append(items) or 37 in items) == (37,)
    assert len(asked) < 40


@pytest.mark.parametrize("case", [WHOLE, Case(3, 2.5, (), (), "leak"), Case(1, 12.0, ("http",), ("broken reload", "slow disk"))])
def test_the_command_repeats_the_case(case):
    words = shlex.split(str(case))
    assert words[0] == "tests/chaos/run"
    assert case_of(parser(CLIENTS).parse_args(words[1:]), CLIENTS) == case


@pytest.mark.parametrize("line, failed_by", [
    ("chaos: seed 5, 12 s: 9 right, 1 documented errors, 3 wrong, 0 deaths, 12 left; injected: kill 1", {"wrong", "left"}),
    ("chaos: seed 5, 12 s: 9 right, 1 documented errors, 0 wrong, 1 deaths, 0 left; injected: kill 1; too few: kill 0", {"deaths"}),
    ("chaos: seed 5, 12 s: 10 right, 10 documented errors, 0 wrong, 0 deaths, 0 left; injected: kill 10", set()),
    ("Traceback", set())])
def test_the_last_line_says_what_a_run_failed_by(line, failed_by):
    assert failures_of(line) == failed_by


@pytest.mark.parametrize("arguments", [["--clients", "nobody"], ["--faults", "kill,none"]])
def test_names_that_are_none_are_refused(arguments):
    with pytest.raises(SystemExit):
        parser(CLIENTS).parse_args(arguments)
