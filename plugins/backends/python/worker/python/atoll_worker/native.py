"""The module in C++ where it loads; else (free-threaded builds, say) the same in Python."""

import os

try:
    if os.environ.get("ATOLL_WORKER_PURE"):
        raise ImportError("not wanted")
    from _atoll_python import (Block, DlpackTensor, Region, Ring, die_with_parent, dlpack_capsule, measure_elements, parse_requests,
                               parse_tensors, split_elements, write_elements)
    WHY_NOT = ""
except ImportError as error:
    WHY_NOT = "" if os.environ.get("ATOLL_WORKER_PURE") else str(error)
    from .pure import (Block, DlpackTensor, Region, Ring, die_with_parent, dlpack_capsule, measure_elements, parse_requests,
                       parse_tensors, split_elements, write_elements)

__all__ = ("Block", "DlpackTensor", "Region", "Ring", "die_with_parent", "dlpack_capsule", "measure_elements", "parse_requests",
           "parse_tensors", "split_elements", "write_elements", "WHY_NOT")
