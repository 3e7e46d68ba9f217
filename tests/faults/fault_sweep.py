"""All faults of a place: what a run without one calls, and each of those calls failed at its first, second, fifth and last time."""

import collections
import dataclasses
import errno
import random
import re

from fault_places import PLACES, Wrong
from fault_table import LEFT_OUT, OF_FILES, OF_THE_LOADER, TABLE

OCCURRENCES = (1, 2, 5)  # and the last. strace counts for each thread
_CALL = re.compile(r"^(\d+)\s+(\w+)\(")


@dataclasses.dataclass(frozen=True)
class Fault:
    place: str
    call: str
    error: str
    occurrence: int

    def __str__(self):
        return f"{self.place}:{self.call}:{self.error}:{self.occurrence}"

    def options(self, files):
        """For strace. files: that the server reads and writes"""
        only = [word for file in files for word in ("-P", str(file))] if self.call in OF_FILES else []
        return [*only, "-e", f"trace={self.call}", "-e", f"inject={self.call}:error={self.error}:when={self.occurrence}"]


def parse(text):
    """A fault as it is printed."""
    place, call, error, occurrence = text.split(":")
    if place not in PLACES or not hasattr(errno, error):
        raise ValueError(f"{text!r} is no fault: expected place:call:ERRNO:occurrence, the place one of {', '.join(PLACES)}")
    return Fault(place, call, error, int(occurrence))


def counts(log):
    """How often the thread that has made it most often has made each call."""
    by_thread = collections.Counter()
    for line in log.read_text(errors="replace").splitlines():
        if found := _CALL.match(line):
            by_thread[found.group(2), found.group(1)] += 1
    most = collections.Counter()
    for (call, _), count in by_thread.items():
        most[call] = max(most[call], count)
    return most


def faults(place, most):
    """(all faults of the place, calls of which the table says nothing)"""
    listed = []
    for call, count in sorted(most.items()):
        when = sorted({n for n in OCCURRENCES if n <= count} | {count})
        listed += [Fault(place, call, error, n) for error in TABLE.get(call, ()) for n in when if (place, call, n) not in OF_THE_LOADER]
    return listed, sorted(set(most) - set(TABLE) - set(LEFT_OUT))


def draw(listed, seed, count):
    """A part of them in which each call is once before one is twice."""
    rng = random.Random(seed)
    by_call = collections.defaultdict(list)
    for fault in listed:
        by_call[fault.call].append(fault)
    for one in by_call.values():
        rng.shuffle(one)
    order = sorted(by_call)
    rng.shuffle(order)
    drawn = []
    while len(drawn) < min(count, len(listed)):
        drawn += [by_call[call].pop() for call in order if by_call[call]]
    return drawn[:count]


class Sweep:
    """The faults of one place, on one server as long as it lives."""

    def __init__(self, place):
        self.name = place
        self.place = PLACES[place]()
        self.injected = collections.Counter()  # by call
        self.missed = 0  # the call did not come so often this time
        self.wrong = []  # (fault, what)

    def close(self):
        self.place.close()

    def listed(self):
        """Runs once without a fault. Raises Wrong."""
        self.place.run()
        found, unknown = faults(self.name, counts(self.place.log))
        if unknown:
            raise Wrong(f"{self.name}: calls without a row in tests/faults/fault_table.py: {', '.join(unknown)}")
        return found

    def run(self, fault, say):
        try:
            self.place.run(lambda: fault.options(self.place.files()))
        except Wrong as wrong:
            self.wrong.append((fault, str(wrong)))
            say(f"WRONG {fault}: {wrong}")
            self.place.close()  # the next one has a server of its own
            self.place = PLACES[self.name]()
        else:
            if self.place.log.exists() and "(INJECTED)" in self.place.log.read_text(errors="replace"):
                self.injected[fault.call] += 1
            else:
                self.missed += 1
