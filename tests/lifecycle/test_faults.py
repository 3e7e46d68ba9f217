"""What ends a process names the plugin; what would end a serving process in a reload does not."""
import re
import signal

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from harness import FIXTURES, PLUGINS, SANITIZED, Server, manifest, run
from support import models
from support.server import Server as ServingServer
from tritonclient.utils import InferenceServerException

CRASHING = PLUGINS.parent / "crashing"
PROVIDER = {"p": 'use = "fixtures/provider"'}
CODE = rf"in the code of plugin fixtures/crasher \({re.escape(str(FIXTURES))}/crasher.so\)"


def crasher(crash):
    return {"x": f'use = "fixtures/crasher"\ncrash = "{crash}"'}


# The sanitizers report signals themselves.
SIGNALS = [] if SANITIZED else [
    ("segv", signal.SIGSEGV, rf"fatal: SIGSEGV at address 0x10 in thread 'atoll', while calling 'start' of plugin 'x' "
                             rf"\(fixtures/crasher\), {CODE}"),
    ("abort", signal.SIGABRT, rf"fatal: SIGABRT in thread 'atoll', while calling 'start' of plugin 'x' "
                              rf"\(fixtures/crasher\), {CODE}"),
    ("stack", signal.SIGSEGV, rf"fatal: SIGSEGV at address 0x\w+ in thread 'deep', {CODE}"),
]


@pytest.mark.parametrize("crash, number, line", SIGNALS + [
    ("terminate", signal.SIGABRT, rf"fatal: an exception that nobody caught, std::runtime_error: no licence in thread "
                                  rf"'atoll', while calling 'start' of plugin 'x' \(fixtures/crasher\), {CODE}"),
    ("thread", signal.SIGABRT, rf"fatal: an exception that nobody caught, std::runtime_error: from a thread in thread "
                               rf"'atoll', {CODE}"),
])
def test_a_crash_names_the_plugin(tmp_path, crash, number, line):
    with Server(tmp_path, crasher(crash)) as server:
        server.expect(line)
        assert server.wait() == -number


def test_an_exit_names_the_plugin(tmp_path):
    with Server(tmp_path, crasher("exit")) as server:
        server.expect(rf"fatal: exit\(3\) was called in thread 'atoll', while calling 'start' of plugin 'x' \(fixtures/crasher\), {CODE}")
        assert server.wait() == 3


@pytest.mark.parametrize("where, backend, extra, line", [
    ("execute", "thrower", "instance_group { count: 2 name: \"left\" kind: KIND_CPU }",
     "no such layer in thread '[^']+', while executing a batch of model 'm' version 3 on instance 'left_[01]'"),
    ("enqueue", "identity", "parameters { key: \"scheduler\" value { string_value: \"thrower\" } }",
     "no such queue in thread '[^']+', while enqueueing a request for model 'm' version 3"),
])
def test_a_request_that_ends_the_process_names_the_model(tmp_path, where, backend, extra, line):
    config = models.identity_config("m", dims=(4,), extra=extra).replace("identity", backend)
    models.write_model(tmp_path, "m", config, version=3)
    file = FIXTURES / "thrower.so"
    settings = ('plugin.thrower.use="fixtures/thrower"', f'plugin.thrower.file="{file}"', f'plugin.thrower.where="{where}"')
    tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
    tensor.set_data_from_numpy(np.zeros(4, np.float32))
    with pytest.raises(AssertionError, match=f"exit code -{int(signal.SIGABRT)};"), ServingServer(tmp_path, *settings) as server:
        server.wait_ready()
        with server.client() as client, pytest.raises(InferenceServerException):
            client.infer("m", [tensor], client_timeout=60)
        server.wait_for_line(rf"^atoll: fatal: an exception that nobody caught, std::runtime_error: {line}, "
                             rf"in the code of plugin fixtures/thrower \({re.escape(str(file))}\)$")


@pytest.mark.parametrize("does, end", [("throw", "an exception that nobody caught, std::runtime_error: no such [a-z]+")] + (
    [] if SANITIZED else [("abort", "SIGABRT")]))
@pytest.mark.parametrize("where, doing", [("load", "loading model 'm' version 3"),
                                          ("instance", "loading model 'm' version 3, creating instance 'm_0'")])
def test_a_load_that_ends_the_process_names_the_model(tmp_path, where, doing, does, end):
    models.write_model(tmp_path, "m", models.identity_config("m", dims=(4,)).replace("identity", "thrower"), version=3)
    file = FIXTURES / "thrower.so"
    settings = ('plugin.thrower.use="fixtures/thrower"', f'plugin.thrower.file="{file}"', f'plugin.thrower.where="{where}"',
                f'plugin.thrower.does="{does}"', 'plugin.control.use="control/explicit"')
    with pytest.raises(AssertionError, match=f"exit code -{int(signal.SIGABRT)};"), ServingServer(tmp_path, *settings) as server:
        server.wait_ready()
        with server.client() as client, pytest.raises(InferenceServerException):
            client.load_model("m", client_timeout=60)
        server.wait_for_line(rf"^atoll: fatal: {end} in thread '[^']+', while {doing}, "
                             rf"in the code of plugin fixtures/thrower \({re.escape(str(file))}\)$")


@pytest.mark.parametrize("log", ["", 'format = "json"'])
def test_what_was_logged_before_is_there_too(tmp_path, log):
    """In the log's file as well, and the report is the last line."""
    path = tmp_path / "atoll.log"
    with Server(tmp_path, PROVIDER | crasher("terminate"), log=f'level = "debug"\nfile = "{path}"\n{log}') as server:
        server.expect("fatal: an exception that nobody caught")
        server.wait()
    lines = path.read_text().splitlines()
    assert "(fixtures/crasher): created, generation 1" in "".join(lines[:-1])
    assert lines[-1].startswith("atoll: fatal: an exception that nobody caught")


@pytest.mark.parametrize("leaves, where", [] if SANITIZED else [
    pytest.param("left", CODE, id="left"),
    pytest.param("looks", CODE.replace("in the code of", "in no plugin's code, at memory of"), id="looks")])
def test_a_thread_that_was_left_behind_is_named(tmp_path, leaves, where):
    with Server(tmp_path, PROVIDER | crasher(leaves)) as server:
        server.expect("active")
        server.reload(PROVIDER)
        server.expect(rf"fatal: SIGSEGV at address 0x\w+ in thread '\w+', {where}, which has been unloaded")
        assert server.wait() == -signal.SIGSEGV


@pytest.mark.parametrize("step", ["create", "start"])
def test_an_option_that_is_not_in_the_table_is_a_failed_step(tmp_path, step):
    reason = f"plugin 'x' (fixtures/crasher): {step} failed: it asked for option 'nosuch' that is not in its option table"
    path = tmp_path / "a.toml"
    path.write_text(manifest(crasher(f"ask_{step}")))
    code, (told, end) = run(path)
    assert (code, end) == (1, "ended")
    assert re.fullmatch(rf"{re.escape(str(path))}:\d+:\d+: {re.escape(reason)}", told), told
    with Server(tmp_path, PROVIDER) as server:
        server.expect("active")
        server.reload(PROVIDER | crasher(f"ask_{step}"))
        refused = server.expect("reload refused")
        assert re.fullmatch(rf"reload refused: (\S+:\d+:\d+: )?{re.escape(reason)}; generation 1 goes on", refused), refused
        server.send(signal.SIGTERM)
        assert server.wait() == 0


def test_a_plugin_that_ends_the_process_that_loads_it_is_a_refused_reload(tmp_path):
    aborts = {"x": f'use = "fixtures/aborts"\nfile = "{CRASHING}/aborts.so"'}
    with Server(tmp_path, PROVIDER) as server:
        server.expect("active")
        server.reload(PROVIDER | aborts)
        line = server.expect("reload refused")
        assert line.startswith("reload refused: a trial of the new plugin files ended: "), line
        assert line.endswith("; generation 1 goes on"), line
        if not SANITIZED:
            assert "while loading plugin 'x' (fixtures/aborts)" in line
        server.reload(PROVIDER | {"q": 'use = "fixtures/singleton"'})
        server.expect("reloaded: generation 2, 2 plugin instances")
        server.send(signal.SIGTERM)
        assert server.wait() == 0


def test_a_new_file_that_is_wrong_without_a_crash_is_told_as_ever(tmp_path):
    with Server(tmp_path, PROVIDER) as server:
        server.expect("active")
        server.reload(PROVIDER | {"x": 'use = "fixtures/wrong_magic"'})
        assert server.expect("reload refused").endswith(
            f"atoll.toml:9:7: plugin 'x' (fixtures/wrong_magic): {FIXTURES}/wrong_magic.so: its descriptor does not begin "
            "with the magic number of one; generation 1 goes on")
        server.send(signal.SIGTERM)
        assert server.wait() == 0
