"""What testssl.sh finds: versions, kinds of ciphers, the certificate, and known weaknesses. Whatever it rates worse than informative fails,
but for what a certificate of a test has of necessity. All sections would take a minute of CPU; which ciphers there are one by one, and that
all of them have forward secrecy, is what test_scanners.py looks at."""

import contextlib
import json
import re
import subprocess

from support.waiting import eventually

TIMEOUT_S = 300
SECTIONS = ("--protocols", "--standard", "--server-defaults", "--renegotiation", "--heartbleed", "--ccs-injection", "--robot",
            "--compression")
BAD = {"LOW", "MEDIUM", "HIGH", "CRITICAL"}
#: The certificates of these tests are good for two days, and nobody revokes them.
OF_A_TEST_CERTIFICATE = {"cert_expirationStatus", "cert_notAfter", "cert_revocation"}
CIPHERS = {"cipherlist_NULL", "cipherlist_aNULL", "cipherlist_STRONG"}
#: What has to be found good; so a scan that has found nothing is noticed.
GOOD = CIPHERS | {"SSLv2", "SSLv3", "TLS1_2", "TLS1_3", "cipherlist_EXPORT", "cipherlist_LOW", "cert_trust", "cert_chain_of_trust",
                  "cert_signatureAlgorithm", "heartbleed", "CCS", "ROBOT", "secure_renego", "secure_client_renego", "CRIME_TLS"}


def scan(address, folder, pki, *options):
    """\\returns severities by the names of findings"""
    found = folder / "found.json"
    host, port = address.rsplit(":", 1)
    command = ["testssl", "--quiet", "--color", "0", "--warnings", "batch", "--nodns", "none", "--ip", host, "--add-ca", pki / "ca.crt",
               "--jsonfile", found, *options, f"localhost:{port}"]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert found.exists(), done.stdout + done.stderr
    return {one["id"]: one["severity"] for one in json.loads(found.read_text())}


def bad(findings):
    return {name: severity for name, severity in findings.items() if severity in BAD and name not in OF_A_TEST_CERTIFICATE}


def good(findings):
    return {name for name, severity in findings.items() if severity == "OK"}


def test_http(server, pki, tmp_path):
    findings = scan(server.http_address, tmp_path, pki, *SECTIONS)
    assert bad(findings) == {}
    assert GOOD <= good(findings), GOOD - good(findings)
    assert findings["TLS1"] == findings["TLS1_1"] == "INFO", "not offered"


def test_grpc(server, pki, tmp_path):
    """gRPC demands ALPN, which testssl.sh's own sockets do not speak: OpenSSL's client does it, as far as it can."""
    client = tmp_path / "openssl"
    client.write_text('#!/bin/sh\nif [ "$1" = s_client ]; then shift; set -- s_client -alpn h2 "$@"; fi\nexec openssl "$@"\n')
    client.chmod(0o755)
    findings = scan(server.address, tmp_path, pki, "--ssl-native", "--openssl", client, "--protocols", "--standard")
    assert bad(findings) == {}
    wanted = CIPHERS | {"TLS1_2", "TLS1_3"}
    assert wanted <= good(findings), wanted - good(findings)
    assert findings["TLS1"] == findings["TLS1_1"] == "INFO", "not offered"


@contextlib.contextmanager
def weak_server(pki, folder):
    """OpenSSL's, with TLS 1.0 and ciphers that do not encrypt, or do not say who the server is. \\returns its address"""
    command = ["openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", pki / "server.crt", "-key", pki / "server.key", "-www", "-cipher",
               "ALL:COMPLEMENTOFALL@SECLEVEL=0"]
    said = folder / "said"
    with said.open("w") as output, subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output) as process:
        try:
            yield eventually(lambda: re.search(r"^ACCEPT (127\.0\.0\.1:\d+)\n", said.read_text(), re.M), say=said.read_text).group(1)
        finally:
            process.kill()


def test_that_a_weak_server_is_noticed(pki, tmp_path):
    with weak_server(pki, tmp_path) as address:
        findings = bad(scan(address, tmp_path, pki, "--protocols", "--standard"))
    assert findings["TLS1"] in BAD
    assert {findings["cipherlist_NULL"], findings["cipherlist_aNULL"]} <= {"HIGH", "CRITICAL"}, findings
