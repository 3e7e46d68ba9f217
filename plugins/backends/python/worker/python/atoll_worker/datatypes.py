"""Datatypes: Triton's numbers, names of the model configuration, NumPy's types and DLPack's codes."""

import numpy as np

BOOL, BYTES, BF16 = 1, 13, 14

# In the order of Triton's numbers, from 1.
_NAMES = ("BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64", "STRING")
_TYPES = (bool, np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32, np.int64, np.float16, np.float32,
          np.float64, np.object_)

TRITON_STRING_TO_NUMPY = {"TYPE_" + name: kind for name, kind in zip(_NAMES, _TYPES)}
TRITON_TO_NUMPY_TYPE = dict(enumerate((np.bool_,) + _TYPES[1:], 1))
NUMPY_TO_TRITON_TYPE = {kind: number for number, kind in TRITON_TO_NUMPY_TYPE.items()}
NUMPY_TO_TRITON_TYPE[bool] = BOOL

#: np.dtype by number, for the types that a view can be made of.
DTYPES = {number: np.dtype(kind) for number, kind in TRITON_TO_NUMPY_TYPE.items() if number != BYTES}
#: Number by np.dtype.
NUMBERS = {np.dtype(kind): number for number, kind in TRITON_TO_NUMPY_TYPE.items()}

SIZES = {number: dtype.itemsize for number, dtype in DTYPES.items()}
SIZES[BF16] = 2

#: (code, bits) of DLPack.
DLPACK = {1: (6, 8), 2: (1, 8), 3: (1, 16), 4: (1, 32), 5: (1, 64), 6: (0, 8), 7: (0, 16), 8: (0, 32), 9: (0, 64),
          10: (2, 16), 11: (2, 32), 12: (2, 64), BF16: (4, 16)}
FROM_DLPACK = {code: number for number, code in DLPACK.items()}


def number_of(dtype):
    """Triton's number of a NumPy dtype; None: it has none."""
    number = NUMBERS.get(dtype)
    if number is None and dtype.kind == "S":
        return BYTES
    return number


def triton_string_to_numpy(triton_type_string):
    return TRITON_STRING_TO_NUMPY[triton_type_string]


def triton_to_numpy_type(data_type):
    return TRITON_TO_NUMPY_TYPE.get(data_type)


def numpy_to_triton_type(data_type):
    if data_type in NUMPY_TO_TRITON_TYPE:
        return NUMPY_TO_TRITON_TYPE[data_type]
    return number_of(data_type) if isinstance(data_type, np.dtype) else None
