"""What the audit log has of every call of every frontend, and what it never has."""

import collections
import json
import os
import re
import signal
import subprocess
import time

import grpc
import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support.every_call import ask, call_grpc, grpc_methods, http_routes, wrong_of
from support.grpc_frontends import GRPC_FRONTENDS
from support.identities import HIDDEN, MANIFEST, Keys, wait_for_models
from support.server import ROOT, START_TIMEOUT_S, Server
from tritonclient.utils import InferenceServerException

CONTROL = ("model-repository", "shared-memory", "trace", "logging")
REFUSED = ("UNAUTHENTICATED", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED")


class Log:
    def __init__(self, path):
        self.path = path

    def lines(self):
        text = self.path.read_text()
        return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]

    def wait_for(self, ids):
        """Every line by the id of its request, once all of these are there."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            found = collections.defaultdict(list)
            for line in self.lines():
                found[line.get("request_id")].append(line)
            missing = set(ids) - found.keys()
            if not missing:
                return found
            assert time.monotonic() < deadline, f"no line for {sorted(missing)[:5]}"
            time.sleep(0.02)

    def last(self, request_id):
        (line,) = self.wait_for([request_id])[request_id]
        return line


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("audit")


@pytest.fixture(scope="module")
def keys(folder):
    return Keys(folder / "keys")


@pytest.fixture(scope="module")
def tokens(keys):
    return {"all": keys.add("all", "*"), "none": keys.add("none", "pools", "tenant=blue"),
            "fraud": keys.add("fraud", "inference@fraud-*,metadata@fraud-*,model-config@fraud-*,model-repository@fraud-*"
                              ",statistics@fraud-*,openai@fraud-*,tfserving@fraud-*")}


def serve(repository, keys, log, frontend, *settings):
    manifest = log.with_suffix(".toml")
    manifest.write_text(MANIFEST.read_text() + '\n[plugin.audit]\nuse = "telemetry/audit"\n'
                        f'audit_file = "{log}"\n')
    return Server(repository, f'plugin.keys.keys_file="{keys.path}"', *settings, manifest=manifest, grpc_frontend=frontend)


@pytest.fixture(scope="module", params=GRPC_FRONTENDS)
def server(request, repository, keys, folder, tokens):
    log = folder / f"{request.param.replace('/', '-')}.log"
    with serve(repository, keys, log, request.param, "plugin.audit.sample=0") as running:
        running.wait_active()
        wait_for_models(running, tokens["all"], "any", "fraud-a")
        running.audit = Log(log)
        yield running


def callers(tokens):
    """[(who, token, is known)]"""
    return [("nobody", None), ("wrong", wrong_of(tokens["all"])), ("none", tokens["none"]), ("all", tokens["all"])]


def call_all(server, tokens):
    """Makes every call as everybody. \\returns {id of the request: (category, whether it was denied)}"""
    made = {}
    calls = [(server.http_address, *route) for route in sorted(http_routes())]
    calls.append((server.metrics_address, "GET", "/metrics", "metrics", False))
    for number, (address, method, path, category, _) in enumerate(calls):
        for who, token in callers(tokens):
            status = ask(address, method, path, token, headers={"x-request-id": f"{who}-h{number}"})[0]
            made[f"{who}-h{number}"] = category, status in (401, 403, 429)
    with grpc.insecure_channel(server.address) as channel:
        for number, (path, category, _) in enumerate(sorted(grpc_methods())):
            for who, token in callers(tokens):
                code, _ = call_grpc(channel, path, token, {"x-request-id": f"{who}-g{number}"})
                made[f"{who}-g{number}"] = category, code in REFUSED
    return made


def test_every_denial_and_every_control_call_leaves_one_line(server, tokens):
    made = call_all(server, tokens)
    assert not any(is_denied for request_id, (_, is_denied) in made.items() if request_id.startswith("all-"))
    expected = {request_id for request_id, (category, is_denied) in made.items() if is_denied or category in CONTROL}
    assert len(expected) > 200 and len(made.keys() - expected) > 50
    found = server.audit.wait_for(expected)
    for request_id in expected:
        category, is_denied = made[request_id]
        (line,) = found[request_id]
        who = request_id.split("-")[0]
        known = who if who in ("all", "none") else ""
        assert (line["decision"] == "denied", line["category"], line["subject"]) == (is_denied, category, known), line
        assert line["source"] == ("keys" if known else "") and line["tenant"] == ("blue" if known == "none" else ""), line
        assert line["peer"].startswith("ipv4:127.0.0.1:") and line["ms"] >= 0, line
        if is_denied:
            assert line["rule"] == (category if known else "credential") and line["reason"], line
            assert line["status"] in ((401, 403, 429) if line["protocol"] == "http" else (16, 7, 8)), line
    assert not found.keys() - expected, "calls that change nothing are sampled, and of these none"
    text = server.audit.path.read_text()
    assert "atk_" not in text and not any(token[-20:] in text for token in tokens.values())
    assert server.audit.path.stat().st_mode & 0o777 == 0o600


def tensors(module):
    values = np.arange(16, dtype=np.float32)
    tensor = module.InferInput("INPUT0", list(values.shape), "FP32")
    tensor.set_data_from_numpy(values)
    return [tensor]


@pytest.mark.parametrize("method, path, rule", [
    ("GET", f"/v2/models/{HIDDEN}", f"metadata@{HIDDEN}"), ("GET", f"/v2/models/{HIDDEN}/config", f"model-config@{HIDDEN}"),
    ("GET", f"/v2/models/{HIDDEN}/stats", f"statistics@{HIDDEN}"), ("POST", f"/v2/models/{HIDDEN}/infer", f"inference@{HIDDEN}"),
    ("POST", f"/v2/models/{HIDDEN}/generate", f"inference@{HIDDEN}"),
    ("POST", f"/v2/repository/models/{HIDDEN}/load", f"model-repository@{HIDDEN}"),
    ("GET", f"/v1/models/{HIDDEN}", f"openai.models@{HIDDEN}")])
def test_a_hidden_model_is_a_denial(server, tokens, method, path, rule):
    request_id = f"hidden {method} {path}"
    status = ask(server.http_address, method, path, tokens["fraud"], headers={"x-request-id": request_id})[0]
    line = server.audit.last(request_id)
    assert (line["decision"], line["rule"], line["model"], line["status"]) == ("denied", rule, HIDDEN, status)
    assert (line["subject"], line["method"]) == ("fraud", f"{method} {path}")


def test_a_list_that_leaves_models_out_is_no_denial(server, tokens):
    assert ask(server.http_address, "POST", "/v2/repository/index", tokens["fraud"], headers={"x-request-id": "list"})[0] == 200
    line = server.audit.last("list")
    assert (line["decision"], line["model"], line["rule"]) == ("allowed", "", "")


def test_a_hidden_model_is_a_denial_over_grpc(server, tokens):
    headers = {"authorization": f"Bearer {tokens['fraud']}"}
    with grpcclient.InferenceServerClient(server.address) as client:
        for request_id, call in {
                "metadata": lambda more: client.get_model_metadata(HIDDEN, headers=more),
                "infer": lambda more: client.infer(HIDDEN, tensors(grpcclient), headers=more),
                "load": lambda more: client.load_model(HIDDEN, headers=more)}.items():
            with pytest.raises(InferenceServerException):
                call({**headers, "x-request-id": f"grpc {request_id}"})
            line = server.audit.last(f"grpc {request_id}")
            assert (line["decision"], line["model"], line["protocol"]) == ("denied", HIDDEN, "grpc"), line
            assert line["rule"].endswith(f"@{HIDDEN}") and line["status"] != 0, line


def test_each_message_of_a_stream_that_is_denied_is_a_line(server, tokens):
    answers = []
    with grpcclient.InferenceServerClient(server.address) as client:
        client.start_stream(lambda result, error: answers.append((result, error)),
                            headers={"authorization": f"Bearer {tokens['fraud']}", "x-request-id": "stream"})
        for model in ("fraud-a", HIDDEN, "fraud-a", HIDDEN):
            client.async_stream_infer(model, tensors(grpcclient))
        client.stop_stream()
    assert len(answers) == 4
    ask(server.http_address, "POST", "/v2/repository/index", tokens["all"], headers={"x-request-id": "after stream"})
    lines = server.audit.wait_for(["stream", "after stream"])["stream"]
    assert [(line["decision"], line["rule"]) for line in lines] == [("denied", f"inference@{HIDDEN}")] * 2


def test_what_clients_write_makes_no_line_of_its_own(server, tokens):
    request_id = 'x", "decision": "allowed" \\u000a'
    path = "/v2/repository/models/" + "%22%0d%0a" * 3 + "m" * 2000 + "/load"
    ask(server.http_address, "POST", "/v2/repository/models/" + "m" * 2000 + "/load", tokens["none"], headers={"x-request-id": request_id})
    ask(server.http_address, "POST", path, tokens["none"])
    line = server.audit.last(request_id)
    assert line["decision"] == "denied" and len(line["method"]) < 600
    # A token in the wrong place.
    ask(server.http_address, "POST", f"/v2/repository/models/{tokens['all']}/load", tokens["all"],
        headers={"x-request-id": f"id {tokens['all']}"})
    line = server.audit.last("id [redacted]")
    assert (line["method"], line["model"]) == ("POST /v2/repository/models/[redacted]/load", "[redacted]")


def test_sighup_opens_the_file_anew(server, tokens):
    moved = server.audit.path.with_suffix(".moved")
    os.rename(server.audit.path, moved)
    server.process.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + START_TIMEOUT_S
    while not server.audit.path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    ask(server.http_address, "GET", "/v2", None, headers={"x-request-id": "after"})
    assert server.audit.last("after")["rule"] == "credential"


def test_inference_is_sampled_and_old_files_are_kept(repository, keys, folder, tokens):
    log = folder / "sampled.log"
    with serve(repository, keys, log, "frontends/grpc_nghttp2", "plugin.audit.sample=1", 'plugin.audit.max_size="2KiB"',
               "plugin.audit.old_files=2") as server:
        server.wait_active()
        wait_for_models(server, tokens["all"], "any")
        headers = {"authorization": f"Bearer {tokens['all']}"}
        with grpcclient.InferenceServerClient(server.address) as by_grpc, \
                httpclient.InferenceServerClient(server.http_address) as by_http:
            by_grpc.infer("any", tensors(grpcclient), headers={**headers, "x-request-id": "by grpc"})
            line = Log(log).last("by grpc")
            assert (line["model"], line["decision"], line["status"], line["category"]) == ("any", "allowed", 0, "inference")
            by_http.infer("any", tensors(httpclient), model_version="1", headers={**headers, "x-request-id": "by http"})
            line = Log(log).last("by http")
            assert (line["model"], line["version"], line["status"]) == ("any", "1", 200)
            for number in range(30):
                by_grpc.is_server_live(headers={"x-request-id": str(number)})
        Log(log).wait_for(["29"])
        for path in (log, log.with_name("sampled.log.1"), log.with_name("sampled.log.2")):
            assert path.stat().st_size <= 2048 and path.stat().st_mode & 0o777 == 0o600
            assert all(line["subject"] in ("", "all") for line in Log(path).lines())
        assert not log.with_name("sampled.log.3").exists()
        page = ask(server.metrics_address, "GET", "/metrics", tokens["all"])[2]
        assert re.search(r'atoll_audit_records_total\{instance="audit"\} [1-9]', page), page
        assert 'atoll_audit_dropped_total{instance="audit"} 0' in page


def test_the_example_of_the_page(repository, keys, folder):
    section = (ROOT / "docs" / "security.md").read_text().split("## Audit log")[1]
    blocks = {kind: re.search(rf"^```{kind}\n(.*?)^```$", section, re.M | re.S).group(1) for kind in ("toml", "bash", "json")}
    keys.add("page", "*")  # the page's call has none, and is denied since there are some
    log = folder / "page.log"
    manifest = folder / "page.toml"
    manifest.write_text(f"{MANIFEST.read_text()}\n{blocks['toml']}".replace("/var/log/atoll/audit.log", str(log)))
    with Server(repository, f'plugin.keys.keys_file="{keys.path}"', manifest=manifest, grpc_frontend=None) as server:
        server.wait_active()
        call, tail = blocks["bash"].splitlines()
        subprocess.run(call.replace("curl", "curl -sS").replace("localhost:8000", server.http_address), shell=True, check=True)
        shown = json.loads(blocks["json"])
        Log(log).wait_for([shown["request_id"]])
        written = json.loads(subprocess.run(tail.replace("/var/log/atoll/audit.log", str(log)), shell=True, check=True,
                                            capture_output=True, text=True).stdout)
        changing = ("time", "peer", "ms")
        assert list(written) == list(shown)
        assert {**written, **{name: shown[name] for name in changing}} == shown
