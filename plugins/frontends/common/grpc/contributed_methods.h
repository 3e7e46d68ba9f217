/// The methods that other plugins bring (atoll.grpc_calls/1).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/frontend/grpc_calls.h"
#include "frontends/common/call/contributed_providers.h"

namespace atl::frontends {

using ContributedMethod = Contribution<GrpcCalls>;

/// All of them at one moment; never changed.
class MethodList {
 public:
  /// False: another one has this path.
  bool add(ContributedMethod method);
  /// Null: none is listed so.
  const ContributedMethod* listed(std::string_view path) const noexcept;
  const ContributedMethod* conflicting(const ContributedMethod& method) const noexcept {
    return listed(method.path);
  }
  /// "package.Service", of all paths.
  std::set<std::string> services() const;

 private:
  std::map<std::string, ContributedMethod, std::less<>> methods_;
};

class ContributedMethods final : public ContributedProviders<GrpcCalls, MethodList, ContributedMethod> {
 public:
  explicit ContributedMethods(Host& host) : ContributedProviders(host, "method") {}
  virtual ~ContributedMethods() { close(); }

 private:
  std::vector<ContributedMethod> entries_of(const GrpcCalls& provider) override;
  std::string complete(ContributedMethod& method) override;
};

}  // namespace atl::frontends
