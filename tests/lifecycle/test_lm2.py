"""A process that may map hardly more than it has at the start: what it has no memory for fails cleanly, and it goes on."""
import concurrent.futures
import pathlib
import resource

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support import models
from support.server import SANITIZED, Server
from tritonclient.utils import InferenceServerException

# A sanitizer maps terabytes of shadow memory and has an allocator that ends the process when it is refused.
pytestmark = pytest.mark.skipif(SANITIZED, reason="a sanitizer needs its address space")
MIB = 1 << 20
CLIENTS = 30
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


def one_client(server, number):
    """(answered, refused): requests of all sizes by one of the protocols, each with a client of its own now and then."""
    module = grpcclient if number % 2 else httpclient
    answered = refused = 0
    for i in range(ROUNDS):
        try:
            with server.client() if number % 2 else server.http_client(connection_timeout=30, network_timeout=30) as client:
                for elements in (4, 1000, 10_000, 30_000, 60_000, 120_000):
                    try:
                        infer(module, client, elements)
                        answered += 1
                    except InferenceServerException as error:
                        assert str(error), "a refusal without a reason"
                        refused += 1
                if i % 4 == 0:
                    client.load_model("m") if number % 3 == 0 else client.get_server_metadata()
        except Exception as error:  # noqa: BLE001: a connection that could not be had, or went
            refused += 1
    return answered, refused


@pytest.mark.parametrize("more_mib", [0, 1, 2, 4, 6, 10])
def test_what_there_is_no_memory_for_fails_and_the_rest_goes_on(tmp_path, more_mib):
    models.write_model(tmp_path, "m", models.identity_config("m", dims=(-1,), max_batch_size=8,
                                                             extra="dynamic_batching {}\ninstance_group { count: 2 }"))
    with Server(tmp_path, 'plugin.control.use="control/explicit"', 'plugin.control.load_model=["m"]') as server:
        server.wait_ready()
        with server.client() as client:
            infer(grpcclient, client, 4)
        unlimited = resource.getrlimit(resource.RLIMIT_AS)[1]
        set_limit(server.process, mapped_bytes(server.process) + more_mib * MIB)
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            counts = list(pool.map(lambda number: one_client(server, number), range(CLIENTS)))
        assert server.process.poll() is None, "the server ended"
        set_limit(server.process, unlimited)
        print(more_mib, [sum(part) for part in zip(*counts)])
        with server.client() as client, server.http_client() as http:
            infer(grpcclient, client, 700_000)
            infer(httpclient, http, 700_000)
