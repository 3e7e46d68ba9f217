#!/usr/bin/env python3
"""What TLS costs the server: its CPU time for a request with TLS, divided by that without, and by that of a bare OpenSSL echo.

    etc/dev/build release && etc/dev/build release tls_echo
    build/venv/bin/python bench/tls/measure.py [--requests 100000] [--runs 9] [--server-core 0] [--client-core 1] [--output FILE]

One server has each frontend twice, with TLS and without, and h2load asks both in turns: one connection with one request in
flight, and 32 connections with one each. Over HTTP the echo (tls_echo.cc) takes its turns, too: one thread, one epoll loop,
OpenSSL on the socket, and the bytes of the server's own answer. The servers have one core and the client has
another. Connections are kept, and are open before a run is counted as far as 1 % of its requests: handshakes are measured
apart, as new connections that ask once. The CPU time is that of the threads (schedstat), which other work on the machine makes
a little longer and does not add to. Prints for each case the medians, the median of the ratios of two runs that follow each
other, and the smallest and largest of these. Exits with 1 if a budget is missed.
"""

import argparse
import contextlib
import os
import pathlib
import platform
import re
import socket
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
from support.server import BUILD, Server  # noqa: E402
from support.waiting import eventually  # noqa: E402

CONNECTIONS = (1, 32)
ELEMENTS = 16
RATIO_MOST = {1: 1.2, 32: 1.5}
MORE_MOST_US = {1: 0.0, 32: 2.5}  # allowed beyond the ratio, whichever is larger
ECHO_RATIO_MOST = {32: 1.15}

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


def load(pid, url, arguments, requests, connections):
    """\\returns the CPU time of the server for a request, in microseconds"""
    before = cpu_us(pid)
    done = subprocess.run(["h2load", "-n", str(requests), "-c", str(connections), "-m", "1", *arguments, url],
                          capture_output=True, text=True, check=True)
    after = cpu_us(pid)
    assert f" {requests} 2xx" in done.stdout or f"status codes: {requests} 2xx" in done.stdout, done.stdout
    return (after - before) / requests


def answer_of(address, path, body, head_size):
    """The bytes of an answer of the server, head and body."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"POST {path} HTTP/1.1\r\nHost: {address}\r\nInference-Header-Content-Length: {head_size}\r\n"
                           f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += connection.recv(65536)
        head = answer[:answer.index(b"\r\n\r\n") + 4]
        assert head.startswith(b"HTTP/1.1 200"), head
        size = len(head) + int(re.search(rb"(?i)\r\ncontent-length: *(\d+)", head).group(1))
        while len(answer) < size:
            answer += connection.recv(65536)
    assert len(answer) == size
    return answer


@contextlib.contextmanager
def echo(folder):
    """\\returns its process id, and its addresses by name"""
    program = BUILD / "bench" / "tls_echo"
    if not program.exists():
        sys.exit(f"{program} is not there: etc/dev/build release tls_echo")
    with subprocess.Popen([program, folder / "server.crt", folder / "server.key", folder / "answer"], stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            yield process.pid, dict(process.stdout.readline().split() for _ in range(2))
        finally:
            process.kill()


def addresses(server):
    found = {}
    for line in server.lines:
        if match := re.search(r"\[(\w+)\] Started \S+ at (\S+)", line):
            found[match.group(1)] = match.group(2)
    return found


def spread(values):
    return f"{min(values):.2f} to {max(values):.2f}"


def measure_case(protocol, count, pairs, arguments, options):
    """pairs: process id with URLs without and with TLS

    \\returns the CPU times of each run, a list for each URL"""
    urls = [(pid, url) for pid, *both in pairs for url in both]
    runs = [[load(pid, url, arguments[protocol], options.requests, count) for pid, url in urls]
            for _ in range(options.runs + 1)][1:]  # the first one warms up
    return list(zip(*runs, strict=True))


def measure(server, arguments, folder, options):
    """Rows of both tables, and whether all are within their budgets."""
    rows, echo_rows, passed = [], [], True
    eventually(lambda: len(addresses(server)) == 4)
    at = addresses(server)
    (folder / "answer").write_bytes(answer_of(at["http"], PATHS["http"], (folder / "http").read_bytes(), arguments["http"][-1].split()[-1]))
    with echo(folder) as (echo_pid, echo_at):
        os.sched_setaffinity(0, {options.client_core})
        for protocol, count in [(protocol, count) for protocol in ("http", "grpc") for count in CONNECTIONS]:
            with_echo = protocol == "http"
            pairs = [(server.pid, f"http://{at[protocol]}{PATHS[protocol]}", f"https://{at[protocol + 's']}{PATHS[protocol]}")]
            if with_echo:
                pairs.append((echo_pid, f"http://{echo_at['plain']}/", f"https://{echo_at['tls']}/"))
            plain, tls, *echoed = measure_case(protocol, count, pairs, arguments, options)
            ratios = [b / a for a, b in zip(plain, tls, strict=True)]
            ratio, more = statistics.median(ratios), statistics.median(tls) - statistics.median(plain)
            good = ratio <= RATIO_MOST[count] or (MORE_MOST_US[count] and more <= MORE_MOST_US[count])
            passed = passed and good
            rows.append(f"| {protocol} | {count} | {statistics.median(plain):.1f} | {statistics.median(tls):.1f} | {ratio:.2f} "
                        f"| {spread(ratios)} | {RATIO_MOST[count]}{' or +2.5 µs' if MORE_MOST_US[count] else ''} "
                        f"| {'yes' if good else 'no'} |")
            if with_echo:
                more_rows, good = compare_with_echo(count, plain, tls, *echoed)
                echo_rows += more_rows
                passed = passed and good
    return rows, echo_rows, passed


def compare_with_echo(count, plain, tls, echo_plain, echo_tls):
    """Rows of the table, and whether the budget is met."""
    rows = []
    good = True
    added, echo_added = ([b - a for a, b in zip(*pair, strict=True)] for pair in ((plain, tls), (echo_plain, echo_tls)))
    for name, ours, theirs, most in (("plain text", plain, echo_plain, None), ("TLS", tls, echo_tls, ECHO_RATIO_MOST.get(count)),
                                     ("what TLS adds", added, echo_added, None)):
        ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
        ratio = statistics.median(ratios)
        if most is not None:
            good = ratio <= most
        rows.append(f"| {count} | {name} | {statistics.median(ours):.1f} | {statistics.median(theirs):.1f} | {ratio:.2f} | {spread(ratios)} "
                    f"| {most or ''} | {'' if most is None else 'yes' if ratio <= most else 'no'} |")
    return rows, good


def measure_handshakes(server, options):
    """Milliseconds of the server's CPU for a connection that is opened and asks once."""
    at = addresses(server)
    times = [load(server.pid, f"https://{at['https']}/v2/health/live", ["--h1"], 200, 200) for _ in range(options.runs)]
    return statistics.median(times) / 1000, min(times) / 1000, max(times) / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=100000, help="of a run")
    parser.add_argument("--runs", type=int, default=9, help="of each case")
    cores = sorted(os.sched_getaffinity(0))
    parser.add_argument("--server-core", type=int, default=cores[0], help="of the server and the echo")
    parser.add_argument("--client-core", type=int, default=cores[-1], help="of h2load")
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
        os.sched_setaffinity(0, {options.server_core})  # of what is started from here
        with Server(repository, *settings, manifest=folder / "atoll.toml", grpc_frontend=None) as server:
            server.wait_active().wait_logged("successfully loaded 'any'")
            rows, echo_rows, passed = measure(server, write_requests(folder), folder, options)
            handshake = measure_handshakes(server, options)
    text = "\n".join([
        "# CPU of the server for a request: with TLS and without", "",
        f"{platform.processor() or platform.machine()}, {options.runs} runs of {options.requests} requests each; the identity "
        f"model with {ELEMENTS} numbers; TLS 1.3 with AES-256-GCM.", "",
        "| protocol | connections | plain, µs | TLS, µs | ratio | smallest and largest | budget | met |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |", *rows, "",
        "Beside a bare OpenSSL echo of the same answer, over HTTP:", "",
        "| connections | what | server, µs | echo, µs | ratio | smallest and largest | budget | met |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |", *echo_rows, "",
        f"A new connection with a certificate of RSA-2048 costs {handshake[0]:.2f} ms ({handshake[1]:.2f} to "
        f"{handshake[2]:.2f})."]) + "\n"
    print(text)
    if options.output:
        options.output.write_text(text)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
