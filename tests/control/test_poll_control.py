"""control/poll: the repository is followed, what is half done is waited for, and what fails harms nobody."""

import concurrent.futures
import os
import shutil
import signal
import time

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.control import PROTOCOLS, Control, await_execution, waiting_requests
from support.python_models import INTERPRETER
from support.python_models import write as write_python_model
from support.server import DEFAULT_MANIFEST, Server

POLL = ('plugin.control.use="control/poll"', 'plugin.control.interval="100ms"', 'plugin.control.settle_time="100ms"')
ALL_VERSIONS = 'backend: "onnxruntime" version_policy { all {} }\n'
WAIT_S = 60


def write_add(repository, name, constant, version=1, config=None):
    """Written beside the repository and renamed into it, as operators should."""
    beside = repository.parent / f"beside-{name}"
    folder = models.write_model(beside, name, config, version=version, files={"model.onnx": models.onnx_add(constant)})
    if (repository / name).exists():
        shutil.rmtree(repository / name / str(version), ignore_errors=True)
        (folder / str(version)).rename(repository / name / str(version))
        if config is not None:
            (folder / "config.pbtxt").rename(repository / name / "config.pbtxt")
    else:
        folder.rename(repository / name)
    shutil.rmtree(beside)


def until(condition, what="it"):
    """Tries until there is an answer; what a client is refused meanwhile is none."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            if condition():
                return
        except Exception as error:
            last = str(error)
        else:
            last = "no"
        assert time.monotonic() < deadline, f"{what}: {last}"
        time.sleep(0.01)


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    write_add(folder, "first", 1)
    return folder


@pytest.fixture
def server(repository):
    with Server(repository, *POLL) as running:
        yield running.wait_ready()


@pytest.fixture
def control(server):
    with Control(server, "grpc") as control:
        yield control


def test_models_come_change_and_go(repository, control):
    assert control.infer("first", 0) == ("1", 1)
    write_add(repository, "second", 2)
    until(lambda: control.infer("second", 0) == ("1", 2))
    write_add(repository, "second", 3)
    until(lambda: control.infer("second", 0) == ("1", 3))
    (repository / "second").rename(repository.parent / "away")
    until(lambda: "second" not in control.index())
    assert control.refusal(control.infer, "second") == (
        "NOT_FOUND", "Request for unknown model: 'second' has no available versions")
    (repository.parent / "away").rename(repository / "second")
    until(lambda: control.infer("second", 0) == ("1", 3))
    assert control.infer("first", 0) == ("1", 1)
    assert control.client.is_server_ready()


def test_versions_come_and_go_and_the_others_are_left_alone(repository, server, control):
    write_add(repository, "m", 1, version=1, config=ALL_VERSIONS)
    write_add(repository, "m", 2, version=2)
    until(lambda: control.infer("m", 0) == ("2", 2))
    write_add(repository, "m", 3, version=3)
    until(lambda: control.infer("m", 0) == ("3", 3))
    shutil.rmtree(repository / "m" / "2")
    until(lambda: control.index()["m"]["2"] == ("UNAVAILABLE", "unloaded"))
    assert control.refusal(control.infer, "m", version="2") == (
        "UNAVAILABLE", "Request for unknown model: 'm' version 2 is not at ready state")
    assert control.infer("m", 0, version="1") == ("1", 1)
    shutil.rmtree(repository / "m" / "3")
    until(lambda: control.infer("m", 0) == ("1", 1))
    assert len([line for line in server.lines if "successfully loaded 'm' version 1" in line]) == 1


def test_the_version_policy_decides_which_is_served(repository, control):
    write_add(repository, "m", 1, version=1, config='version_policy { specific { versions: [ 1 ] } }\n')
    write_add(repository, "m", 2, version=2)
    until(lambda: control.infer("m", 0) == ("1", 1))
    (repository / "m" / "config.pbtxt").write_text("version_policy { specific { versions: [ 2 ] } }\n")
    until(lambda: control.infer("m", 0) == ("2", 2))


def test_labels_are_loaded_again(repository, server):
    config = models.tensor_config("input", "INPUT0", "TYPE_FP32", [4]) + models.tensor_config(
        "output", "OUTPUT0", "TYPE_FP32", [4], 'label_filename: "labels.txt"')
    folder = models.write_model(repository.parent / "beside", "m", 'backend: "onnxruntime"\n' + config,
                                files={"model.onnx": models.onnx_add(0)})
    (folder / "labels.txt").write_text("a\nb\nc\nd\n")
    folder.rename(repository / "m")

    def label():
        with server.client() as client:
            tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
            tensor.set_data_from_numpy(np.array([0, 9, 1, 2], np.float32))
            output = grpcclient.InferRequestedOutput("OUTPUT0", class_count=1)
            return client.infer("m", [tensor], outputs=[output]).as_numpy("OUTPUT0")[0].decode().split(":")[2]

    until(lambda: label() == "b")
    (repository / "m" / "labels.txt").write_text("a\nbee\nc\nd\n")
    until(lambda: label() == "bee")


def test_what_is_still_being_copied_is_waited_for(repository):
    content = models.onnx_add(5)
    slow = [*POLL[:2], 'plugin.control.settle_time="3s"']
    with Server(repository, *slow) as server, Control(server, "grpc") as control:
        server.wait_ready()
        folder = repository / "m" / "1"
        folder.mkdir(parents=True)
        with open(folder / "model.onnx", "wb") as file:
            for i in range(60):
                file.write(content[i * len(content) // 60:(i + 1) * len(content) // 60])
                file.flush()
                time.sleep(0.05)
                assert control.index().get("m") in (None, {"": ("", "")}), f"at piece {i}"
        until(lambda: control.infer("m", 0) == ("1", 5))
        assert "failed to load 'm'" not in server.log


def test_a_model_that_is_exchanged_serves_on(repository, server, control):
    """Two renames, with nothing in its place in between."""
    new = models.write_model(repository.parent / "beside", "first", files={"model.onnx": models.onnx_add(7)})
    (repository / "first").rename(repository.parent / "old")
    assert control.infer("first", 0) == ("1", 1)
    new.rename(repository / "first")
    answers = set()
    until(lambda: answers.add(control.infer("first", 0)) or ("1", 7) in answers)
    assert answers <= {("1", 1), ("1", 7)}
    assert "gone from the repository" not in server.log


def test_requests_in_flight_end_although_the_model_is_gone(repository, server, control):
    slow = models.identity_config(
        "slow", dims=(4,), extra='parameters { key: "execute_delay_ms" value { string_value: "1500" } }\n'
                                 'instance_group [ { count: 1 kind: KIND_CPU } ]')
    models.write_model(repository.parent / "beside", "slow", slow).rename(repository / "slow")
    until(lambda: control.index()["slow"]["1"][0] == "READY")
    with concurrent.futures.ThreadPoolExecutor(2) as pool, Control(server, "http") as one, Control(server, "grpc") as two:
        running = [pool.submit(two.infer, "slow", 5)]
        await_execution(server, two.client, "slow")
        running.append(pool.submit(one.infer, "slow", 5))
        until(lambda: waiting_requests(server, "slow") == 1)
        shutil.rmtree(repository / "slow")
        until(lambda: control.index()["slow"]["1"][0] == "UNLOADING")
        assert control.refusal(control.infer, "slow")[0] == "NOT_FOUND"
        assert not any(run.done() for run in running)
        assert [run.result() for run in running] == [("1", 5), ("1", 5)]
        until(lambda: "slow" not in control.index())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_clients_may_not_load_or_unload(server, protocol):
    with Control(server, protocol) as control:
        for call in (control.load, control.unload):
            assert control.refusal(call, "first") == (
                "UNAVAILABLE", "explicit model load / unload is not allowed if polling is enabled")
        assert control.infer("first", 0) == ("1", 1)


def test_a_failed_change_leaves_what_served_and_is_tried_again(repository, server, control):
    (repository / "first" / "config.pbtxt").write_text("max_batchsize: 8\n")
    server.wait_for_line("failed to load 'first': .*max_batchsize.*what was loaded before keeps serving")
    assert control.infer("first", 0) == ("1", 1)
    state, reason = control.index()["first"]["1"]
    assert state == "READY" and control.client.is_server_ready()
    assert reason.startswith("serves what was loaded before the last load failed: Invalid argument: ") and "max_batchsize" in reason
    (repository / "first" / "config.pbtxt").unlink()
    (repository / "first" / "1" / "model.onnx").write_bytes(b"no model")
    server.wait_for_line("failed to load 'first' version 1: .*what was loaded before keeps serving")
    assert control.infer("first", 0) == ("1", 1)
    models.write_model(repository.parent / "beside", "bad", "max_batchsize: 8\n").rename(repository / "bad")
    until(lambda: "max_batchsize" in control.index()["bad"][""][1])
    write_add(repository, "first", 9)
    until(lambda: control.infer("first", 0) == ("1", 9))
    assert control.index()["first"] == {"1": ("READY", "")}
    assert server.log.count("failed to load 'first' version 1") == 1, "repeated failures are logged once"


def damage(repository):
    """Each breaks the repository in its way and returns what mends it."""
    model, file = repository / "first", repository / "first" / "1" / "model.onnx"
    content = file.read_bytes()
    away = repository.parent / "away"

    def fifo():
        os.mkfifo(model / "1" / "pipe")
        return (model / "1" / "pipe").unlink

    def loop():
        (model / "loop").symlink_to("loop2")
        (model / "loop2").symlink_to("loop")
        return lambda: [(model / name).unlink() for name in ("loop", "loop2")]

    def outside():
        (model / "1" / "secret").symlink_to("/etc/passwd")
        return (model / "1" / "secret").unlink

    def garbage():
        file.write_bytes(os.urandom(len(content)))
        return lambda: file.write_bytes(content)

    def truncated():
        file.write_bytes(b"")
        return lambda: file.write_bytes(content)

    def no_file():
        file.unlink()
        return lambda: file.write_bytes(content)

    def no_version():
        (model / "1").rename(away)
        return lambda: away.rename(model / "1")

    def config_is_a_directory():
        (model / "config.pbtxt").mkdir()
        return (model / "config.pbtxt").rmdir

    def deep():
        (model / "/".join("d" * 40)).mkdir(parents=True)
        return lambda: shutil.rmtree(model / "d")

    def no_repository():
        repository.rename(away)
        return lambda: away.rename(repository)

    def repository_is_a_file():
        repository.rename(away)
        repository.write_text("no directory")
        return lambda: (repository.unlink(), away.rename(repository))

    return [fifo, loop, outside, garbage, truncated, no_file, no_version, config_is_a_directory, deep, no_repository,
            repository_is_a_file]


def test_a_corrupted_repository_takes_nothing_down(repository, server, control):
    for number, breaks in enumerate(damage(repository)):
        mend = breaks()
        # A model that appears with each damage, where it can, tells that it was looked at.
        seen = time.monotonic() + 0.6
        while time.monotonic() < seen:
            assert control.infer("first", 0) == ("1", 1), breaks.__name__
        mend()
        write_add(repository, f"after{number}", number)
        until(lambda: control.infer(f"after{number}", 0) == ("1", number), breaks.__name__)
        assert control.infer("first", 0) == ("1", 1), breaks.__name__
    assert control.client.is_server_live()


def test_a_second_repository_with_the_same_name(tmp_path, repository):
    second = tmp_path / "second"
    second.mkdir()
    with Server([repository, second], *POLL) as server, Control(server, "grpc") as control:
        server.wait_ready()
        write_add(second, "first", 50)
        server.wait_for_line("failed to poll model 'first': not unique across all model repositories")
        assert control.infer("first", 0) == ("1", 1)
        assert control.index()["first"] == {
            "": ("UNAVAILABLE", "model appears in two or more repositories"), "1": ("READY", "")}
        shutil.rmtree(repository / "first")
        until(lambda: control.infer("first", 0) == ("1", 50))


def test_an_edited_manifest_begins_to_poll(repository, tmp_path):
    manifest = tmp_path / "atoll.toml"
    text = DEFAULT_MANIFEST.read_text()
    manifest.write_text(text)
    with Server(repository, manifest=manifest) as server, Control(server, "grpc") as control:
        server.wait_ready()
        control.infer("first")
        manifest.write_text(text.replace('use = "control/none"', 'use = "control/poll"\ninterval = "100ms"\nsettle_time = "0s"'))
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_line("reloaded: generation")
        write_add(repository, "second", 2)
        until(lambda: control.infer("second", 0) == ("1", 2))
        assert len([line for line in server.lines if "successfully loaded 'first' version 1" in line]) == 1
        manifest.write_text(text)
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_line("reloaded: generation")
        assert control.infer("second", 0) == ("1", 2)


def test_without_an_interval_nothing_is_followed(repository):
    with Server(repository, POLL[0], 'plugin.control.interval="0s"') as server, Control(server, "grpc") as control:
        server.wait_ready()
        write_add(repository, "second", 2)
        assert control.infer("first", 0) == ("1", 1)
        assert control.index()["second"] == {"": ("", "")}


def test_a_failure_that_repeats_is_logged_once_whatever_process_it_was(tmp_path):
    repository = tmp_path / "models"
    repository.mkdir()
    write_python_model(repository, "dies", "def initialize(self, args): os._exit(3)")
    with Server(repository, *POLL, INTERPRETER, 'log.level="debug"') as server:
        def attempts(level):
            return [line for line in server.log.splitlines() if f" {level} " in line and "failed to load 'dies' version 1" in line]
        until(lambda: len(attempts("DEBUG")) >= 3, "three further attempts")
        assert len(attempts("ERROR")) == 1
        assert len({line.split("(process ")[1] for line in attempts("DEBUG")}) > 1, "each had a worker of its own"
