#include "access_check.h"

#include <grpc/grpc.h>
#include <grpc/slice.h>

#include <algorithm>
#include <cctype>

#include "common/wire_messages.h"

namespace atl::frontends::grpc_frontend {

Result<AccessCheck> AccessCheck::parse(const std::vector<std::string>& entries) noexcept {
  Result<RestrictedAccess> access = RestrictedAccess::parse(entries, "protocol");
  if (!access.ok()) return std::move(access).status();
  AccessCheck check;
  check.access_ = std::move(access).value();
  for (uint32_t i = 0; i < kApiCategoryCount; ++i) {
    const std::string* key = check.access_.key_of(static_cast<ApiCategory>(i));
    if (key == nullptr) continue;
    std::string& name = check.names_[i];
    name = cat("triton-grpc-protocol-", *key);
    // Metadata names are lower-case on the wire, however a client writes them.
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    grpc_slice slice = grpc_slice_from_static_buffer(name.data(), name.size());
    if (grpc_header_key_is_legal(slice) == 0) {
      return invalid_argument("restricted protocol key '", *key,
                              "' can not be the name of metadata, expected letters, digits, '-', '_', '.'");
    }
  }
  return check;
}

Status AccessCheck::check_values(ApiCategory category, const grpc::ServerContext& context) const noexcept {
  const std::string& name = names_[static_cast<uint32_t>(category)];
  auto [begin, end] = context.client_metadata().equal_range(grpc::string_ref(name.data(), name.size()));
  std::vector<std::string_view> presented;
  for (auto value = begin; value != end; ++value) {
    presented.emplace_back(value->second.data(), value->second.size());
  }
  if (access_.allows(category, presented)) return {};
  return unavailable(messages::restricted("protocol", name));
}

}  // namespace atl::frontends::grpc_frontend
