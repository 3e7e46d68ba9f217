#!/usr/bin/env python3
"""What a request costs inside the server's own process: by atl::Model alone, through our C API, and through Triton's own library.

    bench/serve/peers/install triton && etc/dev/build release && etc/dev/build release bench
    build/venv/bin/python bench/in_process/measure.py [--repetitions 7] [--output FILE]

One caller sends 16 bytes to a model that copies them, and the next when that is answered and released (bench/micro/model_bench,
in_process_bench: each run is three rounds of 200,000 requests, of which the middle one by its median counts). The model is our
plugin backends/identity, or, for both libraries, one and the same shared object made for Triton's C API
(sdk/template/triton_backends/identity.c). Then perf_analyzer in its mode triton_c_api sends 64 bytes over both libraries
(FP32 [16]), which it measures in whole microseconds. All take turns; a ratio is formed within a repetition. Prints medians with the
smallest and largest, and the budgets; --output writes that, too. Exits with 1 if a budget is missed. With ATOLL_BUILD_DIR set, that
build folder is measured; the programs of bench/micro are taken from --programs.
"""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("ATOLL_BUILD_DIR", ROOT / "build" / "release"))
OURS = BUILD / "lib" / "atoll"
BACKEND = "copy"  # none of our plugins has that name
BUDGETS_US = {"atl::Model": 1.0, "C API": 2.5}
RATIOS = (("C API, backend in C", "Triton's library, the same backend"),
          ("perf_analyzer, 1 in flight", "perf_analyzer over Triton's, 1 in flight"),
          ("perf_analyzer, 4 in flight", "perf_analyzer over Triton's, 4 in flight"))
CONFIG = f"""backend: "{BACKEND}"
max_batch_size: 8
input [ {{ name: "INPUT0" data_type: TYPE_FP32 dims: [ 16 ] }} ]
output [ {{ name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 16 ] }} ]
instance_group [ {{ kind: KIND_CPU }} ]
"""


def find_tritons_library():
    found = list((ROOT / "build/peers/triton").glob("lib/python3*/site-packages/nvidia_pytriton.libs/libtritonserver-*.so"))
    if len(found) != 1:
        raise SystemExit("Triton's library is not installed; run bench/serve/peers/install triton")
    return found[0]


def of_program(command, environment=None):
    """p10, p50 and p99 in microseconds and the allocations of a request: of the round with the middle p50."""
    output = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True,
                            env={**os.environ, **(environment or {})}).stdout
    rounds = re.findall(r"p10 (\S+) us, p50 (\S+) us, p90 \S+ us, p99 (\S+) us; (\d+) allocations in (\d+) requests", output)
    if len(rounds) != 3 or "not" in output:
        raise SystemExit(f"{command}: {output}")
    p10, p50, p99, made, requests = sorted(rounds, key=lambda one: float(one[1]))[1]
    return {"p10": float(p10), "p50": float(p50), "p99": float(p99), "allocations": int(made) / int(requests)}


def of_perf_analyzer(folder, in_flight, environment):
    command = [pathlib.Path(sys.executable).parent / "perf_analyzer", "-m", "m", "--service-kind=triton_c_api",
               f"--triton-server-directory={folder}", f"--model-repository={folder.parent / 'models'}",
               f"--concurrency-range={in_flight}", "--request-count=20000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **environment})
    found = [re.search(rf"{name} latency: (\d+) usec", done.stdout) for name in ("p50", "p99")]
    if done.returncode != 0 or None in found:
        raise SystemExit(f"{done}")
    return {"p50": float(found[0][1]), "p99": float(found[1][1])}


def lay_out(folder, library):
    """Folders as perf_analyzer looks for a library and its backends."""
    (folder / "models" / "m" / "1").mkdir(parents=True)
    (folder / "models" / "m" / "config.pbtxt").write_text(CONFIG)
    backend = folder / "backends" / BACKEND
    backend.mkdir(parents=True)
    shutil.copy(OURS / "triton_backends" / "identity" / "libtriton_identity.so", backend / f"libtriton_{BACKEND}.so")
    for name in ("ours", "theirs"):
        (folder / name).mkdir()
        (folder / name / "backends").symlink_to(folder / "backends")
    (folder / "ours" / "lib").symlink_to(OURS)
    (folder / "theirs" / "lib").mkdir()
    (folder / "theirs" / "lib" / "libtritonserver.so").symlink_to(library)


def ways(folder, programs):
    """What is measured, by its name, in the order of a repetition."""
    library = find_tritons_library()
    lay_out(folder, library)
    # Its package found its own needs another way; the backend was linked with no library.
    needs = {"LD_LIBRARY_PATH": f"{library.parent}:{pathlib.Path(sysconfig.get_paths()['purelib']) / 'nvidia/cuda_runtime/lib'}"}
    in_process = programs / "in_process_bench"
    found = {"atl::Model": lambda: of_program([programs / "model_bench", OURS]),
             "C API": lambda: of_program([in_process, OURS / "libtritonserver.so"]),
             "C API, backend in C": lambda: of_program([in_process, OURS / "libtritonserver.so", folder / "backends", BACKEND]),
             "Triton's library, the same backend": lambda: of_program([in_process, library, folder / "backends", BACKEND], needs)}
    for in_flight in (1, 4):
        found[f"perf_analyzer, {in_flight} in flight"] = lambda count=in_flight: of_perf_analyzer(folder / "ours", count, needs)
        found[f"perf_analyzer over Triton's, {in_flight} in flight"] = lambda count=in_flight: of_perf_analyzer(
            folder / "theirs", count, {**needs, "LD_PRELOAD": str(library)})
    return found


def spread(values, digits):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def table(runs):
    lines = ["| | p10, us | p50, us | p99, us | allocations a request | budget of p50 | |", "| --- | --- | --- | --- | --- | --- | --- |"]
    missed = False
    for name, found in runs.items():
        digits = 2 if "p10" in found[0] else 0
        columns = [spread([run[figure] for run in found], digits) if figure in found[0] else ""
                   for figure in ("p10", "p50", "p99", "allocations")]
        budget, verdict = BUDGETS_US.get(name), ""
        if budget is not None:
            middle = {figure: statistics.median(run[figure] for run in found) for figure in ("p50", "allocations")}
            met = middle["p50"] <= budget and round(middle["allocations"], 2) == 0
            missed |= not met
            verdict = "met" if met else "MISSED"
        lines.append(f"| {name} | {' | '.join(columns)} | {'' if budget is None else f'{budget} us, no allocation'} | {verdict} |")
    lines.append("")
    for ours, theirs in RATIOS:
        ratios = [their["p50"] / our["p50"] for our, their in zip(runs[ours], runs[theirs])]
        lines.append(f'p50 of "{theirs}" through that of "{ours}": {spread(ratios, 1)}\n')
    return lines[:-1] + [lines[-1].rstrip()], missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--programs", type=pathlib.Path, default=BUILD / "bench", help="folder of model_bench and in_process_bench")
    parser.add_argument("--output", type=pathlib.Path, help="also write the report there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        measured = ways(pathlib.Path(name), options.programs)
        runs = {way: [] for way in measured}
        others = []
        for number in range(options.repetitions):
            for way, run in measured.items():
                runs[way].append(run())
                print(f"{number + 1}/{options.repetitions}, {way}: {runs[way][-1]}", flush=True)
            others.append(os.getloadavg()[0])
    lines, missed = table(runs)
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    lines.insert(0, f"{options.repetitions} repetitions on {cpu}, {os.cpu_count()} CPUs; load average {spread(others, 1)}\n")
    print("\n".join(lines))
    if options.output:
        options.output.write_text("# A request inside the server's process\n\n" + "\n".join(lines) + "\n")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
