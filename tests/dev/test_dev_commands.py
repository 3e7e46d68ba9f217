"""etc/dev/build and etc/dev/quickstart: what they understand, and what they say to words that are wrong. They run in a tree whose
programs only note that they were called, so nothing is ever installed or built."""

import os
import re
import shutil
import socket
import subprocess

import pytest
from support.server import ROOT

DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\n'
# Where no server listens: nothing is bound here.
NOBODYS = {"GRPC_ADDRESS": "127.0.0.1:1", "HTTP_ADDRESS": "127.0.0.1:2", "METRICS_ADDRESS": "127.0.0.1:3"}
NEITHER = ("there is no preset and no target '{}'; presets: dev release asan-ubsan tsan fuzz; "
           "targets: see docs/building.md")
NOTED = ("install-packages", "fetch-onnxruntime", "python-env")


class Tree:
    def __init__(self, folder):
        self.root = folder / "a tree"
        self.calls_file = folder / "calls"
        dev = self.root / "etc" / "dev"
        dev.mkdir(parents=True)
        for name in ("build", "configure", "quickstart"):
            shutil.copy2(ROOT / "etc" / "dev" / name, dev / name)
        for name in NOTED:
            self.note(dev / name)
        (self.root / "plugins").symlink_to(ROOT / "plugins")
        for name in ("CMakePresets.json", "CMakeLists.txt", "kernel", "sdk", "bench"):
            (self.root / name).symlink_to(ROOT / name)
        (self.root / "tests").mkdir()
        (self.root / "etc/cmake").symlink_to(ROOT / "etc/cmake")
        self.programs = folder / "programs"
        self.programs.mkdir()
        self.note(self.programs / "cmake")

    def note(self, file):
        file.write_text(f'#!/bin/sh\necho "{file.name} $*" >>"{self.calls_file}"\n')
        file.chmod(0o755)

    def run(self, name, *words, cwd=None, **environment):
        path = f"{self.programs}:{os.environ['PATH']}"
        return subprocess.run([os.path.relpath(self.root / "etc/dev" / name, cwd or self.root), *words], cwd=cwd or self.root,
                              capture_output=True, text=True, timeout=60, env={**os.environ, "PATH": path, **environment})

    def calls(self):
        return self.calls_file.read_text().splitlines() if self.calls_file.exists() else []

    def refused(self, name, *words, code, **environment):
        """The one line that is said, when nothing else has happened."""
        done = self.run(name, *words, **environment)
        assert (done.returncode, done.stdout, self.calls()) == (code, "", []), done
        assert done.stderr.count("\n") == 1 and done.stderr.startswith(f"etc/dev/{name}: "), done.stderr
        return done.stderr.removeprefix(f"etc/dev/{name}: ").rstrip("\n")


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def built(tree):
    """The targets that were to be built, and for what packages were installed."""
    (packages, ) = [call.split()[1:] for call in tree.calls() if call.startswith("install-packages")]
    (targets, ) = re.findall(r"^cmake --build build/\S+ -j [1-9]\d* --target (.*)$", "\n".join(tree.calls()), re.M)
    return targets.split(), packages


@pytest.mark.parametrize("words, line", [
    (["quick"], NEITHER.format("quick")),
    (["base"], NEITHER.format("base")),
    (["dev", "relese"], NEITHER.format("relese")),
    (["release", "caches/lokal"], "there is no plugin 'caches/lokal'; there are: caches/local caches/redis caches/triton"),
    (["caches/common"], "there is no plugin 'caches/common'; there are: caches/local caches/redis caches/triton"),
    (["release", "caches/local", "caches/../caches/local"],
     "there is no plugin 'caches/../caches/local'; there are: caches/local caches/redis caches/triton"),
    (["--fast"], "there is no option '--fast'; see etc/dev/build --help"),
    (["release", "caches/local", "-j4"], "there is no option '-j4'; see etc/dev/build --help"),
    (["release", "--manifest"], "--manifest needs a file"),
    (["--manifest", "none.toml"], "there is no manifest 'none.toml'"),
    (["release", "--manifest", "etc"], "there is no manifest 'etc'"),
    (["release", "atoll", "--manifest", "none.toml", "caches/local"], "there is no manifest 'none.toml'"),
])
def test_wrong_words_of_build(tree, words, line):
    assert tree.refused("build", *words, code=2) == line


def test_a_role_that_is_none_lists_all_plugins(tree):
    said = tree.refused("build", "release", "cache/local", code=2)
    assert "caches/local" in said and "schedulers/dynamic" in said and "common" not in said


@pytest.mark.parametrize("text, line", [
    (b"[plugin.cache\n", r"m\.toml: .*\(at line 1, column 14\)"),
    (b"a = '\xff'\n", r"m\.toml: 'utf-8' codec .*"),
    (b"plugin = 3\n", r"m\.toml: 'plugin' is no table"),
])
def test_a_broken_manifest(tree, text, line):
    (tree.root / "m.toml").write_bytes(text)
    assert re.fullmatch(line, tree.refused("build", "release", "--manifest", "m.toml", code=1))


@pytest.mark.parametrize("words, targets, packages", [
    ([], "all", "build"),
    (["dev"], "all", "build"),
    (["caches/local"], "atoll caches-local", "caches/local"),
    (["dev", "caches/redis", "pools/leases"], "atoll caches-redis pools-leases", "caches/redis pools/leases"),
    (["release", "atoll_quickstart"], "atoll_quickstart", "server backends/onnxruntime"),
    (["release", "sdk", "atollctl"], "sdk atollctl", "sdk server"),
    (["release", "atoll_server"], "atoll_server", "atoll_server"),
    (["atoll_server"], "atoll_server", "atoll_server"),
    (["dev", "runtime_test"], "runtime_test", "build"),
    (["caches/local/"], "atoll caches-local", "caches/local"),
])
def test_what_is_built_and_installed_for_what(tree, words, targets, packages):
    done = tree.run("build", *words)
    assert (done.returncode, done.stderr) == (0, ""), done
    assert built(tree) == (targets.split(), packages.split())


@pytest.mark.parametrize("is_absolute", [False, True])
def test_it_is_called_from_any_folder_and_a_manifest_is_relative_to_that(tree, tmp_path, is_absolute):
    elsewhere = tmp_path / "some where" / "else"
    elsewhere.mkdir(parents=True)
    (elsewhere / "m.toml").write_text('[plugin.cache]\nuse = "caches/local"\n[plugin.off]\nuse = "caches/redis"\nenabled = false\n'
                                      '[plugin.mine]\nuse = "examples/mine"\n')
    shown = str(elsewhere / "m.toml") if is_absolute else "m.toml"
    done = tree.run("build", "release", "--manifest", shown, cwd=elsewhere)
    assert (done.returncode, done.stderr) == (
        0, f"etc/dev/build: {shown}: 'examples/mine' is no plugin of this tree and is not built\n")
    assert built(tree) == (["atoll", "atoll", "caches-local"], ["server", "caches/local"])


def test_help_from_any_folder(tree, tmp_path):
    done = tree.run("build", "--help", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("Installs what building needs") and tree.calls() == []
    assert "ROLE/NAME" in done.stdout and "set -e" not in done.stdout


@pytest.mark.parametrize("text, name", [
    ('PRETTY_NAME="Ubuntu 24.04.1 LTS"\nID=ubuntu\nVERSION_ID="24.04"\n', "Ubuntu 24.04.1 LTS"),
    (DEBIAN.replace("12", "13"), "Debian GNU/Linux 13 (bookworm)"),
    ("ID=other\n", "other"),
    (None, "an unknown system"),
])
def test_quickstart_on_another_system(tree, tmp_path, text, name):
    release = tmp_path / "os-release"
    if text:
        release.write_text(text)
    line = tree.refused("quickstart", code=1, ATOLL_OS_RELEASE=str(release))
    assert line == f"needs Debian 12 on x86-64; this is {name} on {os.uname().machine}"


@pytest.fixture
def debian(tmp_path):
    (tmp_path / "os-release").write_text(DEBIAN)
    return {"ATOLL_OS_RELEASE": str(tmp_path / "os-release")}


@pytest.mark.parametrize("name", ["GRPC_ADDRESS", "HTTP_ADDRESS", "METRICS_ADDRESS"])
def test_quickstart_names_who_has_a_port_and_what_to_set(tree, debian, name):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = tree.refused("quickstart", code=1, **debian, **{**NOBODYS, name: f"127.0.0.1:{port}"})
    with open("/proc/self/comm") as file:
        comm = file.read().strip()
    said, _, command = line.partition("; choose others: ")
    assert said == f"port {port} is taken by {comm} (process {os.getpid()})"
    chosen = dict(re.findall(r"(\w+_ADDRESS)=127\.0\.0\.1:(\d+) ", command))
    assert command.endswith(" etc/dev/quickstart") and chosen.keys() == NOBODYS.keys()
    assert chosen.pop(name) != str(port)
    assert all(NOBODYS[other] == f"127.0.0.1:{kept}" for other, kept in chosen.items())


def test_quickstart_of_a_chat_names_its_own_command(tree, debian):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = tree.run("quickstart", "chat", **debian, **{**NOBODYS, "HTTP_ADDRESS": address})
    assert done.stderr.rstrip().endswith(" etc/dev/quickstart chat")


def test_quickstart_says_at_once_of_all_ports_who_has_them(tree, debian):
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        taken = [each.getsockname()[1] for each in (one, two)]
        line = tree.refused("quickstart", code=1, **debian, **{
            **NOBODYS, "GRPC_ADDRESS": f"127.0.0.1:{taken[0]}", "METRICS_ADDRESS": f"127.0.0.1:{taken[1]}"})
    assert all(f"port {port} is taken by " in line for port in taken)


def test_quickstart_takes_no_other_program_for_the_server_it_has_left(tree, debian):
    (tree.root / "build").mkdir()
    (tree.root / "build" / "atoll.pid").write_text(f"{os.getpid()}\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = tree.refused("quickstart", code=1, **debian, **{**NOBODYS, "GRPC_ADDRESS": f"127.0.0.1:{port}"})
    assert line.startswith(f"port {port} is taken by ")


def test_quickstart_on_an_address_of_another_machine(tree, debian):
    done = tree.run("quickstart", **debian, **{**NOBODYS, "HTTP_ADDRESS": "192.0.2.1:2"})
    assert done.returncode == 1 and done.stderr == (
        "etc/dev/quickstart: HTTP_ADDRESS=192.0.2.1:2: this machine cannot listen there: Cannot assign requested address\n")
    assert [call.split()[0] for call in tree.calls()] == ["install-packages"]


@pytest.mark.parametrize("words", [["--fast"], ["chats"], ["chat", "now"]])
def test_quickstart_takes_one_word(tree, debian, words):
    done = tree.run("quickstart", *words, **debian)
    assert done.returncode == 1 and tree.calls() == []
    assert done.stderr == f"etc/dev/quickstart: found '{' '.join(words)}', expected nothing or the word 'chat'\n"


def test_quickstart_of_a_chat_looks_at_the_ports_too(tree, debian):
    done = tree.run("quickstart", "chat", **debian, **{**NOBODYS, "HTTP_ADDRESS": "nowhere"})
    assert done.returncode == 1 and tree.calls() == [] and "HTTP_ADDRESS=nowhere is no address" in done.stderr


def test_quickstart_says_what_it_can_do(tree, debian):
    done = tree.run("quickstart", "--help", **debian)
    assert done.returncode == 0 and "GRPC_ADDRESS" in done.stdout and tree.calls() == []


@pytest.mark.parametrize("address", ["8001", "127.0.0.1", "127.0.0.1:", ":8001", "127.0.0.1:65536", "127.0.0.1:0", "host:http"])
def test_quickstart_on_an_address_that_is_none(tree, debian, address):
    assert tree.refused("quickstart", code=1, GRPC_ADDRESS=address, **debian) == (
        f"GRPC_ADDRESS={address} is no address: expected HOST:PORT with a port of 1 to 65535")


def test_quickstart_with_one_port_for_two(tree, debian):
    line = tree.refused("quickstart", code=1, **debian, **{**NOBODYS, "HTTP_ADDRESS": "localhost:1"})
    assert line == "HTTP_ADDRESS=localhost:1 has the port of another address; choose another one"
