"""pb_utils.InferenceRequest: what execute() gets, and what a model makes for another model."""

from . import session
from . import parameters as parameter_text
from .arguments import integer, text
from .errors import TritonModelException
from .native import RequestBase, read_requests, set_request_class  # noqa: F401
from .outbox import RELEASE_ALL, RELEASE_RESCHEDULE
from .sender import InferenceResponseSender
from .tensor import Tensor

FLAG_SEQUENCE_START = 1
FLAG_SEQUENCE_END = 2

MEMORY_CPU, MEMORY_GPU = 0, 2

_MISSING = object()


class PreferredMemory:
    """Where a model wants to have another one's outputs."""

    __slots__ = ("_type", "_device_id")

    def __init__(self, preferred_memory_type, preferred_device_id=0):
        self._type = preferred_memory_type
        self._device_id = preferred_device_id

    def preferred_memory_type(self):
        return self._type

    def preferred_device_id(self):
        return self._device_id


class InferenceTrace:
    """Goes from a request into the requests that are made for it."""

    __slots__ = ("_context", "_handle")

    def __init__(self, context=None, handle=0):
        self._context = context
        self._handle = handle  # of the request, as the server knows it; 0: of none

    def get_context(self):
        return self._context


class InferenceRequest(RequestBase):
    """A request of the model's own to another model."""

    __slots__ = ()

    def __init__(self, request_id="", correlation_id=0, inputs=_MISSING, requested_output_names=_MISSING, model_name=_MISSING,
                 model_version=-1, flags=0, timeout=0, preferred_memory=_MISSING, trace=_MISSING, parameters=None):
        for name, value in (("inputs", inputs), ("requested_output_names", requested_output_names), ("model_name", model_name)):
            if value is _MISSING or value is None:
                raise TypeError(f"InferenceRequest() needs the argument '{name}'")
        request_id = text(request_id, "InferenceRequest() expects request_id")
        model_name = text(model_name, "InferenceRequest() expects model_name")
        model_version = integer(model_version, "InferenceRequest() expects model_version")
        flags = integer(flags, "InferenceRequest() expects flags")
        timeout = integer(timeout, "InferenceRequest() expects timeout")
        for name, value, kind in (("preferred_memory", preferred_memory, PreferredMemory), ("trace", trace, InferenceTrace)):
            if value is not _MISSING and not isinstance(value, kind):
                raise TypeError(f"InferenceRequest() expects {name} as {kind.__name__}, not {type(value).__name__}")
        if correlation_id is None:
            raise TypeError("InferenceRequest() expects correlation_id as int or str, not NoneType")
        if isinstance(correlation_id, bool) or not isinstance(correlation_id, (int, str)):
            raise TritonModelException("Correlation ID must be integer or string")
        for name, value, most in (("correlation_id", correlation_id, 64), ("flags", flags, 32), ("timeout", timeout, 64)):
            if not isinstance(value, str) and not 0 <= value < 1 << most:
                raise TritonModelException(f"{name} must be from 0 to 2^{most} - 1, not {value}")
        self._inputs = list(inputs)
        self._output_names = [text(name, "InferenceRequest() expects requested_output_names") for name in requested_output_names]
        about = f"for request with id '{request_id}' and model name '{model_name}' should not be empty."
        for tensor in self._inputs:
            if tensor is None:
                raise TritonModelException("Input tensor " + about)
            if not isinstance(tensor, Tensor):
                raise TypeError(f"InferenceRequest() expects inputs as Tensor, not {type(tensor).__name__}")
        for name in self._output_names:
            if not name:
                raise TritonModelException("Requested output name " + about)
        self._id = request_id
        self._correlation_id = correlation_id
        self._model_name = model_name
        self._model_version = model_version
        self._flags = flags
        self._timeout = timeout
        self._preferred_memory = None if preferred_memory is _MISSING else preferred_memory
        self._trace = None if trace is _MISSING else trace
        self._parameters = parameter_text.to_text(parameters)

    def requested_output_names(self):
        return set(self._output_names)

    def request_id(self):
        return self._id

    def correlation_id(self):
        return self._correlation_id

    def flags(self):
        return self._flags

    def set_flags(self, flags):
        self._flags = integer(flags, "set_flags() expects flags")

    def timeout(self):
        return self._timeout

    def model_name(self):
        return self._model_name

    def model_version(self):
        return self._model_version

    def preferred_memory(self):
        return self._preferred_memory

    def parameters(self):
        return self._parameters or "{}"

    def trace(self):
        return self._trace if self._trace is not None else InferenceTrace()

    def set_release_flags(self, flags):
        raise TritonModelException("Release flags are for requests that execute() was given.")

    def get_response_sender(self):
        return InferenceResponseSender(None)

    def is_cancelled(self):
        return False

    def exec(self, decoupled=False):
        from . import bls
        return bls.infer(session.get(), self, decoupled)

    def async_exec(self, decoupled=False):
        from . import bls
        return bls.infer_later(session.get(), self, decoupled)


class ReceivedRequest(InferenceRequest):
    """One of a batch. What is rarely asked for is read when it is."""

    __slots__ = ()

    def __init__(self, *arguments, **named):
        raise TypeError("Requests that execute() is given cannot be made: make an InferenceRequest.")

    def request_id(self):
        if self._id is None:
            self._id = self._state.id()
        return self._id

    def correlation_id(self):
        return self._state.correlation_id()

    def requested_output_names(self):
        return self._state.wanted_outputs()

    def flags(self):
        return self._state.flags if self._flags is None else self._flags

    def timeout(self):
        return self._state.timeout

    def parameters(self):
        return self._state.parameters() or "{}"

    def trace(self):
        return InferenceTrace(self._state.trace() or None, self._state.handle)

    def model_name(self):
        return session.get().model_name

    def set_release_flags(self, flags):
        if flags not in (RELEASE_ALL, RELEASE_RESCHEDULE):
            raise TritonModelException(f"Invalid release flags {flags}: 1 (all) or 2 (reschedule) are expected.")
        self._state.release = int(flags)

    def get_response_sender(self):
        return InferenceResponseSender(self._state)

    def is_cancelled(self):
        return self._state.is_cancelled()

    def exec(self, decoupled=False):
        raise TritonModelException("A request that execute() was given cannot be sent again: make an InferenceRequest.")

    async_exec = exec


set_request_class(ReceivedRequest)
