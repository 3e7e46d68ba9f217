#include "schedulers/common/state/null_rows.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "atoll/backend/values.h"

namespace atl::schedulers {

/// One request, and the sink that drops what it is answered.
class NullRows::Row final : public ResponseSink, public Rescheduler {
 public:
  virtual ~Row() = default;

  static Row& of(Request& request) noexcept { return *static_cast<Row*>(request.links.scheduler_data); }
  bool in_use() const noexcept { return in_use_.load(std::memory_order_acquire); }
  void end_use() noexcept { in_use_.store(false, std::memory_order_release); }
  Request& begin_use() noexcept {
    in_use_.store(true, std::memory_order_relaxed);
    request_.reset();
    request_.sink = this;
    request_.links.scheduler_data = this;
    return request_;
  }

  Response* new_response() noexcept override {
    auto* response = new Response;
    response->sink = this;
    return response;
  }
  Status allocate(Response& response, OutputTensor& output, uint64_t size_bytes, MemoryKind,
                  int64_t) noexcept override {
    output.buffer = {.data = response.arena().allocate(size_bytes), .size_bytes = size_bytes};
    return {};
  }
  void send(Response* response, uint32_t) noexcept override { delete response; }
  void discard(Response* response) noexcept override { delete response; }
  void released(Request&) noexcept override {}
  Status reschedule(Request& request) noexcept override {
    request.sink->send(nullptr, kFinal);
    return request.release(kReleaseAll);
  }

 private:
  std::atomic<bool> in_use_{false};
  Request request_;
};

NullRows::NullRows(const BatchCompatibility& compatibility) : compatibility_(compatibility) {}
NullRows::~NullRows() = default;

void NullRows::take_back(Request& row) noexcept { Row::of(row).end_use(); }

void NullRows::allow_reschedule(Request& row) noexcept { row.rescheduler = &Row::of(row); }

NullRows::Row& NullRows::unused_row() {
  for (const auto& row : rows_) {
    if (!row->in_use()) return *row;
  }
  rows_.push_back(std::make_unique<Row>());
  return *rows_.back();
}

bool NullRows::is_shape_tensor(std::string_view name) const noexcept {
  return std::ranges::any_of(compatibility_.compared, [&](const BatchCompatibility::Input& input) {
    return input.shape_tensor && input.name == name;
  });
}

/// \returns null if there is no memory
std::byte* NullRows::zeros(uint64_t size_bytes) {
  if (size_bytes > zeros_bytes_ || zeros_.empty()) {
    // Of a large block the kernel keeps one page of zeros until somebody writes to it, which nobody does.
    const uint64_t taken_bytes = std::bit_ceil(std::max<uint64_t>(size_bytes, 64));
    auto* bytes = static_cast<std::byte*>(std::calloc(1, taken_bytes));
    if (bytes == nullptr) return nullptr;
    zeros_.emplace_back(bytes);
    zeros_bytes_ = taken_bytes;
  }
  return zeros_.back().get();
}

void NullRows::copy_input(Request& row, const InputTensor& from) {
  Arena& arena = row.arena();
  Buffer* buffer = arena.make_array<Buffer>(1);
  buffer->size_bytes = from.size_bytes;
  if (from.datatype == DataType::kBytes) {
    // An empty element is its length, 0. The request was validated, so the product fits.
    buffer->size_bytes = sizeof(uint32_t) * static_cast<uint64_t>(element_count(from.shape).value_or(0));
  }
  if (is_shape_tensor(from.name)) {
    buffer->data = arena.allocate(from.size_bytes);
    (void)backends::gather(from.buffers, *buffer, from.name).ok();
  } else {
    buffer->data = zeros(buffer->size_bytes);
    if (buffer->data == nullptr) buffer->size_bytes = 0;  // and the backend finds the row too short
  }
  InputTensor& input = row.add_input();
  input.name = arena.copy_text(from.name);
  input.datatype = from.datatype;
  input.flags = from.flags;
  input.shape = arena.copy(from.shape);
  input.buffers = {buffer, 1};
  input.size_bytes = buffer->size_bytes;
  input.spec_index = from.spec_index;
}

Request& NullRows::give(const Request& reference) {
  Request& request = unused_row().begin_use();
  request.model = reference.model;
  request.batch_size = reference.batch_size;
  request.call_flags = kShadow;
  request.times = reference.times;
  request.times.deadline_ns = 0;
  for (const InputTensor& input : reference.inputs) {
    // Of those the row gets its own from who added them.
    if ((input.flags & InputTensor::kAddedByScheduler) == 0) copy_input(request, input);
  }
  return request;
}

}  // namespace atl::schedulers
