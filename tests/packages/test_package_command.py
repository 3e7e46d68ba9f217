"""etc/dev/package says what is wrong before it does anything."""

import os
import subprocess

import pytest
from support.server import ROOT


def git(folder, *words):
    subprocess.run(["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", *words], check=True,
                   capture_output=True)


@pytest.fixture
def checkout(tmp_path):
    """A checkout of the command, with a kind of packages that prints what it is given."""
    folder = tmp_path / "checkout"
    (folder / "etc/dev").mkdir(parents=True)
    (folder / "etc/packages/wheel").mkdir(parents=True)
    for name, text in (("etc/dev/package", (ROOT / "etc/dev/package").read_text()), ("etc/dev/install-packages", "#!/bin/sh\n"),
                       ("etc/packages/wheel/build", '#!/bin/sh\necho "$1 $ATOLL_PACKAGE_VERSION $SOURCE_DATE_EPOCH"\n')):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "CMakeLists.txt").write_text("project(Atoll VERSION 1.22.333 LANGUAGES C CXX)\n")
    (folder / ".gitignore").write_text("/build/\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one", "--date=2001-02-03T04:05:06Z")
    return folder


def package(checkout, *words, cwd="/", **environment):
    return subprocess.run([checkout / "etc/dev/package", *words], capture_output=True, text=True, timeout=60, cwd=cwd,
                          env={**os.environ, "ATOLL_BUILD_DIR": "", **environment})


def test_a_kind_gets_folder_version_and_time(checkout, tmp_path):
    done = package(checkout, "wheel", tmp_path / "out")
    time = subprocess.run(["git", "-C", checkout, "log", "-1", "--format=%ct"], capture_output=True, text=True).stdout.strip()
    assert (done.stdout, done.stderr, done.returncode) == (f"{tmp_path}/out 1.22.333 {time}\n", "", 0)


def test_a_folder_is_meant_from_where_the_command_is_called(checkout, tmp_path):
    assert package(checkout, "wheel", "here", cwd=tmp_path).stdout.split()[0] == f"{tmp_path}/here"
    assert package(checkout, "wheel", cwd=tmp_path).stdout.split()[0] == f"{checkout}/build/packages"


def test_a_checkout_with_changes_is_packed_only_if_that_is_asked_for(checkout, tmp_path):
    (checkout / "one").write_text("text")
    (checkout / "two").write_text("text")
    refused = package(checkout, "wheel", tmp_path / "out")
    assert (refused.returncode, refused.stdout) == (2, "") and not (tmp_path / "out").exists()
    assert refused.stderr == "etc/dev/package: the checkout has changes (?? one and 1 more); commit them, or see --dirty\n"
    assert package(checkout, "wheel", "--dirty", tmp_path / "out").stdout.split()[1] == "1.22.333+dirty"
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "two")
    assert package(checkout, "--dirty", "wheel", tmp_path / "out").stdout.split()[1] == "1.22.333"


def test_what_is_no_checkout_of_its_own_is_not_packed(checkout, tmp_path):
    (checkout / ".git").rename(tmp_path / ".git")
    refused = package(checkout, "wheel", "--dirty", tmp_path / "out")
    assert refused.returncode == 2 and "is no git checkout" in refused.stderr


@pytest.mark.parametrize("words, said", [
    ([], "found no kind, expected one of: wheel deb image"),
    (["rpm"], "there is no kind 'rpm', expected one of: wheel deb image"),
    (["wheel", "--fast"], "there is no option '--fast'"),
    (["wheel", "a", "b"], "found 'b', expected nothing after DIR"),
    (["image"], "packages of the kind 'image' cannot be made yet"),
    (["wheel", "/dev/null"], "'/dev/null' is no folder"),
    ([""], "found an empty word"),
])
def test_mistakes_are_one_line(checkout, words, said):
    refused = package(checkout, *words)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"etc/dev/package: {said}") and refused.stderr.count("\n") == 1


def test_a_build_folder_has_to_be_one(checkout, tmp_path):
    refused = package(checkout, "wheel", ATOLL_BUILD_DIR=str(tmp_path))
    assert refused.returncode == 2 and f"ATOLL_BUILD_DIR: '{tmp_path}' is no build folder" in refused.stderr


def test_help_has_every_kind(checkout):
    shown = package(checkout, "--help")
    assert shown.returncode == 0
    assert shown.stdout.startswith("Makes a package of this checkout: etc/dev/package KIND [--dirty] [DIR].")
    assert shown.stdout.rstrip().endswith("docs/packages.md has more.")
    for kind in ("wheel", "deb", "image"):
        assert f"\n  {kind} " in shown.stdout
