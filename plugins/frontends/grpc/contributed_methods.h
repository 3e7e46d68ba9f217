/// The methods that other plugins bring (atoll.grpc_calls/1).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/grpc_calls.h"
#include "frontends/common/contributed_providers.h"

namespace atl::frontends::grpc_frontend {

using ContributedMethod = Contribution<GrpcCalls>;

/// All of them at one moment; never changed.
class MethodList {
 public:
  /// False: another one has this path.
  bool add(ContributedMethod method);
  /// Null: none is listed so.
  const ContributedMethod* listed(std::string_view path) const noexcept;

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

}  // namespace atl::frontends::grpc_frontend
