"""Programs of bench/gpu, as tests run them."""

import importlib.util
import subprocess
import sys

from support.foreign_programs import environment
from support.server import BUILD, ROOT, START_TIMEOUT_S

MEASURE = ROOT / "bench" / "gpu" / "measure.py"
TARGETS = ("device_bench", "gpu_bench_kernels", "atoll_cuda_double", "atoll_nvml_double")

# Other folders have a measure.py, too.
_spec = importlib.util.spec_from_file_location("gpu_measure", MEASURE)
measure = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(measure)


def build():
    subprocess.run(["cmake", "--build", BUILD, "--target", *TARGETS], check=True, capture_output=True)


def run(*arguments, libraries="", gpus=""):
    """gpus: none, unless a test wants the double's: what this machine has is of no interest"""
    variables = environment(ATOLL_BUILD_DIR=str(BUILD), LD_LIBRARY_PATH=str(libraries), CUDA_VISIBLE_DEVICES=gpus)
    return subprocess.run([sys.executable, MEASURE, *map(str, arguments)], capture_output=True, text=True, env=variables,
                          timeout=20 * START_TIMEOUT_S)
