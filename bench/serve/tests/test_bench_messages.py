"""The checks of answers: a right one passes, a wrong one does not."""

import json

import numpy as np
import pytest
from tritonclient.grpc import service_pb2

from comparison import cases, messages

IMAGE = np.zeros((1, 64), np.float32)
PROBABILITIES = np.array([0, 0.1, 0, 0.8, 0.1, 0, 0, 0, 0, 0], np.float32)
WORKLOADS = messages.workloads(IMAGE, PROBABILITIES)
IDENTITY = WORKLOADS["identity"]
VALUES = IDENTITY.input.values


def grpc_answer(outputs):
    response = service_pb2.ModelInferResponse(model_name="m", model_version="1")
    for name, datatype, values in outputs:
        response.outputs.add(name=name, datatype=datatype, shape=values.shape)
        response.raw_output_contents.append(values.tobytes())
    return response


def http_answer(values):
    head = json.dumps({"outputs": [{"name": "OUTPUT0", "datatype": "FP32", "shape": [16],
                                    "parameters": {"binary_data_size": values.nbytes}}]}).encode()
    return head + values.tobytes(), {"inference-header-content-length": str(len(head))}


def json_answer(values):
    return json.dumps({"outputs": [{"name": "OUTPUT0", "datatype": "FP32", "shape": [16],
                                    "data": values.tolist()}]}).encode()


def check_identity(protocol, values):
    unary = grpc_answer([("OUTPUT0", "FP32", values)])
    if protocol == cases.GRPC:
        IDENTITY.check(protocol, unary.SerializeToString(), {}, None)
    elif protocol == cases.STREAM:
        stream = service_pb2.ModelStreamInferResponse(infer_response=unary)
        IDENTITY.check(protocol, stream.SerializeToString(), {}, None)
    elif protocol == cases.HTTP:
        IDENTITY.check(protocol, *http_answer(values), None)
    elif protocol == cases.JSON:
        IDENTITY.check(protocol, json_answer(values), {}, None)
    else:
        IDENTITY.check(protocol, unary.SerializeToString(), {}, values.tobytes())


PROTOCOLS = (cases.GRPC, cases.STREAM, cases.HTTP, cases.JSON, cases.SHM)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_identity(protocol):
    check_identity(protocol, VALUES)
    wrong = VALUES.copy()
    wrong[15] += 1
    with pytest.raises(messages.WrongAnswer):
        check_identity(protocol, wrong)


def test_error_in_a_stream():
    answer = service_pb2.ModelStreamInferResponse(error_message="no").SerializeToString()
    with pytest.raises(messages.WrongAnswer, match="no"):
        IDENTITY.check(cases.STREAM, answer, {}, None)


def test_empty_answer():
    with pytest.raises(messages.WrongAnswer):
        IDENTITY.check(cases.GRPC, b"", {}, None)


@pytest.mark.parametrize("label, probabilities, right", [
    (3, PROBABILITIES, True), (4, PROBABILITIES, False), (3, PROBABILITIES[::-1].copy(), False)])
def test_digits(label, probabilities, right):
    answer = grpc_answer([("probabilities", "FP32", probabilities), ("label", "INT64", np.array([label]))])
    if right:
        WORKLOADS["digits"].check(cases.GRPC, answer.SerializeToString(), {}, None)
    else:
        with pytest.raises(messages.WrongAnswer):
            WORKLOADS["digits"].check(cases.GRPC, answer.SerializeToString(), {}, None)


def test_requests_carry_the_tensor():
    request = service_pb2.ModelInferRequest.FromString(IDENTITY.request(cases.GRPC).body)
    assert list(request.raw_input_contents) == [VALUES.tobytes()]
    shared = service_pb2.ModelInferRequest.FromString(WORKLOADS["identity_1mb"].request(cases.SHM).body)
    assert not shared.raw_input_contents
    assert shared.inputs[0].parameters["shared_memory_byte_size"].int64_param == 1 << 20
    binary = IDENTITY.request(cases.HTTP)
    head_size = int(dict(binary.headers)[messages.HEAD_LENGTH])
    assert json.loads(binary.body[:head_size])["inputs"][0]["parameters"] == {"binary_data_size": 64}
    assert binary.body[head_size:] == VALUES.tobytes()


def test_frame():
    assert messages.grpc_frame(b"abc") == b"\0\0\0\0\3abc"
