/// Why a version could not be built.
#pragma once

#include <utility>

#include "atoll/status.h"
#include "models/catalog/serving/dependencies.h"

namespace atl::models {

struct LoadFailure {
  LoadFailure() noexcept = default;
  LoadFailure(Status why, Want what = {}) noexcept : status(std::move(why)), want(std::move(what)) {}
  bool ok() const noexcept { return status.ok(); }

  Status status;  ///< OK: there is none
  Want want;      ///< the service for want of which it failed, if that is the reason
};

}  // namespace atl::models
