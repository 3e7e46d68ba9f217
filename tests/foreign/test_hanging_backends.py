"""A backend made for Triton that does not return from a call at load is a model with a reason; everything else goes on."""

import concurrent.futures
import time

import pytest
from support.control import EXPLICIT, PROTOCOLS, Control
from support.models import write_model
from support.server import Server, thread_names
from support.triton_backends import FIXTURES, put_backend, write_manifest

INPUT_OUTPUT = "".join(f'{kind} [ {{ name: "{name}" data_type: TYPE_FP32 dims: [ 4 ] }} ]\n'
                       for kind, name in (("input", "INPUT0"), ("output", "OUTPUT0")))
HANGS = "scripted.cc:2: a call hangs"
CALL = "triton-call"
HAS_NOT_RETURNED = "backend 'scripted' has not returned from TRITONBACKEND_{}"


@pytest.fixture
def server_of(tmp_path):
    """Starts a server of models that hang and of one that serves, whole: a start that is interrupted ends otherwise."""
    directory, repository = tmp_path / "backends", tmp_path / "models"
    put_backend(directory, "scripted", "scripted", FIXTURES)
    put_backend(directory, "identity", "echo")
    for name in ("hangs_model", "hangs_instance"):
        write_model(repository, name, 'backend: "scripted"\n' + INPUT_OUTPUT)
    write_model(repository, "fine", 'backend: "scripted"\n' + INPUT_OUTPUT)
    write_model(repository, "echo", 'backend: "echo"\n' + INPUT_OUTPUT)

    def start(*settings, options=""):
        manifest = write_manifest(tmp_path, directory, options=options)
        return Server(repository, EXPLICIT, *settings, manifest=manifest).wait_active()
    return start


def refused_load(server, protocol, model):
    with Control(server, protocol) as control:
        return control.refusal(control.load, model)[1]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("model, function", [("hangs_model", "ModelInitialize"), ("hangs_instance", "ModelInstanceInitialize")])
def test_a_model_that_hangs_fails_while_others_load_and_serve(server_of, protocol, model, function):
    reason = HAS_NOT_RETURNED.format(function) + " within 2 s"
    with server_of(options='load_timeout = "2s"') as server, Control(server, protocol) as control, \
            concurrent.futures.ThreadPoolExecutor(1) as pool:
        for _ in range(2):
            refused = pool.submit(refused_load, server, protocol, model)
            server.wait_for_line(HANGS)
            for _ in range(2):
                control.load("echo")
                assert control.infer("echo", 3.0) == ("1", 3.0)
                control.load("fine")
                control.unload("fine")
                control.unload("echo")
            assert reason in refused.result(timeout=60)
            server.wait_for_line("its thread is left behind, and its file stays mapped")
            assert control.index()[model]["1"] == ("UNAVAILABLE", "Unavailable: " + reason)
            control.unload(model)
        control.load("fine")
    server.wait_logged("libtriton_scripted.so stays mapped: a call into it was left behind")


def test_a_backend_that_hangs_again_and_again_is_called_no_more(server_of):
    with server_of(options='load_timeout = "100ms"') as server, Control(server, "grpc") as control:
        messages = []
        while not messages or "within 100 ms" in messages[-1]:
            messages.append(control.refusal(control.load, "hangs_model")[1])
            assert len(messages) < 20
        assert "8 calls that were left behind" in messages[-1]
        assert thread_names(server.pid).count(CALL) == 8
        for _ in range(20):
            assert "8 calls that were left behind" in control.refusal(control.load, "hangs_model")[1]
        assert thread_names(server.pid).count(CALL) == 8
        control.load("echo")
        assert control.infer("echo", 1.0) == ("1", 1.0)


def test_the_end_of_the_server_waits_a_moment_for_what_hangs(server_of):
    server = server_of()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        refused = pool.submit(refused_load, server, "grpc", "hangs_model")
        server.wait_for_line(HANGS)
        begun = time.monotonic()
        assert server.stop() == 0, server.log
        assert time.monotonic() - begun < 25, "less than the server drains"
        refused.exception(timeout=60)
    server.wait_logged(HAS_NOT_RETURNED.format("ModelInitialize") + ", and the server ends")
