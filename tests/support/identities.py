"""Callers with keys."""

import hashlib
import os
import pathlib
import time

import tritonclient.grpc as grpcclient
from support.server import START_TIMEOUT_S

MANIFEST = pathlib.Path(__file__).parents[1] / "security" / "identities.toml"
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


def wait_for_models(server, token, *names):
    """Until they serve, which may be after every plugin has started. \\param token  of somebody who may see them"""
    deadline = time.monotonic() + START_TIMEOUT_S
    with grpcclient.InferenceServerClient(server.address) as client:
        while not all(client.is_model_ready(name, headers={"authorization": f"Bearer {token}"}) for name in names):
            assert time.monotonic() < deadline, f"{names} are not ready; the log:\n{server.log}"
            time.sleep(0.02)
