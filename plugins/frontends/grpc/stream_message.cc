#include "frontends/grpc/stream_message.h"

#include <span>

#include "frontends/common/output_memory.h"
#include "frontends/common/v2_infer_response.h"
#include "frontends/common/wire_format.h"
#include "frontends/common/wire_messages.h"
#include "frontends/grpc/message_buffer.h"

namespace atl::frontends::grpc_frontend {

Status write_stream_message(std::string_view error, std::string_view model, std::string_view version,
                            const Request& request, Response& response, grpc::ByteBuffer* message) noexcept {
  V2InferResponse inner(model, version, request, response, kInlineBytes);
  const size_t error_bytes = error.empty() ? 0 : length_field_size(error.size());
  const uint64_t wrapper_bytes = error_bytes + 1 + varint_size(inner.total_bytes());
  if (wrapper_bytes + inner.total_bytes() > kMaxGrpcMessageBytes) {
    return Status(Code::kInvalidArgument, messages::response_too_large(wrapper_bytes + inner.total_bytes()));
  }
  grpc_slice head = grpc_slice_malloc(wrapper_bytes + inner.head_bytes());
  WireWriter wrapper(GRPC_SLICE_START_PTR(head));
  if (!error.empty()) wrapper.text(1, error);
  wrapper.length(2, inner.total_bytes());
  std::span<const V2ResponsePart> parts = inner.write(wrapper.at());
  // The first part is of the head, and the wrapper lies right before it.
  auto& first = const_cast<V2ResponsePart&>(parts.front());
  first.bytes = {GRPC_SLICE_START_PTR(head), first.bytes.data() + first.bytes.size()};
  grpc::ByteBuffer written = to_buffer(head, parts);
  message->Swap(&written);
  return {};
}

void add_final_flag(Response& response, bool last) noexcept {
  Parameter& flag = response.parameters.add(response.arena());
  flag.key = "triton_final_response";
  flag.type = ParameterType::kBool;
  flag.bool_value = last;
}

}  // namespace atl::frontends::grpc_frontend
