#include "backends/identity/identity_instance.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "atoll/backend/values.h"

namespace atl::identity {
namespace {

/// How late a cancellation may be noticed during a delay.
constexpr std::chrono::milliseconds kCancelPoll{2};

const InputTensor* input_for(const Request& request, std::string_view output) noexcept {
  if (!output.starts_with(kOutputPrefix)) return nullptr;
  std::string_view suffix = output.substr(kOutputPrefix.size());
  for (const InputTensor& input : request.inputs) {
    if (input.name.starts_with(kInputPrefix) && input.name.substr(kInputPrefix.size()) == suffix)
      return &input;
  }
  return nullptr;
}

}  // namespace

void IdentityInstance::delay() noexcept {
  // The backend's work is the passing of real time, so it is measured on the real clock whatever the
  // server's.
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(config_.execute_delay_ms);
  for (auto now = std::chrono::steady_clock::now(); now < end; now = std::chrono::steady_clock::now()) {
    bool wanted = false;
    for (uint32_t i = 0; i < responder_.size(); ++i) wanted = wanted || !responder_.request(i).cancelled();
    if (!wanted) return;
    std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(kCancelPoll, end - now));
  }
}

Status IdentityInstance::copy_output(uint32_t i, const RequestedOutput& wanted) noexcept {
  const InputTensor* input = input_for(responder_.request(i), wanted.name);
  if (input == nullptr) return {};  // an optional input that was not sent: no output either
  std::span<const Buffer> from = input->buffers;
  uint64_t size_bytes = 0;
  for (const Buffer& buffer : from) size_bytes += buffer.size_bytes;
  OutputTensor* output = responder_.add_output(i, wanted, input->datatype, input->shape, size_bytes);
  if (output == nullptr) return {};  // the responder knows why
  if (from.empty()) return {};
  Result<uint64_t> copied = backends::gather(from, output->buffer, input->name);
  return copied.ok() ? Status() : std::move(copied).status();
}

void IdentityInstance::copy_outputs(uint32_t i) noexcept {
  Request& request = responder_.request(i);
  if (request.cancelled()) return responder_.fail(i, Status(Code::kCancelled, ""));
  for (const RequestedOutput& wanted : request.outputs) {
    if (Status status = copy_output(i, wanted); !status.ok()) responder_.fail(i, std::move(status));
    if (responder_.failed(i)) return;
  }
}

Status IdentityInstance::execute(const Batch& batch) noexcept {
  ExecutionTimes times;
  times.execute_start_ns = clock_.now_ns();
  responder_.begin(batch);
  times.compute_start_ns = times.execute_start_ns;
  times.compute_end_ns = times.compute_start_ns;
  if (config_.execute_delay_ms > 0) {
    delay();
    times.compute_end_ns = clock_.now_ns();
  }
  for (uint32_t i = 0; i < responder_.size(); ++i) copy_outputs(i);
  times.execute_end_ns = clock_.now_ns();
  responder_.finish(times);
  return {};
}

}  // namespace atl::identity
