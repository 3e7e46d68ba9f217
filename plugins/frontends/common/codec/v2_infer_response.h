/// Writes an inference.ModelInferResponse without protobuf objects, leaving large tensors where they are.
///
///     V2InferResponse message(model, version, request, response, inline_max_bytes);
///     uint8_t* head = ...message.head_bytes()...;
///     for (const V2ResponsePart& part : message.write(head)) ...   // send part.bytes, in order
///
/// Everything but the tensors, and tensors of at most inline_max_bytes, is copied into the head; a larger
/// tensor is a part of its own that points to the backend's buffer. A tensor in the shared memory region that
/// the client named is not sent. All texts are borrowed until write().
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "atoll/request/request.h"
#include "frontends/common/codec/wire_format.h"

namespace atl::frontends {

struct V2ResponsePart {
  ByteSpan bytes;
  const OutputTensor* tensor = nullptr;  ///< whose buffer this is; null: of the head
};

class V2InferResponse {
 public:
  /// \param request   what is answered: its id and the places of its outputs
  /// \param response  without error; its outputs' buffers are in CPU memory. Parameters of type kBytes have
  ///                  no form on this wire and are left out.
  V2InferResponse(std::string_view model, std::string_view version, const Request& request,
                  Response& response, uint64_t inline_max_bytes) noexcept;

  /// Memory that write() needs.
  uint64_t head_bytes() const noexcept { return head_bytes_; }
  /// Of the whole message.
  uint64_t total_bytes() const noexcept { return total_bytes_; }
  /// Once. The parts live in the response's arena.
  std::span<const V2ResponsePart> write(uint8_t* head) noexcept;

 private:
  /// Bytes of output i that are sent.
  uint64_t sent_bytes(size_t i) const noexcept;

  std::string_view model_;
  std::string_view version_;
  const Request& request_;
  Response& response_;
  uint64_t inline_max_bytes_;
  bool any_placed_ = false;  ///< the client has a place for an output
  uint64_t head_bytes_ = 0;
  uint64_t total_bytes_ = 0;
  uint32_t external_ = 0;  ///< tensors that are parts of their own
};

}  // namespace atl::frontends
