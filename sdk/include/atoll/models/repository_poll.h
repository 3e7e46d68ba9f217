/// Looking at the repositories when somebody says so, instead of at the next interval. Service
/// "atoll.repository_poll/1", provided by control/poll; a server may have none. A program that has the server
/// inside uses it through Triton's C API (TRITONSERVER_ServerPollModelRepository):
///
///     poll->poll([](Status status) { report(std::move(status)); });
#pragma once

#include <functional>
#include <string_view>

#include "atoll/core/status.h"

namespace atl {

/// May be called from any thread and never blocks [any].
class RepositoryPoll {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.repository_poll/1";
  /// Called on a thread of the service; must not block.
  using Done = std::function<void(Status)>;

  /// Looks at all repositories once and follows every change as it finds it, also one that may not be
  /// complete yet: the settle time of the service's own polls does not count.
  /// \param done  called once, on another thread, when all that is to be loaded is loaded or has failed. A
  /// service that ends destroys it without a call. Errors: UNAVAILABLE a repository cannot be read. A model
  /// that fails to load is no error here.
  virtual void poll(Done done) noexcept = 0;

 protected:
  ~RepositoryPoll() = default;
};

}  // namespace atl
