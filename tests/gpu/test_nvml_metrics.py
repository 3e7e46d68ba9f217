"""telemetry/nvml in a server: without the library, and with its test double, whose GPUs are on the page of metrics."""

import re
import time
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families
from support import models
from support.cuda_double import DOUBLE, NO_DRIVER
from support.server import START_TIMEOUT_S, Server

NVML = DOUBLE.with_name("libnvidia-ml.so.1")
NO_NVML = "/nowhere/libnvidia-ml.so.1"
GPU = [f"GPU-a{number}544f4c-4c2d-444f-5542-4c450000000{number}" for number in range(3)]
HELP = {
    "nv_gpu_utilization": ("gauge", "GPU utilization rate [0.0 - 1.0)"),
    "nv_gpu_memory_total_bytes": ("gauge", "GPU total memory, in bytes"),
    "nv_gpu_memory_used_bytes": ("gauge", "GPU used memory, in bytes"),
    "nv_gpu_power_usage": ("gauge", "GPU power usage in watts"),
    "nv_gpu_power_limit": ("gauge", "GPU power management limit in watts"),
    "nv_energy_consumption": ("counter", "GPU energy consumption in joules since the Triton Server started"),
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    models.write_model(folder, "fp32", models.identity_config("fp32"))
    return folder


def serve(repository, library, *settings, cuda=None, gpus=2, **variables):
    """cuda: the CUDA driver of the server; None: it does not use memory/cuda"""
    environment = {"ATOLL_CUDA_DOUBLE_DEVICES": str(gpus), "ATOLL_CUDA_DOUBLE_MEMORY": "16GiB,80GiB"}
    environment |= {name if name.startswith("CUDA_") else f"ATOLL_NVML_DOUBLE_{name}": value
                    for name, value in variables.items()}
    uses = ['plugin.gpus.use="memory/cuda"', f'plugin.gpus.library="{cuda}"'] if cuda else []
    # Every scrape reads anew.
    return Server(repository, "plugin.onnxruntime.enabled=false", f'plugin.nvml.library="{library}"',
                  'plugin.nvml.interval="1ms"', *uses, *settings, environment=environment)


def page(server):
    with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=START_TIMEOUT_S) as answer:
        return answer.read().decode()


def families(text):
    """{name: {uuid: value}} of the GPUs' families."""
    found = {}
    for family in text_string_to_metric_families(text):
        if not family.name.startswith(("nv_gpu_", "nv_energy_")):
            continue
        for sample in family.samples:
            assert list(sample.labels) == ["gpu_uuid"], sample
        found[family.name] = {sample.labels["gpu_uuid"]: sample.value for sample in family.samples}
    return found


def families_where(server, condition):
    deadline = time.monotonic() + START_TIMEOUT_S
    while not condition(found := families(page(server))):
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found


def test_without_the_library_there_is_one_line(repository):
    with serve(repository, NO_NVML) as server:
        server.wait_ready()
        text = page(server)
        assert "nv_gpu" not in text and "nv_energy" not in text
        lines = [line for line in server.lines if "[nvml]" in line]
        assert len(lines) == 1, lines
        assert re.search(r"INFO +\[nvml\] no metrics of GPUs: there is no NVML: /nowhere/\S+: cannot open shared object "
                         r"file: No such file or directory$", lines[0]), lines


@pytest.mark.parametrize("code, name", [(9, "DRIVER_NOT_LOADED"), (18, "LIB_RM_VERSION_MISMATCH")])
def test_without_a_driver_there_is_one_line(repository, code, name):
    with serve(repository, NVML, INIT=str(code)) as server:
        server.wait_ready()
        server.newest_line(rf"no metrics of GPUs: NVML cannot be used: nvmlInit_v2 gave NVML_ERROR_{name} \({code}\)$")
        assert families(page(server)) == {}
        assert len([line for line in server.lines if "[nvml]" in line]) == 1


def test_families_are_as_triton_serves_them(repository):
    with serve(repository, NVML, UTILIZATION="37,100", MEMORY_USED="5MiB", POWER="123456", POWER_LIMIT="700000") as server:
        server.wait_ready()
        found = families_where(server, bool)
        text = page(server)
    for name, (kind, help_text) in HELP.items():
        assert f"# HELP {name} {help_text}\n# TYPE {name} {kind}\n" in text
    assert found == {
        "nv_gpu_utilization": {GPU[0]: 0.37, GPU[1]: 1.0},
        "nv_gpu_memory_total_bytes": {GPU[0]: float(16 << 30), GPU[1]: float(80 << 30)},
        "nv_gpu_memory_used_bytes": {GPU[0]: float(5 << 20), GPU[1]: float(5 << 20)},
        "nv_gpu_power_usage": {GPU[0]: 123.456, GPU[1]: 123.456},
        "nv_gpu_power_limit": {GPU[0]: 700.0, GPU[1]: 700.0},
        "nv_energy_consumption": {GPU[0]: 0.0, GPU[1]: 0.0}}


def test_gpus_that_cuda_does_not_see_are_not_shown(repository):
    with serve(repository, NVML, cuda=DOUBLE, gpus=3, CUDA_VISIBLE_DEVICES="2,0") as server:
        server.wait_ready()
        assert set(families_where(server, bool)["nv_gpu_power_usage"]) == {GPU[0], GPU[2]}
    with serve(repository, NVML, cuda=NO_DRIVER, gpus=3) as server:
        server.wait_ready()
        server.newest_line(r"metrics of GPUs by NVML, driver")
        assert families(page(server)) == {}


def test_a_divided_gpu(repository):
    part = GPU[0].replace("GPU", "MIG")
    with serve(repository, NVML, cuda=DOUBLE, gpus=1, MIG="1", MEMORY_USED="1GiB") as server:
        server.wait_ready()
        found = families_where(server, bool)
    assert found == {
        "nv_gpu_memory_total_bytes": {part: float(8 << 30)}, "nv_gpu_memory_used_bytes": {part: float(1 << 30)},
        "nv_gpu_power_usage": {GPU[0]: 50.0}, "nv_gpu_power_limit": {GPU[0]: 350.0},
        "nv_energy_consumption": {GPU[0]: 0.0}}


def test_what_is_not_supported_is_left_out(repository):
    with serve(repository, NVML, FAIL="nvmlDeviceGetPowerUsage:0:3,nvmlDeviceGetTotalEnergyConsumption:0:3") as server:
        server.wait_ready()
        found = families_where(server, bool)
        assert set(found) == set(HELP) - {"nv_gpu_power_usage", "nv_energy_consumption"}
        assert "WARNING" not in "".join(line for line in server.lines if "[nvml]" in line)


def test_a_lost_gpu_is_left_out(repository):
    with serve(repository, NVML, LOST="15,0") as server:
        server.wait_ready()
        found = families_where(server, bool)
        for _ in range(3):
            assert {uuid for values in found.values() for uuid in values} == {GPU[1]}
            found = families(page(server))
            time.sleep(0.002)
        server.newest_line(r"ERROR +\[nvml\] GPU 0 has no metrics any more: nvmlDeviceGetUUID gave NVML_ERROR_GPU_IS_LOST \(15\)")
        assert len([line for line in server.lines if "has no metrics" in line]) == 1


def test_switched_off_there_are_none(repository):
    with serve(repository, NVML, "plugin.nvml.enabled=false") as server:
        server.wait_ready()
        assert families(page(server)) == {}
        assert "[nvml]" not in server.log
