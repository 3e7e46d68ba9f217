"""What docs/security.md shows of JSON web tokens, done as it says, but for the ports and the folder."""

import re
import subprocess

import pytest
from support import models
from support.identities import MANIFEST
from support.server import ROOT, Server

SECTION = (ROOT / "docs" / "security.md").read_text().split("### JSON web tokens")[1].split("\n### ")[0]


def blocks(language, folder):
    found = re.findall(rf"^```{language}\n(.*?)^```$", SECTION, re.M | re.S)
    return [block.replace("/etc/atoll/", f"{folder}/") for block in found]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """(folder, server, commands that make a token and set TOKEN) with the page's lines of the manifest"""
    folder = tmp_path_factory.mktemp("page")
    make, _ = blocks("bash", folder)
    subprocess.run(["bash", "-ec", make], cwd=folder, check=True, capture_output=True)
    models.write_model(folder / "models", "fraud-a", models.identity_config("fraud-a"))
    (folder / "atoll.toml").write_text(MANIFEST.read_text().split("[plugin.keys]")[0] + blocks("toml", folder)[0])
    with Server(folder / "models", manifest=folder / "atoll.toml", grpc_frontend=None) as server:
        server.wait_active().wait_logged("successfully loaded 'fraud-a'")
        yield folder, server, make.replace("openssl genpkey -algorithm ed25519 -out issuer.pem\n", "")


def call(world, make):
    folder, server, _ = world
    ask = blocks("bash", folder)[1].replace("localhost:8000", server.http_address).replace("curl ", "curl -sS -w '%{http_code}' -o /dev/null ")
    return subprocess.run(["bash", "-ec", f"{make}\n{ask}"], cwd=folder, check=True, capture_output=True, text=True).stdout


def test_commands(world):
    assert call(world, world[2]) == "200"


def test_another_issuer_is_refused(world):
    assert call(world, world[2].replace("login.example.org", "evil.example.org")) == "401"
