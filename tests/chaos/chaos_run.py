"""One run: a server, clients of every kind, and faults against both of them, as the plan says."""

import contextlib
import dataclasses
import random
import signal
import tempfile
import threading
import time

import chaos_actors
import chaos_clients
import chaos_disks
import chaos_faults
import chaos_neighbours
import chaos_places
import chaos_plan
import chaos_quiet
import chaos_wishes
from chaos_allowances import ALLOWED
from chaos_oracle import OWN, Ledger
from chaos_results import Result
from chaos_world import World
from support.python_models import children

FAULTS = {**chaos_faults.FAULTS, **chaos_clients.FAULTS, **chaos_neighbours.FAULTS, **chaos_disks.FAULTS}
ANSWERS = 1000  # of each kind of client, in a whole run
WARM_UP_ANSWERS = 40
WARM_UP_S = 60
# How much longer a run may take until each kind of fault has happened and each client has its answers, on a slow machine.
EXTRA_S = 30
# A part of a run that is not its first draws its kinds of faults: from this length on each of them has been drawn.
WHOLE_PART_S = 600


def kinds_of_clients(impossible, wanted):
    """Those of the wanted ones that this build and this machine can have."""
    return [kind for kind in chaos_actors.KINDS if f"{kind.kind} clients" not in impossible and kind.kind in wanted]


class Run:
    def __init__(self, case, quiet_every_s=chaos_quiet.QUIET_EVERY_S, is_whole=True, from_s=0.0):
        """is_whole: whether everything has to happen that can, if there is time for it; from_s: the part of the case before it has
        been run by another one"""
        self.seconds, self.sabotage, self._quiet_every_s = case.seconds - from_s, case.sabotage, quiet_every_s
        self._drawn_from = f"{case.seed}/{from_s:g}" if from_s else f"{case.seed}"
        self._has_all = is_whole and self.seconds >= (WHOLE_PART_S if from_s else chaos_plan.WHOLE_RUN_S)
        self._actors, self._points = [], []
        self.result = Result(case.seed, self.seconds, impossible=chaos_places.impossible())
        drawn = chaos_plan.draw(case.seed, case.seconds, self.result.impossible, case.faults)
        self.plan = [dataclasses.replace(one, at_s=one.at_s - from_s) for one in drawn if one.at_s >= from_s]
        self.stopped = threading.Event()  # by whoever wants the run to end before its time, in good order
        self.clients = kinds_of_clients(self.result.impossible, case.clients)
        self.ledger = Ledger(ALLOWED)
        self.end = threading.Event()
        self._lock = threading.Lock()
        self.left = []

    def log(self, text):
        with self._lock:
            print(f"{time.monotonic() - self.began:8.2f} s  {text}", flush=True)

    def go(self):
        self.began = time.monotonic()
        shared = chaos_quiet.shared_objects()
        with tempfile.TemporaryDirectory(prefix="atoll-chaos-", ignore_cleanup_errors=True) as folder:
            world = World(folder, self.sabotage)
            with chaos_places.Places(folder, self._left_out()) as world.places, world:
                world.workers = len(children(world.pid))
                self._serve(world)
                self._stop(world)
            self._judge_end_of(world.places.program)
        self.left += [f"/dev/shm: {name} is left" for name in sorted(chaos_quiet.ours(chaos_quiet.shared_objects() - shared))]
        return self._sum_up()

    def _left_out(self):
        """What cannot be had, and servers of which nobody asks anything: then a run is over sooner."""
        found, kinds = set(self.result.impossible), {kind.kind for kind in self.clients}
        if "leased" not in kinds and not {"launched", "clock"} & {injection.kind for injection in self.plan}:
            found.add("launched")
        return found if "c_api" in kinds else found | {"c_api clients"}

    def _serve(self, world):
        self.warm_up(world)
        before = chaos_quiet.measure(world)
        self.log(f"quiet before: {_brief(before)}")
        self.started = time.monotonic()
        self._points.append((0.0, before))
        self._start_actors(world)
        lanes = [threading.Thread(target=self._lane, args=(world, lane), daemon=True) for lane in chaos_plan.LANES]
        for lane in lanes:
            lane.start()
        self._wait(world, lanes)
        self.end.set()
        for lane in lanes:
            lane.join()
        self._end_actors(self._actors)
        if world.server.process.poll() is None:
            self._load_files(world)  # what could not be removed while a fault was on, goes with the next files that come
            self.left += chaos_quiet.left(world, before)
            self._points.append((self._elapsed(), chaos_quiet.measure(world)))
            self.log(f"quiet after: {_brief(self._points[-1][1])}")
            self.left += chaos_quiet.growth(self._points)
            for what, slope in self.slopes().items():
                self.log(f"{what}: {slope.per_hour / (1 << 20):+.1f} MiB an hour, by {slope.count} points in {slope.over_s:.0f} s")

    def warm_up(self, world):
        """What comes with the first requests is there before anything is measured."""
        ledger = Ledger({})
        actors = [kind(world, ledger, f"{self._drawn_from}/warm") for kind in self.clients]
        for actor in actors:
            actor.start()
        deadline = time.monotonic() + WARM_UP_S
        while min((ledger.answers[actor.kind] for actor in actors), default=WARM_UP_ANSWERS) < WARM_UP_ANSWERS and time.monotonic() < deadline:
            time.sleep(0.05)
        self._end_actors(actors)
        self._load_files(world)  # the server keeps a folder for what clients send, from the first time on
        for failure in ledger.failures:
            if self.sabotage is None:
                self.ledger.fail(f"before any fault: {failure}")

    def _load_files(self, world):
        if "full disk" not in self.result.impossible:
            chaos_disks.load_files(world)

    def _start_actors(self, world):
        """Those after a quiet point draw other things than those before it."""
        self._actors = [kind(world, self.ledger, f"{self._drawn_from}/{len(self._points)}") for kind in self.clients]
        for actor in self._actors:
            actor.start()

    def _quiet_point(self, world):
        """Nobody asks, and nothing is being changed."""
        with world.configuring, world.processing:
            self._end_actors(self._actors)
            self.end.wait(chaos_quiet.REST_S)
            self._points.append((self._elapsed(), chaos_quiet.measure(world)))
        self.log(f"quiet: {_brief(self._points[-1][1])}")
        self._start_actors(world)

    def _end_actors(self, actors):
        for actor in actors:
            actor.end.set()
        for actor in actors:
            actor.join(2 * chaos_faults.RECOVERY_S)
            if actor.is_alive():
                self.ledger.fail(f"{actor.kind}: its client does not end")

    def slopes(self):
        """Of memory, over the last hour or as long as the run was: {what: chaos_quiet.Slope}."""
        return chaos_quiet.slopes(self._points)

    def points(self):
        """The quiet points, in numbers: [(s, {what: number})]."""
        return [(round(at, 1), {what: value for what, value in found.items() if isinstance(value, int)}) for at, found in self._points]

    def failed_at_s(self):
        """When the first failure of all was seen, or None."""
        return self.ledger.failed_at and max(0.0, self.ledger.failed_at - self.started)

    def _elapsed(self):
        return time.monotonic() - self.started

    def _wait(self, world, lanes):
        """Until the time is over; a little longer while something that the run has to have is missing."""
        while self._elapsed() < self.seconds + EXTRA_S:
            if world.server.process.poll() is not None:
                return
            self.ledger.behind = frozenset(self._behind() if self._has_all else ())
            if self.stopped.is_set():
                self.result.seconds = min(self.result.seconds, round(self._elapsed(), 1))
                self._has_all = False
                return
            if self._elapsed() >= self.seconds and not self._missing():
                return
            if self._quiet_every_s < self._elapsed() - self._points[-1][0] and self._elapsed() < self.seconds:
                self._quiet_point(world)
            time.sleep(0.1)

    def _missing(self):
        """What a whole run has to have and this one has not, in words."""
        if not self._has_all:
            return []
        found = [f"{kind} {self.result.injected[kind]}" for kind in chaos_plan.KINDS
                 if kind not in self.result.impossible and not self.result.injected[kind]]
        found += [f"{wish}s of {kind.kind} 0" for kind in self.clients for wish in kind.wishes
                  if not any(self.ledger.documented[OWN, kind.kind, code] for code in chaos_wishes.CODES[wish])]
        return found + [f"answers of {kind} {self.ledger.answers[kind]}" for kind in self._behind()]

    def _behind(self):
        return [kind.kind for kind in self.clients if self.ledger.answers[kind.kind] < ANSWERS]

    def _lane(self, world, lane):
        for injection in self.plan:
            if injection.lane != lane:
                continue
            self.end.wait(max(0.0, injection.at_s - self._elapsed()))
            if self.end.is_set():
                return
            self._inject(world, injection)

    def _inject(self, world, injection):
        site = chaos_faults.Site(world, self.ledger, random.Random(injection.seed), self.end)
        window = self.ledger.fault(injection.kind)
        try:
            what = FAULTS[injection.kind](site)
        except Exception as error:
            if world.server.process.poll() is None:
                self.ledger.fail(f"{injection.kind}: {type(error).__name__}: {str(error)[:1500]}")
            what = "FAILED"
        finally:
            self.ledger.close(window)
        with self._lock:
            self.result.injected[injection.kind] += 1
        self.log(f"{injection.kind}: {what} (took {window.ended - window.began:.2f} s)")

    def _stop(self, world):
        code = world.server.process.poll()
        if code is None:
            with contextlib.suppress(Exception):
                code = world.stop()
        if code == 0:
            self.left += [f"files: {name} is left at the end" for name in chaos_quiet.temporary(world)]
        else:
            self.result.deaths += 1
            self.log(f"the server ended with {code}; its log's end:\n" + "\n".join(world.server.lines[-40:]))

    def _judge_end_of(self, program):
        if program is not None and program.code != 0:
            self.result.deaths += 1
            self.log(f"the program with a server inside ended with {program.code}; its log's end:\n{program.log[-4000:]}")

    def _sum_up(self):
        result = self.result
        result.right, result.wrong = self.ledger.right, self.ledger.wrong
        result.documented, result.left = sum(self.ledger.documented.values()), len(self.left)
        result.too_few = self._missing()
        for client, count in sorted(self.ledger.answers.items()):
            self.log(f"answers of {client}: {count}")
        for (fault, client, code), count in sorted(self.ledger.documented.items()):
            self.log(f"documented by {fault}: {client} {code} {count}")
        for failure in self.ledger.failures:
            self.log(f"WRONG: {failure}")
        for one in self.left:
            self.log(f"LEFT: {one}")
        return result


def _brief(measured):
    return ", ".join(f"{what} {len(value) if isinstance(value, frozenset) else value}" for what, value in measured.items())
