/// Restricted protocols: calls that need a key in their metadata.
#pragma once

#include <grpcpp/server_context.h>

#include <array>
#include <string>
#include <vector>

#include "common/restricted_access.h"

namespace atl::frontends::grpc_frontend {

/// Read-only after parse(). [any]
class AccessCheck {
 public:
  /// Nothing is restricted.
  AccessCheck() noexcept = default;

  /// \param entries  as RestrictedAccess::parse(). Errors: of that; INVALID_ARGUMENT a key that can not be
  /// the name of metadata.
  static Result<AccessCheck> parse(const std::vector<std::string>& entries) noexcept;

  /// Errors: UNAVAILABLE, naming the metadata to send.
  Status check(ApiCategory category, const grpc::ServerContext& context) const noexcept {
    return access_.key_of(category) == nullptr ? Status() : check_values(category, context);
  }

 private:
  Status check_values(ApiCategory category, const grpc::ServerContext& context) const noexcept;

  RestrictedAccess access_;
  std::array<std::string, kApiCategoryCount> names_;  ///< of the metadata; empty: free
};

}  // namespace atl::frontends::grpc_frontend
