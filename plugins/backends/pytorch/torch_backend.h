/// PyTorch as a backend.
#pragma once

#include <memory>

#include "atoll/backend/backend.h"
#include "atoll/core/clock.h"
#include "atoll/core/log.h"

namespace atl::pytorch {

class TorchBackend final : public Backend {
 public:
  /// \param clock, log  outlive every model
  TorchBackend(const Clock& clock, Log& log) noexcept : clock_(clock), log_(log) {}
  /// Before any model is loaded. \param intra_op_threads  of models that do not say
  void open(int64_t intra_op_threads) noexcept { intra_op_threads_ = intra_op_threads; }

  BackendTraits traits() const noexcept override {
    return {.preferred_groups = {{InstanceKind::kCpu, 0, {}}}};
  }
  /// A file says nothing of shapes and types: what the configuration leaves out cannot be completed.
  Result<std::string> complete_config(const ModelSource& source) noexcept override { return source.config; }
  Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept override;

 private:
  const Clock& clock_;
  Log& log_;
  int64_t intra_op_threads_ = 1;
};

}  // namespace atl::pytorch
