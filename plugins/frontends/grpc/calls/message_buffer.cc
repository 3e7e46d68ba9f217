#include "frontends/grpc/calls/message_buffer.h"

#include <cstdlib>
#include <vector>

#include "frontends/common/call/output_memory.h"
#include "frontends/common/codec/wire_messages.h"

namespace atl::frontends::grpc_frontend {

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
      void* memory = take_output_memory(const_cast<OutputTensor&>(*part.tensor));
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
