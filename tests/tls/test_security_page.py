"""What docs/security.md shows, done as it says, but for the ports, which are free ones."""

import os
import re
import subprocess
import sys

import pytest
from support import models
from support.server import BUILD, ROOT, Server
from support.tls import MANIFEST, wait_ready
from support.waiting import eventually

PAGE = (ROOT / "docs" / "security.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With what the page's first commands make."""
    folder = tmp_path_factory.mktemp("page")
    subprocess.run(["bash", "-ec", blocks("bash")[0]], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def server(folder):
    """With the page's lines of the manifest in place of those that the tests have."""
    models.write_model(folder / "models", "any", models.identity_config("any"))
    without = MANIFEST.read_text().split("[plugin.grpc]")[0]
    (folder / "atoll.toml").write_text(without + blocks("toml")[0])
    before = os.getcwd()
    os.chdir(folder)  # the page's files are relative
    try:
        with Server(folder / "models", manifest=folder / "atoll.toml", grpc_frontend=None) as running:
            wait_ready(running, folder)
            yield running
    finally:
        os.chdir(before)


def with_ports(text, server):
    for port, address in (("8000", server.http_address), ("8001", server.address), ("8002", server.metrics_address)):
        text = text.replace(f"localhost:{port}", f"localhost:{address.rsplit(':', 1)[1]}")
    return text


def test_commands(server, folder):
    environment = {**os.environ, "PATH": f"{BUILD / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    for line in blocks("bash")[1].splitlines():
        command = line.replace("curl ", "curl -sS --fail ")
        done = subprocess.run(["bash", "-ec", with_ports(command, server)], cwd=folder, env=environment, capture_output=True,
                              text=True)
        assert done.returncode == 0, (line, done.stderr)


def test_python(server, folder):
    done = subprocess.run([sys.executable, "-c", with_ports(blocks("python")[0], server)], cwd=folder, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr


def test_mutual_tls(folder, monkeypatch):
    section = PAGE.split("### Mutual TLS")[1].split("\n### ")[0]
    make, ask = re.findall(r"^```bash\n(.*?)^```$", section, re.M | re.S)
    subprocess.run(["bash", "-ec", make], cwd=folder, check=True, capture_output=True)
    without_http = re.sub(r"\[plugin\.http\]\n(.+\n)*", "", MANIFEST.read_text())
    (folder / "mutual.toml").write_text(without_http + "\n" + re.search(r"^```toml\n(.*?)^```$", section, re.M | re.S).group(1))
    (folder / "no-models").mkdir()
    monkeypatch.chdir(folder)  # the page's files are relative

    def code(command):
        return subprocess.run(["bash", "-ec", command], cwd=folder, capture_output=True, text=True).stdout

    with Server(folder / "no-models", manifest=folder / "mutual.toml", grpc_frontend=None) as running:
        command = ask.replace("curl ", "curl -sS -o /dev/null -w '%{http_code}' ")
        command = command.replace("localhost:8000", f"localhost:{running.http_address.rsplit(':', 1)[1]}")
        eventually(lambda: code(command) == "200")
        assert code(command.replace("--cert client.crt --key client.key", "")) == "000", "the handshake fails"


def test_the_options_are_all_there(server):
    """The table names each option that the manifest's reference has of TLS, with its default."""
    sections = (ROOT / "docs" / "manifest.md").read_text().split("\n## ")
    reference = "\n".join(section for section in sections if section.startswith("frontends/"))
    rows = set(re.findall(r"^\| (use_ssl\w*|server_cert|server_key|root_cert|ssl_\w+) \| \w+ \| (\S*) ?\|", reference, re.M))
    assert len(rows) == 9
    for name, default in rows:
        written = re.search(rf"^\| `{name}` \| `?([^`|]*?)`?\s*\|", PAGE, re.M)
        assert written and written.group(1).strip() == default
