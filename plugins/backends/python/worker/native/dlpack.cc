#include "backends/python/worker/native/dlpack.h"

#include <cstdlib>

#include "backends/python/worker/native/objects.h"

namespace atl::python {
namespace {

// The structures of the DLPack specification, before its version 1.0: what the capsule "dltensor" holds.
struct Device {
  int32_t type;
  int32_t id;
};
struct ElementType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DlTensor {
  void* data;
  Device device;
  int32_t rank;
  ElementType type;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct Managed {
  DlTensor tensor;
  void* context;
  void (*deleter)(Managed*);
};

constexpr char kName[] = "dltensor";
constexpr char kUsedName[] = "used_dltensor";
constexpr int32_t kCpu = 1;
constexpr int32_t kCpuPinned = 3;

/// What a capsule of ours holds.
struct Lent {
  Managed managed;
  PyObject* owner;
  int64_t shape[kMaxRank];
};

// A consumer may call this from a thread that has never seen Python.
void delete_lent(Managed* managed) noexcept {
  auto* lent = static_cast<Lent*>(managed->context);
  PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF(lent->owner);
  PyGILState_Release(state);
  std::free(lent);
}

void delete_capsule(PyObject* capsule) noexcept {
  if (PyCapsule_IsValid(capsule, kName) == 0) return;  // it was taken
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, kName));
  if (managed != nullptr && managed->deleter != nullptr) managed->deleter(managed);
}

bool read_shape(PyObject* shape, Lent& lent) noexcept {
  Py_ssize_t rank = PyTuple_Size(shape);
  if (rank < 0) return false;
  if (rank > kMaxRank) {
    PyErr_SetString(PyExc_ValueError, "a tensor has at most 32 dimensions");
    return false;
  }
  for (Py_ssize_t i = 0; i < rank; ++i) {
    lent.shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    if (lent.shape[i] == -1 && PyErr_Occurred() != nullptr) return false;
  }
  lent.managed.tensor.rank = static_cast<int32_t>(rank);
  return true;
}

struct Taken {
  PyObject_HEAD Managed* managed;
};

PyObject* taken_new(PyTypeObject* type, PyObject* arguments, PyObject* /*keywords*/) {
  PyObject* capsule = nullptr;
  if (PyArg_ParseTuple(arguments, "O:DlpackTensor", &capsule) == 0) return nullptr;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, kName));
  if (managed == nullptr) return nullptr;
  auto* self = allocate_object<Taken>(type);
  if (self == nullptr) return nullptr;
  if (PyCapsule_SetName(capsule, kUsedName) != 0) {
    free_object(reinterpret_cast<PyObject*>(self));
    return nullptr;
  }
  self->managed = managed;
  return reinterpret_cast<PyObject*>(self);
}

void taken_dealloc(PyObject* self) {
  Managed* managed = reinterpret_cast<Taken*>(self)->managed;
  if (managed->deleter != nullptr) managed->deleter(managed);
  free_object(self);
}

// Strides of dimensions of size 1 mean nothing.
bool is_packed(const DlTensor& tensor) noexcept {
  if (tensor.strides == nullptr) return true;
  int64_t expected = 1;
  for (int32_t i = tensor.rank - 1; i >= 0; --i) {
    if (tensor.shape[i] == 0) return true;
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

int taken_buffer(PyObject* self, Py_buffer* view, int flags) {
  const DlTensor& tensor = reinterpret_cast<Taken*>(self)->managed->tensor;
  if ((tensor.device.type != kCpu && tensor.device.type != kCpuPinned) || !is_packed(tensor)) {
    PyErr_SetString(PyExc_BufferError, "the tensor is not packed CPU memory");
    return -1;
  }
  int64_t bits = int64_t{tensor.type.bits} * tensor.type.lanes;
  int64_t size = (bits + 7) / 8;
  for (int32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.shape[i] < 0 || __builtin_mul_overflow(size, tensor.shape[i], &size)) {
      PyErr_SetString(PyExc_BufferError, "the tensor's shape has no size");
      return -1;
    }
  }
  return PyBuffer_FillInfo(view, self, static_cast<char*>(tensor.data) + tensor.byte_offset, size, 0, flags);
}

PyObject* to_tuple(const int64_t* values, int32_t count) noexcept {
  PyObject* tuple = PyTuple_New(count);
  for (int32_t i = 0; tuple != nullptr && i < count; ++i) {
    if (PyTuple_SetItem(tuple, i, PyLong_FromLongLong(values[i])) != 0) Py_CLEAR(tuple);
  }
  return tuple;
}

PyObject* taken_describe(PyObject* self, PyObject* /*unused*/) {
  const DlTensor& tensor = reinterpret_cast<Taken*>(self)->managed->tensor;
  PyObject* shape = to_tuple(tensor.shape, tensor.rank);
  if (shape == nullptr) return nullptr;
  return Py_BuildValue("NNBBHii", shape, PyBool_FromLong(is_packed(tensor) ? 1 : 0), tensor.type.code,
                       tensor.type.bits, tensor.type.lanes, tensor.device.type, tensor.device.id);
}

PyMethodDef taken_methods[] = {
    {"describe", taken_describe, METH_NOARGS, "(shape, packed, code, bits, lanes, device type, device id)"},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot taken_slots[] = {{Py_tp_new, reinterpret_cast<void*>(taken_new)},
                             {Py_tp_dealloc, reinterpret_cast<void*>(taken_dealloc)},
                             {Py_tp_methods, taken_methods},
                             {kSlotGetBuffer, reinterpret_cast<void*>(taken_buffer)},
                             {0, nullptr}};
PyType_Spec taken_spec = {"_atoll_python.DlpackTensor", sizeof(Taken), 0, Py_TPFLAGS_DEFAULT, taken_slots};

}  // namespace

PyObject* dlpack_capsule(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) noexcept {
  uint64_t address = 0;
  uint32_t code = 0;
  uint32_t bits = 0;
  uint32_t lanes = 0;
  if (!expect_arguments("dlpack_capsule", count, 6) || !to_u64(arguments[1], address) ||
      !to_u32(arguments[3], code) || !to_u32(arguments[4], bits) || !to_u32(arguments[5], lanes)) {
    return nullptr;
  }
  auto* lent = static_cast<Lent*>(std::calloc(1, sizeof(Lent)));
  if (lent == nullptr) return PyErr_NoMemory();
  if (!read_shape(arguments[2], *lent)) {
    std::free(lent);
    return nullptr;
  }
  DlTensor& tensor = lent->managed.tensor;
  tensor.data = reinterpret_cast<void*>(address);
  tensor.device = {kCpu, 0};
  tensor.type = {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), static_cast<uint16_t>(lanes)};
  tensor.shape = lent->shape;
  lent->managed.context = lent;
  lent->managed.deleter = delete_lent;
  PyObject* capsule = PyCapsule_New(&lent->managed, kName, delete_capsule);
  if (capsule == nullptr) {
    std::free(lent);
    return nullptr;
  }
  Py_INCREF(arguments[0]);
  lent->owner = arguments[0];
  return capsule;
}

bool add_dlpack_type(PyObject* module) noexcept {
  PyObject* type = PyType_FromSpec(&taken_spec);
  return type != nullptr && PyModule_AddObject(module, "DlpackTensor", type) == 0;
}

}  // namespace atl::python
