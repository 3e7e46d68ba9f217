/// Memory that server and worker share, as Python sees it.
#pragma once

#include "backends/python/memory/protocol.h"
#include "backends/python/worker/native/python_api.h"

namespace atl::python {

/// Region(fd, size): a mapping of a file. Exports its bytes as a writable buffer; unmapped when nothing refers to it any more.
struct MappedRegion {
  PyObject_HEAD char* data;
  uint64_t size_bytes;
};

/// Block(region, offset, size): a block's payload, writable, which releases the block when nothing refers to it any more.
struct RegionBlock {
  PyObject_HEAD MappedRegion* region;
  uint64_t offset;
  uint64_t size_bytes;
};

/// The Region argument; sets TypeError and returns null if it is none.
MappedRegion* to_region(PyObject* object) noexcept;
/// The same for a Block.
RegionBlock* to_block(PyObject* object) noexcept;
/// Null without an exception if it is none.
RegionBlock* as_block(PyObject* object) noexcept;
/// As Block(region, offset, size); null: an exception is set.
PyObject* new_block(PyObject* region, uint64_t offset, uint64_t size_bytes) noexcept;
/// Whether this is a process that the model forked: what the objects are about is its parent's.
bool is_forked_copy() noexcept;
/// Stores 0 where somebody may wait for it.
void release_block(BlockHeader& header) noexcept;
/// Whether a word (4 bytes, aligned) or bytes of this size are inside; sets ValueError if not.
bool is_inside(const MappedRegion& region, uint64_t offset, uint64_t size_bytes) noexcept;

/// Adds both types to the module. False: an exception is set.
bool add_region_types(PyObject* module) noexcept;

}  // namespace atl::python
