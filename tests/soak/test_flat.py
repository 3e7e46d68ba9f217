"""A thousand connections and a thousand reloads leave threads, descriptors and memory where they were."""

import os
import signal

import grpc
import numpy as np
from support import models
from support.server import DEFAULT_MANIFEST, MEMORY_SLACK_BYTES, SANITIZED, Server, usage
from tritonclient.grpc import service_pb2, service_pb2_grpc


def request():
    message = service_pb2.ModelInferRequest(model_name="echo", raw_input_contents=[np.ones(4, np.float32).tobytes()])
    message.inputs.add(name="INPUT0", datatype="FP32", shape=[4])
    return message


def connect_and_ask(server, count):
    for i in range(count):
        # A pool of its own for each channel, or grpc would share one connection.
        with grpc.insecure_channel(server.address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
            service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer(request(), timeout=30)
    return settled(server)


def settled(server):
    """Usage once connections that were closed are gone on the server's side, too."""
    best = usage(server.pid)
    for _ in range(2000):
        now = usage(server.pid)
        if now["descriptors"] > best["descriptors"]:
            continue
        best = now
    return best


def test_a_thousand_connections(tmp_path):
    models.write_model(tmp_path, "echo", models.identity_config("echo", dims=(4,)))
    with Server(tmp_path) as server:
        server.wait_ready()
        before = connect_and_ask(server, 200)
        after = connect_and_ask(server, 1000)
        assert after["descriptors"] <= before["descriptors"] + 2
        # gRPC's own pools, which depend on the number of CPUs and not of connections, breathe by a few threads.
        assert after["threads"] <= before["threads"] + 2 * os.cpu_count() + 2
        assert after["resident_bytes"] <= before["resident_bytes"] + MEMORY_SLACK_BYTES


def test_a_thousand_plugin_reloads(tmp_path):
    repository = tmp_path / "models"
    models.write_model(repository, "echo", models.identity_config("echo", dims=(4,)))
    manifest = tmp_path / "atoll.toml"
    text = DEFAULT_MANIFEST.read_text()
    manifest.write_text(text)
    rounds = 100 if SANITIZED else 1000
    with Server(repository, manifest=manifest) as server:
        server.wait_ready()

        def reload(count):
            for i in range(count):
                # A changed option makes the kernel build the next instance of memory/host beside the old one.
                manifest.write_text(text.replace('use = "memory/host"', f'use = "memory/host"\nlimit = "{i % 7 + 1}GiB"'))
                server.process.send_signal(signal.SIGHUP)
                server.wait_for_line(r"generation \d+")
            return settled(server)

        before = reload(rounds // 10)
        after = reload(rounds)
        assert after["descriptors"] <= before["descriptors"]
        assert after["threads"] <= before["threads"]
        assert after["resident_bytes"] <= before["resident_bytes"] + MEMORY_SLACK_BYTES
        assert connect_and_ask(server, 1)
