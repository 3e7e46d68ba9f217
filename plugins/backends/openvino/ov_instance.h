/// Runs batches on an infer request.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/backend/responder.h"
#include "atoll/core/clock.h"
#include "backends/common/batch_groups.h"
#include "backends/openvino/compiled_model.h"
#include "backends/openvino/ov_run.h"
#include "backends/openvino/sequence_runs.h"

namespace atl::openvino {

/// What the instances of one version share.
struct OvShared {
  OvModelPlan plan;
  std::unique_ptr<OvCompiled> compiled;
};

/// Small inputs are copied into the infer request's own tensors, which is cheaper than to hand over their addresses; a large one of
/// a batch of one request is used in place. Requests that cannot be joined run one after the other; so do those whose joined run has
/// failed, because the values of one of them may be the cause.
class OvInstance final : public BackendInstance {
 public:
  /// Inputs from this size on are used in place.
  static constexpr uint64_t kInPlaceBytes = 64 * 1024;

  OvInstance(const Clock& clock, std::shared_ptr<OvShared> shared, std::unique_ptr<OvRun> run,
             InferenceReporter* reporter) noexcept;

  Status execute(const Batch& batch) noexcept override;

 private:
  void run_group(ExecutionTimes& times) noexcept;
  Status prepare() noexcept;
  Status go_over() noexcept;
  Status give_inputs() noexcept;
  Status give_input(size_t i) noexcept;
  Status copy_input(const OvInputPlan& plan, std::byte* to, uint64_t size_bytes) noexcept;
  Status copy_texts(const OvInputPlan& plan, std::string* to, size_t count) noexcept;
  void deliver(size_t i) noexcept;
  Status deliver_rows(const OvOutputPlan& plan, const OvView& view) noexcept;
  Status deliver_part(const OvOutputPlan& plan, uint32_t i, const OvView& view, uint64_t from,
                      uint64_t count) noexcept;
  uint32_t rows() const noexcept;

  const Clock& clock_;
  std::shared_ptr<OvShared> shared_;
  const OvModelPlan& plan_;
  std::unique_ptr<OvRun> own_run_;
  OvRun* run_;              ///< the one that the current group is run on
  SequenceRuns sequences_;  ///< of a model with state
  backends::BatchResponder responder_;

  // Of the batch at hand; members so that their memory is kept.
  backends::BatchGroups groups_;
  const backends::BatchGroup& group_ = groups_.current();
  std::vector<std::vector<int64_t>> shapes_;  ///< of the inputs of the run; those of the last one before
  std::vector<int64_t> shape_;
  bool has_new_shapes_ = true;
};

}  // namespace atl::openvino
