"""TLS between the server that keeps the pools and the instances, which here listen on the loopback: `ssl_on_loopback`."""

import http.client
import json

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http
from support.grpc_frontends import GRPC_FRONTENDS
from support.pki import make_pki, sign
from support.pools import WAIT_S, Pools, Refused
from support.waiting import eventually

IDENTITY = """
backend: "identity"
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""
START = ("{bin}/tritonserver --model-repository={repository} --model-control-mode=explicit --http-address=127.0.0.1 --http-port=0 "
         "--grpc-address=127.0.0.1 --grpc-port=0 --allow-metrics=false")


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    folder = make_pki(tmp_path_factory.mktemp("pki"))
    sign(folder, "expired", days=-1)
    return folder


def runtime(pki, server="server"):
    """An instance that asks its clients for a certificate."""
    variables = {"USE_SSL_MUTUAL": "true", "SERVER_CERT": pki / f"{server}.crt", "SERVER_KEY": pki / f"{server}.key",
                 "ROOT_CERT": pki / "ca.crt"}
    words = [f"ATOLL__PLUGIN__{plugin}__{name}={value}" for plugin in ("HTTP", "GRPC") for name, value in variables.items()]
    return " ".join(["/usr/bin/env", *words, START])


@pytest.fixture
def start(tmp_path, pki):
    started = []

    def start(*settings, root="ca", client="client", server="server", name="localhost", frontend="frontends/grpc_nghttp2"):
        (tmp_path / "models" / "a" / "1").mkdir(parents=True)
        (tmp_path / "models" / "a" / "config.pbtxt").write_text(IDENTITY)
        own = [] if client is None else [f'plugin.pools.client_cert="{pki}/{client}.crt"', f'plugin.pools.client_key="{pki}/{client}.key"']
        runtimes = json.dumps(runtime(pki, server))
        started.append(Pools(
            tmp_path, tmp_path / "models", f"plugin.launcher.runtimes={{tls = {runtimes}}}", 'plugin.pools.use_ssl=true',
            'plugin.pools.ssl_on_loopback=true', f'plugin.pools.root_cert="{pki}/{root}.crt"', f'plugin.pools.ssl_server_name="{name}"',
            'plugin.pools.start_timeout="4s"', f'plugin.grpc.use="{frontend}"', *own, *settings).start())
        started[0].create(instance={"runtime": "tls"})
        return started[0]

    yield start
    for pools in started:
        pools.close()


def infer(module, address):
    with module.InferenceServerClient(address) as client:
        tensor = module.InferInput("INPUT0", [1, 2], "FP32")
        tensor.set_data_from_numpy(np.array([[1, 2]], np.float32))
        return client.infer("a", [tensor]).as_numpy("OUTPUT0").tolist()


@pytest.mark.parametrize("frontend", GRPC_FRONTENDS)
def test_leased_models_are_served(start, frontend):
    pools = start('plugin.pools.start_timeout="1m"', frontend=frontend)
    lease = pools.acquire("a")
    for module, address in ((tritonclient.http, pools.server.http_address), (tritonclient.grpc, pools.server.address)):
        for _ in range(3):
            assert infer(module, address) == [[1, 2]]
    # Not because the instance would take anything: it speaks TLS.
    connection = http.client.HTTPConnection(lease["address"], timeout=60)
    connection.request("GET", "/v2/health/live")
    assert "this port speaks TLS" in connection.getresponse().read().decode()
    connection.close()
    assert pools.lease(lease)["state"] == "ACTIVE"
    pools.release(lease)


@pytest.mark.parametrize(("wrong", "reason"), [
    ({"server": "expired"}, "certificate has expired"),
    ({"root": "other_ca"}, "self-signed certificate in certificate chain"),
    ({"name": "elsewhere"}, "no alternative certificate subject name matches target host name 'elsewhere'"),
    ({"client": None}, "certificate required"),
    ({"client": "stranger"}, "unknown ca"),
], ids=["expired", "authority", "name", "nothing shown", "stranger shown"])
def test_an_instance_that_is_not_trusted_or_does_not_trust_is_refused_with_the_reason(start, wrong, reason):
    pools = start(**wrong)

    def is_told():
        with pytest.raises(Refused) as refused:
            pools.acquire("a")
        assert refused.value.status == 503, refused.value
        # On a slow machine the time may be over before the instance runs.
        return reason in refused.value.text.lower() or "it does not run" not in refused.value.text

    eventually(is_told, WAIT_S)
    assert reason in pools.server.log.lower()


def test_wrong_files_refuse_the_start(tmp_path, pki):
    (tmp_path / "models").mkdir()
    with pytest.raises(AssertionError, match="plugin.pools.root_cert: is empty, expected the path of a PEM file"):
        Pools(tmp_path, tmp_path / "models", 'plugin.pools.use_ssl=true').start()
    with pytest.raises(AssertionError, match="it is not the key of the certificate of 'client_cert'"):
        Pools(tmp_path, tmp_path / "models", 'plugin.pools.use_ssl=true', f'plugin.pools.root_cert="{pki}/ca.crt"',
              f'plugin.pools.client_cert="{pki}/client.crt"', f'plugin.pools.client_key="{pki}/server.key"').start()
