"""perf_analyzer, Triton's tool that measures, with a fault of its own that is not the server's."""

import os
import pathlib
import re
import subprocess
import tempfile
import time

TRIES = 5
IDLE_S = 5
SETTLE_S = 1
PAUSE_S = 0.02
BEGUN = "Request concurrency:"  # before it makes its threads
REPORT = "Client:"  # what it has measured follows


class Watch:
    """Whether the main thread of a process looks again and again, and in vain, for what its own other threads have done, which
    have ended. They have its name; those of the server in it have names of their own."""

    def __init__(self, pid):
        self._folder = pathlib.Path(f"/proc/{pid}")
        self._begin = None
        self._worked_at = time.monotonic()

    def is_waiting_in_vain(self):
        """For some seconds now it has had no such thread, has done next to nothing, and has been awake now and then: a thread that
        is inside a call of the server's, which does not return, is not."""
        try:
            seen = self._workers(), time.monotonic(), self._used_cpu_s(), self._times_awake()
        except (FileNotFoundError, ProcessLookupError):  # it ends meanwhile
            return False
        workers, now, cpu_s, awake = seen
        if workers > 0:
            self._worked_at = now
        # The end of the last of the others has woken it up, too.
        is_settling = now - self._worked_at < SETTLE_S
        if is_settling or self._begin is None or cpu_s - self._begin[2] > 0.1 * IDLE_S:
            self._begin = seen
        return now - self._begin[1] > IDLE_S and awake - self._begin[3] > 2

    def _workers(self):
        own = (self._folder / "comm").read_text()
        return sum((task / "comm").read_text() == own for task in (self._folder / "task").iterdir()) - 1

    def _used_cpu_s(self):
        fields = (self._folder / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _times_awake(self):
        return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", (self._folder / "status").read_text(), re.M).group(1))


def run(command, timeout_s, environment=None):
    """
    As subprocess.run(), with the output as text; for a measurement of a count of requests.

    The tool starts its threads, then forgets what they have counted so far, and then waits for as many answers as it was asked
    for. If one of them had come by then it waits for ever: its threads have sent all that they were to, and have ended. Only
    then, with no report and nobody left whom the server keeps waiting, it is started again. Whatever else is wrong is the
    caller's to find.
    """
    for number in range(1, TRIES + 1):
        done = _run_once(command, timeout_s, environment)
        if done is not None:
            return done
        print(f"perf_analyzer waits for its own threads, which have ended: {number} of {TRIES} times")
    raise AssertionError(f"perf_analyzer has waited for its own threads, which had ended, {TRIES} times: {command}")


def _run_once(command, timeout_s, environment):
    """None: it waits in vain, and is killed."""
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / name for name in ("stdout", "stderr")]
        with open(files[0], "wb") as output, open(files[1], "wb") as errors:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=environment)
        try:
            watch, deadline = Watch(process.pid), time.monotonic() + timeout_s
            while process.poll() is None:
                said = files[0].read_text(errors="replace")
                if BEGUN in said and REPORT not in said and watch.is_waiting_in_vain():
                    return None
                if time.monotonic() > deadline:
                    raise subprocess.TimeoutExpired(command, timeout_s, *(file.read_text(errors="replace") for file in files))
                time.sleep(PAUSE_S)
        finally:
            process.kill()
            process.wait()
        return subprocess.CompletedProcess(command, process.returncode, *(file.read_text(errors="replace") for file in files))
