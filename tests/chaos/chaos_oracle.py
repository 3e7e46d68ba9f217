"""What answers have to be, computed from the requests with numpy, and what becomes of each request.

Nothing here is the server's code, nor is it told anything by the server but the answer that it judges."""

import collections
import dataclasses
import threading
import time

import numpy as np

DEADLINE_S = 30  # what clients wait for an answer
OWN = "its client's wish"  # in place of a fault: a client that cancels or sets a deadline wants its error
BOUND_S = 15  # how much later the client itself may come to look at it: the machine may be loaded
EXAMPLES = 40  # failures that are kept with their text

NO_ANSWER = "NO ANSWER"
CONNECTION = "CONNECTION"

IN_PROGRAM = "inner_"  # begins the names of the models that the program with a server inside has
# What the models of the run make of INPUT0.
MEANINGS = {
    "echo": lambda values: values,
    "slow": lambda values: values,
    "echo2": lambda values: values,
    "wide": lambda values: values,
    "cached": lambda values: values,
    "leased": lambda values: values,
    "add": lambda values: values + np.float32(1),
    "dyn": lambda values: values + np.float32(2),
    "pipe": lambda values: values + np.float32(1) + np.float32(2),
    "py": lambda values: values + np.float32(5),
    "polled": lambda values: values + np.float32(9),
}


def expected(model, values):
    return MEANINGS[model.removeprefix(IN_PROGRAM)](np.asarray(values, np.float32))


def expected_text(text):
    """Of the model that generates: a piece for each character, which is the next one of the alphabet."""
    return "".join(chr((ord(letter) - ord("a") + 1) % 26 + ord("a")) for letter in text)


def same(found, wanted):
    """By value, shape and type; an answer that is no array is not the same as anything."""
    if found is None:
        return False
    found, wanted = np.asarray(found), np.asarray(wanted)
    return found.shape == wanted.shape and found.dtype == wanted.dtype and bool((found == wanted).all())


class Refusal(Exception):
    """An error in place of an answer. code: the name of gRPC's code, NO_ANSWER or CONNECTION"""

    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")
        self.code = code


@dataclasses.dataclass
class Window:
    """The time in which a fault is on, until what it hit has been seen to work again."""
    fault: str
    began: float
    ended: float = float("inf")


class Ledger:
    """Counts what becomes of requests. Safe from any thread."""

    def __init__(self, allowances):
        """allowances: {kind of fault: the errors that it excuses}, as chaos_allowances.ALLOWED"""
        self._allowances = allowances
        self._lock = threading.Lock()
        self._windows = []
        self.answers = collections.Counter()  # by kind of client
        self.documented = collections.Counter()  # by (fault, kind of client, code)
        self.wrong = 0
        self.failures = []
        self.behind = frozenset()  # kinds of clients that have too few answers so far
        self.failing = set()  # the first words of failures: a kind of client, or of fault
        self.failed_at = None  # the first time, of time.monotonic()

    @property
    def right(self):
        return sum(self.answers.values())

    def fault(self, kind):
        """A window that is open; close() ends it."""
        window = Window(kind, time.monotonic())
        with self._lock:
            self._windows.append(window)
        return window

    def close(self, window):
        window.ended = time.monotonic()

    def answered(self, client, model, began, found, wanted, what="", limit_s=DEADLINE_S):
        """One answer; those later than limit_s are wrong too."""
        took = time.monotonic() - began
        if not same(found, wanted):
            return self.fail(f"{client}: {model}: {what or 'an answer'} is {_brief(found)}, not {_brief(wanted)}")
        if took > limit_s + BOUND_S:
            return self.fail(f"{client}: {model}: answered after {took:.1f} s, not within {limit_s:g} s")
        with self._lock:
            self.answers[client] += 1

    def refused(self, client, model, began, refusal, own=(), limit_s=DEADLINE_S):
        """One error: documented if the client wished for it, or if a fault that was on meanwhile excuses it.
        own: the codes that the request may have by its client's wish; then it has to have one within limit_s"""
        took = time.monotonic() - began
        if refusal.code in own and took > limit_s + BOUND_S:
            return self.fail(f"{client}: {model}: {refusal} after {took:.1f} s, not within {limit_s:g} s")
        fault = OWN if refusal.code in own else self._excuse(model, began, refusal)
        if fault is None:
            on = sorted({window.fault for window in self._overlapping(began)})
            return self.fail(f"{client}: {model}: {refusal} (on meanwhile: {', '.join(on) or 'nothing'})")
        with self._lock:
            self.documented[fault, client, refusal.code] += 1

    def fail(self, text):
        with self._lock:
            self.wrong += 1
            self.failing.add(text.partition(":")[0])
            self.failed_at = self.failed_at or time.monotonic()
            if len(self.failures) < EXAMPLES:
                self.failures.append(text)

    def _overlapping(self, began):
        with self._lock:
            return [window for window in self._windows if window.ended >= began]

    def _excuse(self, model, began, refusal):
        for window in self._overlapping(began):
            for allowance in self._allowances.get(window.fault, ()):
                if allowance.excuses(model, refusal.code):
                    return window.fault
        return None


def _brief(value):
    text = repr(value).replace("\n", " ")
    return text if len(text) < 120 else text[:117] + "..."
