"""A server whose callers have keys."""

import pytest
from support import models
from support.identities import HIDDEN, MANIFEST, Keys
from support.server import Server


@pytest.fixture(scope="session")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    for name in ("any", "fraud-a", HIDDEN):
        models.write_model(folder, name, models.identity_config(name))
    models.write_model(folder, "repeat", models.REPEAT_CONFIG)
    return folder


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return Keys(tmp_path_factory.mktemp("keys") / "keys")


@pytest.fixture(scope="module")
def serve(repository, keys):
    def start(*settings, grpc_frontend="frontends/grpc_nghttp2"):
        keys.add("first", "*")
        return Server(repository, f'plugin.keys.keys_file="{keys.path}"', 'plugin.keys.poll_interval="100ms"', *settings,
                      manifest=MANIFEST, grpc_frontend=grpc_frontend)
    return start
