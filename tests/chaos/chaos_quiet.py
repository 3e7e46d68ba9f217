"""What a server holds when nobody asks it for anything, and what of it is more than before."""

import contextlib
import dataclasses
import os
import pathlib
import re
import time

import numpy as np
from support.python_models import children
from support.server import usage

QUIET_EVERY_S, REST_S = 600, 30
SLOPE_OVER_S = 3600  # the last of a run
SETTLES_S = 20  # idle connections and drained instances go by themselves
# Worker threads of pools and kept buffers come with use; a leak of a run is more than these.
MORE_THREADS, MORE_DESCRIPTORS = 4, 8
# A run of a minute cannot tell a slow leak from caches that fill; two hours' quiet points can, by their slope.
MORE_MEMORY = 96 << 20
SLOPE_SHARE, SLOPE_BYTES = 0.02, 8 << 20
# Traces are written on purpose, those of a count that has run out to files with numbers; a pool's records are another server's;
# Python keeps what it has compiled.
IGNORED = re.compile(r"__pycache__|trace\.json(\.\d+)?|pool|pki|program|lost\+found")


def shared_objects():
    return frozenset(os.listdir("/dev/shm"))


def temporary(world):
    """What is in the server's folder for temporary files, which are gone when it has ended."""
    return sorted(path.name for path in world.temporary.iterdir() if not IGNORED.fullmatch(path.name))


def ours(names):
    """Without those of /dev/shm that some process uses: another run's, or another test's. What is left behind nobody uses."""
    foreign = set()
    for maps in pathlib.Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            text = maps.read_text()
            foreign |= {name for name in names if f"/dev/shm/{name}\n" in text}
    return frozenset(name for name in names if name not in foreign)


def neighbours(world):
    """The other servers of the run, as far as they run. An instance of the pool is started anew by faults, and is not measured."""
    pool, program = world.places.pool, world.places.program
    processes = {"the pool": pool and pool.pools.server.process, "the program": program and program.process}
    return [(name, process.pid) for name, process in processes.items() if process is not None and process.poll() is None]


def measure(world):
    """{what: number, or names}"""
    own = usage(world.pid)
    found = {"threads": own["threads"], "descriptors": own["descriptors"], "memory": own["resident_bytes"]}
    workers = []
    for child in children(world.pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            workers.append(usage(child))
    found["processes"] = len(workers)
    # Only the most of any worker: which one is which changes whenever one is started anew.
    for what in ("threads", "descriptors"):
        found[f"a worker's {what}"] = max((worker[what] for worker in workers), default=0)
    found["a worker's memory"] = max((worker["resident_bytes"] for worker in workers), default=0)
    for name, pid in neighbours(world):
        used = usage(pid)
        found |= {f"{name}'s threads": used["threads"], f"{name}'s descriptors": used["descriptors"],
                  f"{name}'s memory": used["resident_bytes"]}
    found["/dev/shm"] = ours(shared_objects())
    found["files"] = frozenset(str(path.relative_to(world.folder)) for path in pathlib.Path(world.folder).rglob("*")
                               if not any(map(IGNORED.fullmatch, path.relative_to(world.folder).parts)))
    return found


def more_than(before, now):
    """What is left, in words; empty: nothing."""
    left = []
    for what, value in now.items():
        old = before[what]
        if isinstance(value, frozenset):
            left += [f"{what}: {name} is left" for name in sorted(value - old)]
        elif value > old + _slack(what):
            left.append(f"{what}: {value}, before {old}")
        elif what == "processes" and value < old:
            left.append(f"{what}: {value}, before {old}")
    return left


def _slack(what):
    if what.endswith("memory"):
        return MORE_MEMORY
    return MORE_THREADS if what.endswith("threads") else MORE_DESCRIPTORS if what.endswith("descriptors") else 0


@dataclasses.dataclass(frozen=True)
class Slope:
    per_hour: float  # bytes
    first: float  # bytes, at the first of the points
    over_s: float
    count: int  # points


def slopes(points):
    """{what of memory: Slope} over the last hour. points: [(time in s, measure())], at the quiet points of a run"""
    last = [(at, found) for at, found in points if at >= points[-1][0] - SLOPE_OVER_S]
    if len(last) < 2:
        return {}
    times = np.array([at for at, _ in last]) / 3600
    found = {}
    for what in (what for what in last[0][1] if what.endswith("memory") and all(what in measured for _, measured in last)):
        sizes = np.array([measured[what] for _, measured in last], float)
        found[what] = Slope(float(np.polyfit(times, sizes, 1)[0]), float(sizes[0]), last[-1][0] - last[0][0], len(last))
    return found


def growth(points):
    """What grew too fast over the last hour, in words; runs that are shorter than an hour are not judged by their slope."""
    if not points or points[-1][0] - points[0][0] < SLOPE_OVER_S:
        return []
    return [f"{what}: grew by {slope.per_hour / (1 << 20):.1f} MiB an hour from {slope.first / (1 << 20):.1f} MiB"
            for what, slope in slopes(points).items() if slope.per_hour > max(SLOPE_SHARE * slope.first, SLOPE_BYTES)]


def left(world, before):
    """As more_than(), once it is empty or has had its time."""
    deadline = time.monotonic() + SETTLES_S
    while True:
        found = more_than(before, measure(world))
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.2)
