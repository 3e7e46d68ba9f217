"""The real perf_analyzer, unmodified, over every protocol: it completes and counts no failed request."""

import json
import os
import pathlib
import subprocess
import sys
import sysconfig

import pytest
from support import models
from support.server import Server

PERF_ANALYZER = pathlib.Path(sys.executable).parent / "perf_analyzer"
CUDA_RUNTIME = pathlib.Path(sysconfig.get_paths()["purelib"]) / "nvidia" / "cuda_runtime" / "lib"
WINDOWS = 3  # it looks at so many and compares them
REQUESTS_EACH = 100
REQUESTS = WINDOWS * REQUESTS_EACH
REPEAT_CONFIG = """
name: "repeat" backend: "repeat" max_batch_size: 0
model_transaction_policy { decoupled: true }
input [ { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] },
        { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] },
        { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }, { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] } ]
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("models")
    models.write_model(repository, "echo", models.identity_config("echo", dims=(16,), max_batch_size=8))
    models.write_model(repository, "texts", models.identity_config("texts", "TYPE_STRING", dims=(4,)))
    models.write_model(repository, "repeat", REPEAT_CONFIG)
    settings = ("plugin.repeat.use=backends/repeat", "plugin.shared.allow_client_shm=true")
    with Server(repository, *settings) as running:
        running.wait_ready()
        yield running


def analyze(server, model, *arguments):
    """Runs at least REQUESTS requests. The report gives what the client and the server counted.

    Not with --request-count: the tool starts its threads, then forgets what they have counted so far, and then waits for
    ever for as many answers as it asked for, with all of its threads gone, if one of them had come by then."""
    protocol = "http" if "http" in arguments else "grpc"
    address = server.http_address if protocol == "http" else server.address
    command = [str(PERF_ANALYZER), "-m", model, "-u", address, "-i", *arguments,
               "--concurrency-range", "4", "--measurement-mode", "count_windows",
               "--measurement-request-count", str(REQUESTS_EACH), "--stability-percentage", "999"]
    environment = dict(os.environ, LD_LIBRARY_PATH=str(CUDA_RUNTIME))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Throughput:" in done.stdout, done.stdout + done.stderr
    assert "error" not in done.stderr.lower(), done.stderr
    return done.stdout


def counts(server, model):
    with server.client() as client:
        statistics = client.get_inference_statistics(model).model_stats[0].inference_stats
    return statistics.success.count, statistics.fail.count


@pytest.mark.parametrize("model", ["echo", "texts"])
@pytest.mark.parametrize("arguments", [
    ("grpc",), ("grpc", "--streaming"), ("http",), ("grpc", "--shared-memory", "system"),
    ("grpc", "--streaming", "--shared-memory", "system"), ("http", "--shared-memory", "system"),
], ids=" ".join)
def test_completes_without_an_error(server, model, arguments):
    if model == "texts":
        arguments += ("--string-length", "20")
    if "system" in arguments:
        arguments += ("--output-shared-memory-size", "4096")
    before, _ = counts(server, model)
    analyze(server, model, *arguments)
    after, failed = counts(server, model)
    assert after >= before + REQUESTS
    assert failed == 0


def test_batches(server):
    analyze(server, "echo", "grpc", "-b", "8")


def test_decoupled_stream(server, tmp_path):
    data = tmp_path / "data.json"
    data.write_text(json.dumps({"data": [{"IN": {"content": [1, 2, 3], "shape": [3]},
                                          "DELAY": {"content": [0, 0, 1], "shape": [3]},
                                          "WAIT": {"content": [0], "shape": [1]}}]}))
    analyze(server, "repeat", "grpc", "--streaming", "--input-data", str(data))
    answered, failed = counts(server, "repeat")
    assert answered >= REQUESTS and failed == 0
