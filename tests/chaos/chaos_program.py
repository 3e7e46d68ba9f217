"""A program with the server inside, by libtritonserver.so and nothing else of Atoll: python chaos_program.py LIBRARY MODELS NAME...

It loads the named models and says "ready". Then each line that it reads has requests, [{"model": ..., "values": [...]}, ...],
which are under way together, with "timeout_us" or "cancel_after_s" if they have; its answer is a line with an answer of each, {"values": [...]} or {"code": ..., "text": ...}. It
ends with its input."""

import collections
import ctypes
import json
import sys
import threading
import time

WAIT_S = 30  # as the run's clients
KEPT = 1000
FP32, CPU, EXPLICIT = 11, 0, 2  # of tritonserver_types.h
POINTER, SIZE, NUMBER = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64
OUT = ctypes.POINTER
ALLOCATE = ctypes.CFUNCTYPE(POINTER, POINTER, ctypes.c_char_p, SIZE, ctypes.c_int, NUMBER, POINTER, OUT(POINTER), OUT(POINTER),
                            OUT(ctypes.c_int), OUT(NUMBER))
GIVE_BACK = ctypes.CFUNCTYPE(POINTER, POINTER, POINTER, POINTER, SIZE, ctypes.c_int, NUMBER)
RELEASED = ctypes.CFUNCTYPE(None, POINTER, ctypes.c_uint32, POINTER)
COMPLETED = ctypes.CFUNCTYPE(None, POINTER, ctypes.c_uint32, POINTER)
# gRPC's names for the API's numbers.
CODES = ("UNKNOWN", "INTERNAL", "NOT_FOUND", "INVALID_ARGUMENT", "UNAVAILABLE", "UNIMPLEMENTED", "ALREADY_EXISTS", "CANCELLED")


class Failure(Exception):
    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")
        self.code, self.text = code, text


class Library:
    """The functions of the C API by their names without TRITONSERVER_; an error that they return is raised."""

    def __init__(self, path):
        self._library = ctypes.CDLL(path)
        self._function("ErrorMessage").restype = ctypes.c_char_p

    def _function(self, name):
        return getattr(self._library, f"TRITONSERVER_{name}")

    def take(self, error):
        """Raises what an error says, which is deleted; None: there is none."""
        if not error:
            return
        error = POINTER(error)
        code, text = CODES[self._function("ErrorCode")(error)], self._function("ErrorMessage")(error).decode()
        self._function("ErrorDelete")(error)
        raise Failure(code, text)

    def __getattr__(self, name):
        function = self._function(name)
        function.restype = POINTER

        def call(*arguments):
            self.take(function(*arguments))
        setattr(self, name, call)
        return call


class Memory:
    """Of outputs, until they are given back."""

    def __init__(self, library):
        self._buffers, self._lock = {}, threading.Lock()
        self._callbacks = ALLOCATE(self._allocate), GIVE_BACK(self._give_back)
        self.allocator = POINTER()
        library.ResponseAllocatorNew(ctypes.byref(self.allocator), *self._callbacks, None)

    def _allocate(self, _, name, size, kind, number, userp, buffer, buffer_userp, actual_kind, actual_number):
        made = ctypes.create_string_buffer(max(size, 1))
        address = ctypes.addressof(made)
        with self._lock:
            self._buffers[address] = made
        buffer[0], buffer_userp[0], actual_kind[0], actual_number[0] = address, None, CPU, 0

    def _give_back(self, _, buffer, buffer_userp, size, kind, number):
        with self._lock:
            del self._buffers[buffer]

    @property
    def count(self):
        return len(self._buffers)


class Call:
    """A request on its way. It is deleted when it has been released and answered."""
    surplus = 0  # answers to requests that had been answered

    def __init__(self, library, server, memory, asked):
        self._library, self._answer = library, None
        self._released, self._answered = threading.Event(), threading.Event()
        self._callbacks = RELEASED(self._on_release), COMPLETED(self._on_response)
        values = asked["values"]
        self._values = (ctypes.c_float * len(values))(*values)
        self._request = POINTER()
        library.InferenceRequestNew(ctypes.byref(self._request), server, asked["model"].encode(), NUMBER(-1))
        try:
            library.InferenceRequestAddInput(self._request, b"INPUT0", FP32, (NUMBER * 1)(len(values)), ctypes.c_uint64(1))
            library.InferenceRequestAppendInputData(self._request, b"INPUT0", self._values, SIZE(ctypes.sizeof(self._values)),
                                                    CPU, NUMBER(0))
            library.InferenceRequestSetReleaseCallback(self._request, self._callbacks[0], None)
            library.InferenceRequestSetResponseCallback(self._request, memory.allocator, None, self._callbacks[1], None)
            if "timeout_us" in asked:
                library.InferenceRequestSetTimeoutMicroseconds(self._request, ctypes.c_uint64(asked["timeout_us"]))
            library.ServerInferAsync(server, self._request, None)
        except Failure:
            library.InferenceRequestDelete(self._request)
            raise

    def _on_release(self, request, flags, userp):
        self._released.set()

    def _on_response(self, response, flags, userp):
        try:
            if self._answer is not None:
                Call.surplus += 1
                print(f"another answer, after {self._answer}", file=sys.stderr, flush=True)
            else:
                self._answer = {"values": self._read(response)}
        except Failure as failure:
            self._answer = {"code": failure.code, "text": failure.text}
        finally:
            if response:
                self._library.InferenceResponseDelete(POINTER(response))
            if flags & 1:  # final
                self._answered.set()

    def _read(self, response):
        if not response:
            raise Failure("INTERNAL", "no response")
        response = POINTER(response)
        self._library.InferenceResponseError(response)
        name, shape, base, userp = ctypes.c_char_p(), OUT(NUMBER)(), POINTER(), POINTER()
        kind, memory, dims, size, number = ctypes.c_int(), ctypes.c_int(), ctypes.c_uint64(), SIZE(), NUMBER()
        self._library.InferenceResponseOutput(response, ctypes.c_uint32(0), *map(ctypes.byref, (
            name, kind, shape, dims, base, size, memory, number, userp)))
        if (name.value, kind.value, list(shape[:dims.value])) != (b"OUTPUT0", FP32, [size.value // 4]):
            raise Failure("OTHER OUTPUT", f"{name.value} {kind.value} {shape[:dims.value]} {size.value}")
        return list((ctypes.c_float * (size.value // 4)).from_buffer_copy(ctypes.string_at(base, size.value)))

    def cancel(self):
        self._library.InferenceRequestCancel(self._request)

    def wait(self):
        if not (self._answered.wait(WAIT_S) and self._released.wait(WAIT_S)):
            return {"code": "NO ANSWER", "text": f"none in {WAIT_S} s"}
        self._library.InferenceRequestDelete(self._request)
        return self._answer


def start(library, repository, names):
    options, server = POINTER(), POINTER()
    library.ServerOptionsNew(ctypes.byref(options))
    library.ServerOptionsSetModelRepositoryPath(options, repository.encode())
    library.ServerOptionsSetModelControlMode(options, EXPLICIT)
    library.ServerOptionsSetStrictModelConfig(options, ctypes.c_bool(False))
    for name in names:
        library.ServerOptionsSetStartupModel(options, name.encode())
    library.ServerNew(ctypes.byref(server), options)
    library.ServerOptionsDelete(options)
    return server


def answers(library, server, memory, requests, kept):
    """Of requests that are under way together. kept: those that are over, which may not be answered again"""
    calls = []
    for asked in requests:
        try:
            calls.append(Call(library, server, memory, asked))
        except Failure as failure:
            calls.append({"code": failure.code, "text": failure.text})
    kept.extend(calls)
    cancel(sorted((asked["cancel_after_s"], at) for at, asked in enumerate(requests) if "cancel_after_s" in asked), calls)
    return [call.wait() if isinstance(call, Call) else call for call in calls]


def cancel(cancelled, calls):
    """cancelled: [(after so many seconds, index of the call)], in order"""
    began = time.monotonic()
    for after_s, at in cancelled:
        time.sleep(max(0.0, began + after_s - time.monotonic()))
        if isinstance(calls[at], Call):
            calls[at].cancel()


def main(path, repository, *names):
    library = Library(path)
    server, memory = start(library, repository, names), Memory(library)
    kept = collections.deque(maxlen=KEPT)
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(answers(library, server, memory, json.loads(line), kept)), flush=True)
    library.ServerDelete(server)
    library.ResponseAllocatorDelete(memory.allocator)
    return 1 if memory.count or Call.surplus else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
