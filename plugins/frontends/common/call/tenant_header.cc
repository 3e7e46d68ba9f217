#include "frontends/common/call/tenant_header.h"

#include <strings.h>

#include <algorithm>

namespace atl::frontends {
namespace {

bool is_name_byte(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

}  // namespace

Result<TenantHeader> TenantHeader::parse(std::string_view name) noexcept {
  TenantHeader header;
  header.name_ = name;
  std::transform(name.begin(), name.end(), header.name_.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (!std::all_of(header.name_.begin(), header.name_.end(), is_name_byte) ||
      header.name_.ends_with("-bin")) {
    return invalid_argument("option 'tenant_header' is '", name,
                            "', expected the name of a header: letters, digits, '-', '_', '.', not ending in "
                            "'-bin'");
  }
  return header;
}

bool TenantHeader::is(std::string_view name) const noexcept {
  return name.size() == name_.size() && strncasecmp(name.data(), name_.data(), name_.size()) == 0;
}

Status TenantHeader::given_twice() const {
  return invalid_argument("Header '", name_, "' is given more than once, expected one tenant.");
}

}  // namespace atl::frontends
