#include "security/keys/keys.h"

#include <algorithm>
#include <array>
#include <utility>

namespace atl::keys {
namespace {

/// More than this many values of the same header are as wrong as two.
constexpr size_t kMostPresented = 2;
/// The page of metrics is served over HTTP alone.
constexpr auto kGrpcCategories = static_cast<uint32_t>(ApiCategory::kMetrics);

}  // namespace

Result<Keys> Keys::parse(const std::vector<std::string>& protocols,
                         const std::vector<std::string>& apis) noexcept {
  Keys keys;
  Result<KeyTable> of_grpc = KeyTable::parse(protocols, {.word = "protocol",
                                                         .prefix = "triton-grpc-protocol-",
                                                         .categories = kGrpcCategories,
                                                         .is_metadata = true});
  if (!of_grpc.ok()) return std::move(of_grpc).status();
  Result<KeyTable> of_http = KeyTable::parse(apis, {.word = "api"});
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
