"""TLS and mutual TLS with the real client, clients that are none, renewed certificates, and files that are no use."""

import contextlib
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import threading

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.http2 import SETTINGS, frame
from support.pki import make_pki, tls_arguments, tls_options
from support.server import ATOLL, DEFAULT_MANIFEST, Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

MANIFEST = pathlib.Path(__file__).with_name("grpc_only.toml")


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    models.write_model(repository, "any", models.identity_config("any"))
    return repository


@pytest.fixture(scope="module")
def serve(repository, grpc_frontend):
    def start(*settings):
        return Server(repository, *settings, manifest=MANIFEST, grpc_frontend=grpc_frontend)
    return start


def infer(client):
    tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
    tensor.set_data_from_numpy(np.arange(4, dtype=np.float32))
    return client.infer("any", [tensor]).as_numpy("OUTPUT0")


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    return make_pki(tmp_path_factory.mktemp("pki"))


def tls_client(server, pki, root="ca", own=None):
    return grpcclient.InferenceServerClient(server.address, **tls_arguments(pki, root, own))


def refused(client):
    with client, pytest.raises(InferenceServerException) as caught:
        client.is_server_live(client_timeout=10)
    return caught.value.status() in ("StatusCode.UNAVAILABLE", "StatusCode.DEADLINE_EXCEEDED")


def connect(server, pki=None, protocols=("h2",), version=None):
    """A connection of a client with TLS; without pki it does not mind who the server is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED if pki else ssl.CERT_NONE
    if pki:
        context.load_verify_locations(pki / "ca.crt")
    if version:
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = version
    if protocols:
        context.set_alpn_protocols(protocols)
    host, port = server.address.rsplit(":", 1)
    return context.wrap_socket(socket.create_connection((host, int(port)), timeout=60))


def subject(server, pki):
    """Who the certificate of a new connection is for."""
    with connect(server, pki) as connection:
        return dict(pair for part in connection.getpeercert()["subject"] for pair in part)["commonName"]


def test_tls(serve, pki):
    with serve(*tls_options(pki, mutual=False)) as server:
        with tls_client(server, pki) as client:
            eventually(lambda: client.is_server_ready())
            assert infer(client).tolist() == [0, 1, 2, 3]
        assert refused(tls_client(server, pki, root="other_ca"))
        assert refused(server.client())  # without TLS


def test_mutual_tls(serve, pki):
    with serve(*tls_options(pki, mutual=True)) as server:
        with tls_client(server, pki, own="client") as client:
            eventually(lambda: client.is_server_ready())
            assert infer(client).tolist() == [0, 1, 2, 3]
        assert refused(tls_client(server, pki))
        assert refused(tls_client(server, pki, own="stranger"))


def test_a_large_tensor(serve, pki):
    with serve(*tls_options(pki, mutual=False)) as server, tls_client(server, pki) as client:
        eventually(lambda: client.is_server_ready())
        values = np.arange(3 << 20, dtype=np.float32)
        tensor = grpcclient.InferInput("INPUT0", values.shape, "FP32")
        tensor.set_data_from_numpy(values)
        assert (client.infer("any", [tensor]).as_numpy("OUTPUT0") == values).all()


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1:DeprecationWarning")
def test_versions_and_protocols(serve, pki):
    with serve(*tls_options(pki, mutual=False)) as server:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with connect(server, version=version) as connection:
                assert connection.selected_alpn_protocol() == "h2"
                connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0))
                assert connection.recv(9)[3] == SETTINGS
        with pytest.raises(OSError):
            connect(server, version=ssl.TLSVersion.TLSv1_1)
        for protocols in ((), ("http/1.1",)):
            # The end of the connection, before or after the handshake's.
            with contextlib.suppress(OSError), connect(server, protocols=protocols) as connection:
                connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0))
                assert connection.recv(9) == b""


def test_clients_that_do_not_go_on_harm_nobody(serve, pki):
    """Handshakes that are not begun, not ended, or none: others are served meanwhile."""
    with serve(*tls_options(pki, mutual=False)) as server, contextlib.ExitStack() as stack:
        host, port = server.address.rsplit(":", 1)
        hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
        for i in range(150):
            connection = stack.enter_context(socket.create_connection((host, int(port))))
            said = (b"", hello, b"\x16" * 1000)[i % 3]
            with contextlib.suppress(OSError):
                connection.sendall(said)
        for _ in range(5):
            with tls_client(server, pki) as client:
                eventually(lambda: client.is_server_ready())
                assert infer(client).tolist() == [0, 1, 2, 3]


def test_tls_files_that_can_not_be_used(serve, pki):
    for options, text in (
            (['plugin.grpc.use_ssl=true'], "plugin.grpc.server_cert: is empty"),
            ([*tls_options(pki, False), 'plugin.grpc.server_key="/no/such/file"'],
             "plugin.grpc.server_key: names '/no/such/file', expected a readable PEM file: No such file or directory"),
            ([*tls_options(pki, False), f'plugin.grpc.server_key="{pki}/client.key"'],
             "expected a key and certificates that belong together")):
        with pytest.raises(AssertionError) as caught:
            serve(*options)
        assert text in str(caught.value)


class Caller:
    """A client that never stops asking over one connection."""

    def __init__(self, client):
        self.answers = 0
        self.failures = []
        self._client = client
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while not self._ended.is_set():
            try:
                assert infer(self._client).tolist() == [0, 1, 2, 3]
                self.answers += 1
            except Exception as failure:
                self.failures.append(failure)

    def more(self, count=20):
        wanted = self.answers + count
        eventually(lambda: self.answers >= wanted or self.failures)
        assert not self.failures

    def end(self):
        self._ended.set()
        self._thread.join()


def test_an_instance_is_replaced(repository, grpc_frontend, pki, tmp_path):
    """The new instance has other files, the clients of the old one are sent over: nobody loses anything."""
    manifest = tmp_path / "atoll.toml"

    def write(name):
        files = f'server_cert = "{pki}/{name}.crt"\nserver_key = "{pki}/{name}.key"\n'
        manifest.write_text(MANIFEST.read_text() + files)

    write("server")
    with socket.socket() as keeper:  # the replacement has to have the port of the one before it
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        keeper.bind(("127.0.0.1", 0))
        settings = ("plugin.grpc.use_ssl=true", f'plugin.grpc.address="127.0.0.1:{keeper.getsockname()[1]}"')
        with Server(repository, *settings, manifest=manifest, grpc_frontend=grpc_frontend) as server, \
                tls_client(server, pki) as client:
            eventually(lambda: client.is_server_ready())
            caller = Caller(client)
            try:
                for name in ("client", "server", "client"):
                    caller.more()
                    write(name)
                    server.process.send_signal(signal.SIGHUP)
                    server.wait_for_line(r"reloaded: generation")
                    # Until it drains the old one accepts connections too.
                    eventually(lambda name=name: subject(server, pki) == name)
                caller.more()
            finally:
                caller.end()
            assert caller.failures == []


def test_certificates_are_renewed(repository, pki, tmp_path):
    """The gRPC library's server reads its files at start only."""
    folder = tmp_path / "tls"
    folder.mkdir()

    def install(name):
        for kind in ("crt", "key"):
            shutil.copy(pki / f"{name}.{kind}", folder / f"server.{kind}")

    install("server")
    options = [f'plugin.grpc.server_cert="{folder}/server.crt"', f'plugin.grpc.server_key="{folder}/server.key"',
               "plugin.grpc.use_ssl=true"]
    with Server(repository, *options, manifest=MANIFEST, grpc_frontend="frontends/grpc_nghttp2") as server, \
            tls_client(server, pki) as client:
        eventually(lambda: client.is_server_ready())
        caller = Caller(client)
        try:
            caller.more()
            assert subject(server, pki) == "server"
            install("client")
            server.process.send_signal(signal.SIGHUP)
            server.wait_for_line(r"TLS files were read again: connections from now on get the certificate of 'CN=client'")
            assert subject(server, pki) == "client"
            caller.more()
            shutil.copy(pki / "server.key", folder / "server.key")
            server.process.send_signal(signal.SIGHUP)
            server.wait_for_line(r"reload refused: .*server_key")
            assert subject(server, pki) == "client"
            caller.more()
        finally:
            caller.end()
        assert caller.failures == []


def test_the_default_address_is_the_loopback():
    """Without being told otherwise nothing listens to other machines."""
    listed = subprocess.run([ATOLL, "--list"], check=True, capture_output=True, text=True).stdout
    assert "127.0.0.1:8001" in listed
    assert 'address = "127.0.0.1:8001"' in DEFAULT_MANIFEST.read_text()
