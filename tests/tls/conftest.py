"""A server with TLS on each of its ports."""

import resource

import pytest
from support import models
from support.pki import make_pki, sign, tls_options
from support.server import Server
from support.tls import FRONTENDS, MANIFEST, Endpoint, wait_ready


@pytest.fixture(scope="module")
def descriptors():
    """As many as the process may have, for thousands of connections; servers inherit the limit. A user's shell often allows 1,024."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.fixture(scope="session")
def pki(tmp_path_factory):
    folder = make_pki(tmp_path_factory.mktemp("pki"))
    sign(folder, "expired", days=-1)
    return folder


@pytest.fixture(scope="session")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    models.write_model(folder, "any", models.identity_config("any"))
    models.write_model(folder, "repeat", models.REPEAT_CONFIG)
    return folder


@pytest.fixture(scope="session")
def serve(repository, pki):
    def start(*settings, mutual=False, files=None):
        options = [option for plugin in FRONTENDS for option in tls_options(files or pki, mutual, plugin)]
        return Server(repository, *options, *settings, manifest=MANIFEST, grpc_frontend="frontends/grpc_nghttp2")
    return start


@pytest.fixture(scope="module")
def server(serve, pki):
    with serve() as running:
        wait_ready(running, pki)
        yield running


@pytest.fixture
def http(server, pki):
    return Endpoint(server.http_address, pki)
