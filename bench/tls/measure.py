#!/usr/bin/env python3
"""What TLS costs the server: its CPU time for a request with TLS, divided by that without, over HTTP and gRPC.

    etc/dev/build release && build/venv/bin/python bench/tls/measure.py [--requests 100000] [--runs 9] [--output FILE]

One server has each frontend twice, with TLS and without, and h2load asks both in turns: one connection with one request in
flight, and 32 connections with one each. Connections are kept, and are open before a run is counted as far as 1 % of its
requests: handshakes are measured apart, as new connections that ask once. The CPU time is that of the server's threads
(schedstat), which other work on the machine makes a little longer and does not add to. Prints for each case the medians, the
median of the ratios of two runs that follow each other, and the smallest and largest of these. Exits with 1 if a budget is
missed.
"""

import argparse
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests")]
from support import models  # noqa: E402
from support.pki import make_pki, tls_options  # noqa: E402
from support.server import Server  # noqa: E402
from support.waiting import eventually  # noqa: E402

CONNECTIONS = (1, 32)
ELEMENTS = 16
RATIO_MOST = {1: 1.2, 32: 1.5}
MORE_MOST_US = {1: 0.0, 32: 2.5}  # allowed beyond the ratio, whichever is larger

MANIFEST = """
[plugin.repository]
use = "repositories/filesystem"
paths = ["."]
[plugin.configs]
use = "configs/pbtxt"
[plugin.models]
use = "models/catalog"
[plugin.control]
use = "control/none"
[plugin.default]
use = "schedulers/default"
[plugin.host]
use = "memory/host"
[plugin.identity]
use = "backends/identity"
[plugin.http]
use = "frontends/http"
address = "127.0.0.1:0"
[plugin.https]
use = "frontends/http"
address = "127.0.0.1:0"
[plugin.grpcs]
use = "frontends/grpc_nghttp2"
address = "127.0.0.1:0"
[plugin.grpc]
use = "frontends/grpc_nghttp2"
address = "127.0.0.1:0"
"""


def write_requests(folder):
    """\\returns arguments of h2load, by protocol"""
    values = np.arange(ELEMENTS, dtype=np.float32)
    tensor = httpclient.InferInput("INPUT0", [ELEMENTS], "FP32")
    tensor.set_data_from_numpy(values)
    body, head_size = httpclient.InferenceServerClient.generate_request_body([tensor])
    (folder / "http").write_bytes(body)
    tensor = grpcclient.InferInput("INPUT0", [ELEMENTS], "FP32")
    tensor.set_data_from_numpy(values)
    message = grpcclient.service_pb2.ModelInferRequest(model_name="any", inputs=[tensor._get_tensor()])
    message.raw_input_contents.append(values.tobytes())
    message = message.SerializeToString()
    (folder / "grpc").write_bytes(b"\0" + len(message).to_bytes(4, "big") + message)
    return {"http": ["--h1", "-d", str(folder / "http"), "-H", f"Inference-Header-Content-Length: {head_size}"],
            "grpc": ["-d", str(folder / "grpc"), "-H", "content-type: application/grpc", "-H", "te: trailers"]}


PATHS = {"http": "/v2/models/any/infer", "grpc": "/inference.GRPCInferenceService/ModelInfer"}


def cpu_us(pid):
    """Of all threads that live."""
    return sum(int(task.read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1000


def load(server, url, arguments, requests, connections):
    """\\returns the server's CPU time for a request, in microseconds"""
    before = cpu_us(server.pid)
    done = subprocess.run(["h2load", "-n", str(requests), "-c", str(connections), "-m", "1", *arguments, url],
                          capture_output=True, text=True, check=True)
    after = cpu_us(server.pid)
    assert f" {requests} 2xx" in done.stdout or f"status codes: {requests} 2xx" in done.stdout, done.stdout
    return (after - before) / requests


def addresses(server):
    found = {}
    for line in server.lines:
        if match := re.search(r"\[(\w+)\] Started \S+ at (\S+)", line):
            found[match.group(1)] = match.group(2)
    return found


def measure(server, arguments, options):
    """Rows of the table, and whether all are within their budgets."""
    rows, passed = [], True
    eventually(lambda: len(addresses(server)) == 4)
    at = addresses(server)
    cases = [(protocol, count) for protocol in ("http", "grpc") for count in CONNECTIONS]
    for protocol, count in cases:
        urls = (f"http://{at[protocol]}{PATHS[protocol]}", f"https://{at[protocol + 's']}{PATHS[protocol]}")
        runs = [[load(server, url, arguments[protocol], options.requests, count) for url in urls]
                for _ in range(options.runs + 1)][1:]  # the first one warms up
        plain, tls = (statistics.median(run[i] for run in runs) for i in (0, 1))
        ratios = sorted(run[1] / run[0] for run in runs)
        ratio = statistics.median(ratios)
        good = ratio <= RATIO_MOST[count] or (MORE_MOST_US[count] and tls - plain <= MORE_MOST_US[count])
        passed = passed and good
        rows.append(f"| {protocol} | {count} | {plain:.1f} | {tls:.1f} | {ratio:.2f} | {ratios[0]:.2f} to {ratios[-1]:.2f} "
                    f"| {RATIO_MOST[count]}{' or +2.5 µs' if MORE_MOST_US[count] else ''} | {'yes' if good else 'no'} |")
    return rows, passed


def measure_handshakes(server, options):
    """Milliseconds of the server's CPU for a connection that is opened and asks once."""
    at = addresses(server)
    times = [load(server, f"https://{at['https']}/v2/health/live", ["--h1"], 200, 200) for _ in range(options.runs)]
    return statistics.median(times) / 1000, min(times) / 1000, max(times) / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=100000, help="of a run")
    parser.add_argument("--runs", type=int, default=9, help="of each case")
    parser.add_argument("--output", type=pathlib.Path, help="file for the table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        repository = folder / "repository"
        repository.mkdir()
        models.write_model(repository, "any", models.identity_config("any"))
        (folder / "atoll.toml").write_text(MANIFEST)
        make_pki(folder)
        settings = [*tls_options(folder, False, "https"), *tls_options(folder, False, "grpcs"),
                    *(f"plugin.{plugin}.threads=1" for plugin in ("http", "https", "grpc", "grpcs"))]
        with Server(repository, *settings, manifest=folder / "atoll.toml", grpc_frontend=None) as server:
            server.wait_active()
            rows, passed = measure(server, write_requests(folder), options)
            handshake = measure_handshakes(server, options)
    text = "\n".join([
        "# CPU of the server for a request: with TLS and without", "",
        f"{platform.processor() or platform.machine()}, {options.runs} runs of {options.requests} requests each; the identity "
        f"model with {ELEMENTS} numbers; TLS 1.3 with AES-256-GCM.", "",
        "| protocol | connections | plain, µs | TLS, µs | ratio | smallest and largest | budget | met |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |", *rows, "",
        f"A new connection with a certificate of RSA-2048 costs {handshake[0]:.2f} ms ({handshake[1]:.2f} to "
        f"{handshake[2]:.2f})."]) + "\n"
    print(text)
    if options.output:
        options.output.write_text(text)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
