"""The module in C++ where it loads; else (free-threaded builds, say) the same in Python."""

import os

try:
    if os.environ.get("ATOLL_WORKER_PURE"):
        raise ImportError("not wanted")
    from _atoll_python import (AnswerBlocks, Block, DlpackTensor, Region, RequestBase, ResponseBase, Ring, TensorBase, batch_time,
                               configure_tensors, die_with_parent, dlpack_capsule, get_input_tensor_by_name, measure_elements, parse_tensors,
                               read_requests, send_answers, set_request_class, split_elements, write_elements)
    WHY_NOT = ""
except ImportError as error:
    WHY_NOT = "" if os.environ.get("ATOLL_WORKER_PURE") else str(error)
    from .pure import (Block, DlpackTensor, Region, Ring, die_with_parent, dlpack_capsule, measure_elements, parse_tensors,
                       split_elements, write_elements)
    from .pure_objects import (AnswerBlocks, RequestBase, ResponseBase, TensorBase, batch_time, configure_tensors,
                               get_input_tensor_by_name, read_requests, send_answers, set_request_class)

__all__ = ("AnswerBlocks", "Block", "DlpackTensor", "Region", "RequestBase", "ResponseBase", "Ring", "TensorBase", "WHY_NOT",
           "batch_time", "configure_tensors", "die_with_parent", "dlpack_capsule", "get_input_tensor_by_name", "measure_elements", "parse_tensors",
           "read_requests", "send_answers", "set_request_class", "split_elements", "write_elements")
