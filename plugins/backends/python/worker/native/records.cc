#include "backends/python/worker/native/records.h"

#include "backends/python/worker/native/region.h"

namespace atl::python {

bool fits(const Payload& payload, uint64_t offset, uint64_t size) noexcept {
  if (offset <= payload.size && size <= payload.size - offset) return true;
  PyErr_Format(PyExc_ValueError, "a record of %llu bytes at %llu is not inside a payload of %llu bytes",
               static_cast<unsigned long long>(size), static_cast<unsigned long long>(offset),
               static_cast<unsigned long long>(payload.size));
  return false;
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

namespace {

PyObject* to_tensor(const Payload& payload, uint64_t offset) noexcept {
  TensorRecord record;
  if (!read_record(payload, offset, record)) return nullptr;
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

}  // namespace

PyObject* parse_tensors(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) noexcept {
  uint64_t offset = 0;
  uint64_t tensors = 0;
  if (!expect_arguments("parse_tensors", count, 3)) return nullptr;
  const RegionBlock* block = to_block(arguments[0]);
  if (block == nullptr || !to_u64(arguments[1], offset) || !to_u64(arguments[2], tensors)) return nullptr;
  const Payload payload{block->region->data + block->offset, block->size_bytes};
  if (tensors > payload.size / sizeof(TensorRecord)) {
    PyErr_SetString(PyExc_ValueError, "the payload cannot hold so many records");
    return nullptr;
  }
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(tensors));
  for (uint64_t i = 0; list != nullptr && i < tensors; ++i) {
    PyObject* item = to_tensor(payload, offset + i * sizeof(TensorRecord));
    if (item == nullptr || PyList_SetItem(list, static_cast<Py_ssize_t>(i), item) != 0) Py_CLEAR(list);
  }
  return list;
}

}  // namespace atl::python
