"""GPUs of the driver's test double, for tests that are a client with memory of its own on one."""

import base64
import ctypes
import os
import pathlib

from support.server import BUILD

# etc/dev/gpu-check names the real driver, for tests that do not mind.
IS_REAL = "ATOLL_TEST_CUDA" in os.environ
DOUBLE = pathlib.Path(os.environ.get("ATOLL_TEST_CUDA", BUILD / "lib" / "atoll" / "testing" / "libcuda.so.1"))
NO_DRIVER = "/nowhere/libcuda.so.1"
_VERSIONS = {"cuDevicePrimaryCtxRetain": 7000, "cuCtxSetCurrent": 4000, "cuStreamCreateWithPriority": 5050,
             "cuStreamSynchronize": 2000, "cuMemAlloc": 3020, "cuMemFree": 3020, "cuMemcpyAsync": 4000,
             "cuIpcGetMemHandle": 4010}


class Driver:
    """As one process has it: asks for each function by its version, and raises where a call fails."""

    def __init__(self, path=DOUBLE):
        self._library = ctypes.CDLL(str(path))
        self._functions = {}
        self._check("cuInit", self._library.cuInit(0))

    @staticmethod
    def _check(name, result):
        if result != 0:
            raise RuntimeError(f"{name} gave {result}")

    def call(self, name, *arguments):
        if name not in self._functions:
            address, state = ctypes.c_void_p(), ctypes.c_int()
            self._check(name, self._library.cuGetProcAddress_v2(
                name.encode(), ctypes.byref(address), _VERSIONS[name], ctypes.c_uint64(1), ctypes.byref(state)))
            self._functions[name] = ctypes.CFUNCTYPE(ctypes.c_int)(address.value)
        self._check(name, self._functions[name](*arguments))


class Gpu:
    def __init__(self, driver, ordinal):
        self.driver = driver
        self.context, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), ordinal)
        self.make_current()
        driver.call("cuStreamCreateWithPriority", ctypes.byref(self.stream), 1, 0)

    def make_current(self):
        self.driver.call("cuCtxSetCurrent", self.context)


class Allocation:
    """Memory of a client, and the handle that a server opens it by. Use as a context manager."""

    def __init__(self, gpu, byte_size):
        self.gpu = gpu
        self.address = ctypes.c_uint64()
        gpu.make_current()
        gpu.driver.call("cuMemAlloc", ctypes.byref(self.address), ctypes.c_size_t(byte_size))
        raw = ctypes.create_string_buffer(64)
        gpu.driver.call("cuIpcGetMemHandle", raw, self.address)
        self.raw = raw.raw
        self.handle = base64.b64encode(self.raw)
        self.write(bytes(byte_size))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.gpu.make_current()
        self.gpu.driver.call("cuMemFree", self.address)

    def _copy(self, to, source, byte_size):
        self.gpu.make_current()
        self.gpu.driver.call("cuMemcpyAsync", ctypes.c_uint64(to), ctypes.c_uint64(source), ctypes.c_size_t(byte_size),
                             self.gpu.stream)
        self.gpu.driver.call("cuStreamSynchronize", self.gpu.stream)

    def write(self, content, offset=0):
        held = ctypes.create_string_buffer(content, len(content))
        self._copy(self.address.value + offset, ctypes.addressof(held), len(content))

    def read(self, byte_size, offset=0):
        held = ctypes.create_string_buffer(byte_size)
        self._copy(ctypes.addressof(held), self.address.value + offset, byte_size)
        return held.raw
