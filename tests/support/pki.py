"""Certificates for the tests of TLS."""

import subprocess

import tritonclient.grpc as grpcclient

from .waiting import eventually


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def make_pki(folder):
    """Two authorities; a server's and a client's certificate of the first, a client's of the second."""
    for authority in ("ca", "other_ca"):
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 2, "-subj", f"/CN={authority}",
                "-keyout", folder / f"{authority}.key", "-out", folder / f"{authority}.crt")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1")
    for name, authority in (("server", "ca"), ("client", "ca"), ("stranger", "other_ca")):
        sign(folder, name, authority)
    return folder


def sign(folder, name, authority="ca", days=2):
    """A certificate of an authority of the folder, for this machine; with negative days it has expired."""
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", folder / f"{name}.key",
            "-out", folder / f"{name}.csr")
    openssl("x509", "-req", "-days", days, "-in", folder / f"{name}.csr", "-CA", folder / f"{authority}.crt",
            "-CAkey", folder / f"{authority}.key", "-CAcreateserial", "-extfile", folder / "names",
            "-out", folder / f"{name}.crt")


def tls_options(pki, mutual, plugin="grpc"):
    """Settings of the server's gRPC, or of another instance with TLS."""
    options = [f'plugin.{plugin}.server_cert="{pki}/server.crt"', f'plugin.{plugin}.server_key="{pki}/server.key"']
    if mutual:
        return [*options, f"plugin.{plugin}.use_ssl_mutual=true", f'plugin.{plugin}.root_cert="{pki}/ca.crt"']
    return [*options, f"plugin.{plugin}.use_ssl=true"]


def tls_arguments(pki, root="ca", own=None):
    """Arguments of tritonclient's gRPC clients: whom the client trusts, and who it is."""
    arguments = {"ssl": True, "root_certificates": str(pki / f"{root}.crt")}
    if own:
        arguments |= {"private_key": str(pki / f"{own}.key"), "certificate_chain": str(pki / f"{own}.crt")}
    return arguments


def wait_ready(server, pki):
    """As Server.wait_ready(), of one that asks for a client's certificate, or may be given one."""
    with grpcclient.InferenceServerClient(server.address, **tls_arguments(pki, own="client")) as client:
        eventually(client.is_server_ready)
    return server
