"""All of bench/gpu and of the checks of models on GPUs, on the driver's test double."""

import os
import re
import select
import subprocess
import sys

from gpu_programs import measure, run
from support.server import BUILD, ROOT, START_TIMEOUT_S


def test_everything_runs_on_the_double():
    before = measure.RESULTS.read_text()
    done = run("--double", "--repetitions", 1, "--seconds", 0.05, "--models", "softmax", "norm_product_graph", "chain", gpus="0")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line for line in done.stdout.splitlines() if re.match(r"\| (softmax|norm_product_graph|chain) ", line)]
    assert len(rows) == 3 * len(measure.WAYS) * len(measure.IN_FLIGHT)
    assert done.stdout.rstrip().endswith("They are written nowhere.")
    assert measure.RESULTS.read_text() == before


def test_models_are_right_on_the_double():
    done = subprocess.run([sys.executable, ROOT / "tests" / "gpu" / "check_models.py", "--double"], capture_output=True, text=True,
                          env={**os.environ, "ATOLL_BUILD_DIR": str(BUILD)}, timeout=20 * START_TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len([line for line in lines if line.startswith("ok: kernels.ptx, ")]) == 3 * 2 * 5 + 5 + 1
    assert len([line for line in lines if line.startswith("not run: ")]) == 2
    assert lines[-1] == "all that was run is right"


START_SERVER = """
import sys
from pathlib import Path
from gpu_server import GpuServer
build, repository, *libraries = sys.argv[1:]
with GpuServer(Path(build), repository, True, *libraries) as server:
    print(server.process.pid, flush=True)
    sys.stdin.read()
"""


def test_a_server_ends_with_a_bench_that_is_killed(tmp_path):
    libraries = [BUILD / "lib" / "atoll" / "testing" / name for name in ("libcuda.so.1", "libnvidia-ml.so.1")]
    bench = subprocess.Popen([sys.executable, "-c", START_SERVER, BUILD, tmp_path, *libraries], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "bench" / "gpu")})
    server = os.pidfd_open(int(bench.stdout.readline()))
    try:
        bench.kill()
        bench.communicate()
        ended, _, _ = select.select([server], [], [], 30)
        assert ended, "it runs on"
    finally:
        os.close(server)
