"""The sentences whose vectors point most nearly the same way."""

import pathlib

import numpy as np
import triton_python_backend_utils as pb_utils

COUNT = 3


class TritonPythonModel:
    def initialize(self, args):
        folder = pathlib.Path(args["model_repository"]) / args["model_version"]
        self.embeddings = np.load(folder / "embeddings.npy")
        self.sentences = np.array((folder / "sentences.txt").read_text().splitlines(), object)

    def execute(self, requests):
        questions = [pb_utils.get_input_tensor_by_name(request, "EMBEDDING").as_numpy() for request in requests]
        # One product for the whole batch.
        scores = np.concatenate(questions) @ self.embeddings.T
        best = np.argsort(-scores, axis=1)[:, :COUNT]
        responses = []
        begin = 0
        for question in questions:
            rows = slice(begin, begin + len(question))
            begin += len(question)
            responses.append(pb_utils.InferenceResponse([
                pb_utils.Tensor("SENTENCE", self.sentences[best[rows]]),
                pb_utils.Tensor("SCORE", np.take_along_axis(scores[rows], best[rows], 1).astype(np.float32))]))
        return responses
