/// When a frontend's port opens for clients.
#pragma once

#include <functional>

#include "atoll/core/host.h"
#include "atoll/core/startup.h"

namespace atl::frontends {

/// What an acceptor asks before its socket listens, and whom it tells then.
struct Opening {
  std::function<bool()> is_due = {};          ///< empty: at once
  std::function<void(int port)> opened = {};  ///< on the thread that opened it; may be empty

  void report(int port) const {
    if (opened) opened(port);
  }
};

/// Whether every model of the start has been loaded or has failed. A server without models has nothing to wait for.
inline bool startup_is_over(Host& host) noexcept {
  Result<Service<Startup>> startup = host.registry().find<Startup>();
  return !startup.ok() || (*startup)->complete();
}

/// For the option open_after_startup.
/// \param waits  what the option says \param opened  writes the line that the service has started
inline Opening opening_of(Host& host, bool waits, std::function<void(int port)> opened) {
  if (!waits) return {.opened = std::move(opened)};
  return {.is_due = [&host] { return startup_is_over(host); }, .opened = std::move(opened)};
}

}  // namespace atl::frontends
