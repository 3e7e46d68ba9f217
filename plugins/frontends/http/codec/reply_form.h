/// How a client wants the answer to one request to look.
#pragma once

#include <bitset>

#include "frontends/common/codec/owned_bytes.h"
#include "frontends/common/codec/v2_infer_request.h"

namespace atl::frontends::http {

/// Positions are those of Request::outputs as the client listed them.
struct ReplyForm {
  bool binary_default = false;      ///< of outputs that the client did not list
  bool lists_outputs = false;       ///< the client listed the outputs it wants
  std::bitset<kMaxTensors> binary;  ///< listed, and asked for as bytes behind the JSON

  bool is_binary(uint32_t position) const noexcept {
    return lists_outputs ? position < kMaxTensors && binary[position] : binary_default;
  }
  void reset() noexcept { *this = ReplyForm(); }
};

/// What reading leaves behind that must live as long as the request. In the request's context; reset with it.
struct InferParts {
  ReplyForm reply;
  OwnedBytes owned;  ///< large tensors that were converted or copied

  void reset() noexcept {
    reply.reset();
    owned.clear();
  }
};

}  // namespace atl::frontends::http
