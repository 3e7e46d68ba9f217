/// The device memory that one batch at a time is run in, and the graphs whose addresses are in it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/cuda/pipeline/captured_graph.h"
#include "backends/cuda/pipeline/memory_block.h"
#include "backends/cuda/pipeline/stream.h"

namespace atl::cuda_backend {

/// The streams of an instance.
struct Lanes {
  Stream main;    ///< kernels, and what has no stream of its own
  Stream input;   ///< with eager_batching
  Stream output;  ///< with output_copy_stream

  const Stream& outputs() const noexcept { return output ? output : main; }
  /// Returns when the device does nothing for the instance any more. Errors: the first of Stream::synchronize().
  Status synchronize() const noexcept;
};

/// One thread at a time; nothing is done with it on the device when it ends.
class WorkSet {
 public:
  explicit WorkSet(DevicePart& part) noexcept : part_(part) {}
  WorkSet(WorkSet&&) = default;

  CudaAddress address() const noexcept { return block_.address(); }
  uint64_t size_bytes() const noexcept { return block_.size_bytes(); }
  /// Makes it so large. What it takes for that ends everything that is in the lanes, and graphs: they know the old address.
  /// Errors: RESOURCE_EXHAUSTED, after which there is no memory; as Cuda::report().
  Status reserve(uint64_t size_bytes, const Lanes& lanes) noexcept;

  void add_graph(CapturedGraph graph) { graphs_.push_back(std::move(graph)); }
  /// The graph of these shapes, or, if `pads`, the smallest that they can be rounded up to; null: there is none.
  /// \param shapes  as ModelPlan::inputs; empty: without that input
  const CapturedGraph* find_graph(std::span<const std::span<const int64_t>> shapes, int64_t batch,
                                  bool batches, bool pads) const noexcept;

 private:
  DevicePart& part_;
  MemoryBlock block_;
  std::vector<CapturedGraph> graphs_;  ///< ascending by batch
};

}  // namespace atl::cuda_backend
