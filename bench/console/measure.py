#!/usr/bin/env python3
"""What the console costs at many models: processor time of the server without a console, with nobody who looks, and with one page open.

    etc/dev/build release
    build/venv/bin/python bench/console/measure.py [--models 10000] [--used 1000] [--seconds 60] [--output FILE]

The models are of the smallest kind (identity, one instance); `--used` of them have had a request. The page that is open is played
by the calls that it makes, as often as it makes them. Prints the server's processor time as a share of one core, how many points
the history got, and how long the calls took. Exits with 1 if the share that one page or the history adds misses its budget, or the first paint's calls theirs.
"""

import argparse
import http.client
import json
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
from support.server import Server  # noqa: E402

CALLS = {"/v2/console/overview": 2.0, "/v2/console/history": 15.0}  # path: seconds between two calls of the page
FIRST_PAINT = ["/console/", "/console/app.js", "/v2/console/overview", "/v2/console/history"]
SHARE_BUDGET = 0.01  # of a core, more than without a console
PAINT_BUDGET_MS = 200


def get(connection, path):
    """The body, and how many milliseconds it took."""
    begin = time.perf_counter()
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    assert answer.status == 200, body
    return body, (time.perf_counter() - begin) * 1e3


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def watch(connection, seconds):
    """Plays an open page; without a connection nobody looks."""
    end = time.monotonic() + seconds
    due = dict.fromkeys(CALLS, 0.0) if connection else {}
    while (now := time.monotonic()) < end:
        for path, interval in CALLS.items():
            if due.get(path, end) <= now:
                get(connection, path)
                due[path] = now + interval
        time.sleep(max(0.0, min([end, *due.values()]) - time.monotonic()))


def share(server, seconds, connection=None):
    """Of one core, over some time."""
    before = processor_seconds(server.pid)
    begin = time.monotonic()
    watch(connection, seconds)
    return (processor_seconds(server.pid) - before) / (time.monotonic() - begin)


def measure(repository, used, seconds):
    found = {}
    for console in (False, True):
        with Server(repository, "plugin.onnxruntime.enabled=false", "plugin.python.enabled=false",
                    f"plugin.console.enabled={str(console).lower()}") as server:
            server.wait_ready(timeout=600)
            connection = http.client.HTTPConnection(server.http_address, timeout=600)
            for number in range(used):
                connection.request("POST", f"/v2/models/identity_{number:05}/infer", REQUEST)
                assert connection.getresponse().read()
            if not console:
                found["without"] = share(server, seconds)
                continue
            found["nobody looks"] = share(server, seconds)
            found["one page"] = share(server, seconds, connection)
            found["points"] = len(json.loads(get(connection, "/v2/console/history")[0])["points"])
            found["look, ms"] = json.loads(get(connection, "/v2/console/overview")[0])["took_ns"] / 1e6
            found["paint, ms"] = statistics.median(
                sum(get(connection, path)[1] for path in FIRST_PAINT) for _ in range(5))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=10000)
    parser.add_argument("--used", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(make_repository(pathlib.Path(folder), options.models), options.used, options.seconds)
    cpu = cpu_model()
    lines = ["# What the console costs", "", f"On {cpu}, {os.cpu_count()} CPUs, {platform.system()} {platform.release()}.", "",
             f"{options.models} models, {options.used} of them used, {options.seconds:g} s each", "", "| what | share of a core |", "| --- | --- |"]
    lines += [f"| {what} | {found[what]:.2%} |" for what in ("without", "nobody looks", "one page")]
    added = {what: found[what] - found["without"] for what in ("nobody looks", "one page")}
    good = max(added.values()) <= SHARE_BUDGET and found["paint, ms"] <= PAINT_BUDGET_MS
    lines += ["", f"A look at all models took {found['look, ms']:.0f} ms; the calls of a first paint {found['paint, ms']:.1f} ms; the history "
              f"has {found['points']} points.", "",
              f"Budgets: {SHARE_BUDGET:.0%} of a core more than without; {PAINT_BUDGET_MS} ms: {'met' if good else 'MISSED'}."]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.output:
        options.output.write_text(text)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
