"""h2load's output and logs, as version 1.52 writes them."""

import pytest

from comparison import cases, h2load

OUTPUT = """\
starting benchmark...
spawning thread #0: 1 total client(s). Timing-based test with 0s of warm-up time and 2s of main duration for measurements.
finished in 2.00s, 7145.50 req/s, 960.00KB/s
requests: 14291 total, 14299 started, 14291 done, 14291 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 14291 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 1.87MB (1966074) total, 41.94KB (42948) headers (space savings 96.29%), 1.42MB (1486264) data
                     min         max         mean         sd        +/- sd
time for request:      151us     14.12ms      1.10ms      1.54ms    89.61%
"""


def log_file(tmp_path, text):
    path = tmp_path / "log"
    path.write_text(text)
    return path


def test_summary():
    assert h2load.parse_summary(OUTPUT) == h2load.Summary(done=14291, bad=0, status_2xx=14291, data_bytes=1486264)


def test_summary_counts_every_kind_of_failure():
    text = OUTPUT.replace("14291 succeeded, 0 failed, 0 errored, 0 timeout", "14284 succeeded, 4 failed, 2 errored, 1 timeout")
    assert h2load.parse_summary(text).bad == 7


@pytest.mark.parametrize("missing", ["requests:", "status codes:", "traffic:"])
def test_output_without_a_line_is_refused(missing):
    with pytest.raises(h2load.BadRun, match="not understood"):
        h2load.parse_summary(OUTPUT.replace(missing, ""))


def test_good_summaries_pass():
    h2load.check(h2load.Summary(10, 0, 10, 1040), answer_bytes=104, under_way=0)
    # Two answers were cut off at the end, one of them before its data.
    h2load.check(h2load.Summary(10, 0, 12, 1100), answer_bytes=104, under_way=2)


@pytest.mark.parametrize("summary, reason", [
    (h2load.Summary(0, 0, 0, 0), "no request"),
    (h2load.Summary(10, 1, 9, 936), "1 of 10 requests failed"),
    (h2load.Summary(10, 0, 9, 1040), "9 were answered with 2xx"),
    (h2load.Summary(10, 0, 13, 1040), "13 were answered with 2xx"),
    # One of ten answers is a gRPC error, which has no data.
    (h2load.Summary(10, 0, 10, 936), "936 came"),
    (h2load.Summary(10, 0, 10, 1249), "1249 came"),
])
def test_bad_summaries_are_refused(summary, reason):
    with pytest.raises(h2load.BadRun, match=reason):
        h2load.check(summary, answer_bytes=104, under_way=2)


def test_log(tmp_path):
    log = h2load.read_log(log_file(tmp_path, "1000000\t200\t300\n1000100\t200\t100\n1000050\t200\t2950\n"))
    assert list(log.latencies) == [100, 300, 2950]
    assert log.seconds == pytest.approx(0.003)


@pytest.mark.parametrize("text, reason", [
    ("", "0 values"),
    ("1000000\t200\n", "2 values"),
    ("1000000\t200\t300\n1000000\t503\t20\n1000000\t-1\t20\n", "2 of 3 requests had another status than 200, such as 503"),
])
def test_bad_logs_are_refused(tmp_path, text, reason):
    with pytest.raises(h2load.BadRun, match=reason):
        h2load.read_log(log_file(tmp_path, text))


def test_commands():
    case = cases.Case("identity", cases.GRPC, 8)
    http2 = h2load.command("http://h/p", "m", [("te", "trailers")], case, h2load.for_requests(500), "l", http1=False)
    assert " ".join(http2) == "h2load -t 1 -n 500 --log-file l -d m -c 1 -m 8 -H te: trailers http://h/p"
    several = cases.Case("identity", cases.GRPC, 16, connections=4)
    http2 = h2load.command("http://h/p", "m", [], several, h2load.for_requests(500), "l", http1=False)
    assert " ".join(http2) == "h2load -t 1 -n 500 --log-file l -d m -c 4 -m 16 http://h/p"
    http1 = h2load.command("http://h/p", "m", [], case, h2load.for_seconds(0.5), "l", http1=True)
    assert " ".join(http1) == "h2load -t 1 -D 500ms --log-file l -d m --h1 -c 8 http://h/p"
