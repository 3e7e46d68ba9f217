"""tritonserver: Triton's command line, answered by the real server behind it."""

import re
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
from support import models
from support.cuda_double import DOUBLE
from support.launched import TRITONSERVER, Launched
from support.server import ATOLL, DEFAULT_MANIFEST, START_TIMEOUT_S
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

@pytest.fixture
def repository(tmp_path):
    models.write_model(tmp_path / "models", "echo", models.identity_config("echo"))
    return tmp_path / "models"


def ask(address, path):
    connection = http.client.HTTPConnection(address, timeout=START_TIMEOUT_S)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def echo(client, values=(1.0, 2.0)):
    module = sys.modules[type(client).__module__.rpartition(".")[0]]
    sent = np.array(values, np.float32)
    tensor = module.InferInput("INPUT0", list(sent.shape), "FP32")
    tensor.set_data_from_numpy(sent)
    return client.infer("echo", [tensor]).as_numpy("OUTPUT0").tolist() == sent.tolist()


def run(*flags, environment=None):
    return subprocess.run([TRITONSERVER, *flags], capture_output=True, text=True, timeout=START_TIMEOUT_S,
                          env={**os.environ, **(environment or {})})


def test_clients_are_served_through_it(repository):
    with Launched(repository, "--id=my server", "--strict-readiness=true", "--buffer-manager-thread-count=4",
                  "--pinned-memory-pool-byte-size=1048576", "--grpc-infer-thread-count=2", "--http-thread-count",
                  "3", "--allow-cpu-metrics=FALSE", "--exit-timeout-secs=5", "--backend-config",
                  "default-max-batch-size=8", "--log-format=ISO8601") as server:
        server.wait_ready("echo")
        assert pathlib.Path(f"/proc/{server.pid}/exe").resolve() == ATOLL.resolve()
        with server.client() as grpc, server.http_client() as http_:
            assert echo(grpc) and echo(http_)
            assert grpc.get_log_settings().settings["log_format"].string_param == "ISO8601"
            assert grpc.get_server_metadata().name == http_.get_server_metadata()["name"] == "my server"
        status, page = ask(server.metrics_address, "/metrics")
        assert status == 200 and "nv_inference_count{" in page and "nv_cpu_utilization" not in page
    warned = [line for line in server.lines if line.startswith("Warning: ")]
    assert [line.split()[1] for line in warned] == ["--buffer-manager-thread-count"]


@pytest.mark.parametrize("flag, service", [("--allow-http=false", "HTTPService"),
                                           ("--allow-grpc=0", "GRPCInferenceService"),
                                           ("--allow-metrics=off", "Metrics Service")])
def test_an_endpoint_that_is_not_allowed_does_not_listen(repository, flag, service):
    with Launched(repository, flag, grpc=False) as server:
        expected = {"HTTPService", "GRPCInferenceService", "Metrics Service"} - {service}
        eventually(lambda: all(f"Started {name} at" in server.log for name in expected))
        assert f"Started {service} at" not in server.log
        if service != "HTTPService":
            with server.http_client() as client:
                assert echo(client)


@pytest.mark.parametrize("flags, ready", [([], False), (["--strict-readiness=false", "--exit-on-error=false"], True)])
def test_a_broken_model_and_readiness(repository, flags, ready):
    models.write_model(repository, "broken", 'backend: "nobody"')
    with Launched(repository, *flags) as server:
        server.wait_for_startup()
        with server.http_client() as client:
            assert client.is_server_ready() == ready
            assert echo(client)


def test_several_repositories_and_a_configuration_by_name(repository, tmp_path):
    other = models.write_model(tmp_path / "more", "other", models.identity_config("other"))
    (other / "configs").mkdir()
    (other / "configs" / "wide.pbtxt").write_text(models.identity_config("other", pairs=2))
    with Launched(repository, f"--model-store={tmp_path / 'more'}", f"--model-repository={repository}",
                  "--model-config-name=wide") as server:
        server.wait_for_startup()
        with server.http_client() as client:
            assert {entry["name"] for entry in client.get_model_repository_index()} == {"echo", "other"}
            assert len(client.get_model_config("other")["input"]) == 2
            assert len(client.get_model_config("echo")["input"]) == 1


def test_a_repository_that_is_not_there_ends_no_server_that_goes_on_after_errors(repository, tmp_path):
    later = tmp_path / "later"
    for repositories, served in [([later, repository], {"echo"}), ([later], set())]:
        flags = [f"--model-repository={path}" for path in repositories[1:]]
        with Launched(repositories[0], *flags, "--exit-on-error=false") as server:
            server.wait_for_startup()
            server.wait_logged(f"failed to stat file {later}: No such file or directory; the repository is left out")
            with server.http_client() as client:
                assert {entry["name"] for entry in client.get_model_repository_index()} == served
                assert not client.is_server_live() and not client.is_server_ready()


def test_a_cache_may_be_small(repository):
    with Launched(repository, "--cache-config=local,size=8192") as server:
        server.wait_for_startup()
        with server.http_client() as client:
            assert echo(client)


def test_configurations_must_be_complete_on_demand(repository):
    files = {"model.onnx": models.onnx_add_sub()}
    models.write_model(repository, "bare", files=files)
    with Launched(repository, "--disable-auto-complete-config") as server:
        server.wait_for_startup()
        with server.http_client() as client:
            reasons = {entry["name"]: entry.get("reason", "") for entry in client.get_model_repository_index()}
            assert "model configuration is not provided for model 'bare'" in reasons["bare"]
            assert reasons["echo"] == ""


def wait_for_text(path, text):
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if path.exists() and text in path.read_text():
            return path.read_text()
        time.sleep(0.02)
    raise AssertionError(f"{path} does not say {text!r}: {path.read_text() if path.exists() else 'it is not there'}")


@pytest.mark.parametrize("flags, shown, hidden", [
    ([], "INFO ", "DEBUG"), (["--log-verbose=1"], "DEBUG", "TRACE"), (["--log-info=false"], "WARN ", "INFO "),
    (["--log-info=0", "--log-warning=0"], "ERROR", "WARN ")])
def test_log_flags(repository, tmp_path, flags, shown, hidden):
    models.write_model(repository, "broken", 'backend: "nobody"')  # an error of every start
    (repository / "echo" / "01").mkdir()  # and a warning
    log = tmp_path / "server.log"
    with Launched(repository, "--log-format=ISO8601", f"--log-file={log}", *flags, grpc=False) as server:
        wait_for_text(log, "1 model loaded, 1 failed: broken")
    text = log.read_text()
    assert f"Z {shown} [" in text and f"Z {hidden} [" not in text
    assert server.lines == []


BACKEND = """\
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", request.inputs()[0].as_numpy())]) for request in requests]
"""


def test_backends_that_are_python_programs(repository, tmp_path):
    (tmp_path / "backends" / "echoes").mkdir(parents=True)
    (tmp_path / "backends" / "echoes" / "model.py").write_text(BACKEND)
    models.write_model(repository, "echo", models.identity_config("echo").replace('"identity"', '"echoes"'))
    with Launched(repository, f"--backend-directory={tmp_path / 'backends'}",
                  environment={"ATOLL__PLUGIN__PYTHON__INTERPRETER": sys.executable}) as server, server.client() as client:
        server.wait_ready("echo")
        assert echo(client)


def test_calls_that_need_a_key(repository):
    with Launched(repository, "--http-restricted-api=metadata,health:admin-key=secret",
                  "--grpc-restricted-protocol=metadata:admin-key=secret") as server:
        server.wait_for_startup()
        with server.http_client() as http_, server.client() as grpc:
            for client in (http_, grpc):
                with pytest.raises(InferenceServerException, match="restricted"):
                    client.get_server_metadata()
                assert echo(client)
            assert http_.get_server_metadata(headers={"admin-key": "secret"})
            assert grpc.get_server_metadata(headers={"triton-grpc-protocol-admin-key": "secret"})


@pytest.mark.parametrize("flags, refusal", [([], "disabled"), (["--allow-client-shm=true"], "Unable to open")])
def test_shared_memory_is_allowed_by_its_flag(repository, flags, refusal):
    with Launched(repository, *flags) as server:
        with server.client() as client, pytest.raises(InferenceServerException) as error:
            client.register_system_shared_memory("region", "/atoll_no_such_object", 64)
        assert refusal in str(error.value)


def test_traces_are_written_to_the_file(repository, tmp_path):
    trace = tmp_path / "trace.json"
    with Launched(repository, "--trace-config=level=TIMESTAMPS", "--trace-config", "rate=1",
                  f"--trace-config=triton,file={trace}") as server:
        server.wait_ready("echo")
        with server.client() as client:
            assert echo(client)
    names = {stamp["name"] for entry in json.loads(trace.read_text()) for stamp in entry.get("timestamps", [])}
    assert {"REQUEST_START", "COMPUTE_END", "REQUEST_END"} <= names


def test_metrics_settings(repository):
    with Launched(repository, "--metrics-config=summary_latencies=true", "--metrics-config",
                  "counter_latencies=false", "--metrics-interval-ms=50") as server:
        server.wait_ready("echo")
        status, page = ask(server.metrics_address, "/metrics")
    assert status == 200
    assert "nv_inference_request_summary_us" in page and "nv_inference_request_duration_us" not in page


def double(**variables):
    """An environment in which the driver is the test double."""
    return {"LD_LIBRARY_PATH": str(DOUBLE.parent),
            **{f"ATOLL_CUDA_DOUBLE_{name}": value for name, value in variables.items()}}


def test_a_machine_without_gpus_is_told_of_in_one_line(repository):
    with Launched(repository, environment=double(INIT="100")) as server:
        server.wait_ready("echo")
        with server.client() as client:
            assert echo(client)
        server.wait_active()
    about_gpus = [line for line in server.lines
                  if ("GPU" in line or "[cuda]" in line or "[pinned]" in line) and "[nvml]" not in line]
    assert len(about_gpus) == 1 and "INFO  [gpus] no GPU is used: " in about_gpus[0]
    assert not [line for line in server.lines if line.startswith("Warning: ")]


def test_flags_of_gpus(repository):
    models.write_model(repository, "on_gpu", models.identity_config("on_gpu") +
                       "instance_group [ { kind: KIND_GPU gpus: [ 0, 5 ] } ]")
    with Launched(repository, "--pinned-memory-pool-byte-size=1048576", "--cuda-memory-pool-byte-size=1:1048576",
                  "--cuda-virtual-address-size=0:1048576", "--min-supported-compute-capability=7.5",
                  "--model-load-gpu-limit=1:0.5", "--strict-readiness=false",
                  environment=double(DEVICES="2", COMPUTE_CAPABILITY="7.0,7.5")) as server:
        server.wait_ready("echo")
        server.newest_line(r"GPU 0 is not used: gpu 0 has compute capability '7.0' which is less than the minimum supported "
                           r"of '7.5'")
        server.newest_line(r"\[gpus\] GPU 1: Atoll Test GPU, compute capability 7.5")
        _, page = ask(server.metrics_address, "/metrics")
        assert "nv_pinned_memory_pool_total_bytes 1048576" in page
        server.newest_line(r"'on_gpu'.* specifies invalid or unsupported gpu id 0. GPUs with at least the minimum required "
                           r"CUDA compute compatibility of 7.500000 are: 1")
    assert not [line for line in server.lines if line.startswith("Warning: ")]


# --- without a server ---

class Installation:
    """A copy of the launcher beside a program that prints its arguments instead of atoll."""

    def __init__(self, folder, script):
        for name in ("bin", "etc/atoll", "lib/atoll/plugins"):
            (folder / name).mkdir(parents=True)
        shutil.copy(TRITONSERVER, folder / "bin/tritonserver")
        shutil.copy(DEFAULT_MANIFEST, folder / "etc/atoll/atoll.toml")
        (folder / "bin/atoll").write_text("#!/bin/sh\n" + script)
        (folder / "bin/atoll").chmod(0o755)
        self.folder = folder

    def add_plugin(self, name):
        """A file of that name, which is all the launcher looks for."""
        file = self.folder / "lib/atoll/plugins" / f"{name}.so"
        file.parent.mkdir(exist_ok=True)
        file.touch()

    def run(self, *flags):
        return subprocess.run([self.folder / "bin/tritonserver", *flags], capture_output=True, text=True,
                              timeout=START_TIMEOUT_S)


# One use of every flag that sets a key.
SERVED = ["--id=x", "--exit-timeout-secs=9", "--log-verbose=1", "--log-info=true", "--log-warning=true", "--log-error=true",
          "--log-format=ISO8601", "--backend-directory=/b", "--log-file=", "--exit-on-error=false", "--disable-auto-complete-config",
          "--strict-readiness=false", "--model-config-name=c", "--model-load-thread-count=2",
          "--model-load-retry-count=1", "--model-namespacing=false", "--follow-links=true", "--open-early", "--pass-environment=true", "--allow-http=true", "--http-port=0",
          "--http-address=::1", "--reuse-http-port=false", "--http-header-forward-pattern=a.*",
          "--http-thread-count=128", "--http-max-input-size=1024", "--http-restricted-api=health:k=v",
          "--allow-grpc=true", "--grpc-address=::1", "--grpc-port=0", "--reuse-grpc-port=true",
          "--grpc-header-forward-pattern=a.*", "--grpc-infer-thread-count=128",
          "--grpc-max-response-pool-size=2147483647", "--grpc-use-ssl=false", "--grpc-use-ssl-mutual=false",
          "--grpc-server-cert=c", "--grpc-server-key=k", "--grpc-root-cert=r",
          "--grpc-infer-response-compression-level=low", "--grpc-keepalive-time=2147483647",
          "--grpc-keepalive-timeout=2147483647", "--grpc-keepalive-permit-without-calls=true",
          "--grpc-http2-max-pings-without-data=2147483647",
          "--grpc-http2-min-recv-ping-interval-without-data=2147483647", "--grpc-http2-max-ping-strikes=0",
          "--grpc-max-connection-age=2147483647", "--grpc-max-connection-age-grace=2147483647",
          "--grpc-restricted-protocol=health:k=v", "--allow-metrics=true", "--allow-cpu-metrics=false",
          "--metrics-address=::1", "--metrics-port=0", "--metrics-interval-ms=1",
          "--metrics-config=counter_latencies=false", "--metrics-config=summary_latencies=true",
          "--metrics-config=histogram_latencies=true", "--metrics-config=summary_quantiles=0.5:0.1",
          "--trace-config=level=TIMESTAMPS", "--trace-config=rate=1", "--trace-config=count=5",
          "--trace-config=mode=opentelemetry", "--trace-config=triton,file=f", "--trace-config=triton,log-frequency=1",
          "--trace-config=opentelemetry,url=http://localhost:4318/v1/traces",
          "--trace-config=opentelemetry,resource=a=b", "--trace-config=opentelemetry,bsp_max_queue_size=1",
          "--trace-config=opentelemetry,bsp_schedule_delay=1",
          "--trace-config=opentelemetry,bsp_max_export_batch_size=1", "--backend-config=onnxruntime,a=b",
          "--host-policy=cpu,cpu-cores=0-1", "--host-policy=gpu_0,numa-node=0",
          "--rate-limit=execution_count", "--rate-limit-resource=R1:10", "--rate-limit-resource=R2:5:0",
          "--allow-client-shm=true", "--allow-sagemaker=false", "--allow-vertex-ai=false",
          "--pinned-memory-pool-byte-size=0", "--cuda-memory-pool-byte-size=0:9223372036854775807",
          "--cuda-virtual-address-size=1:0", "--min-supported-compute-capability=7", "--model-load-gpu-limit=0:0.8",
          "--allow-gpu-metrics=false", "--repoagent-directory=/r", "--cache-directory=/c", "--cache-config=mine,a=b"]


def test_every_key_is_one_of_the_manifest(repository, tmp_path):
    installation = Installation(tmp_path, f'exec "{ATOLL}" --check "$@"\n')
    installation.add_plugin("admission/rate_limiter")
    installation.add_plugin("security/keys")
    installation.add_plugin("memory/cuda")
    installation.add_plugin("memory/pinned")
    for foreign in ["backends/python", "backends/triton", "agents/triton", "caches/triton", "frontends/c_api"]:
        installation.add_plugin(foreign)
    checked = installation.run(f"--model-repository={repository}", *SERVED)
    # The flags name files that are not there; whatever else the server said would be about a key.
    lines = checked.stderr.splitlines()
    assert len(lines) >= 3, checked
    assert all(re.search("expected a readable PEM file|unable to find 'libtritoncache_", line) for line in lines), checked.stderr


@pytest.mark.parametrize("flag, plugin", [("--model-control-mode=poll", "control/poll"),
                                          ("--model-control-mode=explicit", "control/explicit"),
                                          ("--rate-limit=execution_count", "admission/rate_limiter")])
def test_a_plugin_that_is_not_there_is_named(repository, tmp_path, flag, plugin):
    installation = Installation(tmp_path, 'for setting; do echo "$setting"; done\n')
    refused = installation.run(f"--model-repository={repository}", flag)
    assert refused.returncode == 1 and refused.stdout == ""
    assert refused.stderr == (f"error: creating server: Unsupported - {flag} is not served: it needs the plugin {plugin}, "
                              f"which is not in {tmp_path}/lib/atoll/plugins\n")
    installation.add_plugin(plugin)
    started = installation.run(f"--model-repository={repository}", flag)
    assert started.returncode == 0 and f'.use="{plugin}"' in started.stdout


def test_an_atoll_that_is_not_there(repository, tmp_path):
    installation = Installation(tmp_path, "")
    (tmp_path / "bin/atoll").unlink()
    failed = installation.run(f"--model-repository={repository}")
    assert failed.returncode == 1
    assert failed.stderr == (f"error: creating server: Internal - cannot start {tmp_path}/bin/atoll: "
                             "No such file or directory\n")


@pytest.mark.parametrize("flag", [
    "--log-error=false", "--log-warning=false", "--exit-on-error=true", "--reuse-http-port=true"])
def test_what_is_not_served_is_refused_with_the_reason(repository, flag):
    refused = run(f"--model-repository={repository}", flag)
    assert refused.returncode == 1 and refused.stdout == ""
    lines = [line for line in refused.stderr.splitlines() if not line.startswith("Warning: ")]
    shown = flag if flag.endswith(("=true", "=false")) else flag.partition("=")[0]
    assert len(lines) == 1 and lines[0].startswith(f"error: creating server: Unsupported - {shown} is not served"), lines
    assert len(lines[0].partition(" is not served")[2]) > 10


@pytest.mark.parametrize("flags, end", [
    (["--help"], None),
    (["--no-such-flag"], "unrecognized option '--no-such-flag'\n"),
    (["--http-port=many"], 'Bad option: "--http-port".\nInvalid option value. Got many\n'),
    (["--strict-readiness", "maybe"], 'Bad option: "--strict-readiness".\ninvalid value for bool option: '
     "found 'maybe', expected one of: true, on, 1, false, off, 0\n"),
    (["--rate-limit=some"], 'Bad option: "--rate-limit".\n'
     "invalid argument for --rate-limit: found 'some', expected one of: off, execution_count\n"),
    (["stray"], "Unexpected argument: stray\n")])
def test_mistakes_are_told_without_the_usage(flags, end):
    usage = run("--help").stderr
    assert usage.startswith("Usage: tritonserver [options]\n") and "  --model-repository <string>\n" in usage
    failed = run(*flags)
    assert failed.returncode == 1 and failed.stdout == ""
    text = usage if end is None else f"{end}'tritonserver --help' lists the options.\n"
    assert failed.stderr.removeprefix(f"{TRITONSERVER}: ") == text


def test_repositories_are_looked_at_before_the_start(tmp_path):
    (tmp_path / "file").touch()
    prefix = "error: creating server: "
    for flags, text in [([], "Invalid argument - --model-repository must be specified"),
                        (["--model-repository=/no/such"], "Internal - failed to stat file /no/such"),
                        ([f"--model-repository={tmp_path}/file"],
                         f"Invalid argument - repository path is not a valid directory: {tmp_path}/file")]:
        failed = run(*flags)
        assert (failed.returncode, failed.stderr) == (1, f"{prefix}{text}\n")
