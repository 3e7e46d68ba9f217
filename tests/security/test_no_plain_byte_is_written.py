"""strace's word for it: of an encrypted model no plain byte leaves the server's memory."""

import os
import re
import time

import numpy as np
from support.encryption import MANIFEST, SIZE, ModelKeys, answer, encrypt, weights, write_plain
from support.server import START_TIMEOUT_S, Server

# Every call that can carry bytes to a file, a socket, a pipe or another process, and those that show how memory is kept.
CARRIERS = ("write", "pwrite64", "writev", "pwritev", "pwritev2", "sendto", "sendmsg", "sendmmsg", "sendfile", "copy_file_range", "splice",
            "vmsplice", "tee", "process_vm_writev", "io_uring_setup", "memfd_create", "shmat", "mmap", "ptrace")
MEMORY = ("mlock", "mlock2", "madvise", "munmap")


class TracedServer(Server):
    """Traced from its first call on. strace is not its parent, so that signals and the exit code are the server's."""

    def __init__(self, trace, *arguments, **options):
        self.trace = trace
        super().__init__(*arguments, **options)

    def _start(self, command, environment=None):
        strace = ["strace", "-D", "-f", "--seccomp-bpf", "-xx", "-s", "10000000", "-e", "signal=none", "-e",
                  f"trace={','.join(CARRIERS + MEMORY)}", "-o", str(self.trace)]
        # The search for leaks needs the place that strace has.
        options = f"{os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0"
        super()._start([*strace, *command], {**(environment or {}), "ASAN_OPTIONS": options})

    def lines_of_trace(self):
        """When the server has ended, and strace has written that."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            lines = self.trace.read_text().splitlines()
            if any(re.match(rf"{self.pid} +\+\+\+ exited with 0 \+\+\+", line) for line in lines):
                return joined(lines)
            time.sleep(0.05)
        raise AssertionError(f"strace has not seen the server's end in {START_TIMEOUT_S} s: {lines[-3:]}")


def joined(lines):
    """Calls that another thread's came in between of are two lines in the trace."""
    begun, whole = {}, []
    for line in lines:
        thread, _, call = line.partition(" ")
        if found := re.match(r" *<\.\.\. \w+ resumed>(.*)", call):
            whole.append(f"{thread} {begun.pop(thread, '')}{found.group(1)}")
        elif call.endswith("<unfinished ...>"):
            begun[thread] = call.removesuffix(" <unfinished ...>")
        else:
            whole.append(line)
    return whole + [f"{thread} {call}" for thread, call in begun.items()]


def as_traced(values):
    return "".join(f"\\x{byte:02x}" for byte in values.tobytes())


def test_no_plain_byte_is_written(tmp_path):
    keys = ModelKeys(tmp_path / "keys", main="1")
    repository = tmp_path / "models"
    repository.mkdir()
    encrypt(write_plain(tmp_path / "plain" / "inside", 1), repository / "inside", keys)
    encrypt(write_plain(tmp_path / "plain" / "outside", 2, external="weights.bin"), repository / "outside", keys)
    brought = (write_plain(tmp_path / "plain" / "brought", 3) / "1" / "model.onnx").read_bytes()
    with TracedServer(tmp_path / "trace", repository, f'plugin.model_keys.keys_file="{keys.path}"', manifest=MANIFEST,
                      grpc_frontend=None) as server, server.client() as client:
        for name, seed in (("inside", 1), ("outside", 2)):
            client.load_model(name)
            assert np.array_equal(answer(client, name), weights(seed) + np.float32(1))
        # A plain model that comes with a call is written to a folder of the server's own: this shows that the trace would have it.
        client.load_model("brought", config='{"backend": "onnxruntime"}', files={"file:1/model.onnx": brought})
    lines = server.lines_of_trace()
    text = "\n".join(lines)
    middle = slice(SIZE // 2, SIZE // 2 + 8)
    assert as_traced(weights(3)[middle]) in text, "the trace has what is written"
    for seed in (1, 2):
        for part in (slice(0, 8), middle, slice(SIZE - 8, SIZE)):
            assert as_traced(weights(seed)[part]) not in text
    for key in (32 * b"\x11", 64 * b"1"):
        assert as_traced(np.frombuffer(key, np.uint8)) not in text, "nor is the key"
    assert not [line for line in lines if " io_uring_setup(" in line]
    shared = [line for line in lines if " mmap(" in line and "MAP_SHARED" in line and "PROT_WRITE" in line and "MAP_ANONYMOUS" not in line]
    assert shared == [], "no file is written by memory either"
    check_memory(lines)


def check_memory(lines):
    """The plain bytes of each file: kept out of dumps, locked, given back."""
    locked = [match.groups() for line in lines if (match := re.search(r" mlock2?\((0x\w+), (\d+)(?:, 0)?\) += 0", line))]
    large = [(address, size) for address, size in locked if int(size) > SIZE * 4 - 1]
    assert len(large) >= 2, locked
    for address, size in large:
        for call in (rf"madvise\({address}, {size}, MADV_DONTDUMP\) += 0", rf"munmap\({address}, {size}\) += 0"):
            assert any(re.search(call, line) for line in lines), call
