"""Calls of pools and leases, by who calls. They are read from the source's table, so that a new one is tested before anybody thinks of it."""

import re

import grpc
import pytest
from support.every_call import check_callers, check_grpc_callers, wrong_of
from support.identities import Keys
from support.pools import Pools
from support.server import ROOT


def calls():
    """[(method, path, category)]"""
    source = (ROOT / "plugins/pools/leases/api/http_calls.cc").read_text()
    get = re.search(r"const uint32_t get = ([\w |]+);", source).group(1)
    found = []
    for path, methods, category in re.findall(r'\{"(/v2/\w+(?:/\*)?)", ([\w |]+), "([\w.]+)"\}', source):
        for method in re.findall(r"kHttp(\w+)", re.sub(r"\bget\b", get, methods)):
            found.append((method.upper(), path.replace("*", "x"), category))
    assert len(found) > 15 and {category for _, _, category in found} == {"pools.pool", "pools.lease"}
    return found


def grpc_calls():
    """[(path, category)]"""
    source = (ROOT / "plugins/pools/leases/api/grpc_pool_calls.cc").read_text()
    services = dict(re.findall(r'\b(pool|lease) = "(/[\w.]+/)"', source))
    found = [(services[word] + method, category) for word, method, category in re.findall(r'\{\{(pool|lease) \+ "(\w+)", "([\w.]+)"\}', source)]
    described = re.findall(r"^  rpc (\w+)", (ROOT / "plugins/pools/leases/pools.proto").read_text(), re.M)
    assert sorted(path.split("/")[-1] for path, _ in found) == sorted(described) and len(found) > 10
    return found


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    keys = Keys(tmp_path_factory.mktemp("keys") / "keys")
    permissions = {"pools.pool": "pools.pool", "pools.lease": "pools.lease", "pools": "pools", "all": "*", "other": "statistics"}
    yield keys.path, {name: keys.add(f"may-{name.replace('.', '-')}", listed) for name, listed in permissions.items()}


@pytest.fixture(scope="module")
def server(tmp_path_factory, tokens):
    folder = tmp_path_factory.mktemp("pools")
    pools = Pools(folder, folder, 'plugin.keys.use="security/keys"', f'plugin.keys.keys_file="{tokens[0]}"').start()
    yield pools.server
    pools.close()


@pytest.mark.parametrize("method, path, category", calls())
def test_call(server, tokens, method, path, category):
    _, tokens = tokens
    other = "pools.lease" if category == "pools.pool" else "pools.pool"
    check_callers((server.http_address, method, path), may_not=[tokens["other"], tokens[other]],
                  may=[tokens["pools"], tokens[category], tokens["all"]])


@pytest.mark.parametrize("path, category", grpc_calls())
def test_grpc_call(server, tokens, path, category):
    _, tokens = tokens
    other = "pools.lease" if category == "pools.pool" else "pools.pool"
    with grpc.insecure_channel(server.address) as channel:
        check_grpc_callers(channel, path, [tokens["other"], tokens[other]], [tokens["pools"], tokens[category], tokens["all"]],
                           wrong_of(tokens["all"]))
