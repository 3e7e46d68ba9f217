"""Small functions of pb_utils."""

import struct

import numpy as np

from .native import get_input_tensor_by_name, split_elements  # noqa: F401


def get_output_tensor_by_name(inference_response, name):
    """None if the response has none of this name."""
    for tensor in inference_response.output_tensors():
        if tensor._name == name:
            return tensor
    return None


def _by_name(tensors, name):
    for tensor in tensors:
        if tensor["name"] == name:
            return tensor
    return None


def get_input_config_by_name(model_config, name):
    return _by_name(model_config.get("input", ()), name)


def get_output_config_by_name(model_config, name):
    return _by_name(model_config.get("output", ()), name)


def using_decoupled_model_transaction_policy(model_config):
    return bool(model_config.get("model_transaction_policy", {}).get("decoupled", False))


def serialize_byte_tensor(input_tensor):
    """Elements of an array as on the wire; `()` if there are none, None if the array is of another type."""
    if input_tensor.size == 0:
        return ()
    if input_tensor.dtype != np.object_ and input_tensor.dtype.type != np.bytes_:
        return None
    parts = []
    for element in input_tensor.ravel().tolist():
        raw = element if isinstance(element, bytes) else str(element).encode("utf-8")
        parts.append(struct.pack("<I", len(raw)))
        parts.append(raw)
    return b"".join(parts)


def deserialize_bytes_tensor(encoded_tensor):
    """A flat object array of what serialize_byte_tensor() made."""
    view = memoryview(encoded_tensor)
    count = at = 0
    while at + 4 <= len(view):
        at += 4 + int.from_bytes(view[at:at + 4], "little")
        count += 1
    elements = split_elements(view, count)
    array = np.empty(len(elements), np.object_)
    array[:] = elements
    return array
