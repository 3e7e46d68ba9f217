"""What docs/security.md shows of certificates of clients, done as it says, but for the ports and the folder."""

import os
import re
import subprocess

import pytest
from support import models
from support.server import ROOT, Server
from support.tls import MANIFEST

PAGE = (ROOT / "docs" / "security.md").read_text()
AUTHORITY = PAGE.split("### An example from the first command on")[1].split("### Mutual TLS")[0]
SECTION = PAGE.split("### Certificates of clients")[1].split("### Several sources")[0]


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """(server, folder) after the page's commands and with its lines of the manifest"""
    folder = tmp_path_factory.mktemp("page")
    for commands in (blocks(AUTHORITY, "bash")[0], blocks(SECTION, "bash")[0]):
        subprocess.run(["bash", "-ec", commands], cwd=folder, check=True, capture_output=True)
    for name in ("fraud-a", "other"):
        models.write_model(folder / "models", name, models.identity_config(name))
    without_http = re.sub(r"\[plugin\.http\]\n(.+\n)*", "", MANIFEST.read_text())
    (folder / "atoll.toml").write_text(without_http + "\n" + blocks(SECTION, "toml")[0])
    before = os.getcwd()
    os.chdir(folder)  # the page's files are relative
    try:
        with Server(folder / "models", manifest=folder / "atoll.toml", grpc_frontend=None) as server:
            server.wait_active()
            for name in ("fraud-a", "other"):
                server.wait_logged(f"successfully loaded '{name}'")
            yield server, folder
    finally:
        os.chdir(before)


def curl(world, change=lambda command: command):
    server, folder = world
    command = blocks(SECTION, "bash")[1].replace("curl ", "curl -sS -o /dev/null -w '%{http_code}' ")
    command = command.replace("localhost:8000", f"localhost:{server.http_address.rsplit(':', 1)[1]}")
    return subprocess.run(["bash", "-ec", change(command)], cwd=folder, capture_output=True, text=True).stdout


def test_commands(world):
    assert curl(world) == "200"
    assert curl(world, lambda command: command.replace("fraud-a", "other/config")) == "403"
    assert curl(world, lambda command: command.replace("scorer", "server")) == "403", "its name is in no pattern"
    assert curl(world, lambda command: command.replace("--cert scorer.crt --key scorer.key", "")) == "000"
