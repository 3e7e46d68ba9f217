"""Every call of every frontend, by who calls. The calls are those of the tables of routes in the sources and of the protocol's own
description, so that a new one is tested before anybody thinks of it."""

import re

import grpc
import pytest
from support.every_call import ask, check_callers, check_grpc_callers, grpc_methods, http_routes, wrong_of
from support.grpc_frontends import GRPC_FRONTENDS
from support.identities import HIDDEN
from support.server import ROOT

# A permission that no call of another category needs.
OTHER = {"metadata": "health", "health": "metadata"}


@pytest.fixture(scope="module")
def tokens(keys):
    """By category the token of somebody who may make only its calls."""
    names = {category for _, _, category, _ in http_routes()} | {category for _, category, _ in grpc_methods()} | {"metrics"}
    return {name: keys.add(name.replace(".", "-"), name) for name in sorted(names)} | {"all": keys.add("all", "*")}


@pytest.fixture(scope="module", params=GRPC_FRONTENDS)
def server(request, serve, tokens):
    with serve(grpc_frontend=request.param) as running:
        running.wait_active()
        yield running


def check(address, method, path, category, is_probe, tokens):
    other = tokens[OTHER.get(category, "metadata")]
    check_callers((address, method, path), may_not=[other], may=[tokens["all"], tokens[category]], is_probe=is_probe)


@pytest.mark.parametrize("method, path, category, is_probe", sorted(http_routes()))
def test_http(server, tokens, method, path, category, is_probe):
    check(server.http_address, method, path, category, is_probe, tokens)


def test_metrics(server, tokens):
    check(server.metrics_address, "GET", "/metrics", "metrics", False, tokens)


@pytest.mark.parametrize("path, category, is_probe", sorted(grpc_methods()))
def test_grpc(server, tokens, path, category, is_probe):
    with grpc.insecure_channel(server.address) as channel:
        check_grpc_callers(channel, path, [tokens[OTHER.get(category, "metadata")]], [tokens["all"], tokens[category]],
                           wrong_of(tokens[category]), is_probe)


def test_paths_that_do_not_exist_tell_nothing(server, tokens):
    assert ask(server.http_address, "GET", "/nothing")[0] == 404
    assert ask(server.http_address, "GET", f"/v2/models/{HIDDEN}/nothing")[0] == 404


#: Where the calls of a plugin are tested that brings some. security/sessions opens its own: who is nobody logs in by them.
TESTED_IN = {"frontends/openai": "support/every_call.py", "frontends/tfserving": "support/every_call.py",
             "frontends/console": "security/test_contributed_calls.py", "frontends/metrics": "security/test_contributed_calls.py",
             "frontends/sagemaker": "security/test_contributed_calls.py", "frontends/static_files": "security/test_contributed_calls.py",
             "frontends/vertex_ai": "security/test_contributed_calls.py", "pools/leases": "security/test_calls_of_pools.py",
             "security/sessions": "console/test_console_login.py"}


def test_every_plugin_that_brings_calls_is_tested():
    bring = {str(file.parent.relative_to(ROOT / "plugins")) for file in (ROOT / "plugins").glob("*/*/plugin.cc")
             if re.search(r"provide<(HttpRoutes|GrpcCalls)\b", file.read_text())}
    assert bring == TESTED_IN.keys(), "calls that nobody asks about: add them to a table of tests/security, and the plugin here"
    for plugin, test in TESTED_IN.items():
        assert (ROOT / "tests" / test).exists(), (plugin, test)
