/// Model routing: labels that stand for versions, and which version answers a request that names none.
/// Service "atoll.model_router/1", provided by routing/weighted; frontends work without one.
///
/// Where there is a router, a frontend calls route() in place of ModelCatalog::acquire():
///
///     Result<ModelRef> model = router->route("resnet", ModelCatalog::kLatest);
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/models/model.h"

namespace atl {

/// Service "atoll.model_router/1". Its routes do not change while the service is held: other routes are
/// another instance.
class ModelRouter {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.model_router/1";

  /// The version that a label of a model stands for; nothing if the model has no such label. A label begins
  /// with a letter or '_', so it is never a number. Whether the version is served is not looked at. [any]
  virtual std::optional<int64_t> labelled(std::string_view model, std::string_view label) const noexcept = 0;
  /// The version that answers one inference request, held. It need not be a version of the catalog: the
  /// router may give a Model of its own that passes requests on, for example to copy them to a shadow
  /// version. Whoever holds it uses it as any other, and asks info() which version answers. [request]
  /// \param version  ModelCatalog::kLatest: the request names none
  /// Errors: as ModelCatalog::acquire().
  virtual Result<ModelRef> route(std::string_view model, int64_t version) noexcept = 0;

 protected:
  ~ModelRouter() = default;
};

}  // namespace atl
