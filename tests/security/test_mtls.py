"""Callers that are known by their certificates, or by those of which a proxy tells."""

import contextlib
import http.client
import queue
import ssl

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support.grpc_frontends import GRPC_FRONTENDS
from support.identities import MANIFEST, Keys
from support.pki import make_pki, openssl, sign, tls_arguments, tls_options
from support.server import START_TIMEOUT_S, Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

FRONTENDS = ("grpc", "http", "metrics")
MODELS = ("any", "fraud-a")
FORWARDED = "x-forwarded-client-cert"
WORKLOAD = "spiffe://example.org/ns/fraud/sa/scorer"
PERMISSIONS = ('{ "URI=spiffe://example.org/ns/fraud/*" = "metadata,inference@fraud-*", "CN=ops" = "*", '
               '"CN=client" = "health", "CN=scraper" = "metrics" }')


def sign_with_uris(pki, name, *uris, common_name=None):
    """A client's certificate with such names."""
    (pki / "uris").write_text("subjectAltName=" + ",".join(f"URI:{uri}" for uri in uris))
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={common_name or name}", "-keyout", pki / f"{name}.key",
            "-out", pki / f"{name}.csr")
    openssl("x509", "-req", "-days", 2, "-in", pki / f"{name}.csr", "-CA", pki / "ca.crt", "-CAkey", pki / "ca.key",
            "-CAcreateserial", "-extfile", pki / "uris", "-out", pki / f"{name}.crt")


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    folder = make_pki(tmp_path_factory.mktemp("pki"))
    for name in ("ops", "scraper"):
        sign(folder, name)
    sign(folder, "expired", days=-1)
    sign_with_uris(folder, "workload", WORKLOAD, common_name="ops")
    sign_with_uris(folder, "two", WORKLOAD, "spiffe://example.org/ns/other", common_name="ops")
    sign_with_uris(folder, "other", "spiffe://example.org/ns/other")
    return folder


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return Keys(tmp_path_factory.mktemp("keys") / "keys")


@pytest.fixture(scope="module")
def key(keys):
    return keys.add("model-config", "model-config")


@pytest.fixture(scope="module")
def token_of_all(keys):
    return keys.add("all", "*")


@pytest.fixture(scope="module")
def start(repository, keys, key, tmp_path_factory):
    def started(mtls, *settings, grpc_frontend="frontends/grpc_nghttp2"):
        manifest = tmp_path_factory.mktemp("mtls") / "mtls.toml"
        manifest.write_text(MANIFEST.read_text() + f'keys_file = "{keys.path}"\n\n[plugin.mtls]\nuse = "security/mtls"\n{mtls}\n')
        return Server(repository, *settings, manifest=manifest, grpc_frontend=grpc_frontend)
    return started


@pytest.fixture(scope="module", params=GRPC_FRONTENDS)
def server(request, start, pki):
    options = [option for plugin in FRONTENDS for option in tls_options(pki, True, plugin)]
    with start(f"permissions = {PERMISSIONS}", *options, grpc_frontend=request.param) as running:
        running.wait_active()
        eventually(lambda: all(status(running, pki, "ops", f"/v2/models/{name}/ready") == 200 for name in MODELS))
        yield running


@pytest.fixture(scope="module")
def behind_proxy(start):
    """Without TLS: whoever comes from this machine is a proxy."""
    with start(f'permissions = {PERMISSIONS}\ntrusted_proxies = ["127.0.0.1"]') as running:
        running.wait_active()
        eventually(lambda: all(forwarded_status(running, f"/v2/models/{name}/ready", 'Subject="CN=ops"') == 200 for name in MODELS))
        yield running


@contextlib.contextmanager
def connected(address, pki, own):
    context = ssl.create_default_context(cafile=pki / "ca.crt")
    context.check_hostname = False
    if own:
        context.load_cert_chain(pki / f"{own}.crt", pki / f"{own}.key")
    connection = http.client.HTTPSConnection(address, context=context, timeout=START_TIMEOUT_S)
    try:
        yield connection
    finally:
        connection.close()


def ask(connection, path, headers=()):
    connection.putrequest("GET", path)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def status(server, pki, own, path, *headers, address=None):
    with connected(address or server.http_address, pki, own) as connection:
        return ask(connection, path, headers)[0]


def infer(server, model, pki=None, own=None, headers=None):
    values = np.arange(16, dtype=np.float32)
    tensor = grpcclient.InferInput("INPUT0", list(values.shape), "FP32")
    tensor.set_data_from_numpy(values)
    with grpcclient.InferenceServerClient(server.address, **(tls_arguments(pki, own=own) if pki else {})) as client:
        return client.infer(model, [tensor], headers=headers).as_numpy("OUTPUT0").size


def refusal(call, *arguments, **named):
    with pytest.raises(InferenceServerException) as error:
        call(*arguments, **named)
    return error.value.status().split(".")[-1]


def test_a_certificate_may_what_its_name_permits(server, pki):
    assert status(server, pki, "ops", "/v2/logging") == 200
    assert status(server, pki, "workload", "/v2/models/fraud-a") == 200
    assert status(server, pki, "workload", "/v2/logging") == 403, "its URI counts, not its common name"
    assert status(server, pki, "other", "/v2") == 403
    assert infer(server, "fraud-a", pki, "workload") == 16
    assert refusal(infer, server, "any", pki, "workload") == "NOT_FOUND"
    assert infer(server, "any", pki, "ops") == 16
    assert refusal(infer, server, "any", pki, "client") == "PERMISSION_DENIED"
    assert status(server, pki, "scraper", "/metrics", address=server.metrics_address) == 200
    assert status(server, pki, "workload", "/metrics", address=server.metrics_address) == 403


def test_several_uris_name_nobody(server, pki):
    assert status(server, pki, "two", "/v2") == 401
    assert refusal(infer, server, "fraud-a", pki, "two") == "UNAUTHENTICATED"


@pytest.fixture(scope="module", params=GRPC_FRONTENDS)
def lenient(request, start, pki, token_of_all):
    """Where clients need no certificate, but may have one."""
    options = [option for plugin in FRONTENDS for option in (*tls_options(pki, True, plugin), f"plugin.{plugin}.require_client_cert=false")]
    with start(f"permissions = {PERMISSIONS}", *options, grpc_frontend=request.param) as running:
        running.wait_active()
        eventually(lambda: all(status(running, pki, "ops", f"/v2/models/{name}/ready") == 200 for name in MODELS))
        yield running


def test_one_port_takes_a_certificate_or_a_token(lenient, pki, token_of_all):
    bearer = ("authorization", f"Bearer {token_of_all}")
    assert status(lenient, pki, None, "/v2/logging", bearer) == 200
    assert status(lenient, pki, None, "/metrics", bearer, address=lenient.metrics_address) == 200
    assert infer(lenient, "any", pki, headers=dict([bearer])) == 16
    assert status(lenient, pki, "workload", "/v2/models/fraud-a") == 200
    assert infer(lenient, "fraud-a", pki, "workload") == 16
    assert refusal(infer, lenient, "any", pki, "workload") == "NOT_FOUND"
    assert status(lenient, pki, "scraper", "/metrics", address=lenient.metrics_address) == 200
    for address, path in ((lenient.http_address, "/v2"), (lenient.metrics_address, "/metrics")):
        assert status(lenient, pki, None, path, address=address) == 401, "neither of them"
    assert refusal(infer, lenient, "any", pki) == "UNAUTHENTICATED"


@pytest.mark.parametrize("own", ["stranger", "expired"])
def test_a_certificate_that_is_presented_is_verified_all_the_same(lenient, pki, token_of_all, own):
    bearer = ("authorization", f"Bearer {token_of_all}")
    for address in (lenient.http_address, lenient.metrics_address):
        with pytest.raises((ssl.SSLError, OSError, http.client.HTTPException)):
            status(lenient, pki, own, "/v2/health/live", bearer, address=address)
    assert refusal(infer, lenient, "any", pki, own, dict([bearer])) == "UNAVAILABLE"


@pytest.mark.parametrize("own", [None, "stranger", "expired"])
def test_a_certificate_that_is_not_verified_opens_nothing(server, pki, own):
    for address in (server.http_address, server.metrics_address):
        with pytest.raises((ssl.SSLError, OSError, http.client.HTTPException)):
            status(server, pki, own, "/v2/health/live", address=address)
    assert refusal(infer, server, "any", pki, own) == "UNAVAILABLE"


def test_a_forwarded_certificate_of_somebody_else_changes_nothing(server, pki):
    forwarded = (FORWARDED, 'Subject="CN=ops"')
    assert status(server, pki, "workload", "/v2/logging", forwarded) == 403
    assert status(server, pki, "workload", "/v2/models/fraud-a", forwarded) == 200
    assert refusal(infer, server, "any", pki, "workload", headers=dict([forwarded])) == "NOT_FOUND"


def test_a_token_is_said_for_the_call_and_counts_before_the_certificate(server, pki, key):
    bearer = ("Authorization", f"Bearer {key}")
    assert status(server, pki, "workload", "/v2/models/fraud-a/config", bearer) == 200
    assert status(server, pki, "workload", "/v2/models/fraud-a/config") == 403
    assert status(server, pki, "ops", "/v2/logging", bearer) == 403
    assert status(server, pki, "ops", "/v2/logging", ("Authorization", f"Bearer {key}x")) == 401, "a wrong one is no none"


def test_a_stream_is_its_callers(server, pki):
    answers = []
    with grpcclient.InferenceServerClient(server.address, **tls_arguments(pki, own="workload")) as client:
        came = queue.Queue()
        client.start_stream(callback=lambda result, error: came.put((result, error)))
        tensor = grpcclient.InferInput("INPUT0", [16], "FP32")
        tensor.set_data_from_numpy(np.zeros(16, dtype=np.float32))
        for model in ("fraud-a", "any"):
            client.async_stream_infer(model, [tensor])
            answers.append(came.get(timeout=START_TIMEOUT_S))
    assert answers[0][1] is None and answers[1][1] is not None


def forwarded_status(server, path, *values):
    connection = http.client.HTTPConnection(server.http_address, timeout=START_TIMEOUT_S)
    try:
        return ask(connection, path, [(FORWARDED, value) for value in values])[0]
    finally:
        connection.close()


def test_a_trusted_proxy_says_who_its_client_is(behind_proxy):
    assert forwarded_status(behind_proxy, "/v2/models/fraud-a", f'By=x;Hash=1;Subject="CN=ops";URI={WORKLOAD}') == 200
    assert forwarded_status(behind_proxy, "/v2/logging", f'By=x;Hash=1;Subject="CN=ops";URI={WORKLOAD}') == 403
    assert forwarded_status(behind_proxy, "/v2/logging", 'Hash=1;Subject="O=x,CN=ops"') == 200
    assert infer(behind_proxy, "fraud-a", headers={FORWARDED: f"URI={WORKLOAD}"}) == 16
    assert refusal(infer, behind_proxy, "any", headers={FORWARDED: f"URI={WORKLOAD}"}) == "NOT_FOUND"
    assert forwarded_status(behind_proxy, "/v2") == 401


@pytest.mark.parametrize("values", [
    (f"URI={WORKLOAD}", f"URI={WORKLOAD}"), ("By=x", f"URI={WORKLOAD}"), (f"URI={WORKLOAD},URI={WORKLOAD}",),
    (f"URI={WORKLOAD};URI={WORKLOAD}",), ('Subject="CN=x\\,CN=ops"',), ('Subject="CN=ops',), ("",), ("Hash=1",)])
def test_a_forwarded_certificate_that_is_split_repeated_or_unclear_is_refused(behind_proxy, values):
    assert forwarded_status(behind_proxy, "/v2", *values) == 401


def test_another_address_is_no_proxy(start):
    with start(f'permissions = {PERMISSIONS}\ntrusted_proxies = ["192.0.2.0/24"]') as running:
        running.wait_active()
        assert forwarded_status(running, "/v2", 'Subject="CN=ops"') == 401
        assert refusal(infer, running, "any", headers={FORWARDED: 'Subject="CN=ops"'}) == "UNAUTHENTICATED"


def test_wrong_options_are_all_told(start, tmp_path):
    with pytest.raises(AssertionError) as error:
        start('permissions = { "ops" = "*", "CN=a" = "nothing" }\ntrusted_proxies = ["10.0.0.1/8"]')
    for part in ("URI=PATTERN", "nothing", "10.0.0.1/8"):
        assert part in str(error.value)
