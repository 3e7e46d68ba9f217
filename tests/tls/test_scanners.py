"""What a scanner of TLS finds: versions, ciphers, compression, renegotiation and certificate. gRPC demands ALPN, which sslscan does not
speak; there OpenSSL's client offers one version and one cipher after the other."""

import subprocess
import xml.etree.ElementTree

import pytest
from support.tls import wait_ready

TIMEOUT_S = 300
#: By their IANA numbers: ephemeral keys and AES-GCM or ChaCha20 in TLS 1.2, and the three of TLS 1.3.
GOOD_CIPHERS = {"0xC02B", "0xC02C", "0xC02F", "0xC030", "0xCCA8", "0xCCA9", "0x1301", "0x1302", "0x1303"}


def scan(address):
    done = subprocess.run(["sslscan", "--no-colour", "--xml=-", "--sni-name=localhost", address], capture_output=True, text=True,
                          timeout=TIMEOUT_S, check=True)
    return xml.etree.ElementTree.fromstring(done.stdout).find("ssltest")


def versions_of(found):
    return {f"{one.get('type')}{one.get('version')}" for one in found.iter("protocol") if one.get("enabled") == "1"}


def check_certificate(found):
    (certificate,) = found.iter("certificate")
    names = {name: certificate.findtext(name) for name in ("subject", "issuer", "altnames", "expired", "self-signed")}
    assert names == {"subject": "server", "issuer": "ca", "altnames": "DNS:localhost, IP Address:127.0.0.1", "expired": "false",
                     "self-signed": "false"}


def check_ciphers(found, versions):
    ciphers = list(found.iter("cipher"))
    assert {one.get("sslversion") for one in ciphers} == versions, "each version has some"
    assert {one.get("id") for one in ciphers} <= GOOD_CIPHERS
    assert all(int(one.get("bits")) >= 128 and one.get("strength") in ("strong", "acceptable") for one in ciphers)


def check_rules(found):
    """sslscan tells of compression only where its own OpenSSL has it."""
    (renegotiation,) = found.iter("renegotiation")
    assert renegotiation.get("supported") == "0"
    assert all(one.get("vulnerable") == "0" for one in found.iter("heartbleed"))
    assert all(one.get("supported") != "1" for one in found.iter("compression"))


@pytest.mark.parametrize("port", ["http", "metrics"])
def test_http_and_metrics(server, port):
    found = scan(server.http_address if port == "http" else server.metrics_address)
    assert versions_of(found) == {"tls1.2", "tls1.3"}
    check_ciphers(found, {"TLSv1.2", "TLSv1.3"})
    check_rules(found)
    check_certificate(found)


def test_a_higher_lowest_version(serve, pki):
    with serve('plugin.http.ssl_min_version="1.3"') as running:
        wait_ready(running, pki)
        found = scan(running.http_address)
        assert versions_of(found) == {"tls1.3"}
        check_ciphers(found, {"TLSv1.3"})
        check_certificate(found)


def handshake(address, pki, *options):
    """What OpenSSL's client says of a handshake of gRPC; nothing: it was refused."""
    done = subprocess.run(["openssl", "s_client", "-connect", address, "-servername", "localhost", "-alpn", "h2", "-CAfile",
                           pki / "ca.crt", "-verify_return_error", "-verify_hostname", "localhost", *options],
                          input=b"", capture_output=True, timeout=TIMEOUT_S)
    text = done.stdout.decode(errors="replace")
    return text if done.returncode == 0 and "Cipher is (NONE)" not in text else ""


def test_grpc(server, pki):
    assert versions_of(scan(server.address)) == set(), "nobody is served who does not offer h2"
    weakest = ("-cipher", "ALL:COMPLEMENTOFALL@SECLEVEL=0")
    offered = {version for version in ("tls1", "tls1_1", "tls1_2", "tls1_3") if handshake(server.address, pki, f"-{version}", *weakest)}
    assert offered == {"tls1_2", "tls1_3"}
    listed = subprocess.run(["openssl", "ciphers", "-s", "-tls1_2", "-V", weakest[1]], check=True, capture_output=True, text=True).stdout
    accepted = set()
    for line in listed.splitlines():
        number, _, name = line.split()[:3]
        if handshake(server.address, pki, "-tls1_2", "-cipher", f"{name}@SECLEVEL=0"):
            accepted.add("0x" + "".join(part.strip().removeprefix("0x") for part in number.split(",")))
    assert accepted and accepted <= GOOD_CIPHERS
    for version in ("-tls1_2", "-tls1_3"):
        text = handshake(server.address, pki, version, "-comp")
        assert "Compression: NONE" in text and "ALPN protocol: h2" in text and "subject=CN = server" in text
