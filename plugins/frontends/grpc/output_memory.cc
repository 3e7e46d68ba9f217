#include "output_memory.h"

#include <cstdlib>
#include <utility>
#include <vector>

#include "common/wire_messages.h"

namespace atl::frontends::grpc_frontend {
namespace {

constexpr size_t kTensorAlignment = 64;

}  // namespace

Status give_output_memory(Response& response, OutputTensor& output, uint64_t size_bytes) noexcept {
  std::free(reinterpret_cast<void*>(std::exchange(output.sink_data, 0)));
  output.buffer = {};
  if (size_bytes <= kInlineBytes) {
    output.buffer.data = response.arena().allocate(size_bytes, kTensorAlignment);
  } else {
    if (size_bytes > kMaxResponseBytes + kTensorAlignment) {
      return Status(Code::kInvalidArgument, messages::response_too_large(size_bytes));
    }
    uint64_t rounded = (size_bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
    output.buffer.data = std::aligned_alloc(kTensorAlignment, rounded);
    if (output.buffer.data == nullptr) {
      return make_status(Code::kResourceExhausted, "no memory for the ", size_bytes, " bytes of output '",
                         output.name, "'");
    }
    output.sink_data = reinterpret_cast<uint64_t>(output.buffer.data);
  }
  output.buffer.size_bytes = size_bytes;
  return {};
}

void free_output_memory(OutputTensor& output) noexcept {
  std::free(reinterpret_cast<void*>(std::exchange(output.sink_data, 0)));
}

grpc::ByteBuffer to_buffer(grpc_slice head, std::span<const V2ResponsePart> parts) {
  const uint8_t* head_begin = GRPC_SLICE_START_PTR(head);
  if (parts.size() == 1 && parts[0].tensor == nullptr) {
    grpc::Slice only(head, grpc::Slice::STEAL_REF);
    return grpc::ByteBuffer(&only, 1);
  }
  std::vector<grpc::Slice> slices;
  slices.reserve(parts.size());
  for (const V2ResponsePart& part : parts) {
    if (part.tensor == nullptr) {
      auto begin = static_cast<size_t>(part.bytes.data() - head_begin);
      slices.emplace_back(grpc_slice_sub(head, begin, begin + part.bytes.size()), grpc::Slice::STEAL_REF);
    } else if (part.tensor->sink_data == reinterpret_cast<uint64_t>(part.bytes.data())) {
      auto* memory =
          reinterpret_cast<void*>(std::exchange(const_cast<OutputTensor*>(part.tensor)->sink_data, 0));
      slices.emplace_back(const_cast<uint8_t*>(part.bytes.data()), part.bytes.size(), &std::free, memory);
    } else {
      // Not what the backend was given: a classification in the response's arena.
      slices.emplace_back(part.bytes.data(), part.bytes.size());
    }
  }
  grpc_slice_unref(head);
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace atl::frontends::grpc_frontend
