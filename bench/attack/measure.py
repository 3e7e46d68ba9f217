#!/usr/bin/env python3
"""How long others wait while clients send bodies that take long to read, ask for answers that take long to write, or send
frames of HTTP/2 that bring nothing, until their connections are closed.

    etc/dev/build release && build/venv/bin/python bench/attack/measure.py [--seconds 20] [--runs 3] [--output FILE] \
        [--grpc-frontend frontends/grpc]

Two clients attack in one way after the other; a probe, a process of its own, asks for the server's health and runs another
model, in turns, every 20 ms. Server on the first two CPUs, clients on the others where there are more. With two CPUs all
share them; the attackers are niced then, because what they compute is not the server's, but some of it is in the figures.
Prints for each attack p50, p99 and the maximum of the probe, how many attacks were answered and what the server's memory was
at its peak, each as the median of the runs with the smallest and largest, and the budget. Exits with 1 if a median p99
misses it.
"""

import argparse
import concurrent.futures
import contextlib
import gzip
import http.client
import json
import multiprocessing
import os
import pathlib
import re
import statistics
import sys
import tempfile
import threading
import time

import grpc
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests")]
from support import models  # noqa: E402
from support.grpc_frontends import GRPC_FRONTENDS  # noqa: E402
from support.http2 import (END_HEADERS, HEADERS, RST_STREAM, WINDOW_UPDATE, Raw, call_headers, frame)  # noqa: E402
from support.machine import cpu_model  # noqa: E402
from support.server import Server  # noqa: E402

BUDGET_MS = 50
MIB = 1 << 20
CLIENTS = 2
PROBE_PAUSE_S = 0.02
ATTACKERS_NICE = 10


def post(address, path, body, headers=()):
    connection = http.client.HTTPConnection(address, timeout=300)
    try:
        connection.request("POST", path, body, dict(headers))
        return connection.getresponse().read()
    finally:
        connection.close()


def tensor(data, count):
    return ('{"inputs":[{"name":"INPUT0","shape":[%d],"datatype":"FP32","data":[' % count + data + "]}]}").encode()


def json_attack(element):
    count = 60 * MIB // (len(element) + 1)
    body = gzip.compress(tensor(",".join([element] * count), count), 6)
    return lambda server: post(server.http_address, "/v2/models/fp32/infer", body, {"Content-Encoding": "gzip"})


def answer_attack(mebibytes):
    values = np.random.default_rng(1).standard_normal(mebibytes * MIB // 4).astype(np.float32).tobytes()
    head = json.dumps({"inputs": [{"name": "INPUT0", "shape": [len(values) // 4], "datatype": "FP32",
                                   "parameters": {"binary_data_size": len(values)}}]}).encode()
    headers = {"Inference-Header-Content-Length": str(len(head)), "Accept-Encoding": "gzip"}
    return lambda server: post(server.http_address, "/v2/models/fp32/infer", head + values, headers)


def grpc_attack():
    piece = b"\x2a\x00" * (30 * MIB)
    given = b"\x0a\x06INPUT0\x12\x04FP32\x1a\x01\x00" + piece
    size, length = len(given), b""
    while size >= 0x80:
        length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
    message = b"\x0a\x04fp32\x2a" + length + bytes([size]) + given

    def attack(server):
        options = [("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(server.address, options=options, compression=grpc.Compression.Gzip) as channel:
            channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")(message, timeout=300)

    return attack


def frames_attack(frames):
    """Sent again and again on one connection, or a hundred times if the server does not mind."""
    def attack(server):
        with Raw(server) as raw, contextlib.suppress(ConnectionError):
            raw.ignore_answers()
            for at in range(100):
                raw.send(frames(at))

    return attack


def window_updates(_):
    return frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\1") * 1000


def resets(at):
    block = call_headers("/inference.GRPCInferenceService/ModelStreamInfer")
    return b"".join(frame(HEADERS, END_HEADERS, stream, block) + frame(RST_STREAM, 0, stream, b"\0\0\0\x08")
                    for stream in range(200 * at + 1, 200 * at + 201, 2))


ATTACKS = {
    "none": None,
    "60 MiB of NaN, gzip": lambda: json_attack("NaN"),
    "60 MiB of large integers, gzip": lambda: json_attack("99999999999999999999"),
    "60 MiB of zeros, gzip": lambda: json_attack("0"),
    "answers of 8 MiB as JSON, gzip": lambda: answer_attack(8),
    "60 MiB of empty contents over gRPC, gzip": grpc_attack,
    "window updates over gRPC": lambda: frames_attack(window_updates),
    "calls that are reset at once over gRPC": lambda: frames_attack(resets),
}


def probe(address, seconds):
    """Milliseconds of each call. In a process of its own: the attackers' interpreter lets nobody else in for milliseconds."""
    body = tensor("1,2", 2)
    connection = http.client.HTTPConnection(address, timeout=300)
    taken = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for method, path, sent in (("GET", "/v2/health/live", None), ("POST", "/v2/models/other/infer", body)):
            start = time.perf_counter()
            connection.request(method, path, sent)
            answer = connection.getresponse()
            text = answer.read()
            taken.append((time.perf_counter() - start) * 1000)
            assert answer.status == 200, text
        time.sleep(PROBE_PAUSE_S)
    return sorted(taken)


def measure(server, prober, attack, seconds):
    stop = threading.Event()
    done = [0] * CLIENTS

    def work(client):
        if os.cpu_count() <= 2:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), ATTACKERS_NICE)
        while not stop.is_set():
            attack(server)
            done[client] += 1

    clients = [threading.Thread(target=work, args=(client,)) for client in range(CLIENTS if attack else 0)]
    pathlib.Path(f"/proc/{server.pid}/clear_refs").write_text("5")
    for client in clients:
        client.start()
    taken = prober.submit(probe, server.http_address, seconds).result()
    stop.set()
    for client in clients:
        client.join()
    status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
    return {"p50, ms": taken[len(taken) // 2], "p99, ms": taken[int(len(taken) * 0.99)], "maximum, ms": taken[-1],
            "attacks answered": sum(done),
            "peak memory, MiB": int(re.search(r"^VmHWM:\s+(\d+)", status, re.M).group(1)) / 1024}


def one_run(folder, cpus, prober, seconds, grpc_frontend):
    os.sched_setaffinity(0, cpus[:2])
    with Server(folder, grpc_frontend=grpc_frontend) as server:
        os.sched_setaffinity(0, cpus[2:] or cpus)
        server.wait_ready()
        return {name: measure(server, prober, make() if make else None, seconds) for name, make in ATTACKS.items()}


def report(runs, seconds):
    """The lines of the report, and whether the budget is met."""
    cpu = cpu_model()
    lines = [f"{len(runs)} runs of {seconds:g} s an attack, {os.cpu_count()} CPUs ({cpu}), load average at the end "
             f"{os.getloadavg()[0]:.1f}", ""]
    figures = list(next(iter(runs[0].values())))
    lines += ["| attack | " + " | ".join(figures) + " | |", "| --- |" + " --- |" * (len(figures) + 1)]
    met_all = True
    for attack in ATTACKS:
        cells = []
        for figure in figures:
            values = [run[attack][figure] for run in runs]
            cells.append(f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})")
        met = statistics.median(run[attack]["p99, ms"] for run in runs) <= BUDGET_MS
        met_all &= met
        lines.append(f"| {attack} | " + " | ".join(cells) + f" | {'met' if met else 'MISSED'} |")
    return lines + ["", f"Budget: p99 of {BUDGET_MS} ms at most."], met_all


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--grpc-frontend", choices=GRPC_FRONTENDS, help="in place of the default manifest's")
    parser.add_argument("--output", type=pathlib.Path, help="also write the report there")
    options = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    with (tempfile.TemporaryDirectory() as folder,
          concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as prober):
        for name in ("fp32", "other"):
            models.write_model(pathlib.Path(folder), name, models.identity_config(name))
        prober.submit(os.getpid).result()  # it is there, with the priority that attackers do not have
        runs = [one_run(folder, cpus, prober, options.seconds, options.grpc_frontend) for _ in range(options.runs)]
    lines, met = report(runs, options.seconds)
    print("\n".join(lines))
    if options.output:
        options.output.write_text("# Others beside large bodies\n\n" + "\n".join(lines) + "\n")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
