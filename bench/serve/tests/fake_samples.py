"""Made-up figures for the tests."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class FakeSample:
    """As much of a run's figures as tables and budgets look at."""
    server: str = "atoll"
    generator: str = "h2load"
    throughput: float = 1000.0
    p50: float = 100.0
    p99: float = 200.0
    p999: float = 300.0
    cpu: float = 10.0
    cpu_user: float = 6.0
    cpu_system: float = 4.0
    peak_bytes: int = 50_000_000
    server_share: float = 1.0
    client_share: float = 0.5
    foreign_share: float = 0.0


def completed(samples_by_key):
    """What Runner.complete is, over a dictionary of (case's name, peer)."""
    return lambda case, peer: samples_by_key.get((case.name, peer), [])
