"""gRPC requests that are on their way at the same time."""

import queue

import numpy as np
import tritonclient.grpc as grpcclient

TIMEOUT_S = 60


def tensor(values, name="INPUT0"):
    array = np.asarray(values, dtype=np.float32)
    made = grpcclient.InferInput(name, list(array.shape), "FP32")
    made.set_data_from_numpy(array)
    return made


class Calls:
    """`key` tells which request an answer is to."""

    def __init__(self, client):
        self.client = client
        self._answers = queue.Queue()

    def send(self, model, values, key, **options):
        return self.client.async_infer(model, [tensor(values)],
                                       lambda result, error: self._answers.put((key, result, error)), **options)

    def next(self):
        """(key, result or None, error or None) of the next one that ends"""
        return self._answers.get(timeout=TIMEOUT_S)
