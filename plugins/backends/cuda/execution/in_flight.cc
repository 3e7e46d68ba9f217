#include "backends/cuda/execution/in_flight.h"

#include <algorithm>
#include <cstring>

namespace atl::cuda_backend {

Status InFlight::open(Cuda& cuda, int32_t device, bool spins) noexcept {
  device_ = device;
  for (TimedEvent* event : {&begun, &inputs_ready, &computed, &done}) {
    Result<TimedEvent> made = TimedEvent::make(cuda, device, spins);
    if (!made.ok()) return std::move(made).status();
    *event = std::move(made).value();
  }
  return {};
}

void InFlight::begin(const Batch& batch, int64_t now_ns) {
  copies_.clear();
  commits_.clear();
  sources_.clear();
  outputs_.clear();
  recorded_ = 0;
  waits_.assign(batch.requests.size(), false);
  has_begun = false;
  times = {};
  times.execute_start_ns = now_ns;
  is_timed = false;
  responder.begin(batch);
}

std::byte* InFlight::stage(const Followed<Memory>& pinned, uint64_t size_bytes, int32_t device) noexcept {
  Result<MemoryBlock> block = MemoryBlock::allocate(pinned, size_bytes, device);
  if (!block.ok()) return nullptr;
  staging_.push_back(std::move(block).value());
  return staging_.back().bytes();
}

void InFlight::add_output(uint32_t request, const Buffer& to) {
  const bool is_here = to.kind == MemoryKind::kGpu && to.device_id == device_ && to.ready_after != nullptr;
  const auto event = static_cast<CudaEvent>(is_here ? to.ready_after->native_handle() : nullptr);
  if (event == nullptr) {
    waits_[request] = true;
  } else {
    outputs_.push_back({request, event});
  }
}

void InFlight::add_source(uint32_t request, const Buffer& buffer) {
  sources_.push_back({request, buffer});
  // What is waited for by the host is known; what this device waits for fails with it, if it is its own.
  const bool is_foreign = buffer.kind == MemoryKind::kGpu && buffer.device_id != device_;
  if (is_foreign && buffer.ready_after->native_handle() != nullptr) waits_[request] = true;
}

Status InFlight::record_outputs(const Stream& stream) noexcept {
  for (; recorded_ < outputs_.size(); ++recorded_)
    ATOLL_RETURN_IF_ERROR(stream.record(outputs_[recorded_].event));
  return {};
}

void InFlight::answer_ahead() noexcept {
  if (decoupled_) return;
  for (const Output& output : outputs_) {
    if (waits_[output.request] || responder.failed(output.request)) continue;
    waits_[output.request] = true;  // it may have more outputs
    responder.answer_ahead(output.request);
  }
}

void InFlight::settle(const Status& outcome, const Clock& clock) noexcept {
  const int64_t now_ns = clock.now_ns();
  if (!outcome.ok()) responder.fail_all(outcome);
  for (const Source& source : sources_) {
    if (responder.failed(source.request)) continue;
    // Its device is past it; whether its bytes are what they should be is known only now.
    if (Status status = wait_until_ready(source.buffer); !status.ok())
      responder.fail(source.request, std::move(status));
  }
  for (const HostCopy& copy : copies_) {
    if (!responder.failed(copy.request)) std::memcpy(copy.to, copy.from, copy.size_bytes);
  }
  for (const Commit& commit : commits_) {
    if (responder.failed(commit.request)) continue;
    Status status = responder.request(commit.request).state->commit(commit.name);
    if (!status.ok()) responder.fail(commit.request, std::move(status));
  }
  staging_.clear();
  measure(now_ns);
  times.execute_end_ns = clock.now_ns();
}

/// The device's times, counted back from the end. Without them all of it counts as computing.
void InFlight::measure(int64_t now_ns) noexcept {
  times.compute_start_ns = times.execute_start_ns;
  times.compute_end_ns = now_ns;
  if (!is_timed) return;
  Result<int64_t> output_ns = computed.nanoseconds_until(done);
  if (!output_ns.ok()) return;
  Result<int64_t> compute_ns = inputs_ready.nanoseconds_until(computed);
  if (!compute_ns.ok()) return;
  times.compute_end_ns = std::clamp(now_ns - *output_ns, times.execute_start_ns, now_ns);
  times.compute_start_ns =
      std::clamp(times.compute_end_ns - *compute_ns, times.execute_start_ns, times.compute_end_ns);
  if (!has_begun) return;
  // What others did until the inputs were there was no part of the execution.
  Result<int64_t> input_ns = begun.nanoseconds_until(inputs_ready);
  if (!input_ns.ok()) return;
  times.execute_start_ns =
      std::clamp(times.compute_start_ns - *input_ns, times.execute_start_ns, times.compute_start_ns);
}

}  // namespace atl::cuda_backend
