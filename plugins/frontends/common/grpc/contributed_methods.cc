#include "frontends/common/grpc/contributed_methods.h"

#include <algorithm>
#include <utility>

#include "frontends/common/grpc/method_list.h"

namespace atl::frontends {
namespace {

constexpr size_t kMostPathBytes = 1024;

/// Why a path cannot be a method's; empty: it can.
std::string_view wrong_path(std::string_view path) noexcept {
  if (path.size() > kMostPathBytes) return "its path has more than 1,024 bytes";
  const size_t middle = path.rfind('/');
  if (!path.starts_with('/') || middle < 2 || middle + 1 == path.size() || path.find('/', 1) != middle)
    return "its path is not '/package.Service/Method'";
  if (std::any_of(path.begin(), path.end(), [](char c) { return c <= ' ' || c == 0x7F; }))
    return "its path has a character that no path can have";
  const std::string_view service = path.substr(1, middle - 1);
  if (std::ranges::find(kGrpcServices, service) != std::end(kGrpcServices))
    return "the service is this frontend's own";
  return {};
}

}  // namespace

bool MethodList::add(ContributedMethod method) {
  std::string path = method.path;
  return methods_.emplace(std::move(path), std::move(method)).second;
}

const ContributedMethod* MethodList::listed(std::string_view path) const noexcept {
  const auto found = methods_.find(path);
  return found == methods_.end() ? nullptr : &found->second;
}

std::set<std::string> MethodList::services() const {
  std::set<std::string> names;
  for (const auto& [path, method] : methods_) names.emplace(path, 1, path.rfind('/') - 1);
  return names;
}

std::vector<ContributedMethod> ContributedMethods::entries_of(const GrpcCalls& provider) {
  std::vector<ContributedMethod> methods;
  for (GrpcMethod& listed : provider.methods()) {
    ContributedMethod& method = methods.emplace_back();
    method.path = std::move(listed.path);
    method.category = std::move(listed.category);
  }
  return methods;
}

std::string ContributedMethods::complete(ContributedMethod& method) {
  if (std::string_view wrong = wrong_path(method.path); !wrong.empty()) return std::string(wrong);
  if (method.category == api_category_name(ApiCategory::kMetrics))
    return "nothing of gRPC is in its category";
  return method.judge_category();
}

}  // namespace atl::frontends
