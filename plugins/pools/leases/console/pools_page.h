/// The console's page of pools and leases.
#pragma once

#include <span>
#include <string_view>

#include "atoll/frontend/console_page.h"

namespace atl::pools {

/// From a source file that the build makes of pools.js. [any]
std::span<const ConsoleFile> embedded_files() noexcept;

class PoolsPage final : public ConsolePage {
 public:
  virtual ~PoolsPage() = default;
  std::string_view title() const noexcept override { return "Pools"; }
  std::span<const ConsoleFile> files() const noexcept override { return embedded_files(); }
};

}  // namespace atl::pools
