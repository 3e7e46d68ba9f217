"""One run of a load generator against one server, and what the server and the machine did meanwhile."""

import dataclasses
import json
import resource
import subprocess
import time

from . import cases, h2load, messages, stats
from .process import core_busy, pinned

STREAM_LOAD = "stream_load"
STREAMS = (cases.STREAM, cases.ONE_STREAM)
# A run that takes this many times its seconds, and then some more, is killed.
MOST_TIMES_LONGER = 4
GRACE_S = 30
# Requests of the first warm-up run, for each in flight.
WARM_UP_FIRST = 8
GRPC_HEADERS = (("content-type", "application/grpc"), ("te", "trailers"))


@dataclasses.dataclass(frozen=True)
class Sample:
    """The figures of one run. Times are microseconds; CPU is that of a request; a core's share is of the run's time."""
    server: str
    generator: str
    requests: int
    throughput: float
    p50: float
    p99: float
    p999: float
    cpu_user: float
    cpu_system: float
    peak_bytes: int
    server_share: float
    client_share: float
    # Of both cores: what other processes, or other guests of the host, took.
    foreign_share: float

    @property
    def cpu(self):
        return self.cpu_user + self.cpu_system


class LoadGenerator:
    """Runs a generator pinned to the client's core; its files go to `folder`. Over gRPC a run of h2load ends by its number
    of requests, so that no server is left with cancelled ones. Over HTTP/1.1, where h2load gives each connection a share
    of that number and the slow ones would end alone, it ends by time."""

    def __init__(self, options, folder):
        self._options = options
        self._message = folder / "message"
        self._log = folder / "log"

    def warm_up(self, case, server, workload, answer_bytes):
        """Requests for a while, in runs that grow; how many a second there were in the last."""
        count = WARM_UP_FIRST * case.in_flight
        deadline = time.monotonic() + self._options.warm_up
        while True:
            log = self._drive(case, server, workload, answer_bytes, self._options.warm_up, count)
            if time.monotonic() >= deadline:
                return len(log.latencies) / log.seconds
            count *= 2

    def run(self, case, server, workload, answer_bytes, seconds, rate):
        """Sample; BadRun or TimeoutExpired if the run does not count. `rate` is that of the warm-up."""
        server.process.forget_peak()
        watch = Watch(self._options, server)
        count = max(round(rate * seconds), 4 * case.in_flight)
        log = self._drive(case, server, workload, answer_bytes, seconds, count, watch)
        done = len(log.latencies)
        percentiles = [stats.percentile(log.latencies, percent) for percent in (50, 99, 99.9)]
        generator = STREAM_LOAD if case.protocol in STREAMS else h2load.NAME
        return Sample(server.label, generator, done, done / log.seconds, *percentiles, *watch.cpu_each(done),
                      server.process.peak_bytes(), *watch.shares())

    def _drive(self, case, server, workload, answer_bytes, seconds, count, watch=None):
        """The checked log of one run. Which of `seconds` and `count` limits it is a matter of the protocol."""
        request = workload.request(case.protocol)
        over_http = case.protocol in (cases.HTTP, cases.JSON)
        self._message.write_bytes(request.body if over_http else messages.grpc_frame(request.body))
        self._log.unlink(missing_ok=True)
        if case.protocol in STREAMS:
            streams, in_flight = (1, case.concurrency) if case.protocol == cases.ONE_STREAM else (case.concurrency, 1)
            command = [self._options.bench_build / "bench" / STREAM_LOAD, "--port", server.port(case), "--path",
                       request.path, "--message", self._message, "--log", self._log, "--streams", streams,
                       "--in-flight", in_flight, "--seconds", seconds]
        else:
            limit = h2load.for_seconds(seconds) if over_http else h2load.for_requests(count)
            headers = request.headers if over_http else GRPC_HEADERS
            url = f"http://127.0.0.1:{server.port(case)}{request.path}"
            command = h2load.command(url, self._message, headers, case, limit, self._log, over_http)
        output = self._run(command, seconds)
        if watch is not None:
            watch.stop()
        done = self._check(case, output, answer_bytes)
        log = h2load.read_log(self._log)
        if len(log.latencies) != done:
            raise h2load.BadRun(f"{done} requests were answered, {len(log.latencies)} are in the log")
        return log

    def _run(self, command, seconds):
        done = subprocess.run(pinned(self._options.client_core, command), capture_output=True, text=True,
                              timeout=MOST_TIMES_LONGER * seconds + GRACE_S)
        if done.returncode != 0:
            raise h2load.BadRun(f"{command[0]} failed: {(done.stderr or done.stdout)[-500:]}")
        return done.stdout

    @staticmethod
    def _check(case, output, answer_bytes):
        """How many requests the generator says were answered."""
        if case.protocol in STREAMS:
            summary = json.loads(output)
            if summary["completed"] == 0 or summary["answer_bytes"] != answer_bytes:
                raise h2load.BadRun(f"expected answers of {answer_bytes} bytes: {summary}")
            return summary["completed"]
        summary = h2load.parse_summary(output)
        h2load.check(summary, answer_bytes, case.concurrency if case.protocol in (cases.HTTP, cases.JSON) else 0)
        return summary.done


class Watch:
    """What the server, the client and the two cores spend between creation and stop()."""

    def __init__(self, options, server):
        self._options = options
        self._process = server.process
        self._begin = self._read()

    def _read(self):
        client = resource.getrusage(resource.RUSAGE_CHILDREN)
        busy = [core_busy(core) for core in (self._options.server_core, self._options.client_core)]
        return [time.monotonic(), *self._process.cpu(), client.ru_utime + client.ru_stime,
                sum(b for b, _ in busy), sum(steal for _, steal in busy)]

    def stop(self):
        self._process.check_alive()
        spent = [end - begin for begin, end in zip(self._begin, self._read())]
        self._wall, self._user, self._system, self._client, self._busy, self._steal = spent

    def cpu_each(self, requests):
        return self._user * 1e6 / requests, self._system * 1e6 / requests

    def shares(self):
        """Of the server's core by the server, of the client's core by the client, of both by others."""
        server = self._user + self._system
        foreign = max(0.0, self._busy - server - self._client) + self._steal
        return server / self._wall, self._client / self._wall, foreign / (2 * self._wall)
