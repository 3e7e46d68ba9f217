/// Runs batches on a TorchScript module.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <span>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/backend/responder.h"
#include "atoll/core/clock.h"
#include "backends/common/batch_groups.h"
#include "backends/pytorch/results.h"
#include "backends/pytorch/settings.h"
#include "backends/pytorch/signature.h"

namespace atl::pytorch {

/// Inputs are copied: forward() may write to its arguments, and requests' bytes are nobody's but their maker's. Requests
/// that cannot be joined run one after the other within the same execution, and so do those whose joined run failed: a
/// request gets the answer that it would get alone.
class TorchInstance final : public BackendInstance {
 public:
  TorchInstance(const Clock& clock, std::shared_ptr<const TorchModelPlan> plan, const TorchSettings& settings,
                torch::jit::Module module, InferenceReporter* reporter);

  Status execute(const Batch& batch) noexcept override;

 private:
  void run_group(ExecutionTimes& times) noexcept;
  Status forward(c10::IValue& result) noexcept;
  void deliver(const TorchOutputPlan& plan, const c10::IValue& result) noexcept;
  Status deliver_rows(const TorchOutputPlan& plan) noexcept;
  Status deliver_part(const TorchOutputPlan& plan, uint32_t i, std::span<const int64_t> shape, uint64_t from,
                      uint64_t count) noexcept;

  const Clock& clock_;
  std::shared_ptr<const TorchModelPlan> plan_;
  const TorchSettings settings_;
  torch::jit::Module module_;
  backends::BatchResponder responder_;

  // Of the batch at hand; members so that their memory is kept.
  backends::BatchGroups groups_;
  const backends::BatchGroup& group_ = groups_.current();
  ResultValue value_;
};

}  // namespace atl::pytorch
