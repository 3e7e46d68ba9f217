"""One response for each element of IN, after a pause of its own. The last one carries the final flag."""

import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            values = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
            delays = pb_utils.get_input_tensor_by_name(request, "DELAY_MS").as_numpy()
            if len(values) != len(delays):
                error = pb_utils.TritonError(f"IN has {len(values)} elements and DELAY_MS {len(delays)}",
                                             pb_utils.TritonError.INVALID_ARG)
                sender.send(pb_utils.InferenceResponse(error=error), pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
                continue
            for index, (value, delay) in enumerate(zip(values, delays)):
                time.sleep(delay / 1000)
                tensors = [pb_utils.Tensor("OUT", np.array([value], np.int32)), pb_utils.Tensor("INDEX", np.array([index], np.uint32))]
                is_last = index + 1 == len(values)
                sender.send(pb_utils.InferenceResponse(tensors), pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL if is_last else 0)
            if len(values) == 0:
                sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
