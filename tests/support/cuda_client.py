"""A program that has memory on a GPU by the driver that its first argument names: one pickled call a time on standard
input, its result or its exception on standard output. `cuda_double` starts it: a library of a sanitizer's build can only
be opened by a process that has the sanitizer's runtime first."""

import ctypes
import pickle
import sys

_VERSIONS = {"cuDevicePrimaryCtxRetain": 7000, "cuCtxSetCurrent": 4000, "cuStreamCreateWithPriority": 5050,
             "cuStreamSynchronize": 2000, "cuMemAlloc": 3020, "cuMemFree": 3020, "cuMemcpyAsync": 4000,
             "cuIpcGetMemHandle": 4010}


class Driver:
    """As one process has it: asks for each function by its version, and raises where a call fails."""

    def __init__(self, path):
        self._library = ctypes.CDLL(path)
        self._functions = {}
        self._streams = {}  # of a device: its context and a stream
        self._check("cuInit", self._library.cuInit(0))

    @staticmethod
    def _check(name, result):
        if result != 0:
            raise RuntimeError(f"{name} gave {result}")

    def _call(self, name, *arguments):
        if name not in self._functions:
            address, state = ctypes.c_void_p(), ctypes.c_int()
            self._check(name, self._library.cuGetProcAddress_v2(
                name.encode(), ctypes.byref(address), _VERSIONS[name], ctypes.c_uint64(1), ctypes.byref(state)))
            self._functions[name] = ctypes.CFUNCTYPE(ctypes.c_int)(address.value)
        self._check(name, self._functions[name](*arguments))

    def _use(self, ordinal):
        """Makes the device current; its stream."""
        if ordinal not in self._streams:
            context, stream = ctypes.c_void_p(), ctypes.c_void_p()
            self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ordinal)
            self._call("cuCtxSetCurrent", context)
            self._call("cuStreamCreateWithPriority", ctypes.byref(stream), 1, 0)
            self._streams[ordinal] = context, stream
        context, stream = self._streams[ordinal]
        self._call("cuCtxSetCurrent", context)
        return stream

    def allocate(self, ordinal, byte_size):
        """Address, and handle for other processes."""
        self._use(ordinal)
        address, raw = ctypes.c_uint64(), ctypes.create_string_buffer(64)
        self._call("cuMemAlloc", ctypes.byref(address), ctypes.c_size_t(byte_size))
        self._call("cuIpcGetMemHandle", raw, address)
        return address.value, raw.raw

    def free(self, ordinal, address):
        self._use(ordinal)
        self._call("cuMemFree", ctypes.c_uint64(address))

    def _copy(self, ordinal, to, source, byte_size):
        stream = self._use(ordinal)
        self._call("cuMemcpyAsync", ctypes.c_uint64(to), ctypes.c_uint64(source), ctypes.c_size_t(byte_size), stream)
        self._call("cuStreamSynchronize", stream)

    def write(self, ordinal, address, content):
        held = ctypes.create_string_buffer(content, len(content))
        self._copy(ordinal, address, ctypes.addressof(held), len(content))

    def read(self, ordinal, address, byte_size):
        held = ctypes.create_string_buffer(byte_size)
        self._copy(ordinal, ctypes.addressof(held), address, byte_size)
        return held.raw


def main():
    driver = Driver(sys.argv[1])
    while True:
        try:
            name, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = getattr(driver, name)(*arguments), None
        except RuntimeError as error:
            answer = None, error
        pickle.dump(answer, sys.stdout.buffer)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
