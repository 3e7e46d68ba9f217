/// Runs batches on a session.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/backend/responder.h"
#include "atoll/core/clock.h"
#include "backends/common/batch_groups.h"
#include "backends/tensorflow/run/tf_model.h"
#include "backends/tensorflow/run/tf_tensors.h"

namespace atl::tensorflow {

/// Requests that can be joined run as one; others run one after the other within the same execution, and so do those whose joined
/// run failed: a request gets the answer that it would get alone.
class TfInstance final : public BackendInstance {
 public:
  TfInstance(const Clock& clock, std::shared_ptr<const TfModelPlan> plan, std::shared_ptr<TfSession> session,
             InferenceReporter* reporter);

  Status execute(const Batch& batch) noexcept override;

 private:
  void run_group(ExecutionTimes& times) noexcept;
  Status bind_inputs() noexcept;
  void choose_outputs() noexcept;
  Status run() noexcept;
  void deliver(const TfOutputPlan& plan, const TF_Tensor& tensor) noexcept;
  Status deliver_rows(const TfOutputPlan& plan) noexcept;
  Status deliver_scattered(const TfOutputPlan& plan) noexcept;
  Status deliver_part(const TfOutputPlan& plan, uint32_t i, std::span<const int64_t> shape, uint64_t from,
                      uint64_t count) noexcept;

  const Clock& clock_;
  std::shared_ptr<const TfModelPlan> plan_;
  std::shared_ptr<TfSession> session_;
  TfStatus status_;
  backends::BatchResponder responder_;

  // Of the batch at hand; members so that their memory is kept.
  backends::BatchGroups groups_;
  const backends::BatchGroup& group_ = groups_.current();
  std::vector<TfHandle<TF_Tensor>> inputs_, results_;
  std::vector<TF_Output> input_places_, output_places_;
  std::vector<TF_Tensor*> tensors_;  ///< of the run: inputs, then outputs
  std::vector<const TfOutputPlan*> outputs_;
  TfResult result_;
};

}  // namespace atl::tensorflow
