"""As many responses as a request asks for, one an execution: between them it goes back to its scheduler, so that requests that
come later join the batch, as those of a language model do."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.left = {}

    def execute(self, requests):
        for request in requests:
            key, sender = request.correlation_id(), request.get_response_sender()
            if request.flags() & pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START:
                self.left[key] = int(request.inputs()[0].as_numpy()[0, 0])
            left = self.left[key] = self.left[key] - 1
            response = pb_utils.InferenceResponse([pb_utils.Tensor("STEP", np.array([[left]], np.int32))])
            if left > 0:
                request.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
                sender.send(response)
            else:
                del self.left[key]
                sender.send(response, pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
