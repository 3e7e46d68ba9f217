"""Asks two models at the same time: the product of (a + b) of the one and (a - b) of the other."""

import asyncio

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    async def ask(self, model, output, inputs):
        answer = await pb_utils.InferenceRequest(model_name=model, requested_output_names=[output], inputs=inputs).async_exec()
        if answer.has_error():
            raise pb_utils.TritonModelException(answer.error().message())
        return pb_utils.get_output_tensor_by_name(answer, output).as_numpy()

    async def execute(self, requests):
        responses = []
        for request in requests:
            total, difference = await asyncio.gather(self.ask("add_sub", "SUM", request.inputs()),
                                                     self.ask("auto_complete_unbatched", "DIFFERENCE", request.inputs()))
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("PRODUCT", total * difference)]))
        return responses
