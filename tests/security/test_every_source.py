"""Every call of the protocol's frontends, by callers that each source of identities knows: keys, JSON web tokens and certificates, all in one
manifest."""

import json

import grpc
import pytest
from support.every_call import check_callers, check_grpc_callers, grpc_methods, http_routes, wrong_of
from support.identities import MANIFEST
from support.server import Server
from test_every_call import OTHER
from test_jwt import Issuer, publish

SOURCES = ("keys", "jwt", "mtls")
CATEGORIES = sorted({category for _, _, category, _ in http_routes()} | {category for _, category, _ in grpc_methods()} | {"metrics"})
FORWARDED = "x-forwarded-client-cert"


@pytest.fixture(scope="module")
def credentials(keys, tmp_path_factory):
    """{source: {category, or "all": what somebody presents who may make its calls, and "wrong"}}, the manifest's lines"""
    issuer = Issuer(tmp_path_factory.mktemp("issuer"), "first")
    key_set = tmp_path_factory.mktemp("jwks") / "keys.json"
    publish(key_set, issuer)
    of_keys = {name: keys.add(name.replace(".", "-"), name) for name in CATEGORIES} | {"all": keys.add("all", "*")}
    of_jwt = {name: issuer.token(role=name) for name in [*CATEGORIES, "all"]}
    of_mtls = {name: {FORWARDED: f'Subject="CN=may {name}"'} for name in [*CATEGORIES, "all"]}
    granted = {name: name for name in CATEGORIES} | {"all": "*"}
    tables = {source: ", ".join(f"{json.dumps(prefix + name)} = {json.dumps(permission)}" for name, permission in granted.items())
              for source, prefix in (("jwt", "role="), ("mtls", "CN=may "))}
    lines = (f'keys_file = "{keys.path}"\n\n[plugin.jwt]\nuse = "security/jwt"\nkeys_file = "{key_set}"\nissuers = ["https://issuer"]\n'
             f'audiences = ["atoll"]\npermissions = {{ {tables["jwt"]} }}\n\n'
             f'[plugin.mtls]\nuse = "security/mtls"\ntrusted_proxies = ["127.0.0.1"]\npermissions = {{ {tables["mtls"]} }}\n')
    return {"keys": of_keys | {"wrong": wrong_of(of_keys["all"])}, "jwt": of_jwt | {"wrong": of_jwt["all"][:-4] + "AAAA"},
            "mtls": of_mtls | {"wrong": {FORWARDED: 'Subject="CN=may all'}}}, lines


@pytest.fixture(scope="module")
def server(repository, credentials, tmp_path_factory):
    manifest = tmp_path_factory.mktemp("sources") / "sources.toml"
    manifest.write_text(MANIFEST.read_text() + credentials[1])
    with Server(repository, manifest=manifest, grpc_frontend="frontends/grpc_nghttp2") as running:
        running.wait_active()
        yield running


def callers(credentials, source, category):
    known = credentials[0][source]
    return {"may_not": [known[OTHER.get(category, "metadata")]], "may": [known["all"], known[category]], "wrong": known["wrong"]}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("method, path, category, is_probe", sorted(http_routes()))
def test_http(server, credentials, source, method, path, category, is_probe):
    check_callers((server.http_address, method, path), **callers(credentials, source, category), is_probe=is_probe)


@pytest.mark.parametrize("source", SOURCES)
def test_metrics(server, credentials, source):
    check_callers((server.metrics_address, "GET", "/metrics"), **callers(credentials, source, "metrics"))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("path, category, is_probe", sorted(grpc_methods()))
def test_grpc(server, credentials, source, path, category, is_probe):
    with grpc.insecure_channel(server.address) as channel:
        check_grpc_callers(channel, path, **callers(credentials, source, category), is_probe=is_probe)
