"""Programs made for Triton's library run over this one, unmodified: perf_analyzer, which loads it, and Triton's own server,
which is linked to it and serves its own endpoints from it."""

import json
import pathlib
import re
import sys
import sysconfig
import urllib.request

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support import models, perf_analyzer
from support.foreign_programs import LIBRARIES, environment
from support.triton_program import WAIT_S, TritonProgram
from support.waiting import eventually

PERF_ANALYZER = pathlib.Path(sys.executable).parent / "perf_analyzer"
CUDA_RUNTIME = pathlib.Path(sysconfig.get_paths()["purelib"]) / "nvidia" / "cuda_runtime" / "lib"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    models.write_model(folder, "echo", models.identity_config("echo", dims=(16,), max_batch_size=8))
    models.write_model(folder, "texts", models.identity_config("texts", "TYPE_STRING", dims=(2,)))
    return folder


# Windows of time are for one request in flight, and for a rate: of more in flight the tool keeps so many records of each window
# that it does not get through them, while a count of requests ends.
IN_FLIGHT = 16  # at most
# Of a count of requests: the tool starts its workers before it looks at the server's counts for the first time, and on a busy machine
# some have been answered by then.
BEFORE_THE_FIRST_LOOK = 0.05  # at most
WINDOWS = ("-s", "999", "-p", "500", "-r", "3")


@pytest.mark.parametrize("arguments", [
    WINDOWS, (*WINDOWS, "--shared-memory=system"), (*WINDOWS, "--request-rate-range=2000"),
    ("--concurrency-range=4", "--request-count=20000"),
    ("--concurrency-range=16", "--request-count=20000", "--shared-memory=system"),
], ids=" ".join)
def test_perf_analyzer_counts_no_failure(repository, tmp_path, arguments):
    (tmp_path / "lib").symlink_to(LIBRARIES)
    done = perf_analyzer.run([PERF_ANALYZER, "-m", "echo", "--service-kind=triton_c_api", f"--triton-server-directory={tmp_path}",
                              f"--model-repository={repository}", *arguments], WAIT_S, environment(LD_LIBRARY_PATH=str(CUDA_RUNTIME)))
    assert done.returncode == 0, done.stderr
    (client, ) = re.findall(r"Client: \n\s+Request count: (\d+)", done.stdout)
    (succeeded, ) = re.findall(r"Successful request count: (\d+)", done.stdout)
    # A request is counted when its response was delivered: the last of those in flight may not be yet when the tool asks.
    uncounted = IN_FLIGHT + (0 if arguments[:len(WINDOWS)] == WINDOWS else BEFORE_THE_FIRST_LOOK * int(client))
    assert int(client) > 100 and int(succeeded) > int(client) - uncounted and "error" not in done.stdout.lower(), done


@pytest.fixture(scope="module")
def program(repository, tmp_path_factory):
    backends = tmp_path_factory.mktemp("backends")
    with TritonProgram(repository, f"--backend-directory={backends}", "--model-control-mode=explicit", "--load-model=*") as running:
        yield running.wait_ready()


@pytest.mark.parametrize("protocol, module", [("grpc", grpcclient), ("http", httpclient)])
def test_tritons_own_endpoints_answer_from_this_library(program, protocol, module):
    with program.client() if protocol == "grpc" else program.http_client() as client:
        assert client.is_server_ready() and client.is_model_ready("echo")
        metadata = client.get_server_metadata(**({"as_json": True} if protocol == "grpc" else {}))
        assert metadata["version"] != "2.51.0" and metadata["extensions"]
        numbers = module.InferInput("INPUT0", [2, 16], "FP32")
        numbers.set_data_from_numpy(np.arange(32, dtype=np.float32).reshape(2, 16))
        np.testing.assert_array_equal(client.infer("echo", [numbers]).as_numpy("OUTPUT0"), np.arange(32).reshape(2, 16))
        texts = module.InferInput("INPUT0", [2], "BYTES")
        texts.set_data_from_numpy(np.array([b"a", b""], dtype=object))
        assert client.infer("texts", [texts]).as_numpy("OUTPUT0").tolist() == [b"a", b""]
        with pytest.raises(Exception, match="unknown model: 'nobody' is not found"):
            client.infer("nobody", [texts])
        with pytest.raises(Exception, match="unexpected shape for input 'INPUT0' for model 'texts'"):
            texts.set_shape([1, 2])
            client.infer("texts", [texts])
        client.unload_model("texts")
        eventually(lambda: not client.is_model_ready("texts"), WAIT_S)
        client.load_model("texts")
        assert client.is_model_ready("texts")


def test_its_metrics_are_ours(program):
    page = urllib.request.urlopen(f"http://{program.metrics_address}/metrics", timeout=WAIT_S).read().decode()
    assert re.search(r'nv_inference_request_success{model="echo",version="1"} \d', page)
    config = json.loads(urllib.request.urlopen(f"http://{program.http_address}/v2/models/echo/config", timeout=WAIT_S).read())
    assert config["max_batch_size"] == 8
