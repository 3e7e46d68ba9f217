/// One instance of an identity model.
#pragma once

#include "atoll/backend/backend.h"
#include "atoll/backend/responder.h"
#include "atoll/core/clock.h"
#include "backends/identity/identity_config.h"

namespace atl::identity {

class IdentityInstance final : public BackendInstance {
 public:
  IdentityInstance(const IdentityConfig& config, const Clock& clock, InferenceReporter* reporter) noexcept
      : config_(config), clock_(clock), responder_(reporter, config.decoupled) {}

  Status execute(const Batch& batch) noexcept override;

 private:
  /// Waits execute_delay_ms, or until every request of the batch is cancelled.
  void delay() noexcept;
  void copy_outputs(uint32_t i) noexcept;
  Status copy_output(uint32_t i, const RequestedOutput& wanted) noexcept;

  /// Of an optional input that was not sent.
  Status write_zeros(uint32_t i, const RequestedOutput& wanted) noexcept;

  IdentityConfig config_;
  const Clock& clock_;
  backends::BatchResponder responder_;
};

}  // namespace atl::identity
