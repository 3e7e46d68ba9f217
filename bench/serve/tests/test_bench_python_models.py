"""Python models: the same code for each server, and what it does without one."""

import dataclasses
import os
import pathlib
import subprocess

import pytest

from comparison import alone, budgets, cases, peers, process, repositories
from fake_samples import FakeSample, completed


@dataclasses.dataclass(frozen=True)
class Options:
    cases: list = dataclasses.field(default_factory=cases.python_cases)
    server_core: int = dataclasses.field(default_factory=lambda: min(os.sched_getaffinity(0)))
    warm_up: float = 0.01
    seconds: float = 0.05
    atoll_build: pathlib.Path = pathlib.Path("/nowhere")
    bench_build: pathlib.Path = pathlib.Path("/nowhere")


@pytest.fixture
def digits(tmp_path, monkeypatch):
    """A trained model, as far as a repository wants one."""
    (tmp_path / "digits/1").mkdir(parents=True)
    (tmp_path / "digits/1/model.onnx").write_bytes(b"model")
    monkeypatch.setattr(repositories, "DIGITS", tmp_path / "digits")


def test_both_servers_get_the_same_code(tmp_path, digits):
    folders = [repositories.write_triton(tmp_path / name, "onnxruntime", python_models=True) for name in ("one", "other")]
    for model in cases.PYTHON_MODELS:
        code, config = ({(folder / model / file).read_text() for folder in folders} for file in ("1/model.py", "config.pbtxt"))
        assert len(code) == len(config) == 1
        compile(*code, model, "exec")
        assert 'backend: "python"' in config.pop()
    assert "count: 8" in (folders[0] / cases.PYTHON_BUSY / "config.pbtxt").read_text()
    assert "count: 1" in (folders[0] / cases.PYTHON / "config.pbtxt").read_text()


def test_other_runs_have_no_python_models(tmp_path, digits):
    folder = repositories.write_triton(tmp_path / "models", "onnxruntime", own_models=True)
    assert not [path.name for path in folder.iterdir() if path.name in cases.PYTHON_MODELS]


def test_who_serves_them():
    serving = {name: [case for case in cases.python_cases() if kind(Options()).supports(case)] for name, kind in peers.KINDS.items()
               if not issubclass(kind, peers.Atoll)}  # what they serve is known when they are built
    assert serving.pop("triton") == cases.python_cases()
    assert {case.model for case in serving.pop("python")} == {cases.PYTHON_BUSY}
    assert not any(serving.values())


def test_the_code_alone():
    sample = peers.PythonAlone(Options()).measure(cases.python_cases()[-1])
    assert sample.requests > 0 and sample.throughput > 0 and sample.p50 > 0
    assert sample.generator == "itself" and sample.client_share == 0
    assert peers.Echo(Options()).measure(cases.python_cases()[0]) is None


def test_code_that_fails_gives_no_figures(monkeypatch, tmp_path):
    (tmp_path / "broken.py").write_text("raise SystemExit(1)")
    monkeypatch.setitem(repositories.PYTHON_CODE, cases.PYTHON_BUSY, tmp_path / "broken.py")
    with pytest.raises(subprocess.CalledProcessError):
        alone.measure(Options(), "python", 0.01, 0.01)


def test_cpu_is_that_of_all_processes():
    """Workers of a server are its children, and count."""
    parent = subprocess.Popen(["sh", "-c", "sh -c 'while :; do :; done' & echo; wait"], stdout=subprocess.PIPE)
    parent.stdout.readline()
    try:
        mine = process.Process.__new__(process.Process)
        mine._process = parent
        process.wait_until(lambda: sum(mine.cpu()) > 0.02, mine, 20, "a busy child")
    finally:
        for pid in reversed(process._descendants(parent.pid)):
            os.kill(pid, 9)
        parent.wait()
        parent.stdout.close()


def test_budgets():
    identity = cases.Case(cases.PYTHON, cases.GRPC, 8)
    busy = cases.Case(cases.PYTHON_BUSY, cases.GRPC, 32)
    samples = completed({(identity.name, "atoll"): [FakeSample(cpu=4.0)], (identity.name, "triton"): [FakeSample(cpu=10.0)],
                         (busy.name, "atoll"): [FakeSample(throughput=890)], (busy.name, "python"): [FakeSample(throughput=1000)]})
    assert [(verdict.case.model, verdict.met) for verdict in budgets.judge([identity, busy], samples)] == [
        (cases.PYTHON, True), (cases.PYTHON_BUSY, False)]
