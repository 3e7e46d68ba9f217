"""Every program says which build it is, and the version stands in one place."""

import re
import subprocess

import pytest
from support.server import BUILD, ROOT

VERSION = re.search(r"^project\(Atoll VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE).group(1)


@pytest.mark.parametrize("program", ["atoll", "atoll-serve", "atoll-demo", "atoll-config", "atoll-lint", "atollctl", "tritonserver"])
def test_every_program_prints_version_commit_and_build(program):
    shown = subprocess.run([BUILD / "bin" / program, "--version"], capture_output=True, text=True, timeout=60)
    assert (shown.returncode, shown.stderr) == (0, "")
    first, commit, build = shown.stdout.splitlines()
    assert first == f"{program} {VERSION}"
    assert re.fullmatch(r"commit ([0-9a-f]{12}(\+dirty)?|unknown)", commit)
    assert re.fullmatch(r"build itanium-abi\d+/\S+/sanitizer=\S+/layout=\d+", build)


def test_the_newest_entry_of_the_changelog_is_this_version():
    newest = re.search(r"^## \[(\S+)\]", (ROOT / "docs/CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest.group(1) == VERSION


def test_a_commit_compiles_one_small_unit_again():
    """What includes the commit is one source."""
    found = subprocess.run(["git", "grep", "-l", "-F", '#include "commit.h"', "--", "*.cc", "*.h"], cwd=ROOT, capture_output=True,
                           text=True)
    assert found.stdout.splitlines() == ["sdk/lib/version/version.cc"]
