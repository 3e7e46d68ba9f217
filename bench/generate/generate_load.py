"""Clients that want tokens: what they ask for, in which order they may ask, and what they had to wait for."""

import asyncio
import dataclasses
import itertools
import math
import random
import time

from comparison import stats

MODES = ("continuous", "static")


@dataclasses.dataclass(frozen=True)
class Request:
    """What one request asks for."""
    number: int
    tokens: int


@dataclasses.dataclass(frozen=True)
class Run:
    """Figures of one run; None where too few values are there to tell."""
    tokens: int
    seconds: float
    first: tuple  # p50 and p99 in ms, from the moment that the client wants a request until its first token
    between: tuple  # the same between two tokens of a request

    @property
    def tokens_per_second(self):
        return self.tokens / self.seconds


def requests(count, shortest, longest, seed):
    """Numbers of tokens whose logarithms are evenly distributed: many short requests, few long ones."""
    draw = random.Random(seed)
    low, high = math.log(shortest), math.log(longest + 1)
    return [Request(number, min(longest, int(math.exp(draw.uniform(low, high))))) for number in range(count)]


async def continuous(clients, wanted, generate):
    """Each client begins its next request when its own one has ended."""
    remaining = iter(wanted)

    async def client(number):
        found = []
        since = time.perf_counter()
        for request in remaining:
            arrivals = await generate(number, request)
            found.append((since, arrivals))
            since = arrivals[-1]
        return found

    return list(itertools.chain(*await asyncio.gather(*(client(number) for number in range(clients)))))


async def static(clients, wanted, generate):
    """The clients begin together, and again when the last of them has its last token.

    This is the best that a batch can do that is formed once and runs until its longest member has ended: its steps get
    smaller as members end, and the next batch is there at once. A client whose request has ended wants the next one, and
    waits for the others.
    """
    found = []
    since = [time.perf_counter()] * clients
    for begin in range(0, len(wanted), clients):
        group = wanted[begin:begin + clients]
        arrivals = await asyncio.gather(*(generate(number, request) for number, request in enumerate(group)))
        found += zip(since, arrivals)
        since = [times[-1] for times in arrivals]
    return found


def figures(found, begin):
    """The Run of (when the client wanted it, when its tokens came) of every request."""
    def percentiles(values):
        ordered = sorted(1e3 * value for value in values)
        return tuple(stats.percentile(ordered, percent) for percent in (50, 99))

    arrivals = [times for _, times in found]
    return Run(sum(map(len, arrivals)), max(times[-1] for times in arrivals) - begin,
               percentiles(times[0] - since for since, times in found),
               percentiles(after - before for times in arrivals for before, after in itertools.pairwise(times)))


async def run(mode, clients, wanted, generate):
    """generate: a coroutine (client, request) that returns when each token came, at least one"""
    begin = time.perf_counter()
    return figures(await {"continuous": continuous, "static": static}[mode](clients, wanted, generate), begin)


def text_of(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def table(runs):
    """Lines of Markdown. runs: {(clients, mode): [Run, ...]}"""
    def cell(values, digits=2):
        spread = stats.spread(values)
        if spread is None:
            return "-"
        return f"{spread.median:.{digits}f} ({spread.low:.{digits}f}..{spread.high:.{digits}f})"

    lines = ["| clients | batching | tokens/s | first token p50 ms | p99 | between tokens p50 ms | p99 |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for (clients, mode), found in runs.items():
        waits = [cell([getattr(run, kind)[place] for run in found])
                 for kind in ("first", "between") for place in (0, 1)]
        lines.append(f"| {clients} | {mode} | {cell([run.tokens_per_second for run in found], 0)} | {' | '.join(waits)} |")
    for clients in dict.fromkeys(clients for clients, _ in runs):
        throughput = [[run.tokens_per_second for run in runs[clients, mode]] for mode in MODES]
        gain = stats.ratio(*throughput)
        lines.append(f"{clients} clients: continuous through static batching {text_of(gain.median)}x tokens/s "
                     f"(min {text_of(gain.low)}, max {text_of(gain.high)})")
    return lines
