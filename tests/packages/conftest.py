import json
import os
import subprocess
import sys

import pytest
from support.server import BUILD, ROOT, SANITIZED

sys.path.insert(0, str(ROOT / "tests" / "sdk"))

# What is packed is the release: a build with sanitizers needs their libraries, which no package has.
collect_ignore_glob = ["test_*wheel.py"] if SANITIZED else []


def make_packages(kind, folder, tree=ROOT, **environment):
    """Of what is built already, and of a tree with changes too, as tests run while somebody works."""
    done = subprocess.run([tree / "etc/dev/package", kind, "--dirty", folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=600, env={**os.environ, "ATOLL_BUILD_DIR": str(BUILD.resolve()), **environment})
    assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture(scope="session")
def packed(tmp_path_factory):
    """A folder with both wheels."""
    return make_packages("wheel", tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="session")
def wheel(packed):
    return next(packed.glob("atoll_server-*.whl"))


@pytest.fixture(scope="session")
def sdk_wheel(packed):
    return next(packed.glob("atoll_server_sdk-*.whl"))


class Venv:
    """A fresh virtual environment with wheels in it, and what pip has fetched for them."""

    def __init__(self, folder, *words):
        """words: of `pip install`"""
        self.bin = folder / "bin"
        for command in ([sys.executable, "-m", "venv", folder], [self.bin / "pip", "install", "-q", "--disable-pip-version-check", *words]):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
            assert done.returncode == 0, done.stdout
        # Nothing leads to the environment but the path of the command.
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}

    def run(self, program, *words, code=0):
        done = subprocess.run([self.bin / program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                              env=self.environment, cwd="/")
        assert done.returncode == code, done.stdout
        return done.stdout

    def evaluate(self, expression):
        """A Python expression's value."""
        return json.loads(self.run("python", "-c", f"import json, sys, atoll_server; print(json.dumps({expression}))"))
