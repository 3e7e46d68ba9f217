"""Tensors of a case in device memory of this process, registered at a server."""

import numpy as np
from gpu_client import Region, register_cuda, unregister_cuda
from support.cuda_double import Allocation, Driver, Gpu

ALIGNMENT = 256
DRIVERS = {}  # one of each library in a process


def gpu_of(library):
    if library not in DRIVERS:
        DRIVERS[library] = Gpu(Driver(library), 0)
    return DRIVERS[library]


class SharedTensors:
    """One region with all tensors, one behind the other. case: inputs and expected, by name"""

    def __init__(self, address, library, case):
        self.address, self.expected = address, case.expected
        self.name = f"tensors{id(self)}"
        self.inputs, self.outputs, at = {}, {}, 0
        for name, array in case.inputs.items():
            self.inputs[name] = (array.shape, Region(self.name, array.nbytes, at))
            at += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        for name, array in case.expected.items():
            self.outputs[name] = Region(self.name, 4 * array.size, at)
            at += -(-4 * array.size // ALIGNMENT) * ALIGNMENT
        self._memory = Allocation(gpu_of(library), at).__enter__()
        for name, array in case.inputs.items():
            self._memory.write(array.tobytes(), self.inputs[name][1].offset)
        register_cuda(address, self.name, self._memory.raw, at)

    def read(self):
        """What the outputs are now."""
        return {name: np.frombuffer(self._memory.read(region.byte_size, region.offset), np.float32).reshape(
            self.expected[name].shape) for name, region in self.outputs.items()}

    def close(self):
        unregister_cuda(self.address, self.name)
        self._memory.__exit__(None, None, None)
