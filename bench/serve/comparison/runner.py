"""The measurement: repetitions of all cases, in each of them one server after the other."""

import statistics
import subprocess
import time

import grpc

from . import cases, h2load, idle, messages

CHOICE_ROUNDS = 3
FAULTS = (h2load.BadRun, messages.WrongAnswer, grpc.RpcError, subprocess.SubprocessError, OSError, RuntimeError)


class Runner:
    """`say` is given each line of progress."""

    def __init__(self, options, peers, workloads, generator, regions, say):
        self._options = options
        self._peers = peers
        self._workloads = workloads
        self._generator = generator
        self._regions = regions
        self._say = say
        # (case, peer's name) -> the samples of the repetitions, in their order.
        self.samples = {}
        # (case, peer's name) -> why it has no figures.
        self.faults = {}
        # Peer's name -> bytes of an idle connection in the repetitions, in their order.
        self.idle = {}
        # (group, peer's name) -> the label of the server that was fastest.
        self.chosen = {}

    def run(self):
        plan = [(case, peer) for case in self._options.cases for peer in self._peers if peer.supports(case)]
        self._steps = len(plan) * self._options.repetitions
        self._done = 0
        self._begin = time.monotonic()
        try:
            for repetition in range(self._options.repetitions):
                if self._options.idle_connections:
                    self._measure_idle()
                self._start()
                for index, case in enumerate(self._options.cases):
                    able = [peer for peer in self._peers if peer.supports(case)]
                    # Nobody is always first, or always after the same neighbour.
                    for place in range(len(able)):
                        self._step(repetition, case, able[(place + index + repetition) % len(able)])
                self._stop()
        finally:
            self._stop()

    def _start(self):
        """New processes in each repetition, as memory layout is a matter of luck and decides some percent."""
        for peer in self._peers:
            able = [case for case in self._options.cases if peer.supports(case)]
            self._say(f"starting {peer.name}")
            peer.start(sorted({case.model for case in able}))
            if any(case.protocol == cases.SHM for case in able):
                peer.servers[0].register_regions()
            peer.pause()

    def _stop(self):
        for peer in self._peers:
            peer.stop()

    def _measure_idle(self):
        """On servers of its own: what others have freed would take connections in."""
        self._start()
        for peer in self._peers:
            if cases.GRPC not in peer.protocols:
                continue
            server = peer.servers[0]
            server.process.resume()
            try:
                each = idle.bytes_each(server, self._options.idle_connections)
                self.idle.setdefault(peer.name, []).append(each)
                self._say(f"{peer.name}: {each / 1024:.1f} KiB for each of {self._options.idle_connections} idle connections")
            except FAULTS as fault:
                self._say(f"{peer.name}, idle connections: FAILED: {fault}")
                self.faults.setdefault((cases.Case("idle", cases.GRPC, 0, self._options.idle_connections), peer.name), str(fault))
            finally:
                server.process.pause()
        self._stop()

    def _step(self, repetition, case, peer):
        self._done += 1
        head = f"[{self._done}/{self._steps}] repetition {repetition + 1} {case.name} {peer.name}: "
        try:
            sample = self._measure(case, peer)
        except FAULTS as fault:
            text = " ".join(str(fault).split())[:500] or type(fault).__name__
            self.faults.setdefault((case, peer.name), text)
            self._say(f"{head}FAILED: {text}")
            return
        self.samples.setdefault((case, peer.name), []).append(sample)
        left = (time.monotonic() - self._begin) / self._done * (self._steps - self._done)
        self._say(f"{head}{sample.throughput:,.0f}/s, {sample.cpu:.1f} us CPU a request, about {left / 60:.0f} min left")

    def _measure(self, case, peer):
        if (sample := peer.measure(case)) is not None:
            return sample
        servers = peer.servers_for(case)
        if len(servers) == 1:
            return self._measure_server(case, peer, servers[0], self._options.seconds)
        key = (case.group, peer.name)
        if key not in self.chosen:
            self.chosen[key] = self._fastest(case, peer, servers)
            self._say(f"{peer.name}, {case.group}: {self.chosen[key]} is the fastest")
        server = next(server for server in servers if server.label == self.chosen[key])
        return self._measure_server(case, peer, server, self._options.seconds)

    def _fastest(self, case, peer, servers):
        """Compared where most requests of the group are in flight."""
        busiest = max((c for c in self._options.cases if c.group == case.group), key=lambda c: c.concurrency)
        seconds = min(1.0, self._options.seconds)
        reached = {server.label: [] for server in servers}
        for _ in range(CHOICE_ROUNDS):
            for server in servers:
                reached[server.label].append(self._measure_server(busiest, peer, server, seconds).throughput)
        return max(reached, key=lambda label: statistics.median(reached[label]))

    def _measure_server(self, case, peer, server, seconds):
        workload = self._workloads[case.model]
        server.process.resume()
        try:
            server.process.check_alive()
            size = peer.answer_bytes(case, server, workload, self._regions)
            rate = self._generator.warm_up(case, server, workload, size)
            return self._generator.run(case, server, workload, size, seconds, rate)
        finally:
            server.process.pause()

    def complete(self, case, peer_name):
        """The samples, one a repetition; none if a repetition failed."""
        found = self.samples.get((case, peer_name), [])
        return found if len(found) == self._options.repetitions else []
