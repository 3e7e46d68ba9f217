"""Completes its configuration from a parameter of its own, for requests without a dimension for the batch."""

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        size = int(config.as_dict()["parameters"]["size"]["string_value"])
        for add, names in ((config.add_input, ("INPUT0", "INPUT1")), (config.add_output, ("SUM", "DIFFERENCE"))):
            for name in names:
                add({"name": name, "data_type": "TYPE_FP32", "dims": [size]})
        config.set_max_batch_size(0)
        return config

    def execute(self, requests):
        responses = []
        for request in requests:
            a, b = (tensor.as_numpy() for tensor in request.inputs())
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("SUM", a + b), pb_utils.Tensor("DIFFERENCE", a - b)]))
        return responses
