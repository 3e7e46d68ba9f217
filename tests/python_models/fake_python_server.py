"""The server's side of the worker protocol, for tests of the worker alone: one thread, one worker."""

import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import threading
import time

import numpy as np

FOLDER = pathlib.Path(os.environ["ATOLL_BUILD_DIR"]) / "lib/atoll/python"
sys.path.insert(0, str(FOLDER))

import _atoll_python  # noqa: E402
from atoll_worker import layout  # noqa: E402
from atoll_worker.datatypes import DTYPES, BYTES, number_of  # noqa: E402

SEALS = 1033, 0x1 | 0x2 | 0x4  # F_ADD_SEALS; SEAL, SHRINK, GROW
PATIENCE_S = 20

#: What each model of the tests starts with.
HEAD = """
import numpy as np
import triton_python_backend_utils as pb_utils
"""


def interpreters():
    """Every CPython of the PATH and of pyenv that has NumPy, the newest of each minor version."""
    found = {}
    versions = pathlib.Path.home() / ".pyenv/versions"
    extra = [pathlib.Path(path) for path in os.environ.get("ATOLL_TEST_PYTHONS", "").split(":") if path]
    for candidate in [pathlib.Path(sys.executable), *extra, *sorted(versions.glob("3.*/bin/python3")),
                      *(pathlib.Path(f"/usr/bin/python3.{minor}") for minor in range(9, 15))]:
        if not candidate.exists():
            continue
        probe = subprocess.run([candidate, "-c", "import sys, numpy; print('%d.%d' % sys.version_info[:2])"], capture_output=True,
                               text=True)
        version = probe.stdout.strip()
        if probe.returncode == 0 and tuple(map(int, version.split("."))) >= (3, 9):
            found.setdefault(version, str(candidate))
    return found


class Slab:
    def __init__(self, index, owner, size):
        self.fd = os.memfd_create("slab", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size)
        import fcntl
        fcntl.fcntl(self.fd, *SEALS)
        self.index, self.owner, self.size, self.used = index, owner, size, 0
        self.region = _atoll_python.Region(self.fd, size)


class Responses(list):
    """Those of one request, in order; `is_final` once the last has come."""

    is_final = False
    is_rescheduled = False


class Response:
    def __init__(self, error, code, parameters, outputs):
        self.error, self.code, self.parameters, self.outputs = error, code, parameters, outputs


class Payload:
    """Writes what the server sends: texts, arrays and records at offsets from the payload's start."""

    def __init__(self, size):
        self.data = bytearray(size)

    def add(self, content, alignment=8):
        while len(self.data) % alignment:
            self.data.append(0)
        self.data += content
        return len(self.data) - len(content)

    def text(self, text):
        raw = text.encode() if isinstance(text, str) else text
        return (self.add(raw, 1), len(raw)) if raw else (0, 0)


class FakeServer:
    def __init__(self, interpreter, folder, source, *, decoupled=False, slab_size=1 << 20, environment=None, arguments=("-u",)):
        self.folder = pathlib.Path(folder)
        self.decoupled = decoupled
        self.slab_size = slab_size
        self.slabs = {}
        self.responses = {}  # by handle
        self.returned = []  # batches
        self.answers = {}  # by message type: payloads and values
        self.logs = []
        self.infers = []  # decoded BLS requests
        self.callers = []  # of each the batch that it is made for, or 0
        self.cancelled_calls = []
        self.metric_updates = []
        self.nudges = 0
        self.on_infer = None
        self.on_call = None
        self.refuse_slabs = False
        self.keeps_blocks = False  # does not give back what responses came in
        self.kept_messages = []
        self.next_handle = 100
        self.next_batch = 1
        self.records = {}  # handle -> (region, offset of its record)
        self.blocks = []  # sent: (region, payload's offset)
        (self.folder / "1").mkdir(exist_ok=True)
        (self.folder / "1/model.py").write_text(source)
        self._start(interpreter, environment, arguments)

    def _start(self, interpreter, environment, arguments):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket = ours
        self.process = subprocess.Popen([interpreter, *arguments, str(FOLDER / "atoll_worker"), str(theirs.fileno())],
                                        pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})},
                                        cwd=self.folder)
        theirs.close()
        self.output = []
        self._reader = threading.Thread(target=lambda: self.output.extend(self.process.stdout), daemon=True)
        self._reader.start()
        self.control = Slab(-1, 0, 40960)
        region = self.control.region
        self.work = _atoll_python.Ring(region, layout.WORK_RING, layout.WORK_ENTRIES)
        self.side = _atoll_python.Ring(region, layout.SIDE_RING, layout.SIDE_ENTRIES)
        self.out = _atoll_python.Ring(region, layout.OUT_RING, layout.OUT_ENTRIES)
        self._send_packet(layout.HELLO.pack(layout.MAGIC, layout.VERSION, 40960), self.control.fd)
        self.socket.settimeout(PATIENCE_S)
        self.hello = layout.HELLO_REPLY.unpack(self.socket.recv(64))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(5)
        self.process.stdout.close()
        for slab in [self.control, *self.slabs.values()]:
            os.close(slab.fd)

    # --- sending ---

    def _send_packet(self, data, fd=None):
        ancillary = [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", fd))]
        self.socket.sendmsg([data], ancillary)

    def add_slab(self, owner, size):
        slab = Slab(len(self.slabs), owner, size)
        self.slabs[slab.index] = slab
        self._send_packet(layout.SLAB.pack(layout.MAGIC, slab.index, owner, 0, size), slab.fd)
        return slab

    def allocate(self, size):
        for slab in self.slabs.values():
            if slab.owner == layout.OWNER_SERVER and slab.size - slab.used >= size + 64:
                break
        else:
            slab = self.add_slab(layout.OWNER_SERVER, max(self.slab_size, size + 4096))
        offset = slab.used + 64
        slab.used += (size + 64 + 63) // 64 * 64
        slab.region.store(offset - 64, 1)
        self.blocks.append((slab.region, offset))
        return slab, offset

    def held_blocks(self):
        """Those that the worker has not given back."""
        return [offset for region, offset in self.blocks if region.load(offset - 64)]

    def send(self, ring, kind, payload=b"", *, flags=0, number=0, value=0):
        slab = offset = 0
        if payload:
            place, offset = self.allocate(len(payload))
            place.region.write(offset, bytes(payload))
            slab = place.index
        ring.send(kind, flags, number, slab, offset, len(payload), value, 1)

    def _tensor_record(self, payload, slab, start, name, array, own_block, is_answer=False):
        raw = encode(array)
        shape = payload.add(struct.pack(f"<{array.ndim}q", *array.shape)) if array.ndim else 0
        name = payload.text(name)
        if own_block:
            place, at = self.allocate(len(raw))
            place.region.write(at, raw)
            return (*name, number_of(array.dtype), array.ndim, shape, 0, 0, 0, place.index, layout.OWN_BLOCK, at, len(raw))
        if not raw and is_answer:  # as the server has those of other models
            return (*name, number_of(array.dtype), array.ndim, shape, 0, 0, 0, 0, 0, 0, 0)
        at = payload.add(raw, 64)
        return (*name, number_of(array.dtype), array.ndim, shape, 0, 0, 0, slab, 0, start + at, len(raw))

    def execute(self, requests, *, own_block=False, wait=True):
        """Requests are dictionaries: inputs, outputs, id, parameters, ... \\returns their handles."""
        size = 8192 + sum(encode(a).__len__() + 512 for r in requests for a in r.get("inputs", {}).values()) + 256 * len(requests)
        slab, start = self.allocate(size)
        payload = Payload(8 + 80 * len(requests))
        layout.BATCH.pack_into(payload.data, 0, len(requests), 8)
        handles = []
        for i, request in enumerate(requests):
            handle = self.next_handle
            self.next_handle += 1
            handles.append(handle)
            self.responses[handle] = Responses()
            self.records[handle] = (slab.region, start + 8 + 80 * i)
            tensors = [self._tensor_record(payload, slab.index, start, name, array, own_block)
                       for name, array in request.get("inputs", {}).items()]
            inputs = payload.add(b"".join(layout.TENSOR.pack(*tensor) for tensor in tensors))
            names = [payload.text(name) for name in request.get("outputs", [])]
            outputs = payload.add(b"".join(layout.TEXT.pack(*name) for name in names))
            correlation = request.get("correlation_id", 0)
            texts = [payload.text(text) for text in (correlation if isinstance(correlation, str) else "", request.get("id", ""),
                                                     request.get("parameters", ""), request.get("trace", ""))]
            layout.REQUEST.pack_into(payload.data, 8 + 80 * i, handle, 0 if isinstance(correlation, str) else correlation,
                                     request.get("timeout", 0), *(part for text in texts for part in text), request.get("flags", 0), 0,
                                     len(tensors), inputs, len(names), outputs)
        assert len(payload.data) <= size
        slab.region.write(start, bytes(payload.data))
        batch = self.next_batch
        self.next_batch += 1
        self.work.send(layout.EXECUTE, 0, batch, slab.index, start, len(payload.data), 0, 1)
        if wait:
            self.wait_for(lambda: batch in self.returned)
        return handles

    def cancel(self, handle):
        region, offset = self.records[handle]
        region.store(offset + layout.REQUEST_CANCELLED, 1)

    def answer(self, call, outputs=None, *, error=None, code=1, final=True, parameters=""):
        """A response to a BLS request; outputs None and no error: only the end."""
        if outputs is None and error is None:
            self.side.send(layout.INFER_RESPONSE, layout.FINAL, call, 0, 0, 0, 0, 1)
            return
        size = 8192 + sum(len(encode(array)) + 512 for array in (outputs or {}).values())
        slab, start = self.allocate(size)
        payload = Payload(8 + 48)
        layout.RESPONSES_HEAD.pack_into(payload.data, 0, 1, 8)
        tensors = [self._tensor_record(payload, slab.index, start, name, array, False, True) for name, array in (outputs or {}).items()]
        at = payload.add(b"".join(layout.TENSOR.pack(*tensor) for tensor in tensors))
        flags = layout.HAS_RESPONSE | (layout.LAST if final else 0) | (layout.HAS_ERROR if error is not None else 0)
        layout.RESPONSE.pack_into(payload.data, 8, 0, flags, code if error is not None else 0, *payload.text(error or ""),
                                  *payload.text(parameters), len(tensors), at, 0)
        slab.region.write(start, bytes(payload.data))
        self.side.send(layout.INFER_RESPONSE, layout.FINAL if final else 0, call, slab.index, start, len(payload.data), 0, 1)

    def wait_for_room_on_side(self):
        """What the server must do, as it goes on reading meanwhile; here the ring's own waiting is good enough."""
        end = time.monotonic() + PATIENCE_S
        region = self.control.region
        while region.load(layout.SIDE_RING) - region.load(layout.SIDE_RING + 64) >= layout.SIDE_ENTRIES:
            region.store(layout.SIDE_RING + 4, 1)
            self.pump(1)
            assert time.monotonic() < end

    def reply(self, call, value=0, *, error=None):
        payload = b"" if error is None else json.dumps({"error": error, "code": 1}).encode()
        self.side.send(layout.REPLY, 0, call, *self._place(payload), value, 1)

    def _place(self, payload):
        if not payload:
            return 0, 0, 0
        slab, offset = self.allocate(len(payload))
        slab.region.write(offset, payload)
        return slab.index, offset, len(payload)

    # --- life cycle ---

    def _about(self):
        return {"module_path": str(self.folder / "1/model.py"), "module_name": "1.model", "model_name": "m",
                "paths": [str(self.folder / "1"), str(self.folder)], "model_directory": str(self.folder / "1")}

    def auto_complete(self, config):
        self.send(self.work, layout.AUTO_COMPLETE, json.dumps({**self._about(), "config": config}).encode())
        return self.wait_for_answer(layout.AUTO_COMPLETED)

    def initialize(self, **args):
        content = {**self._about(), "instance_name": "m_0_0", "decoupled": self.decoupled,
                   "args": {"model_name": "m", "model_version": "1", "model_config": "{}", **args}}
        self.send(self.work, layout.INITIALIZE, json.dumps(content).encode())
        return self.wait_for_answer(layout.INITIALIZED)

    def started(self):
        answer = self.initialize()
        assert "error" not in answer, answer
        return self

    def finalize(self):
        self.send(self.work, layout.FINALIZE)
        self.wait_for_answer(layout.FINALIZED)
        return self.process.wait(PATIENCE_S)

    # --- receiving ---

    def wait_for(self, predicate):
        end = time.monotonic() + PATIENCE_S
        while not predicate():
            self.pump(50)
            assert time.monotonic() < end, f"waited in vain; log {self.logs}, output {self.output}"
            assert self.process.poll() is None or predicate(), f"the worker died: {self.process.poll()}; {self.output}"

    def wait_for_answer(self, kind):
        self.wait_for(lambda: self.answers.get(kind))
        return self.answers[kind].pop(0)

    def pump(self, timeout_ms=0):
        """One message, if there is one."""
        message = self.out.receive(timeout_ms)
        if message is None:
            return
        kind, flags, number, slab, offset, size, value, _ = message
        payload = b""
        if size:
            region = self.slabs[slab].region
            payload = bytes(memoryview(region)[offset:offset + size])
        self._handle(kind, flags, number, slab, payload, value)
        if size and self.keeps_blocks:
            self.kept_messages.append(message)
        elif size:
            region.store(offset - 64, 0)
            if region.load(offset - 60):
                _futex_wake(region, offset - 64)

    def _handle(self, kind, flags, number, slab, payload, value):
        if kind == layout.RESPONSES:
            self._take_responses(flags, number, payload)
        elif kind == layout.SLAB_WANTED:
            if self.refuse_slabs:
                self._send_packet(layout.SLAB.pack(layout.MAGIC, 0, layout.OWNER_WORKER, 0, 0))
            else:
                self.add_slab(layout.OWNER_WORKER, value)
        elif kind == layout.LOG:
            self.logs.append(json.loads(payload))
        elif kind == layout.INFER:
            self.infers.append(self._read_infer(number, payload))
            self.callers.append(value)
            if self.on_infer is not None:
                self.on_infer(self.infers[-1])
        elif kind == layout.CANCEL_INFER:
            self.cancelled_calls.append(number)
        elif kind in (layout.LOAD_MODEL, layout.UNLOAD_MODEL, layout.MODEL_READY, layout.METRIC_FAMILY, layout.METRIC,
                      layout.METRIC_VALUE):
            self.on_call(kind, number, slab if kind == layout.METRIC_VALUE else payload, value)
        elif kind in (layout.METRIC_UPDATE, layout.METRIC_GONE, layout.FAMILY_GONE):
            self.metric_updates.append((kind, slab, flags, struct.unpack("<d", struct.pack("<Q", value))[0]))
        elif kind == layout.PROBED:
            self.answers.setdefault(kind, []).append((number, value, json.loads(payload) if payload else None))
        elif kind == layout.NUDGE:
            self.nudges += 1
        else:
            self.answers.setdefault(kind, []).append(json.loads(payload) if payload else True)

    def _take_responses(self, flags, number, payload):
        count, at = layout.RESPONSES_HEAD.unpack_from(payload, 0)
        for i in range(count):
            record = layout.RESPONSE.unpack_from(payload, at + 48 * i)
            handle, state, code, error, error_size, parameters, parameters_size, tensor_count, tensors, _ = record
            responses = self.responses[handle]
            assert not responses.is_final or state == layout.LAST, "a response after the last one"
            if state & layout.HAS_RESPONSE:
                text = payload[error:error + error_size].decode() if state & layout.HAS_ERROR else None
                responses.append(Response(text, code, payload[parameters:parameters + parameters_size].decode(),
                                          self._read_tensors(payload, tensors, tensor_count)))
            responses.is_final = responses.is_final or bool(state & layout.LAST)
            responses.is_rescheduled = bool(state & layout.RESCHEDULE)
        if flags & layout.EXECUTE_RETURNED:
            self.returned.append(number)

    def _read_tensors(self, payload, at, count):
        tensors = {}
        for i in range(count):
            (name, name_size, datatype, rank, shape, _, _, _, slab, _, offset, size) = layout.TENSOR.unpack_from(payload, at + 56 * i)
            raw = bytes(memoryview(self.slabs[slab].region)[offset:offset + size])
            dims = struct.unpack_from(f"<{rank}q", payload, shape) if rank else ()
            tensors[payload[name:name + name_size].decode()] = decode(raw, datatype, dims)
        return tensors

    def _read_infer(self, number, payload):
        model, model_size, version, flags, kind, device = layout.INFER_HEAD.unpack_from(payload, 0)
        record = layout.REQUEST.unpack_from(payload, 32)
        text = [payload[record[i]:record[i] + record[i + 1]].decode() for i in (3, 5, 7, 9)]
        names = [layout.TEXT.unpack_from(payload, record[16] + 8 * i) for i in range(record[15])]
        return {"call": number, "request": record[0], "model": payload[model:model + model_size].decode(), "version": version, "flags": flags,
                "preferred": (kind, device), "correlation_id": text[0] or record[1], "timeout": record[2], "id": text[1],
                "parameters": text[2], "trace": text[3], "sequence_flags": record[11],
                "inputs": self._read_tensors(payload, record[14], record[13]),
                "outputs": [payload[at:at + size].decode() for at, size in names]}


def encode(array):
    if array.dtype == np.object_ or array.dtype.kind == "S":
        return b"".join(struct.pack("<I", len(element)) + element for element in array.ravel().tolist())
    return array.tobytes()


def decode(raw, datatype, shape):
    if datatype == BYTES:
        count = int(np.prod(shape, dtype=np.int64))
        array = np.empty(count, np.object_)
        array[:] = _atoll_python.split_elements(raw, count)
        return array.reshape(shape)
    return np.frombuffer(raw, DTYPES[datatype]).reshape(shape) if datatype in DTYPES else raw


def _futex_wake(region, offset):
    import ctypes
    ctypes.CDLL(None, use_errno=True).syscall(202, ctypes.c_void_p(region.address() + offset), 1, 2**31 - 1, None, None, 0)
