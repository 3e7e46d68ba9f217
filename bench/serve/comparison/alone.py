"""What the code of a Python model does in a second by itself: one process on the server's core, without a server."""

import json
import subprocess
import sys
import time

from . import repositories, stats
from .load import Sample
from .process import core_busy, cpu_of_ended_children, pinned

GRACE_S = 30


def measure(options, label, warm_up, seconds):
    """The Sample of `seconds` after so much warm-up; nobody else's process may end meanwhile."""
    _run(options, warm_up)
    core = options.server_core
    (user, system), (busy, steal), begin = cpu_of_ended_children(), core_busy(core), time.monotonic()
    done = _run(options, seconds)
    user, system = (after - before for after, before in zip(cpu_of_ended_children(), (user, system)))
    (busy_after, steal_after), wall = core_busy(core), time.monotonic() - begin
    latencies = done["latencies"]
    count = len(latencies)
    percentiles = [stats.percentile(latencies, percent) for percent in (50, 99, 99.9)]
    foreign = max(0.0, busy_after - busy - user - system) + steal_after - steal
    return Sample(label, "itself", count, count / done["seconds"], *percentiles, user * 1e6 / count, system * 1e6 / count,
                  0, (user + system) / wall, 0.0, foreign / wall)


def _run(options, seconds):
    command = pinned(options.server_core, [sys.executable, repositories.PYTHON_CODE["python_busy"], seconds])
    done = subprocess.run(command, capture_output=True, text=True, timeout=4 * seconds + GRACE_S, check=True)
    return json.loads(done.stdout)
