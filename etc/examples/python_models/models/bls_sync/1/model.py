"""Lets the model that the request names do the work, and passes its answer or its error on."""

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            model = pb_utils.get_input_tensor_by_name(request, "MODEL").as_numpy()[0].decode()
            inputs = [tensor for tensor in request.inputs() if tensor.name() != "MODEL"]
            answer = pb_utils.InferenceRequest(model_name=model, requested_output_names=["SUM", "DIFFERENCE"], inputs=inputs).exec()
            if answer.has_error():
                responses.append(pb_utils.InferenceResponse(error=answer.error()))
            else:
                responses.append(pb_utils.InferenceResponse(answer.output_tensors()))
        return responses
