"""A server's process: pinned, measured through /proc, and still while another one is measured."""

import contextlib
import os
import pathlib
import resource
import signal
import socket
import subprocess
import time

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
STOP_TIMEOUT_S = 40


def pinned(core, command):
    """The command, to run on one CPU. By a program: code of ours between fork and exec could wait for ever for what
    gRPC's threads hold."""
    return ["taskset", "-c", str(core), *map(str, command)]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _descendants(pid):
    """The process and all below it."""
    found = [pid]
    for parent in found:
        for task in pathlib.Path(f"/proc/{parent}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += map(int, task.read_text().split())
    return found


class Process:
    """Runs from creation on, in a process group of its own."""

    def __init__(self, command, core, log, environment=None):
        self._log = pathlib.Path(log)
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with open(self._log, "wb") as file:
            self._process = subprocess.Popen(
                pinned(core, command), stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})}, start_new_session=True)

    def check_alive(self):
        if self._process.poll() is not None:
            raise RuntimeError(f"the server ended with {self._process.returncode}; see {os.path.relpath(self._log)}")

    def pause(self):
        """It costs nothing and changes nothing until resume()."""
        self._signal(signal.SIGSTOP)

    def resume(self):
        self._signal(signal.SIGCONT)

    def stop(self):
        self.resume()  # workers of one that has ended, too, so that they see it
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._signal(signal.SIGKILL)
                self._process.wait()

    def _signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def cpu(self):
        """Seconds of user and of system time so far, children included."""
        user = system = 0
        for pid in _descendants(self._process.pid):
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            user += int(fields[11])
            system += int(fields[12])
        return user / TICKS_PER_SECOND, system / TICKS_PER_SECOND

    def forget_peak(self):
        """Peak memory counts from now on."""
        for pid in _descendants(self._process.pid):
            pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")

    def peak_bytes(self):
        """The most memory that was resident (VmHWM), summed up over the processes."""
        return self._memory("VmHWM")

    def resident_bytes(self):
        return self._memory("VmRSS")

    def _memory(self, field):
        total = 0
        for pid in _descendants(self._process.pid):
            for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith(f"{field}:"):
                    total += int(line.split()[1]) * 1024
        return total


def core_busy(core):
    """Seconds a CPU has spent on processes so far, and seconds that its hypervisor gave to others."""
    for line in pathlib.Path("/proc/stat").read_text().splitlines():
        if line.startswith(f"cpu{core} "):
            user, nice, system, _, _, _, _, steal = map(int, line.split()[1:9])
            return (user + nice + system) / TICKS_PER_SECOND, steal / TICKS_PER_SECOND
    raise RuntimeError(f"/proc/stat does not know CPU {core}")


def cpu_of_ended_children():
    """Seconds of user and of system time."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime, used.ru_stime


def wait_until(condition, process, timeout_s, what):
    deadline = time.monotonic() + timeout_s
    while not condition():
        process.check_alive()
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what} is not ready after {timeout_s} s")
        time.sleep(0.05)
