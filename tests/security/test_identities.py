"""What callers see who may use some models, and what happens when keys change."""

import http.client
import json
import queue
import re
import signal
import socket
import subprocess
import time

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support.grpc_frontends import GRPC_FRONTENDS
from support.identities import HIDDEN, MANIFEST, wait_for_models
from support.server import BUILD, START_TIMEOUT_S, Server
from tritonclient.utils import InferenceServerException

UNKNOWN = "no-such-model"
MODEL_PATHS = ["ready", "", "config", "stats", "versions/1", "versions/1/config", "versions/1/stats", "versions/2",
               "versions/label", "infer", "versions/1/infer", "versions/label/infer", "generate", "generate_stream",
               "trace/setting"]
GONE_S = 10  # how long a test waits for what takes 2 s at most on a machine that does nothing else


@pytest.fixture(scope="module")
def tokens(keys):
    return {"fraud": keys.add("fraud", ",".join(
                f"{category}@fraud-*" for category in ("inference", "metadata", "model-config", "statistics", "health", "trace",
                                                       "model-repository")), "tenant=fraud"),
            "loader": keys.add("loader", "model-repository"), "all": keys.add("all", "*")}


@pytest.fixture(scope="module", params=GRPC_FRONTENDS)
def server(request, serve, tokens):
    with serve(grpc_frontend=request.param) as running:
        running.wait_active()
        wait_for_models(running, tokens["all"], "any", "fraud-a", HIDDEN)
        yield running


def ask(server, *arguments, **named):
    return ask_at(server.http_address, *arguments, **named)


def ask_at(address, method, path, token=None, body=b"{}", headers=None):
    connection = http.client.HTTPConnection(address, timeout=START_TIMEOUT_S)
    try:
        headers = {**(headers or {}), **({} if token is None else {"Authorization": f"Bearer {token}"})}
        connection.request(method, path, body=body if method == "POST" else None, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def headers_of(token):
    return {"authorization": f"Bearer {token}"}


def tensors(module):
    values = np.arange(16, dtype=np.float32)
    tensor = module.InferInput("INPUT0", list(values.shape), "FP32")
    tensor.set_data_from_numpy(values)
    return [tensor]


@pytest.mark.parametrize("path", MODEL_PATHS)
def test_a_hidden_model_is_as_an_unknown_one_over_http(server, tokens, path):
    methods = ["POST"] if "infer" in path or "generate" in path else ["GET", "POST"] if "trace" in path else ["GET"]
    for method in methods:
        answers = [ask(server, method, f"/v2/models/{name}/{path}".rstrip("/"), tokens["fraud"]) for name in (HIDDEN, UNKNOWN)]
        assert answers[0] == (answers[1][0], answers[1][1].replace(UNKNOWN, HIDDEN)), path
        seen = ask(server, method, f"/v2/models/fraud-a/{path}".rstrip("/"), tokens["fraud"])
        assert seen[0] not in (401, 403)


def test_a_hidden_model_is_as_an_unknown_one_over_grpc(server, tokens):
    headers = headers_of(tokens["fraud"])
    with grpcclient.InferenceServerClient(server.address) as client:
        calls = {
            "ready": lambda name: client.is_model_ready(name, headers=headers),
            "metadata": lambda name: client.get_model_metadata(name, headers=headers),
            "version": lambda name: client.get_model_metadata(name, "2", headers=headers),
            "label": lambda name: client.get_model_metadata(name, "label", headers=headers),
            "config": lambda name: client.get_model_config(name, headers=headers),
            "statistics": lambda name: client.get_inference_statistics(name, headers=headers),
            "trace": lambda name: client.get_trace_settings(name, headers=headers),
            "infer": lambda name: client.infer(name, tensors(grpcclient), headers=headers),
            "label's infer": lambda name: client.infer(name, tensors(grpcclient), model_version="label", headers=headers),
        }
        for what, call in calls.items():
            def answer(name):
                try:
                    return str(call(name))
                except InferenceServerException as error:
                    return error.status(), error.message()
            hidden, unknown = answer(HIDDEN), answer(UNKNOWN)
            if isinstance(unknown, tuple):
                unknown = unknown[0], unknown[1].replace(UNKNOWN, HIDDEN)
            assert hidden == unknown, what
        assert client.is_model_ready("fraud-a", headers=headers)
        assert client.infer("fraud-a", tensors(grpcclient), headers=headers).as_numpy("OUTPUT0").size == 16


def test_lists_show_what_one_may_see(server, tokens):
    names = {model["name"] for model in json.loads(ask(server, "POST", "/v2/repository/index", tokens["fraud"])[1])}
    assert names == {"fraud-a"}
    statistics = json.loads(ask(server, "GET", "/v2/models/stats", tokens["fraud"])[1])
    assert {model["name"] for model in statistics["model_stats"]} == {"fraud-a"}
    with grpcclient.InferenceServerClient(server.address) as client:
        headers = headers_of(tokens["fraud"])
        assert {model.name for model in client.get_model_repository_index(headers=headers).models} == {"fraud-a"}
        assert {model.name for model in client.get_inference_statistics(headers=headers).model_stats} == {"fraud-a"}
        everything = {model.name for model in client.get_model_repository_index(headers=headers_of(tokens["all"])).models}
        assert everything == {"any", "fraud-a", HIDDEN, "repeat"}


def test_loads_with_files_need_their_own_permission(server, tokens):
    path, body = "/v2/repository/models/any/load", json.dumps({"parameters": {"config": "nothing"}})
    assert ask(server, "POST", path, tokens["loader"])[0] == 200
    assert ask(server, "POST", path, tokens["loader"], body)[0] == 403
    assert ask(server, "POST", path, tokens["all"], body)[0] not in (401, 403)
    for name in (HIDDEN, UNKNOWN):
        for action in ("load", "unload"):
            assert ask(server, "POST", f"/v2/repository/models/{name}/{action}", tokens["fraud"])[0] == 403
    with grpcclient.InferenceServerClient(server.address) as client:
        with pytest.raises(InferenceServerException, match="PERMISSION_DENIED"):
            client.load_model("any", config="nothing", headers=headers_of(tokens["loader"]))
        client.load_model("any", headers=headers_of(tokens["loader"]))


def test_settings_of_the_whole_server_need_all_models(server, tokens):
    assert ask(server, "GET", "/v2/trace/setting", tokens["fraud"])[0] == 403
    assert ask(server, "GET", "/v2/models/fraud-a/trace/setting", tokens["fraud"])[0] == 200
    assert ask(server, "GET", "/v2/trace/setting", tokens["all"])[0] == 200


def test_clients_that_people_have(server, tokens):
    with httpclient.InferenceServerClient(server.http_address) as client:
        headers = headers_of(tokens["fraud"])
        assert client.is_server_ready()
        assert client.infer("fraud-a", tensors(httpclient), headers=headers).as_numpy("OUTPUT0").size == 16
        with pytest.raises(InferenceServerException):
            client.infer("fraud-a", tensors(httpclient))
    done = subprocess.run(["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "-H", f"Authorization: Bearer {tokens['fraud']}",
                           f"http://{server.http_address}/v2/models/fraud-a"], capture_output=True, text=True, check=True)
    assert done.stdout == "200"


def test_each_message_of_a_stream_is_asked_for(server, tokens):
    answers = queue.Queue()
    with grpcclient.InferenceServerClient(server.address) as client:
        client.start_stream(lambda result, error: answers.put((result, error)), headers=headers_of(tokens["fraud"]))
        for name in ("fraud-a", HIDDEN, UNKNOWN, "fraud-a"):
            client.async_stream_infer(name, tensors(grpcclient))
        got = [answers.get(timeout=START_TIMEOUT_S) for _ in range(4)]
        client.stop_stream()
    errors = [error.message() for _, error in got if error is not None]
    assert len(errors) == 2 and errors[0] == errors[1].replace(UNKNOWN, HIDDEN)


def test_a_stream_ends_with_its_key(server, keys):
    token = keys.add("short", "inference")
    answers = queue.Queue()
    with grpcclient.InferenceServerClient(server.address) as client:
        wait_until(lambda: ask(server, "POST", "/v2/models/any/infer", token)[0] not in (401, 429))
        client.start_stream(lambda result, error: answers.put((result, error)), headers=headers_of(token))
        client.async_stream_infer("any", tensors(grpcclient))
        _, error = answers.get(timeout=START_TIMEOUT_S)
        assert error is None, error
        keys.remove("short")
        _, error = answers.get(timeout=GONE_S)  # nothing is sent meanwhile
        assert "UNAUTHENTICATED" in error.status(), error
        client.stop_stream()
    assert ask(server, "POST", "/v2/models/any/infer", token)[0] in (401, 429)


def begin_stream(server, model, token):
    """An HTTP answer in pieces that goes on for a long time, and the connection."""
    connection = http.client.HTTPConnection(server.http_address, timeout=START_TIMEOUT_S)
    body = json.dumps({"IN": [1] * 1000, "DELAY": [100] * 1000, "WAIT": [0]})
    connection.request("POST", f"/v2/models/{model}/generate_stream", body, headers_of(token) if token else {})
    answer = connection.getresponse()
    assert answer.status == 200 and answer.readline().startswith(b"data:")
    return connection, answer


def breaks_off(answer):
    with pytest.raises(http.client.IncompleteRead):
        answer.read()


def test_an_answer_that_is_being_sent_breaks_off_with_its_key(server, keys):
    token, other = keys.add("leaving", "inference"), keys.add("staying", "inference")
    wait_until(lambda: all(ask(server, "POST", "/v2/models/any/infer", one)[0] not in (401, 429) for one in (token, other)))
    connection, answer = begin_stream(server, "repeat", token)
    staying, goes_on = begin_stream(server, "repeat", other)
    keys.remove("leaving")
    breaks_off(answer)
    for _ in range(30):  # of 3 s, which is longer than what is ended takes
        assert goes_on.readline()
    connection.close()
    staying.close()


def test_what_goes_on_ends_when_its_model_is_taken_away(server, keys):
    """By either protocol; the caller may make calls of other models still."""
    token = keys.add("fewer", "inference@repeat,inference@any")
    wait_until(lambda: ask(server, "POST", "/v2/models/any/infer", token)[0] not in (401, 429))
    connection, answer = begin_stream(server, "repeat", token)
    answers = queue.Queue()
    with grpcclient.InferenceServerClient(server.address) as client:
        client.start_stream(lambda result, error: answers.put((result, error)), headers=headers_of(token))
        client.async_stream_infer("any", tensors(grpcclient))
        assert answers.get(timeout=START_TIMEOUT_S)[1] is None
        keys.lines["fewer"] = keys.lines["fewer"].replace("inference@repeat,inference@any", "inference@other")
        keys.write()
        breaks_off(answer)
        _, error = answers.get(timeout=GONE_S)
        assert "PERMISSION_DENIED" in error.status(), error
        client.stop_stream()
    connection.close()


def wait_until(holds):
    deadline = time.monotonic() + START_TIMEOUT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_broken_file_keeps_the_old_keys(server, keys, tokens):
    good = keys.path.read_text()
    keys.path.write_text(good + "nonsense\n")
    server.wait_for_line("the keys are not taken, those read before go on: .*line")
    assert ask(server, "GET", "/v2/models/any", tokens["all"])[0] == 200
    keys.write()
    wait_until(lambda: ask(server, "GET", "/v2/models/any", tokens["all"])[0] == 200)


def test_too_many_wrong_credentials_are_told_so_and_counted(server, tokens):
    connection = http.client.HTTPConnection(server.http_address, timeout=START_TIMEOUT_S)
    codes = []
    while 429 not in codes:  # at the latest when a second has seen more than 10
        connection.request("GET", "/v2", headers=headers_of(f"atk_all_{len(codes):032x}"))
        answer = connection.getresponse()
        answer.read()
        codes.append(answer.status)
        assert answer.status in (401, 429) and len(codes) < 10_000
    connection.close()
    # Others of this file may have presented wrong ones in this second, too.
    assert set(codes[:-1]) <= {401}
    assert ask(server, "GET", "/v2", tokens["all"])[0] == 200, "who has a right one is not locked out"
    counted = wrong_credentials(server, "http", tokens["all"])
    assert counted["too_many"] >= 1 and counted["unauthenticated"] >= len(codes) - 1, counted


def wrong_credentials(server, protocol, token):
    """{answer: how many got it}, by the page of metrics"""
    page = ask_at(server.metrics_address, "GET", "/metrics", token)[1]
    return {answer: float(value) for answer, value in re.findall(
        rf'^atoll_{protocol}_wrong_credentials_total\{{.*answer="(\w+)".*\}} (\S+)$', page, re.M)}


def test_too_many_wrong_credentials_over_grpc(server, tokens):
    codes = []
    with grpcclient.InferenceServerClient(server.address) as client:
        while "RESOURCE_EXHAUSTED" not in codes:
            with pytest.raises(InferenceServerException) as caught:
                client.get_server_metadata(headers=headers_of(f"atk_all_{len(codes):032x}"))
            codes.append(caught.value.status().split(".")[-1])
            assert len(codes) < 10_000
        assert set(codes[:-1]) <= {"UNAUTHENTICATED"}
        client.get_server_metadata(headers=headers_of(tokens["all"]))
    counted = wrong_credentials(server, "grpc", tokens["all"])
    assert not counted or counted["too_many"] >= 1, "frontends/grpc counts nothing"


def test_without_a_credential_no_byte_of_a_body_is_awaited(server, tokens):
    host, port = server.http_address.rsplit(":", 1)
    for path in ("/v2/models/any/infer", "/v1/chat/completions", "/tfserving/v1/models/any:predict"):
        with socket.create_connection((host, int(port)), timeout=START_TIMEOUT_S) as connection:
            connection.sendall(f"POST {path} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n".encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 401 "), path


def test_a_file_without_keys_refuses_all_calls_as_unavailable(serve, repository, tmp_path):
    empty = tmp_path / "keys"
    empty.write_text("# none yet\n")
    empty.chmod(0o600)
    with serve(f'plugin.keys.keys_file="{empty}"') as running:
        running.wait_active()
        assert ask(running, "GET", "/v2/health/live")[0] == 200
        for path in ("/v2", "/v1/models", "/tfserving/v1/models"):
            for token in (None, "atk_all_x"):
                assert ask(running, "GET", path, token)[0] == 503, (path, token)
        with grpcclient.InferenceServerClient(running.address) as client, pytest.raises(InferenceServerException, match="UNAVAILABLE"):
            client.get_server_metadata()


def test_what_is_open_when_identities_come_is_asked_who_it_is(repository, keys, tmp_path):
    """A manifest without a source of identities gets one: connections and streams of before are denied as new ones are."""
    manifest = tmp_path / "atoll.toml"
    manifest.write_text(MANIFEST.read_text().replace('[plugin.keys]\nuse = "security/keys"\n', ""))
    with Server(repository, manifest=manifest, grpc_frontend="frontends/grpc_nghttp2") as running:
        running.wait_active().wait_logged("successfully loaded 'repeat'")
        kept = http.client.HTTPConnection(running.http_address, timeout=START_TIMEOUT_S)
        kept.request("GET", "/v2")
        assert kept.getresponse().read()
        connection, answer = begin_stream(running, "repeat", None)
        answers = queue.Queue()
        with grpcclient.InferenceServerClient(running.address) as client:
            client.start_stream(lambda result, error: answers.put((result, error)))
            client.async_stream_infer("any", tensors(grpcclient))
            assert answers.get(timeout=START_TIMEOUT_S)[1] is None
            manifest.write_text(manifest.read_text() + f'\n[plugin.keys]\nuse = "security/keys"\nkeys_file = "{keys.path}"\n')
            running.process.send_signal(signal.SIGHUP)
            breaks_off(answer)
            _, error = answers.get(timeout=START_TIMEOUT_S)
            assert "UNAUTHENTICATED" in error.status(), error
            client.stop_stream()
        kept.request("GET", "/v2")
        assert kept.getresponse().status == 401
        kept.close()
        connection.close()


def test_no_token_gets_into_the_log(server, tokens):
    assert not any(token in server.log for token in tokens.values())


def test_the_tool_makes_no_key_that_is_good_for_nothing_and_removes_one(tmp_path):
    file = tmp_path / "keys"
    key = [BUILD / "bin" / "atollctl", "--porcelain", "key"]

    def make(name, permissions="*", *more):
        return subprocess.run([*key, "make", name, "--file", file, "--permissions", permissions, *more], capture_output=True, text=True)
    assert make("first").returncode == 0
    assert "about the whole server" in make("second", "metrics@a").stderr
    assert "has passed" in make("second", "*", "--expires", "2001-01-01T00:00:00Z").stderr
    assert make("first-2", "*", "--expires", "2999-01-01T00:00:00Z").returncode == 0
    assert "'first' has no tenant" in make("third", "*", "--tenant", "first").stderr
    file.write_text("# mine\n" + file.read_text())
    before = file.stat().st_mode
    assert subprocess.run([*key, "remove", "first", "--file", file]).returncode == 0
    assert "no key 'first'" in subprocess.run([*key, "remove", "first", "--file", file], capture_output=True, text=True).stderr
    assert [line.split(":")[0] for line in file.read_text().splitlines()] == ["# mine", "first-2"]
    assert file.stat().st_mode == before


def test_the_tool_shows_no_secret_that_it_was_given_in_a_wrong_way():
    for arguments in (["--token", "atk_x_secret", "model", "list"], ["model", "list", "--token=atk_x_secret"], ["model", "list", "atk_x_secret"]):
        done = subprocess.run([BUILD / "bin" / "atollctl", *arguments], capture_output=True, text=True)
        assert done.returncode != 0 and "secret" not in done.stdout + done.stderr, done
    assert "--token-file" in subprocess.run([BUILD / "bin" / "atollctl", "--token", "x", "model", "list"], capture_output=True, text=True).stderr


def test_the_tool_makes_keys(server, keys, tmp_path):
    tool = BUILD / "bin" / "atollctl"
    made = subprocess.run([tool, "key", "make", "made", "--file", keys.path, "--permissions", "model-repository,metadata"],
                          capture_output=True, text=True, check=True)
    token = made.stdout.strip()
    assert token not in keys.path.read_text()
    listed = subprocess.run([tool, "--porcelain", "key", "list", "--file", keys.path], capture_output=True, text=True, check=True)
    assert "made\tmodel-repository,metadata" in listed.stdout
    wait_until(lambda: ask(server, "GET", "/v2", token)[0] == 200)
    target = ["--target", f"http://{server.http_address}"]
    done = subprocess.run([tool, *target, "model", "list"], env={"ATOLL_TOKEN": token}, capture_output=True, text=True)
    assert done.returncode == 0 and "fraud-a" in done.stdout, done
    file = tmp_path / "token"
    file.write_text(token + "\n")
    assert subprocess.run([tool, *target, "--token-file", file, "model", "list"], capture_output=True).returncode == 0
    assert subprocess.run([tool, *target, "model", "list"], capture_output=True).returncode == 1
