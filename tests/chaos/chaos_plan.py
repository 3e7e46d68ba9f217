"""What a run injects, and when: drawn from the seed alone, before anything starts."""

import dataclasses
import random

# Kinds of faults by lane. A lane does one after the other; lanes run beside each other.
LANES = {
    "configuration": ("reload", "broken reload", "plugin", "load", "broken load", "poll", "certificates"),
    "processes": ("kill", "stop", "redis", "launched"),
    "clients": ("slow", "half-closed", "hostile", "descriptors", "memory", "clock"),
    "disks": ("full disk", "read-only disk", "slow disk"),
}
KINDS = tuple(kind for kinds in LANES.values() for kind in kinds)
# Within this time of a run each kind has happened, if the machine keeps up; then kinds are drawn.
FIRST_ROUND_S = 36.0
# From this length on each kind has to have happened, and each kind of client has to have its answers.
WHOLE_RUN_S = 45
MIN_PAUSE_S, MAX_PAUSE_S = 1.0, 6.0


@dataclasses.dataclass(frozen=True)
class Injection:
    at_s: float
    lane: str
    kind: str
    seed: int  # of what the fault itself draws
    first_round: bool

    def __str__(self):
        return f"{self.at_s:8.2f} s  {self.lane:13}  {self.kind:14}  {self.seed}"


def draw(seed, seconds, impossible=(), kinds=KINDS):
    """The injections of a run in the order of their times, without the kinds that are impossible on this machine; and of what is
    drawn only those kinds that are given, as they would be among all others."""
    found = []
    for lane, of_lane in LANES.items():
        possible = [kind for kind in of_lane if kind not in impossible]
        if possible:
            found += _lane(random.Random(f"{seed}/{lane}"), lane, possible, seconds)
    return sorted((injection for injection in found if injection.kind in kinds), key=lambda injection: (injection.at_s, injection.lane))


def _lane(rng, lane, kinds, seconds):
    first = list(kinds)
    rng.shuffle(first)
    step = FIRST_ROUND_S / len(first)
    times = [i * step + rng.uniform(0, step / 2) for i in range(len(first))]
    found = [Injection(round(at, 2), lane, kind, rng.getrandbits(32), True) for at, kind in zip(times, first)]
    at = FIRST_ROUND_S + rng.uniform(0, MAX_PAUSE_S)
    while at < seconds:
        found.append(Injection(round(at, 2), lane, rng.choice(kinds), rng.getrandbits(32), False))
        at += rng.uniform(MIN_PAUSE_S, MAX_PAUSE_S)
    return [injection for injection in found if injection.at_s < seconds]
