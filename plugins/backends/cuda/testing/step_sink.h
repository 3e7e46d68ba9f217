/// A step of an ensemble that is followed on the same device: its sink gives memory with events.
#pragma once

#include <mutex>
#include <string>

#include "atoll/memory/memory.h"
#include "atoll/testing/recording_sink.h"
#include "backends/cuda/testing/device_sink.h"

namespace atl::cuda_backend::test {

/// Stands before a TestRequest with one output, which gets its answer without the bytes. The output's memory ends with it.
class StepSink final : public ResponseSink {
 public:
  StepSink(atl::test::TestRequest& request, Memory& memory) noexcept : memory_(memory), next_(request) {
    request->sink = this;
    request->call_flags |= kIsStep;
  }
  StepSink(const StepSink&) = delete;
  StepSink& operator=(const StepSink&) = delete;
  ~StepSink() {
    if (output_.data == nullptr) return;
    (void)wait_until_ready(output_).ok();
    if (output_.ready_after != nullptr) memory_.free_event(output_.ready_after);
    memory_.free(output_);
  }

  /// The output's buffer, as it was sent, or as it was given if there was none.
  Buffer output() const {
    std::lock_guard lock(mutex_);
    return output_;
  }
  bool is_ahead() const {
    std::lock_guard lock(mutex_);
    return is_ahead_;
  }
  /// Waits for it. Errors: as Memory::copy().
  Result<std::string> read() const {
    std::string bytes(output().size_bytes, '?');
    ATOLL_RETURN_IF_ERROR(memory_.copy(bytes_in(bytes), output()));
    return bytes;
  }

  Response* new_response() noexcept override {
    Response* made = next_.new_response();
    made->sink = this;
    return made;
  }
  Status allocate(Response& /*response*/, OutputTensor& output, uint64_t size_bytes, MemoryKind /*preferred*/,
                  int64_t device) noexcept override {
    Result<Buffer> buffer = memory_.allocate(size_bytes, device);
    if (!buffer.ok()) return std::move(buffer).status();
    Result<DeviceEvent*> event = memory_.make_event(device);
    std::lock_guard lock(mutex_);
    output_ = *buffer;
    if (event.ok()) output_.ready_after = *event;
    output.buffer = output_;
    return {};
  }
  void send(Response* response, uint32_t flags) noexcept override {
    {
      std::lock_guard lock(mutex_);
      is_ahead_ = (flags & kAhead) != 0;
    }
    if (response != nullptr) {
      for (OutputTensor& output : response->outputs) output.buffer = {};
      response->sink = &next_;
    }
    next_.send(response, flags);
  }
  void discard(Response* response) noexcept override {
    for (OutputTensor& output : response->outputs) {
      (void)wait_until_ready(output.buffer).ok();
      output.buffer = {};
    }
    next_.discard(response);
  }
  void released(Request& request) noexcept override { next_.released(request); }

 private:
  Memory& memory_;
  atl::test::TestRequest& next_;
  mutable std::mutex mutex_;
  Buffer output_;
  bool is_ahead_ = false;
};

}  // namespace atl::cuda_backend::test
