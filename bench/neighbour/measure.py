#!/usr/bin/env python3
"""p99 of a served model while others load and unload, through its p99 while nothing else happens.

    etc/dev/build release && build/venv/bin/python bench/neighbour/measure.py [--seconds 60] [--repetitions 5]
    build/venv/bin/python bench/neighbour/measure.py --imports 200  # neighbours are Python models that import so many MB
    build/venv/bin/python bench/neighbour/measure.py --quick        # does everything work; no figures to quote

Quiet and disturbed runs take turns on one server, so what disturbs the machine disturbs both. Requests come at a
fixed rate (h2load, HTTP/1.1, JSON); the neighbours are ONNX models whose weights take --megabytes each, loaded over
gRPC by this process, which keeps to the server's last CPU; or Python models that import a compiled package of
--imports MB, which is made here: mostly constants, as in packages of tables and weights, and functions. Prints every
run, the ratio of each pair with the spread, and the budget. Exits with 1 if the median misses it.
"""

import argparse
import compileall
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

import numpy as np
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench" / "serve")]
from comparison import cases, h2load, stats  # noqa: E402
from support import models, python_models  # noqa: E402
from support.machine import cpu_model  # noqa: E402
from support.server import Server  # noqa: E402

BUDGET = 1.1
EXPLICIT = ('plugin.control.use="control/explicit"', 'plugin.control.load_model=["served"]')
SIZE = 1024  # of a square matrix of weights
MODULE_MEGABYTES = 4


def heavy_model(megabytes):
    """OUTPUT0 = INPUT0 through so many matrices of 4 MB."""
    count = max(1, round(megabytes * 2**20 / (4 * SIZE * SIZE)))
    weights = np.eye(SIZE, dtype=np.float32)
    names = ["INPUT0", *(f"step{i}" for i in range(1, count)), "OUTPUT0"]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("MatMul", [names[i], f"W{i}"], [names[i + 1]]) for i in range(count)], "heavy",
        [value("INPUT0", TensorProto.FLOAT, [1, SIZE])], [value("OUTPUT0", TensorProto.FLOAT, [1, SIZE])],
        [helper.make_tensor(f"W{i}", TensorProto.FLOAT, [SIZE, SIZE], weights.tobytes(), raw=True) for i in range(count)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString()


def write_package(folder, megabytes):
    """`heavy`, whose modules are so large together, and compiled as those of an installed package are."""
    package = folder / "packages" / "heavy"
    package.mkdir(parents=True)
    functions = "".join(f"def f{i}(a, b=0):\n    c = [a + b + j for j in range({i})]\n    return c or a\n\n" for i in range(1000))
    modules = max(1, round(megabytes / MODULE_MEGABYTES))
    for i in range(modules):
        constant = f"TABLE = {bytes([97 + i % 26]) * (MODULE_MEGABYTES * 2**20)!r}\n"
        (package / f"part{i}.py").write_text(constant + functions)
    (package / "__init__.py").write_text("".join(f"from . import part{i}\n" for i in range(modules)))
    if not compileall.compile_dir(package, quiet=1):
        sys.exit("error: the package of --imports does not compile")
    return package.parent


def write_neighbours(repository, folder, options):
    """Returns their names, and variables that the server needs for them"""
    names = [f"neighbour{i}" for i in range(options.neighbours)]
    if not options.imports:
        content = heavy_model(options.megabytes)
        for name in names:
            models.write_model(repository, name, files={"model.onnx": content})
        return names, {}
    for name in names:
        python_models.write(repository, name, "import heavy\n" + python_models.IDENTITY)
    return names, {"PYTHONPATH": str(write_package(folder, options.imports))}


class Neighbours:
    """Load and unload without a pause while it is entered, each in a thread of its own."""

    def __init__(self, server, names):
        self._server, self._names = server, names
        self._end = threading.Event()
        self.cycles = 0
        self.failures = []

    def _churn(self, name):
        try:
            with self._server.client() as client:
                while not self._end.is_set():
                    client.load_model(name)
                    client.unload_model(name)
                    self.cycles += 1
        except Exception as error:  # told by the main thread
            self.failures.append(error)

    def __enter__(self):
        self._threads = [threading.Thread(target=self._churn, args=(name,)) for name in self._names]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        for thread in self._threads:
            thread.join()
        if self.failures:
            raise self.failures[0]


def run(options, server, folder, seconds):
    """(p50, p99) in microseconds"""
    body, log = folder / "body", folder / "log"
    body.write_text(json.dumps({"inputs": [{"name": "INPUT0", "shape": [16], "datatype": "FP32", "data": [1.0] * 16}]}))
    log.unlink(missing_ok=True)
    command = h2load.command(f"http://{server.http_address}/v2/models/served/infer", body,
                             [("content-type", "application/json")], cases.Case("served", cases.JSON, options.connections),
                             h2load.for_seconds(seconds), log, True)
    command[1:1] = ["--rps", str(options.rate / options.connections)]
    done = subprocess.run(["taskset", "-c", options.client_cores, *command], capture_output=True, text=True,
                          timeout=4 * seconds + 30)
    if done.returncode != 0:
        sys.exit(f"error: h2load failed: {done.stderr or done.stdout}")
    if h2load.parse_summary(done.stdout).bad:
        sys.exit(f"error: requests failed: {done.stdout}")
    latencies = h2load.read_log(log).latencies
    return stats.percentile(latencies, 50), stats.percentile(latencies, 99)


def start(repository, cores, environment):
    """A server that finds only these CPUs, as in a container: it makes its threads for them."""
    os.sched_setaffinity(0, cores)
    try:
        return Server(repository, python_models.INTERPRETER, *EXPLICIT, environment=environment)
    finally:
        # This process stands for operators elsewhere: it does not take the CPU that the server leaves to requests.
        os.sched_setaffinity(0, {max(cores)})


def measure(options, folder):
    """Ratios of p99, one a repetition."""
    repository = folder / "models"
    models.write_model(repository, "served", models.identity_config("served", dims=(16,)))
    names, environment = write_neighbours(repository, folder, options)
    ratios = []
    with start(repository, options.server_cores, environment) as server:
        server.wait_ready()
        run(options, server, folder, min(options.seconds, 2))
        for repetition in range(options.repetitions):
            quiet = run(options, server, folder, options.seconds)
            with Neighbours(server, names) as neighbours:
                busy = run(options, server, folder, options.seconds)
            if None in quiet + busy:
                sys.exit("error: too few requests to tell a p99; more --seconds or a higher --rate")
            ratios.append(busy[1] / quiet[1])
            print(f"{repetition + 1}: quiet p50 {quiet[0]:.0f} us, p99 {quiet[1]:.0f} us; while {neighbours.cycles} loads and "
                  f"unloads ran p50 {busy[0]:.0f} us, p99 {busy[1]:.0f} us; p99 {ratios[-1]:.2f}x", flush=True)
    return ratios


def core_set(text):
    return {int(core) for core in text.split(",")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="of a run")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--rate", type=float, default=500, help="requests a second")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--neighbours", type=int, default=2, help="models that load and unload at a time")
    parser.add_argument("--megabytes", type=float, default=16, help="weights of each of them")
    parser.add_argument("--imports", type=float, default=0, help="the neighbours are Python models that import a package of so many MB")
    every = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    parser.add_argument("--server-cores", type=core_set, default=every, help="the CPUs the server finds: 0,1 (default: all)")
    parser.add_argument("--client-cores", default=every, help="of the load generator, as taskset takes them (default: all)")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.seconds, options.repetitions = 3, 2
    cpu = cpu_model()
    print(f"server on CPUs {sorted(options.server_cores)}, client on {options.client_cores} of {os.cpu_count()} x {cpu}; "
          f"{options.rate:g} requests/s, {options.neighbours} neighbours "
          f"{f'that import {options.imports:g} MB' if options.imports else f'of {options.megabytes:g} MB'}, runs of {options.seconds:g} s")
    with tempfile.TemporaryDirectory() as folder:
        spread = stats.spread(measure(options, pathlib.Path(folder)))
    met = spread.median <= BUDGET
    print(f"p99 beside neighbours through quiet p99: median {spread.median:.2f}x (min {spread.low:.2f}, max {spread.high:.2f}), "
          f"budget {BUDGET}x: {'met' if met else 'MISSED'}")
    sys.exit(0 if met or options.quick else 1)


if __name__ == "__main__":
    main()
