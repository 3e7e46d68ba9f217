#include "frontends/common/call/response_outputs.h"

#include "frontends/common/call/region_tensors.h"
#include "frontends/common/codec/wire_messages.h"

namespace atl::frontends {

Status ResponseOutputs::allocate(Response& response, OutputTensor& output, uint64_t size_bytes,
                                 MemoryKind kind) noexcept {
  const RequestedOutput* wanted = request_.find_output(output.name, response.outputs.size() - 1);
  if (wanted == nullptr || wanted->placement.data == nullptr) {
    return give_memory(response, output, size_bytes);
  }
  const Buffer& placement = wanted->placement;
  if (size_bytes > placement.size_bytes) {
    return Status(Code::kInternal, messages::region_too_small(output.name, placement.size_bytes, size_bytes));
  }
  // Who writes with the CPU gets memory for that; settle() takes the bytes to their place.
  if (placement.kind == MemoryKind::kGpu && kind != MemoryKind::kGpu) {
    return give_memory(response, output, size_bytes);
  }
  output.buffer = placement;
  output.buffer.size_bytes = size_bytes;
  return {};
}

Status ResponseOutputs::give_memory(Response& response, OutputTensor& output, uint64_t size_bytes) noexcept {
  if (size_bytes > kInlineBytes) {
    ATOLL_RETURN_IF_ERROR(memory_.add(size_bytes));
    charged_bytes_ += size_bytes;
    ATOLL_RETURN_IF_ERROR(receiver_.check_output(output, size_bytes));
  }
  return give_output_memory(response, output, size_bytes);
}

void ResponseOutputs::keep_requested(Response& response, std::string_view model) noexcept {
  if (!response.error.ok()) return;
  if (request_.outputs.empty()) {  // without validation nothing is asked for, and nothing has a place
    for (OutputTensor& output : response.outputs) {
      if (!is_host_ready(output.buffer) && response.error.ok())
        response.error = settle(response, output, nullptr);
    }
    return;
  }
  uint32_t kept = 0;
  size_t expected = 0;
  bool is_ascending = true;  // then no output can be there twice
  for (OutputTensor& output : response.outputs) {
    const RequestedOutput* wanted = request_.find_output(output.name, expected);
    if (wanted == nullptr) {
      (void)wait_until_ready(output.buffer).ok();
      free_output_memory(output);
      continue;
    }
    if (!is_host_ready(output.buffer) || wanted->placement.kind == MemoryKind::kGpu) [[unlikely]] {
      if (Status status = settle(response, output, wanted); !status.ok()) response.error = std::move(status);
    }
    const auto position = static_cast<size_t>(wanted - request_.outputs.begin());
    is_ascending = is_ascending && position >= expected;
    expected = position + 1;
    OutputTensor& place = response.outputs[kept++];
    if (&place != &output) place = output;
  }
  response.outputs.truncate(kept);
  if (!is_ascending) refuse_repeated(response, model);
}

Status ResponseOutputs::settle(Response& response, OutputTensor& output,
                               const RequestedOutput* wanted) noexcept {
  ATOLL_RETURN_IF_ERROR(wait_until_ready(output.buffer));
  output.buffer.ready_after = nullptr;
  if (is_placed(wanted, output)) return {};
  const Buffer from = output.buffer;
  if (wanted != nullptr && wanted->placement.kind == MemoryKind::kGpu) {
    Buffer to = wanted->placement;
    to.size_bytes = from.size_bytes;
    Status status = regions_.copy(to, from);
    free_output_memory(output);
    output.buffer = to;
    return status;
  }
  if (from.kind != MemoryKind::kGpu || from.size_bytes == 0) return {};
  if (!regions_.reaches_devices()) {
    return internal_error("output '", output.name, "' is in GPU memory, expected CPU memory");
  }
  ATOLL_RETURN_IF_ERROR(give_memory(response, output, from.size_bytes));
  return regions_.copy(output.buffer, from);
}

void ResponseOutputs::refuse_repeated(Response& response, std::string_view model) noexcept {
  bool* seen = response.arena().make_array<bool>(request_.outputs.size());
  for (const OutputTensor& output : response.outputs) {
    const auto position = request_.find_output(output.name) - request_.outputs.begin();
    if (std::exchange(seen[position], true)) {
      response.error = internal_error("model '", model, "' answered output '", output.name,
                                      "' more than once in a response");
      return;
    }
  }
}

}  // namespace atl::frontends
