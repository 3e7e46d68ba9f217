"""The sum of what a client has sent so far: requests of a sequence come to the same instance, which remembers."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.sums = {}

    def execute(self, requests):
        responses = []
        for request in requests:
            client = int(pb_utils.get_input_tensor_by_name(request, "CORRID").as_numpy().flat[0])
            if request.flags() & pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START:
                self.sums[client] = 0
            self.sums[client] += int(pb_utils.get_input_tensor_by_name(request, "NUMBER").as_numpy()[0])
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("SUM", np.array([self.sums[client]], np.int32))]))
            if request.flags() & pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_END:
                del self.sums[client]
        return responses
