"""Callers with keys."""

import hashlib
import os
import pathlib

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
