"""What docs/record-and-replay.md shows, done as it says, but for the ports and the folder."""

import json
import os
import re
import subprocess

import pytest
import tritonclient.http as httpclient
from support import recordings
from support.server import BUILD, DEFAULT_MANIFEST, ROOT, Server

PAGE = (ROOT / "docs" / "record-and-replay.md").read_text()
TIMEOUT_S = 120


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """What the page's commands print, against a server that serves what was recorded with the page's lines of the manifest."""
    folder = tmp_path_factory.mktemp("page")
    recordings.write_models(folder / "models")
    [table] = blocks("toml")
    (folder / "atoll.toml").write_text(DEFAULT_MANIFEST.read_text() + '\n[plugin.repeat]\nuse = "backends/repeat"\n'
                                       + table.replace("/var/lib/atoll/traffic", f"{folder}/traffic"))
    with Server(folder / "models", manifest=folder / "atoll.toml") as server:
        server.wait_ready().wait_active()
        with server.http_client() as client:
            for i in range(5):
                client.infer("add", [recordings.add_input(httpclient, [i, i, i, i])])
    environment = {**os.environ, "PATH": f"{BUILD / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    printed = []
    with Server(folder / "models", 'plugin.repeat.use="backends/repeat"') as server:
        server.wait_ready().wait_active()
        for command in blocks("bash")[1:]:
            for port, address in (("8000", server.http_address), ("8001", server.address)):
                command = command.replace(f"localhost:{port}", f"localhost:{address.rsplit(':', 1)[1]}")
            printed.append(subprocess.run(["bash", "-ec", command], cwd=folder, env=environment, capture_output=True, text=True,
                                          timeout=TIMEOUT_S))
    return printed


def test_commands(outputs):
    assert [(done.returncode, done.stderr) for done in outputs] == [(0, "")] * len(outputs)
    shown = outputs[0].stdout.splitlines()
    assert shown[0] == "5 requests, 0 failures, 0 differences in 5 that were compared"
    assert shown[1].split() == blocks("text")[0].splitlines()[1].split()
    summary = json.loads(outputs[1].stdout)
    for name in re.findall(r'"(\w+)":', PAGE):
        assert name == "fraud" or name in summary or name in summary["models"]["add"]


def test_options():
    told = subprocess.run([str(BUILD / "bin" / "atoll-replay"), "--help"], capture_output=True, text=True, timeout=TIMEOUT_S).stdout
    in_program = set(re.findall(r"--[a-z-]+", told)) - {"--help", "--version"}
    assert set(re.findall(r"`(--[a-z-]+)", PAGE.split("| option | default |")[1].split("\n\n")[0])) == in_program
    listed = subprocess.run([str(BUILD / "bin" / "atoll"), "--list"], capture_output=True, text=True, timeout=TIMEOUT_S).stdout
    options = set(re.findall(r"^    (\w+)", listed.split("telemetry/recorder")[1].split("\n\n")[0], re.M)) - {"key"}
    readme = (ROOT / "plugins" / "telemetry" / "recorder" / "README.md").read_text()
    assert options == set(re.findall(r"^\| `(\w+)` \|", readme.split("| option |")[1].split("\n\n")[0], re.M)) and "recording_file" in options
