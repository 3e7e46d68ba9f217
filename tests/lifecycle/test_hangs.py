"""Whatever hangs is named, while it hangs and at the end; and the end comes in time."""
import re
import signal
import threading
import time

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from harness import FIXTURES, Server
from support import models
from support.server import Server as ServingServer
from tritonclient.utils import InferenceServerException

PLUGIN = r"plugin 'bad' \(fixtures/hanger\)"
STEPS = [("create", f"create of {PLUGIN}"), ("start", f"start of {PLUGIN}"), ("task", f"a control task of {PLUGIN}"),
         ("event", r"the handler of event 'atoll\.server_state[^']*' in \S+/hanger\.so"), ("drain", f"drain of {PLUGIN}"),
         ("stop", f"stop of {PLUGIN}"), ("destroy", f"destroy of {PLUGIN}")]
AT_THE_END = ("drain", "stop", "destroy")


def hanger(step):
    return {"bad": f'use = "fixtures/hanger"\nstep = "{step}"'}


@pytest.mark.parametrize("step, named", STEPS)
def test_a_step_that_hangs_is_named_and_ends_in_time(tmp_path, step, named):
    """A deadline is not a matter of speed: what hangs would do so for ever."""
    with Server(tmp_path, hanger(step), atoll='drain_timeout = "2s"') as server:
        if step in AT_THE_END:
            server.expect("active")
            server.send(signal.SIGTERM)
        server.expect(f"still in {named} after 1 s$")
        if step not in AT_THE_END:
            server.send(signal.SIGTERM)
        server.expect(rf"ended by force: still in {named} after \d+ s$")
        assert server.wait() == 1


def test_a_step_that_hangs_in_a_reload_is_named(tmp_path):
    with Server(tmp_path, {"p": 'use = "fixtures/provider"'}, atoll='drain_timeout = "2s"') as server:
        server.expect("active")
        server.reload({"p": 'use = "fixtures/provider"'} | hanger("stop"))
        server.expect("reloaded")
        server.reload({"p": 'use = "fixtures/provider"'})
        server.expect(f"still in stop of {PLUGIN} after 1 s$")
        server.send(signal.SIGTERM)
        server.expect("ended by force: ")
        assert server.wait() == 1


def hanging_model(folder, where, drain="2s"):
    models.write_model(folder, "m", models.identity_config("m", dims=(4,)).replace("identity", "thrower"), version=3)
    return ServingServer(folder, 'plugin.thrower.use="fixtures/thrower"', f'plugin.thrower.file="{FIXTURES}/thrower.so"',
                         f'plugin.thrower.where="{where}"', 'plugin.thrower.does="hang"', f'atoll.drain_timeout="{drain}"')


def ends_with(server, pattern):
    """SIGTERM; the whole log afterwards."""
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(timeout=60) == 1
    server.wait_for_line(pattern)
    return [line for line in server.lines if "still draining" in line]


def infer_in_background(server):
    def infer():
        with server.client() as client:
            tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
            tensor.set_data_from_numpy(np.zeros(4, np.float32))
            with pytest.raises(InferenceServerException):
                client.infer("m", [tensor])
    thread = threading.Thread(target=infer, daemon=True)
    thread.start()
    return thread


def test_an_execution_that_hangs_is_named_and_a_drain_says_which_model_holds_it(tmp_path):
    with pytest.raises(AssertionError, match="exit code 1;"), hanging_model(tmp_path, "execute") as server:
        server.wait_ready()
        infer_in_background(server)
        server.wait_for_line(r"WARN .*model 'm' version 3, instance m_0: execution has taken [1-5]\d s$")
        held = ends_with(server, "ended with plugins still draining")
        assert any(re.search(r"plugin 'models' \(models/catalog\): still draining after 2\d\d\d ms: .*1 request of model 'm'",
                             line) for line in held), held


@pytest.mark.parametrize("where, at", [("load", "by backend 'thrower'"), ("instance", "creating instance m_0")])
def test_a_load_that_hangs_is_named_and_nobody_else_is_blamed(tmp_path, where, at):
    with pytest.raises(AssertionError, match="exit code 1;"), hanging_model(tmp_path, where) as server:
        server.wait_for_line(rf"WARN .*model 'm' version 3: loading has taken [1-5]\d s \({at}\)$")
        held = ends_with(server, "ended with plugins still draining")
        assert any(re.search(rf"plugin 'models' .*loading model 'm' version 3 for \d+ s \({at}\)", line) for line in held), held
        assert not any("plugin 'metrics'" in line for line in held), held


def test_an_unload_that_hangs_is_named(tmp_path):
    with pytest.raises(AssertionError, match="exit code 1;"), hanging_model(tmp_path, "unload") as server:
        server.wait_ready()
        held = ends_with(server, "ended with plugins still draining")
        assert any(re.search(r"unloading model 'm' version 3 for \d+ s", line) for line in held), held


def test_the_drain_timeout_counts_from_the_signal(tmp_path):
    """Also where a step that takes a while is in the way, and then goes on."""
    with Server(tmp_path, hanger("stop"), atoll='drain_timeout = "1s"') as server:
        server.expect("active")
        begun = time.monotonic()
        server.send(signal.SIGTERM)
        server.expect("ended by force")
        assert server.wait() == 1
        assert time.monotonic() - begun >= 1
