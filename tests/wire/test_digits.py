"""The main job: the digits classifier, trained, exported, served and asked about images it has never seen."""

import subprocess
import sys

import pytest
from support.server import ROOT, Server


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    subprocess.run([sys.executable, ROOT / "etc/models/train_digits.py", "--output", folder / "models",
                    "--heldout", folder / "heldout.npz"], check=True)
    return folder


def test_held_out_images_are_classified(trained):
    with Server(trained / "models") as server:
        run = subprocess.run([sys.executable, ROOT / "etc/models/classify_digits.py", "--url", server.address,
                              "--heldout", trained / "heldout.npz", "--wait", "30"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    accuracies = [float(line.split()[1]) for line in run.stdout.splitlines() if "accuracy:" in line]
    assert len(accuracies) == 2 and min(accuracies) >= 0.95
    assert "p99" in run.stdout
