#!/usr/bin/env python3
"""Models of CUDA kernels on a GPU: throughput and latency, beside what launches and copies cost by themselves.

    etc/dev/build release && etc/dev/build release device_bench
    build/venv/bin/python bench/gpu/measure.py [--seconds 2] [--repetitions 5] [--output bench/results/gpu.md]

A server serves vector_add, softmax, norm_product (layer norm and a matrix product), the same as a CUDA graph, and chain, an
ensemble of norm_product and softmax, to clients over HTTP on the same machine. "host": tensors go over HTTP, and the server has
no pinned memory. "pinned": it has. "CUDA shared memory": inputs and outputs are in device memory of the client. Everything
takes turns. Every answer is compared with numpy's first.

Beside them device_bench measures the GPU through the server's own table of the driver's functions. The bound of a row is made
of that. With one request in flight it is a time: one launch and the wait for it, a launch for each further kernel, and the
copies that the way needs, at the rate of that size. With more it is a rate: what the slowest of launches, copies in and copies
out allows. What kernels compute is in neither, nor HTTP, nor the Python clients, which are processes of their own.

Without a GPU nothing is measured: the results say so, unless they have figures already, and it ends with 77. With the driver's
test double (--double) everything runs, to see that it does; its figures mean nothing and are written nowhere.
"""

import argparse
import collections
import ctypes
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests")]
import gpu_client as client  # noqa: E402
import gpu_models  # noqa: E402
from gpu_server import GpuServer, missing_parts  # noqa: E402
from shared_tensors import SharedTensors  # noqa: E402

BUILD = pathlib.Path(os.environ.get("ATOLL_BUILD_DIR", ROOT / "build" / "release"))
RESULTS = ROOT / "bench" / "results" / "gpu.md"
NO_GPU = 77
PROGRAM_HAS_NO_GPU = 3
PTX = HERE / "kernels" / "kernels.ptx"
ADD_FLOATS = (1 << 10, 1 << 16, 1 << 20)
ROWS = 256
IN_FLIGHT = (1, 8)
# With the launches of a request: a graph is one.
MODELS = (("vector_add", 1), ("norm_product", 2), ("norm_product_graph", 1), ("softmax", 1), ("chain", 3))
TOLERANCE = 1e-3
NOTHING = "No GPU was available, so nothing was measured, and the tables are empty."
HEAD = ("| model | bytes in, out | way | in flight | requests/s | p50, us | p99, us | bound | of the bound |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
DEVICE_HEAD = "| of the device alone | |\n| --- | --- |"

# kernels: launches of one request
Case = collections.namedtuple("Case", "model inputs expected kernels")
# rate: whose copies it needs
Way = collections.namedtuple("Way", "name pinned shared rate")
WAYS = (Way("host", False, False, "pageable"), Way("pinned", True, False, "pinned"), Way("CUDA shared memory", True, True, None))


def cases(models=None):
    """models: those of these names; None: all"""
    random = np.random.default_rng(1)
    found = []
    for floats in ADD_FLOATS:
        a, b = (random.standard_normal(floats, np.float32) for _ in range(2))
        found.append(Case("vector_add", {"A": a, "B": b}, {"SUM": a + b}, 1))
    for model, kernels in MODELS[1:]:
        inputs, expected = gpu_models.examples(ROWS)[model]
        found.append(Case(model, inputs, expected, kernels))
    return [case for case in found if models is None or case.model in models]


def sizes(case):
    """Bytes of all inputs, and of all outputs, which are FP32."""
    return (sum(array.nbytes for array in case.inputs.values()), sum(4 * array.size for array in case.expected.values()))


def is_double(library):
    try:
        return hasattr(ctypes.CDLL(library), "atoll_cuda_double")
    except OSError:
        return False


def device_figures(build, library, repetitions):
    """What device_bench found; None: there is no GPU, and why."""
    program = build / "bench" / "device_bench"
    if not program.exists():
        raise SystemExit(f"{program} is not built: etc/dev/build release device_bench")
    done = subprocess.run([program, PTX, str(repetitions), library], capture_output=True, text=True, timeout=600)
    if done.returncode == PROGRAM_HAS_NO_GPU:
        return None, done.stderr.strip()
    if done.returncode != 0:
        raise SystemExit(f"{program} ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout), ""


def rate_of(device, direction, size):
    """Gigabytes a second of the next larger size that was measured, else of the largest."""
    measured = sorted(int(name.rpartition(" ")[2]) for name in device if name.startswith(direction))
    chosen = next((one for one in measured if one >= size), measured[-1])
    return statistics.median(device[f"{direction} {chosen}"])


def copy_us(device, case, way):
    """Of all inputs, and of all outputs, which a device copies at the same time as others' inputs."""
    if way.rate is None:
        return (0.0, 0.0)
    return tuple(size / rate_of(device, direction, size) / 1000
                 for direction, size in zip((f"{way.rate} to device", f"device to {way.rate}"), sizes(case)))


def least_us(device, case, way):
    """Of one request alone."""
    first = "graph and wait, us" if case.model.endswith("_graph") else "launch and wait, us"
    launches = statistics.median(device[first]) + (case.kernels - 1) * statistics.median(device["launch, us"])
    return launches + sum(copy_us(device, case, way))


def most_a_second(device, case, way):
    """Of many requests at a time: what is slowest for one of them, launches or copies in one direction, is all there is."""
    return 1e6 / max(case.kernels * statistics.median(device["launch, us"]), *copy_us(device, case, way))


def check(case, found):
    for name, expected in case.expected.items():
        np.testing.assert_allclose(found[name], expected, rtol=TOLERANCE, atol=TOLERANCE, err_msg=f"{case.model}: {name}")


class Prepared:
    """A case on a server, its answer looked at, and ready to be sent again and again."""

    def __init__(self, server, case, way, library):
        self.regions = SharedTensors(server.address, library, case) if way.shared else None
        inputs = self.regions.inputs if way.shared else case.inputs
        outputs = self.regions.outputs if way.shared else dict.fromkeys(case.expected)
        self.address, self.request = server.address, client.infer_message(case.model, inputs, outputs)
        found = client.infer(server.address, case.model, inputs, outputs)
        check(case, self.regions.read() if way.shared else found)

    def close(self):
        if self.regions is not None:
            self.regions.close()


def spread(values, digits=0):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def row(device, case, way, in_flight, loads):
    p50, rate = [load.percentile(50) for load in loads], [load.rate for load in loads]
    if in_flight == 1:
        bound = least_us(device, case, way)
        reached, shown = bound / statistics.median(p50), f"{bound:.0f} us"
    else:
        bound = most_a_second(device, case, way)
        reached, shown = statistics.median(rate) / bound, f"{bound:.0f}/s"
    into, out = sizes(case)
    return (f"| {case.model} | {into}, {out} | {way.name} | {in_flight} | {spread(rate)} | {spread(p50)} | "
            f"{spread([load.percentile(99) for load in loads])} | {shown} | {100 * reached:.1f} % |")


def measure(options, device, environment):
    lines = []
    with tempfile.TemporaryDirectory() as repository:
        gpu_models.write_repository(repository)
        with GpuServer(BUILD, repository, False, options.library, options.nvml, environment) as plain, \
                GpuServer(BUILD, repository, True, options.library, options.nvml, environment) as pinned:
            for case in cases(options.models):
                prepared = {way: Prepared(pinned if way.pinned else plain, case, way, options.library) for way in WAYS}
                for in_flight in IN_FLIGHT:
                    loads = {way: [] for way in WAYS}
                    for _ in range(options.repetitions):
                        for way, one in prepared.items():
                            loads[way].append(client.run(one.address, one.request, options.seconds, in_flight))
                    for way in WAYS:
                        lines.append(row(device, case, way, in_flight, loads[way]))
                        print(lines[-1], flush=True)
                for one in prepared.values():
                    one.close()
    return lines


def device_lines(device):
    return [f"| {name}{'' if name.endswith('us') else ' bytes, GB/s'} | {spread(values, 2)} |"
            for name, values in device.items() if isinstance(values, list)]


def report(about, device_rows, rows):
    return "\n".join(["# Models of CUDA kernels on a GPU", "", f"`bench/gpu/measure.py`. {about}", "", DEVICE_HEAD, *device_rows, "",
                      HEAD, *rows, ""])


def has_figures(path):
    return path.exists() and NOTHING not in path.read_text()


def without_gpu(options, why):
    print(f"{why}: nothing was measured", file=sys.stderr)
    if has_figures(options.output):
        print(f"{options.output} keeps the figures it has", file=sys.stderr)
    else:
        options.output.write_text(report(NOTHING, [], []))
    return NO_GPU


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2, help="of each run")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--models", nargs="+", choices=[name for name, _ in MODELS], help="default: all")
    parser.add_argument("--output", type=pathlib.Path, help=f"default: {RESULTS.relative_to(ROOT)}")
    parser.add_argument("--double", action="store_true", help="run on the driver's test double, and write nothing")
    options = parser.parse_args()
    if options.double and options.output:
        parser.error("figures of the double are written nowhere: --double and --output do not go together")
    testing = BUILD / "lib" / "atoll" / "testing"
    options.library = str(testing / "libcuda.so.1") if options.double else "libcuda.so.1"
    options.nvml = str(testing / "libnvidia-ml.so.1") if options.double else "libnvidia-ml.so.1"
    options.output = options.output or RESULTS
    environment = {"ATOLL_CUDA_DOUBLE_KERNELS": str(BUILD / "bench" / "gpu_bench_kernels.so")} if options.double else {}
    os.environ.update(environment)
    if is_double(options.library) and not options.double:
        raise SystemExit("the driver is the test double: its figures are none (--double runs on it, and writes nothing)")
    device, why = device_figures(BUILD, options.library, options.repetitions)
    if device is None:
        return without_gpu(options, why)
    if device["double"] != options.double:
        raise SystemExit(f"device_bench says of the driver that double is {device['double']}")
    if missing := missing_parts(BUILD):
        raise SystemExit(f"not built: {', '.join(missing)}")
    print("\n".join([DEVICE_HEAD, *device_lines(device), "", HEAD]))
    rows = measure(options, device, environment)
    if options.double:
        print("These are figures of the test double, and mean nothing. They are written nowhere.")
        return 0
    about = (f"{datetime.date.today()}: {device['name']}, driver for CUDA {device['driver']}, {os.cpu_count()} CPUs; medians of "
             f"{options.repetitions} runs of {options.seconds:g} s with the smallest and largest.")
    options.output.write_text(report(about, device_lines(device), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
