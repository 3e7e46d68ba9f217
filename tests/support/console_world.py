"""A server whose console asks who calls."""

import http.client
import json
import os
import re

from support.identities import Keys
from support.models import identity_config, write_model
from support.server import DEFAULT_MANIFEST, Server

WAIT_S = 60
POLL_S = 0.1  # of a browser that is waited for
OWN = {"x-atoll-console": "1"}
# The folder in which pictures for people are made anew; None: no picture is.
PICTURES = os.environ.get("ATOLL_PICTURES")
# What docs/console.md shows.
PICTURED = ("overview", "model", "ensemble", "waiting", "traces", "tenants", "pools", "lines", "memory", "manifest", "options")
# Names of models that mean harm.
MARKUP = "<img src=x onerror=window.harmed=1>"
SHELL = "it's $(touch harmed) `x`"
# In pictures a name that reads better.
SHOWN = "licences" if PICTURES else MARKUP
LONG = "n" * 255
RIGHT_TO_LEFT = "\u202eנמוך"
HOSTILE = [MARKUP, SHELL, LONG, RIGHT_TO_LEFT]


def write_hostile(repository):
    for name in HOSTILE:
        write_model(repository, name, identity_config("echo", dims=(2,)).replace('name: "echo"', ""))


class World:
    def __init__(self, folder, starts=True):
        """starts: False: the manifest is edited first, and server is what serve() gives"""
        self.keys = Keys(folder / "keys")
        self.admin = self.keys.add("admin", "*")
        self.monitor = self.keys.add("monitor", "console.read")
        self.client = self.keys.add("client", "inference,metadata,health")
        self.manifest = folder / "atoll.toml"
        text = re.sub(r'(?m)^use = "backends/(onnxruntime|python)"', r"\g<0>\nenabled = false", DEFAULT_MANIFEST.read_text())
        text = text.replace('use = "control/none"', 'use = "control/explicit"\nload_model = ["echo"]')
        self.manifest.write_text(text + f'\n[plugin.keys]\nuse = "security/keys"\nkeys_file = "{self.keys.path}"\n'
                                 '[plugin.sessions]\nuse = "security/sessions"\n')
        for name in ("echo", "spare"):
            write_model(folder / "models", name, identity_config(name, dims=(2,), max_batch_size=8))
        write_model(folder / "models", "broken", 'backend: "identity" max_batch_size: -1')
        write_hostile(folder / "models")
        self.models = folder / "models"
        self.server = self.serve() if starts else None

    def serve(self):
        return Server(self.models, 'plugin.http.address="0.0.0.0:0"', manifest=self.manifest)

    @property
    def port(self):
        return int(self.server.http_address.rsplit(":", 1)[1])

    def call(self, path, method="GET", body=None, **headers):
        """Status, headers, and the body as JSON or as text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        try:
            connection.request(method, path, body, {key.replace("_", "-"): value for key, value in headers.items()})
            reply = connection.getresponse()
            text = reply.read().decode()
            return reply.status, reply.headers, json.loads(text) if text.startswith("{") else text
        finally:
            connection.close()

    def log_in(self, token):
        """The cookie."""
        status, headers, body = self.call("/v2/console/login", "POST", json.dumps({"token": token}), **OWN)
        assert status == 200, body
        return headers["set-cookie"].split(";")[0]
