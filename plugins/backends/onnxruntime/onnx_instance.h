/// Runs batches on a session.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/backend/responder.h"
#include "backends/common/batch_groups.h"
#include "backends/onnxruntime/gpu_execution.h"
#include "backends/onnxruntime/gpu_graphs.h"
#include "backends/onnxruntime/onnx_model.h"
#include "backends/onnxruntime/ort_api.h"
#include "backends/onnxruntime/result_tensor.h"
#include "backends/onnxruntime/scratch.h"

namespace atl::ort {

/// A batch of one request is run on the request's own buffers and into the response's, where alignment and
/// the model's shapes allow it; more requests are gathered into one tensor an input and the outputs cut.
///
/// Requests that cannot be joined (different shapes of inputs that are not ragged, different optional
/// inputs, a model that does not batch) run one after the other within the same execution. So do those whose
/// joined run failed, be it that their totals are too large for one tensor or that one of them holds values
/// that the model refuses: a request gets the answer that it would get alone.
///
/// On a GPU, inputs that are there are used there, joined there if one of them is; outputs are made there if that is where
/// they go. Texts, and what the instance reads itself, stay with the CPU.
class OnnxInstance final : public BackendInstance {
 public:
  OnnxInstance(const BackendContext& context, std::shared_ptr<const OnnxModelPlan> plan,
               std::shared_ptr<OrtSession> session, Handle<OrtRunOptions> run_options,
               Handle<OrtMemoryInfo> memory_info, InferenceReporter* reporter,
               std::unique_ptr<GpuExecution> gpu = nullptr,
               std::unique_ptr<GpuGraphs> graphs = nullptr) noexcept;

  Status execute(const Batch& batch) noexcept override;
  bool ready() const noexcept override { return gpu_ == nullptr || gpu_->loss().ok(); }
  std::string unready_reason() const override;

 private:
  /// An input of the run that is being prepared.
  struct BoundInput {
    const OnnxInputPlan* plan = nullptr;
    std::vector<int64_t> shape;
    uint64_t size_bytes = 0;
    bool in_place = false;
    bool on_gpu = false;
    Handle<OrtValue> value;
  };
  struct BoundOutput {
    const OnnxOutputPlan* plan = nullptr;
    bool direct = false;  ///< the response's buffer is there before the run
    bool on_gpu = false;  ///< to be made there, where there is no buffer yet
    Buffer late;          ///< that buffer if the result has to be copied to it after all; else data is null
    Handle<OrtValue> value;
  };
  void run_group(ExecutionTimes& times) noexcept;
  void fail_group(const Status& failure) noexcept;

  Status bind_inputs() noexcept;
  Status describe_input(const OnnxInputPlan& plan, BoundInput& bound) noexcept;
  Status describe_batch_input(const OnnxInputPlan& plan, BoundInput& bound) noexcept;
  Status bind_tensor(BoundInput& bound, std::byte* gathered) noexcept;
  Status gather(const BoundInput& bound, std::byte* gathered) noexcept;
  Status gather_on_gpu(const BoundInput& bound, std::byte* gathered) noexcept;
  Status bind_strings(BoundInput& bound) noexcept;

  Status bind_outputs() noexcept;
  Status bind_direct(BoundOutput& bound) noexcept;
  bool is_for_gpu(const OnnxOutputPlan& plan) const noexcept;
  size_t position_of(const OnnxOutputPlan& plan) const noexcept;
  OutputTensor* add_output(const OnnxOutputPlan& plan, uint32_t i, const RequestedOutput& wanted,
                           uint64_t size_bytes) noexcept;
  void list_tensors() noexcept;
  Status run() noexcept;
  Status run_plain() noexcept;
  Status run_with_graph() noexcept;
  bool has_output_to_make_on_gpu() const noexcept;
  Status run_bound() noexcept;
  const OrtRunOptions* run_options() const noexcept {
    return graphs_ == nullptr ? run_options_.get() : graphs_->plain_options();
  }
  bool describe_graph() noexcept;
  Status run_graph(bool* ran) noexcept;
  Status run_on(const GpuGraph& graph) noexcept;

  void deliver(const BoundOutput& bound) noexcept;
  Status copy_late(const BoundOutput& bound) noexcept;
  Status deliver_rows(const OnnxOutputPlan& plan) noexcept;
  Status deliver_scattered(const OnnxOutputPlan& plan) noexcept;
  void deliver_part(const OnnxOutputPlan& plan, uint32_t i, uint64_t from, uint64_t count) noexcept;
  Status write_part(const OnnxOutputPlan& plan, uint64_t from, uint64_t count, const Buffer& to) noexcept;
  Status write_part_of_gpu(const OnnxOutputPlan& plan, uint64_t from, uint64_t count,
                           const Buffer& to) noexcept;

  const Clock& clock_;
  std::shared_ptr<const OnnxModelPlan> plan_;
  std::shared_ptr<OrtSession> session_;
  Handle<OrtRunOptions> run_options_;
  Handle<OrtMemoryInfo> memory_info_;
  Scratch scratch_;
  backends::BatchResponder responder_;
  std::unique_ptr<GpuExecution> gpu_;  ///< null: on the CPU
  std::unique_ptr<GpuGraphs> graphs_;  ///< null: there are none

  // Of the batch at hand; members so that their memory is kept.
  backends::BatchGroups groups_;
  const backends::BatchGroup& group_ = groups_.current();
  std::vector<BoundInput> inputs_;
  std::vector<BoundOutput> outputs_;
  std::vector<const char*> input_names_, output_names_;
  std::vector<const OrtValue*> input_values_;
  std::vector<OrtValue*> output_values_;
  std::vector<bool> outputs_on_gpu_;
  std::vector<int64_t> graph_key_;
  std::vector<GraphTensor> graph_tensors_;
  std::vector<std::vector<int64_t>> graph_shapes_;  ///< of outputs
  ResultTensor result_;
  bool result_on_gpu_ = false;
  std::vector<int64_t> shape_;
};

}  // namespace atl::ort
