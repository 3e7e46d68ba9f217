/// The repeat backend: one response for each element of IN, each after its DELAY.
#pragma once

#include <memory>
#include <string>

#include "atoll/backend/backend.h"
#include "atoll/core/clock.h"
#include "atoll/core/executor.h"

namespace atl::repeat {

class RepeatBackend final : public Backend {
 public:
  /// \param clock      of the delays and the statistics, the one that goes with the executors.
  /// \param executors  give each instance a thread for its responses. Both outlive the backend.
  RepeatBackend(const Clock& clock, ExecutorFactory& executors) noexcept
      : clock_(clock), executors_(executors) {}

  BackendTraits traits() const noexcept override;
  /// There are no files to complete it from: the bytes as they came.
  Result<std::string> complete_config(const ModelSource& source) noexcept override;
  /// Errors: INVALID_ARGUMENT not decoupled, batching, other tensors than IN, DELAY, WAIT, OUT and IDX, a bad
  /// parameter.
  Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept override;

 private:
  const Clock& clock_;
  ExecutorFactory& executors_;
};

}  // namespace atl::repeat
