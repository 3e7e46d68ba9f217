"""What telemetry/recorder writes: everything of requests and answers, and nothing of headers."""

import os
import signal
import stat
import urllib.request

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support import recordings
from support.server import DEFAULT_MANIFEST, Server


def metrics(server):
    with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=60) as answer:
        lines = [line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line.startswith("atoll_record")]
    return {name: float(value) for name, value in lines}


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    recordings.write_models(folder)
    return folder


@pytest.fixture(scope="module")
def recording(repository, tmp_path_factory):
    """The file of a server that had something of everything, and what its metrics said."""
    file = tmp_path_factory.mktemp("recording") / "traffic"
    old = os.umask(0)
    try:
        with recordings.recording_server(repository, file, 'plugin.http.header_forward_pattern="authorization"',
                                         'plugin.grpc.header_forward_pattern="authorization"') as server:
            server.wait_ready().wait_active()
            count = recordings.send_traffic(server)
            entries = lambda: metrics(server)["atoll_recorded_requests_total"]  # noqa: E731
            while entries() < count:  # written by a thread
                pass
            found = metrics(server)
    finally:
        os.umask(old)
    return file, found, count


def test_file_and_metrics(recording):
    file, found, count = recording
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    entries = recordings.read(file)
    header = entries[0].header
    assert (header.format, header.format_version, header.part) == ("atoll-recording", 1, 1)
    assert header.tensors and header.responses and header.began_unix_ns > 1.6e18
    requests, ends = recordings.of_kind(entries, "request"), recordings.of_kind(entries, "end")
    assert len(requests) == len(ends) == count == found["atoll_recorded_requests_total"]
    assert sorted(request.number for request in requests) == list(range(1, count + 1))
    assert [end.code for end in ends] == [0] * count
    assert found["atoll_recording_lost_requests_total"] == found["atoll_recording_lost_responses_total"] == 0
    assert found["atoll_recording_active"] == 1
    arrivals = [request.arrival_ns for request in sorted(requests, key=lambda request: request.number)]
    assert arrivals == sorted(arrivals) and arrivals[0] > 0


def test_what_is_kept(recording):
    entries = recordings.read(recording[0])
    requests = recordings.of_kind(entries, "request")
    answers = {}
    for response in recordings.of_kind(entries, "response"):
        answers.setdefault(response.number, []).append(response)

    def numbers(tensor):
        return np.frombuffer(tensor.data, {"FP32": np.float32, "INT32": np.int32, "UINT32": np.uint32}[tensor.datatype]).tolist()

    by_id = {request.id: request for request in requests}
    one = by_id["by-http"]
    assert (one.model, one.version, one.inputs[0].name, list(one.inputs[0].shape)) == ("add", 1, "INPUT0", [4])
    assert numbers(one.inputs[0]) == [1, 2, 3, 4] and numbers(answers[one.number][0].outputs[0]) == [2, 3, 4, 5]
    assert by_id["by-grpc"].deadline_ns > 30_000_000_000
    [other] = [request for request in requests if request.priority == 2]
    assert other.timeout_us == 5_000_000
    assert {parameter.name: parameter.text or parameter.number for parameter in other.parameters} == {"mood": "good", "count": 3}
    texts = [request for request in requests if request.model == "texts"]
    assert b"gr\xc3\xbc\xc3\x9fe" in texts[0].inputs[0].data and answers[texts[0].number][0].outputs[0].data == texts[0].inputs[0].data
    [shared] = [request for request in requests if request.model == "add" and numbers(request.inputs[0]) == [9, 9, 9, 9]]
    assert numbers(answers[shared.number][0].outputs[0]) == [10, 10, 10, 10] and shared.outputs[0].name == "OUTPUT0"
    for sequence in (7, 8):
        steps = [request for request in requests if request.model == "sums" and request.sequence.number == sequence]
        assert [(step.sequence.start, step.sequence.end) for step in steps] == [(True, False), (False, False), (False, True)]
        assert [numbers(answers[step.number][0].outputs[0]) for step in steps] == [[1], [3], [6]]
    streamed = [request for request in requests if request.id.startswith("stream-")]
    generated = by_id["generated"]
    assert len({request.stream for request in streamed}) == 1
    assert 0 != streamed[0].stream != generated.stream != 0 and len(answers[generated.number]) == 2
    assert all(request.stream == 0 for request in requests if not request.decoupled)
    given = [[numbers(next(output for output in response.outputs if output.name == "OUT"))[0] for response in answers.get(request.number, [])]
             for request in sorted(streamed, key=lambda request: request.id)]
    assert given == [[1, 2, 3], [], [4]]


def test_no_header(recording):
    data = recording[0].read_bytes().lower()
    assert b"opensesame" not in data and b"authorization" not in data and b"mood" in data


def test_refused_and_cancelled(repository, tmp_path):
    file = tmp_path / "traffic"
    with recordings.recording_server(repository, file) as server:
        server.wait_ready()
        with server.client() as client:
            wrong = grpcclient.InferInput("INPUT0", [3], "FP32")
            wrong.set_data_from_numpy(np.zeros(3, np.float32))
            with pytest.raises(Exception, match="unexpected shape"):
                client.infer("add", [wrong])
            client.start_stream(lambda result, error: None)
            client.async_stream_infer("repeat", recordings.repeat_inputs([1], delay_ms=600_000))
            while not any(entry.request.model == "repeat" for entry in recordings.read(file)):
                pass
            client.stop_stream(cancel_requests=True)
    entries = recordings.read(file)
    refused, cancelled = sorted(recordings.of_kind(entries, "end"), key=lambda end: end.number)
    assert refused.code == 3 and "unexpected shape" in refused.message and not refused.cancelled
    assert cancelled.cancelled and cancelled.code == 0


@pytest.mark.parametrize("setting, kept", [("sample=0.0", 0), ('models=["texts"]', 1), ('tenants=["red"]', 1), ("responses=false", 2), ("tensors=false", 2)])
def test_filters(repository, tmp_path, setting, kept):
    file = tmp_path / "traffic"
    with recordings.recording_server(repository, file, f"plugin.recorder.{setting}", 'plugin.http.tenant_header="x-team"') as server:
        server.wait_ready()
        with server.http_client() as client:
            client.infer("add", [recordings.add_input(httpclient, [1, 2, 3, 4])], headers={"x-team": "blue"})
            recordings.infer_texts(client, httpclient, ["a"], headers={"x-team": "red"})
    entries = recordings.read(file)
    requests, responses, ends = (recordings.of_kind(entries, kind) for kind in ("request", "response", "end"))
    assert len(requests) == len(ends) == kept
    assert len(responses) == (0 if setting == "responses=false" else kept)
    for tensor in [tensor for request in requests for tensor in request.inputs]:
        assert tensor.HasField("data") == (setting != "tensors=false") and tensor.datatype
    assert all(end.responses == 1 and end.responses_lost == (setting == "responses=false") for end in ends)
    assert b"blue" not in file.read_bytes()


def test_full_files_are_rotated(repository, tmp_path):
    file = tmp_path / "traffic"
    with recordings.recording_server(repository, file, 'plugin.recorder.max_bytes="8KiB"', "plugin.recorder.max_files=3") as server:
        server.wait_ready()
        with server.http_client() as client:
            for i in range(12):
                recordings.infer_texts(client, httpclient, ["x" * 3000], request_id=str(i))
            recordings.infer_texts(client, httpclient, ["x" * 9000], request_id="large")  # more than any file may have
    assert sorted(path.name for path in tmp_path.iterdir()) == ["traffic", "traffic.1", "traffic.2"]
    parts, lost = [], []
    for path in (file.with_suffix(".2"), file.with_suffix(".1"), file):
        assert path.stat().st_size <= 8192 and stat.S_IMODE(path.stat().st_mode) == 0o600
        entries = recordings.read(path)
        parts.append(entries[0].header.part)
        assert entries[0].header.began_unix_ns == recordings.read(file)[0].header.began_unix_ns
        lost += recordings.of_kind(entries, "lost")
        assert all(request.id != "large" for request in recordings.of_kind(entries, "request"))
    assert parts == [parts[0], parts[0] + 1, parts[0] + 2] and parts[0] > 1
    assert sum(one.requests for one in lost) == sum(one.responses for one in lost) == 1


def test_a_reload_goes_on_with_the_file(repository, tmp_path):
    file, manifest = tmp_path / "traffic", tmp_path / "atoll.toml"
    text = DEFAULT_MANIFEST.read_text() + f'''
[plugin.repeat]
use = "backends/repeat"
[plugin.recorder]
use = "telemetry/recorder"
recording_file = "{file}"
models = ["texts"]
'''
    manifest.write_text(text)
    with Server(repository, manifest=manifest) as server:
        server.wait_ready().wait_active()
        with server.http_client() as client:
            recordings.infer_texts(client, httpclient, ["first"])
            manifest.write_text(text.replace('models = ["texts"]', 'models = ["add"]'))
            server.process.send_signal(signal.SIGHUP)
            server.newest_line("reloaded: generation 2, ")
            recordings.infer_texts(client, httpclient, ["second"])
            client.infer("add", [recordings.add_input(httpclient, [1, 2, 3, 4])])
            manifest.write_text(text.split("[plugin.recorder]")[0])
            server.process.send_signal(signal.SIGHUP)
            server.newest_line("reloaded: generation 3, ")
            requests = recordings.of_kind(recordings.read(file), "request")  # whole, while the server goes on
            assert [request.model for request in requests] == ["texts", "add"] and not (tmp_path / "traffic.1").exists()
            client.infer("add", [recordings.add_input(httpclient, [1, 2, 3, 4])])


def test_a_full_disk_ends_the_recording_and_not_the_serving(repository):
    with recordings.recording_server(repository, "/dev/full") as server:
        server.wait_ready().wait_active()
        with server.http_client() as client:
            for _ in range(3):
                recordings.infer_texts(client, httpclient, ["a"])
        assert metrics(server)["atoll_recording_active"] == 0
        assert server.log.count("the recording ends, the server goes on: the recording '/dev/full' cannot be written: No space left on device") == 1


def test_a_file_that_cannot_be_made_is_told_at_the_start(repository, tmp_path):
    with pytest.raises(AssertionError, match="cannot be opened: No such file or directory"):
        Server(repository, 'plugin.repeat.use="backends/repeat"', 'plugin.recorder.use="telemetry/recorder"',
               f'plugin.recorder.recording_file="{tmp_path}/missing/traffic"')
