"""atollctl against a real server."""

import json
import os
import pathlib
import subprocess

import pytest
from support.pools import WAIT_S, Pools
from support.server import BUILD, ROOT

ATOLLCTL = BUILD / "bin" / "atollctl"
CONFIG = """
backend: "identity"
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""


@pytest.fixture
def pools(tmp_path):
    for name in ("a", "b"):
        (tmp_path / "models" / name / "1").mkdir(parents=True)
        (tmp_path / "models" / name / "config.pbtxt").write_text(CONFIG)
    pools = Pools(tmp_path, tmp_path / "models").start()
    yield pools
    pools.close()


def ctl(pools, *arguments, code=0):
    done = subprocess.run([ATOLLCTL, *arguments], capture_output=True, text=True, timeout=WAIT_S,
                          env={**os.environ, "ATOLL_TARGET": pools.server.http_address})
    assert done.returncode == code, done
    return done


def test_a_pool_from_its_creation_to_its_end(pools):
    ctl(pools, "pool", "create", "fraud", "--quota", "8", "--max", "2", "--memory", "256MiB")
    source = f"--source={pools.models}"
    created = ctl(pools, "lease", "create", "-p", "fraud", "-q", "2", "-m", "a", source)
    assert created.stderr.startswith("PENDING on i0: a PENDING\n")
    lease = json.loads(ctl(pools, "lease", "list", "--json").stdout)["leases"][0]["id"]
    assert lease in created.stdout and "a READY" in created.stdout
    assert ctl(pools, "lease", "list", "-z").stdout.split("\t")[:2] == [lease, ""]
    ctl(pools, "lease", "name", "create", "production", lease)
    assert ctl(pools, "lease", "name", "list", "-z").stdout == f"production\t{lease}\n"
    status = ctl(pools, "pool", "status", "fraud").stdout
    assert "[#####...............]  2/8  identity" in status, status
    plan = ctl(pools, "lease", "plan", "-p", "fraud", "-q", "6", "-m", "b", source).stdout
    assert "an instance would be started for it" in plan and "the lease's backends are not known" in plan
    ctl(pools, "lease", "renew", "production", "--duration", "2h")
    assert "RELEASED" in ctl(pools, "lease", "release", "production").stdout
    ctl(pools, "pool", "update", "fraud", "--max", "1")
    assert ctl(pools, "pool", "list", "-z").stdout.split("\t")[4] == "1"
    ctl(pools, "pool", "delete", "fraud", "--force")


def test_failures_have_codes(pools):
    assert ctl(pools, "pool", "status", "none", code=1).stderr == "atollctl: pool 'none' is not found\n"
    ctl(pools, "pool", "create", "fraud", "-q", "8", "--max", "1")
    failed = ctl(pools, "lease", "create", "-p", "fraud", "-q", "1", "-m", f"c={pools.models}", code=1)
    assert "has no model 'c'" in failed.stderr
    ctl(pools, "pool", "create", "fraud", code=2)
    assert "127.0.0.1:1" in ctl(pools, "-t", "127.0.0.1:1", "pool", "list", code=3).stderr


def test_models_and_the_server(pools):
    assert ctl(pools, "server", "status", "-z").stdout.endswith("\tyes\n")
    assert ctl(pools, "model", "list").stdout == "MODEL  VERSION  STATE  REASON\n"
    assert "none" in ctl(pools, "model", "load", "none", code=1).stderr


def test_completion_in_a_shell(pools):
    def completed(*words):
        script = (f'source <("{ATOLLCTL}" completion bash); COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; '
                  '_atollctl; echo "${COMPREPLY[*]}"')
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "lease" in completed("atollctl", "l")
    assert completed("atollctl", "lease", "n") == ["name"]
    assert set(completed("atollctl", "lease", "name", "''")) >= {"create", "delete", "list"}
    assert completed("atollctl", "--porcelain", "lease", "create", "--quo") == ["--quota"]


def test_the_example(tmp_path):
    done = subprocess.run([ROOT / "etc/examples/pools/walk", BUILD / "bin"], capture_output=True, text=True, timeout=WAIT_S,
                          env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.returncode == 0, done
    for text in ("[############........]  5/8  identity", "it would be refused: pool 'fraud' has no instance with 2 free",
                 "(exit code 1)", "[####################]  8/8  identity"):
        assert text in done.stdout, done
    assert done.stdout.count('"data":[1.0,2.0]') == 2, "through the server, and directly"
    assert list(pathlib.Path(tmp_path).iterdir()) == [], "it leaves nothing behind"
