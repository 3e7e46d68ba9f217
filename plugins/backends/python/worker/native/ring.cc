#include "backends/python/worker/native/ring.h"

#include <cstring>

#include "backends/python/worker/native/futex.h"
#include "backends/python/worker/native/region.h"

namespace atl::python {
namespace {

PyTypeObject* ring_type = nullptr;

struct Ring {
  PyObject_HEAD MappedRegion* region;
  RingHeader* header;
  RingMessage* entries;
  uint32_t entry_count;
};

PyObject* ring_new(PyTypeObject* type, PyObject* arguments, PyObject* /*keywords*/) {
  PyObject* owner = nullptr;
  unsigned long long offset = 0;
  unsigned int entries = 0;
  if (PyArg_ParseTuple(arguments, "OKI:Ring", &owner, &offset, &entries) == 0) return nullptr;
  MappedRegion* region = to_region(owner);
  if (region == nullptr) return nullptr;
  if (entries == 0 || (entries & (entries - 1)) != 0 || offset % alignof(RingHeader) != 0) {
    PyErr_SetString(PyExc_ValueError, "a ring is aligned to 64 bytes, and has a power of two entries");
    return nullptr;
  }
  if (!is_inside(*region, offset, sizeof(RingHeader) + uint64_t{entries} * sizeof(RingMessage)))
    return nullptr;
  auto* self = allocate_object<Ring>(type);
  if (self == nullptr) return nullptr;
  Py_INCREF(owner);
  self->region = region;
  self->header = reinterpret_cast<RingHeader*>(region->data + offset);
  self->entries = reinterpret_cast<RingMessage*>(region->data + offset + sizeof(RingHeader));
  self->entry_count = entries;
  return reinterpret_cast<PyObject*>(self);
}

void ring_dealloc(PyObject* self) {
  Py_DECREF(reinterpret_cast<PyObject*>(reinterpret_cast<Ring*>(self)->region));
  free_object(self);
}

bool is_full(Ring& ring) noexcept {
  return ring.header->tail - load_acquire(ring.header->head) >= ring.entry_count;
}

// The GIL is what makes one producer of all threads: it is given up only where nothing has been written yet.
void wait_for_room(Ring& ring) noexcept {
  while (is_full(ring)) {
    uint32_t head = load_acquire(ring.header->head);
    store_release(ring.header->producer_waiting, 1);
    full_fence();
    PyThreadState* others = PyEval_SaveThread();
    if (ring.header->tail - head >= ring.entry_count) futex_wait(&ring.header->head, head, 1000);
    PyEval_RestoreThread(others);
  }
}

// There is room.
void put(Ring& ring, const RingMessage& message, bool wakes) noexcept {
  uint32_t tail = ring.header->tail;
  ring.entries[tail & (ring.entry_count - 1)] = message;
  store_release(ring.header->tail, tail + 1);
  full_fence();
  uint32_t used = tail + 1 - load_acquire(ring.header->head);
  if (!wakes && used < ring.entry_count / 4 * 3) return;
  if (load_acquire(ring.header->direct) != 0 && exchange(ring.header->direct, 0) != 0) {
    futex_wake(&ring.header->direct);
  } else if (load_acquire(ring.header->consumer_waiting) != 0) {
    futex_wake(&ring.header->tail);
  }
}

bool to_bits(PyObject* object, uint64_t& bits) noexcept {
  if (!PyFloat_Check(object)) return to_u64(object, bits);
  double number = PyFloat_AsDouble(object);
  std::memcpy(&bits, &number, sizeof bits);
  return true;
}

PyObject* ring_send(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  auto& ring = *reinterpret_cast<Ring*>(self);
  RingMessage message;
  uint32_t type = 0;
  uint32_t wakes = 0;
  if (!expect_arguments("send", count, 8) || !to_u32(arguments[0], type) ||
      !to_u32(arguments[1], message.flags) || !to_u64(arguments[2], message.id) ||
      !to_u32(arguments[3], message.slab) || !to_u64(arguments[4], message.offset) ||
      !to_u64(arguments[5], message.size_bytes) || !to_bits(arguments[6], message.value) ||
      !to_u32(arguments[7], wakes)) {
    return nullptr;
  }
  message.type = static_cast<MessageType>(type);
  wait_for_room(ring);
  put(ring, message, wakes != 0);
  Py_RETURN_NONE;
}

// True: there is a message. False with an exception (a signal handler's) or without one (time is over).
bool wait_for_message(Ring& ring, int64_t timeout_ms) noexcept {
  RingHeader& header = *ring.header;
  while (load_acquire(header.tail) == header.head) {
    if (timeout_ms == 0) return false;
    PyThreadState* others = PyEval_SaveThread();
    store_release(header.consumer_waiting, 1);
    full_fence();
    int result = futex_wait(&header.tail, header.head, timeout_ms);
    store_release(header.consumer_waiting, 0);
    PyEval_RestoreThread(others);
    if (result == ETIMEDOUT) return load_acquire(header.tail) != header.head;
    if (result == EINTR && PyErr_CheckSignals() != 0) return false;
  }
  return true;
}

PyObject* ring_receive(PyObject* self, PyObject* timeout) {
  auto& ring = *reinterpret_cast<Ring*>(self);
  int64_t timeout_ms = PyLong_AsLongLong(timeout);
  if (timeout_ms == -1 && PyErr_Occurred() != nullptr) return nullptr;
  if (!wait_for_message(ring, timeout_ms)) {
    if (PyErr_Occurred() != nullptr) return nullptr;
    Py_RETURN_NONE;
  }
  RingHeader& header = *ring.header;
  RingMessage message = ring.entries[header.head & (ring.entry_count - 1)];
  store_release(header.head, header.head + 1);
  full_fence();
  uint32_t nudge = load_acquire(header.producer_waiting);
  if (nudge != 0) store_release(header.producer_waiting, 0);
  return Py_BuildValue("IIKIKKKI", static_cast<unsigned>(message.type), message.flags,
                       static_cast<unsigned long long>(message.id), message.slab,
                       static_cast<unsigned long long>(message.offset),
                       static_cast<unsigned long long>(message.size_bytes),
                       static_cast<unsigned long long>(message.value), nudge);
}

PyMethodDef ring_methods[] = {
    method(
        "send", ring_send,
        "send(type, flags, id, slab, offset, size, value, wakes): waits while the ring is full; value may be a float"),
    {"receive", ring_receive, METH_O,
     "receive(timeout in ms, or -1): (type, flags, id, slab, offset, size, value, whether the producer waits for "
     "room), or None. By one thread at a time"},
    {nullptr, nullptr, 0, nullptr}};

PyType_Slot ring_slots[] = {{Py_tp_new, reinterpret_cast<void*>(ring_new)},
                            {Py_tp_dealloc, reinterpret_cast<void*>(ring_dealloc)},
                            {Py_tp_methods, ring_methods},
                            {0, nullptr}};
PyType_Spec ring_spec = {"_atoll_python.Ring", sizeof(Ring), 0, Py_TPFLAGS_DEFAULT, ring_slots};

}  // namespace

bool put_at_once(PyObject* object, const RingMessage& message) noexcept {
  if (Py_TYPE(object) != ring_type) {
    PyErr_SetString(PyExc_TypeError, "a Ring is expected");
    return false;
  }
  auto& ring = *reinterpret_cast<Ring*>(object);
  if (is_full(ring)) return false;
  put(ring, message, true);
  return true;
}

bool add_ring_type(PyObject* module) noexcept {
  PyObject* type = PyType_FromSpec(&ring_spec);
  if (type == nullptr) return false;
  ring_type = reinterpret_cast<PyTypeObject*>(type);
  Py_INCREF(type);  // for ring_type
  return PyModule_AddObject(module, "Ring", type) == 0;
}

}  // namespace atl::python
