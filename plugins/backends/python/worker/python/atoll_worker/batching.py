"""batched(): the requests of a batch as one array an input, and one array an output back as responses."""

import numpy as np

from .errors import TritonModelException
from .response import InferenceResponse
from .tensor import Tensor


class Batched:
    """`batch["IN"]` is the concatenation along the first dimension; `batch.responses(OUT=array)` cuts it again."""

    def __init__(self, requests):
        self._requests = requests
        self._rows = [_rows(request) for request in requests]
        self._joined = {}

    def __len__(self):
        """Rows of all requests together."""
        return sum(self._rows)

    def __getitem__(self, name):
        array = self._joined.get(name)
        if array is None:
            parts = [_find(request, name) for request in self._requests]
            try:
                array = parts[0] if len(parts) == 1 else np.concatenate(parts)
            except ValueError as error:
                raise TritonModelException(f"Input '{name}' of these requests cannot be joined: {error}") from None
            self._joined[name] = array
        return array

    def responses(self, **outputs):
        """One response a request, in order, for execute() to return. Arrays have as many rows as the batch."""
        total = len(self)
        for name, array in outputs.items():
            if array.ndim == 0 or array.shape[0] != total:
                raise TritonModelException(f"Output '{name}' has the shape {list(array.shape)}; its first dimension must be {total}, "
                                           "as the requests have so many rows.")
        responses = []
        first = 0
        for rows in self._rows:
            tensors = [Tensor(name, array[first:first + rows]) for name, array in outputs.items()]
            responses.append(InferenceResponse(tensors))
            first += rows
        return responses


def batched(requests):
    """For models with max_batch_size above 0."""
    return Batched(requests)


def _find(request, name):
    for tensor in request.inputs():
        if tensor.name() == name:
            return tensor.as_numpy()
    raise TritonModelException(f"Request '{request.request_id()}' has no input '{name}'.")


def _rows(request):
    rows = {tensor.shape()[0] if tensor.shape() else 0 for tensor in request.inputs()}
    if len(rows) != 1:
        raise TritonModelException(f"Inputs of request '{request.request_id()}' differ in their first dimension: {sorted(rows)}.")
    return rows.pop()
