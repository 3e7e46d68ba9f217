#include "models/catalog/requests/device_inputs.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "atoll/request/sink_interposer.h"

namespace atl::models {
namespace {

bool is_on_device(const InputTensor& input) noexcept {
  return std::any_of(input.buffers.begin(), input.buffers.end(),
                     [](const Buffer& buffer) { return buffer.kind == MemoryKind::kGpu; });
}

bool is_ready(const InputTensor& input) noexcept {
  return std::all_of(input.buffers.begin(), input.buffers.end(), is_host_ready);
}

/// A request's copies: one block, counted.
class HostCopies {
 public:
  HostCopies() noexcept = default;
  HostCopies(const HostCopies&) = delete;
  HostCopies& operator=(const HostCopies&) = delete;
  ~HostCopies() {
    std::free(data_);
    if (budget_) (*budget_)->release(bytes_);
  }

  Status take(uint64_t bytes, const Followed<RequestMemory>& source) noexcept {
    if (const auto memory = source.hold()) {
      RequestBudgetRef budget = memory->budget();
      if (!budget->try_reserve(bytes)) return budget->refusal(bytes);
      budget_.emplace(budget);
      bytes_ = bytes;
    }
    data_ = static_cast<std::byte*>(std::aligned_alloc(kTensorBlockAlignment, bytes));
    if (data_ != nullptr) return {};
    return make_status(Code::kResourceExhausted, "no memory for the ", bytes,
                       " bytes of inputs that are in memory of a GPU");
  }
  std::byte* data() const noexcept { return data_; }

 private:
  std::optional<RequestBudgetRef> budget_;
  uint64_t bytes_ = 0;
  std::byte* data_ = nullptr;
};

/// Frees the copies with the request's release. In the request's arena.
class CopyKeeper final : public SinkInterposer {
 public:
  explicit CopyKeeper(HostCopies* copies) noexcept : copies_(copies) {}
  void released(Request& request) noexcept override {
    delete std::exchange(copies_, nullptr);
    SinkInterposer::released(request);
  }

 private:
  HostCopies* copies_;
};

/// Nothing if the sum does not fit.
std::optional<uint64_t> bytes_to_copy(const Request& request) noexcept {
  uint64_t bytes = 0;
  for (const InputTensor& input : request.inputs) {
    if (!is_on_device(input)) continue;
    const std::optional<uint64_t> of_input = block_bytes(input.buffers);
    if (!of_input || __builtin_add_overflow(bytes, *of_input, &bytes)) return std::nullopt;
  }
  return bytes;
}

/// Waits for the input's bytes, which stay where they are.
Status wait_for_input(Arena& arena, InputTensor& input) noexcept {
  const std::span<Buffer> ready = arena.copy(input.buffers);
  for (Buffer& buffer : ready) {
    ATOLL_RETURN_IF_ERROR(wait_until_ready(buffer));
    buffer.ready_after = nullptr;
  }
  input.buffers = ready;
  return {};
}

void refuse(Request& request, Status failure, InferenceReporter* reporter) noexcept {
  if (reporter != nullptr) reporter->report_failure(request, FailureReason::kBackend);
  fail_request(request, std::move(failure));
}

}  // namespace

Status DeviceInputs::open() noexcept {
  ATOLL_RETURN_IF_ERROR(devices_.open());
  return request_memory_.open();
}

void DeviceInputs::close() noexcept {
  request_memory_.close();
  devices_.close();
}

Status DeviceInputs::execute(BackendInstance& instance, const Batch& batch,
                             InferenceReporter* reporter) const noexcept {
  Failures failures;  // takes memory only when there is one
  for (size_t i = 0; i < batch.requests.size(); ++i) {
    Status status = bring_to_host(*batch.requests[i]);
    if (!status.ok()) failures.emplace_back(i, std::move(status));
  }
  return failures.empty() ? instance.execute(batch) : execute_others(instance, batch, reporter, failures);
}

Status DeviceInputs::execute_others(BackendInstance& instance, const Batch& batch,
                                    InferenceReporter* reporter, Failures& failures) const noexcept {
  std::vector<Request*> others;
  Batch rest;
  rest.deadline_ns = batch.deadline_ns;
  auto failure = failures.begin();
  for (size_t i = 0; i < batch.requests.size(); ++i) {
    if (failure != failures.end() && failure->first == i) {
      refuse(*batch.requests[i], std::move(failure++->second), reporter);
    } else {
      others.push_back(batch.requests[i]);
      rest.total_batch_size += others.back()->batch_weight();
    }
  }
  if (others.empty()) return {};
  rest.requests = others;
  Status status = instance.execute(rest);
  if (status.ok()) return {};
  // The caller would answer all of the batch.
  for (Request* request : others) refuse(*request, status.clone(), reporter);
  return {};
}

Status DeviceInputs::bring_to_host(Request& request) const noexcept {
  if (std::all_of(request.inputs.begin(), request.inputs.end(), is_ready)) return {};
  const std::optional<uint64_t> bytes = bytes_to_copy(request);
  if (!bytes) return make_status(Code::kResourceExhausted, "no memory has room for the request's inputs");
  auto copies = std::make_unique<HostCopies>();
  if (*bytes != 0) ATOLL_RETURN_IF_ERROR(copies->take(*bytes, request_memory_));
  std::byte* to = copies->data();
  for (InputTensor& input : request.inputs) {
    if (is_ready(input)) continue;
    if (!is_on_device(input)) {
      ATOLL_RETURN_IF_ERROR(wait_for_input(request.arena(), input));
      continue;
    }
    Result<Buffer> copy = copy_to_block(&devices_, input.buffers, to);
    if (!copy.ok()) {
      return make_status(copy.status().code(), "input '", input.name, "': ", copy.status().message());
    }
    to += *block_bytes(input.buffers);
    input.buffers = {request.arena().make<Buffer>(*copy), 1};
  }
  if (*bytes != 0) request.arena().make<CopyKeeper>(copies.release())->interpose(request);
  return {};
}

}  // namespace atl::models
