/// What a completion queue carries: an object that is told when its operation has ended.
#pragma once

#include <sanitizer/tsan_interface.h>

#include <string_view>

#include "atoll/abi/plugin.h"

namespace atl::frontends::grpc_frontend {

class Event {
 public:
  /// [completion queue's thread] \param ok  false: the operation did not happen, the call is over or the
  /// queue shuts down.
  virtual void on_event(bool ok) noexcept = 0;

  /// What gRPC is given when the operation starts.
  void* tag() noexcept {
    if constexpr (kThreadSanitizer) __tsan_release(this);
    return this;
  }
  /// What gRPC gives back when it has ended.
  static void ended(void* tag, bool ok) noexcept {
    if constexpr (kThreadSanitizer) __tsan_acquire(tag);
    static_cast<Event*>(tag)->on_event(ok);
  }

 protected:
  ~Event() = default;

 private:
  /// gRPC's library is built without it, so it does not see that an operation's start happens before its end.
  static constexpr bool kThreadSanitizer = std::string_view(ATOLL_TAG_SANITIZER) == "thread";
};

/// One of the operations of an object that has several.
template <class Owner>
class Step final : public Event {
 public:
  Step(Owner* owner, void (Owner::*function)(bool)) : owner_(owner), function_(function) {}
  void on_event(bool ok) noexcept override { (owner_->*function_)(ok); }

 private:
  Owner* owner_;
  void (Owner::*function_)(bool);
};

}  // namespace atl::frontends::grpc_frontend
