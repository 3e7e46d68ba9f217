"""Which instance answers, and where the server wants it to run: what a model needs to put its weights on the right device."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        about = {"INSTANCE": args["model_instance_name"], "KIND": args["model_instance_kind"], "DEVICE": args["model_instance_device_id"]}
        self.answer = [pb_utils.Tensor(name, np.array([text], np.object_)) for name, text in about.items()]

    def execute(self, requests):
        return [pb_utils.InferenceResponse(self.answer) for _ in requests]
