"""Repository agents made for Triton check and prepare models before the server reads them."""

import json
import pathlib
import re
import shutil

import numpy as np
import pytest
from support.control import EXPLICIT, PROTOCOLS, Control
from support.models import identity_config, let_settle, onnx_add, write_model
from support.server import BUILD, DEFAULT_MANIFEST, SANITIZED, Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

EXAMPLES = BUILD / "lib" / "atoll" / "triton_agents"
# An agent that logs what it is called for, and does what its parameters say (plugins/agents/triton/testing/scripted.cc).
SCRIPTED = BUILD / "plugins" / "agents" / "triton" / "fixtures"
KEY = b"a secret"


def agents(*listed):
    """(name, parameters) of each."""
    text = "model_repository_agents {\n"
    for name, parameters in listed:
        pairs = "".join(f' parameters {{ key: "{key}" value: "{value}" }}' for key, value in parameters.items())
        text += f'  agents {{ name: "{name}"{pairs} }}\n'
    return text + "}\n"


def scripted(tag, **parameters):
    return "scripted", {"tag": tag} | parameters


def serving(tmp_path, directories=(SCRIPTED, EXAMPLES), **options):
    """A server that loads what it is told to."""
    path = tmp_path / "atoll.toml"
    text = DEFAULT_MANIFEST.read_text()
    if directories is not None:
        text += '\n[plugin.agents]\nuse = "agents/triton"\n'
        text += f"directories = {json.dumps([str(directory) for directory in directories])}\n"
        text += "".join(f'{name} = "{value}"\n' for name, value in options.items())
    path.write_text(text)
    return Server(tmp_path / "models", EXPLICIT, manifest=path)


def told(server):
    """What scripted agents were called for, without the folders."""
    lines = [re.search(r"scripted\.cc:\d+: (.*)", line) for line in server.lines]
    return [re.sub(r" /.*", "", line.group(1)) for line in lines if line]


def expect_told(server, *expected):
    """Since the start of the server."""
    eventually(lambda: len(told(server)) >= len(expected))
    assert told(server) == list(expected)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_agents_are_told_in_their_order_and_lead_elsewhere(tmp_path, protocol):
    there = write_model(tmp_path, "there", identity_config("m", dims=(4,)) + agents(scripted("ignored")))
    write_model(tmp_path / "models", "m", agents(scripted("a", update=there), scripted("b")))
    with serving(tmp_path) as server, Control(server, protocol) as control:
        control.load("m")
        assert control.infer("m", 3.0) == ("1", 3.0)
        loaded = ["initialize", "a LOAD", "b LOAD", "a LOAD_COMPLETE", "b LOAD_COMPLETE"]
        expect_told(server, *loaded)
        server.wait_logged(f"b LOAD {there}")
        control.load("m")
        control.unload("m")
        expect_told(server, *loaded, "a UNLOAD", "b UNLOAD", "a UNLOAD_COMPLETE", "a finalize", "b UNLOAD_COMPLETE", "b finalize",
                    "finalize after 8")
        maps = pathlib.Path(f"/proc/{server.pid}/maps")
        eventually(lambda: SANITIZED or "libtritonrepoagent_scripted.so" not in maps.read_text())
        control.load("m")
        assert control.infer("m", 4.0) == ("1", 4.0)
    assert told(server)[-1] == "finalize after 8", "also when the server ends"


def test_a_failing_agent_is_the_reason_and_what_serves_goes_on(tmp_path):
    repository = tmp_path / "models"
    write_model(repository, "m", identity_config("m", dims=(4,)) + agents(scripted("a", fail="LOAD")))
    with serving(tmp_path) as server, Control(server, "grpc") as control:
        reason = "repository agent 'scripted': LOAD is to fail"
        assert reason in control.refusal(control.load, "m")[1]
        assert control.index()["m"] == {"": ("UNAVAILABLE", f"Invalid argument: {reason}")}
        expect_failed_loads(server, "a")

        write_model(repository, "m", identity_config("m", dims=(4,)) + agents(scripted("good")))
        control.load("m")
        write_model(repository, "m", identity_config("m", dims=(4,)) + agents(scripted("b", throw="LOAD")))
        assert "it threw an exception: LOAD is to throw" in control.refusal(control.load, "m")[1]
        assert control.infer("m", 5.0) == ("1", 5.0)
        server.wait_for_line("what was loaded before keeps serving")
        # A backend that fails is told to agents, too.
        write_model(repository, "m", 'backend: "nowhere"\n' + agents(scripted("c")))
        assert "unable to find backend library" in control.refusal(control.load, "m")[1]
        assert control.infer("m", 6.0) == ("1", 6.0)
        expect_failed_loads(server, "b")
        expect_failed_loads(server, "c")


def test_later_failures_are_logged(tmp_path):
    write_model(tmp_path / "models", "m", identity_config("m", dims=(4,)) + agents(scripted("a", fail="LOAD_COMPLETE", throw="UNLOAD")))
    with serving(tmp_path) as server, Control(server, "grpc") as control:
        control.load("m")
        server.wait_for_line("model 'm', repository agent 'scripted', TRITONREPOAGENT_ACTION_LOAD_COMPLETE: LOAD_COMPLETE is to fail")
        assert control.infer("m", 3.0) == ("1", 3.0)
        control.unload("m")
        server.wait_for_line("TRITONREPOAGENT_ACTION_UNLOAD: it threw an exception: UNLOAD is to throw")
        expect_told(server, "initialize", "a LOAD", "a LOAD_COMPLETE", "a UNLOAD", "a UNLOAD_COMPLETE", "a finalize",
                    "finalize after 4")


def expect_failed_loads(server, tag):
    """One, or more: while the server starts the model is tried again, because the agents' plugin has come."""
    expected = [f"{tag} LOAD", f"{tag} LOAD_FAIL", f"{tag} finalize"]

    def of_tag():
        return [line for line in told(server) if line.startswith(f"{tag} ")]

    eventually(lambda: len(of_tag()) >= 3 and of_tag() == expected * (len(of_tag()) // 3))


def loads(server, model="m"):
    return sum(f"successfully loaded '{model}' version 1" in line for line in server.lines)


def test_a_reload_prepares_what_changed(tmp_path):
    repository = tmp_path / "models"
    folder = write_model(repository, "m", identity_config("m", dims=(4,)) + agents(scripted("a", update="acquired")))
    (tmp_path / "temporary").mkdir()
    let_settle()
    with serving(tmp_path, temporary_directory=tmp_path / "temporary") as server, Control(server, "grpc") as control:
        control.load("m")
        first = ["initialize", "a LOAD", "a LOAD_COMPLETE"]
        control.load("m")
        expect_told(server, *first)
        (folder / "labels.txt").write_text("one\n")
        let_settle()
        control.load("m")
        eventually(lambda: loads(server) == 2)
        eventually(lambda: len(list((tmp_path / "temporary").iterdir())) == 1)
        assert (next((tmp_path / "temporary").iterdir()) / "labels.txt").read_text() == "one\n"
        eventually(lambda: len(told(server)) == len(first) + 5)
        assert sorted(told(server)[len(first):]) == ["a LOAD", "a LOAD_COMPLETE", "a UNLOAD", "a UNLOAD_COMPLETE", "a finalize"]
        control.unload("m")
        eventually(lambda: not list((tmp_path / "temporary").iterdir()))


def test_another_list_of_agents_is_a_full_reload(tmp_path):
    repository = tmp_path / "models"
    write_model(repository, "m", identity_config("m", dims=(4,)) + agents(scripted("a")))
    write_model(repository, "n", identity_config("n", dims=(4,)))
    let_settle()
    with serving(tmp_path) as server, Control(server, "grpc") as control:
        control.load("m")
        write_model(repository, "m", identity_config("m", dims=(4,)) + agents(scripted("a"), scripted("b")))
        let_settle()
        control.load("m")
        eventually(lambda: loads(server) == 2)
        write_model(repository, "m", identity_config("m", dims=(4,), extra="version_policy { all { } }") +
                    agents(scripted("a"), scripted("b")))
        control.load("m")
        control.load("n")
        eventually(lambda: loads(server, "n") == 1)
        assert loads(server) == 2, "the version policy alone builds nothing"
        assert control.infer("m", 3.0) == ("1", 3.0)


def test_what_clients_bring_is_prepared_too(tmp_path):
    there = write_model(tmp_path, "there", "")
    write_model(tmp_path / "models", "m", identity_config("m", dims=(4,)))
    tensor = {"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [4]}
    config = {"backend": "identity", "input": [tensor], "output": [tensor | {"name": "OUTPUT0"}],
              "model_repository_agents": {"agents": [{"name": "scripted", "parameters": {"tag": "a", "update": str(there)}}]}}
    with serving(tmp_path) as server, Control(server, "grpc") as control:
        control.load("m", json.dumps(config))
        assert control.infer("m", 3.0) == ("1", 3.0)
        config["model_repository_agents"]["agents"][0]["parameters"] = {"tag": "b", "update": "acquired"}
        control.load("n", json.dumps(config), {"1/anything": b"x", "3/anything": b"x"})
        assert control.infer("n", 4.0) == ("3", 4.0)
        eventually(lambda: {"a LOAD_COMPLETE", "b LOAD_COMPLETE"} <= set(told(server)))


def checksum(content):
    value = 0xcbf29ce484222325
    for byte in content:
        value = (value ^ byte) * 0x100000001b3 % (1 << 64)
    return f"{value:016x}"


def test_examples_verify_and_decode(tmp_path):
    repository = tmp_path / "models"
    model = np.frombuffer(onnx_add(2), np.uint8)
    encoded = bytes(model ^ np.resize(np.frombuffer(KEY, np.uint8), model.size))

    def write(value):
        write_model(repository, "m", agents(("checksum", {"FNV1A64:1/model.onnx.xor": value}), ("decode", {"key": KEY.decode()})),
                    files={"model.onnx.xor": encoded})
        let_settle()

    write(checksum(encoded))
    with serving(tmp_path) as server, Control(server, "grpc") as control:
        control.load("m")
        assert control.infer("m", 1.0) == ("1", 3.0)
        write("0" * 16)
        assert "repository agent 'checksum': the checksum does not match that of '1/model.onnx.xor'" in \
            control.refusal(control.load, "m")[1]
        assert control.infer("m", 2.0) == ("1", 4.0)


def test_agents_that_are_not_there(tmp_path):
    write_model(tmp_path / "models", "m", identity_config("m", dims=(4,)) + agents(("nowhere", {})))
    with serving(tmp_path, [tmp_path]) as server, Control(server, "grpc") as control:
        assert f"unable to find 'libtritonrepoagent_nowhere.so' for repo agent 'nowhere', searched: {tmp_path}" in \
            control.refusal(control.load, "m")[1]
        folder = tmp_path / "nowhere"
        folder.mkdir()
        shutil.copy(EXAMPLES / "checksum" / "libtritonrepoagent_checksum.so", folder / "libtritonrepoagent_nowhere.so")
        control.load("m")
        assert control.infer("m", 3.0) == ("1", 3.0)


def test_without_the_plugin_the_model_is_refused(tmp_path):
    write_model(tmp_path / "models", "m", identity_config("m", dims=(4,)) + agents(("checksum", {})))
    with serving(tmp_path, None) as server, Control(server, "grpc") as control:
        with pytest.raises(InferenceServerException,
                           match="model 'm' asks for repository agent 'checksum'; repository agents are not served"):
            control.load("m")
        assert control.index()["m"][""][0] == "UNAVAILABLE"
