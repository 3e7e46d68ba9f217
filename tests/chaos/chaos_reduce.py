"""Makes a run that failed smaller: shorter, with fewer clients and fewer kinds of faults, as long as it still fails."""

import dataclasses
import re
import shlex
import subprocess
import sys
import time

NONE = "none"
SHORTEST_S = 2.0
# What happens after a failure may be a part of it: the answer that is judged, the process that ends.
BEHIND_S = 3.0
# What a run needs beside its seconds, on a slow machine: start, warm-up, end.
AROUND_S = 180
COUNTS = re.compile(r"^chaos: seed .*?(\d+) wrong, (\d+) deaths, (\d+) left;")


@dataclasses.dataclass(frozen=True)
class Case:
    """A run: what is drawn for it is the same whatever is left out."""
    seed: int
    seconds: float
    clients: tuple
    faults: tuple
    sabotage: str | None = None

    def command(self):
        """The arguments of tests/chaos/run that repeat it."""
        words = ["--seconds", f"{self.seconds:g}", "--seed", str(self.seed), "--clients", ",".join(self.clients) or NONE,
                 "--faults", ",".join(self.faults) or NONE]
        return words + (["--sabotage", self.sabotage] if self.sabotage else [])

    def __str__(self):
        return shlex.join(["tests/chaos/run", *self.command()])


def failures_of(line):
    """Of a run's last line: which of wrong, deaths and left it has."""
    found = COUNTS.match(line)
    return {name for name, count in zip(("wrong", "deaths", "left"), found.groups()) if int(count)} if found else set()


class Trials:
    """Runs cases until its time is over; those later fail no more."""

    def __init__(self, script, failed_by, for_s, log):
        """failed_by: failures_of() the run that is made smaller; a case has to fail by one of them"""
        self._script, self._failed_by, self._log = str(script), failed_by, log
        self._end = time.monotonic() + for_s
        self.count = 0
        self._known = {}  # whether a case fails; what has held once is not tried again

    def __call__(self, case):
        if case in self._known:
            return self._known[case]
        if time.monotonic() + case.seconds > self._end:
            return False
        self.count += 1
        command = [sys.executable, self._script, *case.command(), "--reduce-for", "0"]
        last = _last_line(command, case.seconds + AROUND_S)
        fails = self._known[case] = bool(failures_of(last) & self._failed_by)
        self._log(f"{'fails' if fails else 'holds'}: {case}")
        return fails


def _last_line(command, timeout_s):
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            return process.communicate(timeout=timeout_s)[0].rstrip().rpartition("\n")[2]
        except subprocess.TimeoutExpired:
            process.terminate()
            return process.communicate()[0].rstrip().rpartition("\n")[2]
        finally:
            process.terminate()  # so that it ends in good order if this does not come to its end


def fewer(items, fails):
    """Leaves out halves, quarters and so on of the items, down to each, as long as what remains fails."""
    size = len(items)
    while size:
        for start in range(0, len(items), size):
            rest = items[:start] + items[start + size:]
            if fails(rest):
                items = rest
                break
        else:
            size //= 2
        size = min(size, len(items))
    return items


def shorter(case, fails):
    while case.seconds / 2 >= SHORTEST_S and fails(half := dataclasses.replace(case, seconds=round(case.seconds / 2, 1))):
        case = half
    return case


def reduced(case, fails, failed_at_s=None, hints=()):
    """The smallest case that was found to fail. fails: Trials; failed_at_s: when the first failure was seen, if that is known;
    hints: the clients and kinds of faults that failures name, which are tried by themselves first"""
    guesses = []
    if failed_at_s is not None and failed_at_s + BEHIND_S < case.seconds:
        guesses.append({"seconds": max(SHORTEST_S, round(failed_at_s + BEHIND_S, 1))})
    for what in ("clients", "faults"):
        if hinted := tuple(one for one in getattr(case, what) if one in hints):
            guesses.append({what: hinted})
    for guess in guesses:
        if (smaller := dataclasses.replace(case, **guess)) != case and fails(smaller):
            case = smaller
    for what in ("clients", "faults"):
        rest = fewer(getattr(case, what), lambda items, what=what: fails(dataclasses.replace(case, **{what: items})))
        case = dataclasses.replace(case, **{what: rest})
    return shorter(case, fails)
