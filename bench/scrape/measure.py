#!/usr/bin/env python3
"""What a scrape of many used models takes, in bytes and time, beside the real Triton in the same run.

    bench/serve/peers/install triton && etc/dev/build release && etc/dev/build release bench
    build/venv/bin/python bench/scrape/measure.py [--models 1000 10000] [--runs 3] [--output FILE]

Each run starts both servers in turn, each as it comes, on so many models of the smallest kind (identity, one instance), uses each
model once and scrapes the page some times; the quickest counts. Atoll's page is also asked for in the protobuf format, which has
native histograms of each phase, and its summary is asked for on the inference port. Prints medians with the smallest and largest
value, and the ratios to Triton's. Exits with 1 if a median ratio misses its budget: 2 times the bytes, 1.2 times the time; or if
the summary misses its own: 4 kB, 1 ms.
"""

import argparse
import http.client
import os
import pathlib
import platform
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support.machine import cpu_model  # noqa: E402
from support.many_models import REQUEST, make_repository  # noqa: E402
from support.real_triton import real_triton  # noqa: E402
from support.server import Server  # noqa: E402

SCRAPES = 9
PROTOBUF = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
BUDGETS = {"bytes": 2.0, "ms": 1.2}
SUMMARY_BUDGETS = {"bytes": 4000, "ms": 1.0}


def use(address, models):
    connection = http.client.HTTPConnection(address, timeout=600)
    for number in range(models):
        connection.request("POST", f"/v2/models/identity_{number:05}/infer", REQUEST)
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status == 200, text
    connection.close()


def scrape(address, path="/metrics", accept="text/plain"):
    """The size of a page, and the milliseconds that the quickest took on a connection that is kept."""
    connection = http.client.HTTPConnection(address, timeout=600)
    quickest, size = float("inf"), 0
    for _ in range(SCRAPES):
        begin = time.perf_counter()
        connection.request("GET", path, headers={"Accept": accept})
        answer = connection.getresponse()
        size = len(answer.read())
        quickest = min(quickest, time.perf_counter() - begin)
        assert answer.status == 200
    connection.close()
    return {"bytes": size, "ms": quickest * 1e3}


def of_atoll(repository, models):
    with Server(repository, "plugin.onnxruntime.enabled=false", "plugin.metrics.inference_port=true") as server:
        server.wait_ready(timeout=600)
        use(server.http_address, models)
        return {"atoll": scrape(server.metrics_address), "protobuf": scrape(server.metrics_address, accept=PROTOBUF),
                "summary": scrape(server.http_address, "/metrics/summary")}


def one_run(repository, models):
    with real_triton(repository) as ports:
        use(f"127.0.0.1:{ports['http']}", models)
        theirs = scrape(f"127.0.0.1:{ports['metrics']}")
    return {"triton": theirs, **of_atoll(repository, models)}


def spread(values, digits):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def report(models, runs):
    """The lines about so many models, and whether every budget is met."""
    lines = ["", f"{models} used models, {len(runs)} runs", "",
             "| page | bytes | ms | bytes / Triton's | ms / Triton's |", "| --- | --- | --- | --- | --- |"]
    met = True
    for name, title in (("triton", "Triton"), ("atoll", "Atoll, text"), ("protobuf", "Atoll, protobuf with native histograms"),
                        ("summary", "Atoll, summary")):
        ratios = {unit: [run[name][unit] / run["triton"][unit] for run in runs] for unit in BUDGETS}
        lines.append(f"| {title} | {spread([run[name]['bytes'] for run in runs], 0)} | {spread([run[name]['ms'] for run in runs], 2)} "
                     f"| {spread(ratios['bytes'], 3)} | {spread(ratios['ms'], 3)} |")
        for unit, budget in (BUDGETS.items() if name == "atoll" else ()):
            met &= statistics.median(ratios[unit]) <= budget
        for unit, budget in (SUMMARY_BUDGETS.items() if name == "summary" else ()):
            met &= statistics.median([run[name][unit] for run in runs]) <= budget
    return lines, met


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, nargs="+", default=[1000, 10000])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--output", type=pathlib.Path, help="also write the report there")
    options = parser.parse_args()
    cpu = cpu_model()
    lines = [f"On {cpu}, {os.cpu_count()} CPUs, {platform.system()} {platform.release()}."]
    met = True
    for models in options.models:
        with tempfile.TemporaryDirectory() as folder:
            repository = make_repository(pathlib.Path(folder), models)
            of_models, held = report(models, [one_run(repository, models) for _ in range(options.runs)])
        lines += of_models
        met &= held
    lines += ["", f"Budgets: {BUDGETS['bytes']} times Triton's bytes, {BUDGETS['ms']} times its time; the summary "
              f"{SUMMARY_BUDGETS['bytes']} bytes and {SUMMARY_BUDGETS['ms']} ms: {'met' if met else 'MISSED'}."]
    print("\n".join(lines))
    if options.output:
        options.output.write_text("# A scrape of many used models\n\n" + "\n".join(lines) + "\n")
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
