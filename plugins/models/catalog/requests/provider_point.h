/// Where requests find the services that each of them is shown to, which may come and go while they run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "atoll/core/gate.h"
#include "atoll/core/host.h"
#include "atoll/core/registry.h"
#include "atoll/core/replaceable.h"
#include "atoll/request/request_admission.h"
#include "atoll/request/request_observer.h"

namespace atl::models {

/// Most providers of one service that a request is shown to.
inline constexpr size_t kProvidersMax = 8;

/// Holds the providers there are now, and each earlier set of them as long as a request that came to it has
/// not ended: such a request stays with its own providers.
/// \tparam Provided  an interface with active()
template <class Provided>
class ProviderPoint {
 public:
  explicit ProviderPoint(Host& host) noexcept : host_(host) {}
  ProviderPoint(const ProviderPoint&) = delete;
  ProviderPoint& operator=(const ProviderPoint&) = delete;

  /// Moves on to the active providers that are there now; none is no failure. [control]
  /// \returns how many there are; of more than kProvidersMax those of the highest ranks are used
  size_t follow() {
    std::vector<Service<Provided>> found = find_active();
    const size_t count = found.size();
    if (count > kProvidersMax) found.resize(kProvidersMax);
    const Providers* before = providers_.value();
    const bool is_same =
        before != nullptr && std::equal(before->held.begin(), before->held.end(), found.begin(), found.end(),
                                        [](const auto& a, const auto& b) { return a.get() == b.get(); });
    if (is_same) return count;
    // The plugin waits for the last request that asks; one that is to end asks nobody any more.
    Pass pass = found.empty() ? Pass() : Pass(host_.gate());
    std::optional<Providers> next;
    if (pass) {
      next.emplace();
      for (const auto& service : found) {
        next->services.push_back(service.get());
        next->minors.push_back(service.minor());
      }
      next->held = std::move(found);
    }
    providers_.replace(std::move(next), std::move(pass));
    return count;
  }
  /// Nobody is asked any more. [control]
  void leave() noexcept { providers_.replace(std::nullopt); }

  /// False: there is nobody. [request]
  bool has_any() const noexcept { return providers_.has_value(); }

  /// A request's hold on the providers, in their order. `gate` null: there is nobody. Else gate->leave() is
  /// owed, after the last use of a service.
  struct Hold {
    std::span<Provided* const> services;
    const uint32_t* minors = nullptr;  ///< of the services, one for each
    Gate* gate = nullptr;
  };
  Hold hold() noexcept {
    auto hold = providers_.hold();
    if (!hold) return {};
    const std::span<Provided* const> services = hold->services;
    const uint32_t* const minors = hold->minors.data();
    return {services, minors, hold.detach()};
  }

 private:
  struct Providers {
    std::vector<Service<Provided>> held;
    std::vector<Provided*> services;  ///< those of `held`
    std::vector<uint32_t> minors;     ///< theirs
  };
  /// By rank; those of one rank stay in the order of their names.
  std::vector<Service<Provided>> find_active() {
    std::vector<ServiceInfo> listed = host_.registry().list(Provided::kInterfaceId);
    std::stable_sort(listed.begin(), listed.end(),
                     [](const ServiceInfo& a, const ServiceInfo& b) { return a.rank > b.rank; });
    std::vector<Service<Provided>> found;
    for (const ServiceInfo& info : listed) {
      auto service = host_.registry().template find<Provided>(info.instance);
      if (service.ok() && (*service)->active()) found.push_back(std::move(service).value());
    }
    return found;
  }

  Host& host_;
  Replaceable<Providers> providers_;
};

using AdmissionPoint = ProviderPoint<RequestAdmission>;
using ObserverPoint = ProviderPoint<RequestObserver>;

}  // namespace atl::models
