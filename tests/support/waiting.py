"""Waiting for what a test looks at."""

import time

from .server import START_TIMEOUT_S

PAUSE_S = 0.02


def eventually(condition, timeout_s=START_TIMEOUT_S):
    """Returns as soon as the condition holds. The time bounds only how long a failing test waits."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(PAUSE_S)
