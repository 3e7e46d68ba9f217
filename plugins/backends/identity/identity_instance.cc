#include "backends/identity/identity_instance.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "atoll/backend/values.h"

namespace atl::identity {
namespace {

/// How late a cancellation may be noticed during a delay.
constexpr std::chrono::milliseconds kCancelPoll{2};

bool is_pair(std::string_view input, std::string_view output) noexcept {
  return output.starts_with(kOutputPrefix) && input.starts_with(kInputPrefix) &&
         input.substr(kInputPrefix.size()) == output.substr(kOutputPrefix.size());
}

const InputTensor* input_for(const Request& request, std::string_view output) noexcept {
  for (const InputTensor& input : request.inputs) {
    if (is_pair(input.name, output)) return &input;
  }
  return nullptr;
}

/// Of zeros: elements of BYTES are empty, and are their lengths.
std::optional<uint64_t> size_of_zeros(DataType datatype, std::span<const int64_t> shape) noexcept {
  const auto count = element_count(shape);
  const uint64_t element = datatype == DataType::kBytes ? sizeof(uint32_t) : data_type_size_bytes(datatype);
  uint64_t size_bytes = 0;
  if (!count || __builtin_mul_overflow(static_cast<uint64_t>(*count), element, &size_bytes))
    return std::nullopt;
  return size_bytes;
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
  if (input == nullptr) return write_zeros(i, wanted);
  std::span<const Buffer> from = input->buffers;
  uint64_t size_bytes = 0;
  for (const Buffer& buffer : from) size_bytes += buffer.size_bytes;
  OutputTensor* output = responder_.add_output(i, wanted, input->datatype, input->shape, size_bytes);
  if (output == nullptr) return {};  // the responder knows why
  if (from.empty()) return {};
  Result<uint64_t> copied = backends::gather(from, output->buffer, input->name);
  return copied.ok() ? Status() : std::move(copied).status();
}

Status IdentityInstance::write_zeros(uint32_t i, const RequestedOutput& wanted) noexcept {
  const auto input = std::ranges::find_if(
      config_.optional_inputs, [&](const TensorSpec& one) { return is_pair(one.name, wanted.name); });
  if (input == config_.optional_inputs.end()) return {};
  int64_t shape[kMaxRank];
  uint32_t rank = 0;
  if (responder_.request(i).batch_size != 0) shape[rank++] = responder_.request(i).batch_size;
  for (int64_t dim : input->backend_dims()) {
    if (rank < kMaxRank) shape[rank++] = dim < 0 ? 1 : dim;
  }
  const std::optional<uint64_t> size_bytes = size_of_zeros(input->datatype, {shape, rank});
  if (!size_bytes) return invalid_argument("output '", wanted.name, "' of zeros is too large");
  OutputTensor* output = responder_.add_output(i, wanted, input->datatype, {shape, rank}, *size_bytes);
  if (output == nullptr || *size_bytes == 0) return {};
  if (output->buffer.kind == MemoryKind::kGpu)
    return invalid_argument("output '", wanted.name,
                            "' is in GPU memory, which the identity backend does not write");
  std::memset(output->buffer.data, 0, *size_bytes);
  return {};
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
