/// The header that names a client's tenant.
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::frontends {

/// Read-only after parse(). [any]
class TenantHeader {
 public:
  /// No header names tenants.
  TenantHeader() noexcept = default;

  /// \param name  of the option tenant_header; empty: none. Errors: INVALID_ARGUMENT no name of a header.
  static Result<TenantHeader> parse(std::string_view name) noexcept;

  /// False: there is no such header, so none need be looked at.
  bool active() const noexcept { return !name_.empty(); }
  /// In lower case.
  const std::string& name() const noexcept { return name_; }
  /// Without regard to case.
  bool is(std::string_view name) const noexcept;
  /// The answer to a request that has the header more than once: a client could add its own to the one that
  /// a proxy sets.
  Status given_twice() const;

 private:
  std::string name_;
};

}  // namespace atl::frontends
