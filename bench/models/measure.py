#!/usr/bin/env python3
"""What many models cost: those that nobody uses time to ready, memory, threads and room on the metrics page, and all of them
used in turn threads.

    etc/dev/build release && build/venv/bin/python bench/models/measure.py [--models 10000] [--runs 3] [--output FILE]
    bench/serve/peers/install triton && etc/dev/build release bench && ... measure.py --beside-triton

Each run starts the server of the default manifest on a repository without models and on one with many of the smallest
kind (identity, one instance), waits until it is ready, scrapes the metrics and, when the threads of the models' instances
had time to end, reads its memory. Figures a model are the difference of the two. Then 8 clients ask each model once, and the
largest number of threads meanwhile is taken. With --beside-triton each run also starts the real Triton on the same models, and
the time to ready is shown as a part of its own; the budget is 1. Prints the median with the smallest and
largest value and the budgets beside them, and writes that to --output. Exits with 1 if a median misses a budget.
"""

import argparse
import concurrent.futures
import contextlib
import pathlib
import platform
import statistics
import sys
import tempfile
import time
import urllib.request

import numpy as np
import tritonclient.grpc as grpcclient

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests"))
from support.machine import cpu_model  # noqa: E402
from support.many_models import make_repository  # noqa: E402
from support.real_triton import real_triton  # noqa: E402
from support.server import Server, usage  # noqa: E402

# Longer than an instance's thread outlives its last task.
SETTLE_S = 60
CLIENTS = 8
BUDGETS = {"ready / Triton's": 1.0, "memory a model": 30.0, "threads a model": 0.0, "page a model": 1.2, "scrape": 1.0, "threads, all used": 128.0}
UNITS = {"ready": "s", "Triton's ready": "s", "ready / Triton's": "", "memory a model": "kB", "threads a model": "", "page a model": "kB", "scrape": "s",
         "all used once": "s", "threads, all used": ""}


def scrape(server):
    begin = time.perf_counter()
    with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=600) as page:
        size = len(page.read())
    return time.perf_counter() - begin, size


def settled_threads(pid):
    """The number of threads once it has not changed for a few seconds."""
    deadline = time.monotonic() + SETTLE_S
    last, since = usage(pid)["threads"], time.monotonic()
    while time.monotonic() < deadline and time.monotonic() - since < 15:
        time.sleep(0.5)
        now = usage(pid)["threads"]
        if now != last:
            last, since = now, time.monotonic()
    return last


def use_all(server, models):
    """Each model answers one request. The seconds, and the most threads that the server had."""
    def use(numbers):
        tensor = grpcclient.InferInput("INPUT0", [1, 16], "FP32")
        tensor.set_data_from_numpy(np.zeros((1, 16), np.float32))
        with server.client() as client:
            for number in numbers:
                client.infer(f"identity_{number:05}", [tensor])

    most, begin = 0, time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        clients = [pool.submit(use, range(client, models, CLIENTS)) for client in range(CLIENTS)]
        while not all(client.done() for client in clients):
            most = max(most, usage(server.pid)["threads"])
            time.sleep(0.02)
        for client in clients:
            client.result()
    return time.perf_counter() - begin, most


@contextlib.contextmanager
def serving(repository):
    """The server and the seconds until it was ready."""
    begin = time.perf_counter()
    with Server(repository) as server:
        server.wait_ready(timeout=600)
        yield server, time.perf_counter() - begin


def one_state(repository, models=0):
    with serving(repository) as (server, ready_s):
        scrape_s, page_bytes = min(scrape(server) for _ in range(3))
        threads = settled_threads(server.pid)
        resident = usage(server.pid)["resident_bytes"]
        used_s, most_threads = use_all(server, models) if models else (0, threads)
        return {"ready": ready_s, "scrape": scrape_s, "page": page_bytes, "threads": threads, "resident": resident,
                "used": used_s, "most threads": most_threads}


def ready_of_triton(repository):
    begin = time.perf_counter()
    with real_triton(repository):
        return time.perf_counter() - begin


def one_run(empty, full, models, beside_triton):
    theirs = {}
    if beside_triton:
        theirs["Triton's ready"] = ready_of_triton(full)
    without, with_models = one_state(empty), one_state(full, models)
    if beside_triton:
        theirs["ready / Triton's"] = with_models["ready"] / theirs["Triton's ready"]
    def difference(name):
        return (with_models[name] - without[name]) / models
    return {"ready": with_models["ready"], "memory a model": difference("resident") / 1e3,
            "threads a model": difference("threads"), "page a model": difference("page") / 1e3,
            "scrape": with_models["scrape"], "all used once": with_models["used"],
            "threads, all used": with_models["most threads"], **theirs}


def report(runs, models):
    """The lines of the report, and whether every budget is met."""
    cpu = cpu_model()
    lines = [f"{models} models, {len(runs)} runs on {cpu}, {platform.system()} {platform.release()}", ""]
    lines += ["| figure | median | smallest | largest | budget | |", "| --- | --- | --- | --- | --- | --- |"]
    met_all = True
    for name, unit in UNITS.items():
        if name not in runs[0]:
            continue
        values = [run[name] for run in runs]
        budget = BUDGETS.get(name)
        met = budget is None or round(statistics.median(values), 3) <= budget
        met_all &= met
        verdict = "" if budget is None else "met" if met else "MISSED"
        shown = "" if budget is None else f"{budget:g} {unit}".strip()
        lines.append(f"| {name} | {statistics.median(values):.3f} {unit} | {min(values):.3f} | {max(values):.3f} "
                     f"| {shown} | {verdict} |")
    return lines, met_all


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=10000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--beside-triton", action="store_true", help="time to ready beside the real Triton's")
    parser.add_argument("--output", type=pathlib.Path, help="also write the report there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        empty = make_repository(pathlib.Path(folder) / "empty", 0)
        full = make_repository(pathlib.Path(folder) / "full", options.models)
        one_state(empty)  # the files are in the page cache then
        runs = [one_run(empty, full, options.models, options.beside_triton) for _ in range(options.runs)]
    lines, met = report(runs, options.models)
    print("\n".join(lines))
    if options.output:
        options.output.write_text("# Many models\n\n" + "\n".join(lines) + "\n")
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
