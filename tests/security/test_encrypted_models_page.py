"""What docs/security.md shows of encrypted models, done as it says, but for the ports and the folders."""

import os
import re
import subprocess

import numpy as np
from support.encryption import MANIFEST, answer, weights, write_plain
from support.server import BUILD, ROOT, Server

SECTION = (ROOT / "docs" / "security.md").read_text().split("## Encrypted models")[1]


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", SECTION, re.M | re.S)


def test_the_page(tmp_path):
    def here(text):
        return text.replace("/etc/atoll/", f"{tmp_path}/").replace("/srv/models", f"{tmp_path}/models")

    write_plain(tmp_path / "build" / "models" / "digits", 1)
    (tmp_path / "models").mkdir()
    environment = {**os.environ, "PATH": f"{BUILD / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-ec", here(blocks("bash")[0])], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path}/models/digits: 1 file was encrypted with the key 'main'\n"
    manifest = MANIFEST.read_text().split("[plugin.model_keys]")[0] + here(blocks("toml")[0])
    (tmp_path / "atoll.toml").write_text(manifest)
    with Server(tmp_path / "models", manifest=tmp_path / "atoll.toml", grpc_frontend=None) as server, server.client() as client:
        client.load_model("digits")
        assert np.array_equal(answer(client, "digits"), weights(1) + np.float32(1))
