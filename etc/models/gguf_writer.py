"""Writes GGUF files, the format of llama.cpp's models: keys with values, and tensors of F32 or F16."""

import struct

import numpy as np

ALIGNMENT = 32
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
TENSOR_TYPES = {np.dtype(np.float32): 0, np.dtype(np.float16): 1}
# Kinds of tokens.
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6


def text_bytes(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def scalar_bytes(value):
    """(number of the type, bytes)"""
    if isinstance(value, bool):
        return BOOL, struct.pack("<?", value)
    if isinstance(value, str):
        return STRING, text_bytes(value)
    if isinstance(value, float):
        return FLOAT32, struct.pack("<f", value)
    return (UINT32, struct.pack("<I", value)) if value >= 0 else (INT32, struct.pack("<i", value))


def value_bytes(value):
    if isinstance(value, np.ndarray):
        kind = {np.dtype(np.float32): FLOAT32, np.dtype(np.int32): INT32}[value.dtype]
        return struct.pack("<IIQ", ARRAY, kind, value.size) + value.tobytes()
    if isinstance(value, list):
        return struct.pack("<IIQ", ARRAY, STRING, len(value)) + b"".join(text_bytes(text) for text in value)
    kind, data = scalar_bytes(value)
    return struct.pack("<I", kind) + data


def padded(size):
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def write_gguf(path, keys, tensors):
    """keys: texts, whole numbers, floats, truth values, lists of texts, arrays of float32 and int32. tensors: arrays of float32 or
    float16 as NumPy has them, the last dimension being the one whose elements lie together."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    for key, value in keys.items():
        head += text_bytes(key) + value_bytes(value)
    offset = 0
    for name, array in tensors.items():
        head += text_bytes(name) + struct.pack("<I", array.ndim) + struct.pack(f"<{array.ndim}Q", *reversed(array.shape))
        head += struct.pack("<IQ", TENSOR_TYPES[array.dtype], offset)
        offset += padded(array.nbytes)
    with open(path, "wb") as file:
        file.write(head.ljust(padded(len(head)), b"\0"))
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes().ljust(padded(array.nbytes), b"\0"))
