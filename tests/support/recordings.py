"""Recordings of telemetry/recorder: servers that make them, traffic for them, and what is in them."""

import functools
import importlib.util
import json
import pathlib
import queue
import shutil
import subprocess
import sys
import tempfile
import uuid

import numpy as np
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
import tritonclient.utils.shared_memory as shm
from support import http_call, models
from support.server import ROOT, Server

PROTO = ROOT / "sdk" / "lib" / "recording" / "recording.proto"
SEQUENCE_CONFIG = ("sequence_batching { max_sequence_idle_microseconds: 600000000 state { input_name: \"SUM_IN\" output_name: \"SUM_OUT\""
                   " data_type: TYPE_FP32 dims: [ 1 ] } control_input { name: \"START\" control { kind: CONTROL_SEQUENCE_START"
                   " fp32_false_true: [ 0, 1 ] } } control_input { name: \"CORRID\" control { kind: CONTROL_SEQUENCE_CORRID"
                   " data_type: TYPE_INT64 } } }")


@functools.cache
def messages():
    """The messages of the recording's file, as Python classes."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="atoll-recording-"))
    try:
        subprocess.run(["protoc", f"--python_out={folder}", f"-I{PROTO.parent}", PROTO.name], check=True)
        spec = importlib.util.spec_from_file_location("recording_pb2", folder / "recording_pb2.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module
    finally:
        shutil.rmtree(folder)


def read(path):
    """The entries of a file, the header first."""
    data, at, entries = pathlib.Path(path).read_bytes(), 0, []
    while at < len(data):
        size = shift = 0
        while True:
            byte = data[at]
            size, shift, at = size | (byte & 0x7F) << shift, shift + 7, at + 1
            if byte < 0x80:
                break
        assert at + size <= len(data), "the file breaks off"
        entries.append(messages().Entry.FromString(data[at:at + size]))
        at += size
    return entries


def write(path, entries):
    """The opposite."""
    data = bytearray()
    for entry in entries:
        body = entry.SerializeToString()
        size = len(body)
        while size > 0x7F:
            data.append(size & 0x7F | 0x80)
            size >>= 7
        data.append(size)
        data += body
    pathlib.Path(path).write_bytes(data)


def of_kind(entries, kind):
    return [getattr(entry, kind) for entry in entries if entry.WhichOneof("kind") == kind]


def write_models(repository, constant=1):
    """`add` (what it adds tells of which repository it is), `texts`, the decoupled `repeat`, and `sums`, which adds up each sequence."""
    models.write_add(repository, "add", constant)
    models.write_model(repository, "texts", models.identity_config("texts", "TYPE_STRING", dims=(-1,)))
    models.write_model(repository, "repeat", models.REPEAT_CONFIG)
    models.write_model(repository, "sums", 'name: "sums" backend: "onnxruntime" max_batch_size: 4\n'
                       + models.tensor_config("input", "INPUT", "TYPE_FP32", (1,))
                       + models.tensor_config("output", "OUTPUT", "TYPE_FP32", (1,)) + SEQUENCE_CONFIG,
                       files={"model.onnx": models.onnx_accumulate()})


def recording_server(repository, file, *settings):
    """A server that serves the models of write_models(), and records into the file unless that is None."""
    recorder = ('plugin.recorder.use="telemetry/recorder"', f'plugin.recorder.recording_file="{file}"') if file else ()
    return Server(repository, 'plugin.repeat.use="backends/repeat"', 'plugin.shared.use="memory/shared"', "plugin.shared.allow_client_shm=true",
                  *recorder, *settings)


def add_input(module, values):
    tensor = module.InferInput("INPUT0", [4], "FP32")
    tensor.set_data_from_numpy(np.array(values, np.float32))
    return tensor


def infer_texts(client, module, texts, **options):
    array = np.array(texts, np.object_)
    tensor = module.InferInput("INPUT0", list(array.shape), "BYTES")
    tensor.set_data_from_numpy(array)
    return client.infer("texts", [tensor], **options)


def infer_sum(client, module, value, sequence, **flags):
    tensor = module.InferInput("INPUT", [1, 1], "FP32")
    tensor.set_data_from_numpy(np.array([[value]], np.float32))
    return client.infer("sums", [tensor], sequence_id=sequence, **flags).as_numpy("OUTPUT")[0][0]


def repeat_inputs(values, delay_ms=0):
    given = {"IN": np.array(values, np.int32), "DELAY": np.full(len(values), delay_ms, np.uint32), "WAIT": np.array([0], np.uint32)}
    inputs = []
    for name, array in given.items():
        tensor = grpcclient.InferInput(name, list(array.shape), "INT32" if name == "IN" else "UINT32")
        tensor.set_data_from_numpy(array)
        inputs.append(tensor)
    return inputs


def stream_repeat(client, requests):
    """Each list of values is a request on one stream. Waits for all answers."""
    answers = queue.Queue()
    client.start_stream(lambda result, error: answers.put((result, error)))
    for i, values in enumerate(requests):
        client.async_stream_infer("repeat", repeat_inputs(values), request_id=f"stream-{i}", enable_empty_final_response=True)
    finals = 0
    while finals < len(requests):
        result, error = answers.get(timeout=60)
        assert error is None, error
        finals += result.get_response().parameters["triton_final_response"].bool_param
    client.stop_stream()


def infer_shared(client, module, values):
    """The input comes from a region of shared memory, the output goes to one."""
    array = np.array(values, np.float32)
    key = f"/atoll-recording-{uuid.uuid4().hex[:12]}"
    region = shm.create_shared_memory_region(key, key, 2 * array.nbytes)
    try:
        shm.set_shared_memory_region(region, [array])
        client.register_system_shared_memory("recorded", key, 2 * array.nbytes)
        tensor = module.InferInput("INPUT0", [4], "FP32")
        tensor.set_shared_memory("recorded", array.nbytes)
        output = module.InferRequestedOutput("OUTPUT0")
        output.set_shared_memory("recorded", array.nbytes, array.nbytes)
        client.infer("add", [tensor], outputs=[output])
        client.unregister_system_shared_memory("recorded")
        # The recording has what was there, whatever is there now.
        shm.set_shared_memory_region(region, [np.zeros(8, np.float32)])
    finally:
        shm.destroy_shared_memory_region(region)


def send_traffic(server):
    """Something of everything. \\returns how many requests"""
    with server.client() as client, server.http_client() as http:
        http.infer("add", [add_input(httpclient, [1, 2, 3, 4])], request_id="by-http", headers={"authorization": "Bearer opensesame"})
        http.infer("add", [add_input(httpclient, [5, 6, 7, 8])], parameters={"mood": "good", "count": 3}, priority=2, timeout=5_000_000)
        client.infer("add", [add_input(grpcclient, [1, 1, 1, 1])], request_id="by-grpc", model_version="1", client_timeout=60,
                     headers={"authorization": "Bearer opensesame"})
        infer_texts(client, grpcclient, ["", "a", "grüße", "x" * 1000])
        infer_texts(http, httpclient, ["b"])
        infer_shared(client, grpcclient, [9, 9, 9, 9])
        for module, one in ((grpcclient, client), (httpclient, http)):
            sequence = 7 if one is client else 8
            assert infer_sum(one, module, 1, sequence, sequence_start=True) == 1
            assert infer_sum(one, module, 2, sequence) == 3
            assert infer_sum(one, module, 3, sequence, sequence_end=True) == 6
        stream_repeat(client, [[1, 2, 3], [], [4]])
    answer = http_call.call("POST", f"http://{server.http_address}/v2/models/repeat/generate_stream",
                            json.dumps({"id": "generated", "IN": [8, 9], "DELAY": [0, 0], "WAIT": [0]}))
    assert (answer.status, answer.text.count("data: ")) == (200, 2), answer.text
    return 6 + 6 + 3 + 1
