"""Ensembles as clients see them: dataflow by name, members of all kinds, failures, and members that change."""

import json
import queue
import threading
import time

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
import tritonclient.utils.shared_memory as shared_memory
from support import models
from support.control import EXPLICIT
from support.server import Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

MODULES = {"grpc": grpcclient, "http": httpclient}


def tensors(kind, names, config_type="TYPE_FP32", dims=(4,), extra=""):
    return "".join(models.tensor_config(kind, name, config_type, dims, extra) for name in names)


def step(model, inputs, outputs, version=-1):
    """inputs and outputs: {name of the member: tensor of the ensemble}"""
    text = f'step {{ model_name: "{model}" model_version: {version} '
    text += "".join(f'input_map {{ key: "{key}" value: "{value}" }} ' for key, value in inputs.items())
    text += "".join(f'output_map {{ key: "{key}" value: "{value}" }} ' for key, value in outputs.items())
    return text + "}\n"


def ensemble(inputs, outputs, *steps, max_batch_size=0, extra=""):
    return (f'platform: "ensemble" max_batch_size: {max_batch_size}\n{inputs}{outputs}'
            f'ensemble_scheduling {{ {"".join(steps)} {extra} }}\n')


def chain(names, **more):
    """Of models with INPUT0 and OUTPUT0, FP32 [4]."""
    steps = [step(name, {"INPUT0": "INPUT0" if i == 0 else f"t{i}"},
                  {"OUTPUT0": "OUTPUT0" if i == len(names) - 1 else f"t{i + 1}"}) for i, name in enumerate(names)]
    return ensemble(tensors("input", ["INPUT0"]), tensors("output", ["OUTPUT0"]), *steps, **more)


def write_members(root):
    for constant in (1, 10, 100):
        models.write_add(root, f"add{constant}", constant)
    models.write_model(root, "batching", models.identity_config("batching", dims=(4,), max_batch_size=8, extra="dynamic_batching { }"))
    models.write_model(root, "plain", models.identity_config("plain", dims=(-1, 4)))
    models.write_model(root, "texts", models.identity_config("texts", "TYPE_STRING", dims=(-1,)))
    models.write_model(root, "optional", 'backend: "identity"\n' + tensors("input", ["INPUT0", "INPUT1"], extra="optional: true")
                       + tensors("output", ["OUTPUT0", "OUTPUT1"]))
    models.write_model(root, "slow", models.identity_config(
        "slow", dims=(4,), extra='parameters { key: "execute_delay_ms" value { string_value: "300000" } }'))
    models.write_model(root, "accumulate", models.accumulate_config("direct { }"), files={"model.onnx": models.onnx_accumulate()})
    models.write_model(root, "repeat", 'backend: "repeat" max_batch_size: 0 model_transaction_policy { decoupled: true }\n'
                       + tensors("input", ["IN"], "TYPE_INT32", (-1,)) + tensors("input", ["DELAY"], "TYPE_UINT32", (-1,))
                       + tensors("input", ["WAIT"], "TYPE_UINT32", (1,)) + tensors("output", ["OUT"], "TYPE_INT32", (1,))
                       + tensors("output", ["IDX"], "TYPE_UINT32", (1,)))
    models.write_model(root, "each", models.identity_config("each", "TYPE_INT32", dims=(1,), extra="instance_group [{ count: 4 }]"))


def write_ensembles(root):
    models.write_model(root, "chain", chain(["add1", "add10", "add100"]))
    models.write_model(root, "nested", chain(["chain", "chain"]))
    models.write_model(root, "branches", ensemble(
        tensors("input", ["X"]), tensors("output", ["LEFT", "RIGHT", "BOTH"]),
        step("add1", {"INPUT0": "X"}, {"OUTPUT0": "LEFT"}), step("add10", {"INPUT0": "X"}, {"OUTPUT0": "right"}),
        step("optional", {"INPUT0": "LEFT", "INPUT1": "right"}, {"OUTPUT0": "BOTH", "OUTPUT1": "RIGHT"})))
    models.write_model(root, "stalls_if_asked", ensemble(
        tensors("input", ["X"]), tensors("output", ["FAST", "SLOW"]),
        step("add1", {"INPUT0": "X"}, {"OUTPUT0": "FAST"}), step("slow", {"INPUT0": "X"}, {"OUTPUT0": "SLOW"})))
    models.write_model(root, "maybe", ensemble(
        tensors("input", ["A"]) + tensors("input", ["B"], extra="optional: true"), tensors("output", ["A_OUT", "B_OUT"]),
        step("optional", {"INPUT0": "A", "INPUT1": "B"}, {"OUTPUT0": "A_OUT", "OUTPUT1": "B_OUT"})))
    models.write_model(root, "batches", ensemble(
        tensors("input", ["X"]), tensors("output", ["Y"]), step("batching", {"INPUT0": "X"}, {"OUTPUT0": "t"}),
        step("plain", {"INPUT0": "t"}, {"OUTPUT0": "u"}), step("batching", {"INPUT0": "u"}, {"OUTPUT0": "Y"}), max_batch_size=8))
    models.write_model(root, "texts_twice", ensemble(
        tensors("input", ["X"], "TYPE_STRING", (-1,)), tensors("output", ["Y"], "TYPE_STRING", (-1,)),
        step("texts", {"INPUT0": "X"}, {"OUTPUT0": "t"}), step("texts", {"INPUT0": "t"}, {"OUTPUT0": "Y"})))
    models.write_model(root, "sums", ensemble(
        tensors("input", ["X"], dims=(1,)), tensors("output", ["SUM"], dims=(1,)) + tensors("output", ["ID"], "TYPE_INT64", (1,)),
        step("accumulate", {"INPUT": "X"}, {"OUTPUT": "SUM", "ID": "ID"}), max_batch_size=1))
    models.write_model(root, "stream", ensemble(
        tensors("input", ["IN"], "TYPE_INT32", (-1,)) + tensors("input", ["DELAY"], "TYPE_UINT32", (-1,))
        + tensors("input", ["WAIT"], "TYPE_UINT32", (1,)),
        tensors("output", ["VALUE"], "TYPE_INT32", (1,)) + tensors("output", ["INDEX"], "TYPE_UINT32", (1,)),
        step("repeat", {"IN": "IN", "DELAY": "DELAY", "WAIT": "WAIT"}, {"OUT": "t", "IDX": "INDEX"}),
        step("each", {"INPUT0": "t"}, {"OUTPUT0": "VALUE"})))


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    write_members(root)
    write_ensembles(root)
    return root


@pytest.fixture(scope="module")
def server(repository):
    with Server(repository, "plugin.shared.allow_client_shm=true", 'plugin.repeat.use="backends/repeat"') as running:
        running.wait_ready()
        yield running


class Caller:
    def __init__(self, server, protocol):
        self.module = MODULES[protocol]
        self.client = server.client() if protocol == "grpc" else server.http_client(network_timeout=300)
        self.grpc = protocol == "grpc"

    def infer(self, model, inputs, outputs=None, **more):
        """inputs: {name: (type, array)}"""
        made = []
        for name, (datatype, array) in inputs.items():
            made.append(self.module.InferInput(name, array.shape, datatype))
            made[-1].set_data_from_numpy(array)
        wanted = [self.module.InferRequestedOutput(name) for name in outputs] if outputs else None
        return self.client.infer(model, made, outputs=wanted, **more)

    def fp32(self, model, inputs, outputs=None, **more):
        return self.infer(model, {name: ("FP32", np.asarray(value, np.float32)) for name, value in inputs.items()}, outputs, **more)


@pytest.fixture(params=sorted(MODULES))
def caller(request, server):
    caller = Caller(server, request.param)
    yield caller
    caller.client.close()


def ones(value=1.0):
    return np.full(4, value, np.float32)


def names_of(result):
    response = result.get_response()
    return sorted(o["name"] for o in response["outputs"]) if isinstance(response, dict) else sorted(o.name for o in response.outputs)


def test_a_chain(caller):
    result = caller.fp32("chain", {"INPUT0": ones()}, request_id="mine")
    assert result.as_numpy("OUTPUT0").tolist() == [112.0] * 4
    response = result.get_response()
    assert (response.id if caller.grpc else response["id"]) == "mine"


def test_every_response_has_the_fields_of_its_sequence(caller):
    response = caller.fp32("chain", {"INPUT0": ones()}).get_response()
    if caller.grpc:
        assert {key: str(value).strip() for key, value in response.parameters.items()} == {
            "sequence_id": "int64_param: 0", "sequence_start": "bool_param: false", "sequence_end": "bool_param: false"}
    else:
        assert response["parameters"] == {"sequence_id": 0, "sequence_start": False, "sequence_end": False}


def test_an_ensemble_is_a_member_too(caller):
    assert caller.fp32("nested", {"INPUT0": ones()}).as_numpy("OUTPUT0").tolist() == [223.0] * 4


def test_branches_that_join(caller):
    result = caller.fp32("branches", {"X": ones()})
    assert names_of(result) == ["BOTH", "LEFT", "RIGHT"]
    assert [result.as_numpy(name)[0] for name in ("LEFT", "RIGHT", "BOTH")] == [2.0, 11.0, 2.0]


def test_steps_that_nobody_asked_for_are_left_out(caller):
    result = caller.fp32("stalls_if_asked", {"X": ones()}, ["FAST"])
    assert names_of(result) == ["FAST"]
    assert result.as_numpy("FAST")[0] == 2.0


def test_what_is_optional_may_be_missing(caller):
    result = caller.fp32("maybe", {"A": ones(3)})
    np.testing.assert_array_equal(result.as_numpy("B_OUT"), np.zeros(4, np.float32))
    result = caller.fp32("maybe", {"A": ones(3), "B": ones(4)})
    assert (result.as_numpy("A_OUT")[0], result.as_numpy("B_OUT")[0]) == (3.0, 4.0)


@pytest.mark.parametrize("batch", [1, 5])
def test_members_that_batch_and_one_that_does_not(caller, batch):
    data = np.arange(4 * batch, dtype=np.float32).reshape(batch, 4)
    result = caller.fp32("batches", {"X": data})
    np.testing.assert_array_equal(result.as_numpy("Y"), data)


def test_texts(caller):
    data = np.array([b"", "ümlaut".encode(), b"x" * 5000], np.object_)
    result = caller.infer("texts_twice", {"X": ("BYTES", data)})
    assert result.as_numpy("Y").tolist() == data.tolist()


def test_a_sequence_goes_through(caller):
    identifier = 7001 if caller.grpc else 7002
    sums = []
    for i in range(4):
        result = caller.fp32("sums", {"X": np.array([[i + 1]], np.float32)}, sequence_id=identifier, sequence_start=i == 0,
                             sequence_end=i == 3)
        sums.append(result.as_numpy("SUM")[0, 0])
        assert result.as_numpy("ID")[0, 0] == identifier
    assert sums == [1, 3, 6, 10]
    response = result.get_response()
    if caller.grpc:
        assert response.parameters["sequence_id"].int64_param == identifier
        assert response.parameters["sequence_end"].bool_param
    else:
        assert response["parameters"] == {"sequence_id": identifier, "sequence_start": False, "sequence_end": True}


def test_a_failing_step_is_named(caller):
    with pytest.raises(InferenceServerException) as failure:
        caller.fp32("sums", {"X": np.array([[1]], np.float32)}, sequence_id=999)
    assert failure.value.message().startswith("in ensemble 'sums', ")
    assert failure.value.message().endswith("(step 0, model 'accumulate' version 1)")


def test_bad_requests(caller):
    with pytest.raises(InferenceServerException, match="unexpected inference input 'nobody' for model 'chain'|expected 1 inputs but got 2"):
        caller.fp32("chain", {"INPUT0": ones(), "nobody": ones()})
    with pytest.raises(InferenceServerException, match=r"unexpected shape for input 'INPUT0' for model 'chain'. Expected \[4\], got \[5\]"):
        caller.fp32("chain", {"INPUT0": np.ones(5, np.float32)})
    with pytest.raises(InferenceServerException, match="unexpected inference output 't1' for model 'chain'"):
        caller.fp32("chain", {"INPUT0": ones()}, ["t1"])


def test_outputs_in_shared_memory(server):
    with server.client() as client:
        handle = shared_memory.create_shared_memory_region("ensemble", "/atoll_test_ensemble", 32)
        try:
            shared_memory.set_shared_memory_region(handle, [ones(5)])
            client.register_system_shared_memory("ensemble", "/atoll_test_ensemble", 32)
            tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
            tensor.set_shared_memory("ensemble", 16)
            output = grpcclient.InferRequestedOutput("OUTPUT0")
            output.set_shared_memory("ensemble", 16, offset=16)
            client.infer("chain", [tensor], outputs=[output])
            assert shared_memory.get_contents_as_numpy(handle, np.float32, [4], offset=16).tolist() == [116.0] * 4
            output.set_shared_memory("ensemble", 8, offset=16)
            with pytest.raises(InferenceServerException, match="in ensemble 'chain', .*\\(step 2, model 'add100' version 1\\)"):
                client.infer("chain", [tensor], outputs=[output])
        finally:
            client.unregister_system_shared_memory("ensemble")
            shared_memory.destroy_shared_memory_region(handle)


def stream_inputs(values, delay_ms=0):
    made = []
    for name, datatype, array in (("IN", "INT32", np.array(values, np.int32)),
                                  ("DELAY", "UINT32", np.full(len(values), delay_ms, np.uint32)),
                                  ("WAIT", "UINT32", np.zeros(1, np.uint32))):
        made.append(grpcclient.InferInput(name, array.shape, datatype))
        made[-1].set_data_from_numpy(array)
    return made


def test_each_response_of_a_decoupled_member_goes_on(server):
    answers = queue.Queue()
    with server.client() as client:
        assert client.get_model_config("stream", as_json=True)["config"]["model_transaction_policy"]["decoupled"]
        client.start_stream(lambda result, error: answers.put((result, error)))
        for length in (0, 1, 50):
            client.async_stream_infer("stream", stream_inputs(range(100, 100 + length)), enable_empty_final_response=True)
            got = []
            while True:
                result, error = answers.get(timeout=60)
                assert error is None, error
                response = result.get_response()
                if len(response.outputs):
                    got.append((int(result.as_numpy("INDEX")[0]), int(result.as_numpy("VALUE")[0])))
                if response.parameters["triton_final_response"].bool_param:
                    break
            # Four instances work on them; they come in the order of the responses that they are made of.
            assert got == [(i, 100 + i) for i in range(length)]
        with pytest.raises(InferenceServerException, match="ModelInfer RPC doesn't support models with decoupled transaction policy"):
            client.infer("stream", stream_inputs([1]))


def test_cancellation_reaches_the_step_that_runs(server):
    with server.client() as client:
        tensor = grpcclient.InferInput("X", [4], "FP32")
        tensor.set_data_from_numpy(ones())
        errors = queue.Queue()
        call = client.async_infer("stalls_if_asked", [tensor], callback=lambda result, error: errors.put(error))
        time.sleep(0.05)  # so that it is mostly inside; it may be cancelled at any time
        call.cancel()
        assert errors.get(timeout=60) is not None
        # The member is free again: it would sleep for minutes.
        eventually(lambda: statistics(client, "slow")["inference_stats"].get("fail", {}).get("count", "0") != "0")
        with pytest.raises(InferenceServerException, match="Deadline Exceeded"):
            client.infer("stalls_if_asked", [tensor], client_timeout=0.1)


def statistics(client, model):
    return client.get_inference_statistics(model, as_json=True)["model_stats"][0]


def test_statistics(server):
    with server.client() as client:
        before = statistics(client, "nested")
        for _ in range(3):
            assert Caller(server, "grpc").fp32("nested", {"INPUT0": ones()}) is not None
        after = statistics(client, "nested")
    assert int(after["execution_count"]) - int(before.get("execution_count", 0)) == 3
    assert int(after["inference_count"]) - int(before.get("inference_count", 0)) == 3
    counted = after["inference_stats"]
    parts = sum(int(counted[name].get("ns", 0)) for name in ("queue", "compute_input", "compute_infer", "compute_output"))
    assert int(counted["compute_infer"]["ns"]) > 0
    assert int(counted["success"]["ns"]) >= parts
    assert after["batch_stats"][0]["batch_size"] == "1"


def test_traces_have_a_child_for_each_step(repository, tmp_path):
    file = tmp_path / "trace.json"
    with Server(repository, 'plugin.repeat.use="backends/repeat"', "plugin.trace.rate=1", 'plugin.trace.level=["TIMESTAMPS"]',
                f'plugin.trace.trace_file="{file}"') as server:
        server.wait_ready()
        Caller(server, "grpc").fp32("nested", {"INPUT0": ones()})
    spans = [span for span in json.loads(file.read_text()) if "model_name" in span]
    parents = {span["id"]: span.get("parent_id") for span in spans}
    by_model = {}
    for span in spans:
        by_model.setdefault(span["model_name"], []).append(span)
    assert {name: len(found) for name, found in by_model.items()} == {"nested": 1, "chain": 2, "add1": 2, "add10": 2, "add100": 2}
    (top,) = by_model["nested"]
    assert parents[top["id"]] is None
    for span in by_model["chain"]:
        assert parents[span["id"]] == top["id"]
    chains = {span["id"] for span in by_model["chain"]}
    assert all(parents[span["id"]] in chains for name in ("add1", "add10", "add100") for span in by_model[name])


CONTRADICTIONS = {
    "batch": (ensemble(tensors("input", ["X"]), tensors("output", ["Y"]), step("batching", {"INPUT0": "X"}, {"OUTPUT0": "Y"}),
                       max_batch_size=16),
              "ensemble batch allows maximum batch size 16, but it contains model batching which only allows maximum batch size to be 8"),
    "no_input": (ensemble(tensors("input", ["X"]), tensors("output", ["Y"]), step("add1", {"NOPE": "X"}, {"OUTPUT0": "Y"})),
                 "in ensemble no_input, ensemble tensor X is mapping to non-existing input NOPE in model add1"),
    "unmapped": (ensemble(tensors("input", ["X"]), tensors("output", ["Y"], dims=(1,)),
                          step("repeat", {"IN": "X"}, {"OUT": "Y"})),
                 "in ensemble unmapped, ensemble tensor X: inconsistent data type: TYPE_FP32 is inferred from model unmapped while "
                 "TYPE_INT32 is inferred from model repeat"),
    "missing": (ensemble(tensors("input", ["X"], "TYPE_INT32", (-1,)), tensors("output", ["Y"], "TYPE_INT32", (1,)),
                         step("repeat", {"IN": "X"}, {"OUT": "Y"})),
                "in ensemble missing, input DELAY in model repeat is not mapped to any ensemble tensors"),
    "no_output": (ensemble(tensors("input", ["X"]), tensors("output", ["Y"]), step("add1", {"INPUT0": "X"}, {"NOPE": "Y"})),
                  "in ensemble no_output, ensemble tensor Y is mapped from non-existing output NOPE in model add1"),
    "shape": (ensemble(tensors("input", ["X"], dims=(5,)), tensors("output", ["Y"]), step("add1", {"INPUT0": "X"}, {"OUTPUT0": "Y"})),
              "in ensemble shape, ensemble tensor X: inconsistent shape: [5] is inferred from model shape while [4] is inferred from "
              "model add1"),
    "joined": (ensemble(tensors("input", ["IN"], "TYPE_INT32", (-1,)) + tensors("input", ["DELAY"], "TYPE_UINT32", (-1,))
                        + tensors("input", ["WAIT"], "TYPE_UINT32", (1,)),
                        tensors("output", ["A", "B"], "TYPE_INT32", (1,)),
                        step("repeat", {"IN": "IN", "DELAY": "DELAY", "WAIT": "WAIT"}, {"OUT": "t"}),
                        step("repeat", {"IN": "IN", "DELAY": "DELAY", "WAIT": "WAIT"}, {"OUT": "u"}),
                        step("pair", {"INPUT0": "t", "INPUT1": "u"}, {"OUTPUT0": "A", "OUTPUT1": "B"})),
               "in ensemble joined, step of model 'pair' receives inputs originated from different decoupled models"),
}


def test_contradictions_are_refused_at_load(tmp_path):
    write_members(tmp_path)
    models.write_model(tmp_path, "pair", models.identity_config("pair", "TYPE_INT32", dims=(1,), pairs=2))
    for name, (config, _) in CONTRADICTIONS.items():
        models.write_model(tmp_path, name, config)
    with Server(tmp_path, 'plugin.repeat.use="backends/repeat"', EXPLICIT) as server:
        with server.client() as client:
            for name, (_, text) in CONTRADICTIONS.items():
                with pytest.raises(InferenceServerException) as failure:
                    client.load_model(name)
                assert text in failure.value.message(), name


def test_a_request_meets_one_set_of_versions(tmp_path):
    """Members are reloaded under load: what a request is answered is made of versions that were current together."""
    for name in ("first", "second"):
        models.write_add(tmp_path, name, 0)
    models.write_model(tmp_path, "pair", chain(["first", "second"]))
    with Server(tmp_path, EXPLICIT) as server:
        with server.client() as client:
            client.load_model("pair")
            seen, failures, stop = set(), [], threading.Event()

            def load():
                caller = Caller(server, "grpc")
                while not stop.is_set():
                    try:
                        seen.add(float(caller.fp32("pair", {"INPUT0": np.zeros(4, np.float32)}).as_numpy("OUTPUT0")[0]))
                    except InferenceServerException as failure:
                        failures.append(failure)

            threads = [threading.Thread(target=load) for _ in range(4)]
            for thread in threads:
                thread.start()
            try:
                for generation in range(1, 9):
                    models.let_settle()
                    name, weight = ("first", 1) if generation % 2 else ("second", 1000)
                    models.write_add(tmp_path, name, weight * generation)
                    client.load_model(name)
                    # From the end of the load on no other answer is given.
                    current = {"first": generation - 1 + generation % 2, "second": 1000 * (generation - generation % 2)}
                    eventually(lambda current=current: answer(client, "pair") == sum(current.values()))
            finally:
                stop.set()
                for thread in threads:
                    thread.join()
            assert not failures, failures[0]
            allowed, first, second = {0.0}, 0, 0
            for generation in range(1, 9):
                first, second = (generation, second) if generation % 2 else (first, 1000 * generation)
                allowed.add(float(first + second))
            assert seen <= allowed, seen - allowed


def answer(client, model):
    tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
    tensor.set_data_from_numpy(np.zeros(4, np.float32))
    return client.infer(model, [tensor]).as_numpy("OUTPUT0")[0]


def test_what_a_member_became_is_refused_and_the_ensemble_serves_on(tmp_path):
    models.write_add(tmp_path, "member", 1)
    models.write_model(tmp_path, "top", chain(["member"]))
    with Server(tmp_path, EXPLICIT) as server:
        with server.client() as client:
            client.load_model("top")
            models.let_settle()
            models.write_model(tmp_path, "member", models.identity_config("member", "TYPE_INT32"))
            client.load_model("member")
            server.wait_for_line(r"failed to load 'top' version 1: .*inconsistent data type.*keeps serving")
            assert answer(client, "top") == 1.0
            client.unload_model("member")
            eventually(lambda: not client.is_model_ready("top"))


@pytest.mark.parametrize("protocol", sorted(MODULES))
def test_a_sequence_ends_on_the_members_that_it_began_on(tmp_path, protocol):
    models.write_model(tmp_path, "accumulate", models.accumulate_config("direct { }"), files={"model.onnx": models.onnx_accumulate()})
    models.write_model(tmp_path, "sums", ensemble(
        tensors("input", ["X"], dims=(1,)), tensors("output", ["SUM"], dims=(1,)),
        step("accumulate", {"INPUT": "X"}, {"OUTPUT": "SUM"}), max_batch_size=1))
    with Server(tmp_path, EXPLICIT) as server:
        caller = Caller(server, protocol)

        def add(identifier, value, **flags):
            data = np.array([[value]], np.float32)
            return caller.fp32("sums", {"X": data}, sequence_id=identifier, **flags).as_numpy("SUM")[0, 0]

        caller.client.load_model("sums")
        assert add(1, 5, sequence_start=True) == 5
        models.let_settle()
        models.write_model(tmp_path, "accumulate", models.accumulate_config("direct { }", extra="max_sequence_idle_microseconds: 50000000"))
        caller.client.load_model("accumulate")
        server.wait_for_line("successfully loaded 'sums' version 1")
        server.wait_for_line("successfully loaded 'sums' version 1")
        assert add(2, 1, sequence_start=True) == 1
        assert add(1, 6) == 11, "its state is with the member that it began on"
        assert add(2, 1, sequence_end=True) == 2
        assert add(1, 7, sequence_end=True) == 18
        server.wait_for_line("successfully unloaded 'accumulate' version 1")
        with pytest.raises(InferenceServerException, match="must specify the START flag"):
            add(1, 1)
