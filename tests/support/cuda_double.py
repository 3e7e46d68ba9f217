"""GPUs of the driver's test double, for tests that are a client with memory of its own on one."""

import base64
import os
import pathlib
import pickle
import subprocess
import sys
import weakref

from support import cuda_client
from support.foreign_programs import environment
from support.server import BUILD

# etc/dev/gpu-check names the real driver, for tests that do not mind.
IS_REAL = "ATOLL_TEST_CUDA" in os.environ
DOUBLE = pathlib.Path(os.environ.get("ATOLL_TEST_CUDA", BUILD / "lib" / "atoll" / "testing" / "libcuda.so.1"))
NO_DRIVER = "/nowhere/libcuda.so.1"


class Driver:
    """A process that has the driver and memory of its own, as a client has; it ends with this object. Raises where a call
    fails."""

    def __init__(self, path=DOUBLE):
        self._process = subprocess.Popen([sys.executable, cuda_client.__file__, path], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, env=None if IS_REAL else environment())
        weakref.finalize(self, self._end, self._process)

    @staticmethod
    def _end(process):
        process.stdin.close()
        process.stdout.close()
        process.wait()

    def call(self, name, *arguments):
        pickle.dump((name, arguments), self._process.stdin)
        self._process.stdin.flush()
        result, error = pickle.load(self._process.stdout)
        if error is not None:
            raise error
        return result


class Gpu:
    def __init__(self, driver, ordinal):
        self._driver, self._ordinal = driver, ordinal

    def call(self, name, *arguments):
        return self._driver.call(name, self._ordinal, *arguments)


class Allocation:
    """Memory of a client, and the handle that a server opens it by. Use as a context manager."""

    def __init__(self, gpu, byte_size):
        self._gpu = gpu
        self._address, self.raw = gpu.call("allocate", byte_size)
        self.handle = base64.b64encode(self.raw)
        self.write(bytes(byte_size))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._gpu.call("free", self._address)

    def write(self, content, offset=0):
        self._gpu.call("write", self._address + offset, bytes(content))

    def read(self, byte_size, offset=0):
        return self._gpu.call("read", self._address + offset, byte_size)
