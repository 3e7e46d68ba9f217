"""The real perf_analyzer, unmodified, over every protocol and gRPC frontend: it completes and counts no failed request."""

import json
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import urllib.request

import pytest
from support import models
from support.grpc_frontends import GRPC_FRONTENDS
from support.pki import make_pki, tls_options, wait_ready
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
def repository(tmp_path_factory):
    repository = tmp_path_factory.mktemp("models")
    models.write_model(repository, "echo", models.identity_config("echo", dims=(16,), max_batch_size=8))
    models.write_model(repository, "texts", models.identity_config("texts", "TYPE_STRING", dims=(4,)))
    models.write_model(repository, "large", models.identity_config("large", dims=(1 << 18,)))
    models.write_model(repository, "repeat", REPEAT_CONFIG)
    return repository


@pytest.fixture(scope="module")
def server(repository, grpc_frontend):
    settings = ("plugin.repeat.use=backends/repeat", "plugin.shared.allow_client_shm=true")
    with Server(repository, *settings, grpc_frontend=grpc_frontend) as running:
        yield running.wait_ready()


def analyze(server, model, *arguments, concurrency="4"):
    """Runs at least REQUESTS requests, of each of its concurrencies. The report gives what the client and the server counted.

    Not with --request-count: the tool starts its threads, then forgets what they have counted so far, and then waits for
    ever for as many answers as it asked for, with all of its threads gone, if one of them had come by then."""
    protocol = "http" if "http" in arguments else "grpc"
    address = server.http_address if protocol == "http" else server.address
    command = [str(PERF_ANALYZER), "-m", model, "-u", address, "-i", *arguments,
               "--concurrency-range", concurrency, "--measurement-mode", "count_windows",
               "--measurement-request-count", str(REQUESTS_EACH), "--stability-percentage", "999"]
    environment = dict(os.environ, LD_LIBRARY_PATH=str(CUDA_RUNTIME))
    code, out, err = run(server, command, environment)
    assert code == 0, out + err
    assert "Throughput:" in out, out + err
    assert "error" not in err.lower(), err
    return out


def run(server, command, environment):
    """The tool's exit code and what it said. Rarely it waits for ever for threads of its own that have ended. Then the server has
    answered everything: no call is open, and the tool gets a second try. One that waits for the server gets none."""
    for is_last in (False, True):
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tool:
            try:
                out, err = tool.communicate(timeout=120)
                return tool.returncode, out, err
            except subprocess.TimeoutExpired:
                waits_for = open_calls(server)
                tool.kill()
                assert waits_for == 0 and not is_last, f"perf_analyzer has not ended in 120 s; calls that are open: {waits_for}"


def open_calls(server):
    """Of a gRPC frontend that counts them."""
    with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=60) as page:
        found = re.search(r'^atoll_grpc_open_calls\{instance="grpc"\} (\d+)', page.read().decode(), re.MULTILINE)
    return int(found.group(1)) if found else None


def counts(server, model):
    with server.client() as client:
        statistics = client.get_inference_statistics(model).model_stats[0].inference_stats
    return statistics.success.count, statistics.fail.count


def completes(server, model, *arguments, **options):
    if model == "texts":
        arguments += ("--string-length", "20")
    if "system" in arguments:
        arguments += ("--output-shared-memory-size", "4096")
    before, _ = counts(server, model)
    analyze(server, model, *arguments, **options)
    after, failed = counts(server, model)
    assert after >= before + REQUESTS
    assert failed == 0


@pytest.mark.parametrize("model", ["echo", "texts"])
@pytest.mark.parametrize("arguments", [
    (), ("--streaming",), ("--shared-memory", "system"), ("--streaming", "--shared-memory", "system"),
], ids=" ".join)
def test_completes_without_an_error(server, model, arguments):
    completes(server, model, "grpc", *arguments)


@pytest.mark.parametrize("grpc_frontend", GRPC_FRONTENDS[:1], indirect=True)
@pytest.mark.parametrize("model", ["echo", "texts"])
@pytest.mark.parametrize("arguments", [(), ("--shared-memory", "system")], ids=" ".join)
def test_http_completes_without_an_error(server, model, arguments):
    completes(server, model, "http", *arguments)


# Not more: the tool keeps a record of each request of a window, which lasts until it has looked at those of the one before, so of a
# fast server with 65 in flight it got 100,000 a run, and sometimes did not get through them.
@pytest.mark.parametrize("arguments", [("--async",), ("--streaming",)], ids=" ".join)
def test_from_one_to_many_at_once(server, arguments):
    completes(server, "echo", "grpc", *arguments, concurrency="1:17:8")


@pytest.mark.parametrize("arguments", [("--async",), ("--streaming",)], ids=" ".join)
def test_large_tensors(server, arguments):
    completes(server, "large", "grpc", *arguments)


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_compression(server, algorithm):
    completes(server, "large", "grpc", "--grpc-compression-algorithm", algorithm, "--input-data", "zero")


def test_mutual_tls(repository, grpc_frontend, tmp_path):
    pki = make_pki(tmp_path)
    with Server(repository, "plugin.repeat.use=backends/repeat", *tls_options(pki, mutual=True), grpc_frontend=grpc_frontend) as server:
        analyze(wait_ready(server, pki), "echo", "grpc", "--ssl-grpc-use-ssl", "--ssl-grpc-root-certifications-file", f"{pki}/ca.crt",
                "--ssl-grpc-private-key-file", f"{pki}/client.key", "--ssl-grpc-certificate-chain-file", f"{pki}/client.crt")


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
