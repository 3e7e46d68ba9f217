"""atoll-config import: what it writes passes both checks, and says what it leaves out; what is broken leaves nothing."""

import json
import os
import pathlib
import subprocess
import tomllib

import pytest
from support import models
from support.server import ATOLL, BUILD

TOOL = BUILD / "bin" / "atoll-config"
PLUGINS = BUILD / "lib" / "atoll" / "plugins"


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60)


def left_out(imported, *, plugins=False):
    """What was not carried over; plugins that this tree has not built only if asked."""
    lines = [line.removeprefix("not carried over: ") for line in imported.stdout.splitlines()]
    return [line for line in lines if plugins or "this installation does not have it" not in line]


def check(out):
    """Both checks pass on what was written."""
    checked = run(ATOLL, "--manifest", out / "atoll.toml", "--check")
    assert checked.returncode == 0, checked.stderr
    manifest = tomllib.loads((out / "atoll.toml").read_text())
    repository = next(table for table in manifest["plugin"].values() if table.get("use") == "repositories/filesystem")
    linked = [word for path in repository.get("linked_paths", []) for word in ("--linked-path", path)]
    checked = run(TOOL, "check", *linked, out / "models")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def setting(out, text):
    return text in (out / "atoll.toml").read_text()


@pytest.fixture
def saved_models(tmp_path):
    """Two models of TensorFlow Serving: versions 1 and 20 of the first."""
    for folder in ("half/1", "half/00000020", "text/3"):
        version = tmp_path / "tf" / folder
        (version / "variables").mkdir(parents=True)
        (version / "saved_model.pb").write_bytes(b"graph")
        (version / "variables" / "variables.index").write_bytes(b"index")
    (tmp_path / "tf" / "half" / "notes").mkdir()
    return tmp_path / "tf"


SERVING = """
model_config_list {
  config {
    name: "half" base_path: "%(base)s/half" model_platform: "tensorflow"
    model_version_policy { specific { versions: 1 versions: 20 versions: 99 } }
    version_labels { key: "stable" value: 1 }
    version_labels { key: "canary" value: 20 }
    version_labels { key: "2nd" value: 20 }
    version_labels { key: "gone" value: 7 }
    logging_config { sampling_config { sampling_rate: 0.1 } }
  }
  config: { name: 'text', base_path: "text" version_labels { key: "old" value: 2 } }
}
"""


@pytest.mark.parametrize("link", [False, True])
def test_models_of_tensorflow_serving(tmp_path, saved_models, link):
    config, out = saved_models / "models.config", tmp_path / "out"
    config.write_text(SERVING % {"base": saved_models})
    imported = run(TOOL, "import", "tfserving", config, out, *["--link"] * link)
    assert imported.returncode == 0, imported.stderr
    told = left_out(imported)
    assert [line.split(": ")[:2] for line in told[:2]] == [["line 10", "logging_config"], ["half", "model_version_policy"]]
    assert told[2].startswith("half: version_labels: '2nd': labels begin with a letter")
    assert told[3:5] == ["half: version_labels: 'gone': version 7 is not served",
                         "text: version_labels: 'old': version 2 is not served"]
    assert len(told) == (6 if link else 5), told
    half = out / "models" / "half"
    assert (half / "config.pbtxt").read_text() == ('platform: "tensorflow_savedmodel"\n'
                                                   'version_policy { specific { versions: [ 1, 20 ] } }\n')
    for version in ("1", "20"):
        graph = half / version / "model.savedmodel"
        assert graph.is_symlink() == link
        assert (graph / "saved_model.pb").read_bytes() == b"graph"
        assert (graph / "variables" / "variables.index").read_bytes() == b"index"
    assert "latest { num_versions: 1 }" in (out / "models" / "text" / "config.pbtxt").read_text()
    assert setting(out, 'labels = { "half.canary" = 20, "half.stable" = 1 }')
    assert setting(out, 'interval = "1s"') and setting(out, "127.0.0.1:8501") and setting(out, "127.0.0.1:8500")
    assert setting(out, 'use = "frontends/metrics"\naddress = "127.0.0.1:8002"')
    assert setting(out, "linked_paths") == link
    check(out)
    assert os.listdir(tmp_path) == ["tf", "out"] or sorted(os.listdir(tmp_path)) == ["out", "tf"], "no parts stay"


OVMS = {
    "model_config_list": [
        {"config": {"name": "net", "base_path": "net", "nireq": 3, "batch_size": "4", "target_device": "CPU",
                    "plugin_config": {"NUM_STREAMS": "2", "CACHE_DIR": "/tmp/x"}, "shape": {"in": "(1,3)"},
                    "layout": "NHWC:NCHW", "stateful": True, "model_version_policy": {"all": {}}}},
        {"config": {"name": "onnx", "base_path": "onnx", "target_device": "AUTO:GPU,CPU", "batch_size": "auto"}},
    ],
    "pipeline_config_list": [{"name": "p"}],
    "mediapipe_config_list": [],
}


@pytest.fixture
def ovms(tmp_path):
    folder = tmp_path / "ovms"
    for version in ("1", "2"):
        (folder / "net" / version).mkdir(parents=True)
        for name in ("face.xml", "face.bin", "labels.txt"):
            (folder / "net" / version / name).write_text(name + version)
    (folder / "onnx").mkdir()
    (folder / "onnx" / "any.onnx").write_bytes(models.onnx_add(1))
    return folder


@pytest.mark.parametrize("link", [False, True])
def test_models_of_openvino_model_server(tmp_path, ovms, link):
    config, out = ovms / "config.json", tmp_path / "out"
    config.write_text(json.dumps(OVMS))
    imported = run(TOOL, "import", "ovms", config, out, "--rest-port", "9000", "--poll", "0", *["--link"] * link)
    assert imported.returncode == 0, imported.stderr
    assert {tuple(line.split(": ")[:2]) for line in left_out(imported)[:6]} == {
        ("net", "layout"), ("net", "plugin_config"), ("net", "shape"), ("net", "stateful"), ("onnx", "batch_size"),
        ("pipeline_config_list", "pipelines have to be written anew, as ensembles")}
    assert sorted(os.listdir(out / "models" / "net" / "2")) == ["labels.txt", "model.bin", "model.xml"]
    weights = out / "models" / "net" / "2" / "model.bin"
    assert weights.read_text() == "face.bin2" and weights.is_symlink() == link
    text = (out / "models" / "net" / "config.pbtxt").read_text()
    for part in ('backend: "openvino"', 'default_model_filename: "model.xml"', "max_batch_size: 4", "count: 3",
                 'key: "NUM_STREAMS" value { string_value: "2" }', "version_policy { all { } }"):
        assert part in text, text
    assert 'key: "TARGET_DEVICE" value { string_value: "AUTO:GPU,CPU" }' in (out / "models/onnx/config.pbtxt").read_text()
    assert setting(out, "127.0.0.1:9000") and setting(out, "control/none")
    check(out)


@pytest.mark.parametrize("given, batch, told", [
    ("auto", None, "of any batch size are served as they are"), (-1, None, "of any batch size are served as they are"),
    (8, 8, None), ("8", 8, None), ("2:8", 8, "smaller batches than the range's lowest are served, too")])
def test_batch_sizes_of_openvino_model_server(tmp_path, ovms, given, batch, told):
    config, out = ovms / "config.json", tmp_path / "out"
    config.write_text(json.dumps(one(batch_size=given)))
    imported = run(TOOL, "import", "ovms", config, out)
    assert imported.returncode == 0, imported.stderr
    assert (told is None) == ("batch_size" not in imported.stdout) and (told or "") in imported.stdout
    text = (out / "models" / "m" / "config.pbtxt").read_text()
    assert (f"max_batch_size: {batch}\n" in text) if batch else ("max_batch_size" not in text)
    check(out)


BROKEN_SERVING = {
    "no text protobuf": ("model_config_list {", ":1:20: "),
    "no model": ("", "it has no model"),
    "a value of another type": ('model_config_list { config { name: 5 base_path: "half" } }', ":1:"),
    "no path": ('model_config_list { config { name: "m" } }', "model 'm': base_path is missing"),
    "no such path": ('model_config_list { config { name: "m" base_path: "none" } }', "model 'm': base_path 'none'"),
    "a store": ('model_config_list { config { name: "m" base_path: "s3://x/y" } }', "is not a folder of this machine"),
    "another platform": ('model_config_list { config { name: "m" base_path: "half" model_platform: "caffe" } }',
                         "expected 'tensorflow'"),
    "a name that climbs": ('model_config_list { config { name: "../m" base_path: "half" } }', "a folder cannot have this name"),
    "twice": ('model_config_list { config { name: "m" base_path: "half" } config { name: "m" base_path: "half" } }',
              "model 'm' is there twice"),
    "no version": ('model_config_list { config { name: "m" base_path: "half/notes" } }', "has no version"),
    "none of the versions": ('model_config_list { config { name: "m" base_path: "half" '
                             'model_version_policy { specific { versions: 7 } } } }', "none of the versions"),
    "no model in a version": ('model_config_list { config { name: "m" base_path: "odd" } }', "has no saved_model.pb"),
    "too deep": ("a { " * 100_000, ":1:"),
}


@pytest.mark.parametrize("name", BROKEN_SERVING)
def test_a_broken_models_config_leaves_nothing(tmp_path, saved_models, name):
    text, expected = BROKEN_SERVING[name]
    (saved_models / "odd" / "1").mkdir(parents=True)
    config = saved_models / "models.config"
    config.write_text(text)
    imported = run(TOOL, "import", "tfserving", config, tmp_path / "out")
    assert imported.returncode in (1, 2) and expected in imported.stderr, imported.stderr
    assert os.listdir(tmp_path) == ["tf"] and imported.stdout == ""


def one(**fields):
    return {"model_config_list": [{"config": {"name": "m", "base_path": "onnx", **fields}}]}


BROKEN_OVMS = {
    "no JSON": ("{", "no valid JSON, from byte"),
    "no models": ("{}", "it has no model"),
    "deep": ("[" * 1_000_000, "no valid JSON"),
    "no name": (json.dumps({"model_config_list": [{"config": {}}]}), 'expected {"config"'),
    "two formats": (json.dumps(one(base_path="two")), "has both"),
    "other formats": (json.dumps(one(base_path="mixed")), "has another format than the other versions"),
    "nothing there": (json.dumps(one(base_path="empty")), "has no model"),
    "a policy": (json.dumps(one(model_version_policy={"latest": {"num_versions": -1}})), "model_version_policy is"),
    "a plugin_config": (json.dumps(one(plugin_config="x")), "plugin_config is"),
    "a count in words": (json.dumps(one(nireq="two")), 'model \'m\': nireq is "two", expected a number from 0 to 1024'),
    "a count below 0": (json.dumps(one(nireq=-1)), "nireq is -1"),
    "too many": (json.dumps(one(nireq=1025)), "nireq is 1025"),
    "half a request": (json.dumps(one(nireq=1.5)), "nireq is 1.5"),
    "a batch size": (json.dumps(one(batch_size="big")), 'batch_size is "big", expected a number, -1, "auto"'),
    "a batch size below -1": (json.dumps(one(batch_size=-2)), "batch_size is -2"),
    "a range that falls": (json.dumps(one(batch_size="8:2")), 'batch_size is "8:2"'),
    "half a range": (json.dumps(one(batch_size=":2")), 'batch_size is ":2"'),
}


@pytest.mark.parametrize("name", BROKEN_OVMS)
def test_a_broken_config_json_leaves_nothing(tmp_path, ovms, name):
    text, expected = BROKEN_OVMS[name]
    for path in ("two/1/a.onnx", "two/1/b.tflite", "mixed/1/a.onnx", "mixed/2/a.tflite", "empty/1/readme"):
        (ovms / path).parent.mkdir(parents=True, exist_ok=True)
        (ovms / path).write_bytes(b"")
    config = ovms / "config.json"
    config.write_text(text)
    imported = run(TOOL, "import", "ovms", config, tmp_path / "out")
    assert imported.returncode in (1, 2) and expected in imported.stderr, imported.stderr
    assert os.listdir(tmp_path) == ["ovms"] and imported.stdout == ""


def test_what_is_there_stays(tmp_path, saved_models):
    config = saved_models / "models.config"
    config.write_text(SERVING % {"base": saved_models})
    (tmp_path / "out").mkdir()
    imported = run(TOOL, "import", "tfserving", config, tmp_path / "out")
    assert imported.returncode == 1 and "is there already" in imported.stderr
    assert os.listdir(tmp_path / "out") == []


def test_files_that_cannot_be_read_leave_nothing(tmp_path, saved_models):
    config = saved_models / "models.config"
    config.write_text('model_config_list { config { name: "m" base_path: "half" } }')
    (saved_models / "half" / "1" / "loose").symlink_to(pathlib.Path("nowhere"))
    imported = run(TOOL, "import", "tfserving", config, tmp_path / "out")
    assert imported.returncode == 2 and "it cannot be copied" in imported.stderr
    assert os.listdir(tmp_path) == ["tf"]
