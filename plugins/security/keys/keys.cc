#include "security/keys/keys.h"

#include <algorithm>
#include <array>
#include <utility>

namespace atl::keys {
namespace {

/// More than this many values of the same header are as wrong as two.
constexpr size_t kMostPresented = 2;
/// The page of metrics and the calls that plugins add are served over HTTP alone.
constexpr auto kGrpcCategories = static_cast<uint32_t>(ApiCategory::kMetrics);

bool is_metadata_byte(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

/// gRPC takes no other names, so no client could send it.
Status check_metadata_names(const KeyTable& table) noexcept {
  for (uint32_t i = 0; i < kGrpcCategories; ++i) {
    const KeyTable::Key* key = table.find(static_cast<ApiCategory>(i));
    if (key == nullptr || std::all_of(key->header.begin(), key->header.end(), is_metadata_byte)) continue;
    return invalid_argument("restricted protocol key '", key->name,
                            "' can not be the name of metadata, expected letters, digits, '-', '_', '.'");
  }
  return {};
}

}  // namespace

Result<Keys> Keys::parse(const std::vector<std::string>& protocols,
                         const std::vector<std::string>& apis) noexcept {
  Keys keys;
  Result<KeyTable> of_grpc = KeyTable::parse(
      protocols, {.word = "protocol", .prefix = "triton-grpc-protocol-", .categories = kGrpcCategories});
  if (!of_grpc.ok()) return std::move(of_grpc).status();
  ATOLL_RETURN_IF_ERROR(check_metadata_names(of_grpc.value()));
  Result<KeyTable> of_http = KeyTable::parse(apis, {.word = "api", .takes_own = true});
  if (!of_http.ok()) return std::move(of_http).status();
  keys.protocols_ = std::move(of_grpc).value();
  keys.apis_ = std::move(of_http).value();
  return keys;
}

Result<AccessOutcome> Keys::ask(const AccessQuestion& question, AccessWaiter&,
                                std::string_view* caller) noexcept {
  const bool is_grpc = question.protocol == CallProtocol::kGrpc;
  const KeyTable& table = is_grpc ? protocols_ : apis_;
  const KeyTable::Key* key = question.category == ApiCategory::kOther ? table.find(question.category_name)
                                                                      : table.find(question.category);
  if (key == nullptr) {
    *caller = {};
    return AccessOutcome::kAllowed;
  }
  std::array<std::string_view, kMostPresented> presented;
  const size_t count = std::min(question.head.find(key->header, presented), presented.size());
  if (opens(*key, {presented.data(), count})) {
    *caller = key->name;
    return AccessOutcome::kAllowed;
  }
  if (is_grpc) return unavailable("This protocol is restricted, expecting header '", key->header, "'");
  return make_status(Code::kPermissionDenied, "This API is restricted, expecting header '", key->name, "'");
}

}  // namespace atl::keys
