"""The name under which Triton has the same classes, and this one besides."""

from atoll_worker.request import InferenceTrace  # noqa: F401
from triton_python_backend_utils import *  # noqa: F401,F403
