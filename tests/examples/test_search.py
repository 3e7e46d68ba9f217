"""The pipeline of etc/examples/search: Python, ONNX and an ensemble of them, asked by its own client."""

import subprocess
import sys

import pytest
from support.server import ROOT, Server

EXAMPLE = ROOT / "etc/examples/search"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    # The encoder stays in the build folder, for the next run.
    subprocess.run([sys.executable, EXAMPLE / "make_models.py", "--output", folder, "--encoder", ROOT / "build/minilm"],
                   check=True)
    return folder


def ask(server, *questions):
    run = subprocess.run([sys.executable, EXAMPLE / "ask.py", "--url", server.address, "--wait", "60", *questions],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout.splitlines()


def executions(lines):
    """Of each step, from the table behind the answers."""
    return {words[0]: int(words[1]) for words in (line.split() for line in lines[-4:])}


def test_the_nearest_sentences_are_found_and_remembered(repository):
    with Server(repository, f'plugin.python.interpreter="{sys.executable}"', manifest=EXAMPLE / "atoll.toml") as server:
        lines = ask(server, "Who proposed how atolls form?", "Which animal hunts the crown-of-thorns starfish?")
        answers = [line for line in lines if line.startswith("  0.")]
        assert len(answers) == 6
        assert "Charles Darwin" in answers[0] and "triton" in answers[3]
        assert executions(lines) == {"tokenizer": 2, "encoder": 2, "pooling": 2, "nearest": 2}
        again = ask(server, "Who proposed how atolls form?")
        assert [line for line in again if line.startswith("  0.")] == answers[:3]
        assert executions(again) == {"tokenizer": 0, "encoder": 0, "pooling": 0, "nearest": 0}


def test_a_text_that_is_too_short_is_refused(tmp_path):
    (tmp_path / "short.txt").write_text("One.\nTwo.\n")
    run = subprocess.run([sys.executable, EXAMPLE / "make_models.py", "--output", tmp_path / "models", "--text",
                          tmp_path / "short.txt"], capture_output=True, text=True)
    assert run.returncode == 1 and "has 2 sentences, expected 3 at least" in run.stderr
    assert not (tmp_path / "models").exists()
