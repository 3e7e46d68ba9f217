"""At the server's end, what is being executed may still ask other models."""

import concurrent.futures
import signal

import numpy as np
import tritonclient.grpc as grpcclient
from support.models import tensor_config, write_model
from support.server import BUILD, DEFAULT_MANIFEST, Server

BACKENDS = BUILD / "tests" / "in_process" / "backends"


def config(backend):
    return (f'backend: "{backend}"\n' + tensor_config("input", "INPUT0", "TYPE_UINT8", [-1]) +
            tensor_config("output", "OUTPUT0", "TYPE_UINT8", [-1]))


def manifest(folder):
    path = folder / "atoll.toml"
    path.write_text(DEFAULT_MANIFEST.read_text() + f'''
[plugin.triton]
use = "backends/triton"
directories = ["{BACKENDS}"]
[plugin.c_api]
use = "frontends/c_api"
''')
    return path


def test_a_request_is_answered_whose_backend_asks_another_model_after_the_drain_has_begun(tmp_path):
    write_model(tmp_path / "models", "asked", config("identity"))
    write_model(tmp_path / "models", "asks_late", config("ask"))
    with Server(tmp_path / "models", manifest=manifest(tmp_path)) as server:
        server.wait_ready()
        with server.client() as client, concurrent.futures.ThreadPoolExecutor(1) as pool:
            tensor = grpcclient.InferInput("INPUT0", [3], "UINT8")
            tensor.set_data_from_numpy(np.array([1, 2, 3], np.uint8))
            answer = pool.submit(client.infer, "asks_late", [tensor])
            server.wait_for_line("waiting for the server's end")
            server.process.send_signal(signal.SIGTERM)
            assert answer.result(60).as_numpy("OUTPUT0").tolist() == [1, 2, 3]
        assert server.process.wait(60) == 0
