"""A process that may map hardly more than it has at the start: what it has no memory for fails cleanly, and it goes on."""
import concurrent.futures
import http.client
import json
import pathlib
import resource

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support import models, python_models
from support.server import SANITIZED, Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

# A sanitizer maps terabytes of shadow memory and has an allocator that ends the process when it is refused.
MORE_MIB = [] if SANITIZED else [3, 5, 8, 12, 16, 20]
MIB = 1 << 20
CLIENTS = 12
ROUNDS = 12


def mapped_bytes(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmSize:")).split()[1]) * 1024


def set_limit(process, limit):
    resource.prlimit(process.pid, resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def infer(module, client, elements):
    tensor = module.InferInput("INPUT0", [1, elements], "FP32")
    tensor.set_data_from_numpy(np.full((1, elements), 3, np.float32))
    answer = client.infer("m", [tensor]).as_numpy("OUTPUT0")
    assert answer.shape == (1, elements) and (answer == 3).all()


def infer_as_json(server, elements):
    """Text both ways. A status of the server's, or no answer at all."""
    host, port = server.http_address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    body = json.dumps({"inputs": [{"name": "INPUT0", "shape": [1, elements], "datatype": "FP32", "data": [1.5] * elements}]})
    connection.request("POST", "/v2/models/m/infer", body)
    answer = connection.getresponse()
    assert answer.read() and answer.status in (200, 429, 500, 503), answer.status
    connection.close()


def one_client(server, number):
    """(answered, refused): requests of all sizes by one of the protocols, each with a client of its own now and then."""
    module = grpcclient if number % 2 else httpclient
    answered = refused = 0
    for i in range(ROUNDS):
        try:
            with server.client() if number % 2 else server.http_client(connection_timeout=30, network_timeout=30) as client:
                for elements in (4, 1000, 60_000, 700_000):
                    try:
                        infer(module, client, elements)
                        answered += 1
                    except InferenceServerException as error:
                        assert str(error), "a refusal without a reason"
                        refused += 1
                infer_as_json(server, (4, 5000, 50_000, 200_000)[i % 4])
                if i % 4 == 0:
                    client.load_model("m") if number % 3 == 0 else client.get_server_metadata()
        except Exception as error:  # noqa: BLE001: a connection that could not be had, or went
            refused += 1
    return answered, refused


def write_model(repository, backend):
    more = "dynamic_batching {}\ninstance_group { count: 2 }"
    if backend == "python":
        python_models.write(repository, "m", python_models.IDENTITY, max_batch_size=8, extra=more)
    else:
        models.write_model(repository, "m", models.identity_config("m", dims=(-1,), max_batch_size=8, extra=more))


@pytest.mark.parametrize("backend", ["identity", "python"])
@pytest.mark.parametrize("more_mib", MORE_MIB)
def test_what_there_is_no_memory_for_fails_and_the_rest_goes_on(tmp_path, more_mib, backend):
    write_model(tmp_path, backend)
    with Server(tmp_path, python_models.INTERPRETER, 'plugin.control.use="control/explicit"',
                'plugin.control.load_model=["m"]') as server:
        server.wait_ready()
        unlimited = resource.getrlimit(resource.RLIMIT_AS)[1]
        set_limit(server.process, mapped_bytes(server.process) + more_mib * MIB)
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(lambda number: one_client(server, number), range(CLIENTS)))
        assert server.process.poll() is None, "the server ended"
        set_limit(server.process, unlimited)
        # A worker that was started meanwhile had as little memory: the next one is waited for.
        eventually(lambda: is_ready(server))
        with server.client() as client, server.http_client() as other:
            infer(grpcclient, client, 700_000)
            infer(httpclient, other, 700_000)


def is_ready(server):
    with server.client() as client:
        return client.is_model_ready("m")
