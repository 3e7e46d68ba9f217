"""Callers with JSON web tokens, which openssl has signed."""

import base64
import contextlib
import http.client
import json
import subprocess
import threading
import time

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support.identities import Keys, wait_for_models
from support.server import START_TIMEOUT_S, Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

GONE_S = 10  # how long a test waits for what takes 2 s at most on a machine that does nothing else


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """An RSA key; its public half as a JSON web key."""

    def __init__(self, folder, name):
        self.key = folder / f"{name}.pem"
        self.name = name
        subprocess.run(["openssl", "genrsa", "-out", self.key, "2048"], check=True, capture_output=True)
        modulus = subprocess.run(["openssl", "rsa", "-in", self.key, "-modulus", "-noout"], check=True, capture_output=True, text=True)
        self.modulus = bytes.fromhex(modulus.stdout.strip().removeprefix("Modulus="))

    def jwk(self):
        return {"kty": "RSA", "kid": self.name, "use": "sig", "alg": "RS256", "n": base64url(self.modulus), "e": "AQAB"}

    def token(self, **claims):
        claims = {"iss": "https://issuer", "aud": "atoll", "sub": "ann", "exp": time.time() + 3600, **claims}
        text = ".".join(base64url(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": self.name}, claims))
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], input=text.encode(), check=True, capture_output=True)
        return f"{text}.{base64url(signature.stdout)}"


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    return Issuer(tmp_path_factory.mktemp("issuer"), "first")


@pytest.fixture(scope="module")
def key_set(tmp_path_factory):
    return tmp_path_factory.mktemp("jwks") / "keys.json"


def publish(key_set, *issuers):
    new = key_set.with_suffix(".new")
    new.write_text(json.dumps({"keys": [issuer.jwk() for issuer in issuers]}))
    new.rename(key_set)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return Keys(tmp_path_factory.mktemp("keys") / "keys")


@pytest.fixture(scope="module")
def key(keys):
    return keys.add("ops", "metadata")


@pytest.fixture(scope="module")
def server(repository, key_set, issuer, keys, key, tmp_path_factory):
    publish(key_set, issuer)
    manifest = tmp_path_factory.mktemp("jwt") / "jwt.toml"
    manifest.write_text("".join(f'[plugin.{name}]\nuse = "{use}"\n{more}\n' for name, use, more in (
        ("repository", "repositories/filesystem", 'paths = ["."]'), ("configs", "configs/pbtxt", ""), ("models", "models/catalog", ""),
        ("control", "control/none", ""), ("default", "schedulers/default", ""), ("host", "memory/host", ""),
        ("shared", "memory/shared", ""), ("identity", "backends/identity", ""), ("repeat", "backends/repeat", ""),
        ("grpc", "frontends/grpc_nghttp2", 'address = "127.0.0.1:0"'), ("http", "frontends/http", 'address = "127.0.0.1:0"'),
        ("metrics", "frontends/metrics", 'address = "127.0.0.1:0"'),
        ("keys", "security/keys", f'keys_file = "{keys.path}"'),
        ("jwt", "security/jwt", f'keys_file = "{key_set}"\nissuers = ["https://issuer"]\naudiences = ["atoll"]\npoll_interval = "100ms"\n'
                                'permissions = { "*" = "metadata", "scope=infer" = "inference@fraud-*", "role=admin" = "*" }'))))
    with Server(repository, manifest=manifest, grpc_frontend="frontends/grpc_nghttp2") as running:
        running.wait_active()
        wait_for_models(running, issuer.token(role="admin"), "any", "fraud-a")
        yield running


def ask(server, path, token=None):
    connection = http.client.HTTPConnection(server.http_address, timeout=START_TIMEOUT_S)
    try:
        connection.request("GET", path, headers={} if token is None else {"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.getheader("WWW-Authenticate")
    finally:
        connection.close()


def infer(server, model, token):
    values = np.arange(16, dtype=np.float32)
    tensor = grpcclient.InferInput("INPUT0", list(values.shape), "FP32")
    tensor.set_data_from_numpy(values)
    with grpcclient.InferenceServerClient(server.address) as client:
        return client.infer(model, [tensor], headers={"authorization": f"Bearer {token}"}).as_numpy("OUTPUT0").size


def test_a_token_may_what_its_claims_permit(server, issuer):
    assert ask(server, "/v2", issuer.token())[0] == 200
    assert ask(server, "/v2/models/any/config", issuer.token())[0] in (403, 404)
    assert infer(server, "fraud-a", issuer.token(scope="read infer")) == 16
    for token, model in ((issuer.token(scope="read infer"), "any"), (issuer.token(scope="inferior"), "fraud-a")):
        with pytest.raises(InferenceServerException):
            infer(server, model, token)
    assert infer(server, "any", issuer.token(role=["admin"])) == 16


def test_keys_and_tokens_count_side_by_side(server, issuer, key):
    assert ask(server, "/v2", key)[0] == 200
    assert ask(server, "/v2", issuer.token())[0] == 200
    assert ask(server, "/v2", key + "x")[0] in (401, 429)
    assert ask(server, "/v2")[0] == 401


def test_every_token_that_does_not_count_gets_the_same_answer(server, issuer, tmp_path):
    good = issuer.token(scope="infer")
    head, claims, signature = good.split(".")
    forged = json.dumps({"alg": "none"}).encode()
    wrong = [None, "nonsense", issuer.token(exp=time.time() - 3600), issuer.token(aud="other"), issuer.token(iss="https://other"),
             issuer.token(nbf=time.time() + 3600), Issuer(tmp_path, "first").token(), f"{base64url(forged)}.{claims}.",
             f"{head}.{claims}.{'A' * len(signature)}", good + "x", good * 100]
    answers = {ask(server, "/v2", token) for token in wrong[:5]} | {ask(server, "/v2", token) for token in wrong[5:]}
    assert {status for status, _, _ in answers} <= {401, 429, 431}
    refused = {answer for answer in answers if answer[0] == 401}
    assert len(refused) == 1 and 'Bearer' in refused.pop()[2]


def test_a_key_that_is_taken_out_of_the_set_ends_what_it_has_signed(server, issuer, key_set, tmp_path):
    token = issuer.token()
    assert ask(server, "/v2", token)[0] == 200
    following = Issuer(tmp_path, "second")
    try:
        publish(key_set, issuer, following)
        eventually(lambda: ask(server, "/v2", following.token())[0] == 200, GONE_S, pause_s=0.3)  # wrong credentials are counted
        assert ask(server, "/v2", token)[0] == 200
        publish(key_set, following)
        eventually(lambda: ask(server, "/v2", token)[0] != 200, GONE_S)
    finally:
        publish(key_set, issuer)


def test_keys_are_exchanged_under_load(server, issuer, key_set, tmp_path):
    """A key comes and goes ten times. Who has a token of the key that stays is served all the time, by either protocol."""
    stop, failures, served = threading.Event(), [], {}
    staying = issuer.token()
    eventually(lambda: ask(server, "/v2", staying)[0] == 200, GONE_S, pause_s=0.3)  # the test before may have taken its key away

    def call(name, token):
        connection = http.client.HTTPConnection(server.http_address, timeout=START_TIMEOUT_S)
        with contextlib.closing(connection), grpcclient.InferenceServerClient(server.address) as client:
            while not stop.is_set():
                try:
                    connection.request("GET", "/v2", headers={"Authorization": f"Bearer {token}"})
                    answer = connection.getresponse()
                    answer.read()
                    assert answer.status == 200, answer.status
                    client.get_server_metadata(headers={"authorization": f"Bearer {token}"})
                except Exception as error:  # noqa: BLE001: whatever it is, the client was not served
                    failures.append(error)
                    return
                served[name] = served.get(name, 0) + 1

    callers = [threading.Thread(target=call, args=(name, issuer.token(sub=str(name)))) for name in range(4)]
    for caller in callers:
        caller.start()
    coming = Issuer(tmp_path, "coming")
    token = coming.token()
    try:
        for _ in range(10):
            before = dict(served)
            publish(key_set, issuer, coming)
            eventually(lambda: ask(server, "/v2", token)[0] == 200, GONE_S, pause_s=0.3)  # wrong credentials are counted
            publish(key_set, issuer)
            eventually(lambda: ask(server, "/v2", token)[0] == 401, GONE_S)
            eventually(lambda: failures or all(served.get(name, 0) > before.get(name, 0) for name in range(4)), GONE_S)  # noqa: B023
            assert not failures
    finally:
        stop.set()
        for caller in callers:
            caller.join()
        publish(key_set, issuer)
