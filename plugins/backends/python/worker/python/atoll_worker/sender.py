"""What get_response_sender() gives."""

from .errors import TritonModelException
from .response import InferenceResponse


class InferenceResponseSender:
    """Sends responses from any thread, during execute() and after it."""

    __slots__ = ("_state", "__weakref__")

    def __init__(self, state):
        self._state = state

    def send(self, response=None, flags=0):
        if self._state is None:
            raise TritonModelException("Unable to send response. Response sender has no reference to the decoupled state of "
                                       "the model.")
        if response is not None and not isinstance(response, InferenceResponse):
            raise TypeError(f"send() expects an InferenceResponse, not {type(response).__name__}")
        self._state.outbox.send(self._state, response, flags)

    def is_cancelled(self):
        return self._state is not None and self._state.is_cancelled()
