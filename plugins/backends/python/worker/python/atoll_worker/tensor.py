"""pb_utils.Tensor."""

import numpy as np

from . import datatypes
from .arguments import text
from .datatypes import BF16, BYTES
from .errors import TritonModelException
from .native import DlpackTensor, TensorBase, configure_tensors, dlpack_capsule, measure_elements, split_elements, write_elements

_CPU = 1
_GPU = 2
_NOT_PACKED = ("DLPack tensor is not contiguous. Only contiguous DLPack tensors that are stored in C-Order are supported.")


class Tensor(TensorBase):
    """A named array. Its bytes are a NumPy array's, or memory that somebody else owns and `_memory` keeps alive."""

    __slots__ = ()

    def _init_rarely(self, name, numpy_array):
        """As Tensor(name, numpy_array), where that is not one of the frequent cases."""
        name = text(name, "Tensor() expects its name")
        if not isinstance(numpy_array, np.ndarray):
            raise TypeError(f"Tensor() expects a numpy.ndarray, not {type(numpy_array).__name__}")
        if not name:
            raise TritonModelException("Tensor name cannot be an empty string.")
        datatype = datatypes.number_of(numpy_array.dtype)
        if datatype is None:
            raise TritonModelException("NumPy dtype is not supported.")
        if numpy_array.ndim > 32:
            raise TritonModelException(f"A tensor has at most 32 dimensions, not {numpy_array.ndim}.")
        self._name = name
        self._datatype = datatype
        self._array = numpy_array if numpy_array.flags.c_contiguous else numpy_array.copy(order="C")
        self._shape = numpy_array.shape
        self._memory = None
        self._elements = None

    @classmethod
    def _of_memory(cls, name, datatype, shape, memory, offset, size):
        """`size` bytes at `offset` of what exports a buffer."""
        self = cls.__new__(cls)
        self._name = name
        self._datatype = datatype
        self._shape = shape
        self._array = None
        self._memory = memory
        self._offset = offset
        self._size = size
        self._elements = None
        return self

    def shape(self):
        return list(self._shape)

    def triton_dtype(self):
        return self._datatype

    def is_cpu(self):
        return True

    def _view(self):
        """For as_numpy(), where it is not a simple view."""
        if self._datatype == BYTES:
            elements = split_elements(self._bytes(), _count(self._shape))
            array = np.empty(len(elements), np.object_)
            array[:] = elements
            return array.reshape(self._shape)
        if self._datatype == BF16:
            raise TritonModelException("Tensor dtype is BF16 and cannot be converted to NumPy. Use to_dlpack() and "
                                       "from_dlpack() instead.")
        dtype = datatypes.DTYPES[self._datatype]
        if self._size == 0:
            return np.empty(self._shape, dtype)
        return np.ndarray(self._shape, dtype, self._memory, self._offset)

    def _bytes(self):
        return memoryview(self._memory)[self._offset:self._offset + self._size]

    # --- as the worker sends it ---

    def _measure(self):
        """Bytes on the wire."""
        if self._memory is not None:
            if self._datatype == BYTES and self._array is not None:
                return self._measure_elements()  # the model may have changed elements in place
            return self._size
        if self._datatype == BYTES:
            return self._measure_elements()
        return self._array.nbytes

    def _measure_elements(self):
        self._elements = self._array.ravel().tolist()
        return measure_elements(self._elements)

    def _write(self, region, offset):
        """What was measured."""
        if self._elements is not None:
            write_elements(self._elements, region, offset)
            self._elements = None
        elif self._array is not None:
            region.write(offset, self._array)
        elif self._size:
            region.write(offset, self._bytes())

    def _address(self):
        """Of packed bytes; None: there are none yet, or they are elsewhere than where they are sent from."""
        if self._datatype == BYTES and self._array is not None:
            return None
        if self._array is not None:
            return self._array.__array_interface__["data"][0]
        return self._as_octets().__array_interface__["data"][0]

    def _as_octets(self):
        if self._size == 0:
            return np.empty(0, np.uint8)
        return np.ndarray((self._size,), np.uint8, self._memory, self._offset)

    # --- DLPack ---

    def to_dlpack(self):
        if self._datatype == BYTES:
            raise TritonModelException("DLPack does not have support for string tensors.")
        owner = self._array if self._array is not None else self._as_octets()
        code, bits = datatypes.DLPACK[self._datatype]
        return dlpack_capsule(owner, owner.__array_interface__["data"][0], tuple(self._shape), code, bits, 1)

    def __dlpack__(self, stream=None, **_):
        return self.to_dlpack()

    def __dlpack_device__(self):
        return (_CPU, 0)

    @staticmethod
    def from_dlpack(name, tensor):
        name = text(name, "from_dlpack() expects its name")
        if not name:
            raise TritonModelException("Tensor name cannot be an empty string.")
        if hasattr(tensor, "__dlpack__"):
            if not hasattr(tensor, "__dlpack_device__"):
                raise TritonModelException("DLPack's __dlpack__ is there, but __dlpack_device__ is not.")
            _check_device(tensor.__dlpack_device__()[0])
            tensor = tensor.__dlpack__()
        try:
            taken = DlpackTensor(tensor)
        except (TypeError, ValueError) as error:
            raise TritonModelException(f"from_dlpack() expects a DLPack capsule that nobody has used, or an object that makes "
                                       f"one, not {type(tensor).__name__}.") from error
        shape, packed, code, bits, lanes, device, _ = taken.describe()
        _check_device(device)
        if not packed:
            raise TritonModelException(_NOT_PACKED)
        datatype = datatypes.FROM_DLPACK.get((code, bits)) if lanes == 1 else None
        if datatype is None:
            raise TritonModelException(f"DLPack type code {code} with {bits} bits and {lanes} lanes is not supported.")
        return Tensor._of_memory(name, datatype, shape, taken, 0, _count(shape) * datatypes.SIZES[datatype])


def _check_device(device):
    if device == _GPU:
        raise TritonModelException("DLPack tensors in GPU memory are not supported: copy the tensor to the CPU first.")
    if device != _CPU and device != 3:  # pinned memory of the CPU
        raise TritonModelException(f"DLDevice type {device} is not support by Python backend.")


def _count(shape):
    count = 1
    for dim in shape:
        count *= dim
    return count


configure_tensors(np.ndarray, datatypes.NUMBERS, datatypes.DTYPES, Tensor)
