/// Model routing: labels that stand for versions, and which version answers a request that names none.
/// Service "atoll.model_router/1"; frontends work without one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/models/model.h"

namespace atl {

class ModelRouter {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.model_router/1";

  /// [any] The version that a label of a model stands for; nothing if the model has no such label. A label
  /// begins with a letter or '_', so it is never a number.
  virtual std::optional<int64_t> labelled(std::string_view model, std::string_view label) const noexcept = 0;
  /// [request] The served version for one inference request. What it refers to need not be a version of the
  /// catalog: whoever holds it uses it as any other, and asks info() which version answers.
  /// \param version  ModelCatalog::kLatest: the request names none.
  /// Errors: as ModelCatalog::acquire().
  virtual Result<ModelRef> route(std::string_view model, int64_t version) noexcept = 0;

 protected:
  ~ModelRouter() = default;
};

}  // namespace atl
