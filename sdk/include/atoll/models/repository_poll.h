/// Looking at the repositories when somebody says so. Service "atoll.repository_poll/1", provided by control plugins that
/// follow the repositories' changes; a server may have none.
#pragma once

#include <functional>
#include <string_view>

#include "atoll/core/status.h"

namespace atl {

/// [any]; never blocks.
class RepositoryPoll {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.repository_poll/1";
  using Done = std::function<void(Status)>;

  /// Looks at all of it once and follows every change as it is, also one that may not be complete yet.
  /// \param done  called once, on another thread, when what is to be loaded has been or has failed; destroyed without a
  ///              call by a service that ends. Errors: UNAVAILABLE a repository cannot be read; a model that fails is none
  virtual void poll(Done done) noexcept = 0;

 protected:
  ~RepositoryPoll() = default;
};

}  // namespace atl
