"""A server whose callers have keys."""

import hashlib
import os
import pathlib

import pytest
from support import models
from support.server import Server

MANIFEST = pathlib.Path(__file__).with_name("identities.toml")
HIDDEN = "secret-model"


class Keys:
    """A file of keys, and their tokens."""

    def __init__(self, path):
        self.path = path
        self.lines = {}
        self.write()

    def add(self, name, permissions, more=""):
        """\\returns the token"""
        token = f"atk_{name}_{os.urandom(16).hex()}"
        digest = hashlib.sha256(token.encode()).hexdigest()
        self.lines[name] = f"{name}:{digest}:{permissions}" + (f":{more}" if more else "")
        self.write()
        return token

    def remove(self, name):
        del self.lines[name]
        self.write()

    def write(self):
        """In one step, as whoever wants no half file."""
        new = self.path.with_suffix(".new")
        new.write_text("".join(f"{line}\n" for line in self.lines.values()))
        new.chmod(0o600)
        new.rename(self.path)


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
