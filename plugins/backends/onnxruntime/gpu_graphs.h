/// CUDA graphs of a session: a batch of known shapes is one launch, on tensors whose addresses never change.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/log.h"
#include "backends/onnxruntime/gpu_execution.h"
#include "backends/onnxruntime/ort_api.h"
#include "backends/onnxruntime/scratch.h"

namespace atl::ort {

/// One tensor of a graph.
struct GraphTensor {
  std::span<const int64_t> shape;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  uint64_t size_bytes = 0;
};

/// Tensors and the number under which ONNX Runtime records and replays what runs on them.
struct GpuGraph {
  explicit GpuGraph(ScratchSource& memory, int32_t device) : block(&memory, UINT64_MAX, device) {}
  Scratch block;
  std::byte* at = nullptr;  ///< of the block, when the graph was recorded
  Handle<OrtRunOptions> options;
  std::vector<Handle<OrtValue>> values;  ///< in the block: inputs, then outputs
  std::vector<Buffer> places;            ///< of the values
};

/// Of one instance, on its thread. The session's provider has enable_cuda_graph; what it runs without a graph has to be run
/// with plain_options().
class GpuGraphs {
 public:
  /// What clients can choose must not grow without bound.
  static constexpr size_t kMost = 64;

  /// \param sizes  batch sizes that have graphs \param log  outlives it
  static Result<std::unique_ptr<GpuGraphs>> make(GpuSource& source, int32_t device, std::set<uint32_t> sizes,
                                                 Log& log) noexcept;

  bool is_wanted(uint32_t batch_size) const noexcept { return sizes_.contains(batch_size); }
  const OrtRunOptions* plain_options() const noexcept { return plain_options_.get(); }

  /// The graph of these tensors, on which nothing has been run yet if its memory is new; null: there are too many, or
  /// it was given up.
  /// \param key  tells shapes and outputs apart. Errors: those of Scratch::reserve(), and of ONNX Runtime
  Result<GpuGraph*> prepare(const std::vector<int64_t>& key, std::span<const GraphTensor> tensors,
                            const OrtMemoryInfo* place) noexcept;
  /// There is none for the key any more: ONNX Runtime cannot record it.
  void give_up(const std::vector<int64_t>& key, std::string_view model, const Status& reason) noexcept;
  /// The batch is done: memory whose provider has gone is given back.
  void done() noexcept;

 private:
  GpuGraphs(GpuSource& source, int32_t device, std::set<uint32_t> sizes, Log& log) noexcept
      : source_(source), device_(device), sizes_(std::move(sizes)), log_(log) {}
  Status lay_out(GpuGraph& graph, std::span<const GraphTensor> tensors, const OrtMemoryInfo* place) noexcept;

  GpuSource& source_;
  const int32_t device_;
  const std::set<uint32_t> sizes_;
  Log& log_;
  Handle<OrtRunOptions> plain_options_;
  std::map<std::vector<int64_t>, std::unique_ptr<GpuGraph>> graphs_;  ///< null: given up
  uint32_t last_number_ = 0;
};

}  // namespace atl::ort
