"""What a run notices: answers that are wrong, late or missing, errors that nothing excuses, and what is left."""

import time

import chaos_oracle
import chaos_quiet
import numpy as np
import pytest
from chaos_actors import InProgram
from chaos_allowances import ALLOWED
from chaos_oracle import CONNECTION, NO_ANSWER, Ledger, Refusal, expected, expected_text
from chaos_plan import KINDS
from chaos_results import Result
from chaos_wishes import CODES

GIVEN = np.array([1, 2, 3, 4], np.float32)


@pytest.fixture
def ledger():
    return Ledger(ALLOWED)


def test_the_right_answer_counts(ledger):
    ledger.answered("grpc", "py", time.monotonic(), GIVEN + np.float32(5), expected("py", GIVEN))
    assert (ledger.right, ledger.wrong, dict(ledger.answers)) == (1, 0, {"grpc": 1})


@pytest.mark.parametrize("found", [GIVEN + np.float32(6), GIVEN, (GIVEN + np.float32(5))[:3], (GIVEN + 5).astype(np.float64), None,
                                   (GIVEN + np.float32(5)).reshape(2, 2)])
def test_a_wrong_answer_is_noticed(ledger, found):
    ledger.answered("grpc", "py", time.monotonic(), found, expected("py", GIVEN))
    assert (ledger.right, ledger.wrong) == (0, 1) and "grpc: py: an answer is" in ledger.failures[0]


def test_a_late_answer_is_wrong(ledger):
    began = time.monotonic() - chaos_oracle.DEADLINE_S - chaos_oracle.BOUND_S - 1
    ledger.answered("grpc", "echo", began, GIVEN, expected("echo", GIVEN))
    assert (ledger.right, ledger.wrong) == (0, 1)


def test_an_error_without_a_fault_is_wrong(ledger):
    ledger.refused("grpc", "py", time.monotonic(), Refusal("UNAVAILABLE", "gone"))
    assert ledger.wrong == 1 and "on meanwhile: nothing" in ledger.failures[0]


def test_an_error_is_excused_by_a_fault_that_was_on_meanwhile(ledger):
    began = time.monotonic()
    ledger.close(ledger.fault("kill"))
    ledger.refused("grpc", "py", began, Refusal("UNAVAILABLE", "killed"))
    assert ledger.wrong == 0 and ledger.documented == {("kill", "grpc", "UNAVAILABLE"): 1}
    ledger.refused("grpc", "py", time.monotonic(), Refusal("UNAVAILABLE", "later"))
    assert ledger.wrong == 1


@pytest.mark.parametrize("model, code", [("echo", "UNAVAILABLE"), ("py", "INTERNAL"), ("py", NO_ANSWER), ("py", CONNECTION)])
def test_a_fault_excuses_only_what_the_table_says(ledger, model, code):
    ledger.fault("kill")
    ledger.refused("grpc", model, time.monotonic(), Refusal(code, "?"))
    assert ledger.wrong == 1


def test_what_hits_one_server_excuses_nothing_of_the_other():
    assert not any(allowance.excuses("leased", "UNAVAILABLE") for allowance in ALLOWED["memory"])
    assert any(allowance.excuses("echo", "UNAVAILABLE") for allowance in ALLOWED["memory"])


def test_nothing_excuses_an_answer_that_does_not_come():
    assert not any(allowance.excuses("py", NO_ANSWER) for allowances in ALLOWED.values() for allowance in allowances)


@pytest.mark.parametrize("kind", sorted(set(CODES) - {""}))
def test_a_wish_excuses_its_own_error_in_time_and_nothing_else(ledger, kind):
    (code,), limit_s = CODES[kind], 0.01
    ledger.refused("hurried", "slow", time.monotonic(), Refusal(code, ""), CODES[kind], limit_s)
    assert ledger.wrong == 0 and ledger.documented == {(chaos_oracle.OWN, "hurried", code): 1}
    ledger.refused("hurried", "slow", time.monotonic() - chaos_oracle.BOUND_S - 1, Refusal(code, ""), CODES[kind], limit_s)
    assert ledger.wrong == 1 and "not within 0.01 s" in ledger.failures[0]
    for other in {"DEADLINE_EXCEEDED", "UNAVAILABLE", "CANCELLED", "INTERNAL", NO_ANSWER} - {code}:
        ledger.refused("hurried", "slow", time.monotonic(), Refusal(other, ""), CODES[kind], limit_s)
    assert ledger.wrong == 5


def test_an_answer_behind_its_deadline_and_the_bound_is_wrong(ledger):
    ledger.answered("hurried", "slow", time.monotonic() - chaos_oracle.BOUND_S - 1, GIVEN, expected("slow", GIVEN), limit_s=0.01)
    assert (ledger.right, ledger.wrong) == (0, 1)


def test_the_table_has_known_faults_and_reasons():
    assert set(ALLOWED) <= set(KINDS)
    assert all(allowance.reason for allowances in ALLOWED.values() for allowance in allowances)


def test_texts():
    assert expected_text("az") == "ba"


BEFORE = {"threads": 10, "descriptors": 20, "memory": 1 << 20, "processes": 3, "/dev/shm": frozenset({"old"}), "files": frozenset()}


@pytest.mark.parametrize("what, now", [("threads", 50), ("descriptors", 60), ("memory", 1 << 30), ("processes", 4),
                                       ("processes", 2), ("/dev/shm", frozenset({"old", "new"})), ("files", frozenset({"tmp/new"}))])
def test_what_is_left_is_noticed(what, now):
    assert chaos_quiet.more_than(BEFORE, BEFORE) == []
    (one,) = chaos_quiet.more_than(BEFORE, {**BEFORE, what: now})
    assert one.startswith(what)


def points(seconds, bytes_an_hour):
    """Quiet points whose memory grows evenly."""
    return [(at, {"threads": 10, "memory": (100 << 20) + bytes_an_hour * at / 3600}) for at in range(0, seconds + 1, 600)]


def test_memory_that_grows_is_noticed_after_an_hour():
    assert chaos_quiet.growth(points(7200, 7 << 20)) == []
    (said,) = chaos_quiet.growth(points(7200, 9 << 20))
    assert said == "memory: grew by 9.0 MiB an hour from 109.0 MiB"
    assert chaos_quiet.growth(points(3000, 1 << 30)) == [] and chaos_quiet.growth([]) == []


class Program:
    """Answers each request with its values and so much more, or refuses all."""

    def __init__(self, more=0.0, code=None):
        self.more, self.code = more, code

    def ask(self, requests):
        if self.code:
            return [{"code": self.code, "text": ""} for _ in requests]
        return [{"values": (expected(asked["model"], asked["values"]) + np.float32(self.more)).tolist()} for asked in requests]


@pytest.mark.parametrize("program, is_right", [(Program(), True), (Program(more=1), False), (Program(code="UNAVAILABLE"), False)])
def test_answers_of_the_c_api_are_judged_and_nothing_excuses_its_errors(ledger, program, is_right):
    for kind in KINDS:
        ledger.fault(kind)
    InProgram(None, ledger, 1).turn(program)
    assert (ledger.wrong == 0, ledger.right > 0) == (is_right, is_right), ledger.failures


@pytest.mark.parametrize("more", [{"wrong": 1}, {"deaths": 1}, {"left": 1}, {"too_few": ["kill 0"]}])
def test_a_run_in_which_something_did_not_hold_has_failed(more):
    assert Result(1, 45).held and not Result(1, 45, **more).held


def test_the_last_line():
    result = Result(3, 45, right=7, documented=2, impossible={kind: "why" for kind in KINDS if kind != "kill"})
    result.injected["kill"] = 4
    assert str(result).startswith("chaos: seed 3, 45 s: 7 right, 2 documented errors, 0 wrong, 0 deaths, 0 left; injected: kill 4; "
                                  "not possible here: reload (why), ")
