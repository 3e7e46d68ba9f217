"""The request of each case, as the bytes that go over the wire, and the check of an answer."""

import dataclasses
import json
import os
import struct

import numpy as np
from tritonclient.grpc import service_pb2

from . import cases

INFER = "/inference.GRPCInferenceService/ModelInfer"
STREAM_INFER = "/inference.GRPCInferenceService/ModelStreamInfer"
LARGE_ELEMENTS = 1 << 18
INPUT_REGION, OUTPUT_REGION = "bench_input", "bench_output"
HEAD_LENGTH = "Inference-Header-Content-Length"


class WrongAnswer(Exception):
    """A server answered something else than it had to."""


@dataclasses.dataclass(frozen=True)
class Request:
    """`body` has no gRPC head; `path` is of the URL."""
    path: str
    body: bytes
    headers: tuple = ()


@dataclasses.dataclass(frozen=True)
class Tensor:
    name: str
    values: np.ndarray

    @property
    def bytes(self):
        return self.values.tobytes()


def region_object(region):
    """The name of the shared-memory object behind a region; another one in each run."""
    return f"{region}-{os.getpid()}"


def grpc_frame(body):
    return struct.pack(">BI", 0, len(body)) + body


class Workload:
    """One model's input and the outputs it has to give; the same for every peer."""

    def __init__(self, model, tensor, expected, output_names):
        self.model = model
        self.input = tensor
        self._expected = expected
        self._output_names = output_names

    def request(self, protocol):
        if protocol in (cases.GRPC, cases.STREAM, cases.ONE_STREAM):
            return Request(INFER if protocol == cases.GRPC else STREAM_INFER, self._grpc().SerializeToString())
        if protocol == cases.SHM:
            return Request(INFER, self._shared_memory().SerializeToString())
        return self._http(binary=protocol == cases.HTTP)

    def _grpc(self, raw=True):
        request = service_pb2.ModelInferRequest(model_name=self.model)
        request.inputs.add(name=self.input.name, datatype="FP32", shape=self.input.values.shape)
        if raw:
            request.raw_input_contents.append(self.input.bytes)
        return request

    def _shared_memory(self):
        request = self._grpc(raw=False)
        output = request.outputs.add(name=self._output_names[0])
        for tensor, region in ((request.inputs[0], INPUT_REGION), (output, OUTPUT_REGION)):
            tensor.parameters["shared_memory_region"].string_param = region
            tensor.parameters["shared_memory_byte_size"].int64_param = self.input.values.nbytes
        return request

    def grpc_answer(self):
        """As a server would give it."""
        response = service_pb2.ModelInferResponse(model_name=self.model, model_version="1")
        response.outputs.add(name=self._output_names[0], datatype="FP32", shape=self.input.values.shape)
        response.raw_output_contents.append(self.input.bytes)
        return grpc_frame(response.SerializeToString())

    def _http(self, binary):
        tensor = {"name": self.input.name, "shape": list(self.input.values.shape), "datatype": "FP32"}
        path = f"/v2/models/{self.model}/infer"
        if not binary:
            tensor["data"] = self.input.values.ravel().tolist()
            body = json.dumps({"inputs": [tensor]}, separators=(",", ":")).encode()
            return Request(path, body, (("Content-Type", "application/json"),))
        tensor["parameters"] = {"binary_data_size": self.input.values.nbytes}
        outputs = [{"name": name, "parameters": {"binary_data": True}} for name in self._output_names]
        head = json.dumps({"inputs": [tensor], "outputs": outputs}, separators=(",", ":")).encode()
        return Request(path, head + self.input.bytes,
                       (("Content-Type", "application/octet-stream"), (HEAD_LENGTH, str(len(head)))))

    def check(self, protocol, answer, headers, region):
        """Raises WrongAnswer. `headers` are HTTP's, by lower-case name; `region` is the memory for the output."""
        outputs = {cases.GRPC: lambda: _of_grpc(service_pb2.ModelInferResponse.FromString(answer)),
                   cases.ONE_STREAM: lambda: _of_stream(service_pb2.ModelStreamInferResponse.FromString(answer)),
                   cases.STREAM: lambda: _of_stream(service_pb2.ModelStreamInferResponse.FromString(answer)),
                   cases.HTTP: lambda: _of_http(answer, headers),
                   cases.JSON: lambda: _of_json(json.loads(answer)),
                   cases.SHM: lambda: {self._output_names[0]: np.frombuffer(region, np.float32)}}[protocol]()
        self._expected(outputs)


def _numpy_type(datatype):
    return {"FP32": np.float32, "INT64": np.int64}[datatype]


def _of_grpc(response):
    if response.raw_output_contents:
        return {output.name: np.frombuffer(raw, _numpy_type(output.datatype))
                for output, raw in zip(response.outputs, response.raw_output_contents)}
    return {output.name: np.array(output.contents.fp32_contents or output.contents.int64_contents,
                                  _numpy_type(output.datatype)) for output in response.outputs}


def _of_stream(response):
    if response.error_message:
        raise WrongAnswer(response.error_message)
    return _of_grpc(response.infer_response)


def _of_json(document):
    return {output["name"]: np.array(output["data"], _numpy_type(output["datatype"])).ravel()
            for output in document["outputs"]}


def _of_http(answer, headers):
    head_size = int(headers.get(HEAD_LENGTH.lower(), 0))
    if head_size == 0:
        raise WrongAnswer(f"no {HEAD_LENGTH} in the answer")
    outputs, offset = {}, head_size
    for output in json.loads(answer[:head_size])["outputs"]:
        size = output["parameters"]["binary_data_size"]
        outputs[output["name"]] = np.frombuffer(answer[offset:offset + size], _numpy_type(output["datatype"]))
        offset += size
    return outputs


def _identity(model, elements):
    values = np.random.default_rng(1).standard_normal(elements, dtype=np.float32)

    def expected(outputs):
        if list(outputs) != ["OUTPUT0"] or not np.array_equal(outputs["OUTPUT0"], values):
            raise WrongAnswer(f"{model}: OUTPUT0 is not INPUT0, the outputs are {sorted(outputs)}")
    return Workload(model, Tensor("INPUT0", values), expected, ["OUTPUT0"])


def _digits(model, image, probabilities):
    def expected(outputs):
        if sorted(outputs) != ["label", "probabilities"]:
            raise WrongAnswer(f"{model}: the outputs are {sorted(outputs)}")
        if not np.allclose(outputs["probabilities"], probabilities, atol=1e-4):
            raise WrongAnswer(f"{model}: wrong probabilities {outputs['probabilities']}")
        if list(outputs["label"]) != [int(np.argmax(probabilities))]:
            raise WrongAnswer(f"{model}: wrong label {outputs['label']}")
    return Workload(model, Tensor("image", image), expected, ["probabilities", "label"])


def workloads(digits_image, digits_probabilities):
    """By the model's name. The image is FP32 [1, 64]."""
    made = [_identity(model, 16) for model in ("identity", "identity_chain", *cases.OWN_MODELS)]
    made += [_identity(model, 16) for model in (cases.PYTHON, cases.PYTHON_BUSY)]
    made += [_identity(model, LARGE_ELEMENTS) for model in ("identity_1mb", cases.PYTHON_LARGE)]
    made += [_digits(model, digits_image, digits_probabilities) for model in ("digits", "digits_dynamic")]
    return {workload.model: workload for workload in made}
