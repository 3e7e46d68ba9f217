"""Every call of every frontend, by who calls. The calls are those of the tables of routes in the sources and of the protocol's own
description, so that a new one is tested before anybody thinks of it."""

import grpc
import pytest
from support.every_call import ask, call_grpc, grpc_methods, http_routes, wrong_of
from support.grpc_frontends import GRPC_FRONTENDS
from support.identities import HIDDEN

REFUSED_TEXT = "the call needs a valid credential"
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


def is_refused(answer):
    return answer[0] in (401, 403, 429)


def check(address, method, path, category, is_probe, tokens):
    call = address, method, path
    for token in (None, "something", wrong_of(tokens[category])):
        answer = ask(*call, token)
        if is_probe:
            assert not is_refused(answer), (call, token, answer)
        elif token is None:
            assert answer[0] == 401 and REFUSED_TEXT in answer[2], (call, answer)
            assert answer[1].startswith("Bearer ") and answer[1].endswith('error="invalid_token"'), (call, answer)
        else:
            assert answer[0] in (401, 429), (call, token, answer)  # 429: too many of them in a second
    other = tokens[OTHER.get(category, "metadata")]
    assert is_probe or ask(*call, other)[0] == 403, (call, ask(*call, other))
    assert not is_refused(ask(*call, tokens["all"])), (call, ask(*call, tokens["all"]))
    assert not is_refused(ask(*call, tokens[category])), (call, ask(*call, tokens[category]))


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
