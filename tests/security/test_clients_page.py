"""What docs/security-clients.md shows, done as it says, but for the ports, against a server with TLS and keys."""

import os
import re
import subprocess
import sys

import pytest
from support import models
from support.identities import MANIFEST, Keys
from support.pki import make_pki, tls_options
from support.server import BUILD, ROOT, Server
from support.tls import FRONTENDS, wait_ready

PAGE = (ROOT / "docs" / "security-clients.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """(server, folder, environment): the folder has what the page says that its reader got"""
    folder = make_pki(tmp_path_factory.mktemp("page"))
    keys = Keys(folder / "keys")
    (folder / "token").write_text(keys.add("team", "metadata,inference,model-repository,openai,metrics"))
    models.write_model(folder / "models", "digits", models.identity_config("digits"))
    options = [option for plugin in FRONTENDS for option in tls_options(folder, False, plugin)]
    environment = {**os.environ, "PATH": f"{BUILD / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    with Server(folder / "models", f'plugin.keys.keys_file="{keys.path}"', *options, manifest=MANIFEST,
                grpc_frontend="frontends/grpc_nghttp2") as server:
        wait_ready(server, folder)
        server.wait_logged("successfully loaded 'digits'")
        yield server, folder, environment


def with_ports(text, server):
    for port, address in (("8000", server.http_address), ("8001", server.address), ("8002", server.metrics_address)):
        text = text.replace(f"localhost:{port}", f"localhost:{address.rsplit(':', 1)[1]}")
    return text


def run(world, commands):
    server, folder, environment = world
    keep, _ = blocks("bash")
    script = f"{keep}\n{with_ports(commands, server)}"
    return subprocess.run(["bash", "-ec", script], cwd=folder, env=environment, capture_output=True, text=True)


def test_commands(world):
    _, commands = blocks("bash")
    for line in commands.splitlines():
        done = run(world, line.replace("curl ", "curl -sS --fail "))
        assert done.returncode == 0, (line, done.stderr)
        refused = run(world, f"TOKEN=wrong; echo wrong > wrong; {line.replace('curl ', 'curl -sS --fail ').replace('token model', 'wrong model')}")
        assert refused.returncode != 0 and "wrong" not in refused.stderr, (line, refused.stderr)


def test_python(world):
    server, folder, _ = world
    for number, program in enumerate(blocks("python")):
        (folder / f"program{number}.py").write_text(with_ports(program, server))
        done = run(world, f"{sys.executable} program{number}.py")
        assert done.returncode == 0, done.stderr
    assert number == 1


def test_the_table_has_every_code_of_a_refusal():
    """Those that the operators' page lists."""
    answers = (ROOT / "docs" / "security.md").read_text().split("### Answers")[1].split("\n### ")[0]
    listed = re.findall(r"\| (\d{3})\b[^|]*\| ([A-Z_]+) \|", answers)
    assert len(listed) == 4
    for code, name in listed:
        assert re.search(rf"^\| {code} \| {name} \|", PAGE, re.M), code
