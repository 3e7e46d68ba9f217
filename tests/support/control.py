"""Loads, unloads and inferences over either protocol, with answers that look alike."""

import urllib.request

import numpy as np
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

PROTOCOLS = ("grpc", "http")
EXPLICIT = 'plugin.control.use="control/explicit"'
ONNX_CONFIG = '{"backend":"onnxruntime"}'
# How the message of a load begins that did not come as far as building.
POLL_FAILED = "failed to load '{}', failed to poll from model repository: "
# gRPC's code, and the HTTP status of the same error.
STATUS = {"INVALID_ARGUMENT": "400", "NOT_FOUND": "404", "UNAVAILABLE": "503", "INTERNAL": "500", "UNIMPLEMENTED": "501"}


class Control:
    """One client of one protocol. Use as a context manager, in one thread."""

    def __init__(self, server, protocol):
        self._grpc = protocol == "grpc"
        self._module = grpcclient if self._grpc else httpclient
        # Loads may take long where everything is slow.
        self.client = server.client() if self._grpc else server.http_client(network_timeout=300, connection_timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.client.close()

    def load(self, model, config=None, files=None):
        named = {f"file:{path}": content for path, content in files.items()} if files is not None else None
        self.client.load_model(model, config=config, files=named)

    def unload(self, model, dependents=False):
        self.client.unload_model(model, unload_dependents=dependents)

    def index(self):
        """{model: {version: (state, reason)}}; a model that was never loaded has the version ""."""
        index = self.client.get_model_repository_index()
        entries = ([(m.name, m.version, m.state, m.reason) for m in index.models] if self._grpc else
                   [(m["name"], m.get("version", ""), m.get("state", ""), m.get("reason", "")) for m in index])
        models = {}
        for name, version, state, reason in entries:
            models.setdefault(name, {})[version] = (state, reason)
        return models

    def infer(self, model, value=1.0, version="", **more):
        """(version that answered, what it made of the value)"""
        tensor = self._module.InferInput("INPUT0", [4], "FP32")
        tensor.set_data_from_numpy(np.full(4, value, np.float32))
        result = self.client.infer(model, [tensor], model_version=version, **more)
        response = result.get_response()
        values = set(result.as_numpy("OUTPUT0").tolist())
        assert len(values) == 1, values
        return (response.model_version if self._grpc else response["model_version"]), values.pop()

    def refusal(self, call, *arguments, **more):
        """(name of the code, message) of a call that has to fail."""
        try:
            call(*arguments, **more)
        except InferenceServerException as error:
            return code_of(error), error.message()
        raise AssertionError(f"{call.__name__}{arguments} was accepted")


def metric(server, family, label=""):
    """The sum of a family's samples with this label; None: there is none."""
    with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    values = [float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(family + "{") and label in line]
    return sum(values) if values else None


def waiting_requests(server, model):
    """Requests that wait for an instance. One that has just come to an idle instance waits, too, until the instance takes it."""
    return metric(server, "nv_inference_pending_request_count", f'model="{model}"') or 0


def await_execution(server, client, model):
    """Returns when the one request that this gRPC client has sent to the model is being executed.

    A connection's calls are taken in their order, so the request has been handed over when a later call is answered.
    """
    eventually(lambda: metric(server, "atoll_grpc_open_calls") in (1, None))  # None: a frontend without the metric
    client.is_server_live()
    eventually(lambda: waiting_requests(server, model) == 0)


def code_of(error):
    """The name of an error's code; over HTTP a status stands for the one code that is usual here."""
    status = str(error.status())
    names = {http: name for name, http in STATUS.items()}
    return status.removeprefix("StatusCode.") if status.startswith("StatusCode.") else names[status]
