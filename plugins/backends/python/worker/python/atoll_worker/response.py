"""pb_utils.InferenceResponse."""

from . import parameters as parameter_text
from .errors import TritonError, TritonModelException
from .native import ResponseBase
from .tensor import Tensor


class InferenceResponse(ResponseBase):
    """Tensors or an error, with parameters."""

    __slots__ = ()

    def _init_rarely(self, output_tensors, error, parameters):
        """As InferenceResponse(..), where there is more than tensors."""
        if error is not None and not isinstance(error, TritonError):
            raise TypeError(f"InferenceResponse() expects its error as TritonError, not {type(error).__name__}")
        if output_tensors is None:
            raise TypeError("InferenceResponse() expects output_tensors as a list of Tensor, not NoneType")
        tensors = list(output_tensors)
        for tensor in tensors:
            if tensor is None:
                raise TritonModelException("Output tensor for inference response should not be empty.")
            if not isinstance(tensor, Tensor):
                raise TypeError(f"InferenceResponse() expects a list of Tensor, not of {type(tensor).__name__}")
        self._tensors = tensors
        self._error = error
        self._parameters = parameter_text.to_text(parameters) if parameters is not None else ""

    @classmethod
    def _of(cls, tensors, error, parameters):
        self = cls.__new__(cls)
        self._tensors = tensors
        self._error = error
        self._parameters = parameters
        return self

    def has_error(self):
        return self._error is not None

    def error(self):
        return self._error

    def parameters(self):
        return self._parameters or "{}"
