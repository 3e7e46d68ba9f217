"""Calls of pools and leases, by who calls. They are read from the source's table, so that a new one is tested before anybody thinks of it."""

import re

import pytest
from support.every_call import check_callers
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
