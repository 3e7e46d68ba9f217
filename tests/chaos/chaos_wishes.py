"""What a client may wish of a request beside its answer: a deadline, or that it is cancelled."""

import dataclasses

from chaos_oracle import DEADLINE_S

# Of seconds. The model that is asked takes 4 ms for a request and has some that wait.
SHORTEST_S, LONGEST_S = 0.0005, 0.03
# The codes by which a request with the wish may end in place of its answer.
CODES = {"": frozenset(), "deadline": frozenset({"DEADLINE_EXCEEDED"}), "timeout": frozenset({"UNAVAILABLE"}),
         "cancel": frozenset({"CANCELLED"})}


@dataclasses.dataclass(frozen=True)
class Wish:
    """kind: "" for none, "deadline" of the call, "timeout" in the scheduler's queue, "cancel" by the client"""
    kind: str
    after_s: float = 0.0

    @staticmethod
    def draw(rng, kinds):
        return Wish(rng.choice(kinds), rng.uniform(SHORTEST_S, LONGEST_S))

    @property
    def codes(self):
        return CODES[self.kind]

    @property
    def limit_s(self):
        """The time within which the request has to have come to an end, whichever it is."""
        return self.after_s if self.kind else DEADLINE_S

    @property
    def in_program(self):
        """As tests/chaos/chaos_program.py reads it."""
        if self.kind == "timeout":
            return {"timeout_us": round(self.after_s * 1e6)}
        return {"cancel_after_s": self.after_s} if self.kind == "cancel" else {}
