/// A context of a call that has exactly one answer.
#pragma once

#include "frontends/common/call/infer_context.h"
#include "frontends/common/call/single_response.h"
#include "frontends/common/codec/wire_messages.h"

namespace atl::frontends {

/// Keeps the one response until the final flag, then answers once: with it, with its error, or, if there was
/// none or more than one, with INTERNAL.
class UnaryInferContext : public InferContext {
 protected:
  /// Whether the answer is written elsewhere, and the response reclaimed there, instead of by answer().
  virtual bool answer_later(Response& /*response*/) noexcept { return false; }
  /// Writes the answer. `response` has no error; it is reclaimed by the caller afterwards. Large output
  /// buffers are the writer's from here on: drop_output() is not called.
  virtual void answer(Response& response) noexcept = 0;
  virtual void answer_error(const Status& status) noexcept = 0;

  void refuse(const Status& status) noexcept final { answer_error(status); }

  void on_response(Response* response, uint32_t flags) noexcept final {
    if (!responses_.add(*this, response, flags)) return;
    uint32_t count = 0;
    Response* only = responses_.take(&count);
    if (count != 1) {
      answer_error(Status(Code::kInternal, messages::not_single_response(count)));
      if (only != nullptr) discard(only);
    } else if (!only->error.ok()) {
      answer_error(only->error);
      discard(only);
    } else if (!answer_later(*only)) {
      answer(*only);
      reclaim(only);
    }
  }

 private:
  SingleResponse responses_;
};

}  // namespace atl::frontends
