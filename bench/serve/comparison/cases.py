"""What is measured: requests of one model over one protocol with so many in flight."""

import dataclasses
import fnmatch

GRPC, STREAM, HTTP, JSON, SHM = "grpc", "stream", "http", "json", "shm"
CONCURRENCIES = (1, 8, 32, 64)
LARGE_CONCURRENCIES = (1, 4)
# Models that only Atoll serves: there is nothing to compare with but its own others.
OWN_MODELS = ("identity_missed", "identity_1ms", "identity_1ms_cached")
ENSEMBLE = "identity_chain"


@dataclasses.dataclass(frozen=True)
class Case:
    """`stream` is ModelStreamInfer, `http` HTTP with binary tensors, `json` HTTP without, `shm` gRPC with both tensors in
    system shared memory."""
    model: str
    protocol: str
    concurrency: int

    @property
    def group(self):
        """The cases that only differ in how many requests are in flight."""
        return f"{self.model}/{self.protocol}"

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


def quick_cases():
    return [case for case in all_cases() if case.concurrency in (4, 8)]


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
