#include "models/catalog/requests/admission_point.h"

#include <algorithm>
#include <utility>

namespace atl::models {

std::vector<Service<RequestAdmission>> AdmissionPoint::find_active() {
  std::vector<ServiceInfo> listed = host_.registry().list(RequestAdmission::kInterfaceId);
  // Those of one rank stay in the order of their names.
  std::stable_sort(listed.begin(), listed.end(),
                   [](const ServiceInfo& a, const ServiceInfo& b) { return a.rank > b.rank; });
  std::vector<Service<RequestAdmission>> found;
  for (const ServiceInfo& info : listed) {
    auto service = host_.registry().find<RequestAdmission>(info.instance);
    if (service.ok() && (*service)->active()) found.push_back(std::move(service).value());
  }
  return found;
}

Status AdmissionPoint::follow() {
  std::vector<Service<RequestAdmission>> found = find_active();
  const size_t count = found.size();
  if (count > kAdmissionsMax) found.resize(kAdmissionsMax);
  const Admissions* before = admissions_.value();
  const bool is_same =
      before != nullptr && std::equal(before->held.begin(), before->held.end(), found.begin(), found.end(),
                                      [](const auto& a, const auto& b) { return a.get() == b.get(); });
  if (!is_same) {
    // The plugin waits for the last request that asks; one that is to end asks nobody any more.
    Pass pass = found.empty() ? Pass() : Pass(host_.gate());
    std::optional<Admissions> next;
    if (pass) {
      next.emplace();
      for (const auto& service : found) next->services.push_back(service.get());
      next->held = std::move(found);
    }
    admissions_.replace(std::move(next), std::move(pass));
  }
  if (count <= kAdmissionsMax) return {};
  return Status(Code::kResourceExhausted, cat(count, " providers of request admission are enabled, at most ",
                                              kAdmissionsMax, " are asked: those of the highest ranks"));
}

AdmissionPoint::Hold AdmissionPoint::hold() noexcept {
  auto hold = admissions_.hold();
  if (!hold) return {};
  const std::span<RequestAdmission* const> services = hold->services;
  return {services, hold.detach()};
}

}  // namespace atl::models
