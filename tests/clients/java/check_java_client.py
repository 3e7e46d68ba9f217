"""gRPC for Java against every gRPC frontend, without and with TLS: each case of this folder, on a connection of its own. Not one of
the tests that always run, because it needs what ./build names:

    build/venv/bin/python -m pytest -p no:cacheprovider tests/clients/java/check_java_client.py
"""

import pathlib
import re
import subprocess

import pytest
from support.client_cases import serve_cases
from support.pki import make_pki, tls_options, wait_ready

TIMEOUT_S = 300


@pytest.fixture(scope="session")
def class_path():
    built = subprocess.run([pathlib.Path(__file__).with_name("build")], stdout=subprocess.PIPE, text=True, check=True)
    return built.stdout.strip()


def check(class_path, server, *files):
    done = subprocess.run(["java", "-cp", class_path, "Client", server.address, *map(str, files)],
                          capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"^\w+: passed$", done.stdout, re.M)) == 20, done.stdout


def test_every_case(class_path, tmp_path, grpc_frontend):
    with serve_cases(tmp_path, grpc_frontend) as server:
        check(class_path, server.wait_ready())


def test_every_case_over_mutual_tls(class_path, tmp_path, grpc_frontend):
    pki = make_pki(tmp_path)
    with serve_cases(tmp_path, grpc_frontend, *tls_options(pki, mutual=True)) as server:
        check(class_path, wait_ready(server, pki), pki / "ca.crt", pki / "client.crt", pki / "client.key")
