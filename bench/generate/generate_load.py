"""Clients that want tokens: what they ask for, in which order they may ask, and what they had to wait for."""

import asyncio
import dataclasses
import itertools
import math
import random
import time

from comparison import stats

# Which are driven how, see run(). "static without padding" is what no batch does that is formed once.
CONTINUOUS, STATIC, UNPADDED = MODES = ("continuous", "static", "static without padding")

# Throughput of continuous batching through that of static batching, by the number of clients.
BUDGETS = {32: 2.0}


@dataclasses.dataclass(frozen=True)
class Request:
    """What one request asks for."""
    number: int
    tokens: int


@dataclasses.dataclass(frozen=True)
class Run:
    """Figures of one run; None where too few values are there to tell. Waits are pairs of p50 and p99 in ms."""
    tokens: int  # that requests wanted: padding does not count
    seconds: float
    first: tuple  # from the moment that the client wants a request until its first token
    between: tuple  # between two answers to a request
    last: tuple  # from the moment that the client wants a request until its last token
    busy: tuple = (None, None)  # percent of one core that the server and the client used

    @property
    def tokens_per_second(self):
        return self.tokens / self.seconds


def requests(count, shortest, longest, seed):
    """Numbers of tokens whose logarithms are evenly distributed: many short requests, few long ones."""
    draw = random.Random(seed)
    low, high = math.log(shortest), math.log(longest + 1)
    return [Request(number, min(longest, int(math.exp(draw.uniform(low, high))))) for number in range(count)]


async def each_at_its_own_pace(clients, wanted, generate):
    """Each client begins its next request when its own one has ended."""
    remaining = iter(wanted)

    async def client(number):
        found = []
        since = time.perf_counter()
        for request in remaining:
            arrivals = await generate(number, request)
            found.append((since, request, arrivals))
            since = arrivals[-1]
        return found

    return list(itertools.chain(*await asyncio.gather(*(client(number) for number in range(clients)))))


async def together(clients, wanted, generate):
    """The clients begin together, and again when the last of them has its last token.

    On a server with continuous batching this is static batching without its padding: steps get smaller as members end. A
    client whose request has ended wants the next one, and waits for the others.
    """
    found = []
    since = [time.perf_counter()] * clients
    for begin in range(0, len(wanted), clients):
        group = wanted[begin:begin + clients]
        arrivals = await asyncio.gather(*(generate(number, request) for number, request in enumerate(group)))
        found += zip(since, group, arrivals)
        since = [times[-1] for times in arrivals]
    return found


def figures(found, begin, busy=(None, None)):
    """The Run of (when the client wanted it, the request, when its answers came) of every request."""
    def percentiles(values):
        ordered = sorted(1e3 * value for value in values)
        return tuple(stats.percentile(ordered, percent) for percent in (50, 99))

    return Run(sum(request.tokens for _, request, _ in found), max(times[-1] for _, _, times in found) - begin,
               percentiles(times[0] - since for since, _, times in found),
               percentiles(after - before for _, _, times in found for before, after in itertools.pairwise(times)),
               percentiles(times[-1] - since for since, _, times in found), busy)


def nobody():
    return None, None


async def run(mode, clients, wanted, generate, cpu_seconds=nobody):
    """generate: a coroutine (client, request) that returns when each answer came, at least one;
    cpu_seconds: gives those that server and client have used, each None if it is not known"""
    drive = together if mode == UNPADDED else each_at_its_own_pace
    before, begin = cpu_seconds(), time.perf_counter()
    found = await drive(clients, wanted, generate)
    seconds = time.perf_counter() - begin
    busy = tuple(None if since is None else 100 * (now - since) / seconds for since, now in zip(before, cpu_seconds()))
    return figures(found, begin, busy)


def text_of(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def table(runs):
    """Lines of Markdown. runs: {(clients, mode): [Run, ...]}"""
    def cell(values, digits=2):
        spread = stats.spread(values)
        if spread is None:
            return "-"
        return f"{spread.median:.{digits}f} ({spread.low:.{digits}f}..{spread.high:.{digits}f})"

    lines = ["| clients | batching | tokens/s | first token p50 ms | p99 | between answers p50 ms | p99 "
             "| last token p50 ms | p99 | server CPU % | client CPU % |", "| --- " * 11 + "|"]
    for (clients, mode), found in runs.items():
        cells = [cell([run.tokens_per_second for run in found], 0)]
        cells += [cell([getattr(run, kind)[place] for run in found], 0 if kind == "busy" else 2)
                  for kind in ("first", "between", "last", "busy") for place in (0, 1)]
        lines.append(f"| {clients} | {mode} | {' | '.join(cells)} |")
    return lines


def gain(runs, clients, mode):
    """The spread of continuous batching's throughput through that of the mode."""
    return stats.ratio(*([run.tokens_per_second for run in runs[clients, each]] for each in (CONTINUOUS, mode)))


def verdicts(runs):
    """Lines with the ratios, and whether every budget is met."""
    lines, all_met = [], True
    for clients in dict.fromkeys(clients for clients, _ in runs):
        for mode in MODES[1:]:
            found = gain(runs, clients, mode)
            name = "static batching" if mode == STATIC else "static batching without padding"
            lines.append(f"{clients} clients: continuous through {name} {found.median:.2f}x tokens/s "
                         f"(min {found.low:.2f}, max {found.high:.2f})")
            if mode == STATIC and clients in BUDGETS:
                met = found.median >= BUDGETS[clients]
                all_met &= met
                lines[-1] += f", budget {BUDGETS[clients]:g}x: {'met' if met else 'MISSED'}"
    return lines, all_met
