"""The clients that people have, on ports with TLS."""

import json
import subprocess

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support.pki import tls_arguments
from support.server import BUILD
from support.tls import wait_ready
from tritonclient.utils import InferenceServerException


ATOLLCTL = BUILD / "bin" / "atollctl"
NO_SERVER = 3
CURL_CERTIFICATE_PROBLEM = 60
CURL_HANDSHAKE_FAILED = (35, 55, 56)  # told in the handshake (TLS 1.2), or after it (1.3)


def http_client(server, pki, root="ca", own=None, **more):
    options = {"ca_certs": str(pki / f"{root}.crt")}
    if own:
        options |= {"certfile": str(pki / f"{own}.crt"), "keyfile": str(pki / f"{own}.key")}
    address = server.http_address.replace("127.0.0.1", "localhost")
    return httpclient.InferenceServerClient(address, ssl=True, ssl_options=options, **more)


def infer(module, client, values):
    tensor = module.InferInput("INPUT0", list(values.shape), "FP32")
    tensor.set_data_from_numpy(values)
    return client.infer("any", [tensor]).as_numpy("OUTPUT0")


def curl(url, *arguments):
    """\\returns its exit status, and what it got"""
    done = subprocess.run(["curl", "-sS", "--max-time", "60", *map(str, arguments), url], capture_output=True)
    return done.returncode, done.stdout


def test_tritonclient_http(server, pki):
    with http_client(server, pki, concurrency=4) as client:
        assert client.is_server_live()
        values = np.arange(16, dtype=np.float32)
        for _ in range(20):
            assert (infer(httpclient, client, values) == values).all()
        requests = []
        for _ in range(20):
            tensor = httpclient.InferInput("INPUT0", [16], "FP32")
            tensor.set_data_from_numpy(values)
            requests.append(client.async_infer("any", [tensor]))
        for request in requests:
            assert (request.get_result().as_numpy("OUTPUT0") == values).all()


def test_large_tensors_both_ways(server, pki):
    values = np.arange(12 << 20, dtype=np.float32)
    with http_client(server, pki, network_timeout=120, connection_timeout=120) as client:
        assert (infer(httpclient, client, values) == values).all()
    values = values[:3 << 20]
    with grpcclient.InferenceServerClient(server.address, **tls_arguments(pki)) as client:
        assert (infer(grpcclient, client, values) == values).all()


def test_who_is_not_trusted_is_refused(server, pki):
    with http_client(server, pki, root="other_ca") as client, pytest.raises(Exception, match="certificate verify failed"):
        client.is_server_live()
    with grpcclient.InferenceServerClient(server.address, **tls_arguments(pki, root="other_ca")) as client:
        with pytest.raises(InferenceServerException):
            client.is_server_live(client_timeout=10)
    for address in (server.http_address, server.metrics_address):
        assert curl(f"https://{address}/metrics", "--cacert", pki / "other_ca.crt")[0] == CURL_CERTIFICATE_PROBLEM


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_curl(server, pki, version):
    tls = ("--cacert", pki / "ca.crt", f"--tlsv{version}", "--tls-max", version)
    code, body = curl(f"https://{server.http_address}/v2", *tls, "-w", "\n%{http_version}")
    metadata, protocol = body.decode().rsplit("\n", 1)
    assert (code, protocol) == (0, "1.1")
    assert json.loads(metadata)["name"] == "triton"
    code, page = curl(f"https://{server.metrics_address}/metrics", *tls)
    assert code == 0 and b"\natoll_http_connections{" in page and b"\natoll_http_tls_failures_total{" in page
    assert b"\natoll_grpc_tls_failures_total{" in page


def test_answers_that_are_streamed(server, pki):
    """Server-sent events, each when the model gives it."""
    body = json.dumps({"IN": [4, 5, 6], "DELAY": [1, 1, 1], "WAIT": [1]})
    code, text = curl(f"https://{server.http_address}/v2/models/repeat/generate_stream", "--cacert", pki / "ca.crt",
                      "-d", body)
    events = [json.loads(line.removeprefix("data: ")) for line in text.decode().split("\n\n") if line]
    assert code == 0 and [event["OUT"] for event in events] == [4, 5, 6]


def test_mutual_tls(serve, pki):
    with serve(mutual=True) as server:
        wait_ready(server, pki, own="client")
        with http_client(server, pki, own="client") as client:
            assert client.is_server_live()
        for own in (None, "stranger"):
            with http_client(server, pki, own=own) as client, pytest.raises(OSError):
                client.is_server_live()
        for address, path in ((server.http_address, "v2/health/live"), (server.metrics_address, "metrics")):
            def ask(*own, url=f"https://{address}/{path}"):
                return curl(url, "--cacert", pki / "ca.crt", *own)[0]
            assert ask("--cert", pki / "client.crt", "--key", pki / "client.key") == 0
            assert ask() in CURL_HANDSHAKE_FAILED
            assert ask("--cert", pki / "stranger.crt", "--key", pki / "stranger.key") in CURL_HANDSHAKE_FAILED
        # The page says how many clients were no use.
        failures = curl(f"https://{server.metrics_address}/metrics", "--cacert", pki / "ca.crt", "--cert",
                        pki / "client.crt", "--key", pki / "client.key")[1].decode()
        assert 'atoll_http_tls_failures_total{instance="http"} 4' in failures


def test_atollctl(serve, pki):
    with serve(mutual=True) as server:
        wait_ready(server, pki, own="client")

        def ask(*arguments):
            target = ("--target", f"https://{server.http_address}")
            done = subprocess.run([ATOLLCTL, *target, *map(str, arguments), "--porcelain", "model", "list"],
                                  capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr
        known = ("--cert", pki / "client.crt", "--key", pki / "client.key")
        code, models = ask("--ca-file", pki / "ca.crt", *known)
        assert code == 0 and "any" in models
        (pki / "both.pem").write_text((pki / "client.crt").read_text() + (pki / "client.key").read_text())
        assert ask("--ca-file", pki / "ca.crt", "--cert", pki / "both.pem")[0] == 0
        for refused in (("--ca-file", pki / "other_ca.crt", *known), ("--ca-file", pki / "ca.crt"), known):
            code, text = ask(*refused)
            assert code == NO_SERVER and ("certificate" in text or "SSL" in text), text
        assert ask("--key", pki / "client.key")[0] == 2
