#!/usr/bin/env python3
"""What it costs to call a leased model by the address of the server that keeps the pools, beside a direct call.

    etc/dev/build release && build/venv/bin/python bench/pools/measure.py [--seconds 4] [--repetitions 5]
    build/venv/bin/python bench/pools/measure.py --quick        # does everything work; no figures to quote

One server keeps a pool with one instance, which has an identity model of 16 floats; h2load calls it directly and through the
server, in turns, with one request in flight and with eight. A call through the server is two calls: its client's, and the
server's own to the instance. CPU is that of all processes, the client too, for each request. Prints every run, then medians with
the smallest and largest, ratios, and the budgets: 2.2 times the CPU of a direct call, and 150 microseconds more at the median with
one request in flight. Exits with 1 if one is missed, but not with --quick.
"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench" / "serve")]
from comparison import cases, h2load, messages  # noqa: E402
from support.pools import Pools  # noqa: E402
from tritonclient.grpc import service_pb2  # noqa: E402

MODEL = """
backend: "identity"
max_batch_size: 0
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 16 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 16 ] } ]
"""
MOST_CPU, MOST_P50_US = 2.2, 150
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
VALUES = np.arange(16, dtype=np.float32).tobytes()


def grpc_request():
    message = service_pb2.ModelInferRequest(model_name="m", raw_input_contents=[VALUES])
    message.inputs.add(name="INPUT0", datatype="FP32", shape=[16])
    return (messages.INFER, messages.grpc_frame(message.SerializeToString()),
            (("content-type", "application/grpc"), ("te", "trailers")))


def http_request():
    head = (b'{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[16],"parameters":{"binary_data_size":64}}],'
            b'"parameters":{"binary_data_output":true}}')
    return "/v2/models/m/infer", head + VALUES, ((messages.HEAD_LENGTH, str(len(head))),)


def cpu_s(process):
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def run(folder, address, protocol, in_flight, seconds, processes):
    """Requests a second, p50 in microseconds, and CPU of each request in microseconds: all, and without the client's."""
    path, body, headers = grpc_request() if protocol == "grpc" else http_request()
    (folder / "message").write_bytes(body)
    log = folder / "log"
    log.unlink(missing_ok=True)
    command = h2load.command(f"http://{address}{path}", folder / "message", headers, cases.Case("", protocol, in_flight),
                             h2load.for_seconds(seconds), log, protocol == "http")
    before = sum(map(cpu_s, processes))
    client_before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(command, capture_output=True, text=True, timeout=10 * seconds + 30, check=True).stdout
    client = resource.getrusage(resource.RUSAGE_CHILDREN)
    servers = sum(map(cpu_s, processes)) - before
    summary = h2load.parse_summary(output)
    if not summary.done or summary.bad:
        raise SystemExit(f"{summary} of {address}: {output[-500:]}")
    latencies = h2load.read_log(log).latencies
    of_client = client.ru_utime + client.ru_stime - client_before.ru_utime - client_before.ru_stime
    return (summary.done / seconds, float(np.percentile(latencies, 50)), (servers + of_client) * 1e6 / summary.done,
            servers * 1e6 / summary.done)


def spread(values, digits=0):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def measure(pools, folder, options):
    lease = pools.acquire("m")
    addresses = {("grpc", "direct"): lease["grpc_address"], ("grpc", "through"): pools.server.address,
                 ("http", "direct"): lease["address"], ("http", "through"): pools.server.http_address}
    processes = [pools.server.process.pid, *pools.processes()]
    missed = []
    print("| protocol | in flight | | requests/s | p50, us | CPU a request, us | of the servers, us |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for protocol in ("grpc", "http"):
        for in_flight in (1, 8):
            runs = {"direct": [], "through": []}
            for way in runs:
                run(folder, addresses[protocol, way], protocol, in_flight, min(options.seconds, 1), processes)
            for _ in range(options.repetitions):
                for way, found in runs.items():
                    found.append(run(folder, addresses[protocol, way], protocol, in_flight, options.seconds, processes))
            for way, found in runs.items():
                print(f"| {protocol} | {in_flight} | {way} | " + " | ".join(spread(column) for column in zip(*found)) + " |")
            direct, through = ([statistics.median(column) for column in zip(*runs[way])] for way in ("direct", "through"))
            ratios = [b[2] / a[2] for a, b in zip(runs["direct"], runs["through"])]
            more = [b[1] - a[1] for a, b in zip(runs["direct"], runs["through"])]
            print(f"| | | | | {spread(more)} more | {spread(ratios, 2)} times | {through[3] / direct[3]:.2f} times |", flush=True)
            if statistics.median(ratios) > MOST_CPU:
                missed.append(f"{protocol}, {in_flight} in flight: {statistics.median(ratios):.2f} times the CPU, at most {MOST_CPU}")
            if in_flight == 1 and statistics.median(more) > MOST_P50_US:
                missed.append(f"{protocol}: {statistics.median(more):.0f} us more at the median, at most {MOST_P50_US}")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4, help="of each run")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--set", action="append", default=[], metavar="OPTION", help="of the server that keeps the pools, as its --set")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.seconds, options.repetitions = 0.5, 1
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "models" / "m" / "1").mkdir(parents=True)
        (folder / "models" / "m" / "config.pbtxt").write_text(MODEL)
        pools = Pools(folder, folder / "models", *options.set).start()
        try:
            pools.create()
            missed = measure(pools, folder, options)
        finally:
            pools.close()
    for text in missed:
        print("missed:", text)
    return 1 if missed and not options.quick else 0


if __name__ == "__main__":
    sys.exit(main())
