"""The Debian packages: what they have, what lintian says, equal bytes from two folders. tests/packages/install-debs, which is run
by hand, installs them into a Debian of their own."""
import gzip
import hashlib
import os
import re
import subprocess

import pytest
from packed import make_packages
from support.server import BUILD, ROOT

NAMES = ["atoll", "atoll-onnxruntime", "atoll-pytorch", "atoll-sdk-dev"]


def run(*command, code=0):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
                          check=False)
    assert done.returncode == code, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def debs(tmp_path_factory):
    folder = make_packages("deb", tmp_path_factory.mktemp("debs"), ATOLL_DEB_COMPRESSION="gzip")
    return {path.name.split("_")[0]: path for path in folder.glob("*.deb")}


@pytest.fixture(scope="module")
def trees(debs, tmp_path_factory):
    """The packages' files, in a folder each."""
    folder = tmp_path_factory.mktemp("trees")
    for name, deb in debs.items():
        run("dpkg-deb", "-R", deb, folder / name)
    return folder


def files(tree):
    return {str(path.relative_to(tree)) for path in tree.rglob("*") if not path.is_dir() and "DEBIAN" not in path.parts}


def fields(deb):
    text = run("dpkg-deb", "-f", deb)
    return dict(re.findall(r"^([\w-]+): (.*)$", text, re.M))


def test_there_are_four(debs):
    assert sorted(debs) == NAMES


def test_nothing_of_an_installation_is_left_out_or_packed_twice(trees, tmp_path):
    packed = [name for package in NAMES for name in files(trees / package)]
    assert len(packed) == len(set(packed))
    for component in ("server", "onnxruntime", "sdk", "proto"):
        run("cmake", "--install", BUILD, "--component", component, "--prefix", tmp_path / "all")
    installed = {name if name.startswith("etc/") else f"usr/{name}" for name in files(tmp_path / "all")}
    assert {name for name in installed if "__pycache__" not in name} - set(packed) == {"usr/share/doc/atoll/LICENSE"}


def test_what_is_heavy_is_in_a_package_of_its_own(trees):
    assert [name for name in files(trees / "atoll") if "libonnxruntime" in name or "pytorch.so" in name] == []
    assert any(name.endswith("/libonnxruntime.so.1") for name in files(trees / "atoll-onnxruntime"))
    assert "usr/lib/atoll/plugins/backends/pytorch.so" in files(trees / "atoll-pytorch")
    assert not any(name.startswith(("usr/include", "usr/lib/cmake")) for name in files(trees / "atoll"))
    assert {"usr/bin/atoll-lint", "usr/include/atoll/core/plugin.h", "usr/lib/cmake/Atoll/AtollConfig.cmake"} <= files(trees / "atoll-sdk-dev")


def test_plugins_of_other_packages_depend_on_the_build_tag(debs):
    tag = re.search(r"^build (\S+)$", run(BUILD / "bin/atoll", "--version"), re.M).group(1)
    virtual = fields(debs["atoll"])["Provides"]
    assert re.fullmatch(r"atoll-abi-[a-z0-9+.-]+", virtual) and virtual.endswith("-" + tag.rsplit("=")[-1])
    for name in ("atoll-pytorch", "atoll-sdk-dev"):
        assert virtual in fields(debs[name])["Depends"].split(", ")
    assert "libtorch1.13" in fields(debs["atoll-pytorch"])["Depends"] and "libtorch" not in fields(debs["atoll"])["Depends"]
    assert "libprotobuf32" in fields(debs["atoll"])["Depends"]
    assert "atoll-onnxruntime" in fields(debs["atoll"])["Recommends"]


def test_manifests_are_conffiles_and_good(trees, tmp_path):
    conffiles = (trees / "atoll/DEBIAN/conffiles").read_text().split()
    assert {name.lstrip("/") for name in conffiles} == {name for name in files(trees / "atoll") if name.startswith("etc/")}
    for name in ("atoll.toml", "pools.toml"):
        manifest = trees / "atoll/etc/atoll" / name
        text = manifest.read_text()
        assert "etc/dev" not in text and not re.search(r"(?<![/\w])(docs|etc)/", text)
        # Where the service keeps its state only root may write.
        (tmp_path / name).write_text(text.replace("/var/lib", str(tmp_path)))
        assert "ok, " in run(BUILD / "bin/atoll", "--manifest", tmp_path / name, "--set", f'plugin.repository.paths=["{tmp_path}"]', "--check")
    assert 'use = "supervision/systemd"' in (trees / "atoll/etc/atoll/atoll.toml").read_text()


def test_programs_do_not_start_from_what_the_administrator_has_edited(trees):
    assert (trees / "atoll/usr/share/atoll/atoll.toml").read_text() == (ROOT / "etc/atoll.toml").read_text()


def test_what_is_loaded_cannot_be_overwritten(trees):
    """Packing loses no protection that the linker has given."""
    for package in ("atoll", "atoll-pytorch"):
        for name in files(trees / package):
            if (trees / package / name).open("rb").read(4) == b"\x7fELF":
                assert "GNU_RELRO" in run("readelf", "-lW", trees / package / name), name


def test_the_service_is_there(trees):
    tree = trees / "atoll"
    for name in ("lib/systemd/system/atoll.service", "usr/lib/sysusers.d/atoll.conf", "usr/share/doc/atoll/examples/gpu.conf",
                 "usr/share/doc/atoll/examples/python-users.conf"):
        assert (tree / name).exists()
    for name in ("postinst", "prerm", "postrm"):
        run("sh", "-n", tree / "DEBIAN" / name)
        assert os.access(tree / "DEBIAN" / name, os.X_OK)


def test_every_program_has_its_page_and_its_completion_beside_it(trees):
    for package in NAMES:
        for program in (name.removeprefix("usr/bin/") for name in files(trees / package) if name.startswith("usr/bin/")):
            assert f"usr/share/man/man1/{program}.1.gz" in files(trees / package)
            assert f"usr/share/bash-completion/completions/{program}" in files(trees / package)
    assert "usr/share/man/man5/atoll.toml.5.gz" in files(trees / "atoll")


def test_every_package_has_its_copyright_and_changes(trees):
    for package in NAMES:
        folder = trees / package / "usr/share/doc" / package
        assert "Apache-2.0" in (folder / "copyright").read_text()
        assert gzip.decompress((folder / "changelog.gz").read_bytes()).startswith(b"atoll (")
    assert "Permission is hereby granted" in (trees / "atoll-onnxruntime/usr/share/doc/atoll-onnxruntime/copyright").read_text()
    assert len(list((trees / "atoll/usr/share/doc/atoll/third-party").glob("*.txt"))) > 10


def test_lintian_finds_nothing(debs):
    assert run("lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", *debs.values()) == ""


def test_every_override_has_its_reason():
    for file in (ROOT / "etc/packages/deb/lintian").iterdir():
        lines = file.read_text().splitlines()
        assert lines[0].startswith("# ") and len(lines) > 1


def test_two_runs_give_equal_bytes(debs, tmp_path):
    scratch = tmp_path / "another folder for what is in between"
    scratch.mkdir()
    again = make_packages("deb", tmp_path / "again", ATOLL_DEB_COMPRESSION="gzip", TMPDIR=str(scratch))
    for name, deb in debs.items():
        other = again / deb.name
        assert hashlib.sha256(deb.read_bytes()).digest() == hashlib.sha256(other.read_bytes()).digest(), name


def test_no_file_names_the_folder_that_it_was_made_in(trees):
    hidden = [str(ROOT).encode(), str(BUILD.resolve()).encode(), b"/atoll-deb-"]
    for path in trees.rglob("*"):
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            data = gzip.decompress(data) if path.suffix == ".gz" else data
            assert [folder for folder in hidden if folder in data] == [], path
