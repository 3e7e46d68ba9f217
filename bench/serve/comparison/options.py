"""The command line."""

import argparse
import dataclasses
import os
import pathlib

from . import cases

ROOT = pathlib.Path(__file__).resolve().parents[3]
PEERS = ("atoll", "triton", "mlserver", "echo", "floor", "floor_copied")
# Only where they are named.
MORE_PEERS = ("atoll_nghttp2", "atoll_grpc", "nghttpd", "python")
PYTHON_PEERS = ("atoll", "triton", "python")
TRANSPORT_PEERS = ("triton", "atoll_nghttp2", "atoll_grpc", "nghttpd")
TRANSPORT_IDLE = 10_000


@dataclasses.dataclass(frozen=True)
class Options:
    cases: list
    peers: list
    repetitions: int
    seconds: float
    warm_up: float
    server_core: int
    client_core: int
    output: pathlib.Path
    atoll_build: pathlib.Path
    bench_build: pathlib.Path
    quick: bool
    idle_connections: int = 0


def _positive(kind):
    def parse(text):
        value = kind(text)
        if value <= 0:
            raise argparse.ArgumentTypeError("has to be more than 0")
        return value
    return parse


def _words(text):
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise argparse.ArgumentTypeError("expected at least one")
    return words


def _parser():
    parser = argparse.ArgumentParser(
        prog="bench/serve/run", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures Atoll, the real Triton, MLServer and bare echo servers side by side.",
        epilog="cases:\n  " + "\n  ".join(case.name for case in cases.known_cases()))
    parser.add_argument("--cases", type=_words, metavar="PATTERN,...",
                        help="cases or groups of them, with * (default: all)")
    parser.add_argument("--peers", type=_words, metavar="NAME,...",
                        help=f"of {', '.join((*PEERS, *MORE_PEERS))} (default: {','.join(PEERS)})")
    parser.add_argument("--repetitions", type=_positive(int), metavar="N", help="default: 5; with --quick 1")
    parser.add_argument("--seconds", type=_positive(float), metavar="S", help="of each run; default: 5; with --quick 0.5")
    parser.add_argument("--quick", action="store_true",
                        help="does everything work: one short repetition of a few cases; no figures to quote")
    parser.add_argument("--transport", action="store_true",
                        help="the table of gRPC's transport: many calls on few connections, one stream, 1 MB, "
                        f"{TRANSPORT_IDLE:,} idle connections; of {','.join(TRANSPORT_PEERS)}, to bench/results/transport")
    parser.add_argument("--python", action="store_true",
                        help="the table of Python models: identity of 16 floats and of 1 MB, and eight instances that compute; of "
                        f"{','.join(PYTHON_PEERS)}, to bench/results/python")
    parser.add_argument("--idle-connections", type=_positive(int), metavar="N",
                        help="also measure what each of N idle connections takes")
    parser.add_argument("--server-core", type=int, metavar="CPU", help="default: the last")
    parser.add_argument("--client-core", type=int, metavar="CPU", help="default: the one before the last")
    parser.add_argument("--output", type=pathlib.Path, metavar="DIR",
                        help="default: bench/results; with --quick build/bench/quick")
    return parser


def _output(given):
    if given.quick:
        return ROOT / "build/bench/quick"
    for name in ("transport", "python"):
        if getattr(given, name):
            return ROOT / "bench/results" / name
    return ROOT / "bench/results"


def _defaults(given):
    """Peers and cases that are measured if none are named."""
    if given.transport:
        return list(TRANSPORT_PEERS), cases.transport_cases()
    peers, every = (list(PYTHON_PEERS), cases.python_cases()) if given.python else (list(PEERS), cases.all_cases())
    return peers, cases.quick_cases(every) if given.quick else every


def parse(arguments=None):
    parser = _parser()
    given = parser.parse_args(arguments)
    known = (*PEERS, *MORE_PEERS)
    if given.transport and given.python:
        parser.error("--transport and --python are tables of their own")
    default_peers, default = _defaults(given)
    peers = given.peers or default_peers
    unknown = [peer for peer in peers if peer not in known]
    if unknown:
        parser.error(f"--peers: '{unknown[0]}' is none of {', '.join(known)}")
    try:
        chosen = cases.select(cases.known_cases(), given.cases) if given.cases else default
    except ValueError as error:
        parser.error(f"--cases: {error}")
    cores = sorted(os.sched_getaffinity(0))
    server = cores[-1] if given.server_core is None else given.server_core
    client = ([core for core in cores if core != server] or [None])[-1] if given.client_core is None else given.client_core
    if server not in cores or client not in cores or server == client:
        parser.error(f"client and server need a core each; this process may use {cores}")
    seconds = given.seconds or (0.5 if given.quick else 5.0)
    build = ROOT / "build" / "release"
    return Options(
        cases=chosen, peers=[peer for peer in known if peer in peers],
        repetitions=given.repetitions or (1 if given.quick else 5), seconds=seconds, warm_up=min(1.0, seconds / 2),
        server_core=server, client_core=client,
        output=(given.output or _output(given)).resolve(),
        idle_connections=given.idle_connections or (TRANSPORT_IDLE if given.transport else 0),
        atoll_build=pathlib.Path(os.environ.get("ATOLL_BUILD_DIR", build)), bench_build=build, quick=given.quick)
