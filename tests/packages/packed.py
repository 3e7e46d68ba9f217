"""Packages of the build under test, and a fresh environment to install them into."""

import json
import os
import subprocess
import sys

from support.server import BUILD, ROOT


def make_packages(kind, folder, tree=ROOT, **environment):
    """Of what is built already, and of a tree with changes too, as tests run while somebody works."""
    done = subprocess.run([tree / "etc/dev/package", kind, "--dirty", folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=600, env={**os.environ, "ATOLL_BUILD_DIR": str(BUILD.resolve()), **environment})
    assert done.returncode == 0, done.stdout
    return folder


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
