"""Every call of every frontend, by who calls. The calls are those of the tables of routes in the sources and of the protocol's own
description, so that a new one is tested before anybody thinks of it."""

import grpc
import pytest
from support.every_call import REFUSED_TEXT, ask, call_grpc, check_callers, grpc_methods, http_routes, wrong_of
from support.grpc_frontends import GRPC_FRONTENDS
from support.identities import HIDDEN

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
    refusals = ("UNAUTHENTICATED", "PERMISSION_DENIED")
    with grpc.insecure_channel(server.address) as channel:
        for token in (None, "something", wrong_of(tokens[category])):
            code, text = call_grpc(channel, path, token)
            if is_probe:
                assert code not in refusals, (token, code)
            elif token is None:
                assert (code, text) == ("UNAUTHENTICATED", REFUSED_TEXT)
            else:
                assert code in ("UNAUTHENTICATED", "RESOURCE_EXHAUSTED"), (token, code, text)
        assert is_probe or call_grpc(channel, path, tokens[OTHER.get(category, "metadata")])[0] == "PERMISSION_DENIED"
        for token in (tokens["all"], tokens[category]):
            code, text = call_grpc(channel, path, token)
            # A load without a name is refused too, but not because of who asks.
            assert code not in refusals, (code, text)


def test_paths_that_do_not_exist_tell_nothing(server, tokens):
    assert ask(server.http_address, "GET", "/nothing")[0] == 404
    assert ask(server.http_address, "GET", f"/v2/models/{HIDDEN}/nothing")[0] == 404
