"""Says itself what goes in and out and how it is batched, so that its configuration names the backend only."""

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        for name in ("INPUT0", "INPUT1"):
            config.add_input({"name": name, "data_type": "TYPE_FP32", "dims": [4]})
        for name in ("SUM", "DIFFERENCE"):
            config.add_output({"name": name, "data_type": "TYPE_FP32", "dims": [4]})
        config.set_max_batch_size(8)
        config.set_dynamic_batching()
        return config

    def execute(self, requests):
        batch = pb_utils.batched(requests)
        return batch.responses(SUM=batch["INPUT0"] + batch["INPUT1"], DIFFERENCE=batch["INPUT0"] - batch["INPUT1"])
