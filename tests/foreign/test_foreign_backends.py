"""Backends made for Triton, in C and C++, serve real clients beside the server's own."""

import json
import queue
import signal

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support.control import EXPLICIT, PROTOCOLS, Control
from support.models import tensor_config, write_model
from support.server import Server
from support.triton_backends import put_backend, write_manifest
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

MODULES = {"grpc": grpcclient, "http": httpclient}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    folder = tmp_path_factory.mktemp("backends")
    put_backend(folder, "identity", "echo")
    put_backend(folder, "repeat", "repeat")
    put_backend(folder, "accumulate", "accumulate")
    put_backend(folder, "bls", "bls")
    return folder


def echo_config(config_type="TYPE_FP32", max_batch_size=0, extra=""):
    return (f'backend: "echo" max_batch_size: {max_batch_size}\n' + tensor_config("input", "INPUT0", config_type, [-1]) +
            tensor_config("output", "OUTPUT0", config_type, [-1]) + extra)


REPEAT_CONFIG = ('backend: "repeat" model_transaction_policy { decoupled: true }\n' +
                 "".join(tensor_config("input", name, "TYPE_INT32", dims) for name, dims in (("IN", [-1]), ("DELAY_MS", [1]))) +
                 "".join(tensor_config("output", name, "TYPE_INT32", [1]) for name in ("OUT", "IDX")))

# An instance for each sequence: none of them waits for another one's end.
ACCUMULATE_CONFIG = ('backend: "accumulate" instance_group { count: 2 kind: KIND_CPU }\n' + tensor_config("input", "INPUT", "TYPE_INT32", [1]) +
                     tensor_config("output", "OUTPUT", "TYPE_INT32", [1]) + """
sequence_batching { max_sequence_idle_microseconds: 60000000 state [ {
  input_name: "SUM_IN" output_name: "SUM_OUT" data_type: TYPE_INT32 dims: [ 1 ]
  initial_state { data_type: TYPE_INT32 dims: [ 1 ] zero_data: true name: "zero" }
} ] }
""")


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    write_model(root, "numbers", echo_config())
    write_model(root, "texts", echo_config("TYPE_STRING"))
    write_model(root, "batched", echo_config(max_batch_size=8, extra="dynamic_batching { max_queue_delay_microseconds: 2000 }"))
    write_model(root, "repeat", REPEAT_CONFIG)
    write_model(root, "accumulate", ACCUMULATE_CONFIG)
    for model in ("numbers", "texts", "nobody"):
        write_model(root, f"asks_{model}", 'backend: "bls"\n' + tensor_config("input", "INPUT0", "TYPE_FP32", [-1]) +
                    tensor_config("output", "OUTPUT0", "TYPE_FP32", [-1]))
    return root


@pytest.fixture(scope="module")
def server(repository, directory, tmp_path_factory):
    with Server(repository, manifest=write_manifest(tmp_path_factory.mktemp("manifest"), directory)) as running:
        running.wait_ready()
        yield running


def client_of(server, protocol):
    return server.client() if protocol == "grpc" else server.http_client()


def echo(client, protocol, model, values, datatype):
    tensor = MODULES[protocol].InferInput("INPUT0", list(values.shape), datatype)
    tensor.set_data_from_numpy(values)
    return client.infer(model, [tensor]).as_numpy("OUTPUT0")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_sent_comes_back(server, protocol):
    with client_of(server, protocol) as client:
        numbers = np.arange(1000, dtype=np.float32)
        assert np.array_equal(echo(client, protocol, "numbers", numbers, "FP32"), numbers)
        texts = np.array([b"", b"one", b"x" * 5000], dtype=np.object_)
        assert np.array_equal(echo(client, protocol, "texts", texts, "BYTES"), texts)
        empty = np.zeros(0, np.float32)
        assert echo(client, protocol, "numbers", empty, "FP32").shape == (0,)


def test_requests_share_batches_and_are_counted(server):
    with server.client() as client:
        answers = queue.Queue()
        for i in range(40):
            tensor = grpcclient.InferInput("INPUT0", [1, 3], "FP32")
            tensor.set_data_from_numpy(np.full((1, 3), i, np.float32))
            client.async_infer("batched", [tensor], lambda result, error, i=i: answers.put((i, result, error)))
        for _ in range(40):
            i, result, error = answers.get(timeout=60)
            assert error is None
            assert result.as_numpy("OUTPUT0").tolist() == [[i] * 3]

        def counted():
            stats = client.get_inference_statistics("batched").model_stats[0]
            return stats.inference_count == 40 and \
                sum(batch.batch_size * batch.compute_infer.count for batch in stats.batch_stats) == 40 and \
                stats.execution_count == sum(batch.compute_infer.count for batch in stats.batch_stats)
        eventually(counted)


def test_a_stream_of_responses(server):
    answers = queue.Queue()
    with server.client() as client:
        client.start_stream(lambda result, error: answers.put((result, error)))
        values, delay = grpcclient.InferInput("IN", [3], "INT32"), grpcclient.InferInput("DELAY_MS", [1], "INT32")
        values.set_data_from_numpy(np.array([7, -8, 9], np.int32))
        delay.set_data_from_numpy(np.array([5], np.int32))
        client.async_stream_infer("repeat", [values, delay], enable_empty_final_response=True)
        got = []
        while True:
            result, error = answers.get(timeout=60)
            assert error is None
            if result.get_response().parameters["triton_final_response"].bool_param:
                break
            got.append((int(result.as_numpy("OUT")[0]), int(result.as_numpy("IDX")[0])))
        assert got == [(7, 0), (-8, 1), (9, 2)]
        client.stop_stream()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_sequences_have_their_state(server, protocol):
    with client_of(server, protocol) as client:
        sums = {11: 0, 12: 0}
        for step in range(5):
            for sequence in sums:
                value = sequence + step
                tensor = MODULES[protocol].InferInput("INPUT", [1], "INT32")
                tensor.set_data_from_numpy(np.array([value], np.int32))
                result = client.infer("accumulate", [tensor], sequence_id=sequence, sequence_start=step == 0,
                                      sequence_end=step == 4)
                sums[sequence] += value
                assert result.as_numpy("OUTPUT").tolist() == [sums[sequence]]


def test_a_bad_request_is_answered(server):
    with server.client() as client:
        tensor = grpcclient.InferInput("INPUT", [1], "INT32")
        tensor.set_data_from_numpy(np.array([1], np.int32))
        with pytest.raises(InferenceServerException, match="must specify the START flag on the first request"):
            client.infer("accumulate", [tensor], sequence_id=99)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_backend_asks_another_model(server, protocol):
    with client_of(server, protocol) as client:
        for size in (0, 1, 1000):
            numbers = np.arange(size, dtype=np.float32)
            assert np.array_equal(echo(client, protocol, "asks_numbers", numbers, "FP32"), numbers)
        with pytest.raises(InferenceServerException, match="'FP32', but model 'texts' expects 'BYTES'"):
            echo(client, protocol, "asks_texts", np.ones(2, np.float32), "FP32")
        with pytest.raises(InferenceServerException, match="'nobody' is not found"):
            echo(client, protocol, "asks_nobody", np.ones(2, np.float32), "FP32")


def config_of(backend):
    return json.dumps({"backend": backend, "input": [{"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [4]}],
                       "output": [{"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [4]}]})


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_loads_unloads_and_files_that_are_replaced(tmp_path, protocol):
    directory = tmp_path / "backends"
    put_backend(directory, "identity", "echo")
    write_model(tmp_path / "models", "m")
    with Server(tmp_path / "models", EXPLICIT, manifest=write_manifest(tmp_path, directory)) as server, \
            Control(server, protocol) as control:
        for _ in range(3):
            control.load("m", config_of("echo"))
            assert control.infer("m", 3.0) == ("1", 3.0)
            control.unload("m")
        control.load("m", config_of("echo"))
        put_backend(directory, "identity", "echo")
        write_model(tmp_path / "models", "n")
        control.load("n", config_of("echo"))
        server.wait_for_line("its file was replaced")
        for model in ("m", "n"):
            assert control.infer(model, 5.0) == ("1", 5.0)
        with pytest.raises(InferenceServerException, match="unable to find backend library for backend 'nowhere'"):
            control.load("n", config_of("nowhere"))
        assert control.infer("n", 6.0) == ("1", 6.0)


def test_what_no_library_is_is_a_reason(tmp_path):
    folder = tmp_path / "backends" / "broken"
    folder.mkdir(parents=True)
    (folder / "libtriton_broken.so").write_text("no shared object, but long enough to look like a file of some kind\n" * 9)
    write_model(tmp_path / "models", "m")
    with Server(tmp_path / "models", EXPLICIT, manifest=write_manifest(tmp_path, tmp_path / "backends")) as server, \
            Control(server, "grpc") as control:
        with pytest.raises(InferenceServerException, match="unable to load shared library: .*invalid ELF header"):
            control.load("m", config_of("broken"))


def test_a_directory_that_is_named_later_serves_what_waited(tmp_path, directory):
    repository = tmp_path / "models"
    write_model(repository, "m", echo_config())
    path = write_manifest(tmp_path)
    with Server(repository, manifest=path) as server:
        with server.client() as client:
            eventually(lambda: client.get_model_repository_index().models[0].state == "UNAVAILABLE")
            write_manifest(tmp_path, directory)
            server.process.send_signal(signal.SIGHUP)
            server.wait_for_line(r"reloaded: generation")
            server.wait_ready("m")
            assert echo(client, "grpc", "m", np.ones(2, np.float32), "FP32").tolist() == [1, 1]
