"""What a model.py imports: Triton's contract for Python models."""

from atoll_worker.batching import batched
from atoll_worker.control import get_model_dir, is_model_ready, load_model, unload_model
from atoll_worker.datatypes import (NUMPY_TO_TRITON_TYPE, TRITON_STRING_TO_NUMPY, TRITON_TO_NUMPY_TYPE, numpy_to_triton_type,
                                    triton_string_to_numpy, triton_to_numpy_type)
from atoll_worker.errors import TritonError, TritonModelException
from atoll_worker.helpers import (deserialize_bytes_tensor, get_input_config_by_name, get_input_tensor_by_name,
                                  get_output_config_by_name, get_output_tensor_by_name, serialize_byte_tensor,
                                  using_decoupled_model_transaction_policy)
from atoll_worker.logger import Logger
from atoll_worker.metrics import MetricFamily
from atoll_worker.model_config import ModelConfig
from atoll_worker.request import InferenceRequest, PreferredMemory
from atoll_worker.response import InferenceResponse
from atoll_worker.shared import empty
from atoll_worker.tensor import Tensor

# As which models and their tracebacks know them.
for _class in (InferenceRequest, InferenceResponse, Logger, MetricFamily, PreferredMemory, Tensor, TritonError, TritonModelException):
    _class.__module__ = "c_python_backend_utils"

TRITONSERVER_MEMORY_CPU = 0
TRITONSERVER_MEMORY_GPU = 2
TRITONSERVER_REQUEST_FLAG_SEQUENCE_START = 1
TRITONSERVER_REQUEST_FLAG_SEQUENCE_END = 2
TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1
TRITONSERVER_REQUEST_RELEASE_ALL = 1
TRITONSERVER_REQUEST_RELEASE_RESCHEDULE = 2

__all__ = [name for name in dir() if not name.startswith("_") and name != "atoll_worker"]
