"""What docs/security.md shows of identities, done as it says, but for the ports and the folder."""

import os
import re
import subprocess
import sys

import pytest
from support import models
from support.identities import MANIFEST
from support.server import BUILD, ROOT, Server

SECTION = (ROOT / "docs" / "security.md").read_text().split("## Identities")[1]


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", SECTION, re.M | re.S)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """(server, folder, token, environment) after the page's first commands and with its lines of the manifest"""
    folder = tmp_path_factory.mktemp("page")
    environment = {**os.environ, "PATH": f"{BUILD / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    commands = blocks("bash")[0].replace("/etc/atoll/keys", f"{folder}/keys")
    made = subprocess.run(["bash", "-ec", commands], cwd=folder, env=environment, check=True, capture_output=True, text=True)
    token = made.stdout.splitlines()[0]
    assert token.startswith("atk_ops_")
    models.write_model(folder / "models", "fraud-a", models.identity_config("fraud-a"))
    manifest = MANIFEST.read_text().split("[plugin.keys]")[0] + blocks("toml")[0].replace("/etc/atoll/keys", f"{folder}/keys")
    (folder / "atoll.toml").write_text(manifest)
    (folder / "token").write_text(token)
    with Server(folder / "models", manifest=folder / "atoll.toml", grpc_frontend=None) as server:
        server.wait_active().wait_logged("successfully loaded 'fraud-a'")
        yield server, folder, token, environment | {"TOKEN": token}


def with_ports(text, server):
    for port, address in (("8000", server.http_address), ("8001", server.address)):
        text = text.replace(f"localhost:{port}", f"localhost:{address.rsplit(':', 1)[1]}")
    return text


def test_commands(world):
    server, folder, _, environment = world
    for line in blocks("bash")[1].splitlines():
        command = line.replace("curl ", "curl -sS --fail ").replace("atollctl ", "atollctl --target http://localhost:8000 ")
        done = subprocess.run(["bash", "-ec", with_ports(command, server)], cwd=folder, env=environment, capture_output=True,
                              text=True)
        assert done.returncode == 0, (line, done.stderr)


def test_python(world):
    server, folder, token, _ = world
    program = f"token = {token!r}\n" + with_ports(blocks("python")[0], server)
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
