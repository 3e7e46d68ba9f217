"""Which errors a fault excuses while it is on, of which models, and why. Whatever is not here must not happen."""

import dataclasses

from chaos_oracle import CONNECTION, IN_PROGRAM

EVERY = frozenset({"*"})  # of the server that faults are injected into; leased models, and those of a program, are others'
LEASED = frozenset({"leased"})
PYTHON = frozenset({"py", "gen"})


@dataclasses.dataclass(frozen=True)
class Allowance:
    models: frozenset
    codes: frozenset
    reason: str

    def excuses(self, model, code):
        every = model not in LEASED and not model.startswith(IN_PROGRAM)
        return (every if self.models is EVERY else model in self.models) and code in self.codes


# The kinds that are not here excuse nothing: reload, broken reload, plugin, load, broken load, poll, certificates, stop, redis,
# slow, half-closed, hostile, full disk, read-only disk, slow disk, clock.
ALLOWED = {
    "kill": (Allowance(PYTHON, frozenset({"UNAVAILABLE"}),
                       "requests that the killed worker had, or that come before the next one runs, are UNAVAILABLE"),),
    "launched": (Allowance(LEASED, frozenset({"UNAVAILABLE", "NOT_FOUND", "INTERNAL"}),
                           "a leased model is UNAVAILABLE until its instance has been started anew and has loaded it"),),
    "descriptors": (
        Allowance(EVERY, frozenset({CONNECTION, "UNAVAILABLE"}), "connections beyond the limit wait or are closed"),
        Allowance(PYTHON, frozenset({"INTERNAL", "RESOURCE_EXHAUSTED"}), "a worker's memory is handed over as descriptors")),
    "memory": (
        Allowance(EVERY, frozenset({CONNECTION, "UNAVAILABLE", "INTERNAL", "RESOURCE_EXHAUSTED"}),
                  "what there is no memory for fails, or its connection is closed"),),
}
