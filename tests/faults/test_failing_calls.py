"""A part of tests/faults/run, each time the tests run: each system call fails once in each place, with one of its errors."""

import pytest
from fault_places import PLACES, Place, Wrong
from fault_sweep import Fault, Sweep, counts, draw, faults, parse
from support.server import SANITIZED

SEED = 1
# A sanitizer's own calls fail too, and the search for leaks does not work under a tracer.
SWEPT = [] if SANITIZED else list(PLACES)
MOST = {"start": 25}  # each a start of its own


@pytest.mark.parametrize("place", SWEPT)
def test_calls_that_fail_are_answered_by_errors_and_nothing_else(place):
    sweep = Sweep(place)
    said = []
    try:
        for fault in draw(sweep.listed(), SEED, MOST.get(place, 40)):
            sweep.run(fault, said.append)
    finally:
        sweep.close()
    assert not said, "\n".join(said)
    assert sweep.injected.total() >= 10, f"hardly anything was injected: {sweep.injected}"


def test_what_is_counted_is_the_busiest_thread_of_a_call(tmp_path):
    log = tmp_path / "log"
    log.write_text('7 read(3, "", 8) = 0\n8 read(3, "", 8) = 0\n8 read(3, "", 8) = 0\n7 futex(0x1) = 0\n'
                   "7 --- SIGHUP {si_signo=SIGHUP} ---\n8 <... read resumed>) = 0\n")
    assert counts(log) == {"read": 2, "futex": 1}


def test_each_error_comes_at_the_first_second_fifth_and_last_time():
    listed, unknown = faults("load", {"getpeername": 7, "futex": 3, "no_such_call": 1})
    assert listed == [Fault("load", "getpeername", "ENOTCONN", n) for n in (1, 2, 5, 7)]
    assert unknown == ["no_such_call"]


def test_a_part_has_each_call_once_before_one_twice():
    listed, _ = faults("load", {"read": 9, "openat": 9, "bind": 1})
    assert {fault.call for fault in draw(listed, 3, 3)} == {"read", "openat", "bind"}
    assert draw(listed, 3, 8) == draw(listed, 3, 8) and len(draw(listed, 3, 1000)) == len(listed)


def test_a_fault_is_read_as_it_is_printed():
    fault = Fault("start", "openat", "EMFILE", 5)
    assert parse(str(fault)) == fault
    with pytest.raises(ValueError, match="is no fault"):
        parse("start:openat:ENONSENSE:5")


def test_a_server_that_ends_is_wrong():
    class Killed(Place):
        def act(self, server):
            server.process.kill()
            server.process.wait()

    place = Killed()
    try:
        with pytest.raises(Wrong, match="the server has ended: -9"):
            place.run()
    finally:
        place.close()
