"""Parameters of the configuration, of the request and of the response."""

import json

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        configured = json.loads(args["model_config"])["parameters"]
        self.greeting = configured["greeting"]["string_value"]

    def execute(self, requests):
        responses = []
        for request in requests:
            given = json.loads(request.parameters())
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("COUNT", np.array([len(given)], np.int32))],
                                                        parameters={**given, "greeting": self.greeting}))
        return responses
