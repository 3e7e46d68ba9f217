"""Clients that want tokens: what they ask for, in which order they may ask, and what they had to wait for."""

import asyncio
import bisect
import dataclasses
import itertools
import math
import random
import time

from comparison import stats

# Which are driven how, see run(). "static without padding" is what no batch does that is formed once.
CONTINUOUS, AT_ONCE, STATIC, UNPADDED = MODES = ("continuous", "continuous at once", "static", "static without padding")

# What is compared, and the least that the throughput of the first through that of the second is to be, by the number of
# clients. Both of a pair with a budget answer a request once, with all of its tokens.
COMPARISONS = {(AT_ONCE, STATIC): {32: 2.0}, (CONTINUOUS, STATIC): {}, (CONTINUOUS, UNPADDED): {}}
# Steps until the first token of a request, at the median, by the number of clients. With few of them steps are so short
# that most are those in which the request or the token was under way.
STEPS_BUDGETS = {32: 2}


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
    steps: tuple = (None, None)  # until the first token: p50, and percent of the requests that waited for two or fewer
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


def steps_until_first(found):
    """For each request, how many steps the server ended until its first token, that one's included.

    Every step gives each request that is in the batch a token: the most that any other request got in that time. Requests
    beside which no other one was running the whole time are left out.
    """
    counts = []
    for since, _, arrivals in found:
        others = [times for _, _, times in found if times is not arrivals and times[0] <= since and times[-1] >= arrivals[0]]
        if others:
            counts.append(max(bisect.bisect_right(times, arrivals[0]) - bisect.bisect_right(times, since)
                              for times in others))
    return counts


def figures(found, begin, busy=(None, None), has_steps=False):
    """The Run of (when the client wanted it, the request, when its answers came) of every request.

    has_steps: requests join steps that others are in"""
    def percentiles(values):
        ordered = sorted(1e3 * value for value in values)
        return tuple(stats.percentile(ordered, percent) for percent in (50, 99))

    steps = sorted(steps_until_first(found)) if has_steps else []
    within_two = 100 * sum(count <= 2 for count in steps) / len(steps) if steps else None
    return Run(sum(request.tokens for _, request, _ in found), max(times[-1] for _, _, times in found) - begin,
               percentiles(times[0] - since for since, _, times in found),
               percentiles(after - before for _, _, times in found for before, after in itertools.pairwise(times)),
               percentiles(times[-1] - since for since, _, times in found), (stats.percentile(steps, 50), within_two), busy)


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
    return figures(found, begin, busy, mode == CONTINUOUS)


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
             "| last token p50 ms | p99 | steps to the first token p50 | within two % | server CPU % | client CPU % |",
             "| --- " * 13 + "|"]
    for (clients, mode), found in runs.items():
        cells = [cell([run.tokens_per_second for run in found], 0)]
        cells += [cell([getattr(run, kind)[place] for run in found], 0 if kind in ("steps", "busy") else 2)
                  for kind in ("first", "between", "last", "steps", "busy") for place in (0, 1)]
        lines.append(f"| {clients} | {mode} | {' | '.join(cells)} |")
    return lines


def gain(runs, clients, pair):
    """The spread of the first mode's throughput through that of the second."""
    return stats.ratio(*([run.tokens_per_second for run in runs[clients, mode]] for mode in pair))


def verdicts(runs):
    """Lines with the ratios, and whether every budget is met."""
    lines, all_met = [], True

    def judge(met, budget):
        nonlocal all_met
        all_met &= met
        lines[-1] += f", budget {budget}: {'met' if met else 'MISSED'}"

    for clients in dict.fromkeys(clients for clients, _ in runs):
        for pair, budgets in COMPARISONS.items():
            found = gain(runs, clients, pair)
            lines.append(f"{clients} clients: {' through '.join(pair)} {found.median:.2f}x tokens/s "
                         f"(min {found.low:.2f}, max {found.high:.2f})")
            if clients in budgets:
                judge(found.median >= budgets[clients], f"{budgets[clients]:g}x")
        steps, within = (stats.spread([run.steps[place] for run in runs[clients, CONTINUOUS]]) for place in (0, 1))
        if steps is not None:
            lines.append(f"{clients} clients: first token with step {steps.median:.0f} (min {steps.low:.0f}, max "
                         f"{steps.high:.0f}), with one of the first two for {within.median:.0f} % of the requests")
            if clients in STEPS_BUDGETS:
                judge(steps.median <= STEPS_BUDGETS[clients], STEPS_BUDGETS[clients])
    return lines, all_met
