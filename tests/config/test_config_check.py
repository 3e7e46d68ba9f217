"""atoll-config check: what it says of a repository, and that the server says the same."""

import json
import os
import subprocess

import numpy as np
import pytest
import tritonclient.http as httpclient
from support import models
from support.server import BUILD, Server

TOOL = BUILD / "bin" / "atoll-config"


def check(*arguments):
    return subprocess.run([TOOL, "check", *arguments], capture_output=True, text=True, timeout=60)


# Each broken model: its configuration, and the problem as it is told behind the path.
BROKEN = {
    "misspelt": ('backend: "identity"\nmax_batchsize: 8\n',
                 ":2:1: max_batchsize: unknown field 'max_batchsize' in ModelConfig, did you mean 'max_batch_size'?"),
    "syntax": ('backend: "identity"\ninput [\n  { name: "a" }}\n', ":3:16: input: Expected \",\", found \"}\"."),
    "enum": ('backend: "identity" input { name: "i" data_type: FP32 dims: 1 }\n',
             ":1:50: input[0].data_type: unknown value 'FP32' of DataType, did you mean 'TYPE_FP32'?"),
    "batch": (models.identity_config("batch", max_batch_size=2) + "dynamic_batching {\n  preferred_batch_size: [ 1, 4 ] }",
              ":5:3: dynamic_batching.preferred_batch_size[1]: dynamic batching preferred size must be <= max batch "
              "size for batch"),
    "other_name": (models.identity_config("name"),
                   ":1:1: name: unexpected directory name 'other_name' for model 'name', directory name must equal "
                   "model name"),
    "no_dims": ('backend: "identity"\ninput { name: "i" data_type: TYPE_FP32 }\n',
                ":2:1: input[0]: model input 'i' must specify 'dims' for no_dims"),
    "no_version": (models.identity_config("no_version") + "version_policy { specific { versions: 7 } }",
                   ":4:1: version_policy: at least one version must be available under the version policy of model "
                   "'no_version'"),
    "labels": (models.identity_config("labels").replace("OUTPUT0\"", "OUTPUT0\" label_filename: \"../labels.txt\""),
               ":3:28: output[0].label_filename: label file path '{path}/../labels.txt' for output 'OUTPUT0' in model "
               "'labels' is outside model directory"),
    "groups": (models.identity_config("groups") + "instance_group { kind: KIND_CPU gpus: 0 }",
               ":4:1: instance_group[0]: instance group groups_0 of model groups has kind KIND_CPU but specifies one or "
               "more GPUs"),
}


@pytest.fixture
def repository(tmp_path):
    """Models that are good, of which the server serves each, and models that are broken."""
    folder = tmp_path / "models"
    models.write_model(folder, "echo", models.identity_config("echo"))
    models.write_model(folder, "bare", files={"model.onnx": models.onnx_add_sub()})
    models.write_model(folder, "dynamic", models.identity_config("dynamic", max_batch_size=4, extra="dynamic_batching { }"))
    for name, (config, _) in BROKEN.items():
        models.write_model(folder, name, config)
    return folder


def test_every_problem_of_a_repository_is_told(repository):
    checked = check(repository)
    assert checked.returncode == 1, checked.stderr
    told = checked.stdout.splitlines()
    for name, (_, problem) in BROKEN.items():
        path = f"{repository}/{name}"
        assert path + "/config.pbtxt" + problem.replace("{path}", path) in told, name
    assert [line.rpartition("/")[2] for line in told if ": warning: " in line] == [
        "config.pbtxt:4:1: warning: version_policy: version 7 is specified for model 'no_version', but the version directory "
        "is not present"]
    assert [line for line in told if line.startswith(f"{repository}/bare")] == [
        f"{repository}/bare: note: backend 'onnxruntime' may complete max_batch_size, input, output and the scheduler from "
        "the model's files; it is not asked here"]
    assert not [line for line in told if "/echo" in line or "/dynamic" in line]
    assert checked.stderr == f"models: {len(BROKEN) + 3}, errors: {len(BROKEN)}, warnings: 1\n"


def test_the_server_says_the_same(repository):
    report = json.loads(check("--json", repository).stdout)
    told = {model["name"]: [problem["message"] for problem in model["problems"] if problem["severity"] == "error"]
            for model in report["models"]}
    with Server(repository) as server:
        server.newest_line(r"start-up: ")
        with server.http_client() as client:
            index = {entry["name"]: entry for entry in client.get_model_repository_index()}
            assert index.keys() == told.keys()
            for name, entry in index.items():
                assert (entry["state"] == "READY") == (told[name] == []), entry
                assert not told[name] or any(message in entry["reason"] for message in told[name]), entry
            values = np.ones(2, np.float32)
            tensor = httpclient.InferInput("INPUT0", [2], "FP32")
            tensor.set_data_from_numpy(values)
            assert client.infer("echo", [tensor]).as_numpy("OUTPUT0").tolist() == [1.0, 1.0]


def test_agents_are_the_manifests_business(tmp_path):
    """The tool does not know whether the server has them."""
    folder = tmp_path / "models"
    models.write_model(folder, "agent", models.identity_config("agent") +
                       'model_repository_agents { agents { name: "checksum" } }')
    checked = check(folder)
    assert checked.returncode == 0 and checked.stderr == "models: 1, errors: 0, warnings: 1\n"
    assert checked.stdout == (
        f"{folder}/agent/config.pbtxt:4:27: warning: model_repository_agents.agents[0]: repository agent 'checksum' is run only "
        "where the server has agents/triton; without it the model is refused\n")
    with Server(folder) as server:
        server.newest_line("model 'agent' asks for repository agent 'checksum'; repository agents are not served")


def test_json_names_the_places(repository):
    checked = check("--json", "--print", repository)
    assert checked.returncode == 1 and checked.stderr == ""
    report = json.loads(checked.stdout)
    by_name = {model["name"]: model for model in report["models"]}
    assert by_name["misspelt"]["problems"][0] == {
        "severity": "error", "file": f"{repository}/misspelt/config.pbtxt", "line": 2, "column": 1,
        "field": "max_batchsize",
        "message": "unknown field 'max_batchsize' in ModelConfig, did you mean 'max_batch_size'?"}
    assert report["errors"] == sum(p["severity"] == "error" for m in report["models"] for p in m["problems"])
    assert by_name["bare"]["config"]["backend"] == "onnxruntime" and by_name["bare"]["config_path"] == ""
    assert by_name["dynamic"]["config"]["dynamic_batching"]["preferred_batch_size"] == [4]
    assert "config" not in by_name["misspelt"]


def test_one_model_and_its_resulting_configuration(repository):
    for path in (repository / "dynamic", repository / "dynamic/config.pbtxt"):
        checked = check("--print", path)
        assert checked.returncode == 0 and checked.stderr == "models: 1, errors: 0, warnings: 0\n"
        assert checked.stdout.startswith(f"# {repository}/dynamic\n")
        assert "preferred_batch_size: 4\n" in checked.stdout and "num_versions: 1\n" in checked.stdout
    # What is printed is a configuration again.
    models.write_model(repository, "dynamic", check("--print", repository / "dynamic").stdout)
    assert check(repository / "dynamic").returncode == 0
    assert check(repository / "dynamic", repository / "syntax").returncode == 1


def test_complete_configurations_on_demand(repository):
    assert check(repository / "bare").returncode == 0
    checked = check("--strict", repository / "bare")
    assert checked.returncode == 1
    assert checked.stdout == f"{repository}/bare: model configuration is not provided for model 'bare'\n"
    (repository / "echo/configs").mkdir()
    (repository / "echo/configs/wrong.pbtxt").write_text("nme: 1")
    assert check("--config-name", "wrong", repository / "echo").returncode == 1
    assert check(repository / "echo").returncode == 0


@pytest.mark.parametrize("arguments, complaint", [
    (["/no/such"], "atoll-config: /no/such: No such file or directory\n"),
    ([os.devnull], f"atoll-config: {os.devnull}: expected a model repository, a model's directory or its configuration\n"),
    ([], "atoll-config: PATH is required (see atoll-config --help)\n"),
    (["--colour", "/tmp"], "atoll-config: The following argument was not expected: --colour (see atoll-config --help)\n"),
    (["--jsn", "/tmp"], "atoll-config: The following argument was not expected: --jsn, did you mean '--json'? (see atoll-config --help)\n")])
def test_what_can_not_be_read_is_exit_code_2(arguments, complaint):
    checked = check(*arguments)
    assert checked.returncode == 2
    assert complaint in checked.stderr


@pytest.mark.parametrize("arguments, complaint", [
    (["chek", "/tmp"], "there is no command 'chek' of atoll-config, did you mean 'check'?; there are check, import"),
    ([], "atoll-config: a command is missing, one of check, import"),
    (["import"], "atoll-config import: a command is missing, one of tfserving, ovms"),
    (["import", "ovm", "x"], "there is no command 'ovm' of atoll-config import, did you mean 'ovms'?; there are tfserving, ovms")])
def test_a_command_that_there_is_not(arguments, complaint):
    done = subprocess.run([TOOL, *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"atoll-config: {complaint} (see atoll-config --help)\n")


def test_a_path_that_can_not_be_read_does_not_hide_the_others(repository):
    checked = check("/no/such", repository / "misspelt")
    assert checked.returncode == 2 and "did you mean 'max_batch_size'?" in checked.stdout
