"""etc/dev/gpu-check on a machine without a GPU: it says that nothing was run, and its steps are never ok unless they ran."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys

import pytest
from support.foreign_programs import environment
from support.server import BUILD, ROOT

GPU_CHECK = ROOT / "etc" / "dev" / "gpu-check"


@pytest.fixture(scope="module")
def gpu_check():
    loader = importlib.machinery.SourceFileLoader("gpu_check", str(GPU_CHECK))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
    sys.modules["gpu_check"] = module  # dataclasses look there
    loader.exec_module(module)
    return module


def run(out, *arguments, libraries=""):
    variables = environment(OUT=str(out), LD_LIBRARY_PATH=str(libraries), CUDA_VISIBLE_DEVICES="")
    return subprocess.run([sys.executable, GPU_CHECK, "--build", BUILD, *arguments], capture_output=True, text=True,
                          env=variables, timeout=120)


@pytest.mark.parametrize("arguments", [[], ["--dry-run"]])
def test_without_a_gpu_nothing_is_run(tmp_path, arguments):
    done = run(tmp_path / "out", *arguments)
    assert done.returncode == 77, done
    lines = done.stdout.splitlines()
    assert lines[-1].startswith("no GPU: nothing was run (")
    assert len(lines) > 5 and all(line.startswith("would be run: ") for line in lines[:-1])
    assert "ok" not in done.stdout.replace("no driver", "") and not (tmp_path / "out").exists()


def test_the_double_is_no_gpu(tmp_path):
    done = run(tmp_path / "out", libraries=BUILD / "lib" / "atoll" / "testing")
    assert done.returncode == 77
    assert done.stdout.endswith("no GPU: nothing was run (libcuda.so.1 is the test double)\n")


def test_what_is_missing_is_named(gpu_check, tmp_path):
    found = {step.name: step.missing for step in gpu_check.steps(tmp_path / "nothing", tmp_path)}
    assert "nothing/tests/gpu_test" in found["memory, kernels and NVML on the driver"]
    assert "lib/atoll/plugins/memory/cuda.so" in found["models against numpy"]
    assert "nothing/bench/device_bench" in found["figures"]


@pytest.mark.parametrize("script, state, remark", [
    ("print('fine')", "ok", "s"),
    ("print('not run: x: because')", "ok", "not run: x: because"),
    ("raise SystemExit(1)", "FAILED", "ended with 1 (see 1-a-step.log)"),
    ("raise SystemExit(77)", "not run", "it says that there is no GPU"),
    ("print('no tests ran in 0.1s')", "not run", "no test was found"),
    ("import time; time.sleep(60)", "FAILED", "not done in 2 s")])
def test_states_of_a_step(gpu_check, tmp_path, script, state, remark):
    step = gpu_check.Step("a step", [sys.executable, "-c", script], 2 if "sleep" in script else 60)
    found = gpu_check.run_step(step, BUILD, tmp_path, 1, 100)
    assert found[0] == state and remark in found[1], found


def test_a_step_that_can_not_be_run_is_not(gpu_check, tmp_path):
    missing = gpu_check.Step("a step", ["false"], 60, "missing: everything")
    assert gpu_check.run_step(missing, BUILD, tmp_path, 1, 100) == ("not run", "missing: everything")
    late = gpu_check.Step("a step", ["false"], 60)
    assert gpu_check.run_step(late, BUILD, tmp_path, 1, 10) == ("not run", "the time is over")
    absent = gpu_check.Step("a step", ["/nowhere/program"], 60)
    assert gpu_check.run_step(absent, BUILD, tmp_path, 1, 100)[0] == "not run"
    assert os.listdir(tmp_path) == ["1-a-step.log"]


@pytest.mark.parametrize("name, is_of_the_system", [
    ("libc.so.6", True), ("libstdc++.so.6", True), ("libcuda.so.1", True), ("libnvidia-ml.so.1", True), ("libcurl.so.4", False),
    ("libcares.so.2", False), ("libgmp.so.10", False), ("libspdlog.so.1.10", False)])
def test_libraries_that_are_packed(gpu_check, name, is_of_the_system):
    assert bool(gpu_check.OF_THE_SYSTEM.match(name)) == is_of_the_system


def test_a_tree_that_can_not_be_built_says_why(gpu_check, tmp_path, monkeypatch):
    (tmp_path / "cmake").write_text("#!/bin/sh\necho 'CMake Error at CMakeLists.txt:1 (find_package):'; echo '  no gRPC'; exit 1\n")
    (tmp_path / "cmake").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = gpu_check.build_tree(tmp_path / "build", tmp_path / "0-build.log")
    assert found.startswith("it cannot be built: CMake Error at CMakeLists.txt:1 (find_package): no gRPC"), found
    monkeypatch.setenv("PATH", "/nowhere")
    assert gpu_check.build_tree(tmp_path / "build", tmp_path / "0-build.log") == "it cannot be built: there is no cmake"
