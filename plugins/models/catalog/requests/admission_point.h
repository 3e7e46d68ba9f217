/// Where requests find the services that admit them, which may come and go while they run.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "atoll/core/gate.h"
#include "atoll/core/host.h"
#include "atoll/core/registry.h"
#include "atoll/core/replaceable.h"
#include "atoll/request/request_admission.h"

namespace atl::models {

/// Most providers that are asked.
inline constexpr size_t kAdmissionsMax = 8;

/// Holds the providers there are now, and each earlier set of them as long as a request that came to it has
/// not ended: such a request stays with its own providers.
class AdmissionPoint {
 public:
  explicit AdmissionPoint(Host& host) noexcept : host_(host) {}
  AdmissionPoint(const AdmissionPoint&) = delete;
  AdmissionPoint& operator=(const AdmissionPoint&) = delete;

  /// Moves on to the active providers that are there now; none is no failure. [control]
  /// Errors: RESOURCE_EXHAUSTED more than kAdmissionsMax; then those of the highest ranks are asked.
  Status follow();
  /// Nobody is asked any more. [control]
  void leave() noexcept { admissions_.replace(std::nullopt); }

  /// False: nobody is to be asked. [request]
  bool asks() const noexcept { return admissions_.has_value(); }

  /// A request's hold on the providers, in the order in which they are asked. `gate` null: nobody is to be
  /// asked. Else gate->leave() is owed, after the last use of a service.
  struct Hold {
    std::span<RequestAdmission* const> services;
    Gate* gate = nullptr;
  };
  Hold hold() noexcept;

 private:
  struct Admissions {
    std::vector<Service<RequestAdmission>> held;
    std::vector<RequestAdmission*> services;  ///< those of `held`
  };
  std::vector<Service<RequestAdmission>> find_active();

  Host& host_;
  Replaceable<Admissions> admissions_;
};

}  // namespace atl::models
