"""What is injected is drawn from the seed alone, and a whole run has every kind."""

import threading

import chaos_plan
import pytest
from chaos_world import Turns
from support.waiting import eventually


def test_a_seed_draws_the_same_plan():
    assert chaos_plan.draw(7, 60) == chaos_plan.draw(7, 60)
    assert chaos_plan.draw(7, 60) != chaos_plan.draw(8, 60)


@pytest.mark.parametrize("seed", range(50))
def test_every_kind_happens_in_a_whole_run(seed):
    plan = chaos_plan.draw(seed, chaos_plan.WHOLE_RUN_S)
    assert {injection.kind for injection in plan} == set(chaos_plan.KINDS)
    assert all(0 <= injection.at_s < chaos_plan.WHOLE_RUN_S for injection in plan)


def test_a_longer_run_begins_like_a_shorter_one():
    short, long = chaos_plan.draw(3, 45), chaos_plan.draw(3, 600)
    assert long[:len(short)] == short and len(long) > 5 * len(short)


def test_what_is_impossible_is_not_drawn():
    plan = chaos_plan.draw(1, 600, {"full disk", "clock"})
    assert {injection.kind for injection in plan} == set(chaos_plan.KINDS) - {"full disk", "clock"}


def test_a_lane_that_asks_again_waits_for_those_that_asked_before():
    turns, order = Turns(), []

    def other():
        with turns:
            order.append("other")

    with turns:
        thread = threading.Thread(target=other)
        thread.start()
        eventually(lambda: turns.asked == 2, 60)
    with turns:
        order.append("again")
    thread.join()
    assert order == ["other", "again"]
