"""What clients are told whose requests are not done when the server's drain timeout is over."""

import json
import signal
import sys
import threading

import grpc
import numpy as np
import pytest
import tritonclient.grpc
from support import python_models
from support.http_call import call
from support.server import Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

# It says by a file that it has begun, and takes longer than any drain.
STUCK = """\
def execute(self, requests):
    for request in requests:
        open({begun!r} + str(int(value(request)[0])), "w").close()
    time.sleep(3600)
"""
TOLD = {"error": "Server exiting: the request was not done when the drain timeout was over"}


def ask_http(server, heard):
    body = {"inputs": [{"name": "INPUT0", "datatype": "FP32", "shape": [1], "data": [0]}]}
    heard["http"] = call("POST", f"http://{server.http_address}/v2/models/stuck/infer", json.dumps(body).encode())


def ask_grpc(server, heard):
    tensor = tritonclient.grpc.InferInput("INPUT0", [1], "FP32")
    tensor.set_data_from_numpy(np.array([1], np.float32))
    with server.client() as client, pytest.raises(InferenceServerException) as refusal:
        client.infer("stuck", [tensor])
    heard["grpc"] = refusal.value.status()


def test_both_protocols(tmp_path, grpc_frontend):
    begun = str(tmp_path / "begun")
    python_models.write(tmp_path / "models", "stuck", STUCK.format(begun=begun),
                        extra="instance_group { count: 2 kind: KIND_CPU }")
    heard = {}
    server = Server(tmp_path / "models", 'atoll.drain_timeout="1s"', f'plugin.python.interpreter="{sys.executable}"',
                    grpc_frontend=grpc_frontend)
    try:
        server.wait_ready("stuck")
        clients = [threading.Thread(target=ask, args=(server, heard)) for ask in (ask_http, ask_grpc)]
        for client in clients:
            client.start()
        eventually(lambda: all((tmp_path / f"begun{i}").exists() for i in range(2)))
        server.process.send_signal(signal.SIGTERM)
        for client in clients:
            client.join()
        assert server.process.wait(60) == 1
    finally:
        server.process.kill()
        server.stop()
    assert heard["http"].status == 503 and heard["http"].json() == TOLD
    assert heard["grpc"] == str(grpc.StatusCode.UNAVAILABLE)
