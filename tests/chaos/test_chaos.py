"""A minute of everything at once, and that a run fails if the server answers wrongly, loses an answer or keeps something."""

import pathlib
import re
import subprocess
import sys

import pytest
from support.server import SANITIZED

RUN = pathlib.Path(__file__).with_name("run")
# Runs are those of release builds: a sanitizer's is slower by more than the answers that a run has to have.
SEEDS = [] if SANITIZED else [20]


def start(seed, *arguments):
    command = [sys.executable, str(RUN), "--seed", str(seed), "--reduce-for", "0", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def end(process, timeout_s):
    """(exit code, last line, everything)"""
    try:
        text, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.terminate()  # ends in good order: it has mounted a disk
        text, _ = process.communicate(timeout=timeout_s)
        raise AssertionError(f"not over in {timeout_s} s:\n{text}") from None
    return process.returncode, text.splitlines()[-1], text


@pytest.mark.parametrize("seed", SEEDS)
def test_a_minute(seed):
    code, last, text = end(start(seed, "--seconds", 60), 300)
    assert code == 0, text
    assert re.match(rf"chaos: seed {seed}, 60 s: \d+ right, \d+ documented errors, 0 wrong, 0 deaths, 0 left; injected: ", last), text


NOTICED = {"wrong": r"[1-9]\d* wrong, 0 deaths, 0 left", "lost": r"[1-9]\d* wrong, ", "leak": r"0 wrong, 0 deaths, [1-9]\d* left"}
SAYS = {"wrong": r"WRONG: \w+: py: an answer is", "lost": r"WRONG: \w+: gen: NO ANSWER", "leak": r"LEFT: a worker's descriptors"}


@pytest.mark.parametrize("seed", SEEDS)
def test_sabotage_is_noticed(seed):
    """All three at a time: each has a server of its own."""
    processes = {kind: start(seed, "--seconds", 12, "--sabotage", kind) for kind in NOTICED}
    for kind, process in processes.items():
        code, last, text = end(process, 300)
        assert code == 1, (kind, text)
        assert re.search(NOTICED[kind], last), (kind, text)
        assert re.search(SAYS[kind], text), (kind, text)


def test_the_plan_is_printed():
    code, last, text = end(start(3, "--seconds", 45, "--plan"), 60)
    assert code == 0 and "kill" in text and len(text.splitlines()) >= 12, text
    assert end(start(3, "--seconds", 45, "--plan"), 60)[2] == text
