"""atoll serve and atoll demo: what a folder holds, served by the real server behind them."""

import json
import os
import pathlib
import pty
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

import numpy as np
import onnx
import pytest
import tritonclient.grpc
import tritonclient.http
from onnx import TensorProto, helper
from support import models
from support.server import ATOLL, BUILD, START_TIMEOUT_S
from support.serving import PORTS, Serving, infer, run, shell
from support.waiting import eventually

POLLS = (BUILD / "lib/atoll/plugins/control/poll.so").exists()


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_repository_and_a_loose_file_are_served(folder):
    with Serving(folder) as serving:
        serving.wait_serving()
        with tritonclient.http.InferenceServerClient(serving.http) as client:
            assert infer(client, tritonclient.http, "echo") == [0, 1, 2, 3]
            assert infer(client, tritonclient.http, "plus_two") == [2, 3, 4, 5]
        with tritonclient.grpc.InferenceServerClient(serving.grpc) as client:
            assert infer(client, tritonclient.grpc, "plus_two") == [2, 3, 4, 5]
        assert "nv_inference_count" in shell(f"curl -sf {serving.metrics}")
        assert "atoll serve: echo: ready" in serving.err and "atoll serve: plus_two: ready" in serving.err
        curl = re.search(r"; a model: (curl \S+)$", serving.line).group(1)
        assert json.loads(shell(curl + " -sf"))["name"] in ("echo", "plus_two")


def test_clients_of_openais_api_are_told_where_it_is(folder):
    with Serving(folder) as serving:
        serving.wait_serving()
        url = re.search(r"OpenAI's API (http://[^;,]+)", serving.line).group(1)
        assert url == f"http://{serving.http}/v1"
        with urllib.request.urlopen(f"{url}/models", timeout=START_TIMEOUT_S) as answer:
            assert json.load(answer) == {"object": "list", "data": []}


def test_ctrl_c_leaves_nothing_behind(folder, temporary):
    with Serving(folder, temporary=temporary) as serving:
        serving.wait_serving()
        server = serving.server_pid
        made = list(temporary.glob("atoll-serve-*"))
        assert len(made) == 1 and made[0].stat().st_mode & 0o777 == 0o700
        assert serving.end(signal.SIGINT) == 0
        assert not is_alive(server)
        assert list(temporary.glob("atoll-serve-*")) == []
        assert (folder / "plus two.onnx").exists() and (folder / "echo" / "config.pbtxt").exists()


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 0), (signal.SIGQUIT, 128 + signal.SIGQUIT),
                                          (signal.SIGUSR1, 128 + signal.SIGUSR1)])
def test_other_signals_are_passed_on(folder, temporary, number, code):
    with Serving(folder, temporary=temporary) as serving:
        serving.wait_serving()
        server = serving.server_pid
        assert serving.end(number) == code
        assert not is_alive(server) and list(temporary.glob("atoll-serve-*")) == []
        serving.process.returncode = 0  # what leaving the block looks at


def test_sighup_reloads_and_goes_on(folder):
    with Serving(folder, "--log-info=true") as serving:
        serving.wait_serving()
        serving.process.send_signal(signal.SIGHUP)
        eventually(lambda: "nothing to do" in serving.log or "reload" in serving.log, say=lambda: serving.log)
        with tritonclient.http.InferenceServerClient(serving.http) as client:
            assert infer(client, tritonclient.http, "echo") == [0, 1, 2, 3]


def test_a_second_ctrl_c_ends_it_at_once(tmp_path, temporary):
    marker = tmp_path / "executes"
    body = f"""\
import pathlib, threading
class TritonPythonModel:
    def execute(self, requests):
        pathlib.Path({str(marker)!r}).touch()
        threading.Event().wait()
"""
    config = models.identity_config("hang").replace('"identity"', '"python"')
    models.write_model(tmp_path / "models", "hang", config, files={"model.py": body.encode()})
    with Serving(tmp_path / "models", temporary=temporary) as serving:
        serving.wait_serving()
        server = serving.server_pid
        with tritonclient.grpc.InferenceServerClient(serving.grpc) as client:
            tensor = tritonclient.grpc.InferInput("INPUT0", [1], "FP32")
            tensor.set_data_from_numpy(np.zeros(1, np.float32))
            client.async_infer("hang", [tensor], callback=lambda result, error: None)
            eventually(marker.exists, say=lambda: serving.log)
            serving.process.send_signal(signal.SIGINT)
            # The first one has come to the server when that is no longer ready.
            eventually(lambda: subprocess.run(["curl", "-sf", f"http://{serving.http}/v2/health/ready"],
                                              capture_output=True).returncode != 0)
            eventually(lambda: "once more Ctrl-C ends it at once" in serving.log, say=lambda: serving.log)
            assert is_alive(server), "it drains"
            serving.process.send_signal(signal.SIGINT)
            assert serving.process.wait(START_TIMEOUT_S) == 128 + signal.SIGINT
        assert not is_alive(server) and list(temporary.glob("atoll-serve-*")) == []
        serving.process.returncode = 0


@pytest.mark.parametrize("ends", ["Ctrl-C", "the terminal is closed"])
def test_on_a_terminal(folder, temporary, ends):
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TMPDIR"] = str(temporary)
        os.execv(ATOLL, [str(ATOLL), "serve", str(folder), *PORTS])
    text = b""
    while b"serving at" not in text:
        text += os.read(terminal, 4096)
    if ends == "Ctrl-C":
        os.write(terminal, b"\x03")
    else:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, text.decode(errors="replace")
    assert list(temporary.iterdir()) == []
    if ends == "Ctrl-C":
        os.close(terminal)


def test_the_environment_does_not_move_it(folder, monkeypatch):
    monkeypatch.setenv("ATOLL__PLUGIN__HTTP__ADDRESS", "127.0.0.1:1")
    with Serving(folder) as serving:
        serving.wait_serving()
        with tritonclient.http.InferenceServerClient(serving.http) as client:
            assert client.is_model_ready("echo")


def test_keys_that_keep_the_index_away_end_nothing(folder):
    plugins = BUILD / "lib/atoll/plugins"
    if not (plugins / "security/keys.so").exists():
        return
    with Serving(folder, "--set", "plugin.keys.use=security/keys", "--set",
                 'plugin.keys.restricted_apis=["model-repository:admin-key=secret"]') as serving:
        serving.wait_serving()
        assert any("does not say which models it has: it answers with status" in line for line in serving.err), serving.log


def test_the_server_ends_when_its_parent_is_killed(folder, temporary):
    with Serving(folder, temporary=temporary) as serving:
        serving.wait_serving()
        server = serving.server_pid
        serving.process.kill()
        serving.process.wait(START_TIMEOUT_S)
        eventually(lambda: not is_alive(server))
        serving.process.returncode = 0


def test_the_exit_code_is_the_servers_own(folder, temporary):
    wrong = run(folder, *PORTS, "--set", "plugin.http.nonsense=1", TMPDIR=str(temporary))
    assert wrong.returncode == 2 and "--set plugin.http.nonsense" in wrong.stderr
    with Serving(folder, temporary=temporary) as serving:
        serving.wait_serving()
        os.kill(serving.server_pid, signal.SIGKILL)
        assert serving.process.wait(START_TIMEOUT_S) == 128 + signal.SIGKILL
        serving.process.returncode = 0
    assert "atoll serve: the server has ended with exit code 137" in serving.err
    assert list(temporary.iterdir()) == []


def test_a_port_that_is_taken(folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = run(folder, f"--http-port={port}")
        assert refused.returncode == 1
        assert refused.stderr == (f"atoll serve: --http-port={port}: the port is taken; --http-port=0 takes a free one\n")


def test_a_usual_port_that_is_taken_is_replaced(folder):
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 8002))
            taken.listen()
        except OSError:
            pass  # somebody else has it, which is as good
        with Serving(folder, ports=["--http-port=0", "--grpc-port=0"]) as serving:
            serving.wait_serving()
            said = [line for line in serving.err if "is taken" in line]
            address = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/metrics", serving.metrics).group(1)
            assert said == [f"atoll serve: port 8002 is taken; metrics is at port {address}"]
            assert "nv_inference_count" in shell(f"curl -sf {serving.metrics}")


def test_a_model_that_fails_is_told_with_its_reason(folder):
    (folder / "broken.onnx").write_bytes(b"no model")
    with Serving(folder) as serving:
        serving.wait_serving()
        failed = next(line for line in serving.err if line.startswith("atoll serve: broken: failed: "))
        assert str(folder / "broken.onnx") in failed and "atoll-serve-" not in failed
        assert "atoll serve: echo: ready" in serving.err
    ended = run(folder, *PORTS, "--exit-on-error=true")
    assert ended.returncode == 1
    assert "atoll serve: models that have failed: 1; --exit-on-error ends the server" in ended.stderr


def test_without_a_model_that_is_ready_the_curl_still_works(tmp_path):
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    with Serving(tmp_path) as serving:
        serving.wait_serving()
        assert json.loads(shell(re.search(r"; no model is ready; the server: (curl \S+)$", serving.line).group(1) + " -sf"))["name"]


def test_hostile_names_and_files(tmp_path):
    path = tmp_path / "models"
    path.mkdir()
    (path / "a'; touch pwned; '.onnx").write_bytes(models.onnx_add(1))
    (path / "b\n\x1b[31m.onnx").write_bytes(models.onnx_add(1))
    (path / "readme.md").write_text("text")
    (path / "run.py").write_text("import os\nos.mkdir('pwned')\n")
    os.mkfifo(path / "pipe.onnx")
    (path / "away.onnx").symlink_to("nowhere")
    os.close(os.open(os.fsencode(path) + b"/\xff.onnx", os.O_CREAT))
    with Serving(path) as serving:
        serving.wait_serving()
        with tritonclient.http.InferenceServerClient(serving.http) as client:
            states = {entry["name"]: entry.get("state") for entry in client.get_model_repository_index()}
        assert states["a_touch_pwned_"] == states["b_31m"] == "READY" and states["_"] == "UNAVAILABLE"
        for text in ("readme.md: not served: its name ends in none of", "run.py: not served: it defines no class",
                     "pipe.onnx: not served: it is no regular file", "away.onnx: not served: a link that leads nowhere"):
            assert any(line.startswith(f"atoll serve: {text}") for line in serving.err), serving.log
        assert "\x1b" not in serving.log
    assert not list(tmp_path.rglob("pwned"))


def test_what_cannot_be_served_is_one_line(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "net.pt").write_bytes(b"x")
    for path, said in [("none", "none: No such file or directory"), ("empty", "empty: found no model that can be served")]:
        refused = run(tmp_path / path)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr == f"atoll serve: {tmp_path}/{said}\n"
    refused = run(tmp_path / "net.pt")
    assert refused.returncode == 2 and "write net/config.pbtxt, such as  backend: \"pytorch\"" in refused.stderr


def test_a_backend_that_is_missing_says_how_to_get_it(tmp_path):
    (tmp_path / "chat.gguf").write_bytes(b"GGUF")
    plugins = BUILD / "lib/atoll/plugins"
    if not (plugins / "backends/llamacpp.so").exists():
        refused = run(tmp_path)
        assert refused.returncode == 2
        assert "chat.gguf: not served: it needs the backend llamacpp: no file backends/llamacpp.so in" in refused.stderr


def test_a_python_file_is_a_model(tmp_path):
    (tmp_path / "double.py").write_text("""\
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [-1]})
        config.add_output({"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [-1]})
        config.set_max_batch_size(0)
        return config

    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", 2 * request.inputs()[0].as_numpy())])
                for request in requests]
""")
    with Serving(tmp_path / "double.py") as serving:
        serving.wait_serving()
        with tritonclient.http.InferenceServerClient(serving.http) as client:
            assert infer(client, tritonclient.http, "double") == [0, 2, 4, 6]


def test_weights_beside_a_file_belong_to_it(tmp_path):
    value = helper.make_tensor_value_info
    weights = helper.make_tensor("C", TensorProto.FLOAT, [4], np.full(4, 5, np.float32).tobytes(), raw=True)
    graph = helper.make_graph([helper.make_node("Add", ["INPUT0", "C"], ["OUTPUT0"])], "add",
                              [value("INPUT0", TensorProto.FLOAT, [4])], [value("OUTPUT0", TensorProto.FLOAT, [4])], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    path = tmp_path / "models"
    path.mkdir()
    onnx.save_model(model, path / "big.onnx", save_as_external_data=True, location="big.onnx.data", size_threshold=0)
    assert (path / "big.onnx.data").exists()
    with Serving(path) as serving:
        serving.wait_serving()
        with tritonclient.http.InferenceServerClient(serving.http) as client:
            assert infer(client, tritonclient.http, "big") == [5, 6, 7, 8]


def test_the_manifest_that_is_printed_serves_the_same(folder, temporary, tmp_path):
    printed = run(folder, *PORTS, "--print-manifest", "--set", "log.level=info", TMPDIR=str(temporary))
    assert printed.returncode == 0
    made = list(temporary.glob("atoll-serve-*"))
    assert len(made) == 1 and f"{made[0]}, which stays" in printed.stderr
    manifest = tmp_path / "manifest.toml"
    manifest.write_text(printed.stdout)
    server = subprocess.Popen([ATOLL, "--manifest", manifest], stderr=subprocess.PIPE, text=True)
    try:
        grpc = re.search(r'use = "frontends/grpc_nghttp2"\naddress = "([^"]+)"', printed.stdout).group(1)
        with tritonclient.grpc.InferenceServerClient(grpc) as client:
            def answers():
                try:
                    return client.is_model_ready("plus_two") and client.is_model_ready("echo")
                except tritonclient.grpc.InferenceServerException:
                    return False
            eventually(answers)
            assert infer(client, tritonclient.grpc, "plus_two") == [2, 3, 4, 5]
    finally:
        server.terminate()
        log = server.communicate()[1]
    assert server.returncode == 0, log


def test_a_repository_alone_needs_nothing_that_is_made(folder, temporary):
    (folder / "plus two.onnx").unlink()
    printed = run(folder, *PORTS, "--print-manifest", TMPDIR=str(temporary))
    assert printed.returncode == 0 and printed.stderr == ""
    assert f'paths = ["{folder}"]' in printed.stdout and list(temporary.iterdir()) == []


def test_endpoints_that_are_not_allowed(folder):
    with Serving(folder, "--allow-http=false", "--allow-metrics=0") as serving:
        eventually(lambda: serving.out, say=lambda: serving.log)
        grpc = re.fullmatch(r"serving at gRPC (\S+)", serving.out[0]).group(1)
        with tritonclient.grpc.InferenceServerClient(grpc) as client:
            def is_ready():
                try:
                    return client.is_model_ready("plus_two")
                except tritonclient.grpc.InferenceServerException:
                    return False
            eventually(is_ready, say=lambda: serving.log)


def test_new_models_of_a_repository_are_found(tmp_path):
    path = tmp_path / "models"
    models.write_model(path, "echo", models.identity_config("echo"))
    if not POLLS:
        refused = run(path, *PORTS, "--model-control-mode=poll")
        assert refused.returncode == 2 and "etc/dev/build" in refused.stderr
        return
    with Serving(path, "--repository-poll-secs=1") as serving:
        serving.wait_serving()
        models.write_model(path, "later", models.identity_config("later"))
        with tritonclient.http.InferenceServerClient(serving.http) as client:
            eventually(lambda: client.is_model_ready("later"), say=lambda: serving.log)


def test_the_demonstration_does_what_it_prints(temporary):
    with Serving(word="demo", temporary=temporary) as serving:
        eventually(lambda: any(line.startswith("Expected: ") for line in serving.out), say=lambda: serving.log)
        curl = next(line for line in serving.out if line.startswith("curl "))
        expected = re.search(r'"data":\[(\d)\]', next(line for line in serving.out if line.startswith("Expected: "))).group(0)
        assert expected in shell(curl)
        # The other digits that it has.
        text = (pathlib.Path(__file__).parents[2] / "etc/programs/atoll-serve/demo_digits.inc").read_text()
        digits = re.findall(r"\{(\d), \{([\d, ]+)\}\}", text)
        assert [label for label, _ in digits] == list("0123456789")
        url = shlex.split(curl)[2]
        for label, pixels in digits:
            body = {"inputs": [{"name": "image", "shape": [1, 64], "datatype": "FP32",
                                "data": [int(pixel) for pixel in pixels.split(",")]}]}
            answer = json.loads(shell(f"curl -sf {url} -d {shlex.quote(json.dumps(body))}"))
            assert {output["name"]: output for output in answer["outputs"]}["label"]["data"] == [int(label)]
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("word, said", [("sevre", "did you mean 'serve'?"), ("../bin/atoll-serve", "the words are"),
                                        ("nothing", "the words are")])
def test_unknown_words(word, said):
    refused = run(word=word)
    assert refused.returncode == 2 and said in refused.stderr and len(refused.stderr.splitlines()) == 1


def test_wrong_flags_get_a_suggestion(folder):
    refused = run(folder, "--htp-port=1")
    assert refused.returncode == 2
    assert refused.stderr == ("atoll serve: The following argument was not expected: --htp-port=1, did you mean "
                              "'--http-port'? (see atoll serve --help)\n")


def test_the_numbers_of_the_demonstration_can_be_made_again(tmp_path):
    """Another machine may round otherwise, so not the numbers are compared but all around them."""
    def without_numbers(path):
        return re.sub(r"-?\d[\d.e-]*", "N", re.sub(r",\s+", ", ", path.read_text()))
    root = pathlib.Path(__file__).parents[2]
    done = subprocess.run([sys.executable, root / "etc/models/make_demo_digits.py", "--output", tmp_path / "digits.inc"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert without_numbers(tmp_path / "digits.inc") == without_numbers(root / "etc/programs/atoll-serve/demo_digits.inc")
