/// Routes requests by what the manifest says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/metrics.h"
#include "atoll/models/model.h"
#include "atoll/models/model_router.h"
#include "routing/weighted/draws.h"
#include "routing/weighted/route_table.h"
#include "routing/weighted/shadowed_model.h"

namespace atl::routing {

class WeightedRouter final : public ModelRouter, public MetricSource {
 public:
  WeightedRouter(RouteTable routes, uint64_t seed) : routes_(std::move(routes)), draws_(seed) {}

  bool has_shadows() const noexcept;
  /// Before the first request. Both outlive the last one.
  /// \param shadows  null: no copies are made, whatever the table says
  void use(ModelCatalog& catalog, const ShadowContext* shadows) noexcept {
    catalog_ = &catalog;
    shadows_ = shadows;
  }

  /// The models of the table of which no version is READY. After use().
  std::vector<std::string> unserved_models() const;

  // --- ModelRouter ---
  std::optional<int64_t> labelled(std::string_view model, std::string_view label) const noexcept override;
  Result<ModelRef> route(std::string_view model, int64_t version) noexcept override;

  // --- MetricSource ---
  void collect(MetricSink& sink) const noexcept override;

 private:
  Result<ModelRef> by_weight(std::string_view model, const ModelRoute& route) noexcept;
  Result<ModelRef> heaviest(std::string_view model, const ModelRoute& route) noexcept;
  ModelRef with_shadows(ModelRef served, ModelRoute& route) noexcept;

  RouteTable routes_;  ///< as it was read; what changes are the shadows' counts
  Draws draws_;
  ModelCatalog* catalog_ = nullptr;
  const ShadowContext* shadows_ = nullptr;
};

}  // namespace atl::routing
