"""The module in C++ where it loads; else (free-threaded builds, say) the same in Python."""

try:
    from _atoll_python import (Block, DlpackTensor, Region, Ring, die_with_parent, dlpack_capsule, measure_elements,
                               split_elements, write_elements)
    IS_NATIVE = True
except ImportError:
    from .pure import (Block, DlpackTensor, Region, Ring, die_with_parent, dlpack_capsule, measure_elements, split_elements,
                       write_elements)
    IS_NATIVE = False

__all__ = ("Block", "DlpackTensor", "Region", "Ring", "die_with_parent", "dlpack_capsule", "measure_elements",
           "split_elements", "write_elements", "IS_NATIVE")
