"""bench/gpu on a machine without a GPU: it says so and writes no figures, and none of the driver's test double."""

import re

import gpu_client as client
import gpu_models
import numpy as np
import pytest
from gpu_programs import measure, run
from support.server import BUILD


def test_without_a_gpu_the_results_say_so(tmp_path):
    done = run("--output", tmp_path / "gpu.md")
    assert done.returncode == measure.NO_GPU and "nothing was measured" in done.stderr, done
    assert (tmp_path / "gpu.md").read_text() == (
        "# Models of CUDA kernels on a GPU\n\n`bench/gpu/measure.py`. No GPU was available, so nothing was measured, and the tables are "
        f"empty.\n\n{measure.DEVICE_HEAD}\n\n{measure.HEAD}\n")


def test_without_a_gpu_figures_are_kept(tmp_path):
    (tmp_path / "gpu.md").write_text("figures")
    assert run("--output", tmp_path / "gpu.md").returncode == measure.NO_GPU
    assert (tmp_path / "gpu.md").read_text() == "figures"


def test_figures_of_the_double_are_written_nowhere(tmp_path):
    done = run("--double", "--output", tmp_path / "gpu.md")
    assert done.returncode == 2 and "figures of the double are written nowhere" in done.stderr
    found_first = run("--output", tmp_path / "gpu.md", libraries=BUILD / "lib" / "atoll" / "testing", gpus="0")
    assert found_first.returncode == 1 and "the driver is the test double: its figures are none" in found_first.stderr
    assert not (tmp_path / "gpu.md").exists()


def test_code_has_the_kernels_of_the_models():
    entries = set(re.findall(r"\.visible \.entry (\w+)\(", measure.PTX.read_text()))
    assert entries == set(re.findall(r"__global__ void (\w+)\(", measure.PTX.with_suffix(".cu").read_text()))
    assert measure.PTX.read_text().startswith(".version 8.8\n"), "newer PTX is refused by older drivers: see compile.py"
    for pipeline in (gpu_models.ADD, gpu_models.SOFTMAX, gpu_models.NORM_PRODUCT):
        assert set(re.findall(r'kernel = "(\w+)"', pipeline)) <= entries


DEVICE = {"launch, us": [2, 2, 2], "launch and wait, us": [9, 10, 11], "pinned to device 1000": [1], "pinned to device 1000000": [10],
          "device to pinned 1000": [2], "device to pinned 1000000": [20], "name": "GPU"}


def test_the_bound_is_launches_and_copies():
    host, pinned, shared = measure.WAYS
    case = measure.Case("m", {"A": np.zeros(250, np.float32)}, {"B": np.zeros(1000)}, 3)
    assert measure.sizes(case) == (1000, 4000)
    # 10 us, two more launches of 2 us, 1000 bytes at 1 GB/s, and 4000 at the rate of the next larger size, 20 GB/s.
    assert measure.least_us(DEVICE, case, pinned) == pytest.approx(10 + 4 + 1 + 0.2)
    assert measure.least_us(DEVICE, case, shared) == 14
    # Three launches take longer than a copy; with more bytes it is the copy out.
    assert measure.most_a_second(DEVICE, case, pinned) == pytest.approx(1e6 / 6)
    large = case._replace(expected={"B": np.zeros(250_000)})
    assert measure.most_a_second(DEVICE, large, pinned) == pytest.approx(1e6 / 50)
    assert measure.rate_of(DEVICE, "pinned to device", 2_000_000) == 10
    assert host.rate == "pageable"


def test_a_row_has_the_share_of_the_bound():
    loads = [client.Load([20.0, 30.0, 40.0], [], 1.0)]
    case = measure.Case("m", {"A": np.zeros(250, np.float32)}, {"B": np.zeros(1000)}, 3)
    row = measure.row(DEVICE, case, measure.WAYS[1], 1, loads)
    assert row == "| m | 1000, 4000 | pinned | 1 | 3 (3 to 3) | 30 (30 to 30) | 40 (40 to 40) | 15 us | 50.7 % |"
    assert measure.row(DEVICE, case, measure.WAYS[1], 8, loads).endswith("| 166667/s | 0.0 % |")


def test_requests_and_answers_of_the_client():
    request = client.infer_message("m", {"A": np.ones(2, np.float32), "B": ((3,), client.Region("r", 12, 4))}, {"C": None})
    head, _, body = request.partition(b"\r\n\r\n")
    length = int(re.search(rb"Inference-Header-Content-Length: (\d+)", head)[1])
    assert f"Content-Length: {len(body)}".encode() in head and body[length:] == np.ones(2, np.float32).tobytes()
    answer = b'{"outputs":[{"name":"C","shape":[1,2],"parameters":{"binary_data_size":8}},{"name":"D","shape":[1]}]}'
    found = client.arrays_of({"inference-header-content-length": str(len(answer))}, answer + np.ones(2, np.float32).tobytes())
    assert list(found) == ["C"] and found["C"].tolist() == [[1.0, 1.0]]
