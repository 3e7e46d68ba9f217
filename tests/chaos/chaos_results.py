"""What a run has found; and the file in which runs of one seed, of hours each, add up."""

import collections
import dataclasses
import json
import pathlib

import chaos_plan


@dataclasses.dataclass
class Result:
    """Of a run, or of all parts of one."""
    seed: int
    seconds: float
    right: int = 0
    documented: int = 0
    wrong: int = 0
    deaths: int = 0
    left: int = 0
    injected: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    impossible: dict = dataclasses.field(default_factory=dict)
    too_few: list = dataclasses.field(default_factory=list)

    @property
    def held(self):
        return not (self.wrong or self.deaths or self.left or self.too_few)

    def __str__(self):
        injected = ", ".join(f"{kind} {self.injected[kind]}" for kind in chaos_plan.KINDS if kind not in self.impossible)
        line = (f"chaos: seed {self.seed}, {self.seconds:g} s: {self.right} right, {self.documented} documented errors, "
                f"{self.wrong} wrong, {self.deaths} deaths, {self.left} left; injected: {injected}")
        if self.impossible:
            line += "; not possible here: " + ", ".join(f"{kind} ({why})" for kind, why in self.impossible.items())
        if self.too_few:
            line += "; too few: " + ", ".join(self.too_few)
        return line


COUNTED = ("right", "documented", "wrong", "deaths", "left")


def added(results):
    """One for all parts of a seed. results: at least one, in their order"""
    total = Result(results[0].seed, sum(result.seconds for result in results))
    for result in results:
        for name in COUNTED:
            setattr(total, name, getattr(total, name) + getattr(result, name))
        total.injected += result.injected
        total.impossible |= result.impossible
        total.too_few += result.too_few
    return total


class Results:
    """A file of lines, each a part of a run as JSON: "result", "case", "from_s", and what else the part has to say."""

    def __init__(self, path):
        self._path = pathlib.Path(path)

    def parts(self, case):
        """[(from_s, Result)] of the parts of this case that are there, in their order. case: a chaos_reduce.Case"""
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        found = [record for record in map(json.loads, lines) if record["case"] == _identity(case)]
        return sorted(((record["from_s"], _result(record["result"])) for record in found), key=lambda part: part[0])

    def add(self, case, from_s, result, **more):
        """A part that has ended. A line is written as a whole, and is on the disk when this returns."""
        record = {"case": _identity(case), "from_s": from_s, "result": vars(result), **more}
        with open(self._path, "a") as file:
            file.write(json.dumps(record) + "\n")


def _identity(case):
    """What has to be the same for parts to add up: all but the length, which may be lengthened."""
    known = json.loads(json.dumps(dataclasses.asdict(case)))
    del known["seconds"]
    return known


def _result(record):
    return Result(**{**record, "injected": collections.Counter(record["injected"])})
