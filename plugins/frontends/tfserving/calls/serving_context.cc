#include "frontends/tfserving/calls/serving_context.h"

#include <charconv>
#include <optional>
#include <utility>

#include "atoll/core/text.h"

namespace atl::frontends::tfserving {

Result<int64_t> RestContext::version_of(const CallTarget& target, const CallOrigin& origin) const {
  if (!target.label.empty()) {
    const auto version =
        origin.may_use(target.model) ? router.labelled(target.model, target.label) : std::nullopt;
    if (version) return *version;
    return invalid_argument("Unrecognized servable version label: ", target.label);
  }
  if (target.version.empty()) return ModelCatalog::kLatest;
  int64_t version = 0;
  const char* const end = target.version.data() + target.version.size();
  const auto [stop, error] = std::from_chars(target.version.data(), end, version);
  if (error != std::errc() || stop != end || version < 0)
    return invalid_argument("the version '", target.version,
                            "' is not a number from 0 to 9223372036854775807");
  return version;
}

Result<ModelRef> RestContext::find(const CallTarget& target, const CallOrigin& origin) const {
  const Result<int64_t> version = version_of(target, origin);
  if (!version.ok()) return version.status().clone();
  if (origin.may_use(target.model)) {
    Result<ModelRef> model = router.route(catalog, target.model, version.value());
    if (model.ok() || model.status().code() != Code::kNotFound) return model;
  }
  if (version.value() == ModelCatalog::kLatest)
    return not_found("Servable not found for request: Latest(", target.model, ")");
  return not_found("Servable not found for request: Specific(", target.model, ", ", version.value(), ")");
}

}  // namespace atl::frontends::tfserving
