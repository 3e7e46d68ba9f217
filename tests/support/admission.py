"""Requests that are admitted, wait or are refused, over either protocol and with everything that is said about it."""

import contextlib
import http.client
import json
import time
import urllib.request

import grpc
import numpy as np
from support import calls, models
from support.server import START_TIMEOUT_S, Server
from tritonclient.grpc import service_pb2, service_pb2_grpc

HOUR_MS = 3_600_000


def write_models(root):
    """"fast" answers at once, "hour" takes an hour or until it is cancelled, and "tens" 10 ms."""
    for name, delay in (("fast", 0), ("hour", HOUR_MS), ("tens", 10)):
        extra = "instance_group [ { count: 4 kind: KIND_CPU } ]\n"
        extra += f'parameters {{ key: "execute_delay_ms" value {{ string_value: "{delay}" }} }}\n' if delay else ""
        models.write_model(root, name, models.identity_config(name, extra=extra))
    return root


@contextlib.contextmanager
def serving(repository, *options):
    """A server with these options of the plugin, whose clients name their tenant in x-tenant."""
    settings = ['plugin.quotas.use="admission/quotas"', 'plugin.grpc.tenant_header="x-tenant"',
                'plugin.http.tenant_header="x-tenant"', *(f"plugin.quotas.{option}" for option in options)]
    with Server(repository, *settings) as server:
        yield server.wait_ready()


def headers_of(tenant):
    return {"x-tenant": tenant} if tenant else {}


class Calls(calls.Calls):
    """Of one value each, which is its key, too."""

    def send(self, model, value, tenant="", **options):
        return super().send(model, [value], value, headers=headers_of(tenant), **options)

    def answer(self):
        """(value that was sent, value that came back or None, error or None) of the next one that ends"""
        value, result, error = self.next()
        return value, None if result is None else result.as_numpy("OUTPUT0").item(), error


def ask_http(server, model, tenant="", parameters=None, extra_headers=(), path=None):
    """(status, Retry-After or None, the answer as an object)"""
    body = {"inputs": [{"name": "INPUT0", "datatype": "FP32", "shape": [1], "data": [1.5]}]}
    if parameters:
        body["parameters"] = parameters
    connection = http.client.HTTPConnection(server.http_address, timeout=START_TIMEOUT_S)
    try:
        connection.putrequest("POST", path or f"/v2/models/{model}/infer")
        data = json.dumps(body).encode()
        for name, value in [*headers_of(tenant).items(), *extra_headers, ("Content-Length", str(len(data)))]:
            connection.putheader(name, value)
        connection.endheaders(data)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Retry-After"), json.loads(answer.read())
    finally:
        connection.close()


def infer_message(model):
    message = service_pb2.ModelInferRequest(model_name=model)
    message.inputs.add(name="INPUT0", datatype="FP32", shape=[1])
    message.raw_input_contents.append(np.array([1.5], np.float32).tobytes())
    return message


def refused_grpc(server, model, tenant=""):
    """(name of the code, text, trailing metadata) of a request that has to be refused"""
    metadata = tuple(headers_of(tenant).items())
    with grpc.insecure_channel(server.address) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        try:
            stub.ModelInfer(infer_message(model), metadata=metadata, timeout=START_TIMEOUT_S)
        except grpc.RpcError as error:
            return error.code().name, error.details(), dict(error.trailing_metadata())
    raise AssertionError(f"a request for {model} of tenant '{tenant}' was answered")


def metric(server, name, **labels):
    """The value of a sample, or None."""
    line = name + ("{" + ",".join(f'{key}="{value}"' for key, value in sorted(labels.items())) + "} " if labels else " ")
    url = f"http://{server.metrics_address}/metrics"
    text = urllib.request.urlopen(url, timeout=START_TIMEOUT_S).read().decode()
    values = [float(found[len(line):]) for found in text.splitlines() if found.startswith(line)]
    return values[0] if values else None


def wait_metric(server, value, name, **labels):
    deadline = time.monotonic() + START_TIMEOUT_S
    while (found := metric(server, name, **labels)) != value:
        assert time.monotonic() < deadline, f"{name} {labels} is {found}, not {value}"


def wait_running(server, count, tenant):
    wait_metric(server, count, "atoll_admission_running", tenant=tenant)


def wait_waiting(server, count, tenant):
    wait_metric(server, count, "atoll_admission_waiting", tenant=tenant)
