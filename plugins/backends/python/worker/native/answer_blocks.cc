#include "backends/python/worker/native/answer_blocks.h"

#include "backends/python/worker/native/futex.h"

namespace atl::python {
namespace {

PyTypeObject* blocks_type = nullptr;

PyObject* blocks_add(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  auto& blocks = *reinterpret_cast<ResponseBlocks*>(self);
  BlockPlace place{};
  if (!expect_arguments("add", count, 4)) return nullptr;
  place.region = to_region(arguments[0]);
  if (place.region == nullptr || !to_u32(arguments[1], place.slab) || !to_u64(arguments[2], place.offset) ||
      !to_u64(arguments[3], place.size_bytes) || !is_inside(*place.region, place.offset, place.size_bytes)) {
    return nullptr;
  }
  if (place.offset < sizeof(BlockHeader) || place.offset % kBlockAlignment != 0 ||
      blocks.count == kAnswerBlocksMax) {
    PyErr_SetString(PyExc_ValueError,
                    "a few blocks are expected, aligned to 64 bytes with a header before each");
    return nullptr;
  }
  Py_INCREF(arguments[0]);
  blocks.places[blocks.count++] = place;
  Py_RETURN_NONE;
}

PyObject* blocks_add_slab(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  auto& blocks = *reinterpret_cast<ResponseBlocks*>(self);
  RegionSlab slab{};
  if (!expect_arguments("add_slab", count, 2) || !to_u32(arguments[0], slab.index)) return nullptr;
  slab.region = to_region(arguments[1]);
  if (slab.region == nullptr) return nullptr;
  if (blocks.slab_count != kSlabsMax) {  // else what lies there goes the long way
    Py_INCREF(arguments[1]);
    blocks.slabs[blocks.slab_count++] = slab;
  }
  Py_RETURN_NONE;
}

void forget(ResponseBlocks& blocks) noexcept {
  Dropped dropped;
  while (blocks.count != 0) {
    BlockPlace& place = blocks.places[--blocks.count];
    dropped.take(place);
    Py_DECREF(reinterpret_cast<PyObject*>(place.region));
  }
}

PyObject* blocks_forget(PyObject* self, PyObject* /*unused*/) {
  forget(*reinterpret_cast<ResponseBlocks*>(self));
  Py_RETURN_NONE;
}

PyObject* blocks_is_held(PyObject* self, PyObject* /*unused*/) {
  const auto& blocks = *reinterpret_cast<ResponseBlocks*>(self);
  for (uint32_t i = 0; i < blocks.count; ++i) {
    if (load_acquire(blocks.places[i].header().held) != 0) Py_RETURN_TRUE;
  }
  Py_RETURN_FALSE;
}

PyObject* blocks_drop_kept(PyObject* self, PyObject* /*unused*/) {
  auto& blocks = *reinterpret_cast<ResponseBlocks*>(self);
  Dropped dropped;
  for (uint32_t i = 0; i < blocks.count; ++i) {
    if (load_acquire(blocks.places[i].header().held) == 0) dropped.take(blocks.places[i]);
  }
  Py_RETURN_NONE;
}

Py_ssize_t blocks_length(PyObject* self) { return reinterpret_cast<ResponseBlocks*>(self)->count; }

void blocks_dealloc(PyObject* self) {
  auto& blocks = *reinterpret_cast<ResponseBlocks*>(self);
  forget(blocks);
  while (blocks.slab_count != 0)
    Py_DECREF(reinterpret_cast<PyObject*>(blocks.slabs[--blocks.slab_count].region));
  free_object(self);
}

PyMethodDef blocks_methods[] = {
    method("add", blocks_add, "add(region, slab, offset, size)"),
    method("add_slab", blocks_add_slab, "add_slab(index, region): where data may stay"),
    {"drop_kept", blocks_drop_kept, METH_NOARGS, "What the server is done with"},
    {"forget", blocks_forget, METH_NOARGS, "All of them"},
    {"is_held", blocks_is_held, METH_NOARGS, "Whether the server has any"},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot blocks_slots[] = {{Py_tp_new, reinterpret_cast<void*>(PyType_GenericNew)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(blocks_dealloc)},
                              {Py_tp_methods, blocks_methods},
                              {Py_sq_length, reinterpret_cast<void*>(blocks_length)},
                              {0, nullptr}};
PyType_Spec blocks_spec = {"_atoll_python.AnswerBlocks", sizeof(ResponseBlocks), 0, Py_TPFLAGS_DEFAULT,
                           blocks_slots};

}  // namespace

ResponseBlocks* as_answer_blocks(PyObject* object) noexcept {
  return Py_TYPE(object) == blocks_type ? reinterpret_cast<ResponseBlocks*>(object) : nullptr;
}

BlockPlace* free_place(ResponseBlocks& blocks) noexcept {
  for (uint32_t i = 0; i < blocks.count; ++i) {
    if (load_acquire(blocks.places[i].header().held) == 0) return &blocks.places[i];
  }
  return nullptr;
}

bool add_answer_blocks_type(PyObject* module) noexcept {
  PyObject* type = PyType_FromSpec(&blocks_spec);
  if (type == nullptr) return false;
  blocks_type = reinterpret_cast<PyTypeObject*>(type);
  Py_INCREF(type);  // for blocks_type
  return PyModule_AddObject(module, "AnswerBlocks", type) == 0;
}

}  // namespace atl::python
