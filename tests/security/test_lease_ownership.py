"""Leases and their names belong to the tenant that asked for them: to the calls of others there are none."""

import json

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http
from support import models
from support.grpc_frontends import GRPC_FRONTENDS
from support.identities import Keys
from support.pools import Pools
from tritonclient.utils import InferenceServerException

CLIENTS = [tritonclient.grpc, tritonclient.http]


class Tenant:
    """The calls of one tenant."""

    def __init__(self, pools, token):
        self.pools = pools
        self.headers = {"authorization": f"Bearer {token}"}

    def call(self, method, path, body=None):
        status, text = self.pools.raw(method, path, body, self.headers)
        return status, json.loads(text)

    def acquire(self, model, **definition):
        status, lease = self.call("POST", "/v2/leases", {
            "pool": "p", "quota": 2, "duration": "1h", "models": [{"name": model, "source": str(self.pools.models)}], **definition})
        assert (status, lease["state"]) == (200, "ACTIVE"), lease
        return lease["id"]

    def client(self, module):
        server = self.pools.server
        return module.InferenceServerClient(server.address if module is tritonclient.grpc else server.http_address)

    def infer(self, module, model, lease=None):
        tensor = module.InferInput("INPUT0", [16], "FP32")
        tensor.set_data_from_numpy(np.arange(16, dtype=np.float32))
        headers = {**self.headers, **({"atoll-lease": lease} if lease else {})}
        with self.client(module) as client:
            return client.infer(model, [tensor], headers=headers).as_numpy("OUTPUT0")[3]

    def index(self, module):
        with self.client(module) as client:
            index = client.get_model_repository_index(headers=self.headers)
        return [model.name for model in index.models] if module is tritonclient.grpc else [model["name"] for model in index]


@pytest.fixture(scope="module", params=GRPC_FRONTENDS)
def tenants(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("leases")
    for name in ("a", "b"):
        models.write_model(folder / "models", name, models.identity_config(name))
    keys = Keys(folder / "keys")
    tokens = {name: keys.add(name, "*", f"tenant={name}") for name in ("blue", "red")}
    pools = Pools(folder, folder / "models", 'plugin.keys.use="security/keys"', f'plugin.keys.keys_file="{keys.path}"',
                  f'plugin.grpc.use="{request.param}"').start()
    made = {name: Tenant(pools, token) for name, token in tokens.items()}
    status, pool = made["blue"].call("POST", "/v2/pools", {"name": "p", "quota": 4, "max_instances": 2})
    assert status == 200, pool
    yield made
    pools.close()


def test_a_lease_serves_its_tenant_and_is_unknown_to_another(tenants):
    blue, red = tenants["blue"], tenants["red"]
    lease = blue.acquire("a", idempotency_key="same")
    assert blue.call("PUT", "/v2/lease_names/live", {"lease": lease})[0] == 200
    for module in CLIENTS:
        assert [blue.infer(module, "a", chosen) for chosen in (None, lease, "live")] == [3, 3, 3]
        assert blue.index(module) == ["a"]
        assert red.index(module) == []
        for chosen in (lease, "live", "never-was"):
            with pytest.raises(InferenceServerException, match=f"lease '{chosen}' is not found, or has ended"):
                red.infer(module, "a", chosen)
        with pytest.raises(InferenceServerException, match="unknown model: 'a'"):
            red.infer(module, "a")
    for path in (f"/v2/leases/{lease}", "/v2/leases/live"):
        for method in ("GET", "DELETE"):
            status, answer = red.call(method, path)
            assert (status, answer) == (404, {"error": f"lease '{path.rpartition('/')[2]}' is not found"})
    assert red.call("GET", "/v2/leases") == (200, {"leases": []})
    assert red.call("GET", "/v2/lease_names") == (200, {"names": []})
    assert [one["leases"] for one in red.call("GET", "/v2/pools/p")[1]["instances"]] == [[]]
    assert [one["leases"] for one in blue.call("GET", "/v2/pools/p")[1]["instances"]] == [[lease]]


def test_two_tenants_use_one_name_and_one_key_each_for_its_own(tenants):
    blue, red = tenants["blue"], tenants["red"]
    of_blue, of_red = blue.acquire("b", idempotency_key="k"), red.acquire("b", idempotency_key="k")
    assert of_blue != of_red
    for tenant, lease in ((blue, of_blue), (red, of_red)):
        assert tenant.call("PUT", "/v2/lease_names/main", {"lease": lease}) == (200, {"name": "main", "lease": lease})
        assert tenant.acquire("b", idempotency_key="k") == lease
        for module in CLIENTS:
            assert tenant.infer(module, "b", "main") == 3
    assert red.call("DELETE", f"/v2/leases/{of_red}")[0] == 200
    for module in CLIENTS:
        with pytest.raises(InferenceServerException, match="lease 'main' is not found, or has ended"):
            red.infer(module, "b", "main")
        assert blue.infer(module, "b", "main") == 3
