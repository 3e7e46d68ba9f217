"""Counts for ever, until its client goes: whoever works long asks between two steps whether anybody still wants the result."""

import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            sender, pause, number = request.get_response_sender(), request.inputs()[0].as_numpy()[0] / 1000, 0
            while not sender.is_cancelled():
                sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("NUMBER", np.array([number], np.int32))]))
                number += 1
                time.sleep(pause)
            pb_utils.Logger.log_info("cancelled")
            # The end is due all the same.
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
