"""Bad requests: the documented code and text, and nobody else is harmed. Triton's own server program over libtritonserver.so
answers the same, but for what is an option of our frontends."""

import grpc
import numpy as np
import pytest
from support import models
from support.server import MEMORY_SLACK_BYTES, usage
from support.triton_program import FRONTENDS, SERVERS, start
from tritonclient.grpc import service_pb2, service_pb2_grpc

NOTE = ("NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each "
        "input shape. If you want to specify the full shape including the batch dim in your input dims config, try "
        "setting max_batch_size to zero. See the model configuration docs for more info on max_batch_size.")


@pytest.fixture(scope="module", params=SERVERS)
def server(request, tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    models.write_model(repository, "plain", models.identity_config("plain", dims=(4,), pairs=2))
    models.write_model(repository, "batch", models.identity_config("batch", dims=(4,), max_batch_size=8))
    models.write_model(repository, "text", models.identity_config("text", "TYPE_STRING", dims=(-1,)))
    models.write_model(repository, "any", models.identity_config("any", dims=(-1,)))
    with start(request.param, repository, 'plugin.grpc.max_message_bytes="8MiB"') as running:
        yield running.wait_ready()


@pytest.fixture(scope="module")
def channel(server):
    options = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(server.address, options=options) as channel:
        yield channel


@pytest.fixture(autouse=True)
def unharmed(server, channel):
    """After every case the same process serves another client right."""
    yield
    array = np.arange(4, dtype=np.float32)
    request = service_pb2.ModelInferRequest(model_name="any", raw_input_contents=[array.tobytes()])
    request.inputs.add(name="INPUT0", datatype="FP32", shape=[4])
    with grpc.insecure_channel(server.address) as probe:
        response = service_pb2_grpc.GRPCInferenceServiceStub(probe).ModelInfer(request)
    assert response.raw_output_contents[0] == array.tobytes()
    assert server.process.poll() is None


def request(model, *inputs, outputs=(), **fields):
    """inputs: (name, datatype, shape, bytes or None)"""
    message = service_pb2.ModelInferRequest(model_name=model, **fields)
    for name, datatype, shape, raw in inputs:
        message.inputs.add(name=name, datatype=datatype, shape=shape)
        if raw is not None:
            message.raw_input_contents.append(raw)
    for name in outputs:
        message.outputs.add(name=name)
    return message


def error(channel, message):
    with pytest.raises(grpc.RpcError) as caught:
        service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer(message, timeout=30)
    return caught.value.code().name, caught.value.details()


F4 = bytes(16)
A = ("INPUT0", "FP32", [4], F4)
B = ("INPUT1", "FP32", [4], F4)
X = ("INPUT0", "FP32", [2, 4], bytes(32))

CASES = {
    "unknown model": (request("nope", A), "NOT_FOUND", "Request for unknown model: 'nope' is not found"),
    "unknown version": (request("plain", A, B, model_version="9"), "NOT_FOUND",
                        "Request for unknown model: 'plain' version 9 is not found"),
    "version text": (request("plain", A, B, model_version="one"), "INVALID_ARGUMENT",
                     "failed to get model version from specified version string 'one' (details: stol), "
                     "version should be an integral value > 0"),
    "negative version": (request("plain", A, B, model_version="-3"), "INVALID_ARGUMENT",
                         "invalid model version specified '-3' , version should be an integral value > 0"),
    "missing input": (request("plain", A), "INVALID_ARGUMENT",
                      "[request id: <id_unknown>] expected 2 inputs but got 1 inputs for model 'plain'. Got input(s) "
                      "['INPUT0'], but missing required input(s) ['INPUT1']. Please provide all required input(s)."),
    "unknown input": (request("plain", A, ("INPUT7", "FP32", [4], F4)), "INVALID_ARGUMENT",
                      "unexpected inference input 'INPUT7' for model 'plain'"),
    "input twice": (request("plain", A, A, id="7"), "INVALID_ARGUMENT",
                    "[request id: 7] input 'INPUT0' already exists in request"),
    "unknown output": (request("plain", A, B, outputs=["OUTPUT9"]), "INVALID_ARGUMENT",
                       "unexpected inference output 'OUTPUT9' for model 'plain'"),
    "datatype": (request("plain", ("INPUT0", "INT32", [4], F4), B), "INVALID_ARGUMENT",
                 "[request id: <id_unknown>] inference input 'INPUT0' data-type is 'INT32', but model 'plain' "
                 "expects 'FP32'"),
    "datatype that is none": (request("plain", ("INPUT0", "FP31", [4], F4), B), "INVALID_ARGUMENT",
                              "[request id: <id_unknown>] inference input 'INPUT0' data-type is '<invalid>', but model "
                              "'plain' expects 'FP32'"),
    "shape": (request("plain", ("INPUT0", "FP32", [5], bytes(20)), B), "INVALID_ARGUMENT",
              "[request id: <id_unknown>] unexpected shape for input 'INPUT0' for model 'plain'. Expected [4], got [5]. "),
    "shape of a batch": (request("batch", ("INPUT0", "FP32", [2, 5], bytes(40)), id="b"), "INVALID_ARGUMENT",
                         "[request id: b] unexpected shape for input 'INPUT0' for model 'batch'. Expected [-1,4], got "
                         "[2,5]. " + NOTE),
    "no batch dimension": (request("batch", ("INPUT0", "FP32", [], F4)), "INVALID_ARGUMENT",
                           "[request id: <id_unknown>] input 'INPUT0' has no shape but model requires batch dimension for "
                           "'batch'"),
    "batch too large": (request("batch", ("INPUT0", "FP32", [9, 4], bytes(144))), "INVALID_ARGUMENT",
                        "[request id: <id_unknown>] inference request batch-size must be <= 8 for 'batch'"),
    "negative dimension": (request("any", ("INPUT0", "FP32", [-1], F4)), "INVALID_ARGUMENT",
                           "[request id: <id_unknown>] All input dimensions should be specified for input 'INPUT0' for "
                           "model 'any', got [-1]"),
    "too few bytes": (request("plain", ("INPUT0", "FP32", [4], bytes(12)), B), "INVALID_ARGUMENT",
                      "[request id: <id_unknown>] input byte size mismatch for input 'INPUT0' for model 'plain'. Expected "
                      "16, got 12"),
    "too many bytes": (request("batch", ("INPUT0", "FP32", [2, 4], bytes(36))), "INVALID_ARGUMENT",
                       "[request id: <id_unknown>] input byte size mismatch for input 'INPUT0' for model 'batch'. Expected "
                       "32, got 36"),
    "no data": (request("any", ("INPUT0", "FP32", [4], None)), "INVALID_ARGUMENT",
                "unable to find data for input tensor 'INPUT0' for model 'any' in request."),
    "too few strings": (request("text", ("INPUT0", "BYTES", [2], b"\x01\0\0\0a")), "INVALID_ARGUMENT",
                        "[request id: <id_unknown>] expected 2 string elements for inference input 'INPUT0' for model "
                        "'text', got 1"),
    "too many strings": (request("text", ("INPUT0", "BYTES", [1], b"\x01\0\0\0a\0\0\0\0")), "INVALID_ARGUMENT",
                         "[request id: <id_unknown>] unexpected number of string elements 2 for inference input 'INPUT0' "
                         "for model 'text', expecting 1"),
    "cut string length": (request("text", ("INPUT0", "BYTES", [2], b"\x01\0\0\0a\x01\0")), "INVALID_ARGUMENT",
                          "[request id: <id_unknown>] incomplete string length indicator for inference input 'INPUT0' for "
                          "model 'text', expecting 4 bytes but only 2 bytes available. Please make sure the string length "
                          "indicator is in one buffer."),
    "cut string": (request("text", ("INPUT0", "BYTES", [1], b"\xff\xff\xff\xffabc")), "INVALID_ARGUMENT",
                   "incomplete string data for inference input 'INPUT0', expecting string of length 4294967295 but only 3 "
                   "bytes available"),
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_documented_answer(channel, case):
    message, code, text = CASES[case]
    assert error(channel, message) == (code, text)


def test_raw_and_typed_contents(channel):
    message = request("any", ("INPUT0", "FP32", [4], F4))
    message.inputs[0].contents.fp32_contents.extend([1, 2, 3, 4])
    assert error(channel, message) == (
        "INVALID_ARGUMENT",
        "contents field must not be specified when using raw_input_contents for 'INPUT0' for model 'any'")


def test_overflowing_shapes(channel):
    for shape in ([2**62, 2**62], [2**63 - 1], [2**33, 2**33, 4]):
        message = request("any", ("INPUT0", "FP32", shape, F4))
        code, text = error(channel, message)
        assert code == "INVALID_ARGUMENT" and "INPUT0" in text, text


def test_reserved_parameter(channel):
    message = request("any", ("INPUT0", "FP32", [4], F4))
    message.parameters["triton_secret"].bool_param = True
    assert error(channel, message) == (
        "INVALID_ARGUMENT",
        "parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with "
        "'triton_' are allowed: triton_enable_empty_final_response")


@pytest.mark.parametrize("garbage", [b"\xff" * 100, b"\x0a\xff\xff\xff\xff\x0f", b"\x2a\x05abc", bytes(1000), b"\x0b" * 5000],
                         ids=["ones", "length past the end", "cut field", "zeros", "nested groups"])
def test_garbage_instead_of_a_message(channel, garbage):
    call = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
    with pytest.raises(grpc.RpcError) as caught:
        call(garbage, timeout=30)
    assert caught.value.code().name in ("INTERNAL", "INVALID_ARGUMENT", "NOT_FOUND")
    assert caught.value.details()


@pytest.mark.parametrize("server", FRONTENDS, indirect=True)
def test_a_message_over_the_limit(channel):
    message = request("any", ("INPUT0", "FP32", [3 << 20], bytes(12 << 20)))
    assert error(channel, message)[0] == "RESOURCE_EXHAUSTED"


def test_a_method_that_does_not_exist(channel):
    call = channel.unary_unary("/inference.GRPCInferenceService/NoSuch")
    with pytest.raises(grpc.RpcError) as caught:
        call(b"", timeout=30)
    assert caught.value.code().name == "UNIMPLEMENTED"


def test_errors_leave_nothing_behind(server, channel):
    wrong = [message for message, _, _ in CASES.values()]

    def round_of_errors(count):
        for i in range(count):
            error(channel, wrong[i % len(wrong)])
        return usage(server.pid)

    before = round_of_errors(100)
    after = round_of_errors(1000)
    assert after["descriptors"] == before["descriptors"]
    assert after["threads"] <= before["threads"]
    assert after["resident_bytes"] < before["resident_bytes"] + MEMORY_SLACK_BYTES
