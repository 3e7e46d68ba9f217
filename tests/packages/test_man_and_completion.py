"""Manual pages and completion say what the programs say."""
import pathlib
import re
import subprocess

import pytest
from support.server import BUILD, ROOT

BIN = BUILD / "bin"
HERE = pathlib.Path(__file__).parent
PROGRAMS = ["atoll", "atoll-config", "atoll-demo", "atoll-lint", "atoll-serve", "atollctl", "tritonserver"]


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120, check=False, **options)


@pytest.fixture(scope="module")
def share(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("prefix")
    done = run(ROOT / "etc/packages/deb/man-and-completion", BIN, prefix)
    assert done.returncode == 0, done.stderr
    return prefix / "share"


def test_every_program_has_a_page(share):
    assert sorted(path.name for path in share.rglob("*.[15]")) == sorted([*(f"{name}.1" for name in PROGRAMS), "atoll.toml.5"])


@pytest.mark.parametrize("page", [*(f"man1/{name}.1" for name in PROGRAMS), "man5/atoll.toml.5"])
def test_pages_are_right_for_both_readers(share, page):
    file = share / "man" / page
    man = run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", file, env={"LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "PATH": "/usr/bin:/bin"})
    assert (man.returncode, man.stderr) == (0, "") and man.stdout
    mandoc = run("mandoc", "-T", "lint", "-W", "warning", file)
    assert (mandoc.returncode, mandoc.stdout) == (0, "")


def text_of(page):
    return re.sub(r".\x08", "", run("mandoc", "-T", "utf8", page).stdout)


def test_pages_have_every_flag_and_every_option(share):
    for name in ("atoll", "atoll-serve", "atollctl", "tritonserver", "atoll-lint"):
        said = run(BIN / name, "--help")
        flags = set(re.findall(r"^ +(?:-\w,)?(--[\w-]+)", said.stdout + said.stderr, re.M))
        page = text_of(share / "man/man1" / f"{name}.1")
        assert len(flags) > 1 and {flag for flag in flags if not re.search(rf"{flag}\b", page)} == set()
    assert re.search(r"^ +lease name create$", text_of(share / "man/man1/atollctl.1"), re.M)
    manifest = text_of(share / "man/man5/atoll.toml.5")
    listed = run(BIN / "atoll", "--list", "--format", "markdown").stdout
    keys = set(re.findall(r"^\| (\w+) \| (?!type)", listed, re.M))
    assert len(keys) > 100 and {key for key in keys if not re.search(rf"^ +{key} \(", manifest, re.M)} == set()
    assert {name for name in re.findall(r"^## (\w+/\w+)", listed, re.M) if not re.search(rf"^ +{name}$", manifest, re.M)} == set()


def complete(share, line):
    done = run("bash", "--norc", HERE / "complete.bash", share / "bash-completion/completions/atoll", line,
               env={"PATH": f"{BIN}:/usr/bin:/bin"}, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize("line, words", [
    ("atoll --ma", ["--manifest"]),
    ("atoll ser", ["serve"]),
    ("atoll serve --http-a", ["--http-address"]),
    ("atoll serve --model-control-mode ", ["none", "poll", "explicit"]),
    ("atoll --list --format m", ["markdown"]),
    ("atoll --set log.le", ["log.level="]),
    ("atoll --set log.level=war", ["warning"]),
    ("atoll --manifest etc/atoll.toml --set plugin.grpc.addr", ["plugin.grpc.address="]),
    ("atoll --manifest=etc/atoll.toml --set plugin.trace.mode=", ["triton", "opentelemetry"]),
    ("atoll --manifest etc/atoll.toml --set plugin.onnxruntime.use=backends/onn", ["backends/onnxruntime"]),
    ("atoll --manifest etc/ato", ["etc/atoll.toml"]),
    ("atoll serve etc/mod", ["etc/models"]),
    ("atollctl --json lease na", ["name"]),
    ("atollctl lease create --mod", ["--model"]),
    ("atollctl lease name ", ["create", "delete", "list", "--help"]),
    ("tritonserver --allow-grpc=t", ["true"]),
    ("tritonserver --model-repository=etc/mod", ["etc/models"]),
    ("atoll-config check --js", ["--json"]),
])
def test_bash_completes(share, line, words):
    assert sorted(complete(share, line)) == sorted(words)


def test_bash_completes_the_names_of_all_plugins(share):
    built = {f"{file.parent.name}/{file.stem}" for file in (BUILD / "lib/atoll/plugins").glob("*/*.so")}
    assert set(complete(share, "atoll --set plugin.x.use=")) == built and len(built) > 10


def test_nothing_is_completed_where_anything_may_stand(share):
    assert complete(share, "atoll serve --http-port ") == []
    assert complete(share, "atoll --set plugin.nothing.key=") == []
    assert complete(share, "atoll --nothing") == []


def test_zsh_reads_its_file(share):
    done = run("zsh", "-n", share / "zsh/vendor-completions/_atoll")
    assert (done.returncode, done.stderr) == (0, "")
    assert (share / "zsh/vendor-completions/_atoll").read_text().startswith(f"#compdef {' '.join(PROGRAMS[:1])} ")


def test_a_program_that_says_nothing_ends_it_with_one_line(tmp_path):
    (tmp_path / "atoll").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "atoll").chmod(0o755)
    done = run(ROOT / "etc/packages/deb/man-and-completion", tmp_path, tmp_path)
    assert done.returncode == 1 and done.stderr.strip() == f"{tmp_path}/atoll --version ended with 3 and without an answer:"
