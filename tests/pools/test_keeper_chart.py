"""What etc/kubernetes has for a cluster: plain manifests and a chart, which say the same, and whose manifest of the server works."""

import json
import re

import pytest
import yaml
from support.helm_templates import NotRendered, render, render_chart
from support.server import ROOT

FOLDER = ROOT / "etc" / "kubernetes"
CHART = FOLDER / "chart"


def plain(*names):
    return [document for name in names for document in yaml.safe_load_all((FOLDER / name).read_text())]


def by_name(documents):
    found = {(document["kind"], document["metadata"]["name"]): document for document in documents}
    assert len(found) == len(documents), "two of one kind and name"
    return found


def chart(**values):
    return by_name(render_chart(CHART, "atoll", "atoll", values))


def leaves(values, path=".Values"):
    """Paths of values; an empty table or list is one, too."""
    for name, value in values.items():
        yield from leaves(value, f"{path}.{name}") if isinstance(value, dict) and value else [f"{path}.{name}"]


def test_the_chart_says_what_the_plain_manifests_say():
    manifests = by_name(plain("rbac.yaml", "keeper.yaml", "network.yaml"))
    # Helm does not make the namespace of a release.
    del manifests["Namespace", "atoll"]
    rendered = chart()
    tables = [documents["ConfigMap", "atoll-keeper"]["data"] for documents in (manifests, rendered)]
    # They differ in a comment about what the chart writes itself.
    tables[0]["keeper.toml"] = re.sub(r"# pod_template.*\n", "", tables[0]["keeper.toml"])
    assert rendered == manifests


def test_each_value_is_used_and_each_use_is_a_value():
    texts = "".join(path.read_text() for path in (CHART / "templates").iterdir())
    used = set(re.findall(r"\.Values(?:\.\w+)+", texts))
    given = set(leaves(yaml.safe_load((CHART / "values.yaml").read_text())))
    # A table that is used as a whole has no values of its own.
    assert {path for path in given if not any(path == one or path.startswith(f"{one}.") for one in used)} == set()
    assert used - given - {".Values.resources"} == set()


def test_values_reach_what_they_are_about():
    documents = chart(
        instanceImage="atoll:2", user=7, podTemplate={"spec": {"nodeSelector": {"gpu": "h100"}}}, launcherOptions='queue_timeout = "5m"',
        poolsOptions='backoff = "2s"\nhistory = "2h"', nodeSelector={"disk": "ssd"}, tolerations=[{"key": "gpu", "operator": "Exists"}],
        imagePullSecrets=[{"name": "registry"}], state={"claim": "kept", "storageClass": "nfs"}, models={"create": False},
        service={"type": "LoadBalancer", "annotations": {"a": "b"}},
        networkPolicy={"clients": [{"podSelector": {}}], "instanceClients": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]})
    data = documents["ConfigMap", "atoll-keeper"]["data"]
    assert json.loads(data["pod.json"]) == {"spec": {"nodeSelector": {"gpu": "h100"}}}
    for line in ('image = "atoll:2"', 'pod_template = "/etc/atoll/pod.json"', 'queue_timeout = "5m"', 'backoff = "2s"', 'history = "2h"',
                 '"/var/lib/atoll/pools/repositories" = "kept/pools/repositories"'):
        assert f"\n{line}\n" in data["keeper.toml"], line
    assert ("PersistentVolumeClaim", "models") not in documents
    assert documents["PersistentVolumeClaim", "kept"]["spec"]["storageClassName"] == "nfs"
    pod = documents["Deployment", "atoll-keeper"]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsUser"] == pod["securityContext"]["fsGroup"] == 7
    assert pod["nodeSelector"] == {"disk": "ssd"} and pod["tolerations"][0]["key"] == "gpu"
    assert pod["imagePullSecrets"] == [{"name": "registry"}]
    assert documents["Service", "atoll"]["spec"]["type"] == "LoadBalancer"
    assert documents["Service", "atoll"]["metadata"]["annotations"] == {"a": "b"}
    instances, keeper = (documents["NetworkPolicy", f"atoll-{name}"]["spec"]["ingress"] for name in ("instances", "keeper"))
    assert instances[1] == {"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}
    assert keeper[0]["from"] == [{"podSelector": {}}]
    assert not any(kind == "NetworkPolicy" for kind, _ in chart(networkPolicy={"create": False}))


def test_two_releases_share_nothing():
    names = [{key for key in by_name(render_chart(CHART, release, "n", {"state": {"claim": f"{release}-s"}, "models": {"create": False}}))}
             for release in ("one", "two")]
    assert names[0] & names[1] == set()


def test_the_keeper_meets_the_restricted_standard():
    pod = chart()["Deployment", "atoll-keeper"]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
    for container in pod["containers"]:
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False and context["capabilities"]["drop"] == ["ALL"]
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    assert all(volume.keys() & {"configMap", "persistentVolumeClaim", "emptyDir"} for volume in pod["volumes"])


def test_names_lead_to_something():
    """Each port, claim, table and account that one document names is in another one."""
    documents = chart()
    spec = documents["Deployment", "atoll-keeper"]["spec"]
    pod, labels = spec["template"]["spec"], spec["template"]["metadata"]["labels"]
    ports = {port["name"]: port["containerPort"] for port in pod["containers"][0]["ports"]}
    addresses = re.findall(r'address = "0\.0\.0\.0:(\d+)"', documents["ConfigMap", "atoll-keeper"]["data"]["keeper.toml"])
    assert sorted(ports.values()) == sorted(map(int, addresses))
    service = documents["Service", "atoll"]["spec"]
    assert {port["targetPort"] for port in service["ports"]} <= ports.keys()
    policy = documents["NetworkPolicy", "atoll-keeper"]["spec"]
    assert {port["port"] for rule in policy["ingress"] for port in rule["ports"]} == ports.keys()
    peers = documents["NetworkPolicy", "atoll-instances"]["spec"]["ingress"][0]["from"]
    for selector in (spec["selector"]["matchLabels"], service["selector"], policy["podSelector"]["matchLabels"],
                     peers[0]["podSelector"]["matchLabels"]):
        assert selector == labels
    assert ("ServiceAccount", pod["serviceAccountName"]) in documents
    binding = documents["RoleBinding", "atoll-keeper"]
    assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) in documents
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": pod["serviceAccountName"], "namespace": "atoll"}]
    for volume in pod["volumes"]:
        if "configMap" in volume:
            assert ("ConfigMap", volume["configMap"]["name"]) in documents
        if "persistentVolumeClaim" in volume:
            assert ("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]) in documents
    assert {mount["name"] for mount in pod["containers"][0]["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}


@pytest.mark.parametrize("template, values, text", [
    ("a: {{ .Values.b }}", {"b": 1}, "a: 1"),
    ("x\n  {{- if .Values.b }}\n  y\n  {{- else }}\n  n\n  {{- end }}\nz", {"b": 0}, "x\n  n\nz"),
    ("x: |\n  {{- .Values.b | nindent 2 }}", {"b": "1\n2"}, "x: |\n  1\n  2"),
    ("{{ toJson .Values.b | quote }}", {"b": {"c": [1]}}, '"{\\"c\\":[1]}"'),
    ('{{ .Values.b | default "d" }}', {"b": ""}, "d"),
])
def test_templates_are_rendered_as_helm_does(template, values, text):
    assert render(template, {"Values": values}) == text


@pytest.mark.parametrize("template", ["{{ .Values.none }}", "{{ include \"x\" . }}", "{{ .Values.b }}", "{{ range .Values.b }}{{ end }}"])
def test_what_is_not_rendered_is_an_error(template):
    with pytest.raises(NotRendered):
        render(template, {"Values": {"b": []}})
