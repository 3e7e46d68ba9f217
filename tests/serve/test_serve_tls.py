"""atoll serve with TLS: all of its addresses speak it."""

import json
import re

import tritonclient.grpc
import tritonclient.http
from support.pki import make_pki
from support.serving import PORTS, Serving, infer, run, shell


def test_tls(folder, tmp_path):
    pki = make_pki(tmp_path)
    with Serving(folder, "--tls-cert", pki / "server.crt", "--tls-key", pki / "server.key") as serving:
        serving.wait_serving()
        assert "atoll serve: echo: ready" in serving.err, "its own question goes by TLS"
        with tritonclient.http.InferenceServerClient(serving.http, ssl=True, ssl_options={"ca_certs": str(pki / "ca.crt")}) as client:
            assert infer(client, tritonclient.http, "echo") == [0, 1, 2, 3]
        with tritonclient.grpc.InferenceServerClient(serving.grpc, ssl=True, root_certificates=str(pki / "ca.crt")) as client:
            assert infer(client, tritonclient.grpc, "plus_two") == [2, 3, 4, 5]
        assert serving.metrics.startswith("https://")
        assert "nv_inference_count" in shell(f"curl -sf --cacert {pki}/ca.crt {serving.metrics}")
        curl = re.search(r"; a model: (curl .+)$", serving.line).group(1)
        assert "https://" in curl and json.loads(shell(curl + " -sf"))["name"] in ("echo", "plus_two"), "the certificate names 127.0.0.1"


def test_files_of_tls_that_are_no_use(folder, tmp_path):
    pki = make_pki(tmp_path)
    alone = run("serve-is-first", "--tls-cert", pki / "server.crt")
    assert (alone.returncode, alone.stderr) == (2, "atoll serve: --tls-cert needs --tls-key\n")
    missing = run(folder, "--tls-cert", pki / "nothing", "--tls-key", pki / "server.key", *PORTS)
    assert missing.returncode == 2 and f"--tls-cert: found no file '{pki}/nothing'" in missing.stderr
    other = run(folder, "--tls-cert", pki / "server.crt", "--tls-key", pki / "client.key", *PORTS)
    assert other.returncode != 0 and "server_key: it is not the certificate's" in other.stderr
