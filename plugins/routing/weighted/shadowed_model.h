/// A served version whose one request is copied on its way.
#pragma once

#include <atomic>
#include <cstdint>

#include "atoll/core/executor.h"
#include "atoll/core/gate.h"
#include "atoll/models/model.h"
#include "routing/weighted/route_table.h"
#include "routing/weighted/shadow_request.h"

namespace atl::routing {

/// What shadow requests share. Outlives every pass of the plugin's gate.
struct ShadowContext {
  ModelCatalog& catalog;
  Gate& gate;
  SerialExecutor& lane;  ///< runs them, so that no client's thread does
  ShadowBudget& budget;
  uint32_t max_in_flight;                 ///< of one target
  const DeviceMemory* devices = nullptr;  ///< reaches inputs in device memory
};

/// Passes everything on. Frees itself with its last reference.
class ShadowedModel final : public Model {
 public:
  /// `served` itself once the plugin is to go.
  static ModelRef wrap(ModelRef served, ShadowTarget& target, const ShadowContext& context) noexcept;
  ShadowedModel(const ShadowedModel&) = delete;
  ShadowedModel& operator=(const ShadowedModel&) = delete;

  const ModelInfo& info() const noexcept override { return served_->info(); }
  Status infer(Request& request) noexcept override;
  ModelStatistics statistics() const noexcept override { return served_->statistics(); }
  bool ready() const noexcept override { return served_->ready(); }
  void add_reference() noexcept override { references_.fetch_add(1, std::memory_order_relaxed); }
  void drop_reference() noexcept override;
  void report_first_response(const Request& request) noexcept override {
    served_->report_first_response(request);
  }
  bool has_sequence(const SequenceId& id) const noexcept override { return served_->has_sequence(id); }

 private:
  ShadowedModel(ModelRef served, ShadowTarget& target, const ShadowContext& context, Pass pass) noexcept
      : pass_(std::move(pass)), context_(context), target_(target), served_(std::move(served)) {}

  Pass pass_;
  const ShadowContext& context_;
  ShadowTarget& target_;
  ModelRef served_;
  std::atomic<uint32_t> references_{1};
};

}  // namespace atl::routing
