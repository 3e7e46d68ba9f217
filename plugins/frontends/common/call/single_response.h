/// The one response of a call that has exactly one.
#pragma once

#include <cstdint>
#include <utility>

#include "atoll/request/request.h"
#include "frontends/common/codec/wire_messages.h"

namespace atl::frontends {

/// Keeps the first response until the final flag; the others are discarded and counted.
class SingleResponse {
 public:
  /// As they come to the sink. \returns true with the final flag: take() then
  bool add(ResponseSink& sink, Response* response, uint32_t flags) noexcept {
    if (response != nullptr && count_++ == 0) {
      first_ = response;
    } else if (response != nullptr) {
      sink.discard(response);
    }
    return (flags & kFinal) != 0;
  }
  /// The first one, which is the caller's; null: none came. Ready for the next call.
  /// \param count  how many came
  Response* take(uint32_t* count) noexcept {
    *count = std::exchange(count_, 0);
    return std::exchange(first_, nullptr);
  }
  /// The only one, which is the caller's and has no error. Ready for the next call.
  /// Errors: its own; INTERNAL none came, or several did. The sink has what came.
  Result<Response*> take_only(ResponseSink& sink) noexcept {
    uint32_t count = 0;
    Response* only = take(&count);
    Status status =
        count == 1 ? std::move(only->error) : Status(Code::kInternal, messages::not_single_response(count));
    if (status.ok()) return only;
    if (only != nullptr) sink.discard(only);
    return status;
  }

 private:
  Response* first_ = nullptr;
  uint32_t count_ = 0;
};

}  // namespace atl::frontends
