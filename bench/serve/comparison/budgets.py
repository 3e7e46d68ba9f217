"""What Atoll has to reach, as ratios to a peer in the same run."""

import dataclasses
import fnmatch

from . import caveats, stats


@dataclasses.dataclass(frozen=True)
class Budget:
    """`at_least`: the ratio has to be that or more, otherwise that or less. `baseline`: the ratio is to the case of this
    model, of the same server. `ours`: whose figures have to reach it."""
    cases: tuple
    figure: str
    peer: str
    at_least: bool
    bound: float
    baseline: str = ""
    ours: str = "atoll"

    def met(self, ratio):
        return ratio >= self.bound if self.at_least else ratio <= self.bound

    @property
    def compared_with(self):
        return self.baseline or self.peer

    def baseline_of(self, case):
        return dataclasses.replace(case, model=self.baseline) if self.baseline else case

    @property
    def text(self):
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}"


_GRPC_LOADED = ("identity/grpc/8", "identity/grpc/32", "identity/grpc/64")
BUDGETS = (
    Budget(_GRPC_LOADED, "throughput", "triton", True, 2.0),
    Budget(_GRPC_LOADED, "cpu", "triton", False, 0.5),
    Budget(_GRPC_LOADED, "p99", "triton", False, 0.5),
    Budget(("identity/grpc/1", "identity/grpc/8", "identity/grpc/64"), "throughput", "echo", True, 0.85),
    Budget(("identity/http/*", "identity/json/*"), "throughput", "triton", True, 2.0),
    Budget(("identity/http/*", "identity/json/*"), "throughput", "echo", True, 0.75),
    Budget(("identity_1mb/grpc/*",), "cpu", "triton", False, 0.6),
    Budget(("identity_1mb/http/*",), "cpu", "triton", False, 0.75),
    Budget(("identity_1mb/grpc/4", "identity_1mb/http/4"), "cpu", "floor", False, 1.15),
    Budget(("identity_1mb/shm/*",), "cpu", "triton", False, 0.5),
    Budget(("identity_chain/grpc/*",), "cpu", "atoll", False, 1.3, baseline="identity"),
    Budget(("identity_missed/grpc/*",), "cpu", "atoll", False, 1.15, baseline="identity"),
    Budget(("identity_1ms_cached/grpc/*",), "throughput", "atoll", True, 20, baseline="identity_1ms"),
    Budget(("python_identity/*",), "cpu", "triton", False, 0.4),
    Budget(("python_identity_1mb/*",), "cpu", "triton", False, 0.5),
    Budget(("python_busy/*",), "throughput", "python", True, 0.9),
    *(Budget((case,), figure, peer, at_least, bound, ours="atoll_nghttp2") for case, figure, peer, at_least, bound in (
        ("identity/grpc/1", "throughput", "nghttpd", True, 0.85),
        ("identity/grpc_on_8/1", "throughput", "triton", True, 3.3),
        ("identity/grpc_on_8/1", "throughput", "nghttpd", True, 0.85),
        ("identity/grpc/8", "throughput", "nghttpd", True, 0.85),
        ("identity/grpc/8", "cpu", "triton", False, 0.3),
        ("identity/grpc/32", "throughput", "triton", True, 4.5),
        ("identity/grpc/32", "cpu", "triton", False, 0.2),
        ("identity/grpc_on_4/16", "throughput", "triton", True, 7),
        ("identity/grpc_on_4/16", "cpu", "triton", False, 0.15),
        ("identity/one_stream/32", "throughput", "triton", True, 5),
        ("identity_1mb/grpc/4", "cpu", "triton", False, 0.4))),
)
# What an idle connection may take.
IDLE_KIB = {"atoll_nghttp2": 32}


@dataclasses.dataclass(frozen=True)
class Verdict:
    """`ratio` is None where there are no figures to compare; `caveats` are those of both servers."""
    case: object
    budget: Budget
    ratio: object
    caveats: tuple = ()

    @property
    def met(self):
        return self.ratio is not None and self.budget.met(self.ratio.median)


def ratio_of(figure, ours, theirs):
    """The spread of one figure's ratios over two lists of samples; None if there is nothing to compare."""
    if not ours or not theirs:
        return None
    return stats.ratio([getattr(sample, figure) for sample in ours], [getattr(sample, figure) for sample in theirs])


def judge(cases, complete, servers=("atoll",)):
    """A verdict for each case that has a budget. `complete(case, peer)` gives the samples; `servers`: of whose budgets."""
    verdicts = []
    for budget in (budget for budget in BUDGETS if budget.ours in servers):
        for case in cases:
            if any(fnmatch.fnmatchcase(case.name, pattern) for pattern in budget.cases):
                both = ((budget.ours, complete(case, budget.ours)),
                        (budget.compared_with, complete(budget.baseline_of(case), budget.peer)))
                ratio = ratio_of(budget.figure, *(samples for _, samples in both))
                found = [f"{name} {text}" for name, samples in both for text in caveats.of(samples)] if ratio else []
                verdicts.append(Verdict(case, budget, ratio, tuple(found)))
    return verdicts
