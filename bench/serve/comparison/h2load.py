"""Drives h2load and reads what it prints and logs."""

import dataclasses
import re

import numpy as np

NAME = "h2load"


class BadRun(Exception):
    """A run whose figures do not count."""


@dataclasses.dataclass(frozen=True)
class Summary:
    done: int
    bad: int
    status_2xx: int
    data_bytes: int


def command(url, message_file, headers, case, limit, log, http1):
    """`limit` is for_requests() or for_seconds(). HTTP/1.1 has one request in flight a connection."""
    words = ["h2load", "-t", "1", *limit, "--log-file", str(log), "-d", str(message_file)]
    words += ["--h1", "-c", str(case.concurrency)] if http1 else ["-c", str(case.connections), "-m", str(case.concurrency)]
    for name, value in headers:
        words += ["-H", f"{name}: {value}"]
    return words + [url]


def for_requests(count):
    """Ends with nothing under way."""
    return ["-n", str(count)]


def for_seconds(seconds):
    """Ends with connections closed while requests are under way."""
    return ["-D", f"{round(seconds * 1000)}ms"]


def parse_summary(text):
    """What h2load prints at its end."""
    requests = re.search(r"^requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, "
                         r"(\d+) timeout", text, re.M)
    status = re.search(r"^status codes: (\d+) 2xx", text, re.M)
    traffic = re.search(r"^traffic: .*\((\d+)\) data", text, re.M)
    if not requests or not status or not traffic:
        raise BadRun(f"h2load's output is not understood: {text[-500:]!r}")
    done, _, failed, errored, timeout = map(int, requests.groups())
    return Summary(done, failed + errored + timeout, int(status.group(1)), int(traffic.group(1)))


def check(summary, answer_bytes, under_way):
    """Raises BadRun unless every answer had status 200 and as many bytes as the answer that was looked at. A gRPC error
    has no body, so it shows. Parts of up to `under_way` answers that were cut off at the end may have been counted."""
    if summary.done == 0:
        raise BadRun("no request was answered")
    if summary.bad or not summary.done <= summary.status_2xx <= summary.done + under_way:
        raise BadRun(f"{summary.bad} of {summary.done} requests failed, {summary.status_2xx} were answered with 2xx")
    least = summary.done * answer_bytes
    if not least <= summary.data_bytes <= least + under_way * answer_bytes:
        raise BadRun(f"{summary.done} answers of {answer_bytes} bytes make {least} bytes, {summary.data_bytes} came")


@dataclasses.dataclass(frozen=True)
class Log:
    """`latencies` are sorted, in microseconds; `seconds` are those from the first request to the last answer."""
    latencies: np.ndarray
    seconds: float


def read_log(path):
    """The columns are start, status and duration, times in microseconds; a status other than 200 raises BadRun."""
    with open(path, "rb") as file:
        columns = np.array(file.read().split(), dtype=np.int64)
    if len(columns) == 0 or len(columns) % 3:
        raise BadRun(f"the log has {len(columns)} values, expected three a request")
    starts, statuses, durations = columns.reshape(-1, 3).T
    wrong = statuses[statuses != 200]
    if len(wrong):
        raise BadRun(f"{len(wrong)} of {len(statuses)} requests had another status than 200, such as {wrong[0]}")
    span = int((starts + durations).max() - starts.min())
    return Log(np.sort(durations), max(span, 1) / 1e6)
