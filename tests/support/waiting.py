"""Waiting for what a test looks at."""

import time

from .server import START_TIMEOUT_S

PAUSE_S = 0.02


def eventually(condition, timeout_s=START_TIMEOUT_S, say=None, pause_s=PAUSE_S):
    """Returns what the condition gives, as soon as that is true. The time bounds only how long a failing test waits.

    say: what the failure says, such as a log"""
    deadline = time.monotonic() + timeout_s
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not in {timeout_s} s{': ' + say() if say else ''}"
        time.sleep(pause_s)
    return value
