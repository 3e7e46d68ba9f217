"""A Python model that computes: its output is its input, later. `python busy.py SECONDS` does the same without a server."""

import json
import sys
import time

STEPS = 40_000


def compute():
    """About a millisecond in which Python does nothing else."""
    total = 0
    for i in range(STEPS):
        total += i & 7
    return total


class TritonPythonModel:
    def execute(self, requests):
        import triton_python_backend_utils as pb_utils
        responses = []
        for request in requests:
            compute()
            values = pb_utils.get_input_tensor_by_name(request, "INPUT0")
            responses.append(pb_utils.InferenceResponse(output_tensors=[pb_utils.Tensor("OUTPUT0", values.as_numpy())]))
        return responses


def main(seconds):
    took = []
    begin = now = time.perf_counter()
    while now - begin < seconds:
        compute()
        before, now = now, time.perf_counter()
        took.append(round((now - before) * 1e6, 1))
    json.dump({"seconds": now - begin, "latencies": sorted(took)}, sys.stdout)


if __name__ == "__main__":
    main(float(sys.argv[1]))
