"""TLS and mutual TLS with the real client, and files that are no use."""

import pathlib
import subprocess

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.server import ATOLL, DEFAULT_MANIFEST, Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

MANIFEST = pathlib.Path(__file__).with_name("grpc_only.toml")


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    models.write_model(repository, "any", models.identity_config("any"))
    return repository


def serve(repository, *settings):
    return Server(repository, *settings, manifest=MANIFEST)


def infer(client):
    tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
    tensor.set_data_from_numpy(np.arange(4, dtype=np.float32))
    return client.infer("any", [tensor]).as_numpy("OUTPUT0")


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    """Two authorities; a server's and a client's certificate of the first, a client's of the second."""
    folder = tmp_path_factory.mktemp("pki")
    for authority in ("ca", "other_ca"):
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 2, "-subj", f"/CN={authority}",
                "-keyout", folder / f"{authority}.key", "-out", folder / f"{authority}.crt")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1")
    for name, authority in (("server", "ca"), ("client", "ca"), ("stranger", "other_ca")):
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", folder / f"{name}.key",
                "-out", folder / f"{name}.csr")
        openssl("x509", "-req", "-days", 2, "-in", folder / f"{name}.csr", "-CA", folder / f"{authority}.crt",
                "-CAkey", folder / f"{authority}.key", "-CAcreateserial", "-extfile", folder / "names",
                "-out", folder / f"{name}.crt")
    return folder


def tls_options(pki, mutual):
    options = [f'plugin.grpc.server_cert="{pki}/server.crt"', f'plugin.grpc.server_key="{pki}/server.key"']
    if mutual:
        return [*options, "plugin.grpc.use_ssl_mutual=true", f'plugin.grpc.root_cert="{pki}/ca.crt"']
    return [*options, "plugin.grpc.use_ssl=true"]


def tls_client(server, pki, root="ca", own=None):
    files = {"root_certificates": str(pki / f"{root}.crt")}
    if own:
        files |= {"private_key": str(pki / f"{own}.key"), "certificate_chain": str(pki / f"{own}.crt")}
    return grpcclient.InferenceServerClient(server.address, ssl=True, **files)


def refused(client):
    with client, pytest.raises(InferenceServerException) as caught:
        client.is_server_live(client_timeout=10)
    return caught.value.status() in ("StatusCode.UNAVAILABLE", "StatusCode.DEADLINE_EXCEEDED")


def test_tls(repository, pki):
    with serve(repository, *tls_options(pki, mutual=False)) as server:
        with tls_client(server, pki) as client:
            eventually(lambda: client.is_server_ready())
            assert infer(client).tolist() == [0, 1, 2, 3]
        assert refused(tls_client(server, pki, root="other_ca"))
        assert refused(server.client())  # without TLS


def test_mutual_tls(repository, pki):
    with serve(repository, *tls_options(pki, mutual=True)) as server:
        with tls_client(server, pki, own="client") as client:
            eventually(lambda: client.is_server_ready())
            assert infer(client).tolist() == [0, 1, 2, 3]
        assert refused(tls_client(server, pki))
        assert refused(tls_client(server, pki, own="stranger"))


def test_tls_files_that_can_not_be_used(repository, pki):
    for options, text in (
            (['plugin.grpc.use_ssl=true'], "option 'server_cert' is empty"),
            ([*tls_options(pki, False), 'plugin.grpc.server_key="/no/such/file"'],
             "option 'server_key' names '/no/such/file', expected a readable PEM file: No such file or directory"),
            ([*tls_options(pki, False), f'plugin.grpc.server_key="{pki}/client.key"'],
             "expected a key and certificates that belong together")):
        with pytest.raises(AssertionError) as caught:
            serve(repository, *options)
        assert text in str(caught.value)


def test_the_default_address_is_the_loopback():
    """Without being told otherwise nothing listens to other machines."""
    listed = subprocess.run([ATOLL, "--list"], check=True, capture_output=True, text=True).stdout
    assert "127.0.0.1:8001" in listed
    assert 'address = "127.0.0.1:8001"' in DEFAULT_MANIFEST.read_text()
