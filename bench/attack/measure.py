#!/usr/bin/env python3
"""How long others wait while clients send bodies that take long to read, or ask for answers that take long to write.

    etc/dev/build release && build/venv/bin/python bench/attack/measure.py [--seconds 20]

Two clients attack in one way after the other; a probe on a connection of its own asks for the server's health and runs
another model, in turns, every 20 ms. Server on the first two CPUs, clients on the others where there are more: with two
CPUs the clients' own work is in the figures. Prints p50, p99 and the maximum of the probe for each attack, what the server's memory
was at its peak, and the budget. Exits with 1 if a p99 misses it.
"""

import argparse
import gzip
import http.client
import json
import os
import pathlib
import re
import sys
import tempfile
import threading
import time

import grpc
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests")]
from support import models  # noqa: E402
from support.server import Server  # noqa: E402

BUDGET_MS = 50
MIB = 1 << 20
CLIENTS = 2
PROBE_PAUSE_S = 0.02


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


ATTACKS = {
    "none": None,
    "60 MiB of NaN, gzip": lambda: json_attack("NaN"),
    "60 MiB of large integers, gzip": lambda: json_attack("99999999999999999999"),
    "60 MiB of zeros, gzip": lambda: json_attack("0"),
    "answers of 8 MiB as JSON, gzip": lambda: answer_attack(8),
    "60 MiB of empty contents over gRPC, gzip": grpc_attack,
}


def probe(server, seconds):
    """Milliseconds of each call."""
    body = tensor("1,2", 2)
    connection = http.client.HTTPConnection(server.http_address, timeout=300)
    taken = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for method, path, sent in (("GET", "/v2/health/live", None), ("POST", "/v2/models/other/infer", body)):
            start = time.perf_counter()
            connection.request(method, path, sent)
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            answer.read()
            taken.append((time.perf_counter() - start) * 1000)
        time.sleep(PROBE_PAUSE_S)
    return sorted(taken)


def run(server, attack, seconds):
    stop = threading.Event()
    done = [0]

    def work():
        while not stop.is_set():
            attack(server)
            done[0] += 1

    clients = [threading.Thread(target=work) for _ in range(CLIENTS if attack else 0)]
    pathlib.Path(f"/proc/{server.pid}/clear_refs").write_text("5")
    for client in clients:
        client.start()
    taken = probe(server, seconds)
    stop.set()
    for client in clients:
        client.join()
    status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
    return taken, done[0], int(re.search(r"^VmHWM:\s+(\d+)", status, re.M).group(1)) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    arguments = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        for name in ("fp32", "other"):
            models.write_model(pathlib.Path(folder), name, models.identity_config(name))
        os.sched_setaffinity(0, cpus[:2])
        with Server(folder) as server:
            os.sched_setaffinity(0, cpus[2:] or cpus)
            server.wait_ready()
            print(f"{os.cpu_count()} CPUs; probe p50, p99, maximum in ms; attacks answered; peak memory in MiB")
            for name, make in ATTACKS.items():
                taken, answered, peak = run(server, make() if make else None, arguments.seconds)
                p99 = taken[int(len(taken) * 0.99)]
                missed = missed or p99 > BUDGET_MS
                print(f"{name:42} {taken[len(taken) // 2]:8.1f} {p99:8.1f} {taken[-1]:8.1f} {answered:6} {peak:8.0f}")
    print(f"budget: p99 {BUDGET_MS} ms: {'missed' if missed else 'met'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
