"""What is measured: requests of one model over one protocol with so many in flight."""

import dataclasses
import fnmatch

GRPC, STREAM, HTTP, JSON, SHM = "grpc", "stream", "http", "json", "shm"
ONE_STREAM = "one_stream"
CONCURRENCIES = (1, 8, 32, 64)
LARGE_CONCURRENCIES = (1, 4)
# Models that only Atoll serves: there is nothing to compare with but its own others.
OWN_MODELS = ("identity_missed", "identity_1ms", "identity_1ms_cached")
ENSEMBLE = "identity_chain"
# Models in Python (bench/serve/models), for the servers that run such with the same contract. The last one computes without a pause, in eight instances.
PYTHON, PYTHON_LARGE, PYTHON_BUSY = PYTHON_MODELS = ("python_identity", "python_identity_1mb", "python_busy")


@dataclasses.dataclass(frozen=True)
class Case:
    """`stream` is ModelStreamInfer with one request in flight on each call, `one_stream` one call of it, `http` HTTP with binary tensors, `json` HTTP without, `shm` gRPC with both tensors in
    system shared memory."""
    model: str
    protocol: str
    concurrency: int
    # HTTP/2 connections; `concurrency` requests are in flight on each.
    connections: int = 1

    @property
    def group(self):
        """The cases that only differ in how many requests are in flight."""
        several = f"_on_{self.connections}" if self.connections != 1 else ""
        return f"{self.model}/{self.protocol}{several}"

    @property
    def in_flight(self):
        return self.connections * self.concurrency

    @property
    def name(self):
        return f"{self.group}/{self.concurrency}"


def all_cases():
    cases = [Case("identity", protocol, n) for protocol in (GRPC, STREAM, HTTP, JSON) for n in CONCURRENCIES]
    cases += [Case("identity_1mb", protocol, n) for protocol in (GRPC, HTTP, SHM) for n in LARGE_CONCURRENCIES]
    cases += [Case(model, GRPC, n) for model in ("digits", "digits_dynamic", ENSEMBLE, "identity_missed")
              for n in CONCURRENCIES]
    cases += [Case(model, GRPC, n) for model in ("identity_1ms", "identity_1ms_cached") for n in (8, 32)]
    return cases


def transport_cases():
    """What the transport of gRPC is judged by: few connections with many calls, as real clients have them."""
    return [Case("identity", GRPC, 1), Case("identity", GRPC, 1, 8), Case("identity", GRPC, 8), Case("identity", GRPC, 32),
            Case("identity", GRPC, 16, 4), Case("identity", ONE_STREAM, 32), Case("identity_1mb", GRPC, 4)]


def python_cases():
    cases = [Case(PYTHON, protocol, n) for protocol in (GRPC, HTTP) for n in (1, 8, 32)]
    cases += [Case(PYTHON_LARGE, protocol, n) for protocol in (GRPC, HTTP) for n in LARGE_CONCURRENCIES]
    return cases + [Case(PYTHON_BUSY, GRPC, n) for n in (8, 32)]


def known_cases():
    """Those that may be named."""
    every = all_cases()
    return every + [case for case in transport_cases() + python_cases() if case not in every]


def quick_cases(every):
    return [case for case in every if case.concurrency in (4, 8)]


def select(cases, patterns):
    """The cases whose name or group fits one of the patterns, in their order. ValueError: a pattern fits none."""
    chosen = set()
    for pattern in patterns:
        fitting = [case for case in cases
                   if fnmatch.fnmatchcase(case.name, pattern) or fnmatch.fnmatchcase(case.group, pattern)]
        if not fitting:
            names = ", ".join(sorted({case.group for case in cases}))
            raise ValueError(f"no case fits '{pattern}'; a case is GROUP/CONCURRENCY, the groups are {names}")
        chosen.update(fitting)
    return [case for case in cases if case in chosen]
