"""A text word by word. `execute` is a coroutine, so one thread serves any number of streams at once."""

import asyncio

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    async def execute(self, requests):
        await asyncio.gather(*[self.answer(request.get_response_sender(), request.inputs()[0].as_numpy()[0]) for request in requests])

    async def answer(self, sender, text):
        for word in text.split():
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("WORD", np.array([word], np.object_))]))
            await asyncio.sleep(0.001)  # where the next word is made
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
