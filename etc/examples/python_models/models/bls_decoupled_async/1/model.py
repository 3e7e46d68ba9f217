"""n squared plus (n + 1) squared: two streams of `square`, read at the same time."""

import asyncio

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    async def total(self, number):
        answers = await pb_utils.InferenceRequest(model_name="square", requested_output_names=["OUT"],
                                                  inputs=[pb_utils.Tensor("IN", number)]).async_exec(decoupled=True)
        total = 0
        for answer in answers:
            if answer.has_error():
                raise pb_utils.TritonModelException(answer.error().message())
            if answer.output_tensors():
                total += answer.output_tensors()[0].as_numpy()[0]
        return total

    async def execute(self, requests):
        responses = []
        for request in requests:
            number = request.inputs()[0].as_numpy()
            totals = await asyncio.gather(self.total(number), self.total(number + 1))
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([sum(totals)], np.int32))]))
        return responses
