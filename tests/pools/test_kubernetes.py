"""Pools of which the instances are pods, of a cluster whose API server is the tests' own and whose pods are processes."""

import base64
import contextlib
import json

import numpy as np
import pytest
import tritonclient.http
import yaml
from support.http_call import call
from support.kubernetes import RESOURCE, Cluster, eventually_running
from support.pki import make_pki
from support.pools import WAIT_S, Pools, Refused
from support.server import ROOT
from support.waiting import eventually

IDENTITY = """
backend: "identity"
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""


@pytest.fixture
def cluster(tmp_path):
    with Cluster(tmp_path / "cluster") as cluster:
        yield cluster


@contextlib.contextmanager
def kept(tmp_path, cluster, *settings, kubeconfig=None, manifest=None):
    for name in "ab":
        (tmp_path / "models" / name / "1").mkdir(parents=True)
        (tmp_path / "models" / name / "config.pbtxt").write_text(IDENTITY)
    token = tmp_path / "token"
    token.write_text("first\n")
    access = ([f'plugin.launcher.kubeconfig="{kubeconfig}"'] if kubeconfig else
              [f'plugin.launcher.server="{cluster.url}"', f'plugin.launcher.token_file="{token}"',
               'plugin.launcher.namespace="serving"'])
    pools = Pools(tmp_path, tmp_path / "models", 'plugin.launcher.image="atoll:1"', *access, *settings,
                  launcher="launchers/kubernetes")
    if manifest:
        pools.manifest.write_text(manifest)
    pools.start()
    try:
        yield pools
    finally:
        pools.close()


def documents(name):
    return list(yaml.safe_load_all((ROOT / "etc" / "kubernetes" / name).read_text()))


def keepers_manifest():
    (table,) = (document for document in documents("keeper.yaml") if document["kind"] == "ConfigMap")
    return table["data"]["keeper.toml"]


def rights():
    """Of the manifest: (group, resource, verb)."""
    (role,) = (document for document in documents("rbac.yaml") if document["kind"] == "Role")
    return {(group, resource, verb) for rule in role["rules"] for group in rule["apiGroups"]
            for resource in rule["resources"] for verb in rule["verbs"]}


def used_rights(cluster):
    used = set()
    for method, path in (line.split(" ", 1) for line in cluster.calls):
        match = RESOURCE.fullmatch(path.split("?")[0])
        verb = {"POST": "create", "DELETE": "delete", "PUT": "update"}.get(method) or (
            "watch" if "watch=1" in path else "get" if match["name"] else "list")
        used.add((match["group"] or "", match["kind"] + ("/log" if match["log"] else ""), verb))
    return used


def infer(address, model):
    with tritonclient.http.InferenceServerClient(address) as client:
        tensor = tritonclient.http.InferInput("INPUT0", [1, 2], "FP32")
        tensor.set_data_from_numpy(np.array([[1, 2]], np.float32))
        return client.infer(model, [tensor]).as_numpy("OUTPUT0").tolist()


def is_active(pools, lease, instead_of):
    """On another pod than the one that had that address."""
    now = pools.lease(lease)
    return now["state"] == "ACTIVE" and now["address"] != instead_of


def test_pods_serve_are_replaced_and_are_found_again(tmp_path, cluster):
    """With the keeper's own manifest; its rights are those that are used, no fewer and no more."""
    cluster.token = "first"
    # It is made, and nobody is told: it is looked at.
    cluster.fail("POST .*/pods", loses_answer=True)
    with kept(tmp_path, cluster, manifest=keepers_manifest()) as pools:
        pools.create(instance={"cpus": 1, "memory": "1GiB"})
        lease = pools.acquire("a")
        (name,) = cluster.running()
        pod = cluster.pods[name]
        assert lease["address"] == f"{pod['status']['podIP']}:8000"
        assert infer(lease["address"], "a") == infer(pools.server.http_address, "a") == [[1, 2]]
        # Its key is in a secret, which the pod names, and nowhere else.
        variables = cluster.secrets[name]["stringData"]
        key = variables["ATOLL__PLUGIN__KEYS__RESTRICTED_APIS"].split("atoll-key=")[1].rstrip('"]')
        assert key and key not in str(pod)
        # Others may ask for inference and health, and for nothing else.
        unload = f"http://{lease['address']}/v2/repository/models/a/unload"
        assert call("POST", unload, "{}").status in (401, 403)
        assert infer(lease["address"], "a") == [[1, 2]]

        # A pod that dies is replaced, and its lease goes on.
        cluster.kill(name)
        eventually(lambda: name not in cluster.pods and is_active(pools, lease, instead_of=lease["address"]), WAIT_S)
        pools.server.wait_logged("its server ended with exit code 137")
        assert infer(pools.server.http_address, "a") == [[1, 2]]

        # The keeper goes; its pods serve on, and are found again by the next one, with the token of that time.
        (name,) = cluster.running()
        address = pools.lease(lease)["address"]
        pools.kill()
        (tmp_path / "token").write_text("second\n")
        cluster.token = "second"
        assert infer(address, "a") == [[1, 2]]
        cluster.leases.clear()  # which would run out after some seconds
        pools.start()
        eventually(lambda: pools.lease(lease)["state"] == "ACTIVE", WAIT_S)
        assert cluster.running() == [name] and pools.lease(lease)["address"] == address
        pools.release(lease)
        pools.call("DELETE", "/v2/pools/fraud")
        eventually(lambda: cluster.pods == {} and cluster.secrets == {}, WAIT_S)
    # Its lease is left to the next one.
    assert [lease["spec"]["holderIdentity"] for lease in cluster.leases.values()] == [""]
    assert rights() == used_rights(cluster)


def test_an_api_server_in_trouble_loses_nothing(tmp_path, cluster):
    with kept(tmp_path, cluster) as pools:
        pools.create()
        cluster.fail("POST .*/pods", 429, headers={"Retry-After": "1"})
        cluster.fail("POST .*/secrets", 503)
        cluster.fail("watch=1", breaks=True)
        lease = pools.acquire("a")
        (first,) = cluster.running()
        # Nothing is told of what happens now but by a list.
        with cluster.lock:
            cluster.kill(first)
            cluster.processes[first].wait()
            cluster.pods.pop(first)
            cluster.forget_events()
        eventually(lambda: is_active(pools, lease, instead_of=lease["address"]), WAIT_S)
        assert infer(pools.server.http_address, "a") == [[1, 2]]
        cluster.token = "second"  # a token is renewed in its file, and read again when it is refused
        (tmp_path / "token").write_text("second\n")
        pools.release(lease)
        pools.call("DELETE", "/v2/pools/fraud")
        eventually(lambda: cluster.pods == {}, WAIT_S)
        assert any("watch=1" in line for line in cluster.calls)


def test_a_kubeconfig_has_certificates_and_a_token(tmp_path):
    (tmp_path / "pki").mkdir()
    pki = make_pki(tmp_path / "pki")

    def data(name):
        return base64.b64encode((pki / name).read_bytes()).decode()
    with Cluster(tmp_path / "cluster", pki) as cluster:
        cluster.token = "first"
        kubeconfig = tmp_path / "kubeconfig.json"
        kubeconfig.write_text(json.dumps({
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "serving"}}],
            "clusters": [{"name": "c", "cluster": {"server": cluster.url, "certificate-authority-data": data("ca.crt")}}],
            "users": [{"name": "u", "user": {"client-certificate-data": data("client.crt"), "client-key-data": data("client.key"),
                                             "token": "first"}}]}))
        with kept(tmp_path, cluster, kubeconfig=kubeconfig) as pools:
            pools.create()
            assert infer(pools.acquire("a")["address"], "a") == [[1, 2]]
            pools.call("DELETE", "/v2/pools/fraud?force=true")
            eventually(lambda: cluster.pods == {}, WAIT_S)


def test_a_program_gives_credentials(tmp_path, cluster):
    program = tmp_path / "login"
    program.write_text(f"""#!/bin/sh
echo "$KUBERNETES_EXEC_INFO" >> {tmp_path}/asked
echo '{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {{"token": "'$(cat {tmp_path}/token)'"}}}}'
""")
    program.chmod(0o755)
    kubeconfig = tmp_path / "kubeconfig.json"
    kubeconfig.write_text(json.dumps({
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "serving"}}],
        "clusters": [{"name": "c", "cluster": {"server": cluster.url}}],
        "users": [{"name": "u", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./login",
                                                  "interactiveMode": "Never", "provideClusterInfo": True}}}]}))
    cluster.token = "first"
    with kept(tmp_path, cluster, kubeconfig=kubeconfig) as pools:
        pools.create()
        assert infer(pools.acquire("a")["address"], "a") == [[1, 2]]
        # What it gave is refused from now on: it is asked again.
        (tmp_path / "token").write_text("second\n")
        cluster.token = "second"
        pools.call("DELETE", "/v2/pools/fraud?force=true")
        eventually(lambda: cluster.pods == {}, WAIT_S)
    asked = [json.loads(line) for line in (tmp_path / "asked").read_text().splitlines()]
    assert len(asked) == 2
    assert asked[0]["spec"] == {"cluster": {"server": cluster.url}, "interactive": False}


def test_a_second_keeper_waits_for_the_first_one(tmp_path, cluster):
    (tmp_path / "servers").mkdir()
    (tmp_path / "servers" / "keeper").write_text("0" * 32)
    cluster.write_lease({"metadata": {"name": "atoll-" + "0" * 32}, "spec": {"holderIdentity": "first", "leaseDurationSeconds": 3600}})
    with kept(tmp_path, cluster, "plugin.launcher.keeper_lease=true") as pools:
        pools.create(min_instances=1)
        pools.server.wait_logged("'first' keeps these pods")
        with cluster.lock:
            assert cluster.pods == {} and not any(line.startswith("POST") for line in cluster.calls)
            cluster.leases.clear()
        eventually(lambda: len(cluster.running()) == 1, WAIT_S)
        pools.call("DELETE", "/v2/pools/fraud?force=true")
        eventually(lambda: cluster.pods == {}, WAIT_S)


def test_a_watch_that_dies_without_a_word_is_begun_anew(tmp_path, cluster):
    cluster.fail("watch=1", is_silent=True)
    with kept(tmp_path, cluster, 'plugin.launcher.watch_silence="1s"') as pools:
        pools.create()
        assert infer(pools.acquire("a")["address"], "a") == [[1, 2]]
        pools.call("DELETE", "/v2/pools/fraud?force=true")
        eventually(lambda: cluster.pods == {}, WAIT_S)
        assert sum("watch=1" in line for line in cluster.calls) > 1


def test_leases_say_why_there_is_no_pod(tmp_path, cluster):
    with kept(tmp_path, cluster, 'plugin.launcher.queue_timeout="100ms"', 'plugin.launcher.start_timeout="1s"',
              'plugin.launcher.images={far = "missing:1"}',
              'plugin.launcher.runtimes={far = "x", none = "/no/such/program", broken = "sh -c \\"echo no licence; exit 3\\""}') as pools:
        def refusal(**instance):
            pools.create("other", instance=instance)
            with pytest.raises(Refused) as refused:
                pools.acquire("b", pool="other")
            pools.call("DELETE", "/v2/pools/other?force=true")
            eventually(lambda: cluster.pods == {} and pools.call("GET", "/v2/pools")["pools"] == [], WAIT_S)
            return refused.value.text

        assert "its server ended with exit code 3: no licence" in refusal(runtime="broken")
        assert 'ImagePullBackOff: Back-off pulling image "missing:1"' in refusal(runtime="far")
        assert "its command cannot be executed: StartError" in refusal(runtime="none")
        cluster.fail("POST .*/pods", 403, message='pods "x" is forbidden: exceeded quota: gpus')
        assert "the namespace has no quota left" in refusal()
        cluster.fail("POST .*/pods", 422, message='Pod "x" is invalid: spec.containers[0].image: Required value')
        assert "Required value" in refusal()
        cluster.pods_max = 0
        assert "0/0 nodes are available: 0 Insufficient cpu." in refusal()
    assert eventually_running(cluster, 0) == []
