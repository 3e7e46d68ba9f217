"""What belongs to the tenant that made it is unknown to all others: shared memory regions, sequences and leases."""

import contextlib
import itertools
import os

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
import tritonclient.utils.shared_memory as shm
from support import models
from support.grpc_frontends import GRPC_FRONTENDS
from support.identities import wait_for_models
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

NUMBERS = itertools.count()
BYTES = 16 * 4


@pytest.fixture(scope="module")
def tokens(keys):
    return {"blue": keys.add("blue", "*", "tenant=blue"), "blue too": keys.add("blue-too", "*", "tenant=blue"),
            "red": keys.add("red", "*", "tenant=red"), "alone": keys.add("alone", "*")}


@pytest.fixture(scope="module", params=GRPC_FRONTENDS)
def server(request, serve, tokens, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ownership")
    models.write_model(folder, "any", models.identity_config("any"))
    models.write_model(folder, "sequence", models.identity_config(
        "sequence", dims=(4,), extra="sequence_batching { max_sequence_idle_microseconds: 60000000 direct { } }\n"
        "instance_group { count: 4 kind: KIND_CPU }"))  # a sequence each
    with serve(f'plugin.repository.paths=["{folder}"]', "plugin.shared.allow_client_shm=true", grpc_frontend=request.param) as running:
        running.wait_active()
        wait_for_models(running, tokens["blue"], "any", "sequence")
        running.models = folder
        yield running


class Caller:
    """The calls of one identity by one protocol."""

    def __init__(self, module, client, token):
        self.module, self.client = module, client
        self.headers = {"authorization": f"Bearer {token}"}

    def register(self, name, key):
        self.client.register_system_shared_memory(name, key, BYTES, headers=self.headers)

    def unregister(self, name=""):
        self.client.unregister_system_shared_memory(name, headers=self.headers)

    def regions(self, name=""):
        status = self.client.get_system_shared_memory_status(name, headers=self.headers)
        return sorted(status.regions) if self.module is grpcclient else [region["name"] for region in status]

    def infer(self, region, output=None):
        tensor = self.module.InferInput("INPUT0", [16], "FP32")
        tensor.set_shared_memory(region, BYTES)
        outputs = None
        if output is not None:
            outputs = [self.module.InferRequestedOutput("OUTPUT0")]
            outputs[0].set_shared_memory(output, BYTES)
        return self.client.infer("any", [tensor], outputs=outputs, headers=self.headers).as_numpy("OUTPUT0")


@pytest.fixture(params=["grpc", "http"])
def callers(request, server, tokens):
    module, address = (grpcclient, server.address) if request.param == "grpc" else (httpclient, server.http_address)
    with module.InferenceServerClient(address) as client:
        made = {name: Caller(module, client, token) for name, token in tokens.items()}
        yield made
        for caller in made.values():
            caller.unregister()


@contextlib.contextmanager
def shared_object():
    """The key of a shared memory object with its number in each value, and the number"""
    number = next(NUMBERS)
    key = f"/atoll-ownership-{os.getpid()}-{number}"
    handle = shm.create_shared_memory_region(f"object{number}", key, BYTES)
    try:
        shm.set_shared_memory_region(handle, [np.full(16, number, np.float32)])
        yield key, number
    finally:
        shm.destroy_shared_memory_region(handle)


def error_of(call):
    with pytest.raises(InferenceServerException) as caught:
        call()
    return caught.value.status(), caught.value.message()


def test_a_region_of_another_tenant_is_unknown(callers):
    blue, red = callers["blue"], callers["red"]
    with shared_object() as (key, number):
        blue.register("mine", key)
        for owner in ("blue", "blue too"):
            assert callers[owner].regions() == ["mine"] and callers[owner].regions("mine") == ["mine"]
            np.testing.assert_array_equal(callers[owner].infer("mine"), np.full(16, number))
        for other in (red, callers["alone"]):
            assert other.regions() == []
            for call in (lambda name: other.regions(name), lambda name: other.infer(name),
                         lambda name: blue_input_into(other, name)):
                hidden, unknown = error_of(lambda: call("mine")), error_of(lambda: call("none"))
                assert hidden == (unknown[0], unknown[1].replace("none", "mine"))
            other.unregister("mine")
            other.unregister()
        assert blue.regions() == ["mine"]
        np.testing.assert_array_equal(blue.infer("mine"), np.full(16, number))
        blue.unregister("mine")
        eventually(lambda: blue.regions() == [])  # a request has it for a moment after its answer


def blue_input_into(caller, name):
    """An output into the region."""
    with shared_object() as (key, _):
        caller.register("input", key)
        try:
            return caller.infer("input", output=name)
        finally:
            caller.unregister("input")


def test_each_tenant_has_its_own_names(callers):
    with shared_object() as (blues, blue_number), shared_object() as (reds, red_number), shared_object() as (own, own_number):
        for name, key in (("blue", blues), ("red", reds), ("alone", own)):
            callers[name].register("r", key)
        for name, number in (("blue", blue_number), ("blue too", blue_number), ("red", red_number), ("alone", own_number)):
            np.testing.assert_array_equal(callers[name].infer("r"), np.full(16, number))
        assert "already in manager" in error_of(lambda: callers["blue too"].register("r", blues))[1]
        callers["red"].unregister()
        assert [callers[name].regions() for name in ("blue", "red", "alone")] == [["r"], [], ["r"]]


def test_cuda_regions_are_asked_for_by_their_owner_too(callers):
    # There is no GPU here to register one of: what a caller hears of a name that is a system region of somebody.
    with shared_object() as (key, _):
        callers["blue"].register("r", key)
        blue, red = callers["blue"], callers["red"]
        ask = [lambda one=one: one.client.get_cuda_shared_memory_status("r", headers=one.headers) for one in (blue, red)]
        assert "is registered as system" in error_of(ask[0])[1]
        assert "Unable to find cuda shared memory region" in error_of(ask[1])[1]


def test_a_region_is_its_owners_by_every_protocol(server, tokens):
    with grpcclient.InferenceServerClient(server.address) as by_grpc, \
            httpclient.InferenceServerClient(server.http_address) as by_http, shared_object() as (key, number):
        Caller(grpcclient, by_grpc, tokens["blue"]).register("both", key)
        blue, red = (Caller(httpclient, by_http, tokens[name]) for name in ("blue", "red"))
        np.testing.assert_array_equal(blue.infer("both"), np.full(16, number))
        assert red.regions() == []
        blue.unregister("both")


def test_messages_of_a_stream_use_their_callers_regions(server, tokens):
    with grpcclient.InferenceServerClient(server.address) as client, shared_object() as (key, number):
        blue = Caller(grpcclient, client, tokens["blue"])
        blue.register("streamed", key)
        answers = {}
        for name in ("blue", "red"):
            got = answers[name] = []
            client.start_stream(lambda result, error, got=got: got.append((result, error)),
                                headers={"authorization": f"Bearer {tokens[name]}"})
            tensor = grpcclient.InferInput("INPUT0", [16], "FP32")
            tensor.set_shared_memory("streamed", BYTES)
            client.async_stream_infer("any", [tensor])
            client.stop_stream()
        np.testing.assert_array_equal(answers["blue"][0][0].as_numpy("OUTPUT0"), np.full(16, number))
        assert "Unable to find" in answers["red"][0][1].message()
        blue.unregister("streamed")


def step(caller, correlation_id, start=False, end=False):
    tensor = caller.module.InferInput("INPUT0", [4], "FP32")
    tensor.set_data_from_numpy(np.zeros(4, np.float32))
    return caller.client.infer("sequence", [tensor], sequence_id=correlation_id, sequence_start=start, sequence_end=end,
                               headers=caller.headers)


@pytest.mark.parametrize("text", [False, True])
def test_the_same_correlation_id_of_two_tenants_is_two_sequences(callers, text):
    correlation_id = f"s{next(NUMBERS)}" if text else next(NUMBERS) + 1
    blue, same, red, alone = (callers[name] for name in ("blue", "blue too", "red", "alone"))
    step(blue, correlation_id, start=True)
    step(same, correlation_id)
    for other in (red, alone):
        hidden = error_of(lambda: step(other, correlation_id))
        assert "must specify the START flag" in hidden[1]
        step(other, correlation_id, start=True)
    step(red, correlation_id, end=True)
    error_of(lambda: step(red, correlation_id))
    for still_open in (blue, same, alone):
        step(still_open, correlation_id)
    step(same, correlation_id, end=True)
    error_of(lambda: step(blue, correlation_id))
    step(alone, correlation_id, end=True)


@pytest.mark.parametrize("text", [False, True])
def test_while_a_version_is_replaced_each_tenant_goes_on_with_its_own_sequence(server, callers, text):
    correlation_id = f"s{next(NUMBERS)}" if text else next(NUMBERS) + 1
    blue, same, red, alone = (callers[name] for name in ("blue", "blue too", "red", "alone"))
    step(blue, correlation_id, start=True)
    versions = server.models / "sequence"
    (versions / str(1 + max(int(version.name) for version in versions.glob("[0-9]*")))).mkdir()
    blue.client.load_model("sequence", headers=blue.headers)
    step(red, correlation_id, start=True)  # on the new version
    for caller in (same, red, blue):
        step(caller, correlation_id)
    assert "must specify the START flag" in error_of(lambda: step(alone, correlation_id))[1]
    step(blue, correlation_id, end=True)
    error_of(lambda: step(same, correlation_id))
    step(red, correlation_id, end=True)


def test_messages_of_a_stream_go_on_with_their_callers_sequence(server, tokens):
    correlation_id = next(NUMBERS) + 1

    def stream(name, **flags):
        got = []
        with grpcclient.InferenceServerClient(server.address) as client:
            client.start_stream(lambda result, error: got.append(error), headers={"authorization": f"Bearer {tokens[name]}"})
            tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
            tensor.set_data_from_numpy(np.zeros(4, np.float32))
            client.async_stream_infer("sequence", [tensor], sequence_id=correlation_id, **flags)
            client.stop_stream()
        assert len(got) == 1
        return got[0]

    assert stream("blue", sequence_start=True) is None
    assert "START flag" in stream("red").message()
    assert stream("blue too", sequence_end=True) is None
    assert "START flag" in stream("blue").message()
