#!/usr/bin/env python3
"""Time from starting the process to the first "ready" over gRPC, and resident memory then, without models.

    etc/dev/build release && build/venv/bin/python bench/startup/measure.py [--runs 20]

Prints the median with the smallest and largest value, the machine, and the budgets beside them. Exits with 1 if the
median misses a budget.
"""

import argparse
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests"))
from support.machine import cpu_model  # noqa: E402
from support.server import ATOLL, DEFAULT_MANIFEST, usage  # noqa: E402
from tritonclient.grpc import service_pb2, service_pb2_grpc  # noqa: E402

READY_BUDGET_MS = 100
RESIDENT_BUDGET_MB = 60


def free_port():
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def one_run(repository):
    address = f"127.0.0.1:{free_port()}"
    command = [ATOLL, "--manifest", DEFAULT_MANIFEST, "--set", f'plugin.repository.paths=["{repository}"]',
               "--set", f"plugin.grpc.address={address}"]
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            # A channel that was refused waits before it tries again; a new one does not.
            with grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
                try:
                    stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
                    if stub.ServerReady(service_pb2.ServerReadyRequest(), timeout=1).ready:
                        break
                except grpc.RpcError:
                    pass
            if process.poll() is not None:
                sys.exit(f"error: the server ended with {process.returncode}")
        milliseconds = (time.perf_counter() - begin) * 1e3
        return milliseconds, usage(process.pid)["resident_bytes"] / 1e6
    finally:
        process.terminate()
        process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as repository:
        one_run(repository)
        figures = [one_run(repository) for _ in range(runs)]
    cpu = cpu_model()
    print(f"{runs} runs on {cpu}, {platform.system()} {platform.release()}")
    missed = False
    for name, values, unit, budget in (("start to ready", [f[0] for f in figures], "ms", READY_BUDGET_MS),
                                       ("resident memory", [f[1] for f in figures], "MB", RESIDENT_BUDGET_MB)):
        median = statistics.median(values)
        met = median <= budget
        missed |= not met
        print(f"{name}: median {median:.1f} {unit} (min {min(values):.1f}, max {max(values):.1f}), budget {budget} {unit}: "
              f"{'met' if met else 'MISSED'}")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
