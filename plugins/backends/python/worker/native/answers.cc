#include "backends/python/worker/native/answers.h"

#include <cstring>

#include "backends/python/worker/native/answer_blocks.h"
#include "backends/python/worker/native/futex.h"
#include "backends/python/worker/native/objects.h"
#include "backends/python/worker/native/ring.h"

namespace atl::python {
namespace {

constexpr uint32_t kRequestsMax = 64;
constexpr uint32_t kTensorsMax = 64;
/// Larger data stays where it is, if the server can see it there.
constexpr uint64_t kInlineBytes = 65536;

PyObject* inside_name = nullptr;

/// One output on its way.
struct Output {
  const Tensor* tensor;
  const char* name;
  uint64_t name_size;
  const char* data;
  uint64_t size_bytes;
  uint32_t rank;
  const RegionSlab* slab;  ///< that the data stays in; null: it is copied
};

/// A batch's end: first what it says is collected, then written. Nothing in between lets other threads run, so that nothing changes.
class Answers {
 public:
  explicit Answers(const ResponseBlocks& blocks) : blocks_(blocks) {}
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;
  ~Answers() {
    while (view_count_ != 0) PyBuffer_Release(&views_[--view_count_]);
  }

  /// False, here and below: it is not one of the frequent cases, or an exception is set.
  bool collect(PyObject* states, PyObject* responses) noexcept {
    if (!PyList_Check(states) || !PyList_Check(responses)) return false;
    count_ = static_cast<uint32_t>(PyList_Size(states));
    if (PyList_Size(responses) != PyList_Size(states) || PyList_Size(states) > Py_ssize_t{kRequestsMax})
      return false;
    for (uint32_t i = 0; i < count_; ++i) {
      states_[i] = as_request_state(PyList_GetItem(states, i));
      if (states_[i] == nullptr || !add_response(PyList_GetItem(responses, i), i)) return false;
    }
    return true;
  }

  bool agree() const noexcept {
    for (uint32_t i = 0; i < count_; ++i) {
      const RequestState& state = *states_[i];
      const bool is_answered = (flags_[i] & ResponseRecord::kResponse) != 0;
      if (is_answered && (state.is_closed != 0 || state.release == kReleaseReschedule)) return false;
      if (state.record.output_count != 0 && state.record.output_count < ends_[i] - first_of(i)) return false;
    }
    return true;
  }

  /// Bytes of the payload.
  uint64_t size_bytes() noexcept {
    tensors_at_ = sizeof(ResponsesHeader) + count_ * sizeof(ResponseRecord);
    shapes_at_ = tensors_at_ + output_count_ * sizeof(TensorRecord);
    names_at_ = shapes_at_ + dims_ * sizeof(int64_t);
    uint64_t end = names_at_ + name_bytes_;
    for (uint32_t i = 0; i < output_count_; ++i) {
      if (outputs_[i].slab == nullptr) end = aligned(end) + outputs_[i].size_bytes;
    }
    return end;
  }

  bool write(const BlockPlace& place) noexcept {
    char* to = place.region->data + place.offset;
    ResponsesHeader header;
    header.response_count = count_;
    header.responses = sizeof header;
    std::memcpy(to, &header, sizeof header);
    for (uint32_t i = 0; i < count_; ++i) {
      ResponseRecord record;
      record.handle = states_[i]->record.handle;
      record.flags = flags_of(i);
      record.tensor_count = ends_[i] - first_of(i);
      record.tensors = static_cast<uint32_t>(tensors_at_ + first_of(i) * sizeof(TensorRecord));
      std::memcpy(to + sizeof header + i * sizeof record, &record, sizeof record);
    }
    return write_outputs(place, to);
  }

  /// It is sent.
  void close(BlockPlace& place) noexcept {
    for (uint32_t i = 0; i < output_count_; ++i) {
      if (outputs_[i].slab == nullptr) continue;
      PyObject* owner =
          is_there(outputs_[i].tensor->array) ? outputs_[i].tensor->array : outputs_[i].tensor->memory;
      Py_INCREF(owner);
      place.kept[place.kept_count++] = owner;
    }
    for (uint32_t i = 0; i < count_; ++i) {
      if (flags_of(i) != 0) states_[i]->is_closed = 1;
      states_[i]->is_running = 0;
    }
  }

 private:
  static uint64_t aligned(uint64_t offset) noexcept { return (offset + 63) & ~uint64_t{63}; }
  uint32_t first_of(uint32_t i) const noexcept { return i == 0 ? 0 : ends_[i - 1]; }
  uint32_t flags_of(uint32_t i) const noexcept {
    const RequestState& state = *states_[i];
    if (state.is_closed != 0) return ResponseRecord::kLast;
    if (flags_[i] != 0) return flags_[i];
    return state.release == kReleaseReschedule ? uint32_t{ResponseRecord::kReschedule} : 0;
  }

  bool add_response(PyObject* object, uint32_t i) noexcept {
    flags_[i] = 0;
    if (object != Py_None) {
      const WorkerResponse* response = as_response(object);
      if (response == nullptr || is_there(response->error) || response->tensors == nullptr ||
          !PyList_Check(response->tensors))
        return false;
      const bool has_parameters =
          is_there(response->parameters) && PyObject_IsTrue(response->parameters) != 0;
      if (has_parameters) return false;
      flags_[i] = ResponseRecord::kLast | ResponseRecord::kResponse;
      for (Py_ssize_t k = 0, tensors = PyList_Size(response->tensors); k < tensors; ++k) {
        if (!add_output(as_tensor(PyList_GetItem(response->tensors, k)))) return false;
      }
    }
    ends_[i] = output_count_;
    return true;
  }

  bool add_output(const Tensor* tensor) noexcept {
    if (tensor == nullptr || output_count_ == kTensorsMax || tensor->name == nullptr ||
        tensor->shape == nullptr || !PyTuple_Check(tensor->shape)) {
      return false;
    }
    Output& output = outputs_[output_count_];
    output.tensor = tensor;
    output.rank = static_cast<uint32_t>(PyTuple_Size(tensor->shape));
    Py_ssize_t size = 0;
    output.name = PyUnicode_AsUTF8AndSize(tensor->name, &size);
    if (output.name == nullptr || !find_data(*tensor, output)) return false;
    output.name_size = static_cast<uint64_t>(size);
    output.slab = output.size_bytes < kInlineBytes ? nullptr : find_slab(output);
    if (output.slab != nullptr && ++kept_count_ > kKeptMax) return false;
    dims_ += output.rank;
    name_bytes_ += output.name_size;
    ++output_count_;
    return true;
  }

  const RegionSlab* find_slab(const Output& output) const noexcept {
    const auto data = reinterpret_cast<uintptr_t>(output.data);
    for (uint32_t i = 0; i < blocks_.slab_count; ++i) {
      const MappedRegion& region = *blocks_.slabs[i].region;
      const auto begin = reinterpret_cast<uintptr_t>(region.data);
      if (data >= begin && output.size_bytes <= region.size_bytes &&
          data - begin <= region.size_bytes - output.size_bytes)
        return &blocks_.slabs[i];
    }
    return nullptr;
  }

  bool find_data(const Tensor& tensor, Output& output) noexcept {
    if (is_there(tensor.array)) return tensor.datatype != kBytesType && take_buffer(tensor.array, output);
    if (!is_there(tensor.memory)) return false;
    const RegionBlock* block = as_block(tensor.memory);
    if (block == nullptr || tensor.offset > block->size_bytes ||
        tensor.size_bytes > block->size_bytes - tensor.offset)
      return false;
    output.data = block->region->data + block->offset + tensor.offset;
    output.size_bytes = tensor.size_bytes;
    return true;
  }

  bool take_buffer(PyObject* array, Output& output) noexcept {
    Py_buffer& view = views_[view_count_];
    if (PyObject_GetBuffer(array, &view, kBufferSimple) != 0) return false;
    ++view_count_;
    output.data = static_cast<const char*>(view.buf);
    output.size_bytes = static_cast<uint64_t>(view.len);
    return true;
  }

  bool write_outputs(const BlockPlace& place, char* to) const noexcept {
    uint64_t shape = shapes_at_;
    uint64_t name = names_at_;
    uint64_t data = names_at_ + name_bytes_;
    for (uint32_t i = 0; i < output_count_; ++i) {
      const Output& output = outputs_[i];
      TensorRecord record;
      record.name = {static_cast<uint32_t>(name), static_cast<uint32_t>(output.name_size)};
      record.datatype = output.tensor->datatype;
      record.rank = output.rank;
      record.shape = static_cast<uint32_t>(shape);
      record.data.size_bytes = output.size_bytes;
      if (output.slab != nullptr) {
        record.data.slab = output.slab->index;
        record.data.offset = static_cast<uint64_t>(output.data - output.slab->region->data);
      } else {
        data = aligned(data);
        record.data.slab = place.slab;
        record.data.offset = place.offset + data;
        std::memcpy(to + data, output.data, output.size_bytes);
        data += output.size_bytes;
      }
      std::memcpy(to + tensors_at_ + i * sizeof record, &record, sizeof record);
      if (!write_shape(output, to + shape)) return false;
      std::memcpy(to + name, output.name, output.name_size);
      shape += output.rank * sizeof(int64_t);
      name += output.name_size;
    }
    return true;
  }

  static bool write_shape(const Output& output, char* to) noexcept {
    for (uint32_t i = 0; i < output.rank; ++i) {
      const int64_t dim = PyLong_AsLongLong(PyTuple_GetItem(output.tensor->shape, i));
      if (dim == -1 && PyErr_Occurred() != nullptr) return false;
      std::memcpy(to + i * sizeof dim, &dim, sizeof dim);
    }
    return true;
  }

  const ResponseBlocks& blocks_;
  RequestState* states_[kRequestsMax];
  uint32_t flags_[kRequestsMax];
  uint32_t ends_[kRequestsMax];  // of each request's outputs
  Output outputs_[kTensorsMax];
  Py_buffer views_[kTensorsMax];
  uint32_t count_ = 0;
  uint32_t output_count_ = 0;
  uint32_t view_count_ = 0;
  uint32_t kept_count_ = 0;
  uint64_t dims_ = 0;
  uint64_t name_bytes_ = 0;
  uint64_t tensors_at_ = 0;
  uint64_t shapes_at_ = 0;
  uint64_t names_at_ = 0;
};

// Another thread is in the middle of telling the server something.
bool is_entered(PyObject* guard) noexcept {
  PyObject* inside = PyObject_GetAttr(guard, inside_name);
  Py_XDECREF(inside);
  return inside != Py_False;
}

bool send(PyObject* ring, ResponseBlocks& blocks, uint64_t batch, Answers& answers,
          Dropped& dropped) noexcept {
  const uint64_t size = answers.size_bytes();
  BlockPlace* place = free_place(blocks);
  if (place == nullptr || size > place->size_bytes || !answers.write(*place)) return false;
  dropped.take(*place);
  RingMessage message;
  message.type = MessageType::kResponses;
  message.flags = kExecuteReturned;
  message.id = batch;
  message.slab = place->slab;
  message.offset = place->offset;
  message.size_bytes = size;
  message.value = batch_time_ns();
  store_release(place->header().held, 1);
  if (put_at_once(ring, message)) {
    answers.close(*place);
    return true;
  }
  store_release(place->header().held, 0);
  return false;
}

}  // namespace

PyObject* send_answers(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) noexcept {
  uint64_t batch = 0;
  if (!expect_arguments("send_answers", count, 6) || !to_u64(arguments[3], batch)) return nullptr;
  ResponseBlocks* blocks = as_answer_blocks(arguments[1]);
  if (blocks == nullptr) {
    PyErr_SetString(PyExc_TypeError, "AnswerBlocks are expected");
    return nullptr;
  }
  bool is_sent = false;
  if (!is_forked_copy()) {
    Dropped dropped;
    Answers answers(*blocks);
    // Buffers are taken before anything is decided, as that is the exporters' code.
    is_sent = answers.collect(arguments[4], arguments[5]) && !is_entered(arguments[2]) && answers.agree() &&
              send(arguments[0], *blocks, batch, answers, dropped);
  }
  // Whatever is wrong, who does it the long way finds it again.
  if (!is_sent) PyErr_Clear();
  return PyBool_FromLong(is_sent ? 1 : 0);
}

bool add_answer_names() noexcept {
  if (inside_name == nullptr) inside_name = PyUnicode_InternFromString("_is_inside");
  return inside_name != nullptr;
}

}  // namespace atl::python
