/// One instance of a repeat model.
#pragma once

#include "atoll/backend/backend.h"
#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "backends/repeat/repeat_config.h"

namespace atl::repeat {

class RepeatInstance final : public BackendInstance {
 public:
  /// \param config, clock, reporter  outlive the instance; reporter may be null.
  /// \param executor  sends the responses; whatever it still holds when the instance ends is answered with an
  ///                  error.
  RepeatInstance(const RepeatConfig& config, const Clock& clock, InferenceReporter* reporter,
                 SerialExecutorPtr executor) noexcept
      : config_(config), clock_(clock), reporter_(reporter), executor_(std::move(executor)) {}

  /// Returns when the inputs are read; responses follow from the executor.
  Status execute(const Batch& batch) noexcept override;

 private:
  void begin(Request& request) noexcept;

  const RepeatConfig& config_;
  const Clock& clock_;
  InferenceReporter* reporter_;
  SerialExecutorPtr executor_;
};

}  // namespace atl::repeat
