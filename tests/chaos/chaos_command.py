"""The arguments of tests/chaos/run, and what a run of them does."""

import argparse
import dataclasses
import signal
import sys

import chaos_plan
from chaos_reduce import NONE, Case, Trials, failures_of, reduced
from chaos_results import Results, added


def names(known):
    """A type of arguments: some of the known names, in the order in which they are known."""
    def read(text):
        given = [] if text == NONE else text.split(",")
        if unknown := [name for name in given if name not in known]:
            raise argparse.ArgumentTypeError(f"'{unknown[0]}' is none of {', '.join(known)}")
        return tuple(name for name in known if name in given)
    return read


def parser(clients):
    """clients: the names of all kinds"""
    found = argparse.ArgumentParser(description="Clients and faults of every kind against one server; see docs/reliability.md.")
    found.add_argument("--seconds", type=float, default=60, help="how long faults are injected (60)")
    found.add_argument("--seed", type=int, default=1, help="of everything that is drawn (1)")
    found.add_argument("--sabotage", choices=("wrong", "lost", "leak"), help="seeds a fault that has to make the run fail")
    found.add_argument("--plan", action="store_true", help="prints what would be injected, and ends")
    found.add_argument("--quiet-every", type=float, default=600, metavar="SECONDS",
                       help="how often clients pause and memory is measured (600)")
    found.add_argument("--clients", type=names(clients), metavar="KIND,...",
                       help=f"only these, or {NONE}; then a run needs not have everything ({', '.join(clients)})")
    found.add_argument("--faults", type=names(chaos_plan.KINDS), metavar="KIND,...",
                       help=f"only these, or {NONE}; then a run needs not have everything ({', '.join(chaos_plan.KINDS)})")
    found.add_argument("--reduce-for", type=float, metavar="SECONDS",
                       help="how long a run that failed is made smaller; 0: it is not (as long as --seconds, at most an hour)")
    found.add_argument("--results", metavar="FILE",
                       help="where parts of the run add up: a part is a line of JSON, and what is there is not run again")
    found.add_argument("--part", type=float, default=7200, metavar="SECONDS", help="length of a part, with a server of its own (7200)")
    return found


def case_of(arguments, clients):
    def chosen(given, all_of_them):
        return tuple(all_of_them) if given is None else given
    return Case(arguments.seed, arguments.seconds, chosen(arguments.clients, clients), chosen(arguments.faults, chaos_plan.KINDS),
                arguments.sabotage)


def make_smaller(script, run, case, for_s):
    """Of a run that failed: says how what failed is repeated by less, and returns it."""
    failed_by = failures_of(str(run.result))
    if not failed_by or for_s <= 0:
        return None
    trials = Trials(script, failed_by, for_s, run.log)
    smallest = reduced(case, trials, run.failed_at_s(), run.ledger.failing)
    what = "not repeated by less; all of it" if smallest == case else "repeated by less"
    run.log(f"{what}, after {trials.count} runs: {smallest}")
    return str(smallest)


def run_parts(script, case, arguments, is_whole):
    """The Result of all of it. Parts that the file of results has are not run again; a part that failed is the last one."""
    from chaos_run import Run
    results = Results(arguments.results) if arguments.results else None
    parts = results.parts(case) if results else []
    while not parts or (parts[-1][1].held and end_of(parts[-1]) < case.seconds):
        from_s = end_of(parts[-1]) if parts else 0.0
        part = dataclasses.replace(case, seconds=min(case.seconds, from_s + arguments.part) if results else case.seconds)
        run = Run(part, arguments.quiet_every, is_whole, from_s)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_, run=run: run.stopped.set())
        result = run.go()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: sys.exit(1))
        for_s = min(part.seconds, 3600.0) if arguments.reduce_for is None else arguments.reduce_for
        repeat = make_smaller(script, run, part, for_s) if not from_s and not run.stopped.is_set() else None
        parts.append((from_s, result))
        if results:
            results.add(case, from_s, result, answers=dict(run.ledger.answers), failures=run.ledger.failures + run.left, repeat=repeat,
                        points=run.points(), slopes={what: dataclasses.asdict(slope) for what, slope in run.slopes().items()})
        if run.stopped.is_set():
            break
    return added([result for _, result in parts])


def end_of(part):
    from_s, result = part
    return from_s + result.seconds


def main(script):
    from chaos_actors import KINDS
    clients = [kind.kind for kind in KINDS]
    found = parser(clients)
    arguments = found.parse_args()
    if arguments.seconds <= 0:
        found.error("--seconds has to be more than 0")
    from chaos_places import impossible
    case = case_of(arguments, clients)
    if arguments.plan:
        for injection in chaos_plan.draw(case.seed, case.seconds, impossible(), case.faults):
            print(injection)
        return 0
    result = run_parts(script, case, arguments, is_whole=arguments.clients is None and arguments.faults is None)
    print(result, flush=True)
    return 0 if result.held and result.seconds >= case.seconds else 1
