"""The clients that people have, with TLS and keys at once."""

import ssl
import subprocess

import numpy as np
import openai
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support.pki import make_pki, tls_arguments, tls_options
from support.tls import FRONTENDS, wait_ready
from tritonclient.utils import InferenceServerException

VALUES = np.arange(16, dtype=np.float32)


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    return make_pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def token(keys):
    return keys.add("team", "metadata,inference@any,openai,metrics")


@pytest.fixture(scope="module")
def server(serve, pki, token):
    options = [option for plugin in FRONTENDS for option in tls_options(pki, False, plugin)]
    with serve(*options) as running:
        wait_ready(running, pki)
        running.wait_logged("successfully loaded 'any'")
        yield running


def infer(module, client, token):
    tensor = module.InferInput("INPUT0", list(VALUES.shape), "FP32")
    tensor.set_data_from_numpy(VALUES)
    headers = {"authorization": f"Bearer {token}"} if token else None
    return client.infer("any", [tensor], headers=headers).as_numpy("OUTPUT0")


def localhost(address):
    return address.replace("127.0.0.1", "localhost")


def check_infer(module, client, token):
    assert (infer(module, client, token) == VALUES).all()
    with pytest.raises(InferenceServerException, match="valid credential"):
        infer(module, client, None)
    with pytest.raises(InferenceServerException, match="valid credential"):
        infer(module, client, token + "x")


def test_tritonclient_http(server, pki, token):
    with httpclient.InferenceServerClient(localhost(server.http_address), ssl=True, ssl_options={"ca_certs": str(pki / "ca.crt")}) as client:
        check_infer(httpclient, client, token)


def test_tritonclient_grpc(server, pki, token):
    with grpcclient.InferenceServerClient(localhost(server.address), **tls_arguments(pki)) as client:
        check_infer(grpcclient, client, token)


def test_curl(server, pki, token):
    def status_of(address, path, *more):
        done = subprocess.run(["curl", "-sS", "--cacert", pki / "ca.crt", "-o", "/dev/null", "-w", "%{http_code}", *more,
                               f"https://{localhost(address)}{path}"], capture_output=True, text=True, check=True)
        return done.stdout

    for address, path in ((server.http_address, "/v2/models/any"), (server.metrics_address, "/metrics")):
        assert status_of(address, path, "-H", f"Authorization: Bearer {token}") == "200"
        assert status_of(address, path) == "401"


def test_openai(server, pki, token):
    context = ssl.create_default_context(cafile=pki / "ca.crt")

    def client(key):
        return openai.OpenAI(base_url=f"https://{localhost(server.http_address)}/v1", api_key=key, max_retries=0,
                             http_client=openai.DefaultHttpxClient(verify=context))
    with client(token) as known:
        assert known.models.list().object == "list"  # of models for text, of which there are none
    with client("atk_nobody_x") as unknown, pytest.raises(openai.AuthenticationError) as caught:
        unknown.models.list()
    assert caught.value.status_code == 401 and caught.value.body["type"], caught.value.body
