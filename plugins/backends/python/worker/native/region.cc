#include "backends/python/worker/native/region.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>

#include "backends/python/worker/native/futex.h"

namespace atl::python {
namespace {

PyTypeObject* region_type = nullptr;
PyTypeObject* block_type = nullptr;
// A process that the model forked has copies of all objects, but what they are about is its parent's.
bool is_forked = false;

BlockHeader* header_of(const MappedRegion& region, uint64_t payload_offset) noexcept {
  return reinterpret_cast<BlockHeader*>(region.data + payload_offset - sizeof(BlockHeader));
}

PyObject* region_new(PyTypeObject* type, PyObject* arguments, PyObject* /*keywords*/) {
  int fd = -1;
  unsigned long long size = 0;
  if (PyArg_ParseTuple(arguments, "iK:Region", &fd, &size) == 0) return nullptr;
  struct stat found {};
  if (fstat(fd, &found) != 0) return PyErr_SetFromErrno(PyExc_OSError);
  if (size == 0 || size > static_cast<uint64_t>(found.st_size)) {
    return PyErr_Format(PyExc_ValueError, "a region of %llu bytes was announced, its file has %lld", size,
                        static_cast<long long>(found.st_size));
  }
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) return PyErr_SetFromErrno(PyExc_OSError);
  auto* self = allocate_object<MappedRegion>(type);
  if (self == nullptr) {
    munmap(data, size);
    return nullptr;
  }
  self->data = static_cast<char*>(data);
  self->size_bytes = size;
  return reinterpret_cast<PyObject*>(self);
}

void region_dealloc(PyObject* self) {
  auto* region = reinterpret_cast<MappedRegion*>(self);
  munmap(region->data, region->size_bytes);
  free_object(self);
}

int region_buffer(PyObject* self, Py_buffer* view, int flags) {
  auto* region = reinterpret_cast<MappedRegion*>(self);
  return PyBuffer_FillInfo(view, self, region->data, static_cast<Py_ssize_t>(region->size_bytes), 0, flags);
}

uint32_t* word_at(PyObject* self, PyObject* argument) noexcept {
  auto* region = reinterpret_cast<MappedRegion*>(self);
  uint64_t offset = 0;
  if (!to_u64(argument, offset) || !is_inside(*region, offset, sizeof(uint32_t))) return nullptr;
  if (offset % sizeof(uint32_t) != 0) {
    PyErr_SetString(PyExc_ValueError, "a word's offset must be a multiple of 4");
    return nullptr;
  }
  return reinterpret_cast<uint32_t*>(region->data + offset);
}

PyObject* region_load(PyObject* self, PyObject* offset) {
  uint32_t* word = word_at(self, offset);
  return word == nullptr ? nullptr : PyLong_FromUnsignedLong(load_acquire(*word));
}

PyObject* region_store(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  uint32_t value = 0;
  if (!expect_arguments("store", count, 2)) return nullptr;
  uint32_t* word = word_at(self, arguments[0]);
  if (word == nullptr || !to_u32(arguments[1], value)) return nullptr;
  store_release(*word, value);
  Py_RETURN_NONE;
}

PyObject* region_write(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  auto* region = reinterpret_cast<MappedRegion*>(self);
  uint64_t offset = 0;
  if (!expect_arguments("write", count, 2) || !to_u64(arguments[0], offset)) return nullptr;
  Py_buffer source{};
  if (PyObject_GetBuffer(arguments[1], &source, kBufferSimple) != 0) return nullptr;
  auto size = static_cast<uint64_t>(source.len);
  bool fits = is_inside(*region, offset, size);
  if (fits && size < 65536) {
    std::memcpy(region->data + offset, source.buf, size);
  } else if (fits) {
    PyThreadState* others = PyEval_SaveThread();
    std::memcpy(region->data + offset, source.buf, size);
    PyEval_RestoreThread(others);
  }
  PyBuffer_Release(&source);
  if (!fits) return nullptr;
  Py_RETURN_NONE;
}

PyObject* region_address(PyObject* self, PyObject* /*unused*/) {
  return PyLong_FromVoidPtr(reinterpret_cast<MappedRegion*>(self)->data);
}

PyObject* region_wait_released(PyObject* self, PyObject* payload) {
  auto* region = reinterpret_cast<MappedRegion*>(self);
  uint64_t offset = 0;
  if (!to_u64(payload, offset)) return nullptr;
  if (offset < sizeof(BlockHeader) || !is_inside(*region, offset, 0)) return nullptr;
  BlockHeader* header = header_of(*region, offset);
  PyThreadState* others = PyEval_SaveThread();
  store_release(header->waiting, 1);
  full_fence();
  while (load_acquire(header->held) != 0) futex_wait(&header->held, 1, -1);
  store_release(header->waiting, 0);
  PyEval_RestoreThread(others);
  Py_RETURN_NONE;
}

PyObject* region_trim(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  auto* region = reinterpret_cast<MappedRegion*>(self);
  uint64_t offset = 0;
  uint64_t size = 0;
  if (!expect_arguments("trim", count, 2) || !to_u64(arguments[0], offset) || !to_u64(arguments[1], size) ||
      !is_inside(*region, offset, size)) {
    return nullptr;
  }
  if (madvise(region->data + offset, size, MADV_REMOVE) != 0) return PyErr_SetFromErrno(PyExc_OSError);
  Py_RETURN_NONE;
}

PyObject* make_block(PyTypeObject* type, PyObject* owner, uint64_t offset, uint64_t size) noexcept {
  MappedRegion* region = to_region(owner);
  if (region == nullptr || !is_inside(*region, offset, size)) return nullptr;
  if (offset < sizeof(BlockHeader) || offset % kBlockAlignment != 0) {
    PyErr_SetString(PyExc_ValueError,
                    "a block's payload must be aligned to 64 bytes, with a header before it");
    return nullptr;
  }
  auto* self = allocate_object<RegionBlock>(type);
  if (self == nullptr) return nullptr;
  Py_INCREF(owner);
  self->region = region;
  self->offset = offset;
  self->size_bytes = size;
  return reinterpret_cast<PyObject*>(self);
}

PyObject* block_new(PyTypeObject* type, PyObject* arguments, PyObject* /*keywords*/) {
  PyObject* owner = nullptr;
  unsigned long long offset = 0;
  unsigned long long size = 0;
  if (PyArg_ParseTuple(arguments, "OKK:Block", &owner, &offset, &size) == 0) return nullptr;
  return make_block(type, owner, offset, size);
}

void block_dealloc(PyObject* self) {
  auto* block = reinterpret_cast<RegionBlock*>(self);
  if (!is_forked) release_block(*header_of(*block->region, block->offset));
  Py_DECREF(reinterpret_cast<PyObject*>(block->region));
  free_object(self);
}

int block_buffer(PyObject* self, Py_buffer* view, int flags) {
  auto* block = reinterpret_cast<RegionBlock*>(self);
  return PyBuffer_FillInfo(view, self, block->region->data + block->offset,
                           static_cast<Py_ssize_t>(block->size_bytes), 0, flags);
}

PyMethodDef region_methods[] = {
    {"load", region_load, METH_O, "load(offset): the word there"},
    method("store", region_store, "store(offset, value): sets the word there"),
    method("write", region_write, "write(offset, buffer): copies the buffer's bytes"),
    {"address", region_address, METH_NOARGS, "Where it is mapped"},
    {"wait_released", region_wait_released, METH_O,
     "wait_released(offset of a payload): until its receiver is done with it"},
    method("trim", region_trim, "trim(offset, size): gives whole pages back; they read as zeros then"),
    {nullptr, nullptr, 0, nullptr}};

PyType_Slot region_slots[] = {{Py_tp_new, reinterpret_cast<void*>(region_new)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(region_dealloc)},
                              {Py_tp_methods, region_methods},
                              {kSlotGetBuffer, reinterpret_cast<void*>(region_buffer)},
                              {0, nullptr}};
PyType_Spec region_spec = {"_atoll_python.Region", sizeof(MappedRegion), 0, Py_TPFLAGS_DEFAULT, region_slots};

PyType_Slot block_slots[] = {{Py_tp_new, reinterpret_cast<void*>(block_new)},
                             {Py_tp_dealloc, reinterpret_cast<void*>(block_dealloc)},
                             {kSlotGetBuffer, reinterpret_cast<void*>(block_buffer)},
                             {0, nullptr}};
PyType_Spec block_spec = {"_atoll_python.Block", sizeof(RegionBlock), 0, Py_TPFLAGS_DEFAULT, block_slots};

}  // namespace

MappedRegion* to_region(PyObject* object) noexcept {
  if (Py_TYPE(object) == region_type) return reinterpret_cast<MappedRegion*>(object);
  PyErr_SetString(PyExc_TypeError, "a Region is expected");
  return nullptr;
}

PyObject* new_block(PyObject* region, uint64_t offset, uint64_t size_bytes) noexcept {
  return make_block(block_type, region, offset, size_bytes);
}

bool is_forked_copy() noexcept { return is_forked; }

void release_block(BlockHeader& header) noexcept {
  store_release(header.held, 0);
  full_fence();
  if (load_acquire(header.waiting) != 0) futex_wake(&header.held);
}

RegionBlock* as_block(PyObject* object) noexcept {
  return Py_TYPE(object) == block_type ? reinterpret_cast<RegionBlock*>(object) : nullptr;
}

RegionBlock* to_block(PyObject* object) noexcept {
  if (Py_TYPE(object) == block_type) return reinterpret_cast<RegionBlock*>(object);
  PyErr_SetString(PyExc_TypeError, "a Block is expected");
  return nullptr;
}

bool is_inside(const MappedRegion& region, uint64_t offset, uint64_t size_bytes) noexcept {
  if (offset <= region.size_bytes && size_bytes <= region.size_bytes - offset) return true;
  PyErr_Format(PyExc_ValueError, "%llu bytes at %llu are not inside a region of %llu bytes",
               static_cast<unsigned long long>(size_bytes), static_cast<unsigned long long>(offset),
               static_cast<unsigned long long>(region.size_bytes));
  return false;
}

bool add_region_types(PyObject* module) noexcept {
  PyObject* region = PyType_FromSpec(&region_spec);
  PyObject* block = PyType_FromSpec(&block_spec);
  if (region == nullptr || block == nullptr) return false;
  if (region_type == nullptr) pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
  region_type = reinterpret_cast<PyTypeObject*>(region);
  block_type = reinterpret_cast<PyTypeObject*>(block);
  Py_INCREF(region);  // for region_type
  Py_INCREF(block);
  return PyModule_AddObject(module, "Region", region) == 0 && PyModule_AddObject(module, "Block", block) == 0;
}

}  // namespace atl::python
