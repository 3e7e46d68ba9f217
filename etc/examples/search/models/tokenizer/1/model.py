"""Text to tokens."""

import pathlib

import numpy as np
import triton_python_backend_utils as pb_utils
from tokenizers import Tokenizer

MAX_TOKENS = 256
# Requests of the same length can be joined into one batch of the encoder, so lengths are rounded up.
STEP = 16


class TritonPythonModel:
    def initialize(self, args):
        file = pathlib.Path(args["model_repository"]) / args["model_version"] / "tokenizer.json"
        self.tokenizer = Tokenizer.from_file(str(file))
        self.tokenizer.enable_truncation(MAX_TOKENS)
        self.tokenizer.enable_padding(pad_to_multiple_of=STEP)

    def execute(self, requests):
        responses = []
        for request in requests:
            texts = pb_utils.get_input_tensor_by_name(request, "TEXT").as_numpy().reshape(-1)
            try:
                encoded = self.tokenizer.encode_batch([text.decode() for text in texts])
            except UnicodeDecodeError as error:
                responses.append(pb_utils.InferenceResponse(error=pb_utils.TritonError(
                    f"TEXT is not UTF-8: {error}", pb_utils.TritonError.INVALID_ARG)))
                continue
            responses.append(pb_utils.InferenceResponse([
                pb_utils.Tensor("input_ids", np.array([one.ids for one in encoded], np.int64)),
                pb_utils.Tensor("attention_mask", np.array([one.attention_mask for one in encoded], np.int64))]))
        return responses
