#!/usr/bin/env python3
"""Models of CUDA kernels on a GPU against numpy, to 1e-3: over HTTP, in CUDA shared memory, and as an ensemble.

Kernels come as PTX, as source, and as the Triton language's compiler leaves them.

    python3 tests/gpu/check_models.py [--double]

What cannot be looked at here (no runtime compiler, no Triton language) is said, and is no failure. Ends with 1 if something is
wrong. With ATOLL_BUILD_DIR set, that build's server is used. --double takes the test double of the driver, with PTX alone.
"""

import argparse
import collections
import ctypes
import os
import pathlib
import shutil
import sys
import tempfile
import urllib.request

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "gpu"), str(ROOT / "tests")]
import gpu_client as client  # noqa: E402
import gpu_models  # noqa: E402
from gpu_server import GpuServer, missing_parts  # noqa: E402
from shared_tensors import SharedTensors  # noqa: E402

BUILD = pathlib.Path(os.environ.get("ATOLL_BUILD_DIR", ROOT / "build" / "release"))
TOLERANCE = 1e-3
Case = collections.namedtuple("Case", "inputs expected")
FAMILIES = ("nv_gpu_utilization", "nv_gpu_memory_total_bytes", "nv_gpu_memory_used_bytes", "nv_gpu_power_usage",
            "nv_gpu_power_limit", "nv_energy_consumption")
TRITON_ADD = """
[output.SUM]
shape = ["A.shape[0]"]

[[step]]
import = "triton:{name}"
grid = ["ceil_div(A.count, 256)"]
args = ["in:A", "in:B", "out:SUM", "i32:A.count"]
"""


class Checks:
    def __init__(self):
        self.failed = 0

    def that(self, name, body, *arguments):
        try:
            print(f"ok: {name}{body(*arguments) or ''}", flush=True)
        except Exception as error:  # each check is told about, whatever becomes of the others
            self.failed += 1
            print(f"FAILED: {name}: {type(error).__name__}: {str(error).strip()}", flush=True)

    @staticmethod
    def not_run(name, why):
        print(f"not run: {name}: {why}", flush=True)


def compare(found, expected):
    """The largest difference, as text."""
    worst = 0.0
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=TOLERANCE, atol=TOLERANCE, err_msg=name)
        worst = max(worst, float(np.abs(found[name] - array).max()))
    return f" (at most {worst:.1e} off)"


def over_http(server, model, case):
    return compare(client.infer(server.address, model, case.inputs, dict.fromkeys(case.expected)), case.expected)


def in_device_memory(server, model, case, library):
    tensors = SharedTensors(server.address, library, case)
    try:
        client.infer(server.address, model, tensors.inputs, tensors.outputs)
        return compare(tensors.read(), case.expected)
    finally:
        tensors.close()


def many_at_once(server, model, case):
    request = client.infer_message(model, case.inputs, dict.fromkeys(case.expected))
    load = client.run(server.address, request, 1, in_flight=8)
    return f" ({len(load.latencies_us)} requests)"


def graph_changes_nothing(server):
    """Bit by bit."""
    inputs, outputs = gpu_models.examples(8)["norm_product"][0], {"SCORES": None}
    direct, by_graph = (client.infer(server.address, model, inputs, outputs)["SCORES"]
                        for model in ("norm_product", "norm_product_graph"))
    assert direct.tobytes() == by_graph.tobytes()


def families_are_there(server):
    with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=30) as answer:
        page = answer.read().decode()
    missing = [name for name in FAMILIES if f'\n{name}{{gpu_uuid="' not in page]
    # A GPU need not have all of them, but these.
    assert not {"nv_gpu_memory_total_bytes", "nv_gpu_memory_used_bytes"} & set(missing), missing
    return f" (without {', '.join(missing)})" if missing else ""


def check_repository(checks, code, options):
    with tempfile.TemporaryDirectory() as repository:
        gpu_models.write_repository(repository, code)
        with GpuServer(BUILD, repository, True, options.library, options.nvml) as server:
            for rows in (1, 8, 256):
                for model, example in gpu_models.examples(rows).items():
                    case = Case(*example)
                    checks.that(f"{code}, {model}, {rows} rows over HTTP", over_http, server, model, case)
                    checks.that(f"{code}, {model}, {rows} rows in CUDA shared memory", in_device_memory, server, model, case,
                                options.library)
            for model, example in gpu_models.examples(8).items():
                checks.that(f"{code}, {model}, 8 clients at once", many_at_once, server, model, Case(*example))
            checks.that(f"{code}, a graph gives the same bytes", graph_changes_nothing, server)
            checks.that("metrics of the GPU", families_are_there, server)


def triton_kernel(folder):
    """Compiles a kernel, and copies what the compiler leaves in its cache into the folder. \\returns its name"""
    os.environ["TRITON_CACHE_DIR"] = str(folder / "cache")
    import torch
    import triton_language_add
    values = torch.ones(1024, device="cuda")
    triton_language_add.add[(4,)](values, values, torch.empty_like(values), 1024, BLOCK=256)
    torch.cuda.synchronize()
    json_file = next(path for path in (folder / "cache").rglob("*.json") if not path.name.startswith("__grp__"))
    for end in ("json", "cubin", "ptx"):
        shutil.copy(json_file.with_suffix(f".{end}"), folder)
    return json_file.stem


def triton_language_model(options):
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as repository:
        made = pathlib.Path(made)
        name = triton_kernel(made)
        config = gpu_models.on_gpu([("A", [-1]), ("B", [-1])], [("SUM", [-1])])
        folder = pathlib.Path(repository) / "triton_add" / "1"
        folder.mkdir(parents=True)
        (folder.parent / "config.pbtxt").write_text(f'name: "triton_add"\n{config}')
        (folder / "pipeline.toml").write_text(TRITON_ADD.format(name=name))
        for path in made.glob(f"{name}.*"):
            shutil.copy(path, folder)
        # As the kernel was compiled for: lengths that 16 divides.
        a, b = (np.random.default_rng(seed).standard_normal(16 * 1001, np.float32) for seed in (1, 2))
        with GpuServer(BUILD, repository, True, options.library, options.nvml) as server:
            return over_http(server, "triton_add", Case({"A": a, "B": b}, {"SUM": a + b}))


def has_library(*names):
    for name in names:
        try:
            ctypes.CDLL(name)
            return True
        except OSError:
            continue
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--double", action="store_true")
    options = parser.parse_args()
    testing = BUILD / "lib" / "atoll" / "testing"
    options.library = str(testing / "libcuda.so.1") if options.double else "libcuda.so.1"
    options.nvml = str(testing / "libnvidia-ml.so.1") if options.double else "libnvidia-ml.so.1"
    if options.double:
        os.environ["ATOLL_CUDA_DOUBLE_KERNELS"] = str(BUILD / "bench" / "gpu_bench_kernels.so")
        print("The driver is the test double: this says nothing of GPUs.")
    if missing := missing_parts(BUILD):
        raise SystemExit(f"not built: {', '.join(missing)}")
    checks = Checks()
    check_repository(checks, "kernels.ptx", options)
    if options.double:
        checks.not_run("kernels as source", "the double takes PTX alone")
    elif has_library("libnvrtc.so.13", "libnvrtc.so.12"):
        check_repository(checks, "kernels.cu", options)
    else:
        checks.not_run("kernels as source", "no libnvrtc.so.13 or libnvrtc.so.12 is found")
    try:
        import torch
        import triton  # noqa: F401
        has_triton = torch.cuda.is_available() and not options.double
    except ImportError:
        has_triton = False
    if has_triton:
        checks.that("a kernel in the Triton language", triton_language_model, options)
    else:
        checks.not_run("a kernel in the Triton language", "PyTorch and the language are not both here, on a GPU")
    print(f"{checks.failed} failed" if checks.failed else "all that was run is right")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
