"""Image files in, pixels as the classifier of digits wants them out. Reading them is in a file of its own, beside this one."""

import numpy as np
import triton_python_backend_utils as pb_utils

from . import netpbm


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            try:
                images = [netpbm.shrink(netpbm.read(file), 8).ravel() * 16 for (file,) in request.inputs()[0].as_numpy()]
            except ValueError as error:
                refusal = pb_utils.TritonError(str(error), pb_utils.TritonError.INVALID_ARG)
                responses.append(pb_utils.InferenceResponse(error=refusal))
                continue
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("IMAGE", np.array(images, np.float32))]))
        return responses
