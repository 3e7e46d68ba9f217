"""The measured models as MLServer runtimes. This runs in MLServer's own environment."""

import numpy as np
import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse, ResponseOutput


class Identity(MLModel):
    """OUTPUT0 is INPUT0, as it came."""

    async def load(self):
        return True

    async def predict(self, payload):
        tensor = payload.inputs[0]
        output = ResponseOutput(name="OUTPUT0", shape=tensor.shape, datatype=tensor.datatype, data=tensor.data)
        return InferenceResponse(id=payload.id, model_name=self.name, outputs=[output])


class Digits(MLModel):
    """The classifier with ONNX Runtime, one thread."""

    async def load(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(self.settings.parameters.uri, options)
        return True

    async def predict(self, payload):
        image = NumpyCodec.decode_input(payload.inputs[0]).astype(np.float32, copy=False)
        names = ["probabilities", "label"]
        results = self._session.run(names, {"image": image})
        outputs = [NumpyCodec.encode_output(name, result) for name, result in zip(names, results)]
        return InferenceResponse(id=payload.id, model_name=self.name, outputs=outputs)
