/// Writes an inference.ModelStreamInferResponse without protobuf objects, leaving large tensors where they are.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "frontends/common/call/output_memory.h"
#include "frontends/common/codec/v2_infer_response.h"
#include "frontends/common/codec/wire_format.h"

namespace atl::frontends {

/// As V2InferResponse, with the message around it.
class V2StreamMessage {
 public:
  /// \param error     error_message; empty: none
  /// \param response  what infer_response is made of, besides the request's id
  V2StreamMessage(std::string_view error, std::string_view model, std::string_view version,
                  const Request& request, Response& response) noexcept
      : error_(error), inner_(model, version, request, response, kInlineBytes) {}

  /// Memory that write() needs.
  uint64_t head_bytes() const noexcept { return wrapper_bytes() + inner_.head_bytes(); }
  /// Of the whole message.
  uint64_t total_bytes() const noexcept { return wrapper_bytes() + inner_.total_bytes(); }
  /// Once. The parts live in the response's arena.
  std::span<const V2ResponsePart> write(uint8_t* head) noexcept {
    WireWriter wrapper(head);
    if (!error_.empty()) wrapper.text(1, error_);
    wrapper.length(2, inner_.total_bytes());
    std::span<const V2ResponsePart> parts = inner_.write(wrapper.at());
    // The first part is of the head, and the wrapper lies right before it.
    auto& first = const_cast<V2ResponsePart&>(parts.front());
    first.bytes = {head, first.bytes.data() + first.bytes.size()};
    return parts;
  }

 private:
  uint64_t wrapper_bytes() const noexcept {
    const size_t error_bytes = error_.empty() ? 0 : length_field_size(error_.size());
    return error_bytes + 1 + varint_size(inner_.total_bytes());
  }

  std::string_view error_;
  V2InferResponse inner_;
};

}  // namespace atl::frontends
