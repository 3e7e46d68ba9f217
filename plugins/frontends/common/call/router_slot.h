/// The model router as frontends use it: there or not, and replaced while requests ask it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "atoll/core/followed_service.h"
#include "atoll/models/model.h"
#include "atoll/models/model_router.h"

namespace atl::frontends {

class RouterSlot {
 public:
  explicit RouterSlot(Host& host) : router_(host) {}

  /// Takes the router that is there and follows its changes. [control]
  Status open() noexcept { return router_.open(); }
  /// [control]
  void close() noexcept { router_.close(); }

  /// The version that a label of the model stands for. [any]
  std::optional<int64_t> labelled(std::string_view model, std::string_view label) const noexcept;
  /// The version as parse_model_version() reads it, or that of the model's label of this name. [any]
  /// Errors: those of parse_model_version().
  Result<int64_t> version_of(std::string_view model, std::string_view text) const noexcept;
  /// The version that answers a request. [request] Errors: as ModelCatalog::acquire().
  Result<ModelRef> route(ModelCatalog& catalog, std::string_view model, int64_t version) const noexcept {
    if (auto router = router_.hold()) return router->route(model, version);
    return catalog.acquire(model, version);
  }

 private:
  Followed<ModelRouter> router_;
};

}  // namespace atl::frontends
