#include "frontends/common/call/router_slot.h"

#include "frontends/common/call/model_version.h"

namespace atl::frontends {

Result<int64_t> RouterSlot::version_of(std::string_view model, std::string_view text) const noexcept {
  Result<int64_t> version = parse_model_version(text);
  if (version.ok()) return version;
  if (std::optional<int64_t> named = labelled(model, text)) return *named;
  return version;
}

std::optional<int64_t> RouterSlot::labelled(std::string_view model, std::string_view label) const noexcept {
  if (auto router = router_.hold()) return router->labelled(model, label);
  return std::nullopt;
}

}  // namespace atl::frontends
