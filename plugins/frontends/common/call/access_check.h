/// Whether a call may be made: what a frontend asks before a call costs anything.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/followed_service.h"
#include "atoll/core/gate.h"
#include "atoll/frontend/access.h"

namespace atl::frontends {

/// The access service of one frontend, which may come, be replaced and go.
class AccessPoint {
 public:
  explicit AccessPoint(Host& host)
      : host_gate_(host.gate()),
        access_(
            host, [this, &host] { return find(host.registry()); }, [this] { changed(); }) {}

  /// Takes the provider that is there and follows its changes. [control]
  Status open() noexcept { return access_.open(); }
  /// [control]
  void close() noexcept { access_.close(); }

  /// False: every call is allowed, and need not ask. [request]
  bool asks() const noexcept {
    // Looked at twice, as a provider may be found, or get lost, between the two.
    return access_.is_present() || lost_.load(std::memory_order_acquire) || access_.is_present();
  }
  /// Questions whose answer was not taken yet: the threads that would take it stay as long. [control]
  int64_t unsettled() const noexcept { return access_.holds(); }

 private:
  friend class AccessCheck;
  Result<Service<Access>> find(Registry& registry) noexcept;
  void changed() noexcept;

  Gate& host_gate_;
  /// There are providers, and none that could be asked: no call is allowed then.
  std::atomic<bool> lost_{false};
  Followed<Access> access_;
};

/// The question of one call after the other. Ends before its AccessPoint. While it waits it holds a pass of the
/// host's gate, if that is open.
class AccessCheck final : private AccessWaiter {
 public:
  /// \param settled  called with `owner` if the call waits: when there is an answer, once, on any thread,
  /// perhaps before this returns; returns soon
  /// \returns true: there is an answer already. Either way take() is owed, by the thread that has asked.
  bool ask(const AccessPoint& point, const AccessQuestion& question, void (*settled)(void* owner) noexcept,
           void* owner) noexcept;
  /// OK: the call is allowed, as it is if nobody was asked. Else the failure is its answer.
  /// \param caller  set if one is known; valid until the next question
  Status take(std::string_view* caller) noexcept { return asked_ ? take_answer(caller) : Status(); }

 private:
  void on_access(Status outcome, std::string_view caller) noexcept override;
  Status take_answer(std::string_view* caller) noexcept;

  bool asked_ = false;
  Followed<Access>::Hold provider_;
  Pass pass_;
  void (*settled_)(void* owner) noexcept = nullptr;
  void* owner_ = nullptr;
  Status outcome_;
  std::string caller_;
};

}  // namespace atl::frontends
