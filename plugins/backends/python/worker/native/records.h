/// Records of protocol.h in a block's payload, as Python objects.
#pragma once

#include <cstring>

#include "backends/python/memory/protocol.h"
#include "backends/python/worker/native/python_api.h"

namespace atl::python {

/// What a block holds. Nothing outside of it is read, whatever the records say.
struct Payload {
  const char* data;
  uint64_t size;
};

/// Whether so many bytes are inside; sets ValueError if not.
bool fits(const Payload& payload, uint64_t offset, uint64_t size) noexcept;
/// Copies a record. False: an exception is set.
template <class Record>
bool read_record(const Payload& payload, uint64_t offset, Record& record) noexcept {
  if (!fits(payload, offset, sizeof(Record))) return false;
  std::memcpy(&record, payload.data + offset, sizeof(Record));
  return true;
}
/// Null: an exception is set.
PyObject* to_text(const Payload& payload, TextRef text) noexcept;
/// A tuple.
PyObject* to_shape(const Payload& payload, const TensorRecord& record) noexcept;

/// parse_tensors(block, offset, count): a list of (name, datatype, shape, slab, flags, offset, size).
PyObject* parse_tensors(PyObject* module, PyObject* const* arguments, Py_ssize_t count) noexcept;

}  // namespace atl::python
