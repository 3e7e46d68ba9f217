/// Whether a call may be made.
#pragma once

#include <string_view>

#include "frontends/common/access/access_check.h"
#include "frontends/common/call/post_list.h"
#include "frontends/grpc_nghttp2/call_thread.h"
#include "frontends/grpc_nghttp2/stream_metadata.h"

namespace atl::frontends::grpc_nghttp2 {

/// Part of a call. [loop]
class CallAccess {
 public:
  /// \param path  of the method
  /// \param settled  if the call waits: posted to the loop when there is an answer
  /// \returns true: there is an answer, or nobody to ask
  /// \param is_probe  as of AccessQuestion
  bool ask(CallThread& thread, const CallName& path, ApiCategory category, const CallStream& stream,
           Posted& settled, bool is_probe = false) noexcept {
    return ask(thread, path, category, api_category_name(category), stream, settled, is_probe);
  }
  /// The same for a call of another plugin's. \param name  of the category, as of AccessQuestion
  bool ask(CallThread& thread, const CallName& path, ApiCategory category, std::string_view name,
           const CallStream& stream, Posted& settled, bool is_probe = false) noexcept {
    const AccessPoint& point = *thread.frontend.server.access;
    if (!point.asks()) return true;
    thread_ = &thread;
    settled_ = &settled;
    const StreamMetadata head(stream);
    auto wake = [](void* self) noexcept {
      auto* access = static_cast<CallAccess*>(self);
      access->thread_->loop.post(*access->settled_);
    };
    const CallerPlace place{thread.last_callers, reinterpret_cast<uintptr_t>(&stream.session())};
    const bool is_settled =
        check_.ask(point, {category, name, CallProtocol::kGrpc, head, is_probe}, path, wake, this, &place);
    thread.last_callers_sweep.begin();
    return is_settled;
  }
  /// As AccessCheck::take().
  Status take(std::string_view* caller) noexcept { return check_.take(caller); }
  /// As those of AccessCheck.
  const CallerIdentityPtr& identity() const noexcept { return check_.identity(); }
  CallerIdentityPtr take_identity() noexcept { return check_.take_identity(); }
  CallReport* report() const noexcept { return check_.report(); }
  void set_status(int32_t status) noexcept { check_.set_status(status); }
  void forget() noexcept { check_.forget(); }

 private:
  AccessCheck check_;
  CallThread* thread_ = nullptr;
  Posted* settled_ = nullptr;
};

}  // namespace atl::frontends::grpc_nghttp2
