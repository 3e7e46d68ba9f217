#include "backends/python/worker/native/records.h"

#include <cstring>

#include "backends/python/worker/native/region.h"

namespace atl::python {
namespace {

/// What a block holds. Nothing outside of it is read, whatever the records say.
struct Payload {
  const char* data;
  uint64_t size;
};

bool to_payload(PyObject* object, Payload& payload) noexcept {
  Block* block = to_block(object);
  if (block == nullptr) return false;
  payload = {block->region->data + block->offset, block->size_bytes};
  return true;
}

bool fits(const Payload& payload, uint64_t offset, uint64_t size) noexcept {
  if (offset <= payload.size && size <= payload.size - offset) return true;
  PyErr_Format(PyExc_ValueError, "a record of %llu bytes at %llu is not inside a payload of %llu bytes",
               static_cast<unsigned long long>(size), static_cast<unsigned long long>(offset),
               static_cast<unsigned long long>(payload.size));
  return false;
}

template <class Record>
bool read(const Payload& payload, uint64_t offset, Record& record) noexcept {
  if (!fits(payload, offset, sizeof(Record))) return false;
  std::memcpy(&record, payload.data + offset, sizeof(Record));
  return true;
}

PyObject* to_text(const Payload& payload, TextRef text) noexcept {
  if (!fits(payload, text.offset, text.size_bytes)) return nullptr;
  return PyUnicode_DecodeUTF8(payload.data + text.offset, text.size_bytes, "replace");
}

PyObject* to_shape(const Payload& payload, const TensorRecord& record) noexcept {
  if (!fits(payload, record.shape, uint64_t{record.rank} * sizeof(int64_t))) return nullptr;
  PyObject* shape = PyTuple_New(record.rank);
  for (uint32_t i = 0; shape != nullptr && i < record.rank; ++i) {
    int64_t dim = 0;
    std::memcpy(&dim, payload.data + record.shape + i * sizeof dim, sizeof dim);
    if (PyTuple_SetItem(shape, i, PyLong_FromLongLong(dim)) != 0) Py_CLEAR(shape);
  }
  return shape;
}

PyObject* to_tensor(const Payload& payload, uint64_t offset) noexcept {
  TensorRecord record;
  if (!read(payload, offset, record)) return nullptr;
  PyObject* name = to_text(payload, record.name);
  if (name == nullptr) return nullptr;
  PyObject* shape = to_shape(payload, record);
  if (shape == nullptr) {
    Py_DECREF(name);
    return nullptr;
  }
  return Py_BuildValue("NINIIKK", name, record.datatype, shape, record.data.slab, record.data.flags,
                       static_cast<unsigned long long>(record.data.offset),
                       static_cast<unsigned long long>(record.data.size_bytes));
}

// `make` gives the item at an offset.
template <class Make>
PyObject* to_list(const Payload& payload, uint64_t offset, uint64_t count, uint64_t record_size,
                  Make make) noexcept {
  if (count > payload.size / record_size) {
    PyErr_SetString(PyExc_ValueError, "the payload can not hold so many records");
    return nullptr;
  }
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(count));
  for (uint64_t i = 0; list != nullptr && i < count; ++i) {
    PyObject* item = make(payload, offset + i * record_size);
    if (item == nullptr || PyList_SetItem(list, static_cast<Py_ssize_t>(i), item) != 0) Py_CLEAR(list);
  }
  return list;
}

PyObject* to_request(const Payload& payload, uint64_t offset) noexcept {
  RequestRecord record;
  if (!read(payload, offset, record)) return nullptr;
  PyObject* inputs = to_list(payload, record.inputs, record.input_count, sizeof(TensorRecord), to_tensor);
  if (inputs == nullptr) return nullptr;
  return Py_BuildValue("KKKIIIIIIIIIIINII", static_cast<unsigned long long>(record.handle),
                       static_cast<unsigned long long>(record.correlation_id),
                       static_cast<unsigned long long>(record.timeout_us), record.correlation_text.offset,
                       record.correlation_text.size_bytes, record.id.offset, record.id.size_bytes,
                       record.parameters.offset, record.parameters.size_bytes, record.trace.offset,
                       record.trace.size_bytes, record.sequence_flags, record.cancelled, record.input_count,
                       inputs, record.output_count, record.outputs);
}

}  // namespace

PyObject* parse_tensors(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) noexcept {
  Payload payload{};
  uint64_t offset = 0;
  uint64_t tensors = 0;
  if (!expect_arguments("parse_tensors", count, 3) || !to_payload(arguments[0], payload) ||
      !to_u64(arguments[1], offset) || !to_u64(arguments[2], tensors)) {
    return nullptr;
  }
  return to_list(payload, offset, tensors, sizeof(TensorRecord), to_tensor);
}

PyObject* parse_requests(PyObject* /*module*/, PyObject* block) noexcept {
  Payload payload{};
  BatchHeader header;
  if (!to_payload(block, payload) || !read(payload, 0, header)) return nullptr;
  return to_list(payload, header.requests, header.request_count, sizeof(RequestRecord), to_request);
}

}  // namespace atl::python
