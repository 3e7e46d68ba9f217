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

/// For the option open_after_startup.
/// \param waits  what the option says \param opened  writes the line that the service has started
inline Opening opening_of(Host& host, bool waits, std::function<void(int port)> opened) {
  if (!waits) return {.opened = std::move(opened)};
  // Every model of the start has been loaded or has failed. A server without models has nothing to wait for; one whose catalog
  // is gone again ends, and a probe would take an open port for readiness.
  auto startup_is_over = [&host, had_catalog = false]() mutable {
    Result<Service<Startup>> startup = host.registry().find<Startup>();
    if (!startup.ok()) return !had_catalog;
    had_catalog = true;
    return (*startup)->complete();
  };
  return {.is_due = std::move(startup_is_over), .opened = std::move(opened)};
}

}  // namespace atl::frontends
