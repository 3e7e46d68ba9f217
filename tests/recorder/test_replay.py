"""atoll-replay: the same answers from the same models, differences from others, and plain V2 on the wire."""

import http.server
import json
import os
import signal
import struct
import subprocess
import threading

import pytest
from support import recordings
from support.addresses import free_addresses
from support.pki import make_pki, tls_options, wait_ready
from support.server import BUILD

REPLAY = BUILD / "bin" / "atoll-replay"
TIMEOUT_S = 120
HOUR_NS = 3_600_000_000_000


def run(*arguments, token=None):
    """token: in the environment"""
    environment = {**os.environ, "ATOLL_TOKEN": token} if token else None
    return subprocess.run([str(REPLAY), *map(str, arguments)], capture_output=True, text=True, timeout=TIMEOUT_S, env=environment)


def replay(server, file, protocol, *arguments):
    address = server.address if protocol == "grpc" else server.http_address
    return run(file, "--url", address, "--protocol", protocol, *arguments)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A recording of traffic, one without what only gRPC has, and how many requests the first one has; the server that made it, and
    one whose model `add` adds something else."""
    folder = tmp_path_factory.mktemp("replay")
    recordings.write_models(folder / "models")
    recordings.write_models(folder / "others", constant=2)
    with recordings.recording_server(folder / "models", folder / "traffic") as server:
        server.wait_ready().wait_active()
        count = recordings.send_traffic(server)
    entries = recordings.read(folder / "traffic")
    streamed = {request.number for request in recordings.of_kind(entries, "request") if request.decoupled}
    kept = [entry for entry in entries if getattr(getattr(entry, entry.WhichOneof("kind")), "number", 0) not in streamed]
    recordings.write(folder / "unary", kept)
    with recordings.recording_server(folder / "models", None) as same, recordings.recording_server(folder / "others", None) as other:
        same.wait_ready().wait_active()
        other.wait_ready().wait_active()
        yield folder / "traffic", folder / "unary", count, same, other


def test_grpc_has_the_same_answers(world):
    traffic, _, count, same, _ = world
    done = replay(same, traffic, "grpc", "--compare", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(done.stdout)
    assert list(summary) == ["requests", "failures", "differences", "models"]
    assert (summary["requests"], summary["failures"], summary["differences"]) == (count, 0, 0)
    assert sorted(summary["models"]) == ["add", "repeat", "sums", "texts"]
    latencies = summary["models"]["add"]
    assert list(latencies) == [f"latency_{name}_us" for name in ("p50", "p90", "p95", "p99", "max")]
    assert 0 < latencies["latency_p50_us"] <= latencies["latency_p99_us"] <= latencies["latency_max_us"]


def test_http_has_the_same_answers(world):
    _, unary, count, same, _ = world
    done = replay(same, unary, "http", "--compare")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{count - 4} requests, 0 failures, 0 differences in {count - 4} that were compared\nMODEL")


def test_http_cannot_answer_any_number_of_times(world):
    traffic, _, count, same, _ = world
    done = replay(same, traffic, "http", "--json")
    summary = json.loads(done.stdout)
    assert (done.returncode, summary["requests"], summary["failures"]) == (1, count, 4)
    assert "model 'repeat' answers a request any number of times" in done.stderr


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_another_model_is_seen(world, protocol):
    _, unary, count, _, other = world
    without = replay(other, unary, protocol, "--json")
    assert (without.returncode, json.loads(without.stdout)["differences"]) == (0, 0), "nobody has asked for that"
    done = replay(other, unary, protocol, "--compare", "--json")
    assert (done.returncode, json.loads(done.stdout)["differences"], json.loads(done.stdout)["failures"]) == (1, 4, 0)
    assert "model 'add' is answered differently: output 'OUTPUT0': element 0 was 2 and is 3" in done.stderr
    tolerant = replay(other, unary, protocol, "--compare", "--atol", "1")
    assert tolerant.returncode == 0, tolerant.stderr


def test_a_missing_model_fails(world, tmp_path):
    _, unary, _, same, _ = world
    entries = recordings.read(unary)
    for entry in entries:
        if entry.request.model == "add":
            entry.request.model = "gone"
    recordings.write(tmp_path / "traffic", entries)
    for protocol in ("http", "grpc"):
        done = replay(same, tmp_path / "traffic", protocol, "--json")
        assert (done.returncode, json.loads(done.stdout)["failures"], json.loads(done.stdout)["models"]["gone"]) == (1, 4, {})
        assert "Request for unknown model: 'gone'" in done.stderr


def test_what_failed_is_to_fail_again(world, tmp_path):
    _, unary, count, same, other = world
    entries = recordings.read(unary)
    for entry in entries:
        if entry.request.model == "texts":
            entry.request.inputs[0].datatype = "INT8"
        if entry.response.outputs and entry.response.outputs[0].datatype == "BYTES":
            del entry.response.outputs[:]
            entry.response.code, entry.response.message = 3, "wrong type"
    recordings.write(tmp_path / "traffic", entries)
    done = replay(same, tmp_path / "traffic", "http", "--compare", "--json")
    assert (done.returncode, json.loads(done.stdout)["requests"]) == (0, count - 4), done.stderr


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_nobody_there(world, protocol):
    with free_addresses(1) as [address]:
        done = run(world[1], "--url", address, "--protocol", protocol, "--json")
    assert (done.returncode, done.stdout) == (1, "") and done.stderr.startswith(f"atoll-replay: there is no server at {address}: ")


def test_usage(world, tmp_path):
    text = tmp_path / "text"
    text.write_text("[plugin.recorder]\n")
    for arguments, problem in (([tmp_path / "nothing", "--url", "127.0.0.1:1"], "nothing: No such file or directory"),
                               ([text, "--url", "127.0.0.1:1"], "text: this is not a recording"),
                               ([world[0]], "--url is required"), ([world[0], "--url", "nowhere"], "expected HOST:PORT"),
                               ([world[0], "--url", "a:1", "--protocol", "smtp"], "smtp"), ([world[0], "--url", "a:1", "--pace", "0"], "--pace")):
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (2, "") and problem in done.stderr


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_tls(world, tmp_path_factory, protocol):
    _, unary, count, _, _ = world
    folder = tmp_path_factory.mktemp("tls")
    pki = make_pki(folder)
    recordings.write_models(folder / "models")
    settings = [option for plugin in ("grpc", "http") for option in tls_options(pki, True, plugin)]
    shown = ["--cert", pki / "client.crt", "--key", pki / "client.key"]
    with recordings.recording_server(folder / "models", None, *settings) as server:
        wait_ready(server, pki)
        address = "https://localhost:" + (server.address if protocol == "grpc" else server.http_address).rpartition(":")[2]
        arguments = [unary, "--url", address, "--protocol", protocol, "--compare"]
        done = run(*arguments, "--ca-file", pki / "ca.crt", *shown)
        assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(f"{count - 4} requests, 0 failures, 0 differences")
        for wrong in (["--ca-file", pki / "ca.crt"], ["--ca-file", pki / "other_ca.crt", *shown]):
            refused = run(*arguments, *wrong)
            # Lines of the gRPC library's own may come before.
            assert refused.returncode == 1 and "atoll-replay: there is no server at localhost:" in refused.stderr, refused.stderr
    missing = run(*arguments, "--ca-file", pki / "nothing")
    assert missing.returncode == 1 and missing.stdout == ""


class PlainServer(http.server.BaseHTTPRequestHandler):
    """Another server of the V2 protocol: looks at what comes, and answers `add` with values in JSON."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):  # noqa: N802
        self.answer({})

    def do_POST(self):  # noqa: N802
        data = self.rfile.read(int(self.headers["Content-Length"]))
        size = int(self.headers["Inference-Header-Content-Length"])
        body = json.loads(data[:size])
        self.server.seen.append((self.path, dict(self.headers), body, data[size:]))
        if self.server.waits:
            self.server.arrived.set()
            self.server.end.wait(TIMEOUT_S)
        values = struct.unpack("<4f", data[size:])
        self.answer({"model_name": "add", "outputs": [{"name": "OUTPUT0", "datatype": "FP32", "shape": [4], "data": [value + 1 for value in values]}]})


@pytest.fixture
def plain():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), PlainServer)
    server.seen, server.arrived, server.end, server.waits = [], threading.Event(), threading.Event(), False
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.end.set()
    server.shutdown()
    thread.join()
    server.server_close()


def only_add(unary, path, change=lambda requests: None):
    entries = recordings.read(unary)
    requests = [request for request in recordings.of_kind(entries, "request") if request.model == "add"]
    numbers = {request.number for request in requests}
    change(requests)
    recordings.write(path, entries[:1] + [entry for entry in entries if getattr(getattr(entry, entry.WhichOneof("kind")), "number", 0) in numbers])
    return path


def test_any_server_of_the_protocol(world, plain, tmp_path):
    file = only_add(world[1], tmp_path / "traffic")
    done = run(file, "--url", f"127.0.0.1:{plain.server_port}", "--compare", "--latest", "--header", "Authorization: Bearer x")
    assert done.returncode == 0, done.stderr
    path, headers, body, tensors = next(seen for seen in plain.seen if seen[2].get("parameters", {}).get("mood"))
    assert path == "/v2/models/add/infer" and headers["Authorization"] == "Bearer x" and len(tensors) == 16
    assert body["parameters"] == {"binary_data_output": True, "count": 3, "mood": "good", "priority": 2, "timeout": 5_000_000}
    assert body["inputs"] == [{"name": "INPUT0", "datatype": "FP32", "shape": [4], "parameters": {"binary_data_size": 16}}]


def test_tokens_are_sent_and_stand_in_no_output(world, plain, tmp_path):
    file = only_add(world[1], tmp_path / "traffic")
    (tmp_path / "token").write_text("atk_file_secret\n")
    for sent, arguments in (("atk_env_secret", []), ("atk_file_secret", ["--token-file", tmp_path / "token"])):
        plain.seen.clear()
        done = run(file, "--url", f"127.0.0.1:{plain.server_port}", "--latest", *arguments, token="atk_env_secret")
        assert done.returncode == 0 and "secret" not in done.stdout + done.stderr, done
        assert {headers["Authorization"] for _, headers, _, _ in plain.seen} == {f"Bearer {sent}"}


def test_pace(world, plain, tmp_path):
    def spread(requests):
        for i, request in enumerate(requests):
            request.arrival_ns = i * HOUR_NS

    file = only_add(world[1], tmp_path / "traffic", spread)
    assert run(file, "--url", f"127.0.0.1:{plain.server_port}", "--pace", "1000000").returncode == 0
    assert len(plain.seen) == 4


def test_ctrl_c_prints_what_was_done(world, plain, tmp_path):
    def later(requests):
        for request in requests[1:]:
            request.arrival_ns += HOUR_NS

    file = only_add(world[1], tmp_path / "traffic", later)
    plain.waits = True
    process = subprocess.Popen([str(REPLAY), str(file), "--url", f"127.0.0.1:{plain.server_port}", "--json"], stdout=subprocess.PIPE, text=True)
    assert plain.arrived.wait(TIMEOUT_S)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, json.loads(out)) == (130, {"requests": 0, "failures": 0, "differences": 0, "models": {}})


def test_a_file_that_breaks_off_is_played_up_to_there(world, plain, tmp_path):
    file = only_add(world[1], tmp_path / "traffic")
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    done = run(file, "--url", f"127.0.0.1:{plain.server_port}", "--compare", "--json")
    assert (done.returncode, json.loads(done.stdout)["requests"]) == (0, 4)
    assert f"{file} breaks off behind byte " in done.stderr


def test_files_of_one_recording(world, plain, tmp_path):
    file = only_add(world[1], tmp_path / "traffic")
    entries = recordings.read(file)
    recordings.write(tmp_path / "traffic.1", entries[:4])
    second = recordings.messages().Entry()
    second.CopyFrom(entries[0])
    second.header.part = 2
    recordings.write(file, [second] + entries[4:])
    done = run(file, tmp_path / "traffic.1", "--url", f"127.0.0.1:{plain.server_port}", "--compare", "--json")
    assert (done.returncode, json.loads(done.stdout)["requests"]) == (0, 4), done.stderr
    second.header.began_unix_ns += 1
    recordings.write(file, [second])
    done = run(file, tmp_path / "traffic.1", "--url", "127.0.0.1:1")
    assert done.returncode == 2 and "of another recording" in done.stderr
